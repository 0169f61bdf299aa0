//! What the entries of a proof tell, read in order: the checks, the commands between them, the change. Whatever they claim
//! about each other is computed again.

use super::decided::Order;
use super::verify::Read;
use super::{Landed, Refusal};
use crate::changeset::{Changeset, FileDiff};
use crate::check::{Check, CheckResult, Expectation, Outcome};
use crate::event::{AuditEvent, Phase};
use crate::outside::Reach;
use crate::rehearsal::{ApplyOrder, Findings};
use crate::work::WorkItem;
use crate::{ExecutionId, Timestamp, canonical};
use std::time::Duration;

/// What the entries tell, read in order.
#[derive(Default)]
pub(super) struct Tale {
    pub(super) started_at: Option<Timestamp>,
    /// When the copy that counts was begun, and when its result was laid aside for the owner to look at.
    begun_at: Option<Timestamp>,
    laid_aside_at: Option<Timestamp>,
    /// How long the owner looked at it.
    looked: Duration,
    pub(super) before: Option<Vec<CheckResult>>,
    /// The plan's commands that have run, each once and in order.
    n_steps: u32,
    /// Those of them that did not exit with 0, by their number, with what they exited with if they did.
    pub(super) failed: Vec<(u32, Option<i32>)>,
    pub(super) after: Option<Vec<CheckResult>>,
    /// The checks as they were when the result was laid aside.
    rehearsed: Option<(Vec<CheckResult>, Vec<CheckResult>)>,
    /// The entry of the decision to put it in place.
    ordered: Option<u64>,
    pub(super) applied: Option<(Timestamp, Outcome, u32, Landed)>,
    pub(super) reach: Reach,
    pub(super) n_resumed: u32,
    pub(super) undone_at: Option<Timestamp>,
}

impl Tale {
    /// Long: the story is told once, from top to bottom, with an arm for each entry that has a part in it.
    pub(super) fn of(
        read: &[Read<'_>],
        execution: &ExecutionId,
        plan: &WorkItem,
        order: Option<&Order<'_>>,
    ) -> Result<Self, Refusal> {
        let mut tale = Tale::default();
        let mut ends_at = 0;
        for entry in read {
            let text = || entry.text.ok_or(Refusal::TextMissing(entry.seq));
            match &entry.event {
                Some(AuditEvent::WorkStarted { execution: of, .. }) if of == execution => {
                    (tale.started_at, tale.begun_at) = (Some(entry.at), Some(entry.at));
                }
                // A fresh copy, a fresh story.
                Some(AuditEvent::ExecutionResumed { execution: of }) if of == execution => {
                    (tale.before, tale.n_steps, tale.after, tale.rehearsed) = (None, 0, None, None);
                    tale.failed.clear();
                    (tale.begun_at, tale.laid_aside_at, tale.looked) = (Some(entry.at), None, Duration::ZERO);
                    tale.n_resumed += 1;
                }
                Some(AuditEvent::ChecksRun { execution: of, when, passed, failed, .. }) if of == execution => {
                    let results = results(entry.seq, text()?, (*passed, *failed), &plan.definition().verify)?;
                    tale.checked(entry.seq, *when, results)?;
                }
                Some(AuditEvent::StepRun { execution: of, step, exit_code, .. }) if of == execution => {
                    tale.ran(entry.seq, *step)?;
                    tale.failed.extend((*exit_code != Some(0)).then_some((*step, *exit_code)));
                }
                Some(AuditEvent::ConnectionMade { execution: of, .. }) if of == execution => {
                    // The grant, and where that led.
                    let host = text()?.split(" at ").next().unwrap_or_default();
                    *tale.reach.hosts.entry(host.to_owned()).or_default() += 1;
                }
                Some(AuditEvent::ConnectionRefused { execution: of, .. }) if of == execution => {
                    tale.reach.refused += 1;
                }
                Some(AuditEvent::CredentialUsed { execution: of, .. }) if of == execution => {
                    *tale.reach.secrets.entry(text()?.to_owned()).or_default() += 1;
                }
                Some(AuditEvent::WorkRehearsed { execution: of, changeset, outcome, .. }) if of == execution => {
                    tale.judged(entry.seq, *outcome, plan)?;
                    if order.is_some_and(|order| order.what.changeset != *changeset) {
                        return Err(Refusal::Changeset(entry.seq));
                    }
                    tale.rehearsed = tale.before.clone().zip(tale.after.clone());
                    tale.laid_aside_at = Some(entry.at);
                }
                Some(AuditEvent::DecisionRecorded { token, .. })
                    if order.is_some_and(|order| order.token == *token) =>
                {
                    // Nobody can decide about a result that is not there yet.
                    if tale.rehearsed.is_none() {
                        return Err(Refusal::Order(entry.seq));
                    }
                    tale.ordered = Some(entry.seq);
                    tale.looked += tale.laid_aside_at.map_or(Duration::ZERO, |laid_aside| entry.at.since(laid_aside));
                }
                Some(AuditEvent::WorkApplied { execution: of, changeset, files, outcome, .. }) if of == execution => {
                    let landed: Landed = canonical::read(text()?).map_err(|_| Refusal::Content(entry.seq))?;
                    tale.judged(entry.seq, *outcome, plan)?;
                    if landed.changeset.hash().ok() != Some(*changeset) {
                        return Err(Refusal::Changeset(entry.seq));
                    }
                    shows_what_changed(&landed, plan)?;
                    if let Some(order) = order {
                        tale.is_what_was_decided(entry.seq, &order.what, &landed)?;
                    }
                    tale.applied = Some((entry.at, *outcome, *files, landed));
                    ends_at = entry.seq;
                }
                Some(AuditEvent::WorkUndone { execution: of, .. }) if of == execution => {
                    tale.undone_at = Some(entry.at);
                    ends_at = entry.seq;
                }
                _ => {}
            }
        }
        // What comes after the end could be anything, and nobody asked for it.
        match read.last() {
            Some(last) if last.seq > ends_at && tale.applied.is_some() => Err(Refusal::Beyond(ends_at + 1)),
            _ => Ok(tale),
        }
    }

    /// The time of the work itself: neither what an interruption took nor what the owner's looking took.
    pub(super) fn worked_until(&self, applied_at: Timestamp) -> Duration {
        let whole = self.begun_at.map_or(Duration::ZERO, |begun| applied_at.since(begun));
        whole.saturating_sub(self.looked)
    }

    fn checked(&mut self, seq: u64, when: Phase, results: Vec<CheckResult>) -> Result<(), Refusal> {
        match when {
            Phase::Before if self.before.is_none() => self.before = Some(results),
            // More than once if the owner changed something meanwhile: the last time counts.
            Phase::After if self.before.is_some() && self.applied.is_none() => self.after = Some(results),
            Phase::Before | Phase::After => return Err(Refusal::Order(seq)),
        }
        Ok(())
    }

    fn ran(&mut self, seq: u64, step: u32) -> Result<(), Refusal> {
        if self.before.is_none() || self.after.is_some() || step != self.n_steps {
            return Err(Refusal::Order(seq));
        }
        self.n_steps += 1;
        Ok(())
    }

    /// What was on the card when its changes were approved is what the ledger has of them.
    fn is_what_was_decided(&self, seq: u64, order: &ApplyOrder, landed: &Landed) -> Result<(), Refusal> {
        let (Some((before, after)), Some(ordered)) = (&self.rehearsed, self.ordered) else {
            return Err(Refusal::Order(seq));
        };
        let findings = Findings { before, after, diffs: &landed.diffs };
        if findings.hash().ok() == Some(order.findings) { Ok(()) } else { Err(Refusal::Findings(ordered)) }
    }

    /// What the two runs come to, computed again. All of the plan's commands ran between them.
    fn judged(&self, seq: u64, recorded: Outcome, plan: &WorkItem) -> Result<(), Refusal> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Err(Refusal::Order(seq)) };
        if self.n_steps as usize != plan.definition().steps.len() {
            return Err(Refusal::Steps { ran: self.n_steps, planned: plan.definition().steps.len() });
        }
        let computed = Outcome::of(before, after);
        if computed == recorded { Ok(()) } else { Err(Refusal::Outcome { seq, recorded, computed }) }
    }
}

/// The results of one run: of exactly the plan's checks, as many as the entry counts, none green that its own numbers
/// show to be red.
fn results(seq: u64, text: &str, counted: (u32, u32), checks: &[Check]) -> Result<Vec<CheckResult>, Refusal> {
    let results: Vec<CheckResult> = serde_json::from_str(text).map_err(|_| Refusal::Content(seq))?;
    let wrong = |what| Err(Refusal::Checks { seq, what });
    let same = results.len() == checks.len() && results.iter().zip(checks).all(|(r, check)| r.name == check.name);
    if !same {
        return wrong("they are of other checks");
    }
    // Results of earlier versions do not name their commands; the plan does.
    let is_other = |(result, check): (&CheckResult, &Check)| !result.run.is_empty() && result.run != check.command();
    if results.iter().zip(checks).any(is_other) {
        return wrong("they are of other commands");
    }
    let n_passed = results.iter().filter(|result| result.passed).count();
    if (n_passed, results.len() - n_passed) != (counted.0 as usize, counted.1 as usize) {
        return wrong("they are not as many as it counts");
    }
    for (result, check) in results.iter().zip(checks) {
        if result.protected != check.protected {
            return wrong("the plan says otherwise who could change a check");
        }
        let is_contradicted = match (&check.expect, result.exit_code) {
            (Expectation::ExitCode(wanted), code) => code != Some(*wanted),
            (_, code) => code.is_none(),
        };
        if result.passed && is_contradicted {
            return wrong("one is green whose exit code is not");
        }
        let shows_nothing = |failed: u32, ran: u32| ran == 0 || failed > 0 && result.exit_code == Some(0);
        let is_hollow = result.tests.as_ref().is_some_and(|t| shows_nothing(t.failed, t.passed + t.failed));
        if result.passed && is_hollow {
            return wrong("one is green whose tests are not");
        }
    }
    Ok(results)
}

/// What is shown of a change must be of a file that changed, under the name that it has there.
fn shows_what_changed(landed: &Landed, plan: &WorkItem) -> Result<(), Refusal> {
    let directories = &plan.definition().directories;
    let is_of = |diff: &FileDiff, changeset: &Changeset| {
        changeset.changes.iter().any(|change| {
            let place = directories.get(change.directory as usize).map_or("", |directory| directory.path.as_str());
            change.path == diff.path && (diff.directory.is_empty() || diff.directory == place)
        })
    };
    match landed.diffs.iter().find(|diff| !is_of(diff, &landed.changeset)) {
        Some(stray) => Err(Refusal::Diff(stray.path.to_string())),
        None => Ok(()),
    }
}
