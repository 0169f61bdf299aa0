//! The review queue: every question is a persisted card, answered once, by a signed decision or not at all.

use crate::activity::Beside;
use crate::consumer::{TURN, post};
use crate::going_on::Without;
use crate::rehearsal::Discarded;
use crate::stream::Lookup;
use crate::turn::Turn;
use crate::view::{AnsweredView, Update};
use crate::words::changed_name;
use crate::work::{Beginning, WorkRecord};
use crate::{Stream, Trouble};
use silas_approval::house_rules::HouseRule;
use silas_approval::{Admitted, Apply, Approved, Askable, Recorded, Refusal, Rehearsal};
use silas_core::call_order::CallOrder;
use silas_core::card::{Card, CardKind, CardState, Face, Press};
use silas_core::changeset::ChangeOrder;
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::input::{Input, WantedBy};
use silas_core::model::{BudgetGrant, ModelGrant};
use silas_core::passkey::PasskeyGrant;
use silas_core::rehearsal::ApplyOrder;
use silas_core::roots::RootGrant;
use silas_core::secret::SecretRef;
use silas_core::token::{Kind, Token, Verdict};
use silas_core::work::{WorkItem, WorkState};
use silas_core::{CardId, KeyId, MessageId, Timestamp, canonical};
use silas_store::queue::{self, Lease, Leased, Name};
use silas_store::{Abort, Commit, Tx, cards, model_calls, undo_records, work_items};
use std::sync::Arc;

mod dropped;
mod renewing;
mod rewording;

/// What a turn may ask the owner.
pub(crate) enum Proposal {
    Root(RootGrant),
    Model(ModelGrant),
    Budget(BudgetGrant),
    Secret(SecretRef, WantedBy),
    ModelChoice,
    Plan(Box<WorkItem>),
}

/// A card that is ready to be asked, with what must be stored beside it.
#[derive(Clone)]
pub(crate) struct Question {
    card: Card,
    /// What the card is about: a directory or a work item.
    subject: String,
    /// The plan, and the message with which it began.
    item: Option<(WorkItem, MessageId)>,
}

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

impl Question {
    /// A question about something that is not a plan.
    pub(crate) fn about(card: Card, subject: String) -> Self {
        Question { card, subject, item: None }
    }

    /// What a message has to wait for before it can be dealt with: a directory, a model or a sum that is not allowed yet.
    pub(crate) fn stands_in_the_way(&self) -> Option<&str> {
        holds_up_wishes(self.card.face.kind).then_some(self.subject.as_str())
    }

    /// Writes the card, its plan and the ledger entry. What is asked for already is not asked for twice; the card that
    /// asks is given back.
    pub(crate) fn ask(&self, tx: &mut Tx<'_>) -> Result<Card, silas_store::Error> {
        // How much was spent when it was asked makes no other question.
        let is_same_payload =
            |card: &Card| self.card.face.kind == CardKind::Budget || card.payload == self.card.payload;
        let is_same = |card: &Card| {
            card.face.kind == self.card.face.kind
                && card.state == CardState::Open
                && is_same_payload(card)
                && wants_the_same(card, &self.card)
        };
        if (self.stands_in_the_way().is_some() || self.card.face.kind == CardKind::ModelChoice)
            && let Some(asked) = cards::find_by_subject(tx, &self.subject)?.into_iter().find(is_same)
        {
            return Ok(asked);
        }
        if let Some((item, trace)) = &self.item {
            work_items::insert(tx, item, &WorkState::new(self.card.created_at), trace, self.card.created_at)?;
        }
        cards::insert(tx, &self.card, &self.subject)?;
        if let Some(offer) = &self.card.offer {
            let intent = tx.text(&self.card.face.intent)?;
            tx.record(&AuditEvent::CardOffered {
                card: self.card.id.clone(),
                kind: offer.kind,
                plan_hash: offer.plan_hash,
                shown: offer.shown,
                intent,
            })?;
        }
        if let Some(wanted) = self.card.input.as_ref().and_then(Input::secret) {
            let reference = tx.text(wanted.ref_id.as_str())?;
            tx.record(&AuditEvent::SecretRequested { card: self.card.id.clone(), reference })?;
        }
        Ok(self.card.clone())
    }
}

/// Whether two cards that want something entered want the same; others do.
fn wants_the_same(one: &Card, other: &Card) -> bool {
    match (one.input.as_ref().and_then(Input::secret), other.input.as_ref().and_then(Input::secret)) {
        (Some(one), Some(other)) => one.is_same_as(other),
        (None, None) => one.test_call == other.test_call,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether messages wait for the answer to cards of this kind.
fn holds_up_wishes(kind: CardKind) -> bool {
    match kind {
        CardKind::Root | CardKind::Model | CardKind::Budget | CardKind::SecureInput => true,
        CardKind::Pairing
        | CardKind::Passkey
        | CardKind::UnknownEffect
        | CardKind::Refusal
        | CardKind::ModelChoice
        | CardKind::HouseRules
        | CardKind::Plan
        | CardKind::Step
        | CardKind::Rehearsed
        | CardKind::Done
        | CardKind::Report
        | CardKind::Conflict => false,
    }
}

impl Stream {
    /// Makes the card for a proposal that answers a message.
    pub(crate) fn question(&self, proposal: Proposal, turn: &Turn) -> Result<Question, Trouble> {
        match proposal {
            Proposal::Root(grant) => self.root_question(&grant),
            Proposal::Model(grant) => self.model_question(&grant),
            Proposal::Budget(grant) => self.budget_question(&grant),
            Proposal::Secret(reference, wanted_by) => Ok(self.secret_question(reference, wanted_by)),
            Proposal::ModelChoice => self.model_choice_question(),
            Proposal::Plan(item) => self.plan_question(*item, &turn.trace),
        }
    }

    /// The card that asks about a plan, which began with this message.
    pub(crate) fn plan_question(&self, item: WorkItem, trace: &MessageId) -> Result<Question, Trouble> {
        let face = self.words.plan(&item);
        let subject = item.id().to_string();
        let lasts = self.options.plan_timeout;
        let mut card = self.card(face, &subject, Some(&item), lasts)?;
        if card.face.ctas.iter().any(|cta| cta.press == Press::Rehearse) {
            let shown_first = Rehearsal(item.clone());
            card.show_first = Some(self.engine.offer(&subject, &shown_first, &card.face, lasts)?);
        }
        Ok(Question { card, subject, item: Some((item, trace.clone())) })
    }

    pub(crate) fn budget_question(&self, grant: &BudgetGrant) -> Result<Question, Trouble> {
        let subject = grant.subject();
        let card = self.card(self.words.budget(grant), &subject, Some(grant), self.options.plan_timeout)?;
        Ok(Question::about(card, subject))
    }

    pub(crate) fn root_question(&self, grant: &RootGrant) -> Result<Question, Trouble> {
        let subject = grant.place.path.clone();
        let card = self.card(self.words.root(&grant.place), &subject, Some(grant), self.options.plan_timeout)?;
        Ok(Question { card, subject, item: None })
    }

    /// A card with its offer; or, with nothing to decide, without one.
    pub(crate) fn card<T: Askable>(
        &self,
        face: Face,
        about: &str,
        item: Option<&T>,
        lasts: std::time::Duration,
    ) -> Result<Card, Trouble> {
        Ok(self.try_card(face, about, item, lasts)?)
    }

    pub(crate) fn try_card<T: Askable>(
        &self,
        face: Face,
        about: &str,
        item: Option<&T>,
        lasts: std::time::Duration,
    ) -> Result<Card, silas_approval::Error> {
        let (offer, payload) = match item {
            Some(item) => (Some(self.engine.offer(about, item, &face, lasts)?), Some(item.payload()?)),
            None => (None, None),
        };
        let breaches = face.breaches();
        if !breaches.is_empty() {
            tracing::error!(?breaches, kind = ?face.kind, "a card does not keep its contract");
        }
        let id = CardId::new(self.random.as_ref());
        let (created_at, state) = (self.clock.now(), CardState::Open);
        let (show_first, instead, input, test_call, execution) = (None, None, None, false, None);
        Ok(Card { id, state, created_at, face, offer, show_first, instead, payload, input, test_call, execution })
    }

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
            let refusal = if is_honest { stream.cannot_begin(&card, &token) } else { Some(Refusal::OtherOffer) };
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
    fn cannot_begin(&self, card: &Card, token: &Token) -> Option<Refusal> {
        if token.body.verdict != Verdict::Approved {
            return None;
        }
        match token.body.offer.kind {
            Kind::Plan | Kind::Rehearsal => {}
            Kind::Step => return (!self.waiting.is_waiting(&card.id)).then_some(Refusal::NobodyWaits),
            Kind::HouseRules | Kind::Apply | Kind::Undo | Kind::Root | Kind::Device | Kind::Model | Kind::Budget => {
                return None;
            }
        }
        // One that cannot be read is refused where it is read.
        let item = WorkItem::from_canonical(payload_of(card, token)).ok()?;
        self.lacks_vault(&item)
    }

    /// What would have to be entered first.
    fn question_about(&self, payload: &str, refusal: &Refusal) -> Option<Question> {
        let Refusal::SecretMissing(name) = refusal else { return None };
        let item = WorkItem::from_canonical(payload).ok()?;
        let wanted_by = WantedBy::Plan { name: changed_name(&item.definition().directories) };
        Some(self.secret_question(SecretRef::parse(name).ok()?, wanted_by))
    }

    /// Spends the approval in the transaction that recorded it.
    fn grant(
        &self,
        tx: &mut Tx<'_>,
        payload: &str,
        subject: &str,
        recorded: &Recorded,
    ) -> Result<Result<Granted, Refusal>, Abort> {
        let token = &recorded.token;
        let unreadable = || Refusal::Evidence(silas_core::evidence::Refusal::Content);
        match recorded.kind {
            Kind::Root => {
                let Ok(grant) = canonical::read::<RootGrant>(payload) else { return Ok(Err(unreadable())) };
                let place = tx.text(&grant.place.path)?;
                if let Err(refusal) = self.engine.authorize(tx, token, grant)? {
                    return Ok(Err(refusal));
                }
                tx.record(&AuditEvent::RootGranted { token: token.clone(), place })?;
                // The wishes that asked for it are in the queue again; a crash from here on loses none of them.
                let wish = self.call_back(tx, subject, self.clock.now())?;
                Ok(Ok(Granted::Allowed { wish, say: "Allowed. Each plan still asks you." }))
            }
            Kind::Device => {
                let Ok(grant) = canonical::read::<PasskeyGrant>(payload) else { return Ok(Err(unreadable())) };
                let approved = self.engine.authorize(tx, token, grant)?;
                Ok(approved.map(|approved| Granted::Passkey(Box::new(approved))))
            }
            Kind::Model => {
                let Ok(grant) = canonical::read::<ModelGrant>(payload) else { return Ok(Err(unreadable())) };
                let model = grant.model.to_string();
                if let Err(refusal) = self.engine.authorize(tx, token, grant)? {
                    return Ok(Err(refusal));
                }
                tx.record(&AuditEvent::ModelAllowed { token: token.clone(), model })?;
                let wish = self.call_back(tx, subject, self.clock.now())?;
                Ok(Ok(Granted::Allowed { wish, say: "Agreed. Revoke it any time with `silas grant revoke`." }))
            }
            Kind::Budget => {
                let Ok(grant) = canonical::read::<BudgetGrant>(payload) else { return Ok(Err(unreadable())) };
                if let Err(refusal) = self.engine.authorize(tx, token, grant.clone())? {
                    return Ok(Err(refusal));
                }
                model_calls::extend(tx, token, &grant)?;
                let BudgetGrant { period, microusd, .. } = grant;
                tx.record(&AuditEvent::BudgetExtended { token: token.clone(), period, microusd })?;
                let wish = self.call_back(tx, subject, self.clock.now())?;
                Ok(Ok(Granted::Allowed { wish, say: "Added. The cap is as before afterwards." }))
            }
            kind @ (Kind::Plan | Kind::Rehearsal) => {
                let Ok(item) = WorkItem::from_canonical(payload) else { return Ok(Err(unreadable())) };
                let admitted = if kind == Kind::Plan {
                    self.engine.authorize(tx, token, item)?.map(Admitted::Plan)
                } else {
                    self.engine.authorize(tx, token, Rehearsal(item))?.map(Admitted::Rehearsal)
                };
                match admitted {
                    Ok(admitted) => Ok(Ok(Granted::Work(Box::new(self.note_beginning(tx, admitted)?)))),
                    Err(refusal) => Ok(Err(refusal)),
                }
            }
            Kind::Apply => {
                let Ok(order) = canonical::read::<ApplyOrder>(payload) else { return Ok(Err(unreadable())) };
                let Some((plan, mut record)) = self.waiting_work(tx, &order)? else {
                    return Ok(Err(Refusal::Terminal));
                };
                match self.engine.authorize(tx, token, Apply { order, plan })? {
                    Ok(approved) => {
                        record.applied_by = Some(token.clone());
                        let lease = post::execution(tx, approved.execution(), self.clock.now())?;
                        Ok(Ok(Granted::Apply(Box::new(approved), Box::new(record), lease)))
                    }
                    Err(refusal) => Ok(Err(refusal)),
                }
            }
            Kind::Undo => {
                let Ok(order) = canonical::read::<ChangeOrder>(payload) else { return Ok(Err(unreadable())) };
                match self.engine.authorize(tx, token, order)? {
                    Ok(approved) => {
                        let lease = post::execution(tx, approved.execution(), self.clock.now())?;
                        Ok(Ok(Granted::Undo(Box::new(approved), lease)))
                    }
                    Err(refusal) => Ok(Err(refusal)),
                }
            }
            Kind::HouseRules => {
                // Nothing is spent: the decision itself, on record by now, is what counts.
                Ok(Ok(Granted::HouseRules))
            }
            // A command of the terminal is signed and used on the spot; a card asks about a call only.
            Kind::Step => {
                let Ok(order) = canonical::read::<CallOrder>(payload) else { return Ok(Err(unreadable())) };
                Ok(self.engine.authorize(tx, token, order)?.map(|approved| Granted::Call(Box::new(approved))))
            }
        }
    }

    async fn begin(self: &Arc<Self>, card: &Card, granted: Granted) -> Result<String, Trouble> {
        let merges = matches!(&granted, Granted::Work(begun) if begun.admitted.item().definition().merges.is_some());
        if !merges {
            self.drop_versions(card).await;
        }
        match granted {
            Granted::Declined(n_waited) => {
                if let Some(say) = dropped::in_words(card.face.kind, n_waited) {
                    self.tell(say).await?;
                    return Ok("Declined. Nothing was sent, and nothing ran.".to_owned());
                }
                if card.face.kind == CardKind::Conflict {
                    return Ok("Dropped. Your version stays as it is.".to_owned());
                }
                if card.face.kind == CardKind::Plan {
                    self.tell("Declined. Nothing ran.").await?;
                }
                if card.face.kind == CardKind::Step {
                    self.waiting.answer(&card.id, None);
                    return Ok("Declined. The call is not made, and the work goes on without it.".to_owned());
                }
                if card.face.kind == CardKind::UnknownEffect {
                    self.tell("Noted: it happened. It is not done again.").await?;
                    return Ok("Noted. It is not done again.".to_owned());
                }
                if card.face.kind == CardKind::Refusal {
                    self.tell("Stopped. What was asked for is not reached, and nothing was applied.").await?;
                    return Ok("Stopped. Nothing was sent, and your files are untouched.".to_owned());
                }
                Ok("Declined. Nothing ran.".to_owned())
            }
            Granted::Without(Without::Begun(beginning)) => {
                self.spawn_work(*beginning);
                self.tell("Trying it again without, in a private copy. The result comes to Review.").await?;
                Ok("Trying it again without, in a private copy. You will be shown the result first.".to_owned())
            }
            Granted::Without(Without::Asked) => {
                self.publish_cards().await;
                Ok("The plan without it is in Review. Nothing runs before you approve it.".to_owned())
            }
            Granted::ChangeWanted if card.face.kind == CardKind::Model => {
                let question = self.model_choice_question()?;
                let asking = self.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
                asking.await?;
                self.publish_cards().await;
                Ok("Nothing was sent. Choose another in Review.".to_owned())
            }
            Granted::ChangeWanted => {
                self.tell("Noted: not like that. Nothing ran. Say it again with what should be different.").await?;
                Ok("Nothing ran. Say it again with what should be different.".to_owned())
            }
            Granted::Passkey(approved) => self.register_passkey(*approved).await,
            Granted::HouseRules => Ok("Signed. Silas may do these by itself.".to_owned()),
            Granted::Allowed { wish, say } => {
                if let Some(wish) = wish {
                    self.take_turn(wish).await;
                }
                if card.test_call
                    && let Ok(grant) = canonical::read::<ModelGrant>(card.payload.as_deref().unwrap_or_default())
                {
                    let stream = self.clone();
                    self.think(async move { stream.test_model(grant).await });
                    return Ok(format!("{say} It is asked one test question now."));
                }
                Ok(say.to_owned())
            }
            Granted::Work(beginning) => {
                let is_rehearsal = matches!(beginning.admitted, Admitted::Rehearsal(_));
                self.spawn_work(*beginning);
                let shown = if is_rehearsal { " You will be shown the result first." } else { "" };
                Ok(format!("Approved. Working in a private copy.{shown}"))
            }
            Granted::Apply(approved, record, lease) => {
                self.spawn_apply(*approved, *record, self.holds.take(lease));
                Ok("Approved. Applying exactly what you were shown.".to_owned())
            }
            Granted::Discarded(discarded) => self.discard(discarded).await,
            Granted::Undo(approved, lease) => self.undo(*approved, self.holds.take(lease)).await,
            Granted::Call(approved) => {
                self.waiting.answer(&card.id, Some(approved));
                Ok("Approved. The call is made once, as shown.".to_owned())
            }
        }
    }

    /// Puts away a card that waits for nothing: a result, or one that is parked.
    pub async fn dismiss(self: &Arc<Self>, card_id: &CardId) -> Result<String, Trouble> {
        let id = card_id.clone();
        let stream = self.clone();
        let closing = self.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)? else { return Ok(Commit(None)) };
            let may_go = match card.face.kind {
                CardKind::Done | CardKind::Report => true,
                // One that was answered is about to be merged or done again.
                CardKind::Conflict | CardKind::SecureInput | CardKind::ModelChoice => {
                    matches!(card.state, CardState::Open | CardState::Parked)
                }
                CardKind::Root
                | CardKind::Passkey
                | CardKind::UnknownEffect
                | CardKind::Refusal
                | CardKind::Model
                | CardKind::Budget
                | CardKind::Plan
                | CardKind::Step
                | CardKind::Rehearsed
                | CardKind::HouseRules
                | CardKind::Pairing => card.state == CardState::Parked,
            };
            let (mut posted, mut n_waited) = (None, 0);
            if may_go {
                card.state = CardState::Closed;
                cards::update(tx, &card)?;
                if card.face.kind == CardKind::Done {
                    let subject = cards::subject(tx, &id)?.unwrap_or_default();
                    posted = stream.offer_next(tx, &subject)?;
                }
                if holds_up_wishes(card.face.kind) {
                    // Every card was kept with a subject; one without waits for nothing.
                    let subject = cards::subject(tx, &id)?.unwrap_or_default();
                    n_waited = queue::take_key(tx, Name::Waiting, &subject, TURN)?.len();
                }
            }
            Ok(Commit(may_go.then_some((card, posted, n_waited))))
        });
        let Some((card, posted, n_waited)) = closing.await? else {
            let what = "This card waits for a decision, or was answered already.";
            return Err(Trouble::new("E_APPROVAL_CARD", what, "Approve or decline it."));
        };
        self.drop_versions(&card).await;
        self.publish_cards().await;
        if let Some(posted) = posted {
            self.deliver(posted);
        }
        if let Some(say) = dropped::in_words(card.face.kind, n_waited) {
            self.tell(say).await?;
        }
        let skipped = "Skipped. Nothing was stored, and what waited for it is dropped.";
        Ok(if card.face.kind == CardKind::SecureInput { skipped } else { "Put away." }.to_owned())
    }

    /// Time passes: cards that nobody answered are parked, undo windows close. Called about once a second.
    pub async fn tick(self: &Arc<Self>) -> Result<(), Trouble> {
        let now = self.clock.now();
        self.finish_operations(crate::tasks::OPERATION_REST).await;
        self.checkpoint_if_due().await?;
        self.end_what_was_stopped_waiting().await?;
        let open = self.store.read(cards::list_open).await?;
        for card in open.into_iter().filter(|card| is_late(card, now)) {
            self.put_by(card.id, now).await?;
        }
        self.close_undo_windows(now).await
    }

    /// Nobody answered in time: a question is parked, an offer to undo is over. Looked at again in the transaction, so
    /// that an answer in the last moment stands.
    async fn put_by(self: &Arc<Self>, id: CardId, now: Timestamp) -> Result<(), Trouble> {
        let late = id.clone();
        let stream = self.clone();
        let putting_by = self.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)?.filter(|card| is_late(card, now)) else {
                return Ok(Commit(None));
            };
            let (mut dropped, mut posted) = (None, None);
            let was = card.clone();
            if card.face.kind == CardKind::Done {
                card.state = CardState::Closed;
                let subject = cards::subject(tx, &id)?.unwrap_or_default();
                posted = stream.offer_next(tx, &subject)?;
            } else if card.face.kind == CardKind::Step {
                card.state = CardState::Closed;
            } else if card.face.kind == CardKind::Rehearsed {
                card.state = CardState::Closed;
                let subject = cards::subject(tx, &id)?.unwrap_or_default();
                dropped = stream.drop_result(tx, &subject, "Nobody decided about it in time.")?;
            } else {
                // What was kept for a card goes with its time; the question that is left does not need it.
                card = stream.without_merge(&card).unwrap_or(card);
                card.state = CardState::Parked;
                tx.record(&AuditEvent::CardParked { card: id.clone() })?;
            }
            cards::update(tx, &card)?;
            Ok(Commit(Some((was, dropped, posted))))
        });
        let Some((was, dropped, posted)) = putting_by.await? else { return Ok(()) };
        self.drop_versions(&was).await;
        if let Some(view) = dropped {
            self.throw_away(view).await;
        }
        if let Some(posted) = posted {
            self.deliver(posted);
        }
        // Silence is no yes; whoever waited goes on without.
        self.waiting.answer(&late, None);
        self.publish_cards().await;
        Ok(())
    }

    /// The kept old versions go when their time is over, if the house rules say so; without them they stay.
    async fn close_undo_windows(self: &Arc<Self>, now: Timestamp) -> Result<(), Trouble> {
        let over = self.store.read(move |tx| undo_records::list_over(tx, now)).await?;
        for execution in over {
            let engine = self.engine.clone();
            let asking = self.store.write(move |tx| Ok(Commit(engine.use_house_rule(tx, HouseRule::DropOldVersions)?)));
            if !asking.await? {
                return Ok(());
            }
            self.drop_old_versions(execution.id).await?;
        }
        Ok(())
    }
}

/// What a decision is about: cards may ask about more than one thing.
fn payload_of<'c>(card: &'c Card, token: &Token) -> &'c str {
    let pressed = card.pressed(&token.body.offer);
    pressed.and_then(|press| card.asked_by(press)).map_or("", |(_, payload)| payload)
}

fn is_late(card: &Card, now: Timestamp) -> bool {
    card.state == CardState::Open && card.expires_at().is_some_and(|at| now >= at)
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
        Refusal::SecretMissing(_) => "A card in Review asks for it; then approve again.",
        Refusal::VaultLocked(_) => "Run `silas unlock` in the terminal, then approve.",
        _ => "Reload the page, or decide in the terminal.",
    };
    Trouble::new("E_APPROVAL_REFUSED", &format!("Nothing ran: {refusal}."), todo)
}
