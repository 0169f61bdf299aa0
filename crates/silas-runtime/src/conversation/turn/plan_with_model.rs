//! Step 7, second half: the planner writes a plan, which becomes a card like any other. What a model says about its own
//! plan decides nothing: where it works, what it reaches and how it is judged is read from the plan, looked up on disk and
//! shown.

use super::ask::History;
use super::route::{Route, cannot_plan};
use super::{Turn, inquire};
use crate::Trouble;
use crate::assignment::Assigned;
use crate::conversation::Conversation;
use crate::minds::research::Desk;
use crate::minds::search::WEB_SEARCH;
use crate::minds::spending::{self, Purse};
use crate::post::PlanAnswer;
use crate::words::date;
use serde_json::json;
use silas_agents::tools::{Purpose, chain};
use silas_agents::{AgentResponse, Asking, Break, Ended, Minds, Outcome, Stop, Why};
use silas_core::boundary::Projected;
use silas_core::card::Risk;
use silas_core::exits::Exits;
use silas_core::inquiry::Handed;
use silas_core::interaction::{Signals, resolve_mode};
use silas_core::mandate::Mandate;
use silas_core::model::{ModelGrant, ModelName, Role};
use silas_core::plan;
use silas_core::planned::Planned;
use silas_core::seen::Sight;
use silas_core::work::{Budget, Definition, WorkItem};
use silas_core::{Taint, Tainted, WorkItemId};
use silas_gates::{injection, scrub};
use silas_store::work_items;
use std::sync::Arc;

/// Longest title; the wish stands in full on the card.
const TITLE_CHARS_MAX: usize = 60;

impl Conversation {
    /// What the planner answers, or what to say instead.
    pub(super) async fn ask_planner(
        self: &Arc<Self>,
        (turn, handed): (&Turn, &Handed),
        conversation: History,
        assigned: &Assigned,
        grants: &[ModelGrant],
        purse: &Purse<'_>,
    ) -> Result<Result<PlanAnswer, Route>, Trouble> {
        let earlier = self.earlier_work(handed.continuation_of.as_deref()).await?;
        let directories: Vec<String> = self.house.roots().await?.into_iter().map(|place| place.path).collect();
        // Who has read what others wrote may say it again.
        let reason = match conversation.taint {
            Taint::Owner | Taint::Auth => handed.reason.clone(),
            Taint::External => injection::fenced(&handed.reason),
        };
        let payload = json!({
            "date": date(self.house.clock.now()),
            "directories": directories,
            "history": conversation.entries,
            "wish": turn.message.text,
            "answered": inquire::told(handed),
            "may_ask": handed.may_be_asked_about(),
            "reason": reason,
            "continuation_of": earlier.as_ref().map(WorkItemId::as_str),
            "can_read": false,
            "has_executor": self.minds.assigned(grants, Role::Executor).is_some(),
            "has_search": self.minds.search().is_some(),
        });
        let (projected, asking) = match self.admit(turn, Role::Planner, assigned, grants, payload).await? {
            Ok(admitted) => admitted,
            Err(route) => return Ok(Err(route)),
        };
        let asked = Asked { turn, said: conversation.sight(), assigned, asking, projected };
        let answer = self.planners_answer(&asked, grants, purse).await?;
        if answer.is_ok() {
            self.minds.silences.heard(assigned);
        }
        let by = assigned.model.clone();
        // What it was handed with the wish it has seen as well.
        let shown = |mut shown: Vec<WorkItemId>| {
            shown.extend(earlier.clone());
            shown
        };
        Ok(answer.map(|(answer, told_of)| PlanAnswer {
            taint: answer.taint(),
            response: answer.peek().clone(),
            by,
            shown: shown(told_of),
        }))
    }

    /// What is made of the planner's answer: its question, its words, or its plan as it can be carried out here.
    pub(super) async fn make_of_plan(
        self: &Arc<Self>,
        turn: &Turn,
        handed: &Handed,
        planned: &PlanAnswer,
    ) -> Result<Route, Trouble> {
        let PlanAnswer { response, taint, by, shown } = planned;
        let asks = response.question.as_ref().filter(|_| handed.may_be_asked_about());
        if let Some(route) = asks.and_then(|asks| self.inquire(turn, handed, asks, *taint, by)) {
            return Ok(route);
        }
        let Some(markdown) = response.plan() else {
            return Ok(Route::quote(Tainted::new(response.message.clone(), *taint)));
        };
        let grants = &self.minds.model_grants().await?;
        let named = response.plan_action.as_ref().and_then(|action| action.continuation_of.as_deref());
        if let Some(named) = named.filter(|named| !shown.iter().any(|id| id.as_str() == *named)) {
            return Ok(Route::refuse(format!(
                "The model's plan says that it goes on with `{}`, which is no work that it was told of, so it is not offered. \
                 Say again what it should go on with.",
                scrub::visible_line(named, 80)
            )));
        }
        let earlier = self.earlier_work(named.or(handed.continuation_of.as_deref())).await?;
        let written = plan::parse(markdown.trim_start().as_bytes())
            .map_err(|bad| Trouble::new("E_WORK_PLAN", &format!("The plan cannot be read. {bad}."), "Say it again."))?;
        let written = match self.with_executor(written, grants)? {
            Ok(written) => written,
            Err(route) => return Ok(route),
        };
        let d = written.definition();
        let d = match taint {
            Taint::Owner | Taint::Auth => d.clone(),
            Taint::External => d.spelled_out(&|name| inquire::names(&turn.message, handed, name), None),
        };
        self.propose_written(turn, handed, response, &d, earlier, by).await
    }

    /// What the planner says, after having had something found out where somebody can; or what to say instead.
    async fn planners_answer(
        self: &Arc<Self>,
        asked: &Asked<'_>,
        grants: &[ModelGrant],
        purse: &Purse<'_>,
    ) -> Result<Result<(Tainted<AgentResponse>, Vec<WorkItemId>), Route>, Trouble> {
        let Asked { turn, said, assigned, asking, projected } = asked;
        let useless = |why: &str| {
            Route::refuse(format!(
                "The planner answered twice in a form that cannot be used ({}). Nothing was planned.",
                scrub::visible_line(why, 160)
            ))
        };
        let desk = Desk::open(&self.minds, &turn.message, said.clone(), grants).await?;
        if !desk.is_of_use() {
            return Ok(match Minds::plan(asking, projected, purse).await {
                Ok(Outcome::Usable(response)) => Ok((Tainted::new(response, said.taint), Vec::new())),
                Ok(Outcome::Unusable { why }) => Err(useless(&why)),
                Err(stop) => Err(self.not_asked(Role::Planner, stop).await?),
            });
        }
        let run = desk.planning(assigned, desk.told(projected.payload()));
        let tools = desk.tools();
        let names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let tools = chain(tools, Purpose::Research, names);
        Ok(match Minds::plan_with(asking, projected, &tools, &run, &desk.seen, purse).await {
            // Made of everything that it has read, and had read for it.
            Ok(Ended::Answer(response)) => Ok((Tainted::new(response, desk.taint()), desk.shown.list())),
            Ok(Ended::GaveUp(Why::Form(why) | Why::Mistakes(why))) => Err(useless(&why)),
            Ok(Ended::GaveUp(Why::Calls(n))) => Err(Route::refuse(format!(
                "The planner was asked {n} times and came to no plan. Say it in smaller steps."
            ))),
            Err(Break::Halted(trouble)) => return Err(trouble),
            Err(Break::Refused(refused)) => Err(self.not_asked(Role::Planner, Stop::Refused(refused)).await?),
            Err(Break::Failed(error)) => Err(self.not_asked(Role::Planner, Stop::Failed(error)).await?),
        })
    }

    async fn propose_written(
        &self,
        turn: &Turn,
        handed: &Handed,
        response: &AgentResponse,
        d: &Definition,
        earlier: Option<WorkItemId>,
        model: &ModelName,
    ) -> Result<Route, Trouble> {
        let asked = inquire::owners_words(&turn.message, handed);
        if let Some(unasked) = unasked(d, &|name| inquire::names(&turn.message, handed, name)) {
            return Ok(Route::refuse(format!(
                "The model's plan wants {unasked}, which you did not name, so it is not offered. Say it again and name it, \
                 or say it without."
            )));
        }
        let wanted = d.directories.iter().map(|directory| (directory.path.clone(), directory.access)).collect();
        let found = match self.directories(wanted).await? {
            Ok(found) => found,
            Err(question) => return Ok(question),
        };
        if let Some(trouble) = found.refusal(d) {
            return Err(trouble);
        }
        let (warning, directories) = (found.warning(""), found.directories);
        if let Some(question) = self.secret_first(d, &directories)? {
            return Ok(question);
        }
        let toolchains = self.toolchains(&directories).await?;
        let definition = Definition {
            id: WorkItemId::new(self.house.random.as_ref()),
            title: scrub::visible_line(&turn.message.text, TITLE_CHARS_MAX),
            budget: within_the_usual(d, self.house.options.work_secs),
            // On a card a model's prose is a quotation, and what the owner said stands apart from it.
            body: d.body.trim().to_owned(),
            planned: Some(Planned { by: model.clone(), asked: asked.clone() }),
            parent: None,
            spawned_by: None,
            follow_up_of: earlier,
            domain: None,
            directories,
            toolchains,
            restores: None,
            merges: None,
            // What stands in the owner's own words needs no declaring; a plan that a model wrote cannot claim any.
            exits: Exits { typed: Exits::of_words(&turn.message.text).typed, ..d.exits.clone() },
            ..d.clone()
        };
        let risk = silas_core::risk::of_plan(&definition);
        let signals = Signals {
            proxy_mode: Some(handed.interaction_mode),
            planner_override: response.plan_action.as_ref().and_then(|action| action.interaction_mode_override),
            risk_requires_confirmation: risk >= Risk::High,
            register: handed.interaction_register,
        };
        let definition = Definition { interaction_mode: resolve_mode(signals), ..definition };
        let item = WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))?;
        // Every plan of a model's asks, whatever `needs_approval` says.
        Ok(super::route::in_review_saying(&response.message, item).warning(warning))
    }

    /// The plan with the model that works on it, or what to do first.
    pub(super) fn with_executor(
        &self,
        item: WorkItem,
        grants: &[ModelGrant],
    ) -> Result<Result<WorkItem, Route>, Trouble> {
        let Some(mandate) = &item.definition().executor else { return Ok(Ok(item)) };
        let Some(assigned) = self.minds.assigned(grants, Role::Executor) else {
            return Ok(Err(Route::refuse(
                "The plan leaves the work to a model, and none is set up for that. `silas model add --for executor` adds \
                 one; or say it as: run COMMAND in ~/DIRECTORY and check with COMMAND.",
            )));
        };
        if !assigned.is_agreed {
            return Ok(Err(self.ask_to_agree(&assigned, grants)));
        }
        if !self.minds.has_key(&assigned.key) {
            return Ok(Err(Route::refuse(spending::no_key(&assigned).to_string())));
        }
        if mandate.has(WEB_SEARCH) && self.minds.search().is_none() {
            return Ok(Err(Route::refuse(
                "The plan searches the web, and no search server is set up (`search.url`). Nothing was planned.",
            )));
        }
        let mandate = Mandate { model: Some(assigned.model), ..mandate.clone() };
        let definition = Definition { executor: Some(mandate), ..item.definition().clone() };
        Ok(Ok(WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))?))
    }

    /// The work that is gone on with, if there is such work.
    async fn earlier_work(&self, named: Option<&str>) -> Result<Option<WorkItemId>, Trouble> {
        let Some(id) = named.and_then(|id| WorkItemId::parse(id).ok()) else { return Ok(None) };
        Ok(self.house.store.read(move |tx| Ok(work_items::get(tx, &id)?.map(|_| id))).await?)
    }
}

pub(super) fn nobody() -> Route {
    Route::refuse(
        "That takes a plan, and no model is set up for planning. `silas model add` adds one; or say it as: run COMMAND in \
         ~/DIRECTORY and check with COMMAND.",
    )
}

/// A question to the planner.
struct Asked<'a> {
    turn: &'a Turn,
    /// What it is told at the beginning.
    said: Sight,
    assigned: &'a Assigned,
    asking: Asking,
    projected: Projected,
}

/// A model may plan with less than usual, and not with more; with nothing for models where none takes part.
fn within_the_usual(d: &Definition, work_secs: u64) -> Budget {
    let planned = &d.budget;
    let usual = Budget { max_wall_time_seconds: work_secs, ..Budget::default() };
    let budget = Budget {
        max_tokens: planned.max_tokens.min(usual.max_tokens),
        max_cost_microusd: planned.max_cost_microusd.min(usual.max_cost_microusd),
        max_wall_time_seconds: usual.max_wall_time_seconds,
        max_attempts: planned.max_attempts.min(usual.max_attempts),
        max_planner_calls: planned.max_planner_calls.min(usual.max_planner_calls),
    };
    if d.executor.is_some() { budget } else { budget.without_models() }
}

/// Hosts, secrets and ports are for the owner to name: what a model adds may have been put into its head by a text that it
/// read.
fn unasked(d: &Definition, is_named: &dyn Fn(&str) -> bool) -> Option<String> {
    if !d.hosts_for.is_empty() {
        return Some("a host for a single command".to_owned());
    }
    let hosts = d.hosts.iter().map(ToString::to_string).find(|host| !is_named(host));
    let secrets = || d.secrets.iter().map(ToString::to_string).find(|secret| !is_named(secret));
    let quoted = |what: &str, name: String| format!("{what} `{}`", scrub::visible_line(&name, 80));
    let host = hosts.map(|host| quoted("the host", host));
    let named = host.or_else(|| secrets().map(|secret| quoted("the secret", secret)));
    named.or_else(|| d.callback_port.map(|port| format!("to listen at port {port}")))
}
