//! The owner's side of the vault: listing and removing secrets, locking and unlocking, each in the ledger by name.
//!
//! Deliberately absent: taking a secret in. That answers cards, so it is review's.

use crate::Trouble;
use crate::trust::Trust;
use serde::{Deserialize, Serialize};
use silas_approval::Refusal;
use silas_approval::sealing::SealKey;
use silas_approval::vault::VaultTrouble;
use silas_core::Timestamp;
use silas_core::event::{AuditEvent, Text};
use silas_core::secret::{Secret, SecretRef};
use silas_core::work::{Definition, WorkItem};
use silas_store::Commit;
use std::sync::Arc;

/// A secret as it may be shown: never its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SecretView {
    pub reference: SecretRef,
    pub set_at: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VaultView {
    pub is_locked: bool,
    pub n_secrets: usize,
}

impl Trust {
    pub async fn remove_secret(&self, reference: &SecretRef) -> Result<String, Trouble> {
        let (vault, name) = (self.options.vault.clone(), reference.clone());
        if !blocking(move || vault.remove(&name)).await? {
            let what = format!("There is no secret called {reference}.");
            return Err(Trouble::new("E_VAULT_UNKNOWN", &what, "`silas secret list` shows them."));
        }
        self.note_secret(reference, |reference| AuditEvent::SecretRemoved { reference }).await?;
        Ok(format!("{reference} is removed."))
    }

    pub async fn secrets(&self) -> Result<Vec<SecretView>, Trouble> {
        let vault = self.options.vault.clone();
        let listed = blocking(move || Ok(vault.list()?)).await?;
        Ok(listed.into_iter().map(|it| SecretView { reference: it.reference, set_at: it.set_at }).collect())
    }

    pub async fn vault_view(&self) -> Result<VaultView, Trouble> {
        Ok(VaultView { is_locked: self.options.vault.is_locked(), n_secrets: self.secrets().await?.len() })
    }

    /// Opens the vault with its key, until this process ends or it is locked again.
    pub async fn unlock_vault(&self, key: Secret) -> Result<String, Trouble> {
        let vault = self.options.vault.clone();
        blocking(move || {
            let key = SealKey::from_slice(key.expose());
            vault.unlock(key.ok_or(silas_approval::lock::Unopened::WrongPassphrase)?)
        })
        .await?;
        self.note(|| AuditEvent::VaultUnlocked {}).await?;
        self.house.hasten_work().await?;
        Ok("The vault is open until Silas stops, or until `silas lock`.".to_owned())
    }

    pub async fn lock_vault(&self) -> Result<String, Trouble> {
        let vault = self.options.vault.clone();
        if !blocking(move || vault.lock()).await? {
            return Err(Trouble::new(
                "E_VAULT_UNPROTECTED",
                "The vault is protected by file permissions only, so there is nothing to lock it with.",
                "Set a passphrase with `silas key passphrase`.",
            ));
        }
        self.note(|| AuditEvent::VaultLocked {}).await?;
        Ok("The vault is locked. Plans that use a secret wait until `silas unlock`.".to_owned())
    }

    /// At the start: whoever has secrets should know that they cannot be used yet.
    pub(crate) async fn tell_if_locked(self: &Arc<Self>) -> Result<(), Trouble> {
        let vault = self.vault_view().await?;
        if !vault.is_locked || vault.n_secrets == 0 {
            return Ok(());
        }
        self.hub.tell(
            "The vault is locked since the start. Messages, cards and tasks work as always; a plan that uses a secret \
             waits in Review until you run `silas unlock` in the terminal, and work that was under way with one goes on \
             then.",
        )
        .await
    }

    /// A secret that a plan names and the vault lacks; the first of them.
    pub(crate) fn missing_secret(&self, d: &Definition) -> Result<Option<SecretRef>, Trouble> {
        for reference in &d.secrets {
            if !self.is_kept(reference)? {
                return Ok(Some(reference.clone()));
            }
        }
        Ok(None)
    }

    /// Whether the vault has it, locked or not.
    pub(crate) fn is_kept(&self, reference: &SecretRef) -> Result<bool, Trouble> {
        let record = self.options.vault.record(reference);
        Ok(record.map_err(|cause| Trouble::from(silas_approval::vault::VaultTrouble::Io(cause)))?.is_some())
    }

    /// Why an approved plan cannot begin now, if it uses a secret that the vault lacks, or the vault is locked.
    pub(crate) fn lacks_vault(&self, item: &WorkItem) -> Option<Refusal> {
        let first = item.definition().secrets.first()?;
        // A vault that cannot be read is said where it is read for good.
        if let Ok(Some(missing)) = self.missing_secret(item.definition()) {
            return Some(Refusal::SecretMissing(missing.to_string()));
        }
        self.options.vault.is_locked().then(|| Refusal::VaultLocked(first.to_string()))
    }

    async fn note_secret(&self, reference: &SecretRef, event: fn(Text) -> AuditEvent) -> Result<(), Trouble> {
        let name = reference.to_string();
        let noting = self.house.store.write(move |tx| {
            let text = tx.text(&name)?;
            tx.record(&event(text))?;
            Ok(Commit(()))
        });
        noting.await?;
        self.hub.publish_activity().await;
        Ok(())
    }

    async fn note(&self, event: fn() -> AuditEvent) -> Result<(), Trouble> {
        let noting = self.house.store.write(move |tx| {
            tx.record(&event())?;
            Ok(Commit(()))
        });
        noting.await?;
        self.hub.publish_activity().await;
        Ok(())
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    body: impl FnOnce() -> Result<T, VaultTrouble> + Send + 'static,
) -> Result<T, Trouble> {
    match tokio::task::spawn_blocking(body).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Trouble::new("E_VAULT_FAILED", "The vault could not be used.", "See the log, then try again.")),
    }
}

impl From<VaultTrouble> for Trouble {
    fn from(trouble: VaultTrouble) -> Self {
        let (code, todo) = match &trouble {
            VaultTrouble::Locked => ("E_VAULT_LOCKED", "Run `silas unlock` in the terminal, then try again."),
            VaultTrouble::Unopened(_) => ("E_VAULT_REFUSED", "Try again with the right passphrase."),
            VaultTrouble::Full => ("E_VAULT_FULL", "Remove what is not used with `silas secret rm`."),
            VaultTrouble::Size => ("E_VAULT_SIZE", "Nothing was changed."),
            VaultTrouble::Busy => ("E_VAULT_BUSY", "Wait until it is done, then try again."),
            VaultTrouble::Io(_) => ("E_VAULT_FAILED", "See whether the disk is full, then try again."),
        };
        let message = match &trouble {
            VaultTrouble::Unopened(why) => format!("The vault did not open: {why}."),
            VaultTrouble::Io(cause) => format!("The vault could not be written: {cause}."),
            VaultTrouble::Locked | VaultTrouble::Full | VaultTrouble::Size | VaultTrouble::Busy => trouble.to_string(),
        };
        Trouble::new(code, &message, todo)
    }
}
