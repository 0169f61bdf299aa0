//! The review queue: every question is a persisted card, answered once, by a signed decision or not at all.

use crate::activity::Beside;
use crate::consumer::TURN;
use crate::going_on::Without;
use crate::rehearsal::Discarded;
use crate::stream::Lookup;
use crate::view::{AnsweredView, Update};
use crate::words::changed_name;
use crate::work::{Beginning, WorkRecord};
use crate::{Stream, Trouble};
use dropped::holds_up_wishes;
use silas_approval::{Apply, Approved, Refusal};
use silas_core::call_order::CallOrder;
use silas_core::canonical;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::changeset::ChangeOrder;
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::input::WantedBy;
use silas_core::passkey::PasskeyGrant;
use silas_core::rehearsal::ApplyOrder;
use silas_core::secret::SecretRef;
use silas_core::token::{Kind, Token, Verdict};
use silas_core::work::WorkItem;
use silas_core::{CardId, KeyId};
use silas_store::queue::{self, Lease, Leased, Name};
use silas_store::{Commit, ReadTx, cards};
use std::sync::Arc;

mod beginning;
mod dropped;
mod granting;
mod putting_by;
mod question;
mod renewing;
mod rewording;

pub(crate) use question::{Proposal, Question};

/// What an approved card leads to.
enum Granted {
    /// With how many messages waited for a yes; they are dropped.
    Declined(usize),
    /// Not like this; nothing is allowed.
    ChangeWanted,
    /// What was refused stays so, and it is tried again.
    Without(Without),
    HouseRules,
    /// A passkey that is to be registered.
    Passkey(Box<Approved<PasskeyGrant>>),
    /// A directory, a model or a sum, and the first of the wishes that were waiting for it; the others come after it.
    Allowed {
        wish: Option<Leased>,
        say: &'static str,
    },
    Work(Box<Beginning>),
    /// What waits in its copy is to be put in place.
    Apply(Box<Approved<Apply>>, Box<WorkRecord>, Lease),
    /// What waited is thrown away.
    Discarded(Discarded),
    Undo(Box<Approved<ChangeOrder>>, Lease),
    /// A call that waits may be made.
    Call(Box<Approved<CallOrder>>),
}

impl Stream {
    /// Takes a signed decision. What it allows begins at once; the answer is a sentence for the one who decided.
    pub async fn decide(self: &Arc<Self>, card_id: &CardId, token: Token) -> Result<String, Trouble> {
        let id = card_id.clone();
        let stream = self.clone();
        let (signer, verdict) = (token.body.key.clone(), token.body.verdict);
        let deciding = self.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)? else { return Ok(Commit(None)) };
            // Every card was kept with a subject; one without waits for nothing.
            let subject = cards::subject(tx, &id)?.unwrap_or_default();
            let is_honest = stream.words.shows_what_it_asks(&card);
            let refusal = if is_honest { stream.cannot_begin(tx, &card, &token)? } else { Some(Refusal::OtherOffer) };
            if let Some(refusal) = refusal {
                let reason = refusal.to_string();
                tx.record(&AuditEvent::DecisionRefused { card: card.id.clone(), reason })?;
                // Instead of only saying what is missing, it is asked for.
                if let Some(question) = stream.question_about(payload_of(&card, &token), &refusal) {
                    question.ask(tx)?;
                }
                return Ok(Commit(Some((card, Err(refusal)))));
            }
            let granted = match stream.engine.record(tx, &card, &token)? {
                Ok(recorded) => {
                    card.state = CardState::Answered;
                    cards::update(tx, &card)?;
                    match recorded.verdict {
                        Verdict::Approved => {
                            let payload = payload_of(&card, &token).to_owned();
                            stream.grant(tx, &payload, &subject, &recorded)?
                        }
                        // What is wanted instead is a new plan with a card of its own, so nothing is granted here.
                        verdict @ (Verdict::Declined | Verdict::EditRequested | Verdict::Conditional) => {
                            let n_waited = match holds_up_wishes(card.face.kind) {
                                true => queue::take_key(tx, Name::Waiting, &subject, TURN)?.len(),
                                false => 0,
                            };
                            if card.face.kind == CardKind::Refusal && verdict == Verdict::EditRequested {
                                let without = stream.go_on_without(tx, &card)?;
                                return Ok(Commit(Some((card, without.map(Granted::Without)))));
                            }
                            if card.face.kind == CardKind::Rehearsed {
                                let reason = "You discarded it.";
                                let dropped = stream.drop_result(tx, &subject, reason)?;
                                let is_change = verdict == Verdict::EditRequested;
                                let discarded = Discarded { dropped, is_change };
                                return Ok(Commit(Some((card, Ok(Granted::Discarded(discarded))))));
                            }
                            Ok(match verdict {
                                Verdict::Declined => Granted::Declined(n_waited),
                                _ => Granted::ChangeWanted,
                            })
                        }
                    }
                }
                Err(refusal) => Err(refusal),
            };
            Ok(Commit(Some((card, granted))))
        });
        let (card, granted) = deciding.await?.ok_or_else(unknown_card)?;
        fail::point(FailPoint::DecisionRecorded);
        if granted.is_ok() {
            self.publish_answer(&card, &signer, verdict).await;
        }
        self.publish_cards().await;
        self.publish_activity().await;
        let granted = granted.map_err(|refusal| refused(&refusal))?;
        self.begin(&card, granted).await
    }

    /// Other pages that show the card say who decided it, before they go on to the next.
    async fn publish_answer(&self, card: &Card, signer: &KeyId, verdict: Verdict) {
        let (key, at) = (signer.clone(), self.clock.now());
        let named = self.store.read(move |tx| Ok(Lookup(tx).device(&key)));
        match named.await {
            Ok(device) => {
                let device = device.unwrap_or_else(|| "another device".to_owned());
                self.publish(Update::Answered {
                    answered: AnsweredView { card: card.id.clone(), verdict, device, at },
                });
            }
            Err(cause) => tracing::warn!(%cause, "who decided cannot be told"),
        }
    }

    /// An approval of what cannot begin now is not taken: the card stays as it is, and the approval is not used up.
    fn cannot_begin(
        &self,
        tx: &ReadTx<'_>,
        card: &Card,
        token: &Token,
    ) -> Result<Option<Refusal>, silas_approval::Error> {
        // Whose word does not count any more is told that, by the engine, and nothing else.
        if token.body.verdict != Verdict::Approved || self.engine.revocations().has_device(&token.body.key) {
            return Ok(None);
        }
        let payload = payload_of(card, token);
        // What cannot be read is refused where it is read.
        match token.body.offer.kind {
            Kind::Plan | Kind::Rehearsal => {
                let Ok(item) = WorkItem::from_canonical(payload) else { return Ok(None) };
                Ok(self.lacks_vault(&item).or(self.engine.lacks_root(tx, &item)?))
            }
            Kind::Apply => {
                let Ok(order) = canonical::read::<ApplyOrder>(payload) else { return Ok(None) };
                let Some((plan, _)) = self.waiting_work(tx, &order)? else { return Ok(None) };
                Ok(self.engine.lacks_root(tx, &plan)?)
            }
            Kind::Step => Ok((!self.waiting.is_waiting(&card.id)).then_some(Refusal::NobodyWaits)),
            Kind::HouseRules | Kind::Undo | Kind::Root | Kind::Device | Kind::Model | Kind::Budget => Ok(None),
        }
    }

    /// What would have to be entered first.
    fn question_about(&self, payload: &str, refusal: &Refusal) -> Option<Question> {
        let Refusal::SecretMissing(name) = refusal else { return None };
        let item = WorkItem::from_canonical(payload).ok()?;
        let wanted_by = WantedBy::Plan { name: changed_name(&item.definition().directories) };
        Some(self.secret_question(SecretRef::parse(name).ok()?, wanted_by))
    }
}

/// What a decision is about: cards may ask about more than one thing.
fn payload_of<'c>(card: &'c Card, token: &Token) -> &'c str {
    let pressed = card.pressed(&token.body.offer);
    pressed.and_then(|press| card.asked_by(press)).map_or("", |(_, payload)| payload)
}

fn unknown_card() -> Trouble {
    Trouble::new("E_APPROVAL_CARD", "There is no such card.", "Reload the page.")
}

pub(crate) fn refused(refusal: &Refusal) -> Trouble {
    let todo = match refusal {
        Refusal::Evidence(silas_core::evidence::Refusal::Expired) => "Ask again from the card.",
        Refusal::Answered => "Reload to see what is open now.",
        Refusal::NobodyWaits => "Wait a moment; if the work has ended, the card goes away.",
        Refusal::Evidence(silas_core::evidence::Refusal::NoPasskey) => "Approve it in the page, with the passkey.",
        Refusal::Evidence(silas_core::evidence::Refusal::Root(_)) => {
            "Allow the directory again (`silas root add`, or say the wish again), then approve; the card stays."
        }
        Refusal::SecretMissing(_) => "A card in Review asks for it; then approve again.",
        Refusal::VaultLocked(_) => "Run `silas unlock` in the terminal, then approve.",
        _ => "Reload the page, or decide in the terminal.",
    };
    Trouble::new("E_APPROVAL_REFUSED", &format!("Nothing ran: {refusal}."), todo)
}
