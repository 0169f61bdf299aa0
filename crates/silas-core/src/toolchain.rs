//! Tools that live in the owner's home instead of `/usr`: which directories of theirs a plan was granted, and what a program
//! needs in its environment to find them.
//!
//! Nothing here looks at a disk. The launcher finds toolchains and knows which directories are theirs; a plan carries the
//! ones that were found, pinned like every other directory, so that they are part of what is approved.

use crate::roots::Place;
use serde::{Deserialize, Serialize};

/// Whose directory it is. Each lists only parts without secrets: `~/.cargo/bin`, never `~/.cargo` with its credentials.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// `bin`, `registry` and `git` of Cargo's home.
    Cargo,
    /// One toolchain below `toolchains`. Its programs are used directly: rustup's own stand-ins want to write.
    Rustup,
    /// One version of Python below `versions`.
    Pyenv,
    /// One version of Node below `versions/node`.
    Nvm,
    /// One version of Python, or the program `uv` itself.
    Uv,
}

impl Family {
    pub const ALL: [Family; 5] = [Family::Cargo, Family::Rustup, Family::Pyenv, Family::Nvm, Family::Uv];

    pub fn name(self) -> &'static str {
        match self {
            Family::Cargo => "cargo",
            Family::Rustup => "rustup",
            Family::Pyenv => "pyenv",
            Family::Nvm => "nvm",
            Family::Uv => "uv",
        }
    }
}

/// A directory or file of a toolchain, as it was when it was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolchain {
    pub family: Family,
    pub path: String,
    pub device: String,
    pub inode: String,
}

/// More than any machine has of those that one project uses.
pub const TOOLCHAINS_MAX: usize = 16;

impl Toolchain {
    pub fn at(family: Family, place: Place) -> Self {
        Toolchain { family, path: place.path, device: place.device, inode: place.inode }
    }

    pub fn place(&self) -> Place {
        Place { path: self.path.clone(), device: self.device.clone(), inode: self.inode.clone() }
    }

    /// The directory in which its programs lie, if it has any.
    fn programs(&self) -> Option<String> {
        let is_bin = self.path.ends_with("/bin");
        match self.family {
            Family::Cargo => is_bin.then(|| self.path.clone()),
            Family::Rustup | Family::Pyenv | Family::Nvm => Some(format!("{}/bin", self.path)),
            Family::Uv if self.path.ends_with("/uv") => parent(&self.path, "/uv"),
            Family::Uv => Some(format!("{}/bin", self.path)),
        }
    }

    /// The variable by which its programs find the rest of it.
    fn variable(&self) -> Option<(&'static str, String)> {
        match self.family {
            Family::Cargo => Some(("CARGO_HOME", parent(&self.path, "/bin")?)),
            Family::Rustup | Family::Pyenv | Family::Nvm | Family::Uv => None,
        }
    }
}

/// Where programs are looked for without any toolchain.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The whole environment of a command: `PATH`, `HOME`, and what the granted toolchains need. Theirs come first, because
/// that is what the owner's own shell finds.
pub fn environment(toolchains: &[Toolchain], home: &str) -> Vec<(String, String)> {
    let mut path: Vec<String> = toolchains.iter().filter_map(Toolchain::programs).collect();
    path.push(PATH.to_owned());
    let mut env = vec![("PATH".to_owned(), path.join(":")), ("HOME".to_owned(), home.to_owned())];
    env.extend(toolchains.iter().filter_map(Toolchain::variable).map(|(name, value)| (name.to_owned(), value)));
    env
}

/// Their names for a person, each once: `cargo, pyenv (3.11.7)`.
pub fn words(toolchains: &[Toolchain]) -> String {
    let mut names: Vec<String> = Vec::new();
    for toolchain in toolchains {
        let last = toolchain.path.rsplit('/').next().unwrap_or_default();
        let name = match toolchain.family {
            Family::Cargo => toolchain.family.name().to_owned(),
            Family::Rustup | Family::Pyenv | Family::Nvm => format!("{} ({last})", toolchain.family.name()),
            Family::Uv if last == "uv" => "uv".to_owned(),
            Family::Uv => format!("uv ({last})"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

fn parent(path: &str, end: &str) -> Option<String> {
    path.strip_suffix(end).filter(|rest| !rest.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
