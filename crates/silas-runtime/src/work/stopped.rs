//! What began and may act outside: written down before it does, and judged when the work is cut short.
//!
//! Bytes go over a connection only after it was written down, so a run without one has sent nothing, whatever its programs
//! wanted. What a connection was used for is known by nobody here, and the owner is asked.

use super::ending::{CutBy, Ending};
use super::job::{Failure, Job, u32_of};
use crate::running::Stop;
use crate::words::count;
use crate::work_record::Begun;
use silas_approval::Admitted;
use silas_core::event::{AuditEvent, Phase};
use silas_core::fail::{self, FailPoint};
use silas_core::wanted::By;
use silas_core::work::WorkItem;
use silas_store::{Commit, executions};

impl Job {
    /// On disk before the command begins: after a crash it is known that something may have happened outside.
    pub(super) fn note_step_begins(&mut self, n: usize, by: &By, item: &WorkItem) -> Result<(), Failure> {
        let d = item.definition();
        if d.hosts_of(by).is_empty() && d.callback_port.is_none() {
            return Ok(());
        }
        self.note_begins(Begun::Step(u32_of(n)))?;
        fail::point(FailPoint::StepBegun);
        Ok(())
    }

    /// The same before checks, where one of them may reach a host.
    pub(super) fn note_checks_begin(&mut self, phase: Phase, item: &WorkItem) -> Result<(), Failure> {
        if item.definition().verify.iter().any(|check| check.network) {
            self.note_begins(Begun::Checks(phase))?;
        }
        Ok(())
    }

    fn note_begins(&mut self, begun: Begun) -> Result<(), Failure> {
        self.record.begun_outside = Some(begun);
        self.in_flight = Some((begun, self.n_connections()));
        let execution = self.record.view.execution.clone();
        let (json, changeset) = (self.record.to_json()?, self.record.changeset);
        let noted = self.work.house.store.write_and_wait(move |tx| {
            let execution = execution.clone();
            tx.record(&match begun {
                Begun::Step(step) => AuditEvent::StepBegun { execution: execution.clone(), step },
                Begun::Checks(when) => AuditEvent::ChecksBegun { execution: execution.clone(), when },
            })?;
            executions::set_result(tx, &execution, &json, changeset.as_ref(), None)?;
            Ok(Commit(()))
        });
        Ok(noted?)
    }

    /// It could not go on. Where something was under way that had made a connection, nobody knows what it did with it.
    pub(super) fn cut_short(&mut self, failure: Failure, admitted: &Admitted) -> Option<Ending> {
        let Some((begun, n_before)) = self.in_flight else { return self.failed(failure) };
        let is_lost = matches!(failure, Failure::Hands(silas_sandbox::Error::Lost));
        let by = match self.stop_wanted() {
            // The next start sees what had begun, and asks.
            Stop::Leaving => return None,
            Stop::Owner => CutBy::Owner,
            Stop::No => CutBy::Interruption,
        };
        if !is_lost && self.n_connections() == n_before {
            return self.failed(failure);
        }
        let is_rehearsal = matches!(admitted, Admitted::Rehearsal(_));
        Some(Ending::Unknown { begun, plan: Box::new(admitted.item().clone()), is_rehearsal, by })
    }

    /// What is known about the outside when the owner stops something; nothing where nothing outside was granted.
    pub(super) fn sent_words(&self) -> String {
        let n_all = self.n_connections();
        match (self.record.begun_outside, usize::try_from(n_all).unwrap_or(usize::MAX)) {
            (None, _) => String::new(),
            (Some(_), 0) => " Nothing was sent: no connection had been made.".to_owned(),
            (Some(_), n) => format!(
                " What was under way had made no connection. What ran to its end before made {}; Activity lists them.",
                count(n, "connection")
            ),
        }
    }

    fn n_connections(&self) -> u64 {
        self.reach.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).n_connections()
    }
}
