//! Secrets that the owner gives: into the vault, and with it the answer to every card that asked.
//!
//! Values pass through here on their way into the vault and are kept nowhere else.

use crate::review::Review;
use crate::trust::blocking;
use crate::{Trouble, post};
use silas_core::Scope;
use silas_core::card::{Card, CardState};
use silas_core::event::AuditEvent;
use silas_core::input::{Input, SecureInput, WantedBy};
use silas_core::secret::{Secret, SecretRef};
use silas_store::queue::Leased;
use silas_store::{Abort, Commit, Tx, cards};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a secret is taken only if somebody asked for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Asked,
    Nothing,
}

impl Review {
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
            let (vault, name, at) = (self.trust.vault().clone(), reference.clone(), self.house.clock.now());
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
        let (subject, now) = (SecureInput::subject_of(reference), self.house.clock.now());
        let asked = self.house.store.read(move |tx| cards::find_by_subject(tx, &Scope::Owner, &subject)).await?;
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
        self.minds.silences.forget_all();
        let (review, reference) = (self.clone(), reference.clone());
        let writing = self.house.store.write(move |tx| {
            let text = tx.text(reference.as_str())?;
            tx.record(&AuditEvent::SecretStored { reference: text })?;
            Ok(Commit(review.answer_inputs(tx, &reference)?))
        });
        Ok(writing.await?)
    }

    async fn go_on_with(self: &Arc<Self>, wish: Option<Leased>) {
        self.hub.publish_cards().await;
        self.hub.publish_activity().await;
        if let Some(wish) = wish {
            self.conversation.take_turn(wish).await;
        }
    }

    /// The value is in the vault: every card that asked for it is answered, and what comes after each is asked or goes on.
    pub(crate) fn answer_inputs(&self, tx: &mut Tx<'_>, reference: &SecretRef) -> Result<Option<Leased>, Abort> {
        let subject = SecureInput::subject_of(reference);
        for mut card in cards::find_by_subject(tx, &Scope::Owner, &subject)? {
            if !matches!(card.state, CardState::Open | CardState::Parked) {
                continue;
            }
            card.state = CardState::Answered;
            cards::update(tx, &card)?;
            if let Some(WantedBy::Model { then: Some(grant), .. }) =
                card.input.as_ref().and_then(Input::secret).map(|wanted| &wanted.wanted_by)
            {
                self.minds.set_up_question(grant)?.ask(tx)?;
            }
        }
        Ok(post::call_back(tx, self.house.random.as_ref(), &subject, self.house.clock.now())?)
    }

    /// At the start: what came into the vault and was not written down as an answer, because Silas ended in between.
    pub(crate) async fn settle_inputs(self: &Arc<Self>) -> Result<(), Trouble> {
        let mut given = BTreeSet::new();
        for card in self.house.store.read(cards::list_open_everywhere).await? {
            let Some(wanted) = card.input.as_ref().and_then(Input::secret) else { continue };
            let record = self.trust.vault().record(&wanted.ref_id);
            let record = record.map_err(|cause| Trouble::from(silas_approval::vault::VaultTrouble::Io(cause)))?;
            if record.is_some_and(|record| record.set_at >= card.created_at) {
                given.insert(wanted.ref_id.clone());
            }
        }
        for reference in given {
            self.note_stored(&reference).await?;
        }
        Ok(())
    }
}
