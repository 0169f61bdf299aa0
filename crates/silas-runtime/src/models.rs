//! Which model serves whom: what the configuration names, else what the owner added last. And what the owner may ask about
//! them: the list, a test, another one.
//!
//! A model is used only under a decision that the owner signed and has not taken back; the configuration alone allows
//! nothing. Keys are fetched for each question and kept nowhere.

use crate::review::Question;
use crate::spending::{self, Purse, Refused};
use crate::view::{ModelView, ModelsView, Spent};
use crate::words::{self, Answered};
use crate::{Stream, Trouble};
use silas_agents::{Asking, Minds, Outcome, Stop};
use silas_core::card::{Card, CardState};
use silas_core::event::AuditEvent;
use silas_core::model::{BudgetGrant, KeySource, ModelGrant, ModelName, Period, Price, Role, list_price};
use silas_core::secret::Secret;
use silas_store::model_calls::{self, Caps};
use silas_store::{Commit, ReadTx, cards};
use std::sync::Arc;
use std::time::Instant;

mod probe;
mod silence;

pub use probe::{Key, Look, probes};
pub(crate) use silence::{CODE as SILENT, Silence, Silences, Untested};

/// Where the value of a key comes from; `None` if it is not there.
pub type KeyRing = Arc<dyn Fn(&KeySource) -> Option<Secret> + Send + Sync>;

/// What the owner may turn about models.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// What the configuration names, with where its key is.
    pub named: Vec<(Role, ModelName, KeySource)>,
    /// Nothing may leave this machine.
    pub local_only: bool,
    pub caps: Caps,
    pub calls_per_minute: u32,
    /// Tokens that one message may use up, everything counted at its largest.
    pub turn_tokens_max: u64,
    /// How often work that failed is planned again.
    pub replans_max: u32,
}

/// The model of a role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assigned {
    pub(crate) model: ModelName,
    pub(crate) key: KeySource,
    pub(crate) price: Price,
    is_configured: bool,
    pub(crate) is_agreed: bool,
}

/// A model that has passed its test.
pub(crate) struct Tested {
    pub(crate) answered: Answered,
    /// For the Stream and the terminal.
    pub(crate) said: String,
}

impl Assigned {
    /// One that the owner has just agreed to.
    pub(crate) fn added(model: ModelName, key: KeySource, price: Price) -> Self {
        Assigned { model, key, price, is_configured: false, is_agreed: true }
    }
}

/// Who serves in a role: what the configuration names, else what the owner added last.
fn assigned(options: &ModelOptions, grants: &[ModelGrant], role: Role) -> Option<Assigned> {
    let named = options.named.iter().find(|(named, ..)| *named == role);
    let fits = |grant: &&ModelGrant| grant.roles.contains(&role);
    match named {
        Some((_, model, key)) => {
            let agreed = grants.iter().rev().filter(fits).find(|grant| grant.model == *model);
            let price = agreed.and_then(|grant| grant.price).unwrap_or_else(|| list_price(model));
            let (model, key, is_agreed) = (model.clone(), key.clone(), agreed.is_some());
            Some(Assigned { model, key, price, is_configured: true, is_agreed })
        }
        None => grants.iter().rev().find(fits).map(|grant| {
            let price = grant.price.unwrap_or_else(|| list_price(&grant.model));
            Assigned::added(grant.model.clone(), grant.key.clone(), price)
        }),
    }
}

impl Stream {
    pub(crate) fn assigned(&self, grants: &[ModelGrant], role: Role) -> Option<Assigned> {
        assigned(&self.options.models, grants, role)
    }

    /// The same for exactly this model, whoever serves now: what was approved is what works.
    pub(crate) fn assigned_exactly(&self, grants: &[ModelGrant], role: Role, model: &ModelName) -> Option<Assigned> {
        let now = self.assigned(grants, role).filter(|assigned| assigned.model == *model);
        now.or_else(|| {
            let fits = |grant: &&ModelGrant| grant.roles.contains(&role) && grant.model == *model;
            grants.iter().rev().find(fits).map(|grant| Assigned {
                model: grant.model.clone(),
                key: grant.key.clone(),
                price: grant.price.unwrap_or_else(|| list_price(&grant.model)),
                is_configured: false,
                is_agreed: true,
            })
        })
    }

    pub(crate) async fn model_grants(&self) -> Result<Vec<ModelGrant>, Trouble> {
        let engine = self.engine.clone();
        Ok(self.store.read(move |tx| Ok(engine.models(tx)?)).await?)
    }

    /// Whether a wish that reflex does not understand has somewhere to go.
    pub(crate) async fn has_model(&self) -> bool {
        if self.options.models.named.iter().any(|(role, ..)| *role == Role::Proxy) {
            return true;
        }
        // A store that cannot be read is said by whoever needs it next.
        self.model_grants().await.is_ok_and(|grants| self.assigned(&grants, Role::Proxy).is_some())
    }

    pub(crate) fn has_key(&self, key: &KeySource) -> bool {
        *key == KeySource::None || (self.keys)(key).is_some()
    }

    pub(crate) fn asking(&self, assigned: &Assigned) -> Result<Asking, silas_agents::Error> {
        let key = (self.keys)(&assigned.key);
        Ok(Asking { model: self.minds.model(&assigned.model, key)?, price: assigned.price })
    }

    /// Every role, what serves it, and what was spent.
    pub async fn models(&self) -> Result<ModelsView, Trouble> {
        let engine = self.engine.clone();
        let (now, caps) = (self.clock.now(), self.options.models.caps);
        let looking = self.store.read(move |tx| {
            let (day, month) = (Period::day(now), Period::month(now));
            Ok((engine.models(tx)?, spent(tx, &day, caps.day)?, spent(tx, &month, caps.month)?))
        });
        let (grants, day, month) = looking.await?;
        let view = |role: Role| {
            let assigned = self.assigned(&grants, role)?;
            Some(ModelView {
                role,
                host: assigned.model.host().to_owned(),
                is_local: assigned.model.is_local(),
                has_key: self.has_key(&assigned.key),
                key: words::key(&assigned.key),
                price: words::price(assigned.price),
                is_configured: assigned.is_configured,
                is_agreed: assigned.is_agreed,
                model: assigned.model.to_string(),
            })
        };
        let models = Role::ALL.into_iter().filter_map(view).collect();
        Ok(ModelsView { models, local_only: self.options.models.local_only, day, month })
    }

    /// Makes the card that asks whether a model may be used. Nothing is sent anywhere before it is approved.
    pub async fn offer_model(&self, wanted: ModelGrant) -> Result<Card, Trouble> {
        // Agreed is what is sent today, whatever the one who asks believes.
        let grant = ModelGrant::new(wanted.model, wanted.roles, wanted.key, wanted.price);
        self.may_be_offered(&grant)?;
        let question = self.model_question(&grant)?;
        let asking = self.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
        let card = asking.await?;
        self.publish_cards().await;
        Ok(card)
    }

    /// Whether there is any sense in asking about it.
    pub(crate) fn may_be_offered(&self, grant: &ModelGrant) -> Result<(), Trouble> {
        if grant.roles.is_empty() {
            return Err(Trouble::new(
                "E_CFG_MODEL",
                "A model needs something to do.",
                "Name proxy, planner, executor or all of them.",
            ));
        }
        if self.options.models.local_only && !grant.model.is_local() {
            return Err(Trouble::new(
                "E_CFG_MODEL",
                "The configuration says `models.local_only`, and this model is elsewhere.",
                "Choose one on this machine, or change the configuration.",
            ));
        }
        Ok(())
    }

    pub(crate) fn model_question(&self, grant: &ModelGrant) -> Result<Question, Trouble> {
        let subject = grant.subject();
        let card = self.card(self.words.model(grant), &subject, Some(grant), self.options.plan_timeout)?;
        Ok(Question::about(card, subject))
    }

    /// Asks whether more may be spent, and comes back when that was answered in one way or another, or by nobody.
    pub(crate) async fn ask_for_more(&self, grant: &BudgetGrant) -> Result<(), Trouble> {
        let question = self.budget_question(grant)?;
        let mut moved = self.cards_moved();
        let asking = self.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
        let asked = asking.await?.id;
        self.publish_cards().await;
        loop {
            let id = asked.clone();
            let looking =
                self.store.read(move |tx| Ok(cards::get(tx, &id)?.is_some_and(|card| card.state == CardState::Open)));
            if !looking.await? || moved.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// The same as a step of setting it up: approved, it is followed by a test question.
    pub(crate) fn set_up_question(&self, grant: &ModelGrant) -> Result<Question, silas_approval::Error> {
        let subject = grant.subject();
        let face = self.words.model_to_test(grant);
        let card = self.try_card(face, &subject, Some(grant), self.options.plan_timeout)?;
        Ok(Question::about(Card { test_call: true, ..card }, subject))
    }

    /// One small question to the model of a role, with nothing of the owner's in it, under the same limits as any other.
    pub async fn check_model(self: &Arc<Self>, role: Role) -> Result<String, Trouble> {
        let grants = self.model_grants().await?;
        let Some(assigned) = self.assigned(&grants, role) else {
            let what = format!("No model is set up as {}.", role.name());
            return Err(Trouble::new("E_LLM_NONE", &what, "`silas model add` adds one."));
        };
        if !assigned.is_agreed {
            let (message, todo) = (spending::not_agreed(&assigned.model), "`silas model add` asks you.");
            return Err(Trouble::new("privacy_confirmation_required", &message, todo));
        }
        Ok(self.try_model(role, &assigned).await?.said)
    }

    /// Asks it, says what came of it, and remembers one that did not answer.
    pub(crate) async fn try_model(self: &Arc<Self>, role: Role, assigned: &Assigned) -> Result<Tested, Untested> {
        let tried = self.put_to_the_test(role, assigned).await;
        match &tried {
            Ok(_) => self.silences.heard(assigned),
            Err(Untested::Silent(silence)) => self.silences.note(assigned, silence.clone(), self.clock.now()),
            Err(Untested::Unasked(_)) => {}
        }
        tried
    }

    async fn put_to_the_test(self: &Arc<Self>, role: Role, assigned: &Assigned) -> Result<Tested, Untested> {
        if !self.has_key(&assigned.key) {
            return Err(Untested::Unasked(spending::no_key(assigned)));
        }
        let asking = self.asking(assigned).map_err(|error| Untested::Silent(Silence::of(&error)))?;
        let purse = Purse::new(self, None, role, &assigned.model);
        let began = Instant::now();
        match Minds::check(&asking, &purse).await {
            Ok(Outcome::Usable(_)) => {
                let answered = Answered { took: began.elapsed(), role, form: asking.model.mode().words() };
                let cost = words::cost(assigned.price, purse.spent());
                Ok(Tested { said: format!("{} {cost}", answered.said(&assigned.model)), answered })
            }
            Ok(Outcome::Unusable { why }) => Err(Untested::Silent(Silence::in_another_form(&assigned.model, &why))),
            Err(Stop::Failed(error)) => Err(Untested::Silent(Silence::of(&error))),
            Err(Stop::Refused(refused)) => Err(Untested::Unasked(match refused {
                Refused::Cap(over) => spending::over_cap(&over),
                Refused::Rate { per_minute } => spending::too_fast(per_minute),
                Refused::Turn => {
                    Trouble::new("E_LLM_BUDGET", "The question is too large.", "Raise `models.turn_budget_tokens`.")
                }
                Refused::Plan(what) => spending::plan_used_up(what),
                Refused::Store(trouble) => trouble,
            })),
        }
    }

    /// Writes down that nothing was sent.
    pub(crate) async fn note_model_refused(&self, role: Role, code: &str) {
        let code = code.to_owned();
        let noting = self.store.write_buffered(move |tx| {
            tx.record(&AuditEvent::ModelRefused { role, code: code.clone() })?;
            Ok(Commit(()))
        });
        if let Err(cause) = noting.await {
            tracing::error!(%cause, "a refusal could not be written down");
        }
    }
}

pub(crate) fn spent(tx: &ReadTx<'_>, period: &Period, cap: u64) -> Result<Spent, silas_store::Error> {
    let cap = cap.saturating_add(model_calls::extended(tx, period)?);
    Ok(Spent { period: period.to_string(), microusd: model_calls::spent(tx, period)?, cap_microusd: cap })
}
