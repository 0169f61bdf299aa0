//! Hosts that commands asked for and were refused: written down when a command has ended, and made into the smallest plan
//! that would have been enough when nothing came of the work.
//!
//! Deliberately absent: allowing anything. What is offered is a plan of its own, which begins afresh by a decision of its own.

use super::ending::Ending;
use super::job::{Failure, Job};
use super::lost;
use crate::review::kinds::refusal::Rule;
use silas_approval::Admitted;
use silas_core::WorkItemId;
use silas_core::check::{CheckResult, Command};
use silas_core::event::{AuditEvent, NOT_GRANTED};
use silas_core::token::Kind;
use silas_core::wanted::{self, By, WANTED_MAX, Wanted};
use silas_core::work::WorkItem;
use silas_store::{Commit, work_items};

impl Job {
    /// Each name once for each command, as it is found.
    pub(super) fn note_asked(&mut self, by: &By, command: &Command, names: &[String]) -> Result<(), Failure> {
        let mut told = Vec::new();
        for name in names {
            let is_known = self.record.wanted.iter().any(|known| known.host == *name && known.by == *by);
            if !is_known && self.record.wanted.len() < WANTED_MAX {
                self.record.wanted.push(Wanted::new(name, by.clone(), command));
                told.push(name.clone());
            }
        }
        if told.is_empty() {
            return Ok(());
        }
        let execution = self.record.view.execution.clone();
        {
            let mut reach = self.reach.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            reach.refused = reach.refused.saturating_add(super::job::u32_of(told.len()));
            self.record.reach = reach.clone();
        }
        let noting = self.work.house.store.write_buffered(move |tx| {
            for name in &told {
                let to = tx.text(name)?;
                let (execution, reason) = (execution.clone(), NOT_GRANTED.to_owned());
                tx.record(&AuditEvent::ConnectionRefused { execution, to, reason })?;
            }
            Ok(Commit(()))
        });
        Ok(noting.wait()?)
    }

    pub(super) fn note_asked_by_checks(&mut self, item: &WorkItem, results: &[CheckResult]) -> Result<(), Failure> {
        for (check, result) in item.definition().verify.iter().zip(results) {
            self.note_asked(&By::Check(check.name.clone()), &check.run, &result.asked)?;
        }
        Ok(())
    }

    /// The ending, or the card that offers what was missing instead of a report.
    pub(super) fn offer_what_was_refused(&self, admitted: &Admitted, ending: Ending) -> Result<Ending, Failure> {
        let (Ending::Untouched { intent, reason }, false) = (&ending, self.record.wanted.is_empty()) else {
            return Ok(ending);
        };
        let d = admitted.item().definition();
        let id = WorkItemId::new(self.work.house.random.as_ref());
        let plan = match wanted::amended(d, id, &self.record.wanted) {
            Ok(plan) => Box::new(plan),
            Err(broken) => {
                tracing::debug!(%broken, "what was wanted is more than a plan can name");
                return Ok(ending);
            }
        };
        let (kind, rule) = match admitted {
            Admitted::Rehearsal(_) if d.hosts.is_empty() => (Kind::Rehearsal, Rule::Rehearsal),
            Admitted::Rehearsal(_) => (Kind::Rehearsal, Rule::OtherHosts),
            Admitted::Plan(_) if d.hosts.is_empty() => (Kind::Plan, Rule::NoHost),
            Admitted::Plan(_) => (Kind::Plan, Rule::OtherHosts),
        };
        let id = d.id.clone();
        let trace =
            self.work.house.store.read(move |tx| Ok(work_items::get(tx, &id)?.map(|stored| stored.trace))).wait()?;
        let trace = trace.ok_or_else(lost)?;
        Ok(Ending::Refused { plan, trace, kind, rule, intent: intent.clone(), reason: reason.clone() })
    }

    /// The names, for a sentence.
    pub(super) fn wanted_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for wanted in &self.record.wanted {
            if !names.contains(&wanted.host) {
                names.push(wanted.host.clone());
            }
        }
        names
    }
}
