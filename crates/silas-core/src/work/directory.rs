//! A directory that a plan asks for, pinned to what it is on disk.

use crate::roots::{Access, Place};
use serde::{Deserialize, Serialize};

/// A directory that a plan asks for. Pinned to device and inode when its card is made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    pub path: String,
    pub access: Access,
    #[serde(default)]
    pub device: Option<String>,
    #[serde(default)]
    pub inode: Option<String>,
    /// How files are replaced here, where it is not in one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Replacing>,
}

/// How a file is replaced where its file system may be unable to exchange two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacing {
    /// It is missing for an instant.
    TwoSteps,
}

impl Directory {
    pub fn pinned(place: Place, access: Access) -> Self {
        let (device, inode) = (Some(place.device), Some(place.inode));
        Directory { path: place.path, access, device, inode, replaces: None }
    }

    /// Exactly which directory this is, if it was pinned.
    pub fn place(&self) -> Option<Place> {
        let (device, inode) = (self.device.clone()?, self.inode.clone()?);
        Some(Place { path: self.path.clone(), device, inode })
    }
}
