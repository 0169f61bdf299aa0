//! Questions: what a proposal becomes, as a card that is ready to be asked.
//!
//! Deliberately absent: what follows from the answer.

mod inputs;
mod roots;

use crate::Trouble;
use crate::house::House;
use crate::hub::Hub;
use crate::minds::Minds;
use crate::question::Question;
use crate::trust::Trust;
use silas_approval::Rehearsal;
use silas_core::MessageId;
use silas_core::card::Press;
use silas_core::input::WantedBy;
use silas_core::inquiry::{Handed, Inquiry};
use silas_core::model::{BudgetGrant, ModelGrant};
use silas_core::roots::RootGrant;
use silas_core::secret::SecretRef;
use silas_core::work::WorkItem;
use std::sync::Arc;

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

/// Makes cards. The one card that it asks by itself is about a directory that no wish needs yet.
pub struct Questions {
    house: Arc<House>,
    hub: Arc<Hub>,
    trust: Arc<Trust>,
    minds: Arc<Minds>,
}

impl Questions {
    pub(crate) fn new(house: Arc<House>, hub: Arc<Hub>, trust: Arc<Trust>, minds: Arc<Minds>) -> Self {
        Questions { house, hub, trust, minds }
    }

    /// Makes the card for a proposal that answers a message.
    pub(crate) fn question(
        &self,
        proposal: Proposal,
        message: &MessageId,
        trace: &MessageId,
    ) -> Result<Question, Trouble> {
        match proposal {
            Proposal::Root(grant) => self.root_question(&grant),
            Proposal::Model(grant) => self.minds.model_question(&grant),
            Proposal::Budget(grant) => self.minds.budget_question(&grant),
            Proposal::Secret(reference, wanted_by) => Ok(self.secret_question(reference, wanted_by)),
            Proposal::ModelChoice => self.model_choice_question(),
            Proposal::Inquiry(inquiry, handed) => {
                let subject = Inquiry::subject_of(message, handed.answered.len());
                let question = Question::about(self.inquiry_card(*inquiry), subject);
                Ok(question.handing(handed))
            }
            Proposal::Plan(item) => self.plan_question(*item, trace),
        }
    }

    /// The card that asks about a plan, which began with this message.
    pub(crate) fn plan_question(&self, item: WorkItem, trace: &MessageId) -> Result<Question, Trouble> {
        let face = self.house.words.plan(&item);
        let subject = item.id().to_string();
        let lasts = self.house.options.plan_timeout;
        let mut card = self.house.card(face, &subject, Some(&item), lasts)?;
        if card.face.ctas.iter().any(|cta| cta.press == Press::Rehearse) {
            let shown_first = Rehearsal(item.clone());
            card.show_first = Some(self.house.engine.offer(&subject, &shown_first, &card.face, lasts)?);
        }
        Ok(Question::about_plan(card, item, trace.clone()))
    }

    pub(crate) fn root_question(&self, grant: &RootGrant) -> Result<Question, Trouble> {
        let subject = grant.place.path.clone();
        let card = self.house.card(
            self.house.words.root(&grant.place),
            &subject,
            Some(grant),
            self.house.options.plan_timeout,
        )?;
        Ok(Question::about(card, subject))
    }
}
