//! Puts verified changes in place, in all directories of a plan or in none, across crashes.
//!
//! Before the journal is written nothing of the owner's has moved, and whatever goes wrong leaves everything as it was.
//! After it, all of it is carried out, even if nobody listens any more, or all of it is taken back: because a file cannot be
//! put in place after all, or is not what it was. Only where neither can be, some of it stays, and then that is what is told
//! and what can be undone. If this process dies, recovery calls [`finish`] again.

use crate::attributes::Origins;
use crate::clock;
use crate::error::Doing;
use crate::ground::Ground;
use crate::journal::{Fate, Journal, NewDir, Op};
use crate::lifeline::Lifeline;
use crate::memory::Memory;
use crate::movable::Trial;
use crate::moves::Moves;
use crate::permit::{self, Granted, Root};
use crate::stage::{self, Linked, Settling, Site, Stage};
use crate::tree::{self, Manifest};
use crate::workspace::Workspace;
use crate::{Applied, Error, changes, commits, durable, fixed, observe, take_back, trade, two_steps, waiting};
use silas_core::ExecutionId;
use silas_core::changeset::{Change, Changeset};
use silas_core::evidence::{self, Evidence, When};
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use silas_core::revocation::Revocations;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use std::collections::BTreeSet;

/// Everything that an apply needs to know. All lists have one entry for each directory, in the plan's order.
pub(crate) struct Work<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) evidence: &'a Evidence,
    /// The run whose changes these are.
    pub(crate) execution: &'a ExecutionId,
    pub(crate) roots: &'a [Root],
    pub(crate) workspace: &'a Workspace,
    /// What the owner's directories were when the checks ran on the result.
    pub(crate) base: &'a [Manifest],
    /// What the copies are now, and were when the checks ran.
    pub(crate) finished: &'a [Manifest],
    pub(crate) changeset: &'a Changeset,
    pub(crate) moves: &'a Moves,
}

/// What an apply comes to.
pub(crate) enum Outcome {
    Applied(Applied),
    /// The owner changed something that the work did not: what was checked is not what would be there. Nothing was
    /// touched; the checks have to run again on this.
    MovedOn(Vec<Manifest>),
}

impl Work<'_> {
    pub(crate) fn apply(&self, lifeline: Lifeline<'_>) -> Result<Outcome, Error> {
        let memory = &self.ground.memory;
        let execution = self.execution;
        let _turn = memory.turn_to_apply()?;
        self.roots.iter().try_for_each(|root| root.granted.is_still_there())?;
        if let Some(committed) = Journal::load(&memory.journal(execution))? {
            return finish(self.ground, committed, &granted(self.roots), Aim::Forward).map(Outcome::Applied);
        }
        let now = self.workspace.look_at(self.roots, lifeline)?;
        let paths = self.changed_by_both(&now)?;
        if !paths.is_empty() {
            return Err(Error::Conflict { paths: tree::shortened(paths) });
        }
        changes::have_room(self.changeset, self.roots, &now)?;
        fixed::must_be_left_alone(self.changeset, self.moves, self.roots)?;
        let mut each = self.workspace.copies.iter().zip(self.base.iter().zip(&now));
        if !each.all(|(copy, (base, now))| copy.is_based_on(base, now)) {
            return Ok(Outcome::MovedOn(now));
        }
        match self.stage_and_commit(lifeline) {
            Ok(journal) => {
                fail::point(FailPoint::ApplyCommitted);
                finish(self.ground, journal, &granted(self.roots), Aim::Forward).map(Outcome::Applied)
            }
            Err(why) => {
                // If the journal is on disk after all, it is committed and its stages must stay.
                if let Ok(None) = Journal::load(&memory.journal(execution)) {
                    for root in self.roots {
                        // Recovery removes what cannot be removed now; why it failed matters more.
                        let _ = stage::remove(&root.granted.dir, execution);
                    }
                }
                Err(why)
            }
        }
    }

    /// Paths that the owner changed since the copy was made and that the work changed too.
    fn changed_by_both(&self, now: &[Manifest]) -> Result<Vec<String>, Error> {
        let mut paths = Vec::new();
        for change in &self.changeset.changes {
            let Some(n) = self.root_of(change) else { continue };
            if !self.is_as_before(change, n, &now[n])? {
                paths.push(permit::shown(self.roots, n, &change.path));
            }
        }
        Ok(paths)
    }

    fn is_as_before(&self, change: &Change, n: usize, now: &Manifest) -> Result<bool, Error> {
        if !commits::is_in_repository(&change.path) {
            let is_taken = change.before.is_none() && now.dirs.contains_key(&change.path);
            return Ok(!is_taken && now.files.get(&change.path) == change.before.as_ref());
        }
        let (dir, doing) = (&self.roots[n].granted.dir, || format!("Looking at {}", change.path));
        let is_same = observe::path_below(dir, &change.path).doing(doing)?.is(&change.before);
        Ok(is_same && !commits::is_locked(dir, &change.path).doing(doing)?)
    }

    fn root_of(&self, change: &Change) -> Option<usize> {
        self.roots.iter().position(|root| root.nth == change.directory)
    }

    fn stage_and_commit(&self, lifeline: Lifeline<'_>) -> Result<Journal, Error> {
        let execution = self.execution;
        let changed: BTreeSet<u32> = self.changeset.changes.iter().map(|change| change.directory).collect();
        let mut sites = Vec::with_capacity(self.roots.len());
        let mut is_in_two_steps = false;
        for root in self.roots {
            let stage = Stage::make(&root.granted.dir, execution)?;
            if changed.contains(&root.nth) {
                let doing = || "Trying to exchange two files".to_owned();
                is_in_two_steps |= !two_steps::can_exchange(&stage.dir).doing(doing)?;
            }
            sites.push(Site { root: &root.granted.dir, stage });
        }
        self.try_each(&sites)?;
        let mut ops = Vec::with_capacity(self.changeset.changes.len());
        let mut settling = Settling::default();
        let mut linked: Vec<Linked> = self.roots.iter().map(|_| Linked::default()).collect();
        for (n, change) in self.changeset.changes.iter().enumerate() {
            lifeline.holds()?;
            let root = self.root_of(change).ok_or_else(|| Error::Damaged("a change outside the plan".to_owned()))?;
            let name = n.to_string();
            let source = self.workspace.source_of(root, &change.path)?;
            let origins = Origins {
                root: sites[root].root,
                base: &self.base[root],
                moves: self.moves,
                written: self.workspace.copies[root].changed(),
            };
            let staged = sites[root].stage.put(&name, change, &origins, &source, &mut linked[root], lifeline);
            staged.map_err(|why| permit::told_of(self.roots, root, why))?;
            if change.after.is_some() {
                settling.note_staged(root, &name);
            }
            ops.push(Op {
                root,
                path: change.path.clone(),
                stage: name,
                there: change.before.clone(),
                staged: change.after.clone(),
            });
        }
        let new_dirs = self.new_dirs(&ops);
        for (new, was) in new_dirs.iter().filter_map(|new| Some((new, new.was.as_ref()?))) {
            let was = sites[new.root].root.below(was.as_bytes()).doing(|| format!("Looking at {was}"))?;
            let tried = sites[new.root].stage.try_directory(&new.path, &was);
            tried.map_err(|why| permit::told_of(self.roots, new.root, why))?;
        }
        (0..sites.len()).for_each(|root| settling.note(root, b""));
        settling.settle(&sites).doing(|| "Putting the staged files on disk".to_owned())?;
        fail::point(FailPoint::ApplyStaged);
        lifeline.holds()?;
        still_counts(self.ground, self.evidence)?;
        let journal = Journal {
            execution: execution.clone(),
            evidence: self.evidence.clone(),
            places: permit::places(self.roots),
            changeset: hash(self.changeset)?,
            new_dirs,
            ops,
            is_in_two_steps,
            fates: None,
            in_part: None,
        };
        journal.save(&self.ground.memory.journal(execution))?;
        Ok(journal)
    }

    /// Refuses by name, with nothing staged and nothing touched, what could not be put in place or taken out of it again.
    fn try_each(&self, sites: &[Site<'_>]) -> Result<(), Error> {
        for (n, site) in sites.iter().enumerate() {
            let trial = Trial::begin(&site.stage.dir)?;
            for change in self.changeset.changes.iter().filter(|change| self.root_of(change) == Some(n)) {
                let shown = permit::shown(self.roots, n, &change.path);
                observe::may_rename(site.root, &change.path, &shown)?;
                trial.may_leave(site.root, &change.path, &shown)?;
            }
        }
        Ok(())
    }

    /// The directories of new files that the owner does not have, parents first.
    fn new_dirs(&self, ops: &[Op]) -> Vec<NewDir> {
        let mut dirs = BTreeSet::new();
        for op in ops.iter().filter(|op| op.there.is_none()) {
            let bytes = op.path.as_bytes();
            let slashes = bytes.iter().enumerate().filter(|(_, b)| **b == b'/');
            let above = slashes.filter_map(|(slash, _)| RelPath::from_bytes(&bytes[..slash]).ok());
            dirs.extend(above.map(|path| (op.root, path)));
        }
        dirs.into_iter()
            .filter(|(root, dir)| !self.base[*root].dirs.contains_key(dir))
            // The repository's own directories are in no manifest.
            .filter(|(root, dir)| self.roots[*root].granted.dir.below(dir.as_bytes()).is_err())
            .map(|(root, path)| {
                let mode = self.finished[root].dirs.get(&path).copied().unwrap_or(0o755);
                let was = self.moves.dir(self.roots[root].nth, &path).cloned();
                NewDir { root, mode, path, was }
            })
            .collect()
    }
}

/// Asked again at the last moment in which nothing is in place: what was revoked while the work was under way is neither
/// applied nor kept.
pub(crate) fn still_counts(ground: &Ground, evidence: &Evidence) -> Result<(), Error> {
    let revocations = ground.memory.revocations(&ground.anchor)?;
    let tokens = evidence.roots.iter().map(|root| &root.token).chain([&evidence.token]);
    for token in tokens {
        revocations.allow(token)?;
    }
    Ok(())
}

fn granted(roots: &[Root]) -> Vec<&Granted> {
    roots.iter().map(|root| &root.granted).collect()
}

pub(crate) fn hash(changeset: &Changeset) -> Result<silas_core::Digest, Error> {
    changeset.hash().map_err(|e| Error::Damaged(e.to_string()))
}

/// Where a committed journal is to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aim {
    Forward,
    /// What allowed it was taken back since.
    Back,
}

/// Goes on from the commit point, for the first time or again. An error that is not [`Error::Unfinished`] means that nothing
/// is in place and the journal is gone.
pub(crate) fn finish(ground: &Ground, mut journal: Journal, roots: &[&Granted], aim: Aim) -> Result<Applied, Error> {
    if journal.fates.is_none() {
        carry_out(ground, &mut journal, roots, aim)?;
    }
    note_applied(ground, &journal).map_err(Error::after_commit)
}

fn carry_out(ground: &Ground, journal: &mut Journal, roots: &[&Granted], aim: Aim) -> Result<(), Error> {
    let path = ground.memory.journal(&journal.execution);
    let sites = stage::open_all(roots, &journal.execution).map_err(Error::after_commit)?;
    let tried = match aim {
        Aim::Forward => trade::carry_out(journal, &sites, FailPoint::ApplyHalfway),
        Aim::Back => Err(Error::NotAvailable("What allowed it was taken back.".to_owned())),
    };
    let why = match tried.and_then(|fates| trade::all_in_place(journal, fates)) {
        Ok(fates) => match journal.settle(fates, &path) {
            Ok(()) => return Ok(()),
            Err(why) => why,
        },
        Err(why) => why,
    };
    let fates = take_back::take_back(journal, &sites).map_err(Error::after_commit)?;
    if take_back::is_all_back(&fates) {
        trade::remove_empty(&sites, &journal.new_dirs).map_err(Error::after_commit)?;
        durable::remove(&path)
            .doing(|| "Removing a journal that was taken back".to_owned())
            .map_err(Error::after_commit)?;
        for (n, site) in sites.iter().enumerate() {
            // Recovery removes what cannot be removed now; why it went back matters more.
            let _ = stage::clear(site.root, &journal.execution, &journal.staged(n));
        }
        return Err(why.taken_back());
    }
    if fates.contains(&Fate::NotApplied) {
        journal.in_part = Some(why.in_part());
    }
    journal.settle(fates, &path).map_err(Error::after_commit)
}

fn note_applied(ground: &Ground, journal: &Journal) -> Result<Applied, Error> {
    let memory = &ground.memory;
    let mut record = memory
        .record(&journal.execution)?
        .ok_or_else(|| Error::Damaged("a journal without its execution".to_owned()))?;
    record.state = ExecutionState::Applied;
    record.changeset = Some(journal.changeset);
    record.files = journal.files();
    record.undo_until = Some(clock::now().plus(ground.undo_window));
    memory.update(&journal.execution, &record)?;
    settle_order(memory, journal)?;
    fail::point(FailPoint::ApplyDone);
    Ok(Applied {
        changeset: journal.changeset,
        files: journal.files(),
        is_in_two_steps: journal.is_in_two_steps,
        conflicts: journal.conflicts(),
        in_part: journal.in_part(),
    })
}

/// What waited does so no longer, and the decision that ended the waiting has served.
fn settle_order(memory: &Memory, journal: &Journal) -> Result<(), Error> {
    let order = &journal.evidence.execution;
    if *order == journal.execution {
        return Ok(());
    }
    if let Some(mut record) = memory.record(order)? {
        record.state = ExecutionState::Ended;
        memory.update(order, &record)?;
    }
    waiting::forget(memory, &journal.execution)
}

/// Whether a committed journal is really what was approved: who and what, not when.
pub(crate) fn verify(ground: &Ground, journal: &Journal) -> Result<Vec<Root>, Error> {
    let (evidence, anchor, when) = (&journal.evidence, &ground.anchor, When::AlreadyCommitted);
    // Whoever was revoked since: it says in which direction what is committed ends, not whether.
    let none = Revocations::default();
    let (plan, is_its_own) = if evidence.token.body.offer.kind == Kind::Apply {
        let (_, order, plan) = evidence::verify_apply(evidence, anchor, &none, when)?;
        (plan, order.execution == journal.execution && order.changeset == journal.changeset)
    } else {
        evidence::verify(evidence, Kind::Plan, anchor, &none, when)?;
        let plan = WorkItem::from_canonical(&evidence.payload).map_err(Error::Damaged)?;
        (plan, evidence.execution == journal.execution)
    };
    let roots = permit::roots(&plan, &ground.own)?;
    if !is_its_own || permit::places(&roots) != journal.places {
        return Err(Error::Damaged("a journal that does not fit its approval".to_owned()));
    }
    Ok(roots)
}
