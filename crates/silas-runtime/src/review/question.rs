//! A card before it is asked: what a proposal becomes, and what must be stored beside it.
//!
//! Deliberately absent: what follows from the answer.

use crate::turn::Turn;
use crate::{Stream, Trouble};
use silas_approval::{Askable, Rehearsal};
use silas_core::card::{Card, CardKind, CardState, Face, Press};
use silas_core::event::AuditEvent;
use silas_core::input::{Input, WantedBy};
use silas_core::inquiry::{Handed, Inquiry};
use silas_core::message::Message;
use silas_core::model::{BudgetGrant, ModelGrant};
use silas_core::roots::RootGrant;
use silas_core::secret::SecretRef;
use silas_core::work::{WorkItem, WorkState};
use silas_core::{CardId, MessageId};
use silas_store::{Tx, cards, work_items};

/// What a turn may ask the owner.
pub(crate) enum Proposal {
    Root(RootGrant),
    Model(ModelGrant),
    Budget(BudgetGrant),
    Secret(SecretRef, WantedBy),
    ModelChoice,
    /// What a model wants to know, and how far the wish has come.
    Inquiry(Box<Inquiry>, Box<Handed>),
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
    /// How far the message has come that waits for the answer.
    handed: Option<Box<Handed>>,
}

impl Question {
    /// A question about something that is not a plan.
    pub(crate) fn about(card: Card, subject: String) -> Self {
        Question { card, subject, item: None, handed: None }
    }

    /// The message as it waits: what was found out about it before is not asked for again.
    pub(crate) fn held_up(&self, message: &Message) -> Message {
        let handed = self.handed.clone().or_else(|| message.handed.clone());
        Message { handed, ..message.clone() }
    }

    /// What a message has to wait for before it can be dealt with: a directory, a model or a sum that is not allowed yet.
    pub(crate) fn stands_in_the_way(&self) -> Option<&str> {
        super::dropped::holds_up_wishes(self.card.face.kind).then_some(self.subject.as_str())
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
        if let Some(inquiry) = self.card.input.as_ref().and_then(Input::inquiry) {
            let question = tx.text(&inquiry.question)?;
            let (card, taint) = (self.card.id.clone(), inquiry.taint);
            tx.record(&AuditEvent::QuestionAsked { card, question, taint })?;
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

impl Stream {
    /// Makes the card for a proposal that answers a message.
    pub(crate) fn question(&self, proposal: Proposal, turn: &Turn) -> Result<Question, Trouble> {
        match proposal {
            Proposal::Root(grant) => self.root_question(&grant),
            Proposal::Model(grant) => self.model_question(&grant),
            Proposal::Budget(grant) => self.budget_question(&grant),
            Proposal::Secret(reference, wanted_by) => Ok(self.secret_question(reference, wanted_by)),
            Proposal::ModelChoice => self.model_choice_question(),
            Proposal::Inquiry(inquiry, handed) => {
                let subject = Inquiry::subject_of(&turn.message.id, handed.answered.len());
                let question = Question::about(self.inquiry_card(*inquiry), subject);
                Ok(Question { handed: Some(handed), ..question })
            }
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
        Ok(Question { card, subject, item: Some((item, trace.clone())), handed: None })
    }

    pub(crate) fn budget_question(&self, grant: &BudgetGrant) -> Result<Question, Trouble> {
        let subject = grant.subject();
        let card = self.card(self.words.budget(grant), &subject, Some(grant), self.options.plan_timeout)?;
        Ok(Question::about(card, subject))
    }

    pub(crate) fn root_question(&self, grant: &RootGrant) -> Result<Question, Trouble> {
        let subject = grant.place.path.clone();
        let card = self.card(self.words.root(&grant.place), &subject, Some(grant), self.options.plan_timeout)?;
        Ok(Question::about(card, subject))
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
}
