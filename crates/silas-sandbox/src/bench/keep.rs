//! Results that are not applied by the run that made them: kept for the owner's decision, and opened again by it.
//!
//! Architecture invariant (INV-03): what was kept is applied only if the copy is, byte for byte, what this room noted when
//! it kept it, and what the decision names. What lies on disk is looked at again; nobody's word is taken for it.

use super::{Bench, Finished};
use crate::clock;
use crate::error::Doing;
use crate::moves::Moves;
use crate::originals::Originals;
use crate::permit::Task;
use crate::tree::Manifest;
use crate::waiting::{self, Waiting};
use crate::workspace::Workspace;
use crate::{Error, Waits, apply, syscall};
use silas_core::Taint;
use silas_core::changeset::Changeset;
use silas_core::check::Outcome;
use silas_core::evidence::Refusal;
use silas_core::execution::ExecutionState;
use silas_core::exits;
use silas_core::fail::{self, FailPoint};
use silas_core::rehearsal::{Findings, KEPT_FOR};
use silas_core::risk;
use silas_core::seen::{Seen, Sight};
use std::os::fd::AsFd;

impl Bench {
    /// Ends the run and keeps its result. The note is on disk before the record says that something waits.
    pub(super) fn keep(&mut self) -> Result<Waits, Error> {
        let plan = self.permit.plan.definition();
        self.must(self.after.len() == plan.verify.len(), "every check runs after the steps first")?;
        self.must(!matches!(self.permit.task, Task::Apply(_)), "what waits is kept already")?;
        self.must(!plan.commits, "commits are not kept")?;
        self.finish()?;
        match Outcome::of(&self.before, &self.after) {
            Outcome::Proved | Outcome::GreenByExitCode | Outcome::Guarded | Outcome::Unproven => {}
            Outcome::Failed => return Err(Error::NotVerified),
        }
        let changeset = self.finished()?.changeset.clone();
        let home = self.ground.memory.work(&self.permit.execution);
        let originals_bytes = self.originals.narrow(&home, &changeset)?;
        let (finished, workspace) = (self.finished()?, self.workspace()?);
        self.must(finished.changeset != Changeset::default(), "there is something to keep")?;
        let not_looked_at = || Error::Order("the changes are looked at first".to_owned());
        let diffs = self.diffs.as_deref().ok_or_else(not_looked_at)?;
        let findings = Findings { before: &self.before, after: &self.after, diffs }.hash();
        let pairs = workspace.copies.iter().zip(&finished.trees);
        let waiting = Waiting {
            changeset: apply::hash(&finished.changeset)?,
            findings: findings.map_err(|e| Error::Damaged(e.to_string()))?,
            before: self.before.clone(),
            after: self.after.clone(),
            tests_before: self.tests_before.clone(),
            base: workspace.copies.iter().zip(&finished.base).map(|(copy, base)| apart(&copy.original, base)).collect(),
            bytes: pairs.map(|(copy, now)| copy.bytes_of(now)).sum::<u64>() + originals_bytes,
            copies: workspace.notes(),
            until: clock::now().plus(KEPT_FOR),
        };
        let (memory, execution) = (&self.ground.memory, &self.permit.execution);
        waiting::has_room(memory, waiting.bytes, self.ground.bounds)?;
        apply::still_counts(&self.ground, &self.permit.evidence)?;
        let doing = || "Putting the private copy on disk".to_owned();
        syscall::sync_file_system(workspace.copies[0].changed().as_fd()).doing(doing)?;
        waiting.save(memory, execution)?;
        fail::point(FailPoint::RehearsalNoted);
        let missing = || Error::Damaged("a workshop without its execution".to_owned());
        let mut record = memory.record(execution)?.ok_or_else(missing)?;
        record.state = ExecutionState::Rehearsed;
        record.changeset = Some(waiting.changeset);
        record.files = u32::try_from(finished.changeset.changes.len()).unwrap_or(u32::MAX);
        memory.update(execution, &record)?;
        fail::point(FailPoint::RehearsalKept);
        // It is laid out again out of the copy; what cannot be removed now is removed then, or with the copy.
        let _ = self.workspace.as_mut().map(Workspace::take_off);
        let Waiting { changeset, findings, until, .. } = waiting;
        (self.is_over, self.is_kept) = (true, true);
        Ok(Waits { changeset, files: record.files, findings, until })
    }

    /// Opens the copy that waits, if it still is what was kept.
    pub(super) fn reopen(&mut self) -> Result<(), Error> {
        let not_an_apply = || Error::Order("only a decision to apply opens what waits".to_owned());
        let Task::Apply(waiting) = &self.permit.task else { return Err(not_an_apply()) };
        let waiting = Waiting::clone(waiting);
        self.must(self.workspace.is_none(), "the copy is opened once")?;
        let home = self.ground.memory.work(&self.permit.execution);
        let originals = waiting.copies.clone();
        let workspace = Workspace::reopen(&home, originals, self.ground.bounds)?;
        self.originals = Originals::open(&home)?;
        let base: Vec<Manifest> = workspace
            .copies
            .iter()
            .zip(waiting.base)
            .map(|(copy, base)| base.unwrap_or_else(|| copy.original.clone()))
            .collect();
        self.workspace = Some(workspace);
        let (trees, changeset) = self.look_at_copy()?;
        if apply::hash(&changeset)? != waiting.changeset {
            return Err(Refusal::Content.into());
        }
        (self.before, self.after, self.tests_before) = (waiting.before, waiting.after, waiting.tests_before);
        self.n_steps_run = self.permit.plan.definition().steps.len();
        let (moves, committed_otherwise) = (Moves::default(), Vec::new());
        self.land(Finished { trees, changeset, base, moves, committed_otherwise, n_moved_on: 0 })?;
        fail::point(FailPoint::CopyReopened);
        Ok(())
    }

    /// Whether everything that changed is declared. A model that worked in the copy could read all of it, whatever the front
    /// says that it did; commands that the plan fixes are what was approved.
    fn lets_out(&self) -> Result<bool, Error> {
        let plan = self.permit.plan.definition();
        if plan.executor.is_none() {
            return Ok(true);
        }
        let mut seen = Seen::default();
        seen.add(Sight { taint: Taint::External, is_private: true, source: "the copy".to_owned() }, "");
        Ok(exits::undeclared_changes(plan, &seen, &self.finished()?.changeset).is_empty())
    }

    /// Whether this workshop may touch the owner's files, given what its checks say now.
    pub(super) fn may_apply(&self) -> Result<(), Error> {
        let now = Outcome::of(&self.before, &self.after);
        match &self.permit.task {
            Task::Whole if now == Outcome::Proved => {
                let opened = risk::opened(&self.finished()?.changeset);
                self.must(opened.is_empty(), "a file that anybody may write to waits for a decision")?;
                self.must(self.lets_out()?, "changes that the plan does not name wait for a decision")
            }
            Task::Whole => Err(Error::NotVerified),
            Task::Rehearsal => Err(Refusal::Kind.into()),
            // The owner decided about this outcome; checks that ran again must not say less.
            Task::Apply(waiting) if now == waiting.outcome() && now != Outcome::Failed => Ok(()),
            Task::Apply(_) => Err(Error::NotVerified),
        }
    }
}

/// What the checks saw, unless that is what the copy was made of.
fn apart(original: &Manifest, base: &Manifest) -> Option<Manifest> {
    let is_same = base.is_untouched_since(original) && base.dirs == original.dirs;
    (!is_same).then(|| base.clone())
}
