//! Plans that commit. Each repository gets a private clone that shares the owner's objects read-only; what was committed
//! there becomes ordinary files of the changeset: a pack, the branches and tags that moved, and the index. So they are put
//! in place and taken back by the same journal as everything else, and a branch that has moved since is a later edit.
//!
//! Hooks, settings, submodules and remotes stay behind: nothing of them is cloned, and nothing of them is brought back. The
//! pack is made from what the work left, in a cell, and checked by another cell in a repository that the work never saw.

use crate::cell::{Mount, MountAccess};
use crate::dir::{Dir, Kind, split};
use crate::error::Doing;
use crate::extent::Extent;
use crate::lifeline::Lifeline;
use crate::permit::Root;
use crate::tree::{self, GIT, Git};
use crate::{Error, observe, removal};
use silas_core::changeset::Change;
use silas_core::number::grouped;
use silas_core::relpath::RelPath;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

mod compared;

/// A repository as the work sees it, and what it was made of.
pub(crate) struct Repository {
    n: usize,
    /// The clone, the place where packs are made, and what is to be brought over, laid out as it is in the repository.
    dir: Dir,
    /// Branches and tags and where they pointed.
    refs: BTreeMap<String, String>,
    /// The branch that its owner is on.
    head: Option<String>,
    /// Whether it is known what would be brought over: then checks see that, laid over what the owner has.
    is_landed: bool,
}

/// More branches and tags than this cannot be kept apart here.
const REFS_MAX: usize = 10_000;
/// A name and a number of a commit; packed ones together.
const REF_BYTES_MAX: u64 = 4 << 20;
const INDEX_BYTES_MAX: u64 = 256 << 20;

const CLONE: &str = "clone.git";
const CLEAN: &str = "clean.git";
const LANDED: &str = "landed.git";
const BROUGHT: &str = "brought";
const REVISIONS: &str = "revisions";
const PACK: &str = "made.pack";

/// What a clone is set to; the owner's own settings may name commands and stay out.
const SETTINGS: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
    \tlogallrefupdates = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
    [user]\n\tname = Silas\n\temail = silas@localhost\n";

/// A command of git that this module needs, in words for `sh`.
pub(crate) struct Errand {
    pub(crate) script: String,
    pub(crate) mounts: Vec<Mount>,
}

impl Repository {
    pub(crate) fn make(home: &Dir, root: &Root, n: usize, lifeline: Lifeline<'_>) -> Result<Repository, Error> {
        let doing = || "Cloning the repository".to_owned();
        let refuse = |what: &str| Err(Error::NotAvailable(format!("{}: {what}", root.granted.place.path)));
        let real = match root.granted.dir.stat(GIT).doing(doing)?.map(|stat| stat.kind) {
            Some(Kind::Directory) => root.granted.dir.below(GIT).doing(doing)?,
            _ => return refuse("the plan commits, but there is no repository of its own here."),
        };
        for other in ["objects/info/alternates", "commondir", "shallow"] {
            if real.has(other.as_bytes()) {
                return refuse("the plan commits, but this repository is only a part of another one.");
            }
        }
        let name = format!("git-{n}");
        home.mkdir(name.as_bytes(), 0o700).doing(doing)?;
        let dir = home.below(name.as_bytes()).doing(doing)?;
        let clone = clone_of(&real, &dir, CLONE, n, lifeline)?;
        let refs = refs_of(&clone, lifeline)?;
        let head = small_file(&clone, b"HEAD", REF_BYTES_MAX).doing(doing)?;
        let head = head.and_then(|head| Some(head.trim().strip_prefix("ref: ")?.to_owned()));
        Ok(Repository { n, dir, refs, head, is_landed: false })
    }

    /// The repository as it would be: the owner's, with what is brought over. Settings and hooks that the work left in its
    /// clone, or anything else, are not in it.
    pub(crate) fn land(&mut self, root: &Root, lifeline: Lifeline<'_>) -> Result<(), Error> {
        let doing = || "Laying out what was committed".to_owned();
        removal::tree(&self.dir, LANDED.as_bytes()).doing(doing)?;
        let real = root.granted.dir.below(GIT).doing(doing)?;
        let landed = clone_of(&real, &self.dir, LANDED, self.n, lifeline)?;
        if self.dir.stat(BROUGHT.as_bytes()).doing(doing)?.is_some() {
            let brought = self.brought().and_then(|brought| brought.below(GIT)).doing(doing)?;
            tree::walk(&brought, Git::Visit, lifeline, &mut |from, path, stat| {
                lifeline.holds()?;
                if stat.kind != Kind::File {
                    return Ok(());
                }
                let (to, name) = parents_below(&landed, &path.to_string()).doing(doing)?;
                if to.stat(&name).doing(doing)?.is_some() {
                    to.unlink(&name).doing(doing)?;
                }
                observe::copy_name(from, split(&path).1, &to, &name).doing(doing)
            })?;
        }
        self.is_landed = true;
        Ok(())
    }

    pub(crate) fn take_off(&mut self) {
        self.is_landed = false;
    }

    /// The clone at the repository's place, and the owner's objects beside. Checks may only read it, and see what would be
    /// put in place once that is known.
    pub(crate) fn mounts(&self, home: &Path, root: &Root, access: MountAccess) -> Vec<Mount> {
        let target = Path::new(&root.granted.place.path).join(".git");
        let is_shown = self.is_landed && access == MountAccess::ReadOnly;
        let source = self.path(home).join(if is_shown { LANDED } else { CLONE });
        vec![Mount { source, target, access }, self.objects(root)]
    }

    fn objects(&self, root: &Root) -> Mount {
        let source = Path::new(&root.granted.place.path).join(".git/objects");
        Mount { source, target: PathBuf::from(objects_inside(self.n)), access: MountAccess::ReadOnly }
    }

    fn path(&self, home: &Path) -> PathBuf {
        home.join(format!("git-{}", self.n))
    }

    /// Where what is brought over can be read, by the paths that it will have.
    pub(crate) fn brought(&self) -> io::Result<Dir> {
        self.dir.below(BROUGHT.as_bytes())
    }

    /// What the work committed, as changes of files. `run` runs git in a cell.
    pub(crate) fn changes(
        &self,
        home: &Path,
        root: &Root,
        lifeline: Lifeline<'_>,
        run: impl Fn(Errand) -> Result<(), Error>,
    ) -> Result<Vec<Change>, Error> {
        let doing = || "Reading what was committed".to_owned();
        let clone = self.dir.below(CLONE.as_bytes()).doing(doing)?;
        removal::tree(&self.dir, compared::DIFFERING.as_bytes()).doing(doing)?;
        let now = refs_of(&clone, lifeline)?;
        if let Some(gone) = self.refs.keys().find(|name| !now.contains_key(*name)) {
            let todo = "Have the work keep it, and delete it yourself.";
            return Err(Error::unsupported_with("a branch or tag that the work deleted", gone, todo));
        }
        let moved: BTreeMap<&String, &String> =
            now.iter().filter(|(name, at)| self.refs.get(*name) != Some(*at)).collect();
        if moved.is_empty() {
            return Ok(Vec::new());
        }
        self.pack(home, root, &moved, run)?;
        removal::tree(&self.dir, BROUGHT.as_bytes()).doing(doing)?;
        self.dir.mkdir(BROUGHT.as_bytes(), 0o700).doing(doing)?;
        let brought = self.brought().doing(doing)?;
        self.bring_pack(&brought).doing(doing)?;
        for (name, at) in &moved {
            let mut file = create_below(&brought, &format!(".git/{name}")).doing(doing)?;
            file.write_all(format!("{at}\n").as_bytes()).doing(doing)?;
            set_mode(&file, 0o644).doing(doing)?;
        }
        let head = small_file(&clone, b"HEAD", REF_BYTES_MAX).doing(doing)?.unwrap_or_default();
        let is_checked_out = moved.keys().any(|name| head.trim() == format!("ref: {name}"));
        if is_checked_out && clone.stat(b"index").doing(doing)?.is_some_and(|stat| stat.size <= INDEX_BYTES_MAX) {
            let (git, name) = parents_below(&brought, ".git/index").doing(doing)?;
            observe::copy_name(&clone, b"index", &git, &name).doing(doing)?;
        }
        let brought = tree::snapshot(&brought, &Extent::all(Git::Visit, lifeline))?;
        let mut changes = Vec::with_capacity(brought.files.len());
        for (path, after) in brought.files {
            let before = observe::path_below(&root.granted.dir, &path).doing(doing)?.state();
            if before.as_ref() != Some(&after) {
                changes.push(Change { directory: root.nth, path, before, after: Some(after) });
            }
        }
        Ok(changes)
    }

    /// Packs what is new, and checks the pack in a repository that nobody but us has touched.
    fn pack(
        &self,
        home: &Path,
        root: &Root,
        moved: &BTreeMap<&String, &String>,
        run: impl Fn(Errand) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let doing = || "Packing what was committed".to_owned();
        removal::tree(&self.dir, CLEAN.as_bytes()).doing(doing)?;
        empty_repository(&self.dir, CLEAN, self.n).doing(doing)?;
        self.note_pairs(moved).doing(doing)?;
        let known: BTreeSet<&String> = self.refs.values().collect();
        let mut revisions = String::new();
        moved.values().for_each(|at| revisions.push_str(&format!("{at}\n")));
        known.iter().for_each(|at| revisions.push_str(&format!("^{at}\n")));
        removal::tree(&self.dir, REVISIONS.as_bytes()).doing(doing)?;
        let mut file = self.dir.create(REVISIONS.as_bytes()).doing(doing)?;
        file.write_all(revisions.as_bytes()).doing(doing)?;
        let (place, mounts) = self.whole(home, root);
        run(Errand {
            script: format!(
                "exec git --git-dir={place}/{CLONE} pack-objects -q --revs --stdout --delta-base-offset \
                 < {place}/{REVISIONS} > {place}/{PACK}"
            ),
            mounts: mounts.clone(),
        })?;
        let (pairs, differing) = (compared::PAIRS, compared::DIFFERING);
        run(Errand {
            script: format!(
                "git --git-dir={place}/{CLEAN} index-pack --strict --stdin < {place}/{PACK} > /dev/null && \
                 git --git-dir={place}/{CLEAN} rev-list --objects --quiet --stdin < {place}/{REVISIONS} && \
                 while read -r from to; do \
                 git --git-dir={place}/{CLEAN} diff-tree -r -z --raw --no-renames $from $to || exit 1; \
                 done < {place}/{pairs} > {place}/{differing}"
            ),
            mounts,
        })
    }

    /// All of it for git, and where it lies then; of what the work left it may only read.
    fn whole(&self, home: &Path, root: &Root) -> (&'static str, Vec<Mount>) {
        let place = "/tmp/repository";
        let whole = Mount { source: self.path(home), target: PathBuf::from(place), access: MountAccess::ReadWrite };
        let clone = PathBuf::from(format!("{place}/{CLONE}"));
        let read_only = Mount { source: self.path(home).join(CLONE), target: clone, access: MountAccess::ReadOnly };
        (place, vec![whole, read_only, self.objects(root)])
    }

    /// Packs that hold something, with their lists of contents.
    fn bring_pack(&self, brought: &Dir) -> io::Result<()> {
        let packs = self.dir.below(CLEAN.as_bytes())?.below(b"objects/pack")?;
        for name in packs.names(16)? {
            let is_wanted = name.ends_with(b".pack") || name.ends_with(b".idx");
            if !is_wanted || packed_objects(&packs, &name)? == 0 {
                continue;
            }
            let name = String::from_utf8_lossy(&name).into_owned();
            let (dir, last) = parents_below(brought, &format!(".git/objects/pack/{name}"))?;
            observe::copy_name(&packs, name.as_bytes(), &dir, &last)?;
            dir.chmod(&last, 0o444)?;
        }
        Ok(())
    }
}

/// How many objects the pack of this name, or the one that this list belongs to, holds.
fn packed_objects(packs: &Dir, name: &[u8]) -> io::Result<u32> {
    let stem = name.iter().position(|b| *b == b'.').map_or(name, |dot| &name[..dot]);
    let mut head = [0u8; 12];
    packs.read(&[stem, b".pack"].concat())?.read_exact(&mut head)?;
    Ok(u32::from_be_bytes([head[8], head[9], head[10], head[11]]))
}

fn objects_inside(n: usize) -> String {
    format!("/tmp/objects-{n}")
}

/// A repository that shares the owner's objects and has its branches, tags and index.
fn clone_of(real: &Dir, dir: &Dir, name: &str, n: usize, lifeline: Lifeline<'_>) -> Result<Dir, Error> {
    let doing = || "Cloning the repository".to_owned();
    let clone = empty_repository(dir, name, n).doing(doing)?;
    for file in ["HEAD", "packed-refs", "index"] {
        if real.stat(file.as_bytes()).doing(doing)?.is_some_and(|stat| stat.kind == Kind::File) {
            if file == "HEAD" {
                clone.unlink(b"HEAD").doing(doing)?;
            }
            observe::copy_name(real, file.as_bytes(), &clone, file.as_bytes()).doing(doing)?;
        }
    }
    let refs = clone.below(b"refs").doing(doing)?;
    if let Some(Kind::Directory) = real.stat(b"refs").doing(doing)?.map(|stat| stat.kind) {
        tree::copy(&real.below(b"refs").doing(doing)?, &refs, &Extent::all(Git::Visit, lifeline))?;
    }
    Ok(clone)
}

/// A repository without anything in it that sees the owner's objects.
fn empty_repository(dir: &Dir, name: &str, n: usize) -> io::Result<Dir> {
    dir.mkdir(name.as_bytes(), 0o700)?;
    let git = dir.below(name.as_bytes())?;
    for part in ["refs", "objects", "objects/info", "objects/pack"] {
        let path = RelPath::from_bytes(part.as_bytes()).map_err(io::Error::other)?;
        let (parent, last) = git.parent_of(&path)?;
        parent.mkdir(last, 0o755)?;
    }
    git.create(b"HEAD")?.write_all(b"ref: refs/heads/main\n")?;
    git.create(b"config")?.write_all(SETTINGS.as_bytes())?;
    let info = git.below(b"objects/info")?;
    info.create(b"alternates")?.write_all(format!("{}\n", objects_inside(n)).as_bytes())?;
    Ok(git)
}

/// Branches and tags, loose ones over packed ones. What is no number of a commit is no branch.
fn refs_of(git: &Dir, lifeline: Lifeline<'_>) -> Result<BTreeMap<String, String>, Error> {
    let doing = || "Reading branches and tags".to_owned();
    let mut refs = BTreeMap::new();
    let packed = small_file(git, b"packed-refs", REF_BYTES_MAX).doing(doing)?.unwrap_or_default();
    for line in packed.lines() {
        if let Some((at, name)) = line.split_once(' ') {
            note(&mut refs, name, at);
        }
    }
    let loose = git.below(b"refs").doing(doing)?;
    tree::walk(&loose, Git::Visit, lifeline, &mut |dir, path, stat| {
        lifeline.holds()?;
        if stat.kind == Kind::File {
            let text = small_file(dir, split(&path).1, REF_BYTES_MAX).doing(doing)?.unwrap_or_default();
            note(&mut refs, &format!("refs/{path}"), text.trim());
        }
        if refs.len() > REFS_MAX {
            return Err(Error::TooLarge(format!(
                "The repository has more than {} branches and tags.",
                grouped(REFS_MAX)
            )));
        }
        Ok(())
    })?;
    Ok(refs)
}

fn note(refs: &mut BTreeMap<String, String>, name: &str, at: &str) {
    let is_number = at.len() == 40 && at.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    let is_name = ["refs/heads/", "refs/tags/"].iter().any(|start| name.len() > start.len() && name.starts_with(start));
    let is_plain = !name.contains(['\\', ':', '?', '*', '[', '^', '~', ' ']) && !name.ends_with(".lock");
    let is_path = RelPath::from_bytes(name.as_bytes()).is_ok() && !name.chars().any(char::is_control);
    if is_number && is_name && is_plain && is_path {
        refs.insert(name.to_owned(), at.to_owned());
    }
}

fn small_file(dir: &Dir, name: &[u8], bytes_max: u64) -> io::Result<Option<String>> {
    Ok(small_bytes(dir, name, bytes_max)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn small_bytes(dir: &Dir, name: &[u8], bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    if dir.stat(name)?.is_none_or(|stat| stat.kind != Kind::File) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    dir.read(name)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(Some(bytes))
}

fn create_below(dir: &Dir, path: &str) -> io::Result<std::fs::File> {
    let (parent, name) = parents_below(dir, path)?;
    parent.create(&name)
}

/// Makes the directories on the way.
fn parents_below(dir: &Dir, path: &str) -> io::Result<(Dir, Vec<u8>)> {
    let mut here = dir.below(b"")?;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return Ok((here, part.as_bytes().to_vec()));
        }
        if here.stat(part.as_bytes())?.is_none() {
            here.mkdir(part.as_bytes(), 0o755)?;
        }
        here = here.below(part.as_bytes())?;
    }
    Err(io::Error::from(io::ErrorKind::InvalidInput))
}

fn set_mode(file: &std::fs::File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Whether a change is one of the repository's own files.
pub(crate) fn is_in_repository(path: &RelPath) -> bool {
    path.as_bytes().starts_with(b".git/")
}

/// Whether a change is a branch or tag that moved.
pub(crate) fn is_ref(path: &RelPath) -> bool {
    path.as_bytes().starts_with(b".git/refs/")
}

/// Another git that is at work on one of the files just now.
pub(crate) fn is_locked(root: &Dir, path: &RelPath) -> io::Result<bool> {
    let lock = [path.as_bytes(), b".lock"].concat();
    let lock = RelPath::from_bytes(&lock).map_err(io::Error::other)?;
    Ok(observe::path_below(root, &lock)? != observe::Seen::Nothing)
}
