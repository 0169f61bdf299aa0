//! What commands reach while they run, written into the ledger as it happens, and where their secrets come from.
//!
//! Values of secrets pass through here and are kept nowhere.

use crate::view::Update;
use crate::words::{count, credential};
use crate::work::Work;
use silas_approval::vault::Found;
use silas_core::ExecutionId;
use silas_core::event::AuditEvent;
use silas_core::number::grouped;
use silas_core::outside::{Connection, NotRecorded, Outside, Piece, Reach, Reached};
use silas_core::secret::{Secret, SecretRef};
use silas_store::Commit;
use std::sync::{Arc, Mutex, MutexGuard};

/// Hears what the workshop of one execution reaches.
pub(super) struct Recorder {
    pub(super) work: Arc<Work>,
    pub(super) execution: ExecutionId,
    pub(super) so_far: Arc<Mutex<Reach>>,
}

impl Recorder {
    fn so_far(&self) -> MutexGuard<'_, Reach> {
        // Counters are whole whatever happened to the thread that held them.
        self.so_far.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// On disk before anything goes on.
    fn write_down(
        &self,
        text: String,
        event: fn(ExecutionId, silas_core::event::Text, String) -> AuditEvent,
        reason: &str,
    ) -> Result<(), NotRecorded> {
        let (execution, reason) = (self.execution.clone(), reason.to_owned());
        let writing = self.work.house.store.write(move |tx| {
            let text = tx.text(&text)?;
            tx.record(&event(execution.clone(), text, reason.clone()))?;
            Ok(Commit(()))
        });
        writing.wait().map_err(|error| {
            tracing::error!(%error, "what a command reached could not be written down, so it is stopped");
            NotRecorded
        })
    }
}

/// The first step of every work while it lasts.
fn copying(files: u64, bytes: u64) -> String {
    let files = count(usize::try_from(files).unwrap_or(usize::MAX), "file");
    format!("Copying: {files}, {} MB so far", grouped(bytes >> 20))
}

impl Outside for Recorder {
    fn connected(&mut self, connection: &Connection) -> Result<(), NotRecorded> {
        let to = match connection.address {
            Some(address) => format!("{} at {address}", connection.to),
            None => connection.to.to_string(),
        };
        match connection.outcome {
            Reached::Opened | Reached::Called => {
                *self.so_far().hosts.entry(connection.to.to_string()).or_default() += 1;
                self.write_down(to, |execution, to, _| AuditEvent::ConnectionMade { execution, to }, "")
            }
            Reached::Refused(_) | Reached::Unresolved | Reached::Unanswered | Reached::TooMany => {
                self.so_far().refused += 1;
                let event = |execution, to, reason| AuditEvent::ConnectionRefused { execution, to, reason };
                self.write_down(to, event, connection.outcome.code())
            }
        }
    }

    /// Shown where the step stands.
    fn copying(&mut self, files: u64, bytes: u64) {
        let mut running = self.work.running.work();
        let Some(running) = running.get_mut(&self.execution) else { return };
        if let Some(step) = running.view.steps.first_mut() {
            step.label = copying(files, bytes);
        }
        self.work.hub.publish(Update::Work { work: running.view.clone() });
    }

    /// Shown to whoever looks on, and to nobody else; nothing of it is kept.
    fn printed(&mut self, piece: Piece) {
        let output = {
            let mut running = self.work.running.work();
            let Some(running) = running.get_mut(&self.execution) else { return };
            running.output.add(piece);
            running.output.view(&self.execution)
        };
        self.work.hub.publish(Update::Output { output });
    }

    fn secret(&mut self, reference: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        let name = reference.to_string();
        let refused = |reason: &str| {
            let event = |execution, reference, reason| AuditEvent::CredentialRefused { execution, reference, reason };
            self.write_down(name.clone(), event, reason).map(|()| None)
        };
        match self.work.trust.vault().get(reference) {
            Found::Value(secret) => {
                *self.so_far().secrets.entry(name.clone()).or_default() += 1;
                let event = |execution, reference, _| AuditEvent::CredentialUsed { execution, reference };
                self.write_down(name, event, "").map(|()| Some(secret))
            }
            Found::Unknown => refused(credential::NO_SUCH),
            Found::Locked => refused(credential::LOCKED),
            Found::Damaged => refused(credential::DAMAGED),
        }
    }
}
