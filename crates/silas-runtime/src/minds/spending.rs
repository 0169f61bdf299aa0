//! What stands between a question and the network: the limits of a turn, of a minute, of a day and of a month.
//!
//! The reserve of a call is on disk before anything is sent, and is all that counts until the call is settled; whatever is
//! cut short, by a crash or by the owner, has cost its reserve.

use crate::Trouble;
use crate::house::lock;
use crate::hub::AskedModel;
use crate::minds::Minds;
use crate::view::AskedModelView;
use silas_agents::{Answered, Error, Meter, Reply, Settled, Worth};
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::model::{BudgetGrant, BudgetKind, ModelName, Role};
use silas_core::work::Budget;
use silas_core::{CallId, Digest, ExecutionId, MessageId, Scope, Timestamp};
use silas_gates::scrub;
use silas_store::model_calls::{self, NewCall, OverCap};
use silas_store::{Commit, answers};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

mod patience;
mod said;

pub(crate) use patience::Waits;
pub(crate) use said::{failed, no_key, no_more_allowed, not_agreed, over_cap, plan_used_up, too_fast};

/// Pays for one message.
pub(crate) struct Purse<'a> {
    minds: &'a Minds,
    message: Option<MessageId>,
    role: Role,
    model: String,
    /// Tokens so far, as they were; of a message, a call that is under way at its largest.
    tokens: AtomicU64,
    spent: AtomicU64,
    /// What a plan allows, if this pays for one; else what a message may use up.
    plan: Option<Budget>,
    keeping: Keeping,
    /// Who is told when this stands still.
    bystander: Option<&'a dyn Waits>,
    /// Since when the provider has not answered the question that is being asked.
    unanswered_since: Mutex<Option<Timestamp>>,
}

/// Where the answers of models are kept, so that a restart need not pay for them again.
enum Keeping {
    /// Nowhere, or by somebody else: the dialogue of work keeps its own (`work/run.rs`).
    Nothing,
    /// Until the message has its answer, by the very question.
    Turn(MessageId),
    /// Until the work has its end, by what was asked for and the how many-th question that took. Not by its words: what checks
    /// print goes into them, and that is never quite the same twice.
    Work { execution: ExecutionId, occasion: String, n_asked: AtomicU64 },
}

/// One kept answer.
enum Place {
    Turn(MessageId, Digest),
    Work(ExecutionId, Digest),
}

/// A call that is under way.
pub(crate) struct Held {
    call: CallId,
    tokens_max: u64,
    asked: AskedModel,
}

/// Why nothing was sent.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A day or a month is used up, and by how much it would be exceeded.
    Cap(Exceeded),
    Rate {
        per_minute: u32,
    },
    /// The message itself has used up what one message may.
    Turn,
    /// The plan has used up what it may: in words, what of.
    Plan(&'static str),
    Store(Trouble),
}

#[derive(Debug)]
pub(crate) struct Exceeded {
    pub(crate) over: OverCap,
    pub(crate) reserved: u64,
}

/// How often somebody who waits looks at the clock.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// Of a model's name, where it is shown.
const MODEL_CHARS_MAX: usize = 60;
const MINUTE: Duration = Duration::from_secs(60);
/// What a card adds is a multiple of this, so that it is not asked for again after each question.
const STEP_MICROUSD: u64 = 1_000_000;

/// Who asks in a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Owners,
    Work,
}

/// Of the questions in a minute. A third is the owner's own, whatever else goes on; of one question nothing can be kept.
fn share_of_work(per_minute: u32) -> u32 {
    (per_minute - per_minute.div_ceil(3)).max(1)
}

impl<'a> Purse<'a> {
    pub(crate) fn new(minds: &'a Minds, message: Option<MessageId>, role: Role, model: &ModelName) -> Self {
        let (tokens, spent) = (AtomicU64::new(0), AtomicU64::new(0));
        let keeping = message.clone().map_or(Keeping::Nothing, Keeping::Turn);
        let model = model.to_string();
        let (bystander, unanswered_since) = (None, Mutex::default());
        Purse { minds, message, role, model, tokens, spent, plan: None, keeping, bystander, unanswered_since }
    }

    /// Pays for one thing that whoever works asks the planner for.
    pub(crate) fn of_consulting(minds: &'a Minds, model: &ModelName, execution: &ExecutionId, occasion: &str) -> Self {
        let (execution, occasion) = (execution.clone(), occasion.to_owned());
        let keeping = Keeping::Work { execution, occasion, n_asked: AtomicU64::new(0) };
        Purse { keeping, ..Purse::new(minds, None, Role::Planner, model) }
    }

    /// Pays for a piece of work, which has used up something before if it is begun again.
    pub(crate) fn of_work(minds: &'a Minds, model: &ModelName, budget: &Budget, used: (u64, u64)) -> Self {
        let (tokens, spent) = (AtomicU64::new(used.0), AtomicU64::new(used.1));
        Purse { tokens, spent, plan: Some(budget.clone()), ..Purse::new(minds, None, Role::Executor, model) }
    }

    /// Pays for what is found out for a message.
    pub(crate) fn of_research(minds: &'a Minds, model: &ModelName, budget: &Budget, message: &MessageId) -> Self {
        Purse { keeping: Keeping::Turn(message.clone()), ..Purse::of_work(minds, model, budget, (0, 0)) }
    }

    /// The same, where somebody is told when it stands still.
    pub(crate) fn telling(self, bystander: &'a dyn Waits) -> Self {
        Purse { bystander: Some(bystander), ..self }
    }

    /// Something else that the same piece of work was paid for counts towards its limit.
    pub(crate) fn also_spent(&self, microusd: u64) {
        self.spent.fetch_add(microusd, Ordering::Relaxed);
    }

    /// What the plan allows, if this pays for one.
    pub(crate) fn plan(&self) -> Option<&Budget> {
        self.plan.as_ref()
    }

    /// Tokens and micro-dollars so far.
    pub(crate) fn used(&self) -> (u64, u64) {
        (self.tokens.load(Ordering::Relaxed), self.spent())
    }

    /// The same for a message that has used up so many tokens in other hands.
    pub(crate) fn having_used(self, tokens: u64) -> Self {
        Purse { tokens: AtomicU64::new(tokens), ..self }
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    /// The next question begins.
    fn count_question(&self) {
        if let Keeping::Work { n_asked, .. } = &self.keeping {
            n_asked.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Where the answer to the question that is being asked is kept. Another model's answer to it is another answer.
    fn place_of(&self, question: &Digest) -> Option<Place> {
        let of_this_model = |what: String| Digest::of(format!("{}\n{what}", self.model).as_bytes());
        match &self.keeping {
            Keeping::Nothing => None,
            Keeping::Turn(message) => Some(Place::Turn(message.clone(), of_this_model(question.to_string()))),
            Keeping::Work { execution, occasion, n_asked } => {
                let n = n_asked.load(Ordering::Relaxed);
                Some(Place::Work(execution.clone(), of_this_model(format!("{occasion}\n{n}"))))
            }
        }
    }

    async fn write_down(&self, worth: Worth) -> Result<CallId, Refused> {
        let id = CallId::new(self.minds.house.random.as_ref());
        let call = NewCall {
            id: id.clone(),
            message: self.message.clone(),
            role: self.role,
            model: self.model.clone(),
            at: self.minds.house.clock.now(),
            reserved: worth.microusd_max,
        };
        let caps = self.minds.house.options.models.caps;
        let writing = self.minds.house.store.write(move |tx| {
            let reserved = model_calls::reserve(tx, &Scope::Owner, &call, caps)?;
            if reserved.is_ok() {
                tx.record(&AuditEvent::ModelCalled {
                    call: call.id.clone(),
                    message: call.message.clone(),
                    role: call.role,
                    model: call.model.clone(),
                    reserved_microusd: in_a_ledger(call.reserved),
                })?;
            }
            Ok(Commit(reserved))
        });
        match writing.await {
            Ok(Ok(())) => Ok(id),
            Ok(Err(over)) => Err(Refused::Cap(Exceeded { over, reserved: worth.microusd_max })),
            Err(cause) => Err(Refused::Store(cause.into())),
        }
    }
}

/// The ledger holds no number that another reader could not take exactly.
fn in_a_ledger(number: u64) -> u64 {
    number.min((1 << 53) - 1)
}

impl Meter for Purse<'_> {
    type Receipt = Held;
    type Refusal = Refused;

    async fn recall(&self, question: &Digest) -> Option<Reply> {
        self.count_question();
        let place = self.place_of(question)?;
        let looking = self.minds.house.store.read(move |tx| match &place {
            Place::Turn(message, question) => answers::of_turn(tx, message, question),
            Place::Work(execution, question) => answers::of_work(tx, execution, question),
        });
        match looking.await {
            Ok(kept) => serde_json::from_value(kept?).ok(),
            Err(cause) => {
                tracing::error!(%cause, "what a model answered cannot be read, so it is asked again");
                None
            }
        }
    }

    async fn reserve(&self, worth: Worth) -> Result<Held, Refused> {
        let limits = &self.minds.house.options.models;
        match &self.plan {
            Some(budget) => {
                let (tokens, spent) = self.used();
                if tokens.saturating_add(worth.tokens_max) > budget.max_tokens {
                    return Err(Refused::Plan("tokens"));
                }
                if spent.saturating_add(worth.microusd_max) > budget.max_cost_microusd {
                    return Err(Refused::Plan("money"));
                }
                // Nobody waits at a screen for this call; it comes when its minute does.
                if !self.minds.may_call_now(limits.calls_per_minute, Whose::Work) {
                    let _waiting = self.waiting("Waiting: models were asked often enough in this minute");
                    while !self.minds.may_call_now(limits.calls_per_minute, Whose::Work) {
                        tokio::time::sleep(LOOK_PAUSE).await;
                    }
                }
            }
            None => {
                let so_far = self.tokens.fetch_add(worth.tokens_max, Ordering::Relaxed);
                if so_far.saturating_add(worth.tokens_max) > limits.turn_tokens_max {
                    return Err(Refused::Turn);
                }
                if !self.minds.may_call_now(limits.calls_per_minute, Whose::Owners) {
                    return Err(Refused::Rate { per_minute: limits.calls_per_minute });
                }
            }
        }
        let call = match self.write_down(worth).await {
            // Work stands still at a cap until the owner has answered. A message waits in the queue.
            Err(Refused::Cap(exceeded)) if self.plan.is_some() => {
                let _waiting = self.waiting("Waiting for your answer in Review");
                self.minds.ask_for_more(&exceeded.extension()).await.map_err(Refused::Store)?;
                self.write_down(worth).await?
            }
            written => written?,
        };
        fail::point(FailPoint::ModelReserved);
        let asked = AskedModelView {
            model: scrub::visible_line(&self.model, MODEL_CHARS_MAX),
            role: self.role,
            for_work: self.plan.is_some() || self.message.is_none(),
            message: self.message.clone(),
            since: self.minds.house.clock.now(),
            waits_until: None,
        };
        let asked = self.minds.hub.asked_models.ask(&call, asked);
        Ok(Held { call, tokens_max: worth.tokens_max, asked })
    }

    async fn wait(&self, error: &Error, n: u32) -> Result<bool, Refused> {
        Ok(self.wait_for_provider(error, n).await)
    }

    async fn settle(&self, held: Held, settled: Settled, answered: Option<Answered<'_>>) {
        let Held { call, tokens_max, asked } = held;
        drop(asked);
        if answered.is_some() {
            *lock(&self.unanswered_since) = None;
        }
        self.spent.fetch_add(settled.microusd, Ordering::Relaxed);
        let told = settled.input_tokens.saturating_add(settled.output_tokens);
        let is_known = told > 0 || settled.microusd == 0;
        match self.plan {
            Some(_) => {
                self.tokens.fetch_add(if is_known { told } else { tokens_max }, Ordering::Relaxed);
            }
            // Of a message it was counted at its largest until now.
            None if is_known => {
                self.tokens.fetch_sub(tokens_max.saturating_sub(told), Ordering::Relaxed);
            }
            None => {}
        }
        let kept = answered.and_then(|Answered { question, reply }| {
            Some((self.place_of(&question)?, serde_json::to_value(reply).ok()?))
        });
        // Lost with the power, the reserve counts, which is never less than it should be.
        let writing = self.minds.house.store.write_buffered(move |tx| {
            let Settled { outcome, input_tokens, output_tokens, microusd } = settled.clone();
            if model_calls::settle(tx, &call, microusd, input_tokens, output_tokens)? {
                tx.record(&AuditEvent::ModelAnswered {
                    call: call.clone(),
                    outcome: outcome.to_owned(),
                    input_tokens: in_a_ledger(input_tokens),
                    output_tokens: in_a_ledger(output_tokens),
                    microusd: in_a_ledger(microusd),
                })?;
            }
            match &kept {
                Some((Place::Turn(message, question), reply)) => answers::keep_for_turn(tx, message, question, reply)?,
                Some((Place::Work(execution, question), reply)) => {
                    answers::keep_for_work(tx, execution, question, reply)?;
                }
                None => {}
            }
            Ok(Commit(()))
        });
        if let Err(cause) = writing.await {
            tracing::error!(%cause, "what a call cost could not be written down; its reserve counts");
        }
    }
}

impl Minds {
    /// Counts a call, unless this minute has had enough of them. Work leaves a third of it to the owner's own words.
    fn may_call_now(&self, per_minute: u32, whose: Whose) -> bool {
        let now = self.house.clock.now();
        let mut calls = lock(&self.calls);
        while calls.front().is_some_and(|(at, _)| now.since(*at) >= MINUTE) {
            calls.pop_front();
        }
        let of_work = calls.iter().filter(|(_, whose)| *whose == Whose::Work).count();
        let may = calls.len() < per_minute as usize
            && (whose == Whose::Owners || of_work < share_of_work(per_minute) as usize);
        if may {
            calls.push_back((now, whose));
        }
        may
    }
}

impl Exceeded {
    /// What would have been enough, rounded up.
    pub(crate) fn extension(&self) -> BudgetGrant {
        let short = self.over.spent.saturating_add(self.reserved).saturating_sub(self.over.cap);
        let microusd = in_a_ledger(short.div_ceil(STEP_MICROUSD).max(1).saturating_mul(STEP_MICROUSD));
        BudgetGrant {
            kind: BudgetKind::Budget,
            period: self.over.period.clone(),
            microusd,
            cap_microusd: in_a_ledger(self.over.cap),
            spent_microusd: in_a_ledger(self.over.spent),
        }
    }
}
