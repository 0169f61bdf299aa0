//! Puts verified changes in place, all or none across crashes.
//!
//! Before the journal is written nothing of the owner's has moved, and whatever goes wrong leaves everything as it was.
//! After it, there is only forward: this process goes on even if nobody listens any more, and if it dies, recovery calls
//! [`finish`] again.

use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::{self, Ground};
use crate::journal::{Journal, NewDir, Op};
use crate::lifeline::Lifeline;
use crate::permit::{self, Granted};
use crate::stage::{self, Stage};
use crate::tree::{self, Git, Manifest};
use crate::{Applied, Error, trade};
use silas_core::changeset::Changeset;
use silas_core::evidence::{self, Evidence, When};
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use silas_core::revocation::Revocations;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use std::collections::BTreeSet;

/// Everything that an apply needs to know.
pub(crate) struct Work<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) evidence: &'a Evidence,
    pub(crate) granted: &'a Granted,
    pub(crate) git: Git,
    /// What the copy was made of.
    pub(crate) original: &'a Manifest,
    /// What the copy is now, and was when the checks ran.
    pub(crate) finished: &'a Manifest,
    pub(crate) changeset: &'a Changeset,
    pub(crate) copy: &'a Dir,
}

impl Work<'_> {
    pub(crate) fn apply(&self, lifeline: Lifeline<'_>) -> Result<Applied, Error> {
        let memory = &self.ground.memory;
        let execution = &self.evidence.execution;
        let _turn = memory.turn_to_apply()?;
        self.granted.is_still_there()?;
        if let Some(committed) = Journal::load(&memory.journal(execution))? {
            return finish(self.ground, committed, &self.granted.dir);
        }
        let now = tree::snapshot(&self.granted.dir, self.git, lifeline)?;
        let paths = now.differences(&self.original.files);
        if !paths.is_empty() {
            return Err(Error::Conflict { paths });
        }
        match self.stage_and_commit(lifeline) {
            Ok(journal) => {
                fail::point(FailPoint::ApplyCommitted);
                finish(self.ground, journal, &self.granted.dir)
            }
            Err(why) => {
                // If the journal is on disk after all, it is committed and its stage must stay.
                if let Ok(None) = Journal::load(&memory.journal(execution)) {
                    // Recovery removes what cannot be removed now; why it failed matters more.
                    let _ = stage::remove(&self.granted.dir, execution);
                }
                Err(why)
            }
        }
    }

    fn stage_and_commit(&self, lifeline: Lifeline<'_>) -> Result<Journal, Error> {
        let root = &self.granted.dir;
        let execution = &self.evidence.execution;
        let stage = Stage::make(root, execution)?;
        stage.probe_exchange()?;
        let mut ops = Vec::with_capacity(self.changeset.changes.len());
        for (n, change) in self.changeset.changes.iter().enumerate() {
            lifeline.holds()?;
            let name = n.to_string();
            stage.put(&name, change, root, self.copy)?;
            ops.push(Op {
                path: change.path.clone(),
                stage: name,
                there: change.before.clone(),
                staged: change.after.clone(),
            });
        }
        let doing = || "Putting the staged files on disk".to_owned();
        stage.dir.sync().and_then(|()| root.sync()).doing(doing)?;
        fail::point(FailPoint::ApplyStaged);
        lifeline.holds()?;
        self.still_counts()?;
        let journal = Journal {
            execution: execution.clone(),
            evidence: self.evidence.clone(),
            place: self.granted.place.clone(),
            changeset: hash(self.changeset)?,
            new_dirs: self.new_dirs(&ops),
            ops,
            fates: None,
        };
        journal.save(&self.ground.memory.journal(execution))?;
        Ok(journal)
    }

    /// Asked again at the last moment in which nothing is in place: what was revoked while the work was under way is not
    /// applied.
    fn still_counts(&self) -> Result<(), Error> {
        let revocations = self.ground.memory.revocations(&self.ground.anchor)?;
        let tokens = self.evidence.roots.iter().map(|root| &root.token).chain([&self.evidence.token]);
        for token in tokens {
            revocations.allow(token)?;
        }
        Ok(())
    }

    /// The directories of new files that the original does not have, parents first.
    fn new_dirs(&self, ops: &[Op]) -> Vec<NewDir> {
        let mut dirs = BTreeSet::new();
        for op in ops.iter().filter(|op| op.there.is_none()) {
            let bytes = op.path.as_bytes();
            let slashes = bytes.iter().enumerate().filter(|(_, b)| **b == b'/');
            dirs.extend(slashes.filter_map(|(slash, _)| RelPath::from_bytes(&bytes[..slash]).ok()));
        }
        dirs.into_iter()
            .filter(|dir| !self.original.dirs.contains_key(dir))
            .map(|path| NewDir { mode: self.finished.dirs.get(&path).copied().unwrap_or(0o755), path })
            .collect()
    }
}

pub(crate) fn hash(changeset: &Changeset) -> Result<silas_core::Digest, Error> {
    changeset.hash().map_err(|e| Error::Damaged(e.to_string()))
}

/// Goes forward from the commit point, for the first time or again.
pub(crate) fn finish(ground: &Ground, journal: Journal, root: &Dir) -> Result<Applied, Error> {
    go_forward(ground, journal, root).map_err(Error::after_commit)
}

fn go_forward(ground: &Ground, mut journal: Journal, root: &Dir) -> Result<Applied, Error> {
    let memory = &ground.memory;
    if journal.fates.is_none() {
        let stage = Stage::open(root, &journal.execution)?;
        let fates = trade::carry_out(&journal, root, &stage, FailPoint::ApplyHalfway)?;
        journal.fates = Some(fates);
        journal.save(&memory.journal(&journal.execution))?;
    }
    let mut record = memory
        .record(&journal.execution)?
        .ok_or_else(|| Error::Damaged("a journal without its execution".to_owned()))?;
    record.state = ExecutionState::Applied;
    record.changeset = Some(journal.changeset);
    record.files = journal.files();
    record.undo_until = Some(ground::now().plus(ground.undo_window));
    memory.update(&journal.execution, &record)?;
    fail::point(FailPoint::ApplyDone);
    Ok(Applied { changeset: journal.changeset, files: journal.files(), conflicts: journal.conflicts() })
}

/// Whether a committed journal is really what was approved: who and what, not when.
pub(crate) fn verify(ground: &Ground, journal: &Journal) -> Result<Granted, Error> {
    let evidence = &journal.evidence;
    // What is committed is finished, whoever was revoked since: half of it in place would be worse.
    evidence::verify(evidence, Kind::Plan, &ground.anchor, &Revocations::default(), When::AlreadyCommitted)?;
    let plan = WorkItem::from_canonical(&evidence.payload).map_err(Error::Damaged)?;
    let work_in = permit::work_in(&plan)?;
    let granted = Granted::pinned(work_in, &ground.data_dir)?;
    if evidence.execution != journal.execution || granted.place != journal.place {
        return Err(Error::Damaged("a journal that does not fit its approval".to_owned()));
    }
    Ok(granted)
}
