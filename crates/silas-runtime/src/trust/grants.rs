//! What is allowed, to whom, and taking it back: at once here, and at the launcher, which remembers it.
//!
//! A revocation reaches this process from the launcher only: first the root key signs it and the launcher remembers it,
//! then the engine knows, then the database. A crash in between loses nothing; the next start asks the launcher.

use crate::Trouble;
use crate::question::Question;
use crate::running::Stop;
use crate::trouble::refused;
use crate::trust::Trust;
use crate::words::count;
use silas_approval::Refusal;
use silas_approval::house_rules::HouseRules;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::event::AuditEvent;
use silas_core::revocation::{RevocationList, Revocations, Withdrawal, Withdrawn};
use silas_core::{ExecutionId, KeyId, Scope, canonical};
use silas_store::{Commit, Tx, cards, settings, tokens};
use std::sync::Arc;

/// The setting that holds the newest list of revocations.
pub(crate) const REVOCATIONS: &str = "revocations";
/// The setting that remembers which list of house rules was asked for after an upgrade.
const HOUSE_RULES_ASKED: &str = "house_rules_asked";
/// What the card of the house rules is about.
const HOUSE_RULES: &str = "house-rules";

/// The question about the house rules is answered by other means.
pub(crate) fn close_asking(tx: &mut Tx<'_>) -> Result<(), silas_store::Error> {
    for mut card in cards::find_by_subject(tx, &Scope::Owner, HOUSE_RULES)?.into_iter().filter(waits) {
        card.state = CardState::Closed;
        cards::update(tx, &card)?;
    }
    Ok(())
}

fn waits(card: &Card) -> bool {
    card.face.kind == CardKind::HouseRules && matches!(card.state, CardState::Open | CardState::Parked)
}

impl Trust {
    /// Takes back a device or a grant that one of the owner's devices withdrew. In force when this returns.
    pub async fn withdraw(self: &Arc<Self>, withdrawal: Withdrawal) -> Result<String, Trouble> {
        let (key, what) = (withdrawal.body.key.clone(), withdrawal.body.what.clone());
        let engine = self.house.engine.clone();
        let asked = what.clone();
        let signer = key.clone();
        let looking = self.house.store.read(move |tx| {
            let is_known = match &asked {
                Withdrawn::Device(key) => silas_store::devices::get(tx, key)?.is_some(),
                Withdrawn::Grant(token) => tokens::get(tx, token)?.is_some(),
                Withdrawn::Grants(all) => {
                    let mut is_known = !all.is_empty();
                    for token in all {
                        is_known &= tokens::get(tx, token)?.is_some();
                    }
                    is_known
                }
            };
            Ok((engine.device(tx, &signer)?, is_known))
        });
        let (device, is_known) = looking.await?;
        if !is_known {
            return Err(Trouble::new(
                "E_APPROVAL_GRANT",
                "There is no such device or grant.",
                "Look at the list again.",
            ));
        }
        let certificate = match device {
            Ok(certificate) => certificate,
            Err(refusal) => {
                self.note_refused(key, refusal.to_string()).await?;
                return Err(refused(&refusal));
            }
        };
        let one_at_a_time = self.withdrawing.clone().lock_owned().await;
        let launcher = self.house.launcher.clone();
        let asking = tokio::task::spawn_blocking(move || launcher.withdraw(&withdrawal, &certificate)).await;
        let list = match asking {
            Ok(Ok(list)) => list,
            Ok(Err(error)) => {
                self.note_refused(key, error.to_string()).await?;
                let todo = match (&error, &what) {
                    (silas_sandbox::Error::Locked, Withdrawn::Grants(_)) => {
                        "In the terminal, `silas stop --all --revoke` asks for the passphrase and takes back all of them."
                    }
                    (silas_sandbox::Error::Locked, _) => "",
                    _ => "Try again.",
                };
                return Err(Trouble::new(error.code(), &format!("Nothing was revoked. {error}"), todo));
            }
            Err(_) => {
                let todo = "Look at the list, then try again.";
                return Err(Trouble::new("E_APPROVAL_REVOKE", "The revocation was interrupted.", todo));
            }
        };
        self.take_out_of_force(&list).await?;
        // The launcher remembers it, so it holds; whoever holds the database only delays that it is written down.
        let trust = self.clone();
        self.house
            .write_afterwards("what was revoked", move || {
                let _lists_follow_each_other = &one_at_a_time;
                let (trust, list, key) = (trust.clone(), list.clone(), key.clone());
                async move { trust.note_revoked(list, Some(key)).await }
            })
            .await;
        if let Withdrawn::Device(_) = what
            && !self.has_house_rules(None).await?
        {
            self.ask_house_rules().await?;
        }
        if let Withdrawn::Grants(all) = &what {
            self.hub.remember_stop(0, all.len(), Vec::new()).await;
            let gone = count(all.len(), "grant");
            return Ok(format!("{gone} revoked. Everything asks you first from now on."));
        }
        Ok("Revoked. It holds from now on.".to_owned())
    }

    async fn note_refused(&self, key: KeyId, reason: String) -> Result<(), Trouble> {
        let noting = self.house.store.write(move |tx| {
            tx.record(&AuditEvent::WithdrawalRefused { key: key.clone(), reason: reason.clone() })?;
            Ok(Commit(()))
        });
        noting.await?;
        self.hub.publish_activity().await;
        Ok(())
    }

    /// At the start: what the database knows is compared with what the launcher remembers, and the newer one holds.
    pub(crate) async fn know_revocations(self: &Arc<Self>) -> Result<(), Trouble> {
        let known = self.house.store.read(|tx| settings::get::<RevocationList>(tx, REVOCATIONS)).await?;
        // A list that does not verify is not ours; the launcher's own memory does not depend on it.
        let known = known.filter(|list| Revocations::checked(list.clone(), self.house.engine.anchor()).is_ok());
        let launcher = self.house.launcher.clone();
        let asking = tokio::task::spawn_blocking(move || launcher.revocations(known)).await;
        match asking {
            Ok(Ok(Some(list))) => {
                self.take_out_of_force(&list).await?;
                self.note_revoked(list, None).await
            }
            Ok(Ok(None)) => Ok(()),
            Ok(Err(error)) => Err(Trouble::new(error.code(), &error.to_string(), "Restore a backup.")),
            Err(_) => Err(Trouble::new("E_APPROVAL_REVOKE", "The start was interrupted.", "Start Silas again.")),
        }
    }

    /// From the first line on nothing in the list counts; the rest tells whoever is affected.
    async fn take_out_of_force(&self, list: &RevocationList) -> Result<(), Trouble> {
        let in_force = self.house.engine.adopt(list.clone()).map_err(|refusal| refused(&refusal.into()))?;
        self.stop_what_does_not_count().await;
        self.revoked.send_replace(in_force);
        Ok(())
    }

    async fn note_revoked(&self, list: RevocationList, by: Option<KeyId>) -> Result<(), Trouble> {
        let now = self.house.clock.now();
        let writing = self.house.store.write(move |tx| {
            let known = settings::get::<RevocationList>(tx, REVOCATIONS)?.map(|known| known.body);
            let number = list.body.number;
            for key in &list.body.devices {
                if !known.as_ref().is_some_and(|known| known.devices.contains(key)) {
                    tx.record(&AuditEvent::DeviceRevoked { key: key.clone(), by: by.clone(), number })?;
                }
            }
            for token in &list.body.grants {
                if !known.as_ref().is_some_and(|known| known.grants.contains(token)) {
                    tokens::revoke(tx, token, now)?;
                    tx.record(&AuditEvent::GrantRevoked { token: token.clone(), by: by.clone(), number })?;
                }
            }
            settings::set(tx, REVOCATIONS, &list)?;
            Ok(Commit(()))
        });
        writing.await?;
        self.hub.publish_activity().await;
        Ok(())
    }

    /// Work under way whose approval or directory is gone ends; the launcher would not apply it either.
    async fn stop_what_does_not_count(&self) {
        let under_way: Vec<ExecutionId> = self.running.work().keys().cloned().collect();
        for execution in under_way {
            let (engine, id) = (self.house.engine.clone(), execution.clone());
            // A result that is being put in place counts by a decision of its own, which the launcher asks about.
            let is_refused = |refusal: &Refusal| matches!(refusal, Refusal::Evidence(_));
            let looking =
                self.house.store.read(move |tx| Ok(!engine.readmit(tx, &id)?.is_err_and(|r| is_refused(&r)))).await;
            let still_counts = looking.unwrap_or_else(|cause| {
                tracing::error!(%cause, %execution, "whether work still counts cannot be looked up, so it is stopped");
                false
            });
            if !still_counts && let Some(running) = self.running.work().get_mut(&execution) {
                running.stop(Stop::Owner);
                self.running.waiting.leave(&execution);
            }
        }
    }

    /// At the start: a list that this version has added to is asked for again. The one that was signed holds until then.
    pub(crate) async fn ask_for_new_house_rules(&self) -> Result<(), Trouble> {
        let engine = self.house.engine.clone();
        if !self.house.store.read(move |tx| Ok(engine.has_only_old_house_rules(tx)?)).await? {
            return Ok(());
        }
        // Asked once for each list: whoever said no is not asked at every start.
        let list = canonical::digest(&HouseRules::current())?;
        let noting = self.house.store.write(move |tx| {
            let is_asked = settings::get(tx, HOUSE_RULES_ASKED)? == Some(list);
            settings::set(tx, HOUSE_RULES_ASKED, &list)?;
            Ok(Commit(is_asked))
        });
        if !noting.await? {
            self.ask_house_rules().await?;
        }
        Ok(())
    }

    /// Asks for the house rules in a card, unless they hold or are being asked for.
    pub async fn ask_house_rules(&self) -> Result<String, Trouble> {
        if self.has_house_rules(None).await? {
            return Ok("The house rules hold already.".to_owned());
        }
        let face = HouseRules::current().card_face();
        let (offer, payload) = self.house.engine.offer_house_rules(&face)?;
        let card = Card { offer: Some(offer), payload: Some(payload), ..self.house.blank_card(face) };
        let question = Question::about(card, HOUSE_RULES.to_owned());
        let asking = self.house.store.write(move |tx| {
            if cards::find_by_subject(tx, &Scope::Owner, HOUSE_RULES)?.iter().any(waits) {
                return Ok(Commit(()));
            }
            question.ask(tx)?;
            Ok(Commit(()))
        });
        asking.await?;
        self.hub.publish_cards().await;
        Ok("The house rules wait in Review.".to_owned())
    }
}
