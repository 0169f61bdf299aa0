//! What is allowed, to whom, and taking it back: at once here, and at the launcher, which remembers it.
//!
//! A revocation reaches this process from the launcher only: first the root key signs it and the launcher remembers it,
//! then the engine knows, then the database. A crash in between loses nothing; the next start asks the launcher.

use crate::review::refused;
use crate::view::{DeviceView, GrantView, GrantsPage, Uses};
use crate::words::{Words, count, duration, name_of};
use crate::work::Stop;
use crate::{Stream, Trouble};
use silas_approval::house_rules::HouseRules;
use silas_approval::{Engine, Grant, Refusal};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::event::AuditEvent;
use silas_core::model::{BudgetGrant, ModelGrant, dollars};
use silas_core::revocation::{RevocationList, Revocations, Withdrawal, Withdrawn};
use silas_core::roots::RootGrant;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_core::{CardId, ExecutionId, KeyId, canonical};
use silas_gates::scrub;
use silas_store::{Commit, ReadTx, Tx, cards, settings, tokens};
use std::sync::Arc;

/// The setting that holds the newest list of revocations.
const REVOCATIONS: &str = "revocations";
/// The setting that remembers which list of house rules was asked for after an upgrade.
const HOUSE_RULES_ASKED: &str = "house_rules_asked";
/// What the card of the house rules is about.
const HOUSE_RULES: &str = "house-rules";

/// Every grant, with the device that signed it.
pub(crate) fn allowed(
    tx: &ReadTx<'_>,
    engine: &Engine,
    words: &Words,
) -> Result<Vec<(KeyId, GrantView)>, silas_store::Error> {
    let grants = engine.grants(tx)?;
    Ok(grants.into_iter().filter_map(|grant| Some((grant.token.body.key.clone(), view(grant, words)?))).collect())
}

fn view(grant: Grant, words: &Words) -> Option<GrantView> {
    let offer = &grant.token.body.offer;
    let Said { title, text, directory } = said(grant.kind, &grant.payload, words)?;
    let (uses, until) = match grant.kind {
        // Allowed until it is taken back, however often it is used.
        Kind::Root | Kind::Model => (None, None),
        Kind::HouseRules
        | Kind::Budget
        | Kind::Plan
        | Kind::Rehearsal
        | Kind::Apply
        | Kind::Undo
        | Kind::Step
        | Kind::Device => (Some(Uses { left: grant.uses_left, of: offer.max_executions }), Some(offer.expires_at)),
    };
    let signed_on = scrub::visible_line(&grant.signed_on, 60);
    Some(GrantView { token: grant.id, title, text, directory, uses, since: offer.issued_at, until, signed_on })
}

/// What a grant is called, and what it allows, in the words of every list and every row that names it.
pub(crate) struct Said {
    pub(crate) title: String,
    pub(crate) text: String,
    directory: Option<String>,
}

/// Nothing for what is no grant, or cannot be read.
pub(crate) fn said(kind: Kind, payload: &str, words: &Words) -> Option<Said> {
    let mut directory = None;
    let (title, text) = match kind {
        Kind::HouseRules => {
            let rules: HouseRules = canonical::read(payload).ok()?;
            let rules: Vec<String> = rules.rules.iter().map(|rule| format!("{}.", rule.words())).collect();
            ("House rules".to_owned(), rules.join(" "))
        }
        Kind::Root => {
            let root: RootGrant = canonical::read(payload).ok()?;
            let text = format!("Plans may be offered for `{}`. Each one still asks you.", words.path(&root.place.path));
            directory = Some(scrub::visible(&root.place.path));
            (format!("Work in {}", name_of(&root.place.path)), text)
        }
        Kind::Model => {
            let grant: ModelGrant = canonical::read(payload).ok()?;
            let roles: Vec<&str> = grant.roles.iter().map(|role| role.name()).collect();
            let text = format!("What you say may go to `{}`, as {}.", grant.model.host(), roles.join(" and "));
            (scrub::visible_line(&format!("Ask {}", grant.model), 80), text)
        }
        Kind::Budget => {
            let grant: BudgetGrant = canonical::read(payload).ok()?;
            let text = format!("Adds {} to the cap of {}.", dollars(grant.microusd), grant.period);
            ("More for models".to_owned(), text)
        }
        Kind::Plan => {
            let item = WorkItem::from_canonical(payload).ok()?;
            let d = item.definition();
            let text = format!("Approved and not begun. Stops after {}.", duration(d.budget.max_wall_time_seconds));
            (scrub::visible_line(&d.title, 60), text)
        }
        Kind::Rehearsal => {
            let item = WorkItem::from_canonical(payload).ok()?;
            let text = "To be tried out in a private copy and shown. Nothing is applied by it.".to_owned();
            (scrub::visible_line(&item.definition().title, 60), text)
        }
        Kind::Apply => ("Apply".to_owned(), "Puts one result in place, exactly as it was shown.".to_owned()),
        Kind::Undo => ("Undo".to_owned(), "Puts the old versions of one piece of work back.".to_owned()),
        // Used in the moment in which it is signed, so it never stands.
        Kind::Step => return None,
        // What it allowed is a device, and listed as one.
        Kind::Device => return None,
    };
    Some(Said { title, text, directory })
}

/// Grants that a door is given at once; the rest is counted and can be asked for.
const GRANTS_SHOWN: usize = 100;

pub(crate) fn page(grants: Vec<GrantView>, from: usize) -> GrantsPage {
    let n_more_grants = grants.len().saturating_sub(from.saturating_add(GRANTS_SHOWN));
    GrantsPage { grants: grants.into_iter().skip(from).take(GRANTS_SHOWN).collect(), n_more_grants }
}

/// The owner's devices, oldest first. Revoked ones stay on the list, because decisions name them.
pub(crate) fn devices(
    tx: &ReadTx<'_>,
    engine: &Engine,
    grants: &[(KeyId, GrantView)],
) -> Result<Vec<DeviceView>, silas_store::Error> {
    let (anchor, revocations) = (engine.anchor(), engine.revocations());
    let known = silas_store::devices::list(tx)?.into_iter();
    let ours = known.filter(|certificate| certificate.verifies(&anchor.root, &anchor.installation));
    let view = |certificate: silas_core::device::Certificate| {
        let body = certificate.body;
        let n_grants = grants.iter().filter(|(key, _)| *key == body.key).count();
        DeviceView {
            name: scrub::visible_line(&body.name, 60),
            kind: body.kind,
            since: body.issued_at,
            is_revoked: revocations.has_device(&body.key),
            digits: silas_core::device::digits(&body.public, &anchor.installation),
            site: body.site,
            n_grants: u32::try_from(n_grants).unwrap_or(u32::MAX),
            key: body.key,
        }
    };
    Ok(ours.map(view).collect())
}

/// The question about the house rules is answered by other means.
pub(crate) fn close_asking(tx: &mut Tx<'_>) -> Result<(), silas_store::Error> {
    for mut card in cards::find_by_subject(tx, HOUSE_RULES)?.into_iter().filter(waits) {
        card.state = CardState::Closed;
        cards::update(tx, &card)?;
    }
    Ok(())
}

fn waits(card: &Card) -> bool {
    card.face.kind == CardKind::HouseRules && matches!(card.state, CardState::Open | CardState::Parked)
}

impl Stream {
    /// The grants from number `from` on, counted from 0 in the order of [`crate::view::Snapshot::grants`].
    pub async fn grants(&self, from: usize) -> Result<GrantsPage, Trouble> {
        let (engine, words) = (self.engine.clone(), self.words.clone());
        let allowed = self.store.read(move |tx| allowed(tx, &engine, &words)).await?;
        Ok(page(allowed.into_iter().map(|(_, view)| view).collect(), from))
    }

    /// Takes back a device or a grant that one of the owner's devices withdrew. In force when this returns.
    pub async fn withdraw(self: &Arc<Self>, withdrawal: Withdrawal) -> Result<String, Trouble> {
        let (key, what) = (withdrawal.body.key.clone(), withdrawal.body.what.clone());
        let engine = self.engine.clone();
        let asked = what.clone();
        let signer = key.clone();
        let looking = self.store.read(move |tx| {
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
        let launcher = self.launcher.clone();
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
        self.put_in_force(list, Some(key)).await?;
        if let Withdrawn::Device(_) = what
            && !self.has_house_rules(None).await?
        {
            self.ask_house_rules().await?;
        }
        if let Withdrawn::Grants(all) = &what {
            self.note_grants_gone(all.len()).await;
            let gone = count(all.len(), "grant");
            return Ok(format!("{gone} revoked. Everything asks you first from now on."));
        }
        Ok("Revoked. It holds from now on.".to_owned())
    }

    async fn note_refused(&self, key: KeyId, reason: String) -> Result<(), Trouble> {
        let noting = self.store.write(move |tx| {
            tx.record(&AuditEvent::WithdrawalRefused { key: key.clone(), reason: reason.clone() })?;
            Ok(Commit(()))
        });
        noting.await?;
        self.publish_activity().await;
        Ok(())
    }

    /// At the start: what the database knows is compared with what the launcher remembers, and the newer one holds.
    pub(crate) async fn know_revocations(self: &Arc<Self>) -> Result<(), Trouble> {
        let known = self.store.read(|tx| settings::get::<RevocationList>(tx, REVOCATIONS)).await?;
        // A list that does not verify is not ours; the launcher's own memory does not depend on it.
        let known = known.filter(|list| Revocations::checked(list.clone(), self.engine.anchor()).is_ok());
        let launcher = self.launcher.clone();
        let asking = tokio::task::spawn_blocking(move || launcher.revocations(known)).await;
        match asking {
            Ok(Ok(Some(list))) => self.put_in_force(list, None).await,
            Ok(Ok(None)) => Ok(()),
            Ok(Err(error)) => Err(Trouble::new(error.code(), &error.to_string(), "Restore a backup.")),
            Err(_) => Err(Trouble::new("E_APPROVAL_REVOKE", "The start was interrupted.", "Start Silas again.")),
        }
    }

    /// From the first line on nothing in the list counts; the rest writes it down and tells whoever is affected.
    async fn put_in_force(self: &Arc<Self>, list: RevocationList, by: Option<KeyId>) -> Result<(), Trouble> {
        let in_force = self.engine.adopt(list.clone()).map_err(|refusal| refused(&refusal.into()))?;
        self.stop_what_does_not_count().await?;
        let now = self.clock.now();
        let writing = self.store.write(move |tx| {
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
        self.revoked.send_replace(in_force);
        self.publish_activity().await;
        Ok(())
    }

    /// Work under way whose approval or directory is gone ends; the launcher would not apply it either.
    async fn stop_what_does_not_count(&self) -> Result<(), Trouble> {
        let under_way: Vec<ExecutionId> = self.running().keys().cloned().collect();
        for execution in under_way {
            let (engine, id) = (self.engine.clone(), execution.clone());
            // A result that is being put in place counts by a decision of its own, which the launcher asks about.
            let is_refused = |refusal: &Refusal| matches!(refusal, Refusal::Evidence(_));
            let still_counts =
                self.store.read(move |tx| Ok(!engine.readmit(tx, &id)?.is_err_and(|r| is_refused(&r)))).await?;
            if !still_counts && let Some(running) = self.running().get_mut(&execution) {
                running.stop(Stop::Owner);
                self.waiting.leave(&execution);
            }
        }
        Ok(())
    }

    /// At the start: a list that this version has added to is asked for again. The one that was signed holds until then.
    pub(crate) async fn ask_for_new_house_rules(&self) -> Result<(), Trouble> {
        let engine = self.engine.clone();
        if !self.store.read(move |tx| Ok(engine.has_only_old_house_rules(tx)?)).await? {
            return Ok(());
        }
        // Asked once for each list: whoever said no is not asked at every start.
        let list = canonical::digest(&HouseRules::current())?;
        let noting = self.store.write(move |tx| {
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
        let (offer, payload) = self.engine.offer_house_rules(&face)?;
        let card = Card {
            id: CardId::new(self.random.as_ref()),
            state: CardState::Open,
            created_at: self.clock.now(),
            face,
            offer: Some(offer.clone()),
            show_first: None,
            instead: None,
            input: None,
            test_call: false,
            execution: None,
            payload: Some(payload),
        };
        let asking = self.store.write(move |tx| {
            if cards::find_by_subject(tx, HOUSE_RULES)?.iter().any(waits) {
                return Ok(Commit(()));
            }
            cards::insert(tx, &card, HOUSE_RULES)?;
            let intent = tx.text(&card.face.intent)?;
            let (plan_hash, shown) = (offer.plan_hash, offer.shown);
            tx.record(&AuditEvent::CardOffered { card: card.id.clone(), kind: offer.kind, plan_hash, shown, intent })?;
            Ok(Commit(()))
        });
        asking.await?;
        self.publish_cards().await;
        Ok("The house rules wait in Review.".to_owned())
    }
}
