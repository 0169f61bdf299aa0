//! Ignored build output that the checks after the work see as the work left it, because the plan names it: a layer of its own
//! below what would land. It is not applied, and whoever reads the results is told of it by name.
//!
//! Only what git ignores and does not track can stand here; a plan cannot slip anything else past its changeset this way.

use crate::Error;
use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::extent::Extent;
use crate::permit::Root;
use crate::private_copy::{PrivateCopy, Way};
use crate::tree::{self, Room};
use crate::{observe, overlay, removal, syscall};
use silas_core::relpath::RelPath;
use std::io;
use std::os::fd::AsFd;

pub(crate) struct Beside {
    /// Where it lies in the workspace's home, as a layer; where copies are whole it is empty.
    pub(crate) name: String,
    pub(crate) dir: Dir,
    /// The outermost places that stand here.
    pub(crate) places: Vec<RelPath>,
}

impl Beside {
    /// `wanted` are the places that the plan names. `None` if the work made nothing of them.
    pub(crate) fn make(
        home: &Dir,
        copy: &PrivateCopy,
        root: &Root,
        wanted: &[RelPath],
        extent: &Extent<'_>,
    ) -> Result<Option<Self>, Error> {
        let doing = || "Laying out what stands beside the change".to_owned();
        let name = copy.name.replace("copy", "beside");
        removal::tree(home, name.as_bytes()).doing(doing)?;
        if wanted.is_empty() {
            return Ok(None);
        }
        let mode = root.granted.dir.own_stat().doing(doing)?.mode;
        let dir = overlay::make(home, &name, mode).doing(doing)?;
        let mut beside = Beside { name, dir, places: Vec::new() };
        let dirs = &copy.original.dirs;
        let mut leave = |from: &Dir, path: RelPath, stat: &Stat| {
            extent.lifeline.holds()?;
            if !is_at_or_below(&path, wanted) {
                return Ok(());
            }
            if copy.way == Way::Layered {
                let (parent, name) = split(&path);
                let to = overlay::make_parents(&beside.dir, parent, dirs).doing(doing)?;
                link(from, name, stat, &to).doing(doing)?;
            }
            beside.places.push(path);
            Ok(())
        };
        tree::walk_by(copy.changed(), extent, &mut |_, _, _| Ok(()), &mut leave)?;
        Ok((!beside.places.is_empty()).then_some(beside))
    }

    pub(crate) fn has(&self, path: &RelPath) -> bool {
        is_at_or_below(path, &self.places)
    }

    /// Puts it into a copy that holds every file, out of the work's copy.
    pub(crate) fn put_into(&self, to: &Dir, copy: &PrivateCopy, extent: &Extent<'_>) -> Result<(), Error> {
        // The plan names it and the work has room for it already, so there may be any amount; a full disk ends it.
        let bytes = u64::MAX;
        for path in &self.places {
            let doing = || format!("Showing {path} to a check");
            let (from, name) = copy.changed().parent_of(path).doing(doing)?;
            let to = overlay::make_parents(to, split(path).0, &copy.original.dirs).doing(doing)?;
            if let Some(stat) = from.stat(name).doing(doing)? {
                tree::copy_unseen(&from, name, &stat, &to, Room { extent, bytes, path })?;
            }
        }
        Ok(())
    }
}

fn is_at_or_below(path: &RelPath, places: &[RelPath]) -> bool {
    places.iter().any(|place| path == place || tree::lies_below(path, place))
}

/// The same files under second names, so that nothing is copied: a layer below others is never written to, and when the
/// work goes on in its copy this one is made anew. Marks of the layer come along; special files stay behind.
fn link(from: &Dir, name: &[u8], stat: &Stat, to: &Dir) -> io::Result<()> {
    match stat.kind {
        _ if stat.is_whiteout => syscall::make_whiteout(to.as_fd(), name),
        Kind::Special(_) => Ok(()),
        Kind::File | Kind::Link => match from.link(name, to, name) {
            Err(e) if matches!(e.raw_os_error(), Some(libc::EMLINK | libc::EPERM | libc::EXDEV)) => {
                observe::copy_name(from, name, to, name)
            }
            done => done,
        },
        Kind::Directory => {
            to.mkdir(name, stat.mode | 0o700)?;
            let (from, to) = (from.below(name)?, to.below(name)?);
            overlay::copy_mark(&from, &to)?;
            for name in from.names(usize::MAX)? {
                if let Some(stat) = from.stat(&name)? {
                    link(&from, &name, &stat, &to)?;
                }
            }
            Ok(())
        }
    }
}
