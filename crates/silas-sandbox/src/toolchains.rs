//! Finds tools that live outside `/usr`: cargo, rustup, pyenv, nvm, uv, and the interpreter behind a project's venv.
//!
//! Two questions are kept apart. [`known`] lists every directory that is a toolchain's and holds no secrets; the launcher
//! asks it again before anything is mounted, so nobody can call another directory a toolchain. [`find`] chooses from that
//! list what a project uses, reading names and versions only. No tool is ever started to find out.

use crate::Error;
use crate::dir::Dir;
use crate::ground::Ground;
use crate::mounted;
use serde::{Deserialize, Serialize};
use silas_core::roots::Place;
use silas_core::toolchain::{Family, TOOLCHAINS_MAX, Toolchain};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where to look, told once with the seal by whoever reads the environment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ToolPlaces {
    pub home: Option<PathBuf>,
    /// These five, if the environment names them; else their usual places in the home.
    pub cargo_home: Option<PathBuf>,
    pub rustup_home: Option<PathBuf>,
    pub pyenv_root: Option<PathBuf>,
    pub nvm_dir: Option<PathBuf>,
    pub uv_pythons: Option<PathBuf>,
    /// What `PYENV_VERSION` says.
    pub pyenv_version: Option<String>,
    /// The directories of the owner's own `PATH`.
    pub path: Vec<PathBuf>,
}

/// Versions of one tool that are looked at; nobody has more.
const VERSIONS_MAX: usize = 256;
/// A file that names a version is one line.
const VERSION_BYTES_MAX: u64 = 1024;
const VENVS: [&str; 3] = [".venv", "venv", "env"];

impl ToolPlaces {
    fn or_in_home(&self, named: Option<&PathBuf>, usual: &str) -> Option<PathBuf> {
        named.cloned().or_else(|| Some(self.home.as_ref()?.join(usual)))
    }

    fn rustup(&self) -> Option<PathBuf> {
        self.or_in_home(self.rustup_home.as_ref(), ".rustup")
    }

    fn pyenv(&self) -> Option<PathBuf> {
        self.or_in_home(self.pyenv_root.as_ref(), ".pyenv")
    }

    fn nvm(&self) -> Option<PathBuf> {
        self.or_in_home(self.nvm_dir.as_ref(), ".nvm")
    }
}

/// Every directory and file that may be granted as a toolchain, each a real path outside `/usr` and away from keys.
pub(crate) fn known(places: &ToolPlaces, own: &[PathBuf]) -> Vec<Toolchain> {
    let mut found = Vec::new();
    if let Some(cargo) = places.or_in_home(places.cargo_home.as_ref(), ".cargo") {
        found.extend(["bin", "registry", "git"].map(|part| (Family::Cargo, cargo.join(part))));
    }
    let rustup = places.rustup().map(|root| root.join("toolchains"));
    let pyenv = places.pyenv().map(|root| root.join("versions"));
    let nvm = places.nvm().map(|root| root.join("versions/node"));
    let uv = places.or_in_home(places.uv_pythons.as_ref(), ".local/share/uv/python");
    let all = [(Family::Rustup, rustup), (Family::Pyenv, pyenv), (Family::Nvm, nvm), (Family::Uv, uv)];
    for (family, versions) in all {
        found.extend(below(versions.as_deref()).into_iter().map(|path| (family, path)));
    }
    let uv_itself = places.or_in_home(None, ".local/bin/uv");
    found.extend(uv_itself.map(|path| (Family::Uv, path)));
    found.into_iter().filter_map(|(family, path)| pin(family, &path, own)).collect()
}

/// What a project would use of them.
pub(crate) fn find(ground: &Ground, project: Option<&Path>) -> Vec<Toolchain> {
    let places = &ground.tools;
    let known = known(places, &ground.own);
    let project_dir = project.and_then(|project| Dir::open(project).ok());
    let wished = |name: &str| project_dir.as_ref().and_then(|dir| dir.read(name.as_bytes()).ok()).map(first_lines);
    let mut chosen = Vec::new();
    let rusts = wished("rust-toolchain.toml").map(|lines| values(&lines, "channel"));
    let rusts = rusts.filter(|channels| !channels.is_empty()).or_else(|| wished("rust-toolchain"));
    let rusts =
        rusts.or_else(|| Some(values(&read_version(&places.rustup()?.join("settings.toml"))?, "default_toolchain")));
    add_version(&mut chosen, &known, Family::Rustup, &rusts.unwrap_or_default());
    let is_whole = |tool: &&Toolchain| match tool.family {
        Family::Cargo => true,
        Family::Uv => tool.path.ends_with("/bin/uv"),
        Family::Rustup | Family::Pyenv | Family::Nvm => false,
    };
    chosen.extend(known.iter().filter(is_whole).cloned());
    let pythons = places.pyenv_version.clone().map(|version| vec![version]).or_else(|| wished(".python-version"));
    let pythons = pythons.or_else(|| read_version(&places.pyenv()?.join("version")));
    add_version(&mut chosen, &known, Family::Pyenv, &pythons.unwrap_or_default());
    let nodes = wished(".nvmrc").or_else(|| node_on_path(places, &known));
    let nodes = nodes.or_else(|| read_version(&places.nvm()?.join("alias/default")));
    add_version(&mut chosen, &known, Family::Nvm, &nodes.unwrap_or_default());
    for venv in project.into_iter().flat_map(|project| VENVS.map(|venv| project.join(venv).join("bin/python"))) {
        // A link to anything that is not a known toolchain gets nobody anywhere.
        let Ok(python) = venv.canonicalize() else { continue };
        chosen.extend(known.iter().filter(|tool| python.starts_with(&tool.path)).cloned());
    }
    let mut each: Vec<Toolchain> = Vec::new();
    for tool in chosen {
        if !each.contains(&tool) {
            each.push(tool);
        }
    }
    each.truncate(TOOLCHAINS_MAX);
    each
}

/// Whether every toolchain of an approval is one, and the same one, still.
pub(crate) fn admit(ground: &Ground, toolchains: &[Toolchain]) -> Result<(), Error> {
    if toolchains.is_empty() {
        return Ok(());
    }
    let known = known(&ground.tools, &ground.own);
    match toolchains.iter().find(|tool| !known.contains(tool)) {
        None => Ok(()),
        Some(stranger) => Err(Error::Place {
            path: stranger.path.clone(),
            problem: format!("it is not, or no longer, a directory of {} that can be granted", stranger.family.name()),
        }),
    }
}

fn pin(family: Family, path: &Path, own: &[PathBuf]) -> Option<Toolchain> {
    let meta = path.symlink_metadata().ok()?;
    let is_file = path.ends_with("bin/uv");
    let is_kind = if is_file { meta.is_file() } else { meta.is_dir() };
    let real = path.canonicalize().ok()?;
    let text = real.to_str()?;
    // What lies in `/usr` is there anyway.
    let is_grantable = is_kind && real == path && mounted::may_grant(text, own).is_ok();
    let place = Place { path: text.to_owned(), device: meta.dev().to_string(), inode: meta.ino().to_string() };
    is_grantable.then(|| Toolchain::at(family, place))
}

fn below(versions: Option<&Path>) -> Vec<PathBuf> {
    let entries = versions.and_then(|versions| std::fs::read_dir(versions).ok());
    let mut found: Vec<PathBuf> =
        entries.into_iter().flatten().take(VERSIONS_MAX).flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The first of the wished versions that is there: by its whole name, or the highest that begins with it.
fn add_version(chosen: &mut Vec<Toolchain>, known: &[Toolchain], family: Family, wishes: &[String]) {
    for wish in wishes {
        let wish = wish.trim().trim_start_matches('v');
        let fits = |tool: &&Toolchain| {
            let version = name(tool).trim_start_matches('v');
            version == wish || version.strip_prefix(wish).is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        let of_family = known.iter().filter(|tool| tool.family == family);
        if !wish.is_empty()
            && let Some(tool) = of_family.filter(fits).max_by_key(|tool| numbers(name(tool)))
        {
            chosen.push(tool.clone());
            return;
        }
    }
}

fn node_on_path(places: &ToolPlaces, known: &[Toolchain]) -> Option<Vec<String>> {
    let node = places.path.iter().find_map(|dir| dir.join("node").canonicalize().ok())?;
    let tool = known.iter().find(|tool| tool.family == Family::Nvm && node.starts_with(&tool.path))?;
    Some(vec![name(tool).to_owned()])
}

fn name(tool: &Toolchain) -> &str {
    tool.path.rsplit('/').next().unwrap_or_default()
}

/// So that 3.10 comes after 3.9.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// What `key = "…"` says in the lines of a settings file. Not a reader of TOML: only a name that exists is made of it.
fn values(lines: &[String], key: &str) -> Vec<String> {
    let value = |line: &String| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    };
    lines.iter().filter_map(value).collect()
}

fn read_version(path: &Path) -> Option<Vec<String>> {
    std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file())).map(first_lines)
}

/// Lines of a small file; whoever wrote it, only names of versions that exist are made of them.
fn first_lines(file: std::fs::File) -> Vec<String> {
    let mut bytes = Vec::new();
    // What cannot be read names no version.
    let _ = file.take(VERSION_BYTES_MAX).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
