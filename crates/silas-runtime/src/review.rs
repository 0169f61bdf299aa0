//! The review queue: every question is a persisted card, answered once, by a signed decision or not at all.

use crate::Trouble;
use crate::conversation::Conversation;
use crate::house::House;
use crate::hub::{Beside, Hub, Lookup};
use crate::minds::Minds;
use crate::post::TURN;
use crate::question::Question;
use crate::questions::Questions;
use crate::running::Running;
use crate::trouble::refused;
use crate::trust::Trust;
use crate::view::{AnsweredView, Update};
use crate::words::changed_name;
use crate::work::{Beginning, Discarded, Without, Work};
use crate::work_record::WorkRecord;
use kinds::Asked;
use silas_approval::{Apply, Approved, Refusal};
use silas_core::call_order::CallOrder;
use silas_core::card::{Card, CardState};
use silas_core::changeset::ChangeOrder;
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::input::WantedBy;
use silas_core::passkey::PasskeyGrant;
use silas_core::secret::SecretRef;
use silas_core::token::{Token, Verdict};
use silas_core::work::WorkItem;
use silas_core::{CardId, KeyId};
use silas_store::queue::{self, Lease, Leased, Name};
use silas_store::{Commit, ReadTx, cards};
use std::sync::Arc;

mod beginning;
mod dismissal;
mod epoch;
mod expiry;
pub(crate) mod kinds;
mod model_setup;
mod renewing;
mod rewording;
mod secrets;

pub use model_setup::Chosen;

/// What an answer leads to, once it is on disk.
pub(crate) enum Granted {
    Declined,
    /// Not like this; nothing is allowed.
    ChangeWanted,
    /// Not this model; another is to be chosen.
    AnotherModel,
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

/// Takes answers to cards.
pub struct Review {
    house: Arc<House>,
    running: Arc<Running>,
    hub: Arc<Hub>,
    trust: Arc<Trust>,
    minds: Arc<Minds>,
    questions: Arc<Questions>,
    work: Arc<Work>,
    conversation: Arc<Conversation>,
    /// Held while a secret comes in, so that of two answers to a card the second finds it answered.
    entering: tokio::sync::Mutex<()>,
}

impl Review {
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a room below this one, and a struct of them would only be unpacked"
    )]
    pub(crate) fn new(
        house: Arc<House>,
        running: Arc<Running>,
        hub: Arc<Hub>,
        trust: Arc<Trust>,
        minds: Arc<Minds>,
        questions: Arc<Questions>,
        work: Arc<Work>,
        conversation: Arc<Conversation>,
    ) -> Self {
        let entering = tokio::sync::Mutex::default();
        Review { house, running, hub, trust, minds, questions, work, conversation, entering }
    }

    /// Takes a signed decision. What it allows begins at once; the answer is a sentence for the one who decided.
    pub async fn decide(self: &Arc<Self>, card_id: &CardId, token: Token) -> Result<String, Trouble> {
        self.house.takes_in()?;
        let id = card_id.clone();
        let review = self.clone();
        let (signer, verdict) = (token.body.key.clone(), token.body.verdict);
        let deciding = self.house.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)? else { return Ok(Commit(None)) };
            // Every card was kept with a subject; one without waits for nothing.
            let subject = cards::subject(tx, &id)?.unwrap_or_default();
            let rules = kinds::rules(card.face.kind);
            let is_honest = review.house.words.shows_what_it_asks(&card);
            let refusal = match is_honest {
                true => review.cannot_begin(tx, &asked(&card, &subject, &token), &token)?,
                false => Some(Refusal::OtherOffer),
            };
            if let Some(refusal) = refusal {
                let reason = refusal.to_string();
                tx.record(&AuditEvent::DecisionRefused { card: card.id.clone(), reason })?;
                // Instead of only saying what is missing, it is asked for.
                if let Some(question) = review.question_about(payload_of(&card, &token), &refusal) {
                    question.ask(tx)?;
                }
                return Ok(Commit(Some((card, Err(refusal), 0))));
            }
            let mut n_waited = 0;
            let granted = match review.house.engine.record(tx, &card, &token)? {
                Ok(recorded) => {
                    card.state = CardState::Answered;
                    cards::update(tx, &card)?;
                    let asked = asked(&card, &subject, &token);
                    match recorded.verdict {
                        Verdict::Approved => rules.approve(&review, tx, &asked, &recorded)?,
                        Verdict::Declined | Verdict::EditRequested | Verdict::Conditional => {
                            if rules.waits_no_longer().is_some() {
                                n_waited = queue::take_key(tx, Name::Waiting, &subject, TURN)?.len();
                            }
                            rules.decline(&review, tx, &asked, recorded.verdict)?
                        }
                    }
                }
                Err(refusal) => Err(refusal),
            };
            Ok(Commit(Some((card, granted, n_waited))))
        });
        let (card, granted, n_waited) = deciding.await?.ok_or_else(unknown_card)?;
        fail::point(FailPoint::DecisionRecorded);
        if granted.is_ok() {
            self.publish_answer(&card, &signer, verdict).await;
        }
        self.hub.publish_cards().await;
        self.hub.publish_activity().await;
        let granted = granted.map_err(|refusal| refused(&refusal))?;
        self.begin(&card, granted, n_waited).await
    }

    /// Other pages that show the card say who decided it, before they go on to the next.
    async fn publish_answer(&self, card: &Card, signer: &KeyId, verdict: Verdict) {
        let (key, at) = (signer.clone(), self.house.clock.now());
        let named = self.house.store.read(move |tx| Ok(Lookup(tx).device(&key)));
        match named.await {
            Ok(device) => {
                let device = device.unwrap_or_else(|| "another device".to_owned());
                self.hub.publish(Update::Answered {
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
        asked: &Asked<'_>,
        token: &Token,
    ) -> Result<Option<Refusal>, silas_approval::Error> {
        // Whose word does not count any more is told that, by the engine, and nothing else.
        if token.body.verdict != Verdict::Approved || self.house.engine.revocations().has_device(&token.body.key) {
            return Ok(None);
        }
        kinds::rules(asked.card.face.kind).lacks(self, tx, asked)
    }

    /// What would have to be entered first.
    fn question_about(&self, payload: &str, refusal: &Refusal) -> Option<Question> {
        let Refusal::SecretMissing(name) = refusal else { return None };
        let item = WorkItem::from_canonical(payload).ok()?;
        let wanted_by = WantedBy::Plan { name: changed_name(&item.definition().directories) };
        Some(self.questions.secret_question(SecretRef::parse(name).ok()?, wanted_by))
    }
}

/// What a decision is about.
fn asked<'c>(card: &'c Card, subject: &'c str, token: &Token) -> Asked<'c> {
    Asked { card, subject, payload: payload_of(card, token) }
}

/// The text that was signed: cards may ask about more than one thing.
fn payload_of<'c>(card: &'c Card, token: &Token) -> &'c str {
    let pressed = card.pressed(&token.body.offer);
    pressed.and_then(|press| card.asked_by(press)).map_or("", |(_, payload)| payload)
}

fn unknown_card() -> Trouble {
    Trouble::new("E_APPROVAL_CARD", "There is no such card.", "Reload the page.")
}
