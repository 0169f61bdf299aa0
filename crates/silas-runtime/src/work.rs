//! Carrying out what was approved: copy, checks, commands, checks again, and only then the owner's files.
//!
//! The workshop outside this process does each step and keeps to this order by itself; what is decided here is only
//! what to ask for next, what to write down, and what to tell. The message of the queue that stands for the work is
//! acknowledged in the transaction that writes down its end, so work that was interrupted is always taken up again.

use crate::consumer::{Hold, WORK};
use crate::review::refused;
use crate::view::{StepState, Update, WorkView};
use crate::words::{count, name_of};
use crate::{Stream, Trouble};
use silas_approval::Approved;
use silas_approval::house_rules::HouseRule;
use silas_core::changeset::{ChangeOrder, Changeset};
use silas_core::check::{CheckResult, Ended, Outcome};
use silas_core::event::{AuditEvent, Phase};
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_core::{ExecutionId, Timestamp};
use silas_gates::scrub;
use silas_sandbox::{Canceller, Changes, KeptText, Recovered, Workshop};
use silas_store::{Abort, Commit, Tx, cards, executions, queue, tokens};
use std::sync::Arc;

mod record;
mod state;
pub(crate) use record::WorkRecord;

/// Work under way: what it shows, and how to stop it.
pub(crate) struct Running {
    pub(crate) view: WorkView,
    /// There from the opening of the workshop until the apply begins: what is being put in place is never torn.
    canceller: Option<Canceller>,
    stop: Stop,
}

/// Why work should end early, if it should.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    /// The owner pressed Stop.
    Owner,
    /// Silas is going away; the next start takes the work up again.
    Leaving,
}

impl Running {
    pub(crate) fn stop(&mut self, why: Stop) {
        self.stop = why;
        if let Some(canceller) = &self.canceller {
            canceller.cancel();
        }
    }
}

/// How a piece of work ended, before it is written down.
enum Ending {
    Applied {
        files: u32,
        undo_until: Timestamp,
    },
    /// Nothing was touched: the card's intent and, in the details, why.
    Untouched {
        intent: String,
        reason: String,
    },
    Conflict {
        paths: Vec<String>,
    },
}

impl Stream {
    /// Writes down that approved work begins; part of the transaction that spent the approval.
    pub(crate) fn note_start(
        &self,
        tx: &mut Tx<'_>,
        approved: &Approved<WorkItem>,
        mut record: WorkRecord,
    ) -> Result<WorkRecord, Abort> {
        let title = tx.text(&record.view.title)?;
        record.first_entry = tx.record(&AuditEvent::WorkStarted {
            work_item: approved.item().id().clone(),
            execution: approved.execution().clone(),
            title,
        })?;
        executions::set_result(tx, approved.execution(), &record.to_json()?, None, None)?;
        let token = approved.evidence().token.id()?;
        state::begun(tx, approved.item().id(), &token, self.clock.now())?;
        Ok(record)
    }

    pub(crate) fn spawn_work(self: &Arc<Self>, approved: Approved<WorkItem>, record: WorkRecord, hold: Hold) {
        let stream = self.clone();
        let execution = approved.execution().clone();
        self.running()
            .insert(execution.clone(), Running { view: record.view.clone(), canceller: None, stop: Stop::No });
        self.publish(Update::Work { work: record.view.clone() });
        tokio::task::spawn_blocking(move || {
            let mut job = Job { stream: stream.clone(), record, hold };
            // Work that has no end yet stays with its message of the queue, and is taken up again from there.
            let written = job.carry_out(&approved).map_or(Ok(()), |ending| job.finish(ending));
            stream.running().remove(&execution);
            if let Err(trouble) = written {
                tracing::error!(%trouble, "the end of a piece of work could not be written down");
            }
        });
    }

    /// Goes on with an execution that was interrupted, from what the launcher says is true.
    pub(crate) async fn go_on(
        self: &Arc<Self>,
        execution: &ExecutionId,
        hold: Hold,
        recovered: &[Recovered],
    ) -> Result<(), Trouble> {
        let id = execution.clone();
        let looking = self.store.read(move |tx| {
            let Some(known) = executions::get(tx, &id)? else { return Ok(None) };
            let kind = tokens::get(tx, &known.token)?.map(|stored| stored.token.body.offer.kind);
            Ok(Some((known, kind)))
        });
        let (known, kind) = looking.await?.ok_or_else(lost)?;
        if known.state != ExecutionState::Running {
            return self.let_go(hold).await;
        }
        if kind == Some(Kind::Undo) {
            return self.reconcile_undo(&known.id, hold, recovered).await.map(drop);
        }
        let record = known.result.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok());
        let record = record.ok_or_else(lost)?;
        let truth = recovered.iter().find(|truth| truth.execution == known.id);
        match truth.map(|truth| truth.state) {
            Some(ExecutionState::Applied) => self.finish_recovered(record, hold, truth).await,
            _ => self.resume(&known.id, record, hold).await,
        }
    }

    /// It has its end already, so there is nothing left to do.
    async fn let_go(&self, hold: Hold) -> Result<(), Trouble> {
        let lease = hold.lease().clone();
        let acking = self.store.write(move |tx| Ok(Commit(queue::ack(tx, &lease, WORK)?)));
        acking.await?;
        Ok(())
    }

    /// It had been applied; only the writing down was missing.
    async fn finish_recovered(
        self: &Arc<Self>,
        record: WorkRecord,
        hold: Hold,
        truth: Option<&Recovered>,
    ) -> Result<(), Trouble> {
        let window_ends = self.clock.now().plus(self.options.undo_window);
        let undo_until = truth.and_then(|truth| truth.undo_until).unwrap_or(window_ends);
        let files = truth.map_or(0, |truth| truth.files);
        let mut job = Job { stream: self.clone(), record, hold };
        job.record.settle_steps();
        job.record.last_moment = truth.map_or_else(Vec::new, |truth| truth.conflicts.iter().map(kept_words).collect());
        let written = tokio::task::spawn_blocking(move || job.finish(Ending::Applied { files, undo_until })).await;
        written.unwrap_or_else(|_| Err(lost()))
    }

    /// Interrupted before anything was applied: begun again if the house rules say so, ended otherwise.
    async fn resume(self: &Arc<Self>, execution: &ExecutionId, record: WorkRecord, hold: Hold) -> Result<(), Trouble> {
        let id = execution.clone();
        let engine = self.engine.clone();
        let readmitting = self.store.write(move |tx| {
            let admitted = engine.readmit(tx, &id)?;
            let may_resume = admitted.is_ok() && engine.use_house_rule(tx, HouseRule::ResumeInterrupted)?;
            if may_resume {
                tx.record(&AuditEvent::ExecutionResumed { execution: id.clone() })?;
            }
            Ok(Commit((admitted, may_resume)))
        });
        let reason = match readmitting.await? {
            (Ok(approved), true) => {
                let fresh = record.begun_again();
                self.spawn_work(approved, fresh, hold);
                return Ok(());
            }
            (Ok(_), false) => {
                "It was interrupted, and the house rules do not let Silas begin again by itself.".to_owned()
            }
            (Err(refusal), _) => refused(&refusal).to_string(),
        };
        let mut job = Job { stream: self.clone(), record, hold };
        job.record.settle_steps();
        let ending = Ending::Untouched { intent: "Interrupted before it was done".to_owned(), reason };
        tokio::task::spawn_blocking(move || job.finish(ending)).await.unwrap_or_else(|_| Err(lost()))
    }
}

fn lost() -> Trouble {
    Trouble::new("E_WORK_LOST", "A worker ended unexpectedly.", "Restart Silas; it finishes what was committed.")
}

/// How often the launcher is asked what became of an apply, a second apart, before the next start has to find out.
const TRUTH_TRIES: usize = 60;

/// One piece of work on its own thread.
struct Job {
    stream: Arc<Stream>,
    record: WorkRecord,
    hold: Hold,
}

impl Job {
    /// The whole story. Whatever fails before the apply leaves the owner's files alone; what the apply itself came to
    /// is known to the launcher only. `None` means that the end is still open.
    fn carry_out(&mut self, approved: &Approved<WorkItem>) -> Option<Ending> {
        let could_not = |reason: String| Ending::Untouched { intent: "Could not be done".to_owned(), reason };
        match self.try_carry_out(approved) {
            Ok(ending) => Some(ending),
            Err(Failure::Hands(silas_sandbox::Error::Conflict { paths })) => Some(Ending::Conflict { paths }),
            Err(Failure::Applying(error)) => self.truth_about_apply(&error),
            Err(Failure::Stopped) | Err(Failure::Hands(silas_sandbox::Error::Cancelled)) => match self.stop_wanted() {
                Stop::Leaving => None,
                Stop::Owner | Stop::No => Some(Ending::Untouched {
                    intent: "Stopped before it was done".to_owned(),
                    reason: "You stopped it.".to_owned(),
                }),
            },
            Err(Failure::Hands(error)) => {
                tracing::warn!(code = error.code(), %error, "work ended early");
                Some(could_not(error.to_string()))
            }
            Err(Failure::Trouble(trouble)) => Some(could_not(trouble.to_string())),
        }
    }

    /// The apply was asked for and did not answer as it should. The launcher finishes what was committed and says what
    /// is true now; nobody else may claim that nothing was touched.
    fn truth_about_apply(&mut self, error: &silas_sandbox::Error) -> Option<Ending> {
        tracing::warn!(code = error.code(), %error, "an apply was interrupted");
        for _ in 0..TRUTH_TRIES {
            let truths = self.stream.launcher.recover().unwrap_or_default();
            let truth = truths.into_iter().find(|truth| truth.execution == self.record.view.execution);
            match truth {
                Some(truth) if truth.state == ExecutionState::Applied => {
                    let window_ends = self.stream.clock.now().plus(self.stream.options.undo_window);
                    let undo_until = truth.undo_until.unwrap_or(window_ends);
                    self.record.last_moment = truth.conflicts.iter().map(kept_words).collect();
                    return Some(Ending::Applied { files: truth.files, undo_until });
                }
                // Not committed, and the workshop is gone: it was never begun.
                Some(truth) if truth.problem.is_none() => {
                    return Some(Ending::Untouched {
                        intent: "Could not be put in place".to_owned(),
                        reason: error.to_string(),
                    });
                }
                _ => std::thread::sleep(std::time::Duration::from_secs(1)),
            }
        }
        None
    }

    fn stop_wanted(&self) -> Stop {
        self.stream.running().get(&self.record.view.execution).map_or(Stop::No, |running| running.stop)
    }

    /// The last moment at which a stop is obeyed; from here on the work goes through.
    fn past_stopping(&mut self) -> Result<(), Failure> {
        let mut running = self.stream.running();
        match running.get_mut(&self.record.view.execution) {
            Some(running) if running.stop != Stop::No => Err(Failure::Stopped),
            Some(running) => {
                running.canceller = None;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn try_carry_out(&mut self, approved: &Approved<WorkItem>) -> Result<Ending, Failure> {
        let mut shop = self.stream.launcher.open(approved.evidence())?;
        if let Some(running) = self.stream.running().get_mut(approved.execution()) {
            running.canceller = Some(shop.canceller());
        }
        // Stop may have been pressed while the workshop was being opened.
        if self.stop_wanted() != Stop::No {
            return Err(Failure::Stopped);
        }
        self.copy(&mut shop)?;
        self.record.before = self.check(&mut shop, Phase::Before)?;
        if !self.record.before.is_empty() && self.record.before.iter().all(|result| result.passed) {
            shop.discard();
            return Ok(Ending::Untouched {
                intent: "Already passes, nothing to do".to_owned(),
                reason: "Every check was green before anything ran, so a result could not have proved anything."
                    .to_owned(),
            });
        }
        self.steps(&mut shop, approved.item())?;
        self.record.after = self.check(&mut shop, Phase::After)?;
        let changes = shop.changes()?;
        self.judge(shop, changes)
    }

    fn copy(&mut self, shop: &mut Workshop) -> Result<(), Failure> {
        self.enter(0)?;
        let copied = shop.copy()?;
        let files = count(usize::try_from(copied.files).unwrap_or(usize::MAX), "file");
        self.leave(0, format!("Copied {files}"), StepState::Done, copied.took_ms);
        Ok(())
    }

    fn check(&mut self, shop: &mut Workshop, phase: Phase) -> Result<Vec<CheckResult>, Failure> {
        let (step, words) = match phase {
            Phase::Before => (1, "Ran the checks first"),
            Phase::After => (self.record.view.steps.len() - 2, "Ran the checks again"),
        };
        self.enter(step)?;
        let mut results = Vec::with_capacity(self.record.n_checks);
        for n in 0..self.record.n_checks {
            results.push(shop.check(phase, n)?);
        }
        let n_failed = results.iter().filter(|result| !result.passed).count();
        let took = results.iter().map(|result| result.took_ms).sum();
        let (label, state) = match (n_failed, phase) {
            (0, _) => (format!("{words}: all green"), StepState::Done),
            (n, Phase::Before) => (format!("{words}: {n} red"), StepState::Done),
            (n, Phase::After) => (format!("{words}: {n} red"), StepState::Failed),
        };
        self.leave(step, label, state, took);
        self.note_checks(phase, &results)?;
        Ok(results)
    }

    fn note_checks(&self, phase: Phase, results: &[CheckResult]) -> Result<(), Failure> {
        let execution = self.record.view.execution.clone();
        let text = serde_json::to_string(results).map_err(silas_store::Error::from)?;
        let failed = results.iter().filter(|result| !result.passed).count();
        let (passed, failed) = (u32_of(results.len() - failed), u32_of(failed));
        let noting = self.stream.store.write_buffered(move |tx| {
            let results = tx.text(&text)?;
            let execution = execution.clone();
            tx.record(&AuditEvent::ChecksRun { execution, when: phase, passed, failed, results })?;
            Ok(Commit(()))
        });
        Ok(noting.wait()?)
    }

    fn steps(&mut self, shop: &mut Workshop, item: &WorkItem) -> Result<(), Failure> {
        for (n, step) in item.definition().steps.iter().enumerate() {
            self.enter(2 + n)?;
            let result = shop.step(n)?;
            let words = format!("`{}`", scrub::visible_line(&step.run.words(), 60));
            let (label, state, exit_code) = match result.ended {
                Ended::Exited(0) => (format!("Ran {words}"), StepState::Done, Some(0)),
                Ended::Exited(code) => (format!("Ran {words}: exit code {code}"), StepState::Failed, Some(code)),
                Ended::Signalled(signal) => {
                    (format!("Ran {words}: killed by signal {signal}"), StepState::Failed, None)
                }
                Ended::TimedOut { after_secs } => {
                    (format!("Ran {words}: stopped after {after_secs} s"), StepState::Failed, None)
                }
            };
            self.leave(2 + n, label, state, result.took_ms);
            let output = scrub::visible(&result.output);
            self.record.outputs.push(output.clone());
            let execution = self.record.view.execution.clone();
            let noting = self.stream.store.write_buffered(move |tx| {
                let output = tx.text(&output)?;
                let execution = execution.clone();
                tx.record(&AuditEvent::StepRun { execution, step: u32_of(n), exit_code, output })?;
                Ok(Commit(()))
            });
            noting.wait()?;
        }
        Ok(())
    }

    /// The checks have spoken. Only a proof goes on to the owner's files.
    fn judge(&mut self, mut shop: Workshop, changes: Changes) -> Result<Ending, Failure> {
        let outcome = Outcome::of(&self.record.before, &self.record.after);
        self.record.view.outcome = Some(outcome);
        self.record.diffs = changes.diffs;
        self.record.changeset = Some(changes.changeset.hash().map_err(silas_store::Error::from)?);
        if outcome != Outcome::Proved {
            shop.discard();
            let n_red = self.record.after.iter().filter(|result| !result.passed).count();
            let intent =
                if n_red == 1 { "The check is still red".to_owned() } else { format!("{n_red} checks are still red") };
            return Ok(Ending::Untouched { intent, reason: first_red(&self.record.after) });
        }
        if changes.changeset == Changeset::default() {
            shop.discard();
            return Ok(Ending::Untouched {
                intent: "The check turned green, nothing changed".to_owned(),
                reason: "The commands changed no file, so there is nothing to apply.".to_owned(),
            });
        }
        // On disk before the first file moves: after a crash the proof can still be shown.
        self.save(self.record.changeset)?;
        let last = self.record.view.steps.len() - 1;
        self.enter(last)?;
        self.past_stopping()?;
        let begun = std::time::Instant::now();
        let applied = match shop.apply() {
            Ok(applied) => applied,
            // These three are answers: the workshop looked, and touched nothing.
            Err(
                error @ (silas_sandbox::Error::Conflict { .. }
                | silas_sandbox::Error::NotVerified
                | silas_sandbox::Error::NoExchange),
            ) => return Err(error.into()),
            Err(error) => return Err(Failure::Applying(error)),
        };
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.leave(last, format!("Applied {}", count(applied.files as usize, "file")), StepState::Done, took);
        let undo_until = self.stream.clock.now().plus(self.stream.options.undo_window);
        self.record.last_moment = applied.conflicts.iter().map(kept_words).collect();
        Ok(Ending::Applied { files: applied.files, undo_until })
    }

    fn save(&self, changeset: Option<silas_core::Digest>) -> Result<(), Failure> {
        let execution = self.record.view.execution.clone();
        let json = self.record.to_json()?;
        let saving = self.stream.store.write(move |tx| {
            executions::set_result(tx, &execution, &json, changeset.as_ref(), None)?;
            Ok(Commit(()))
        });
        Ok(saving.wait()?)
    }

    /// One transaction: the acknowledgement, the state, the ledger, the result card and the sentence in the Stream.
    fn finish(&mut self, ending: Ending) -> Result<(), Trouble> {
        let stream = self.stream.clone();
        let now = stream.clock.now();
        self.record.view.running = false;
        self.record.took_ms = u64::try_from(now.since(self.record.view.started_at).as_millis()).unwrap_or(u64::MAX);
        let name = name_of(&self.record.directory);
        let (reached, card, sentence, undo_until, event) = match ending {
            Ending::Applied { files, undo_until } => {
                self.record.view.place = "Applied".to_owned();
                self.record.view.footer = format!("{} changed in {name}", count(files as usize, "file"));
                self.record.view.has_proof = true;
                self.record.files = files;
                let changeset = self.record.changeset.ok_or_else(lost)?;
                let outcome = self.record.view.outcome.ok_or_else(lost)?;
                let execution = self.record.view.execution.clone();
                let window = undo_until.since(now);
                let face = stream.words.done(&self.record.facts(), files, window.as_secs().div_ceil(60) * 60);
                let order = ChangeOrder { kind: Kind::Undo, execution: execution.clone(), changeset };
                let card = stream.card(face, self.record.view.work_item.as_str(), Some(&order), window)?;
                let checks = crate::words::turned(&self.record.before, &self.record.after);
                let sentence = format!("{} changed in {name}. {checks}.", count(files as usize, "file"));
                let event = Event::Applied(AuditEvent::WorkApplied { execution, changeset, files, outcome });
                (ExecutionState::Applied, card, sentence, Some(undo_until), event)
            }
            Ending::Untouched { intent, reason } => {
                self.record.view.place = "Nothing applied".to_owned();
                self.record.view.footer = "Your files are untouched".to_owned();
                let face = stream.words.report(&self.record.facts(), &intent, &reason);
                let card = stream.card::<ChangeOrder>(face, "", None, std::time::Duration::ZERO)?;
                let sentence = format!("{intent}. Your files in {name} are untouched.");
                (ExecutionState::Ended, card, sentence, None, Event::Ended { reason: format!("{intent}. {reason}") })
            }
            Ending::Conflict { paths } => {
                self.record.view.place = "Nothing applied".to_owned();
                self.record.view.footer = "Your files are untouched".to_owned();
                let face = stream.words.conflict(&self.record.facts(), &paths);
                let card = stream.card::<ChangeOrder>(face, "", None, std::time::Duration::ZERO)?;
                let sentence =
                    format!("Nothing was applied: you changed {} in {name} meanwhile.", count(paths.len(), "file"));
                (ExecutionState::Ended, card, sentence, None, Event::Conflicted { paths })
            }
        };
        self.record.settle_steps();
        let execution = self.record.view.execution.clone();
        let changeset = self.record.changeset;
        let outcome = self.record.view.outcome.unwrap_or(Outcome::Failed);
        let mut record = self.record.clone();
        let teller = stream.clone();
        let lease = self.hold.lease().clone();
        let writing = stream.store.write(move |tx| {
            if !queue::ack(tx, &lease, WORK)? {
                return Ok(Commit(None));
            }
            executions::set_state(tx, &execution, reached, now)?;
            state::ended(tx, &record, reached, outcome, now)?;
            record.last_entry = event.record(tx, &execution, outcome)?;
            executions::set_result(tx, &execution, &record.to_json()?, changeset.as_ref(), undo_until)?;
            cards::insert(tx, &card, execution.as_str())?;
            let entry = teller.tell_in(tx, &sentence)?;
            Ok(Commit(Some((entry, record.view.clone()))))
        });
        let Some((entry, view)) = writing.wait()? else {
            tracing::warn!(execution = %self.record.view.execution, "somebody else has written down the end of this work");
            return Ok(());
        };
        fail::point(FailPoint::ResultRecorded);
        stream.running().remove(&view.execution);
        stream.publish(Update::Work { work: view });
        stream.publish_entry(entry);
        stream.publish_soon();
        Ok(())
    }

    /// Begins a step, unless the budget is used up.
    fn enter(&mut self, step: usize) -> Result<(), Failure> {
        if !self.record.is_within_budget(self.stream.clock.now()) {
            return Err(Failure::Hands(silas_sandbox::Error::TimeUp));
        }
        self.record.enter(step);
        self.show();
        Ok(())
    }

    fn leave(&mut self, step: usize, label: String, state: StepState, took_ms: u64) {
        self.record.leave(step, label, state, took_ms);
        self.show();
    }

    fn show(&self) {
        if let Some(running) = self.stream.running().get_mut(&self.record.view.execution) {
            running.view = self.record.view.clone();
        }
        self.stream.publish(Update::Work { work: self.record.view.clone() });
    }
}

/// The ledger's word about an ending; texts enter the ledger in its own transaction.
#[derive(Clone)]
enum Event {
    Applied(AuditEvent),
    Ended { reason: String },
    Conflicted { paths: Vec<String> },
}

impl Event {
    fn record(&self, tx: &mut Tx<'_>, execution: &ExecutionId, outcome: Outcome) -> Result<u64, silas_store::Error> {
        let execution = execution.clone();
        match self {
            Event::Applied(event) => tx.record(event),
            Event::Ended { reason } => {
                let reason = tx.text(reason)?;
                tx.record(&AuditEvent::WorkEnded { execution, outcome, reason })
            }
            Event::Conflicted { paths } => {
                let files = u32_of(paths.len());
                let paths = tx.text(&paths.join("\n"))?;
                tx.record(&AuditEvent::ApplyConflicted { execution, files, paths })
            }
        }
    }
}

/// Why a piece of work could not go on.
enum Failure {
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

impl From<silas_store::Error> for Failure {
    fn from(error: silas_store::Error) -> Self {
        Failure::Trouble(error.into())
    }
}

fn kept_words(kept: &KeptText) -> String {
    format!("{}: the other text is kept at {}", kept.path, kept.kept_at)
}

fn first_red(results: &[CheckResult]) -> String {
    results
        .iter()
        .find(|result| !result.passed)
        .map_or_else(String::new, |result| format!("{}: {}\n{}", result.name, result.reason, result.output))
}

fn u32_of(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
