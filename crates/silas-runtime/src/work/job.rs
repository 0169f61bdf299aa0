//! One piece of work on its own thread: what is asked of the workshop, in which order, and what each answer means.

use super::ending::{Ending, kept_words};
use super::planning_again::{Again, Wants};
use super::reach::Recorder;
use super::rest::Rest;
use super::withheld::{left_out, opened_commits, unproved_commits};
use crate::Trouble;
use crate::running::{Hold, Stop};
use crate::view::{StepState, Update};
use crate::words::{count, in_code};
use crate::work::Work;
use crate::work_record::{Begun, LAID, WorkRecord};
use silas_approval::Admitted;
use silas_core::ExecutionId;
use silas_core::changeset::Changeset;
use silas_core::check::{CheckResult, Ended, Outcome};
use silas_core::event::{AuditEvent, Phase};
use silas_core::execution::ExecutionState;
use silas_core::exits;
use silas_core::outside::Reach;
use silas_core::risk;
use silas_core::taint::Origin;
use silas_core::wanted::By;
use silas_core::work::WorkItem;
use silas_gates::scrub;
use silas_sandbox::{Changes, Collision, Recovered, Workshop};
use silas_store::{Commit, executions};
use std::sync::{Arc, Mutex};

/// How often the launcher is asked what became of an apply, a second apart, before the next start has to find out.
const TRUTH_TRIES: usize = 60;

/// One piece of work on its own thread.
pub(super) struct Job {
    pub(super) work: Arc<Work>,
    pub(super) record: WorkRecord,
    pub(super) hold: Hold,
    /// The spending of the decision to apply what waits, if this is about that.
    pub(super) order: Option<ExecutionId>,
    /// What the commands have reached; written while they run.
    pub(super) reach: Arc<Mutex<Reach>>,
    /// How long it has waited for somebody; that is no time of its own.
    pub(super) rest: Arc<Rest>,
    /// What has begun, may reach something outside, and has no result; with how many connections there had been before.
    pub(super) in_flight: Option<(Begun, u64)>,
    /// Why another plan is wanted, if one is.
    pub(super) wants_other: Option<Wants>,
    /// The copy of work that came to nothing. Thrown away once nobody has to be asked about it any more: an execution whose
    /// copy is gone is not begun again after a crash.
    useless: Option<Workshop>,
    /// What came of planning it again.
    pub(super) again: Again,
    /// Both versions of what the owner changed too, once that was met.
    pub(super) collision: Collision,
}

impl Job {
    pub(super) fn new(work: Arc<Work>, record: WorkRecord, hold: Hold) -> Self {
        let reach = Arc::new(Mutex::new(record.reach.clone()));
        let rest = Arc::new(Rest::of(&work, &record.view.execution));
        Job {
            work,
            record,
            hold,
            order: None,
            reach,
            rest,
            in_flight: None,
            wants_other: None,
            useless: None,
            again: Again::NotAsked,
            collision: Collision::default(),
        }
    }

    /// The second half of a rehearsal, by a decision of its own.
    pub(super) fn by_order(self, order: ExecutionId) -> Self {
        Job { order: Some(order), ..self }
    }

    /// The whole story. Whatever fails before the apply leaves the owner's files alone; what the apply itself came to
    /// is known to the launcher only. `None` means that the end is still open.
    pub(super) fn carry_out(&mut self, admitted: &Admitted) -> Option<Ending> {
        let failure = match self.try_carry_out(admitted) {
            Ok(ending) => return Some(ending),
            Err(failure) => failure,
        };
        let is_time_up = matches!(failure, Failure::Hands(silas_sandbox::Error::TimeUp));
        let ending = self.cut_short(failure, admitted)?;
        match ending {
            // A command that waits for a name to appear uses up its time.
            Ending::Untouched { .. } if is_time_up => {
                self.offer_what_was_refused(admitted, ending).map_or_else(|failure| self.failed(failure), Some)
            }
            ending => Some(ending),
        }
    }

    pub(super) fn failed(&mut self, failure: Failure) -> Option<Ending> {
        let could_not = |reason: String| Ending::Untouched { intent: "Could not be done".to_owned(), reason };
        match failure {
            Failure::Hands(silas_sandbox::Error::Conflict { paths }) => Some(Ending::Conflict { paths }),
            Failure::Applying(error) => self.truth_about_apply(&error),
            Failure::Stopped | Failure::Hands(silas_sandbox::Error::Cancelled) => match self.stop_wanted() {
                Stop::Leaving => None,
                Stop::Owner | Stop::No => Some(Ending::Untouched {
                    intent: "Stopped before it was done".to_owned(),
                    reason: format!("You stopped it.{}", self.sent_words()),
                }),
            },
            Failure::Hands(error) => {
                tracing::warn!(code = error.code(), %error, "work ended early");
                Some(could_not(error.to_string()))
            }
            Failure::Trouble(trouble) => Some(could_not(trouble.to_string())),
        }
    }

    /// The apply was asked for and did not answer as it should. The launcher finishes what was committed and says what
    /// is true now; nobody else may claim that nothing was touched.
    fn truth_about_apply(&mut self, error: &silas_sandbox::Error) -> Option<Ending> {
        tracing::warn!(code = error.code(), %error, "an apply was interrupted");
        for _ in 0..TRUTH_TRIES {
            match self.truth() {
                Some(truth) if truth.state == ExecutionState::Applied => {
                    let window_ends = self.work.house.clock.now().plus(self.work.house.options.undo_window);
                    let undo_until = truth.undo_until.unwrap_or(window_ends);
                    self.record.last_moment = truth.conflicts.iter().map(kept_words).collect();
                    self.record.in_part = truth.in_part;
                    return Some(Ending::Applied { files: truth.files, undo_until });
                }
                // Not committed, and what waited still does.
                Some(Recovered { waits: Some(waits), problem: None, .. }) => {
                    return Some(Ending::Rehearsed { waits, again: Some(error.to_string()) });
                }
                // Not committed, and the workshop is gone: it was never begun.
                Some(truth) if truth.problem.is_none() && !truth.is_open => {
                    return Some(Ending::Untouched {
                        intent: "Could not be put in place".to_owned(),
                        reason: truth.taken_back.as_ref().unwrap_or(error).to_string(),
                    });
                }
                _ => std::thread::sleep(std::time::Duration::from_secs(1)),
            }
        }
        None
    }

    /// What the launcher says of this work. Nothing of any other is moved for this.
    pub(super) fn truth(&self) -> Option<Recovered> {
        let held = self.order.as_ref().unwrap_or(&self.record.view.execution).clone();
        let truths = self.work.house.launcher.recover_held(vec![held]).unwrap_or_default();
        truths.into_iter().find(|truth| truth.execution == self.record.view.execution)
    }

    pub(super) fn stop_wanted(&self) -> Stop {
        self.work.running.work().get(&self.record.view.execution).map_or(Stop::No, |running| running.stop_wanted())
    }

    pub(super) fn let_be_stopped(&self, shop: &Workshop) {
        if let Some(running) = self.work.running.work().get_mut(&self.record.view.execution) {
            running.canceller = Some(shop.canceller());
        }
    }

    /// The last moment at which a stop is obeyed; from here on the work goes through.
    fn past_stopping(&mut self) -> Result<(), Failure> {
        let mut running = self.work.running.work();
        match running.get_mut(&self.record.view.execution) {
            Some(running) if running.stop_wanted() != Stop::No => Err(Failure::Stopped),
            Some(running) => {
                running.canceller = None;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn try_carry_out(&mut self, approved: &Admitted) -> Result<Ending, Failure> {
        let recorder =
            Recorder { work: self.work.clone(), execution: approved.execution().clone(), so_far: self.reach.clone() };
        let mut shop = self.work.house.launcher.open(approved.evidence())?.telling(Box::new(recorder));
        self.let_be_stopped(&shop);
        // Stop may have been pressed while the workshop was being opened.
        if self.stop_wanted() != Stop::No {
            return Err(Failure::Stopped);
        }
        self.copy(&mut shop)?;
        self.record.before = self.check(&mut shop, Phase::Before, approved.item())?;
        self.steps(&mut shop, approved.item())?;
        match approved.item().definition().executor.clone() {
            None => self.record.after = self.check(&mut shop, Phase::After, approved.item())?,
            Some(mandate) => self.leave_to_model(&mut shop, approved.item(), &mandate)?,
        }
        let changes = shop.changes()?;
        let ending = self.judge(shop, changes, approved)?;
        let ending = match self.offer_what_was_refused(approved, ending)? {
            // The owner has the word first.
            refused @ Ending::Refused { .. } => refused,
            ending => self.plan_again(approved.item(), ending)?,
        };
        if let Some(shop) = self.useless.take() {
            shop.discard();
        }
        Ok(ending)
    }

    fn copy(&mut self, shop: &mut Workshop) -> Result<(), Failure> {
        self.enter(0)?;
        let copied = shop.copy()?;
        let files = count(usize::try_from(copied.files).unwrap_or(usize::MAX), "file");
        self.leave(0, format!("Copied {files}"), StepState::Done, copied.took_ms);
        Ok(())
    }

    pub(super) fn check(
        &mut self,
        shop: &mut Workshop,
        phase: Phase,
        item: &WorkItem,
    ) -> Result<Vec<CheckResult>, Failure> {
        let words = match phase {
            Phase::Before => "Ran the checks first",
            Phase::After => "Ran the checks again",
        };
        let step = self.record.step_of_checks(phase);
        step.map_or(Ok(()), |step| self.enter(step))?;
        self.note_checks_begin(phase, item)?;
        let results = shop.checks(phase).map_err(|error| self.look_at_conflict(shop, error))?;
        self.in_flight = None;
        let n_failed = results.iter().filter(|result| !result.passed).count();
        let took = results.iter().map(|result| result.took_ms).sum();
        let (label, state) = match (n_failed, phase) {
            (0, _) => (format!("{words}: all green"), StepState::Done),
            (n, Phase::Before) => (format!("{words}: {n} red"), StepState::Done),
            (n, Phase::After) => (format!("{words}: {n} red"), StepState::Failed),
        };
        if let Some(step) = step {
            self.leave(step, label, state, took);
        }
        self.note_outside(Origin::CheckOutput, results.iter().map(|result| result.output.as_str()))?;
        self.note_checks(phase, &results)?;
        self.note_asked_by_checks(item, &results)?;
        Ok(results)
    }

    fn note_checks(&self, phase: Phase, results: &[CheckResult]) -> Result<(), Failure> {
        let execution = self.record.view.execution.clone();
        let text = serde_json::to_string(results).map_err(silas_store::Error::from)?;
        let failed = results.iter().filter(|result| !result.passed).count();
        let (passed, failed) = (u32_of(results.len() - failed), u32_of(failed));
        let noting = self.work.house.store.write_buffered(move |tx| {
            let results = tx.text(&text)?;
            let execution = execution.clone();
            tx.record(&AuditEvent::ChecksRun { execution, when: phase, passed, failed, results })?;
            Ok(Commit(()))
        });
        Ok(noting.wait()?)
    }

    fn steps(&mut self, shop: &mut Workshop, item: &WorkItem) -> Result<(), Failure> {
        for (n, step) in item.definition().steps.iter().enumerate() {
            let shown = self.record.step_of_command(n);
            self.enter(shown)?;
            self.record.begin_command(n);
            let by = By::Step(u32_of(n));
            self.note_step_begins(n, &by, item)?;
            let result = shop.step(n).map_err(|error| self.look_at_conflict(shop, error))?;
            self.in_flight = None;
            self.note_asked(&by, &step.run, &result.metadata.asked)?;
            let words = match &item.definition().merges {
                Some(_) => LAID.to_owned(),
                None => in_code(&step.run.words(), 60),
            };
            let (label, state, exit_code) = match result.metadata.ended {
                Ended::Exited(0) => (format!("Ran {words}"), StepState::Done, Some(0)),
                Ended::Exited(code) => (format!("Ran {words}: exit code {code}"), StepState::Failed, Some(code)),
                Ended::Signalled(signal) => {
                    (format!("Ran {words}: killed by signal {signal}"), StepState::Failed, None)
                }
                Ended::TimedOut { after_secs } => {
                    (format!("Ran {words}: stopped after {after_secs} s"), StepState::Failed, None)
                }
            };
            self.leave(shown, label, state, result.metadata.took_ms);
            let printed = result.output();
            self.note_outside(Origin::StepOutput, [printed.as_str()])?;
            let output = scrub::visible(&printed);
            self.record.outputs.push(output.clone());
            self.record.results.push(result);
            let execution = self.record.view.execution.clone();
            let noting = self.work.house.store.write_buffered(move |tx| {
                let output = tx.text(&output)?;
                let execution = execution.clone();
                tx.record(&AuditEvent::StepRun { execution, step: u32_of(n), exit_code, output })?;
                Ok(Commit(()))
            });
            noting.wait()?;
        }
        Ok(())
    }

    /// The checks have spoken. Only a proof goes on to the owner's files by itself; a rehearsal, and what no check could
    /// judge, waits for a decision. If the owner changed something else meanwhile, the checks speak again about both
    /// together; how often that may happen, the workshop knows.
    fn judge(&mut self, mut shop: Workshop, changes: Changes, admitted: &Admitted) -> Result<Ending, Failure> {
        self.record.diffs = changes.diffs;
        self.record.flags = changes.flags.iter().map(|flag| format!("{} {}", flag.path, flag.what)).collect();
        self.record.unseen = changes.unseen;
        self.record.left_out = left_out(&changes.left_out, &changes.beside);
        self.note_changes()?;
        self.record.changeset = Some(changes.changeset.hash().map_err(silas_store::Error::from)?);
        self.record.changes.clone_from(&changes.changeset);
        let plan = admitted.item().definition();
        self.record.undeclared = exits::undeclared_changes(plan, &self.record.seen, &changes.changeset);
        let is_closed = risk::opened(&changes.changeset).is_empty();
        loop {
            let outcome = self.outcome();
            self.record.view.outcome = outcome;
            let is_nothing = changes.changeset == Changeset::default();
            match (outcome, admitted) {
                (Some(Outcome::Failed) | None, _) => {
                    self.useless = Some(shop);
                    return Ok(self.still_red());
                }
                _ if is_nothing => return Ok(self.nothing_changed(shop)),
                (Some(Outcome::Proved), Admitted::Plan(_)) if self.record.undeclared.is_empty() && is_closed => {}
                (Some(Outcome::Proved), Admitted::Plan(_)) if plan.commits && !is_closed => {
                    shop.discard();
                    return Ok(opened_commits());
                }
                // Commits cannot wait: what they were made of goes with the clone.
                (Some(Outcome::Proved), Admitted::Plan(_)) if plan.commits => return Ok(self.undeclared_commits(shop)),
                (Some(Outcome::GreenByExitCode), Admitted::Plan(_)) if plan.commits => {
                    return Ok(unproved_commits(shop, &self.record.after));
                }
                _ if plan.commits => {
                    self.useless = Some(shop);
                    return Ok(self.still_red());
                }
                _ => return self.keep(shop),
            }
            // On disk before the first file moves: after a crash the proof can still be shown.
            self.save(self.record.changeset)?;
            match self.put_in_place(shop)? {
                Conclusion::Ending(ending) => return Ok(ending),
                Conclusion::MovedOn(opened) => shop = opened,
            }
            self.let_be_stopped(&shop);
            self.record.after = self.check(&mut shop, Phase::After, admitted.item())?;
        }
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        Some(Outcome::of(&self.record.before, &self.record.after))
    }

    /// The checks ran again with what the owner changed, and do not say any more what was decided about.
    pub(super) fn not_as_decided(&mut self, shop: Workshop) -> Ending {
        self.record.view.outcome = self.outcome();
        shop.discard();
        self.still_red()
    }

    /// The result waits in its copy. The story is on disk before that, so that it can be shown after a crash.
    fn keep(&mut self, shop: Workshop) -> Result<Ending, Failure> {
        self.save(self.record.changeset)?;
        let last = self.record.view.steps.len() - 1;
        self.record.relabel(last, "Keep the result for you");
        self.enter(last)?;
        self.past_stopping()?;
        let waits = shop.keep()?;
        self.leave(last, "Kept the result for you".to_owned(), StepState::Done, 0);
        Ok(Ending::Rehearsed { waits, again: None })
    }

    pub(super) fn put_in_place(&mut self, mut shop: Workshop) -> Result<Conclusion, Failure> {
        let last = self.record.view.steps.len() - 1;
        self.enter(last)?;
        self.past_stopping()?;
        let begun = std::time::Instant::now();
        let applied = match shop.apply() {
            Ok(applied) => applied,
            Err(silas_sandbox::Error::MovedOn { paths }) => {
                self.record.moved_on = paths;
                return Ok(Conclusion::MovedOn(shop));
            }
            // These are answers: the workshop looked, and touched nothing.
            Err(
                error @ (silas_sandbox::Error::Conflict { .. }
                | silas_sandbox::Error::ReadOnly { .. }
                | silas_sandbox::Error::Unsupported { .. }
                | silas_sandbox::Error::NotVerified),
            ) => return Err(self.look_at_conflict(&mut shop, error).into()),
            Err(error) => return Err(Failure::Applying(error)),
        };
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.leave(last, format!("Applied {}", count(applied.files as usize, "file")), StepState::Done, took);
        let undo_until = self.work.house.clock.now().plus(self.work.house.options.undo_window);
        self.record.last_moment = applied.conflicts.iter().map(kept_words).collect();
        self.record.is_in_two_steps = applied.is_in_two_steps;
        self.record.in_part = applied.in_part;
        Ok(Conclusion::Ending(Ending::Applied { files: applied.files, undo_until }))
    }

    fn save(&self, changeset: Option<silas_core::Digest>) -> Result<(), Failure> {
        let execution = self.record.view.execution.clone();
        let json = self.record.to_json()?;
        let saved = self.work.house.store.write_and_wait(move |tx| {
            executions::set_result(tx, &execution, &json, changeset.as_ref(), None)?;
            Ok(Commit(()))
        });
        Ok(saved?)
    }

    /// Begins a step, unless the budget is used up.
    pub(super) fn enter(&mut self, step: usize) -> Result<(), Failure> {
        // A result may wait for hours; how long its apply may take, the launcher knows.
        if self.order.is_none() && !self.record.is_within_budget(self.work.house.clock.now(), self.rest.total()) {
            return Err(Failure::Hands(silas_sandbox::Error::TimeUp));
        }
        self.record.enter(step);
        self.show();
        Ok(())
    }

    pub(super) fn leave(&mut self, step: usize, label: String, state: StepState, took_ms: u64) {
        self.record.reach = self.reach.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        self.record.leave(step, label, state, took_ms);
        self.show();
    }

    fn show(&self) {
        if let Some(running) = self.work.running.work().get_mut(&self.record.view.execution) {
            running.view = self.record.view.clone();
        }
        self.work.hub.publish(Update::Work { work: self.record.view.clone() });
    }
}

/// What came of an attempt to put the result in place.
pub(super) enum Conclusion {
    Ending(Ending),
    /// The owner changed something that the work did not; nothing was touched.
    MovedOn(Workshop),
}

/// Why a piece of work could not go on.
pub(super) enum Failure {
    Hands(silas_sandbox::Error),
    /// After the apply was asked for.
    Applying(silas_sandbox::Error),
    Stopped,
    Trouble(Trouble),
}

impl From<silas_sandbox::Error> for Failure {
    fn from(error: silas_sandbox::Error) -> Self {
        Failure::Hands(error)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Failure::Trouble(trouble)
    }
}

impl From<silas_store::Error> for Failure {
    fn from(error: silas_store::Error) -> Self {
        Failure::Trouble(error.into())
    }
}

pub(super) fn u32_of(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
