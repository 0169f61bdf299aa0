//! Cards that want something entered: the value of a secret that the vault lacks, the choice of a model, and the answer to a
//! model's question.
//!
//! They are kept, expire, are renewed and are put away like every card, and are answered once. Deliberately absent: the
//! value of a secret, and any consent. Choosing a model leads to the card that asks for it.

use crate::Trouble;
use crate::question::Question;
use crate::questions::Questions;
use crate::review::kinds::model_choice::{model_option, suggested};
use crate::review::kinds::secure_input::{for_model, for_plan};
use silas_core::card::{Card, Face};
use silas_core::input::{Input, KeyState, ModelChoice, ModelOption, SecureInput, WantedBy};
use silas_core::inquiry::Inquiry;
use silas_core::model::{KeySource, ModelName, Provider};
use silas_core::secret::SecretRef;

impl Questions {
    pub(crate) fn secret_question(&self, ref_id: SecretRef, wanted_by: WantedBy) -> Question {
        let (label, input_hint, guidance) = match &wanted_by {
            WantedBy::Plan { .. } => for_plan(&ref_id),
            WantedBy::Model { model, .. } => for_model(model),
        };
        let expires_at = self.house.clock.now().plus(self.house.options.plan_timeout);
        let subject = SecureInput::subject_of(&ref_id);
        let wanted = SecureInput { ref_id, label, input_hint, guidance, wanted_by, expires_at };
        Question::about(
            self.input_card(self.house.words.secure_input(&wanted), Input::Secret(Box::new(wanted))),
            subject,
        )
    }

    pub(crate) fn model_choice_question(&self) -> Result<Question, Trouble> {
        self.choice_question(self.model_choice()?)
    }

    pub(crate) fn choice_question(&self, choice: ModelChoice) -> Result<Question, Trouble> {
        let face = self.house.words.model_choice(&choice);
        Ok(Question::about(self.input_card(face, Input::Model(choice)), ModelChoice::SUBJECT.to_owned()))
    }

    pub(crate) fn inquiry_card(&self, inquiry: Inquiry) -> Card {
        self.input_card(self.house.words.inquiry(&inquiry), Input::Inquiry(Box::new(inquiry)))
    }

    fn input_card(&self, face: Face, input: Input) -> Card {
        Card { input: Some(input), ..self.house.blank_card(face) }
    }

    /// The providers as they stand now: whose key is there, who answers on this machine, and what would leave it.
    pub(crate) fn model_choice(&self) -> Result<ModelChoice, Trouble> {
        let local_only = self.house.options.models.local_only;
        let is_open = |provider: &Provider| !local_only || matches!(provider, Provider::Ollama | Provider::Compatible);
        let option = |provider: Provider| {
            let key = match provider {
                Provider::Ollama => KeyState::None,
                Provider::Compatible => KeyState::Needed,
                Provider::Openrouter | Provider::Openai | Provider::Anthropic => {
                    // The names of these providers are names of secrets.
                    let name = SecretRef::parse(provider.name()).ok();
                    let in_vault = name.map(|name| self.trust.is_kept(&name)).transpose()?.unwrap_or(false);
                    let is_there = in_vault || self.minds.has_key(&KeySource::usual(provider));
                    if is_there { KeyState::Kept } else { KeyState::Needed }
                }
            };
            // Nothing where nobody can say yet where it is.
            let usual = ModelName::parse(&format!("{}:{}", provider.name(), suggested(provider))).ok();
            let listener = usual.and_then(|model| self.minds.listener_of(&model));
            Ok(model_option(provider, key, listener.as_ref()))
        };
        let choices: Result<Vec<ModelOption>, Trouble> =
            Provider::ALL.into_iter().filter(is_open).map(option).collect();
        Ok(ModelChoice {
            choices: choices?,
            tried: None,
            expires_at: self.house.clock.now().plus(self.house.options.plan_timeout),
        })
    }

    /// The same card, as it would be asked now.
    pub(crate) fn renewed_input(&self, card: &Card) -> Result<Option<(Face, Input)>, Trouble> {
        match &card.input {
            None => Ok(None),
            Some(kept @ (Input::Secret(_) | Input::Inquiry(_))) => {
                let mut input = kept.clone();
                input.set_expires_at(self.house.clock.now().plus(self.house.options.plan_timeout));
                Ok(Some((card.face.clone(), input)))
            }
            Some(Input::Model(old)) => {
                let mut choice = self.model_choice()?;
                let filled_in = old.choices.iter().find(|option| Some(option.provider) == old.tried);
                if let Some(filled_in) = filled_in
                    && let Some(option) = choice.choices.iter_mut().find(|one| one.provider == filled_in.provider)
                {
                    // As it was filled in, with what is so now.
                    let facts = std::mem::take(&mut option.facts);
                    *option = ModelOption { facts, ..filled_in.clone() };
                    choice.tried = old.tried;
                }
                Ok(Some((self.house.words.model_choice(&choice), Input::Model(choice))))
            }
        }
    }
}
