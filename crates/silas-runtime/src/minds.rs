//! Which model serves whom: what the configuration names, else what the owner added last. And what the owner may ask about
//! them: the list, a test, another one.
//!
//! A model is used only under a decision that the owner signed and has not taken back; the configuration alone allows
//! nothing. Keys are fetched for each question and kept nowhere.

use crate::Trouble;
use crate::assignment::{Assigned, assigned, assigned_exactly};
use crate::house::House;
use crate::hub::{Hub, spent};
use crate::question::Question;
use crate::review::kinds::model::Answered;
use crate::view::{ModelView, ModelsView};
use crate::words::{self, Words};
use silas_agents::search::Search;
use silas_agents::{self as agents, Asking, Outcome, Stop};
use silas_core::Timestamp;
use silas_core::canonical;
use silas_core::card::{Card, CardKind, CardState, Face};
use silas_core::event::AuditEvent;
use silas_core::model::{BudgetGrant, KeySource, Listener, ModelGrant, ModelName, Period, Role};
use silas_core::secret::Secret;
use silas_store::{Commit, cards, executions};
use spending::{Purse, Refused};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) mod call_log;
pub(crate) mod earlier_work;
pub(crate) mod exits;
pub(crate) mod eyes;
pub(crate) mod file_tools;
mod listener;
mod probe;
pub(crate) mod reading;
pub(crate) mod research;
pub(crate) mod search;
mod silence;
pub(crate) mod spending;

pub use listener::ListensAt;
pub use probe::{Key, Look, probes};
pub(crate) use silence::{Silence, Silences, Untested};

/// Where the value of a key comes from; `None` if it is not there.
pub type KeyRing = Arc<dyn Fn(&KeySource) -> Option<Secret> + Send + Sync>;

/// A model that has passed its test.
pub(crate) struct Tested {
    pub(crate) answered: Answered,
    /// For the Stream and the terminal.
    pub(crate) said: String,
}

/// What the minds are made of.
pub struct Options {
    pub client: agents::Minds,
    /// There only if the configuration names a search server.
    pub search: Option<Search>,
    /// Asked for the key of a model, each time that it is asked.
    pub keys: KeyRing,
    /// Which users listen at an address of this machine.
    pub listens_at: ListensAt,
}

/// Who may be asked, and at what price.
pub struct Minds {
    house: Arc<House>,
    hub: Arc<Hub>,
    options: Options,
    /// When models were asked in the last minute; bounded by the limit for it.
    calls: Mutex<VecDeque<(Timestamp, spending::Whose)>>,
    /// Models that did not pass their test.
    pub(crate) silences: Silences,
    /// One for each run that waits until the owner has allowed more money.
    at_a_cap: Arc<()>,
}

impl Minds {
    pub(crate) fn new(house: Arc<House>, hub: Arc<Hub>, options: Options) -> Self {
        let (calls, silences, at_a_cap) = (Mutex::default(), Silences::default(), Arc::default());
        Minds { house, hub, options, calls, silences, at_a_cap }
    }

    /// Where the web can be searched, if it can.
    pub(crate) fn search(&self) -> Option<&Search> {
        self.options.search.as_ref()
    }

    /// Held while a run stands still until the owner has answered a card about money.
    fn wait_at_a_cap(&self) -> Arc<()> {
        self.at_a_cap.clone()
    }

    pub(crate) fn n_at_a_cap(&self) -> usize {
        Arc::strong_count(&self.at_a_cap) - 1
    }

    pub(crate) fn assigned(&self, grants: &[ModelGrant], role: Role) -> Option<Assigned> {
        assigned(&self.house.options.models, grants, role)
    }

    /// The same for exactly this model, whoever serves now: what was approved is what works.
    pub(crate) fn assigned_exactly(&self, grants: &[ModelGrant], role: Role, model: &ModelName) -> Option<Assigned> {
        assigned_exactly(&self.house.options.models, grants, role, model)
    }

    /// The directories that models may look into, with the decisions that allowed them.
    pub(crate) async fn roots(&self) -> Result<eyes::Roots, Trouble> {
        let engine = self.house.engine.clone();
        Ok(self.house.store.read(move |tx| Ok(engine.roots(tx)?)).await?)
    }

    /// Whether there is work of which something could be told.
    pub(crate) async fn has_worked(&self) -> Result<bool, Trouble> {
        Ok(self.house.store.read(executions::is_any).await?)
    }

    pub(crate) async fn model_grants(&self) -> Result<Vec<ModelGrant>, Trouble> {
        let engine = self.house.engine.clone();
        Ok(self.house.store.read(move |tx| Ok(engine.models(tx)?)).await?)
    }

    /// Whether a wish that reflex does not understand has somewhere to go.
    pub(crate) async fn has_model(&self) -> bool {
        if self.house.options.models.named.iter().any(|(role, ..)| *role == Role::Proxy) {
            return true;
        }
        // A store that cannot be read is said by whoever needs it next.
        self.model_grants().await.is_ok_and(|grants| self.assigned(&grants, Role::Proxy).is_some())
    }

    pub(crate) fn has_key(&self, key: &KeySource) -> bool {
        *key == KeySource::None || (self.options.keys)(key).is_some()
    }

    pub(crate) fn asking(&self, assigned: &Assigned) -> Result<Asking, silas_agents::Error> {
        let key = (self.options.keys)(&assigned.key);
        Ok(Asking { model: self.options.client.model(&assigned.model, key)?, price: assigned.price })
    }

    /// Every role, what serves it, and what was spent.
    pub async fn models(&self) -> Result<ModelsView, Trouble> {
        let engine = self.house.engine.clone();
        let (now, caps) = (self.house.clock.now(), self.house.options.models.caps);
        let looking = self.house.store.read(move |tx| {
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
        Ok(ModelsView { models, local_only: self.house.options.models.local_only, day, month })
    }

    /// Makes the card that asks whether a model may be used. Nothing is sent anywhere before it is approved.
    pub async fn offer_model(&self, wanted: ModelGrant) -> Result<Card, Trouble> {
        // Agreed is what is sent today, whatever the one who asks believes.
        let grant = ModelGrant::new(wanted.model, wanted.roles, wanted.key, wanted.price);
        self.may_be_offered(&grant)?;
        let question = self.model_question(&grant)?;
        let asking = self.house.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
        let card = asking.await?;
        self.hub.publish_cards().await;
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
        if self.house.options.models.local_only && !grant.model.is_local() {
            return Err(Trouble::new(
                "E_CFG_MODEL",
                "The configuration says `models.local_only`, and this model is elsewhere.",
                "Choose one on this machine, or change the configuration.",
            ));
        }
        Ok(())
    }

    pub(crate) fn model_question(&self, grant: &ModelGrant) -> Result<Question, Trouble> {
        let card = self.model_card(grant, Words::model, self.house.options.plan_timeout)?;
        Ok(Question::about(card, grant.subject()))
    }

    /// The same as a step of setting it up: approved, it is followed by a test question.
    pub(crate) fn set_up_question(&self, grant: &ModelGrant) -> Result<Question, silas_approval::Error> {
        let card = self.model_card(grant, Words::model_to_test, self.house.options.plan_timeout)?;
        Ok(Question::about(Card { test_call: true, ..card }, grant.subject()))
    }

    /// A card about a model, as it would be asked now; nothing for other cards, and for one that cannot be read.
    pub(crate) fn model_asked_anew(&self, card: &Card, lasts: Duration) -> Result<Option<Card>, silas_approval::Error> {
        let payload = card.payload.as_deref().filter(|_| card.face.kind == CardKind::Model);
        let Some(grant) = payload.and_then(|payload| canonical::read::<ModelGrant>(payload).ok()) else {
            return Ok(None);
        };
        let worded = if card.test_call { Words::model_to_test } else { Words::model };
        let asked = self.model_card(&grant, worded, lasts)?;
        Ok(Some(Card { face: asked.face, offer: asked.offer, payload: asked.payload, ..card.clone() }))
    }

    /// The one place where a card about a model is made, so that none is made without looking who would answer: like the
    /// directories of a plan, what is agreed to is what was there.
    fn model_card(
        &self,
        grant: &ModelGrant,
        worded: fn(&Words, &ModelGrant) -> Face,
        lasts: Duration,
    ) -> Result<Card, silas_approval::Error> {
        let grant = ModelGrant { listener: self.listener_of(&grant.model), ..grant.clone() };
        self.house.card(worded(&self.house.words, &grant), &grant.subject(), Some(&grant), lasts)
    }

    /// Whose program listens there now, for a model on this machine; nothing where that cannot be told.
    pub(crate) fn listener_of(&self, model: &ModelName) -> Option<Listener> {
        listener::of(model, self.options.listens_at)
    }

    pub(crate) fn budget_question(&self, grant: &BudgetGrant) -> Result<Question, Trouble> {
        let subject = grant.subject();
        let card =
            self.house.card(self.house.words.budget(grant), &subject, Some(grant), self.house.options.plan_timeout)?;
        Ok(Question::about(card, subject))
    }

    /// Asks whether more may be spent, and comes back when that was answered in one way or another, or by nobody.
    pub(crate) async fn ask_for_more(&self, grant: &BudgetGrant) -> Result<(), Trouble> {
        let question = self.budget_question(grant)?;
        let mut moved = self.hub.cards_moved();
        let asking = self.house.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
        let asked = asking.await?.id;
        self.hub.publish_cards().await;
        let _waits = self.wait_at_a_cap();
        loop {
            let id = asked.clone();
            let looking = self
                .house
                .store
                .read(move |tx| Ok(cards::get(tx, &id)?.is_some_and(|card| card.state == CardState::Open)));
            if !looking.await? || moved.changed().await.is_err() {
                return Ok(());
            }
        }
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
            Err(Untested::Silent(silence)) => self.silences.note(assigned, silence.clone(), self.house.clock.now()),
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
        match agents::Minds::check(&asking, &purse).await {
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
        let noting = self.house.store.write_buffered(move |tx| {
            tx.record(&AuditEvent::ModelRefused { role, code: code.clone() })?;
            Ok(Commit(()))
        });
        if let Err(cause) = noting.await {
            tracing::error!(%cause, "a refusal could not be written down");
        }
    }
}
