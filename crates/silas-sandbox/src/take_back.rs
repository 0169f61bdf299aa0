//! The way back from a journal that cannot be carried out to its end: what already changed places changes back, and nothing
//! else is touched.
//!
//! Every name is looked at before it moves. What somebody has written since stays where it is, and then it is said which
//! files are new and which are old. Running it again, after a crash at any point, ends in the same state; and so does going
//! forward again instead: until the journal is gone, or says how each operation ended, nobody was told anything.

use crate::Error;
use crate::dir::{Dir, split};
use crate::error::Doing;
use crate::journal::{Fate, Journal, NewDir, Op};
use crate::observe::{self, Seen};
use crate::stage::{Settling, Site};
use crate::{trade, two_steps};
use std::io;

/// Takes back what can be, and says of each operation how it stands now: not applied, or still as it was carried out. What is
/// back is on disk when this returns.
pub(crate) fn take_back(journal: &Journal, sites: &[Site<'_>]) -> Result<Vec<Fate>, Error> {
    let mut fates = Vec::with_capacity(journal.ops.len());
    let mut settling = Settling::default();
    for op in journal.ops.iter().rev() {
        let site = sites.get(op.root).ok_or_else(|| Error::Damaged("a journal with too few directories".to_owned()))?;
        // One that cannot be moved back stays in place, and that is what is found there.
        let _ = back(op, site, &journal.new_dirs);
        fates.push(stands(op, site).doing(|| format!("Looking at {}", op.path))?);
        settling.note(op.root, split(&op.path).0);
    }
    fates.reverse();
    settling.settle(sites).doing(|| "Putting files back on disk".to_owned())?;
    Ok(fates)
}

/// Whether nothing of a journal is in place.
pub(crate) fn is_all_back(fates: &[Fate]) -> bool {
    fates.iter().all(|fate| *fate == Fate::NotApplied)
}

fn back(op: &Op, site: &Site<'_>, new_dirs: &[NewDir]) -> io::Result<()> {
    match (&op.there, &op.staged) {
        (Some(_), Some(_)) => exchange_back(op, site),
        (None, Some(_)) => take_out_again(op, site),
        (Some(_), None) => put_in_again(op, site, new_dirs),
        (None, None) => Ok(()),
    }
}

/// How an operation stands, by what lies in the staging directory: what was to go in, or what came out.
fn stands(op: &Op, site: &Site<'_>) -> io::Result<Fate> {
    let staged = observe::name_in(&site.stage.dir, op.stage.as_bytes())?;
    let came_out = || if staged.is(&op.there) { Fate::InPlace } else { Fate::OwnersKept };
    Ok(match (&op.there, &op.staged) {
        (None, None) => Fate::NotApplied,
        (None, Some(_)) if staged == Seen::Nothing => Fate::InPlace,
        (None, Some(_)) => Fate::NotApplied,
        (Some(_), Some(_)) if staged.is(&op.staged) => Fate::NotApplied,
        (Some(_), None) if staged == Seen::Nothing => Fate::NotApplied,
        (Some(_), _) => came_out(),
    })
}

fn exchange_back(op: &Op, site: &Site<'_>) -> io::Result<()> {
    let (name, stage) = (op.stage.as_bytes(), &site.stage.dir);
    if two_steps::is_begun(stage, name)? {
        let Some((parent, last)) = parent_of(site.root, op)? else { return Ok(()) };
        two_steps::go_back(stage, name, &parent, last)?;
    }
    if observe::name_in(stage, name)?.is(&op.staged) {
        return Ok(());
    }
    let Some((parent, last)) = trade::reach(site.root, &op.path)? else { return Ok(()) };
    let lease = trade::lease(&parent, last);
    // Whoever has changed it since keeps what they wrote.
    if observe::name_in(&parent, last)?.is(&op.staged) {
        two_steps::exchange(stage, name, &parent, last)?;
    }
    drop(lease);
    Ok(())
}

/// A new file goes back to where it waited.
fn take_out_again(op: &Op, site: &Site<'_>) -> io::Result<()> {
    let (name, stage) = (op.stage.as_bytes(), &site.stage.dir);
    let Some((parent, last)) = trade::reach(site.root, &op.path)? else { return Ok(()) };
    match (observe::name_in(stage, name)?, observe::name_in(&parent, last)?) {
        (Seen::Nothing, there) if there.is(&op.staged) => two_steps::take_out(&parent, last, stage, name),
        // It was put there by a second name, and the first was not taken away yet.
        (Seen::State(_), Seen::State(_)) if is_one_file(stage, name, &parent, last)? => parent.unlink(last),
        (Seen::Nothing | Seen::State(_) | Seen::Other, _) => Ok(()),
    }
}

/// What was taken away goes back, unless something else has its place by now.
fn put_in_again(op: &Op, site: &Site<'_>, new_dirs: &[NewDir]) -> io::Result<()> {
    let (name, stage) = (op.stage.as_bytes(), &site.stage.dir);
    if observe::name_in(stage, name)? == Seen::Nothing {
        return Ok(());
    }
    trade::make_parents(op, site, new_dirs, |parent, _| parent.sync())?;
    let Some((parent, last)) = parent_of(site.root, op)? else { return Ok(()) };
    match two_steps::put_in(stage, name, &parent, last) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

fn parent_of<'o>(root: &Dir, op: &'o Op) -> io::Result<Option<(Dir, &'o [u8])>> {
    match root.parent_of(&op.path) {
        Err(e) if observe::leads_nowhere(&e) => Ok(None),
        found => found.map(Some),
    }
}

fn is_one_file(stage: &Dir, name: &[u8], parent: &Dir, last: &[u8]) -> io::Result<bool> {
    let ids = |stat: crate::dir::Stat| (stat.device, stat.inode);
    Ok(stage.stat(name)?.map(ids) == parent.stat(last)?.map(ids))
}
