//! A card before it is asked, and what must be stored beside it.
//!
//! Deliberately absent: what follows from the answer.

pub(crate) mod order;

use crate::post::Wish;
use crate::review::kinds::rules;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::event::AuditEvent;
use silas_core::input::Input;
use silas_core::inquiry::Handed;
use silas_core::message::Message;
use silas_core::work::{WorkItem, WorkState};
use silas_core::{MessageId, Scope};
use silas_store::{Tx, cards, work_items};

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

    /// A question about a plan, which began with this message.
    pub(crate) fn about_plan(card: Card, item: WorkItem, trace: MessageId) -> Self {
        let subject = item.id().to_string();
        Question { card, subject, item: Some((item, trace)), handed: None }
    }

    /// The same for a message that has come this far.
    pub(crate) fn handing(self, handed: Box<Handed>) -> Self {
        Question { handed: Some(handed), ..self }
    }

    /// The wish as it waits: what was found out about it before is not asked for again, and a plan that was made of it stays.
    /// Only where nobody could look into the directory it is planned anew, by somebody who can.
    pub(crate) fn held_up(&self, wish: Wish) -> Wish {
        match &self.handed {
            Some(handed) => Wish::said(Message { handed: Some(handed.clone()), ..wish.message }),
            None if self.card.face.kind == CardKind::Root => Wish::said(wish.message),
            None => wish,
        }
    }

    /// What a message has to wait for before it can be dealt with: a directory, a model or a sum that is not allowed yet.
    pub(crate) fn stands_in_the_way(&self) -> Option<&str> {
        rules(self.card.face.kind).waits_no_longer().map(|_| self.subject.as_str())
    }

    /// Writes the card, its plan and the ledger entry. What is asked for already is not asked for twice; the card that
    /// asks is given back.
    pub(crate) fn ask(&self, tx: &mut Tx<'_>) -> Result<Card, silas_store::Error> {
        let rules = rules(self.card.face.kind);
        let is_same = |card: &Card| {
            card.face.kind == self.card.face.kind
                && card.state == CardState::Open
                && rules.asks_the_same(card, &self.card)
        };
        if rules.is_asked_once()
            && let Some(asked) = cards::find_by_subject(tx, &Scope::Owner, &self.subject)?.into_iter().find(is_same)
        {
            order::note_asked(tx, &asked.id)?;
            return Ok(asked);
        }
        if let Some((item, trace)) = &self.item {
            work_items::insert(
                tx,
                &Scope::Owner,
                item,
                &WorkState::new(self.card.created_at),
                trace,
                self.card.created_at,
            )?;
        }
        cards::insert(tx, &Scope::Owner, &self.card, &self.subject)?;
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
