//! Directories: which may be granted, and exactly which directory on disk a grant means.

use serde::{Deserialize, Serialize};

/// What work may do with a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
}

/// A directory pinned to its identity. A path that leads elsewhere later is not what was approved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Absolute and free of symlinks, `.` and `..`.
    pub path: String,
    /// Device and inode as decimal strings: they may be larger than JSON's safe integers.
    pub device: String,
    pub inode: String,
}

/// The payload of a `root` decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootGrant {
    pub kind: RootKind,
    pub place: Place,
}

/// Keeps the payloads of different kinds apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    Root,
}

/// Why a directory may never be granted, whoever asks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Forbidden {
    #[error("The whole file system cannot be granted. Name the project's own directory.")]
    Everything,
    #[error("This directory contains Silas's own data or settings. Name a directory beside it.")]
    OwnData,
    #[error("This directory lies inside Silas's own data or settings. Name a directory outside it.")]
    InsideOwnData,
    #[error("A system directory cannot be granted. Name a project's directory.")]
    System,
    #[error("This directory shows Silas's own data or settings under another name. Name another directory.")]
    Alias,
    #[error("What is mounted on this machine cannot be read, so it is not known what this directory is.")]
    Unknown,
    #[error("A directory that holds keys cannot be granted. Name a project's directory.")]
    Keys,
}

/// Directories that the sandbox itself is built from; work on them cannot be shown at their own path.
const SYSTEM: [&str; 11] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev", "/boot", "/run"];

/// Where people keep keys; no project lives there.
const KEY_HOLDERS: [&str; 4] = [".ssh", ".gnupg", ".aws", ".kube"];

/// Both paths must be real paths; what is Silas's own is a directory or a single file. `/tmp` and `/var` themselves are too wide as well.
pub fn may_grant(path: &str, own: &str) -> Result<(), Forbidden> {
    if path == "/" {
        return Err(Forbidden::Everything);
    }
    if contains(path, own) {
        return Err(Forbidden::OwnData);
    }
    if contains(own, path) {
        return Err(Forbidden::InsideOwnData);
    }
    if path.split('/').any(|part| KEY_HOLDERS.contains(&part)) {
        return Err(Forbidden::Keys);
    }
    let too_wide = ["/tmp", "/var", "/home"].contains(&path);
    if too_wide || SYSTEM.iter().any(|system| contains(system, path)) {
        return Err(Forbidden::System);
    }
    Ok(())
}

/// Whether `inner` is `outer` or lies below it.
pub fn contains(outer: &str, inner: &str) -> bool {
    inner == outer || outer == "/" || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
