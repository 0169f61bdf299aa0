//! The models at hand. Which one serves whom is decided by the owner and told with each question; this room keeps the
//! connections, and what it learnt about each model.

use crate::client::{self, Connection, HttpModel, Learnt};
use crate::dialogue::{Bounds, Break, Dialogue, Ended, Script, Why};
use crate::executor::ExecutorAgentOutput;
use crate::meter::Meter;
use crate::model::{Effort, Model};
use crate::prompt::Prompt;
use crate::proxy::{self, RouteDecision, Said};
use crate::structured::{self, Outcome, Question, Shaped, Stop};
use crate::tools::Toolset;
use crate::{AgentResponse, Error, Timeouts, planner};
use schemars::JsonSchema;
use serde::Deserialize;
use silas_core::boundary::Projected;
use silas_core::model::{ModelName, Price, Role};
use silas_core::reflex::UNDERSTOOD;
use silas_core::secret::Secret;
use silas_core::seen::Seen;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens that an answer may have. A page of prose, and a plan with its commands.
const PROXY_OUTPUT_MAX: u32 = 1_500;
const PLANNER_OUTPUT_MAX: u32 = 4_000;
/// A file of some length, written in one call.
const EXECUTOR_OUTPUT_MAX: u32 = 4_000;
/// How often a planner is asked for one plan: what it reads and wants found out, and what it makes of it.
const PLANNER_CALLS_MAX: u32 = 16;
/// How often a proxy is asked about one message: somebody waits for the answer.
const PROXY_CALLS_MAX: u32 = 12;
const CHECK_OUTPUT_MAX: u32 = 200;

pub struct Minds {
    timeouts: Timeouts,
    /// How hard each is asked to think; as it likes, unless the owner says so.
    effort: Option<Effort>,
    /// Made when it is first needed: without a model nothing is prepared for one.
    connection: Mutex<Option<Connection>>,
    /// What each model's answers have shown about it. Bounded by what the owner allows.
    learnt: Mutex<BTreeMap<ModelName, Arc<Learnt>>>,
}

/// Everything about a question but the question.
pub struct Asking {
    pub model: Arc<dyn Model>,
    pub price: Price,
}

/// What `silas model check` asks for: whether the model can keep to a form at all.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The word "ready".
    pub word: String,
}

impl Shaped for Check {
    const NAME: &'static str = "check";
    const ABOUT: &'static str = "Say the word.";

    fn check(&self) -> Result<(), String> {
        if self.word.trim().eq_ignore_ascii_case("ready") { Ok(()) } else { Err("`word` must be: ready".to_owned()) }
    }
}

impl Minds {
    pub fn new(timeouts: Timeouts) -> Self {
        Minds { timeouts, effort: None, connection: Mutex::new(None), learnt: Mutex::new(BTreeMap::new()) }
    }

    /// The same, each asked to think this hard.
    pub fn thinking(self, effort: Option<Effort>) -> Self {
        Minds { effort, ..self }
    }

    /// What is said where there is no model.
    pub fn without() -> String {
        let mut say = String::from(
            "That needs a model, and none is set up. Say `add a model`, or use `silas model add`; nothing is sent \
             anywhere before you agree. Commands, checks and tasks work without one:",
        );
        for sentence in UNDERSTOOD {
            say.push_str("\n• ");
            say.push_str(sentence);
        }
        say
    }

    /// A model as it can be asked now.
    pub fn model(&self, name: &ModelName, key: Option<Secret>) -> Result<Arc<dyn Model>, Error> {
        let learnt =
            self.learnt.lock().unwrap_or_else(PoisonError::into_inner).entry(name.clone()).or_default().clone();
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match connection.as_ref() {
            Some(connection) => connection.clone(),
            None => connection.insert(client::connection(self.timeouts)?).clone(),
        };
        Ok(Arc::new(HttpModel::new(name.clone(), key, connection, (self.timeouts, self.effort), learnt)))
    }

    /// Asks the proxy. `said` hears its answer sentence by sentence.
    pub async fn route<M: Meter>(
        asking: &Asking,
        projected: &Projected,
        meter: &M,
        said: &mut (dyn FnMut(Said) + Send),
    ) -> Result<Outcome<RouteDecision>, Stop<M::Refusal>> {
        let question = question(projected, asking.price).map_err(Stop::Failed)?;
        proxy::route(asking.model.as_ref(), &question, meter, said).await
    }

    /// Asks a proxy that may look something up first. One that cannot call tools is asked `projected`, without them.
    pub async fn route_with<M: Meter, R: Script>(
        asking: &Asking,
        projected: &Projected,
        (tools, seen): (&dyn Toolset<R::Error>, &Mutex<Seen>),
        run: &R,
        meter: &M,
        said: &mut (dyn FnMut(Said) + Send),
    ) -> Result<Ended<RouteDecision>, Break<M::Refusal, R::Error>> {
        let bounds = Bounds { model_calls_max: PROXY_CALLS_MAX, output_tokens_max: PROXY_OUTPUT_MAX };
        let dialogue = Dialogue { model: asking.model.as_ref(), price: asking.price, tools, seen, bounds };
        match proxy::route_with(&dialogue, run, meter, said).await {
            Err(Break::Failed(error)) if error.is_about_form() => {
                structured_end(Minds::route(asking, projected, meter, said).await)
            }
            ended => ended,
        }
    }

    /// Asks the planner.
    pub async fn plan<M: Meter>(
        asking: &Asking,
        projected: &Projected,
        meter: &M,
    ) -> Result<Outcome<AgentResponse>, Stop<M::Refusal>> {
        let question = question(projected, asking.price).map_err(Stop::Failed)?;
        planner::plan(asking.model.as_ref(), &question, meter).await
    }

    /// Asks a planner that may have something found out first. One that cannot call tools is asked without.
    pub async fn plan_with<M: Meter, R: Script>(
        asking: &Asking,
        projected: &Projected,
        tools: &dyn Toolset<R::Error>,
        run: &R,
        seen: &Mutex<Seen>,
        meter: &M,
    ) -> Result<Ended<AgentResponse>, Break<M::Refusal, R::Error>> {
        let bounds = Bounds { model_calls_max: PLANNER_CALLS_MAX, output_tokens_max: PLANNER_OUTPUT_MAX };
        let dialogue = Dialogue { model: asking.model.as_ref(), price: asking.price, tools, seen, bounds };
        match dialogue.hold(run, meter, &mut |_| {}).await {
            Err(Break::Failed(error)) if error.is_about_form() => {
                structured_end(Minds::plan(asking, projected, meter).await)
            }
            ended => ended,
        }
    }

    /// Has the executor work with these tools until it says that it is done, or a limit ends it.
    pub async fn execute<M: Meter, R: Script>(
        asking: &Asking,
        tools: &dyn Toolset<R::Error>,
        run: &R,
        seen: &Mutex<Seen>,
        meter: &M,
        model_calls_max: u32,
    ) -> Result<Ended<ExecutorAgentOutput>, Break<M::Refusal, R::Error>> {
        let bounds = Bounds { model_calls_max, output_tokens_max: EXECUTOR_OUTPUT_MAX };
        let dialogue = Dialogue { model: asking.model.as_ref(), price: asking.price, tools, seen, bounds };
        dialogue.hold(run, meter, &mut |_| {}).await
    }

    /// One small question with nothing of the owner's in it.
    pub async fn check<M: Meter>(asking: &Asking, meter: &M) -> Result<Outcome<Check>, Stop<M::Refusal>> {
        let question = Question {
            system: "You are being tested.".to_owned(),
            user: "Answer with the word: ready".to_owned(),
            output_tokens_max: CHECK_OUTPUT_MAX,
            price: asking.price,
        };
        structured::ask(asking.model.as_ref(), &question, meter, &mut |_| {}).await
    }
}

/// What a single question came to, told like the end of a dialogue.
fn structured_end<T, R, E>(ended: Result<Outcome<T>, Stop<R>>) -> Result<Ended<T>, Break<R, E>> {
    match ended {
        Ok(Outcome::Usable(answer)) => Ok(Ended::Answer(answer)),
        Ok(Outcome::Unusable { why }) => Ok(Ended::GaveUp(Why::Form(why))),
        Err(Stop::Refused(refusal)) => Err(Break::Refused(refusal)),
        Err(Stop::Failed(error)) => Err(Break::Failed(error)),
    }
}

fn question(projected: &Projected, price: Price) -> Result<Question, Error> {
    let Prompt { system, user } = Prompt::render(projected)?;
    let output_tokens_max = match projected.role() {
        Role::Proxy => PROXY_OUTPUT_MAX,
        Role::Planner => PLANNER_OUTPUT_MAX,
        Role::Executor => EXECUTOR_OUTPUT_MAX,
    };
    Ok(Question { system, user, output_tokens_max, price })
}
