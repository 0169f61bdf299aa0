//! The first entry of a life: which installation this is, which terminal, which key of the vault.

use super::Trust;
use crate::Trouble;
use silas_core::device::Certificate;
use silas_core::event::AuditEvent;
use silas_store::queue::{self, Name};
use silas_store::{Commit, devices, ledger, rotations, sessions};

impl Trust {
    /// Writes down that Silas starts, and makes ready what the last life left.
    pub(crate) async fn note_start(&self, terminal: Certificate, version: &str) -> Result<(), Trouble> {
        let anchor = self.house.engine.anchor().clone();
        let version = version.to_owned();
        let (vault_number, is_locked) = (self.vault().number()?, self.vault().is_locked());
        let noting = self.house.store.write(move |tx| {
            let is_new = ledger::head(tx)?.is_none();
            if is_new {
                tx.record(&AuditEvent::InstallationCreated {
                    installation: anchor.installation.clone(),
                    root: anchor.root.id(),
                })?;
            }
            if devices::get(tx, &terminal.body.key)?.is_none() {
                // The first of them comes with the installation.
                if !is_new {
                    tx.record(&AuditEvent::TerminalCertified { key: terminal.body.key.clone() })?;
                }
                devices::insert(tx, &terminal)?;
            }
            rotations::note_vault_key(tx, vault_number)?;
            queue::requeue_leased(tx)?;
            if !is_locked {
                queue::hasten(tx, Name::Work)?;
            }
            sessions::restore(tx)?;
            tx.record(&AuditEvent::StreamStarted { version: version.clone() })?;
            Ok(Commit(()))
        });
        Ok(noting.await?)
    }
}
