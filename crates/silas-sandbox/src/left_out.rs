//! How much the work made or changed that is no work product: counted by its looks, never read.

use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::permit::Root;
use crate::private_copy::{PrivateCopy, Way};
use crate::{Error, LeftOut, observe, tree};
use silas_core::relpath::RelPath;
use std::io;

impl PrivateCopy {
    /// How many files, and the outermost places. Through a layer only what the work wrote is there at all.
    pub(crate) fn left_out(&self, root: &Root, lifeline: Lifeline<'_>) -> Result<LeftOut, Error> {
        let mut left = LeftOut::default();
        let real = &root.granted.dir;
        let mut leave = |dir: &Dir, path: RelPath, stat: &Stat| {
            let there = match self.way {
                Way::Layered => None,
                Way::Whole => match real.parent_of(&path) {
                    Err(e) if observe::leads_nowhere(&e) => None,
                    found => Some(found.doing(|| format!("Looking at {path}"))?.0),
                },
            };
            let n = n_made(dir, split(&path).1, stat, there.as_ref()).doing(|| format!("Looking at {path}"))?;
            left.add(path.to_string(), n);
            Ok(())
        };
        tree::walk_by(self.changed(), &self.extent(lifeline), &mut |_, _, _| Ok(()), &mut leave)?;
        Ok(left)
    }
}

/// Files at and below a name that are not as they are in another directory, by their looks.
fn n_made(dir: &Dir, name: &[u8], stat: &Stat, original: Option<&Dir>) -> io::Result<u64> {
    let there = original.map(|dir| dir.stat(name)).transpose()?.flatten();
    if stat.kind != Kind::Directory {
        let looks = |stat: &Stat| (stat.kind, stat.mode, stat.size, stat.modified);
        let is_same = there.is_some_and(|there| stat.kind == Kind::Link || looks(&there) == looks(stat));
        return Ok(u64::from(!is_same));
    }
    let original = match (original, there) {
        (Some(dir), Some(there)) if there.kind == Kind::Directory => dir.below(name).ok(),
        _ => None,
    };
    let dir = dir.below(name)?;
    let mut n = 0;
    for name in dir.names(usize::MAX)? {
        if let Some(stat) = dir.stat(&name)? {
            n += n_made(&dir, &name, &stat, original.as_ref())?;
        }
    }
    Ok(n)
}
