//! Setting up a model: the owner chooses one, perhaps gives its key, agrees, and one test question says whether it answers.

use crate::Trouble;
use crate::assignment::Assigned;
use crate::minds::Tested;
use crate::question::Question;
use crate::review::Review;
use crate::review::kinds::model::Answered;
use crate::words::spoken;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::input::{KeyWanted, ModelChoice, WantedBy};
use silas_core::model::{BadModel, KeySource, ModelGrant, ModelName, Price, Role, list_price};
use silas_core::secret::SecretRef;
use silas_core::{CardId, Scope};
use silas_gates::scrub;
use silas_store::{Commit, cards};
use std::sync::Arc;
use std::time::Duration;

/// What the vault calls the key of a model that was set up in the page. One at another address has another key.
fn key_name(model: &ModelName) -> Result<SecretRef, Trouble> {
    let provider = model.provider();
    let name = match provider.usual_url() == Some(model.url()) {
        true => provider.name().to_owned(),
        false => format!("{}:{}", provider.name(), model.host().replace(['[', ']'], "")),
    };
    SecretRef::parse(&name).map_err(|bad| {
        Trouble::new("E_CFG_MODEL", &format!("The key cannot be named: {bad}."), "Use `silas model add --secret NAME`.")
    })
}

impl Review {
    /// The owner named a model. The next card asks for its key, if that is not there, or for the agreement.
    pub async fn choose_model(&self, card_id: &CardId, chosen: Chosen<'_>) -> Result<String, Trouble> {
        let Chosen { typed, key, price } = chosen;
        let model = ModelName::parse(typed.trim()).map_err(|bad| not_a_model(&bad))?;
        let reference = key_name(&model)?;
        let (source, wants_key) = match key {
            KeyWanted::None => (KeySource::None, false),
            KeyWanted::New => (KeySource::Vault(reference.clone()), true),
            KeyWanted::Kept if self.trust.is_kept(&reference)? => (KeySource::Vault(reference.clone()), false),
            KeyWanted::Kept => match KeySource::usual(model.provider()) {
                variable @ KeySource::Variable(_) if self.minds.has_key(&variable) => (variable, false),
                _ => (KeySource::Vault(reference.clone()), true),
            },
        };
        let grant = ModelGrant::new(model.clone(), Role::ALL.to_vec(), source, price);
        self.minds.may_be_offered(&grant)?;
        let question = match wants_key {
            true => self.questions.secret_question(reference, WantedBy::Model { model, then: Some(grant) }),
            false => self.minds.set_up_question(&grant)?,
        };
        let id = card_id.clone();
        let choosing = self.house.store.write(move |tx| {
            let is_choice = |card: &Card| card.face.kind == CardKind::ModelChoice && card.state == CardState::Open;
            let Some(mut card) = cards::get(tx, &id)?.filter(is_choice) else { return Ok(Commit(false)) };
            card.state = CardState::Answered;
            cards::update(tx, &card)?;
            question.ask(tx)?;
            Ok(Commit(true))
        });
        if !choosing.await? {
            let what = "This card was answered or put away meanwhile.";
            return Err(Trouble::new("E_APPROVAL_CARD", what, "Say `add a model` to begin again."));
        }
        self.hub.publish_cards().await;
        Ok(if wants_key { "Next: its key." } else { "Next: what may be sent." }.to_owned())
    }

    /// Asks a model again that did not answer its test. The agreement stands, so nothing is asked of the owner.
    pub async fn test_again(self: &Arc<Self>, card_id: &CardId) -> Result<String, Trouble> {
        let tried = self.close_tested(card_id).await?;
        let review = self.clone();
        self.conversation.think(async move { review.test_model(tried).await });
        Ok("It is asked one test question again.".to_owned())
    }

    /// Asks for another model instead of one that did not answer, filled in with what was tried.
    pub async fn choose_another(&self, card_id: &CardId) -> Result<String, Trouble> {
        let tried = self.close_tested(card_id).await?;
        let is_key_kept = match &tried.key {
            KeySource::Vault(reference) => self.trust.is_kept(reference)?,
            KeySource::None | KeySource::Variable(_) => false,
        };
        let question = self.questions.choice_question(self.questions.model_choice()?.filled_in(&tried, is_key_kept))?;
        let asking = self.house.store.write(move |tx| {
            // One that asks already would be without what was tried.
            for mut old in cards::find_by_subject(tx, &Scope::Owner, ModelChoice::SUBJECT)? {
                if matches!(old.state, CardState::Open | CardState::Parked) {
                    old.state = CardState::Closed;
                    cards::update(tx, &old)?;
                }
            }
            Ok(Commit(question.ask(tx)?))
        });
        asking.await?;
        self.hub.publish_cards().await;
        Ok("Choose another; what you typed is still there.".to_owned())
    }

    /// Puts the outcome of a failed test away and gives back what was tested, if it still may be.
    async fn close_tested(&self, card_id: &CardId) -> Result<ModelGrant, Trouble> {
        let (engine, id) = (self.house.engine.clone(), card_id.clone());
        let closing = self.house.store.write(move |tx| {
            let offers = |card: &Card| card.face.ctas.iter().any(|cta| cta.press == Press::Again);
            let Some(mut card) = cards::get(tx, &id)?.filter(|c| c.state == CardState::Open && offers(c)) else {
                return Ok(Commit(None));
            };
            // Every card was kept with a subject; one without is about no model.
            let subject = cards::subject(tx, &id)?.unwrap_or_default();
            let tried = engine.models(tx)?.into_iter().rev().find(|grant| subject_of_test(&grant.model) == subject);
            if tried.is_some() {
                card.state = CardState::Answered;
                cards::update(tx, &card)?;
            }
            Ok(Commit(tried))
        });
        let tried = closing.await?.ok_or_else(|| {
            let what = "This card was answered meanwhile, or its model may not be asked any more.";
            Trouble::new("E_APPROVAL_CARD", what, "Say `add a model` to begin again.")
        })?;
        self.hub.publish_cards().await;
        Ok(tried)
    }

    /// Asks the model that was just agreed to one small question, and says what came of it: in the Stream and in a card.
    pub(crate) async fn test_model(self: &Arc<Self>, grant: ModelGrant) {
        let Some(&role) = grant.roles.first() else { return };
        let price = grant.price.unwrap_or_else(|| list_price(&grant.model));
        let assigned = Assigned::added(grant.model.clone(), grant.key, price);
        let tested = self.minds.try_model(role, &assigned).await;
        let (answered, mut said) = match tested {
            Ok(Tested { answered, said }) => (Some(answered), said),
            Err(untested) => (None, untested.told()),
        };
        let named = self.house.options.models.named.iter().find(|(named, ..)| *named == role);
        if let Some((_, model, _)) = named.filter(|(_, model, _)| *model != grant.model) {
            let model = spoken(model);
            said.push_str(&format!(" The configuration names {model} as {}, and goes before this.", role.name()));
        }
        if let Err(trouble) = self.tell_tested(&grant.model, answered, said).await {
            tracing::error!(%trouble, "what came of a test question could not be told");
        }
    }

    async fn tell_tested(
        self: &Arc<Self>,
        model: &ModelName,
        answered: Option<Answered>,
        said: String,
    ) -> Result<(), Trouble> {
        let face = self.house.words.model_tested(model, answered.as_ref(), &said);
        let card = self.house.card(face, "", None::<&ModelGrant>, Duration::ZERO)?;
        let question = Question::about(card, subject_of_test(model));
        self.house.store.write(move |tx| Ok(Commit(question.ask(tx)?))).await?;
        self.hub.publish_cards().await;
        self.hub.tell(&said).await
    }
}

/// What the owner chose.
pub struct Chosen<'a> {
    /// As for `silas model add`.
    pub typed: &'a str,
    pub key: KeyWanted,
    /// What a million tokens cost, where the owner says so.
    pub price: Option<Price>,
}

/// What the outcome of a test is about.
fn subject_of_test(model: &ModelName) -> String {
    format!("tested:{model}")
}

/// In the words of a form with a field for the name and one for the address.
fn not_a_model(bad: &BadModel) -> Trouble {
    let change = "Change it and try again.";
    let (what, todo) = match bad {
        BadModel::Name(typed) if typed.ends_with(':') || typed.contains(":@") => (
            "The name of the model is missing.".to_owned(),
            format!("Use the name that its provider gives it. {change}"),
        ),
        BadModel::Name(_) => (
            "This is not the name of a model.".to_owned(),
            format!("Use the name that its provider gives it: letters, digits and - _ . / : without spaces. {change}"),
        ),
        BadModel::NoUrl => (
            "The address of the model is missing.".to_owned(),
            format!("Write it as https://HOST/v1, or http://localhost:PORT/v1 on this machine. {change}"),
        ),
        BadModel::Url(typed) => (
            format!("“{}” is not an address that can be asked.", scrub::visible_line(typed, 80)),
            format!("Write it as https://HOST/v1, without a name, a password, ? or # in it. {change}"),
        ),
        BadModel::Plain(typed) => (
            format!("“{}” would send everything unencrypted.", scrub::visible_line(typed, 80)),
            format!("Use https://. Only an address of this machine may begin with http://. {change}"),
        ),
    };
    Trouble::new("E_CFG_MODEL", &what, &todo)
}
