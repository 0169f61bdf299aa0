//! Cards that want something entered: the value of a secret that the vault lacks, the choice of a model, and the answer to a
//! model's question.
//!
//! They are kept, expire, are renewed and are put away like every card, and are answered once. Deliberately absent: the
//! value of a secret, which passes through [`crate::secrets`] only; and any consent. Choosing a model leads to the card
//! that asks for it.

use crate::models::{Assigned, Tested};
use crate::review::Question;
use crate::words::{Answered, for_model, for_plan, model_option, spoken};
use crate::{Stream, Trouble};
use silas_core::CardId;
use silas_core::card::{Card, CardKind, CardState, Face, Press};
use silas_core::input::{Input, KeyState, KeyWanted, ModelChoice, ModelOption, SecureInput, WantedBy};
use silas_core::inquiry::Inquiry;
use silas_core::model::{BadModel, KeySource, ModelGrant, ModelName, Price, Provider, Role, list_price};
use silas_core::secret::SecretRef;
use silas_core::work::Definition;
use silas_gates::scrub;
use silas_store::queue::Leased;
use silas_store::{Abort, Commit, Tx, cards};
use std::collections::BTreeSet;
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

impl Stream {
    /// A secret that a plan names and the vault lacks; the first of them.
    pub(crate) fn missing_secret(&self, d: &Definition) -> Result<Option<SecretRef>, Trouble> {
        for reference in &d.secrets {
            if !self.is_kept(reference)? {
                return Ok(Some(reference.clone()));
            }
        }
        Ok(None)
    }

    /// Whether the vault has it, locked or not.
    pub(crate) fn is_kept(&self, reference: &SecretRef) -> Result<bool, Trouble> {
        let record = self.vault.record(reference);
        Ok(record.map_err(|cause| Trouble::from(silas_approval::vault::VaultTrouble::Io(cause)))?.is_some())
    }

    pub(crate) fn secret_question(&self, ref_id: SecretRef, wanted_by: WantedBy) -> Question {
        let (label, input_hint, guidance) = match &wanted_by {
            WantedBy::Plan { .. } => for_plan(&ref_id),
            WantedBy::Model { model, .. } => for_model(model),
        };
        let expires_at = self.clock.now().plus(self.options.plan_timeout);
        let subject = SecureInput::subject_of(&ref_id);
        let wanted = SecureInput { ref_id, label, input_hint, guidance, wanted_by, expires_at };
        Question::about(self.input_card(self.words.secure_input(&wanted), Input::Secret(Box::new(wanted))), subject)
    }

    pub(crate) fn model_choice_question(&self) -> Result<Question, Trouble> {
        self.choice_question(self.model_choice()?)
    }

    fn choice_question(&self, choice: ModelChoice) -> Result<Question, Trouble> {
        let face = self.words.model_choice(&choice);
        Ok(Question::about(self.input_card(face, Input::Model(choice)), ModelChoice::SUBJECT.to_owned()))
    }

    pub(crate) fn inquiry_card(&self, inquiry: Inquiry) -> Card {
        self.input_card(self.words.inquiry(&inquiry), Input::Inquiry(Box::new(inquiry)))
    }

    fn input_card(&self, face: Face, input: Input) -> Card {
        Card {
            id: CardId::new(self.random.as_ref()),
            state: CardState::Open,
            created_at: self.clock.now(),
            face,
            offer: None,
            show_first: None,
            instead: None,
            payload: None,
            input: Some(input),
            test_call: false,
            execution: None,
        }
    }

    /// The providers as they stand now: whose key is there, and what would leave this machine.
    fn model_choice(&self) -> Result<ModelChoice, Trouble> {
        let local_only = self.options.models.local_only;
        let is_open = |provider: &Provider| !local_only || matches!(provider, Provider::Ollama | Provider::Compatible);
        let option = |provider: Provider| {
            let key = match provider {
                Provider::Ollama => KeyState::None,
                Provider::Compatible => KeyState::Needed,
                Provider::Openrouter | Provider::Openai | Provider::Anthropic => {
                    // The names of these providers are names of secrets.
                    let name = SecretRef::parse(provider.name()).ok();
                    let in_vault = name.map(|name| self.is_kept(&name)).transpose()?.unwrap_or(false);
                    let is_there = in_vault || self.has_key(&KeySource::usual(provider));
                    if is_there { KeyState::Kept } else { KeyState::Needed }
                }
            };
            Ok(model_option(provider, key))
        };
        let choices: Result<Vec<ModelOption>, Trouble> =
            Provider::ALL.into_iter().filter(is_open).map(option).collect();
        Ok(ModelChoice { choices: choices?, tried: None, expires_at: self.clock.now().plus(self.options.plan_timeout) })
    }

    /// The same card, as it would be asked now.
    pub(crate) fn renewed_input(&self, card: &Card) -> Result<Option<(Face, Input)>, Trouble> {
        match &card.input {
            None => Ok(None),
            Some(kept @ (Input::Secret(_) | Input::Inquiry(_))) => {
                let mut input = kept.clone();
                input.set_expires_at(self.clock.now().plus(self.options.plan_timeout));
                Ok(Some((card.face.clone(), input)))
            }
            Some(Input::Model(old)) => {
                let mut choice = self.model_choice()?;
                if let Some(tried) = old.tried {
                    // As it was filled in.
                    let filled_in = old.choices.iter().filter(|option| option.provider == tried);
                    choice.choices.retain(|option| option.provider != tried);
                    choice.choices.extend(filled_in.cloned());
                    choice.choices.sort_by_key(|option| option.provider);
                    choice.tried = Some(tried);
                }
                Ok(Some((self.words.model_choice(&choice), Input::Model(choice))))
            }
        }
    }

    /// The owner named a model. The next card asks for its key, if that is not there, or for the agreement.
    pub async fn choose_model(&self, card_id: &CardId, chosen: Chosen<'_>) -> Result<String, Trouble> {
        let Chosen { typed, key, price } = chosen;
        let model = ModelName::parse(typed.trim()).map_err(|bad| not_a_model(&bad))?;
        let reference = key_name(&model)?;
        let (source, wants_key) = match key {
            KeyWanted::None => (KeySource::None, false),
            KeyWanted::New => (KeySource::Vault(reference.clone()), true),
            KeyWanted::Kept if self.is_kept(&reference)? => (KeySource::Vault(reference.clone()), false),
            KeyWanted::Kept => match KeySource::usual(model.provider()) {
                variable @ KeySource::Variable(_) if self.has_key(&variable) => (variable, false),
                _ => (KeySource::Vault(reference.clone()), true),
            },
        };
        let grant = ModelGrant::new(model.clone(), Role::ALL.to_vec(), source, price);
        self.may_be_offered(&grant)?;
        let question = match wants_key {
            true => self.secret_question(reference, WantedBy::Model { model, then: Some(grant) }),
            false => self.set_up_question(&grant)?,
        };
        let id = card_id.clone();
        let choosing = self.store.write(move |tx| {
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
        self.publish_cards().await;
        Ok(if wants_key { "Next: its key." } else { "Next: what may be sent." }.to_owned())
    }

    /// Asks a model again that did not answer its test. The agreement stands, so nothing is asked of the owner.
    pub async fn test_again(self: &Arc<Self>, card_id: &CardId) -> Result<String, Trouble> {
        let tried = self.close_tested(card_id).await?;
        let stream = self.clone();
        self.think(async move { stream.test_model(tried).await });
        Ok("It is asked one test question again.".to_owned())
    }

    /// Asks for another model instead of one that did not answer, filled in with what was tried.
    pub async fn choose_another(&self, card_id: &CardId) -> Result<String, Trouble> {
        let tried = self.close_tested(card_id).await?;
        let is_key_kept = match &tried.key {
            KeySource::Vault(reference) => self.is_kept(reference)?,
            KeySource::None | KeySource::Variable(_) => false,
        };
        let question = self.choice_question(self.model_choice()?.filled_in(&tried, is_key_kept))?;
        let asking = self.store.write(move |tx| {
            // One that asks already would be without what was tried.
            for mut old in cards::find_by_subject(tx, ModelChoice::SUBJECT)? {
                if matches!(old.state, CardState::Open | CardState::Parked) {
                    old.state = CardState::Closed;
                    cards::update(tx, &old)?;
                }
            }
            Ok(Commit(question.ask(tx)?))
        });
        asking.await?;
        self.publish_cards().await;
        Ok("Choose another; what you typed is still there.".to_owned())
    }

    /// Puts the outcome of a failed test away and gives back what was tested, if it still may be.
    async fn close_tested(&self, card_id: &CardId) -> Result<ModelGrant, Trouble> {
        let (engine, id) = (self.engine.clone(), card_id.clone());
        let closing = self.store.write(move |tx| {
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
        self.publish_cards().await;
        Ok(tried)
    }

    /// The value is in the vault: every card that asked for it is answered, and what comes after each is asked or goes on.
    pub(crate) fn answer_inputs(&self, tx: &mut Tx<'_>, reference: &SecretRef) -> Result<Option<Leased>, Abort> {
        let subject = SecureInput::subject_of(reference);
        for mut card in cards::find_by_subject(tx, &subject)? {
            if !matches!(card.state, CardState::Open | CardState::Parked) {
                continue;
            }
            card.state = CardState::Answered;
            cards::update(tx, &card)?;
            if let Some(WantedBy::Model { then: Some(grant), .. }) =
                card.input.as_ref().and_then(Input::secret).map(|wanted| &wanted.wanted_by)
            {
                self.set_up_question(grant)?.ask(tx)?;
            }
        }
        Ok(self.call_back(tx, &subject, self.clock.now())?)
    }

    /// At the start: what came into the vault and was not written down as an answer, because Silas ended in between.
    pub(crate) async fn settle_inputs(self: &Arc<Self>) -> Result<(), Trouble> {
        let mut given = BTreeSet::new();
        for card in self.store.read(cards::list_open).await? {
            let Some(wanted) = card.input.as_ref().and_then(Input::secret) else { continue };
            let record = self.vault.record(&wanted.ref_id);
            let record = record.map_err(|cause| Trouble::from(silas_approval::vault::VaultTrouble::Io(cause)))?;
            if record.is_some_and(|record| record.set_at >= card.created_at) {
                given.insert(wanted.ref_id.clone());
            }
        }
        for reference in given {
            self.note_stored(&reference).await?;
        }
        Ok(())
    }

    /// Asks the model that was just agreed to one small question, and says what came of it: in the Stream and in a card.
    pub(crate) async fn test_model(self: &Arc<Self>, grant: ModelGrant) {
        let Some(&role) = grant.roles.first() else { return };
        let price = grant.price.unwrap_or_else(|| list_price(&grant.model));
        let assigned = Assigned::added(grant.model.clone(), grant.key, price);
        let tested = self.try_model(role, &assigned).await;
        let (answered, mut said) = match tested {
            Ok(Tested { answered, said }) => (Some(answered), said),
            Err(untested) => (None, untested.told()),
        };
        let named = self.options.models.named.iter().find(|(named, ..)| *named == role);
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
        let face = self.words.model_tested(model, answered.as_ref(), &said);
        let card = self.card(face, "", None::<&ModelGrant>, Duration::ZERO)?;
        let subject = subject_of_test(model);
        let asking = self.store.write(move |tx| Ok(Commit(cards::insert(tx, &card, &subject)?)));
        asking.await?;
        self.publish_cards().await;
        self.tell(&said).await
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
