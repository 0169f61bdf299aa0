//! File rules by Landlock: the best that the kernel has, and never less than ABI 2.
//!
//! ABI 2 is the floor because before it renames between directories cannot be allowed at all. What later versions add
//! is used where it exists.

use crate::layers::{Layer, in_force};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, PathFdError,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope, make_bitflags,
};
use std::io;
use std::path::{Path, PathBuf};

const FLOOR: ABI = ABI::V2;
const NEWEST: ABI = ABI::V9;
/// Nobody confined here makes device nodes, not even the harmless-looking ones that overlays use as whiteouts.
const NODES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{MakeChar | MakeBlock});
const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

type Rule = (PathFd, BitFlags<AccessFs>);

/// For a program in a cell, inside its own root: everything that is there can be read and executed; the mounts decide
/// what that is. Writing is granted by name, so that a mistake in a mount's attributes alone opens nothing; except below
/// `/tmp`, where these rules allow everything and the mounts decide alone.
pub(crate) fn restrict_cell(writable: &[PathBuf], devices: &[PathBuf], socket: Option<&Path>) -> io::Result<()> {
    let write = AccessFs::from_all(NEWEST) & !NODES;
    let mut rules = vec![open("/", READ | AccessFs::Execute)?];
    for path in ["/tmp", "/dev/shm"] {
        rules.push(open(path, write)?);
    }
    for path in writable {
        rules.push(open(path, write)?);
    }
    for path in devices {
        rules.push(open(path, AccessFs::ReadFile | AccessFs::WriteFile)?);
    }
    if let Some(path) = socket {
        rules.push(open(path, AccessFs::ResolveUnix.into())?);
    }
    enforce(rules)?;
    Ok(())
}

/// For the front. Answers the ABI that is in force.
pub(crate) fn restrict_front(writable: &[PathBuf], readable: &[PathBuf]) -> io::Result<u32> {
    let write = AccessFs::from_all(NEWEST) & !NODES & !BitFlags::from(AccessFs::Execute);
    let mut rules = Vec::new();
    for path in writable {
        rules.push(open(path, write)?);
    }
    let terminal = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});
    let read = readable.iter().map(|path| (path.as_path(), READ));
    let devices = ["/dev/null", "/dev/tty"].map(|path| (Path::new(path), terminal));
    for (path, access) in read.chain(devices) {
        match open(path, access) {
            Ok(rule) => rules.push(rule),
            // What does not exist needs no access.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    enforce(rules)
}

/// Opens the path and keeps to the rights that make sense for what it is.
fn open(path: impl AsRef<Path>, access: BitFlags<AccessFs>) -> io::Result<Rule> {
    let is_dir = std::fs::metadata(&path)?.is_dir();
    let fd = PathFd::new(path).map_err(|e| match e {
        PathFdError::OpenCall { source, .. } => source,
        other => io::Error::other(other),
    })?;
    Ok((fd, if is_dir { access } else { access & AccessFs::from_file(NEWEST) }))
}

fn enforce(rules: Vec<Rule>) -> io::Result<u32> {
    if !in_force(Layer::Landlock) {
        return Ok(0);
    }
    let build = || {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(FLOOR))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?
            .create()?;
        for (fd, access) in rules {
            ruleset = ruleset.add_rule(PathBeneath::new(fd, access))?;
        }
        ruleset.restrict_self()
    };
    let status = build().map_err(io::Error::other)?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => Err(io::Error::other("the rules are not enforced")),
        _ if !status.no_new_privs => Err(io::Error::other("new privileges could not be ruled out")),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi as u32),
        _ => Err(io::Error::other("the kernel has no such rules")),
    }
}
