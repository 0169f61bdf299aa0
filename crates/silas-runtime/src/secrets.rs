//! The owner's side of the vault: setting, listing and removing secrets, locking and unlocking, each in the ledger by name.
//!
//! Values pass through here on their way into the vault and are kept nowhere else.

use crate::{Stream, Trouble};
use serde::{Deserialize, Serialize};
use silas_approval::Refusal;
use silas_approval::sealing::SealKey;
use silas_approval::vault::VaultTrouble;
use silas_core::Timestamp;
use silas_core::card::{Card, CardState};
use silas_core::event::{AuditEvent, Text};
use silas_core::input::SecureInput;
use silas_core::secret::{Secret, SecretRef};
use silas_core::work::WorkItem;
use silas_store::queue::Leased;
use silas_store::{Commit, cards};
use std::sync::Arc;

/// Why a secret was not given, as the ledger has it.
pub(crate) const NO_SUCH: &str = "no_such_secret";
pub(crate) const LOCKED: &str = "vault_locked";
pub(crate) const DAMAGED: &str = "damaged";

/// Whether a secret is taken only if somebody asked for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Asked,
    Nothing,
}

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

pub(crate) fn refusal_words(reason: &str) -> &'static str {
    match reason {
        LOCKED => "The vault was locked",
        DAMAGED => "What the vault holds of it is damaged",
        _ => "There is no such secret",
    }
}

impl Stream {
    /// From the terminal: sets or replaces a secret, whether a card asks for it or not. A card that does is answered.
    pub async fn store_secret(self: &Arc<Self>, reference: &SecretRef, value: Secret) -> Result<String, Trouble> {
        self.keep(reference, value, Need::Nothing).await?;
        Ok(format!("{reference} is in the vault. Plans use it by this name."))
    }

    /// The answer to a card, by whichever door: taken only while one asks for exactly this, and once.
    pub async fn give_secret(self: &Arc<Self>, reference: &SecretRef, value: Secret) -> Result<String, Trouble> {
        self.keep(reference, value, Need::Asked).await?;
        Ok(format!("{reference} is in the vault."))
    }

    async fn keep(self: &Arc<Self>, reference: &SecretRef, value: Secret, need: Need) -> Result<(), Trouble> {
        let wish = {
            let _one_at_a_time = self.entering.lock().await;
            if need == Need::Asked {
                self.is_asked_for(reference).await?;
            }
            let (vault, name, at) = (self.vault.clone(), reference.clone(), self.clock.now());
            let record = blocking(move || {
                vault.put(&name, &value, at)?;
                Ok(vault.record(&name)?)
            });
            // What counts is what the vault has written down, not that it was told to.
            if record.await?.is_none_or(|record| record.set_at != at) {
                let what = "The vault did not keep it.";
                return Err(Trouble::new("E_VAULT_FAILED", what, "See whether the disk is full, then try again."));
            }
            self.write_stored(reference).await?
        };
        self.go_on_with(wish).await;
        Ok(())
    }

    /// Whether a card waits for this secret now.
    async fn is_asked_for(&self, reference: &SecretRef) -> Result<(), Trouble> {
        let (subject, now) = (SecureInput::subject_of(reference), self.clock.now());
        let asked = self.store.read(move |tx| cards::find_by_subject(tx, &subject)).await?;
        let in_time = |card: &Card| card.expires_at().is_some_and(|at| now < at);
        if asked.iter().any(|card| card.state == CardState::Open && in_time(card)) {
            return Ok(());
        }
        let waits = |card: &Card| matches!(card.state, CardState::Open | CardState::Parked);
        if asked.iter().any(waits) {
            let what = "The time for this answer is over. Nothing was stored.";
            return Err(Trouble::new("E_VAULT_LATE", what, "Ask again from the card."));
        }
        if asked.iter().any(|card| card.state == CardState::Answered) {
            let what = "This secret was given already. Nothing was changed.";
            return Err(Trouble::new("E_VAULT_GIVEN", what, "`silas secret set` replaces it."));
        }
        let what = "Nobody asked for a secret of this name. Nothing was stored.";
        Err(Trouble::new("E_VAULT_UNASKED", what, "Use the card in Review, or `silas secret set`."))
    }

    /// Writes down that a secret is in the vault, and with it that every card that asked for it is answered.
    pub(crate) async fn note_stored(self: &Arc<Self>, reference: &SecretRef) -> Result<(), Trouble> {
        let wish = self.write_stored(reference).await?;
        self.go_on_with(wish).await;
        Ok(())
    }

    async fn write_stored(self: &Arc<Self>, reference: &SecretRef) -> Result<Option<Leased>, Trouble> {
        // A model may have been silent for the want of exactly this.
        self.silences.forget_all();
        let (stream, reference) = (self.clone(), reference.clone());
        let writing = self.store.write(move |tx| {
            let text = tx.text(reference.as_str())?;
            tx.record(&AuditEvent::SecretStored { reference: text })?;
            Ok(Commit(stream.answer_inputs(tx, &reference)?))
        });
        Ok(writing.await?)
    }

    async fn go_on_with(self: &Arc<Self>, wish: Option<Leased>) {
        self.publish_cards().await;
        self.publish_activity().await;
        if let Some(wish) = wish {
            self.take_turn(wish).await;
        }
    }

    pub async fn remove_secret(&self, reference: &SecretRef) -> Result<String, Trouble> {
        let (vault, name) = (self.vault.clone(), reference.clone());
        if !blocking(move || vault.remove(&name)).await? {
            let what = format!("There is no secret called {reference}.");
            return Err(Trouble::new("E_VAULT_UNKNOWN", &what, "`silas secret list` shows them."));
        }
        self.note_secret(reference, |reference| AuditEvent::SecretRemoved { reference }).await?;
        Ok(format!("{reference} is removed."))
    }

    pub async fn secrets(&self) -> Result<Vec<SecretView>, Trouble> {
        let vault = self.vault.clone();
        let listed = blocking(move || Ok(vault.list()?)).await?;
        Ok(listed.into_iter().map(|it| SecretView { reference: it.reference, set_at: it.set_at }).collect())
    }

    pub async fn vault_view(&self) -> Result<VaultView, Trouble> {
        Ok(VaultView { is_locked: self.vault.is_locked(), n_secrets: self.secrets().await?.len() })
    }

    /// Opens the vault with its key, until this process ends or it is locked again.
    pub async fn unlock_vault(&self, key: Secret) -> Result<String, Trouble> {
        let vault = self.vault.clone();
        blocking(move || {
            let key = SealKey::from_slice(key.expose());
            vault.unlock(key.ok_or(silas_approval::lock::Unopened::WrongPassphrase)?)
        })
        .await?;
        self.note(|| AuditEvent::VaultUnlocked {}).await?;
        self.hasten_work().await?;
        Ok("The vault is open until Silas stops, or until `silas lock`.".to_owned())
    }

    pub async fn lock_vault(&self) -> Result<String, Trouble> {
        let vault = self.vault.clone();
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
        self.tell(
            "The vault is locked since the start. Messages, cards and tasks work as always; a plan that uses a secret \
             waits in Review until you run `silas unlock` in the terminal, and work that was under way with one goes on \
             then.",
        )
        .await
    }

    /// Why an approved plan cannot begin now, if it uses a secret that the vault lacks, or the vault is locked.
    pub(crate) fn lacks_vault(&self, item: &WorkItem) -> Option<Refusal> {
        let first = item.definition().secrets.first()?;
        // A vault that cannot be read is said where it is read for good.
        if let Ok(Some(missing)) = self.missing_secret(item.definition()) {
            return Some(Refusal::SecretMissing(missing.to_string()));
        }
        self.vault.is_locked().then(|| Refusal::VaultLocked(first.to_string()))
    }

    async fn note_secret(&self, reference: &SecretRef, event: fn(Text) -> AuditEvent) -> Result<(), Trouble> {
        let name = reference.to_string();
        let noting = self.store.write(move |tx| {
            let text = tx.text(&name)?;
            tx.record(&event(text))?;
            Ok(Commit(()))
        });
        noting.await?;
        self.publish_activity().await;
        Ok(())
    }

    async fn note(&self, event: fn() -> AuditEvent) -> Result<(), Trouble> {
        let noting = self.store.write(move |tx| {
            tx.record(&event())?;
            Ok(Commit(()))
        });
        noting.await?;
        self.publish_activity().await;
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
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
