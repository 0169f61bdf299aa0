//! Finding something out for a plan: the planner asks, somebody with nothing but eyes looks, and what was found comes back
//! in a few sentences. (RUNTIME §19.4, §19.5.1)
//!
//! Everything here reads. Files are read by the launcher, within the directories that the owner allowed; tools with effects
//! do not exist in these runs. No approval is needed, and none is used up.

use crate::Trouble;
use crate::assignment::Assigned;
use crate::minds::Minds;
use crate::minds::earlier_work::{EarlierWork, Shown};
use crate::minds::eyes::{self, Roots};
use crate::minds::reading::{Reading, call_limits};
use crate::minds::search::WebSearch;
use crate::minds::spending::{self, Purse};
use crate::words::date;
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Purpose, Tool, chain};
use silas_agents::{self as agents, Asking, Ended, check_plan};
use silas_core::exits::Exits;
use silas_core::message::Message;
use silas_core::model::{ModelGrant, Role};
use silas_core::seen::{Seen, Sight};
use silas_core::taint::Source;
use silas_core::tool::{Spec, object};
use silas_core::work::Budget;
use silas_core::{MessageId, Taint, Tainted};
use silas_gates::calls::CallCounts;
use silas_gates::{injection, scrub};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long one piece of research may take, and how many there are for a plan.
const RESEARCH_TIME_MAX: Duration = Duration::from_secs(120);
const RESEARCH_MAX: usize = 5;
/// Questions to the model in one piece of research, and calls of tools.
const MODEL_CALLS_MAX: u32 = 10;
const TOOL_CALLS_MAX: u32 = 30;
const QUESTION_CHARS_MAX: u64 = 1_000;

/// What somebody who looks has: eyes, and the web where it can be searched.
fn tools_of_research<'a>(minds: &'a Minds, roots: &'a Roots) -> Vec<Box<dyn Tool<Trouble> + 'a>> {
    let mut tools = eyes::all(minds, roots);
    if let Some(search) = minds.search() {
        tools.push(Box::new(WebSearch::new(search)));
    }
    tools
}

/// Who finds something out for the planner.
struct Researcher<'a> {
    assigned: Assigned,
    asking: Asking,
    /// What research costs is counted apart: it would otherwise eat up what the planner needs to say its answer.
    purse: Purse<'a>,
}

/// What the planner has besides its own head, for one message.
pub(crate) struct Desk<'a> {
    minds: &'a Minds,
    message: MessageId,
    /// Who looks into what takes long, if somebody is set up for it.
    researcher: Option<Researcher<'a>>,
    roots: Roots,
    /// Answers to questions that were asked before; the same one is not looked into twice.
    found: Mutex<BTreeMap<String, Tainted<String>>>,
    exits: Exits,
    /// What the planner has read. Whoever looks for it begins with that: its question may be made of it.
    pub(crate) seen: Mutex<Seen>,
    /// The earlier work that it was told of, where there is any.
    pub(crate) shown: Shown,
    has_worked: bool,
}

impl<'a> Desk<'a> {
    pub(crate) async fn open(
        minds: &'a Minds,
        message: &Message,
        said: Sight,
        grants: &[ModelGrant],
    ) -> Result<Desk<'a>, Trouble> {
        let researcher = match minds.assigned(grants, Role::Executor) {
            Some(assigned) if assigned.is_agreed && minds.has_key(&assigned.key) => {
                let asking = minds.asking(&assigned).map_err(|error| spending::failed(&error))?;
                let budget = Budget { max_tokens: minds.house.options.models.turn_tokens_max, ..Budget::default() };
                let purse = Purse::of_research(minds, &assigned.model, &budget, &message.id);
                Some(Researcher { assigned, asking, purse })
            }
            Some(_) | None => None,
        };
        let roots = minds.roots().await?;
        let exits = Exits::of_words(&message.text);
        let mut seen = Seen::default();
        seen.add(said, "");
        let has_worked = minds.has_worked().await?;
        let (message, seen, found, shown) = (message.id.clone(), Mutex::new(seen), Mutex::default(), Shown::default());
        Ok(Desk { minds, message, researcher, roots, found, exits, seen, shown, has_worked })
    }

    /// Whether there is anything to find out with.
    pub(crate) fn is_of_use(&self) -> bool {
        self.researcher.is_some() || !self.roots.is_empty() || self.has_worked
    }

    /// What a planner with these tools is told.
    pub(crate) fn told(&self, payload: &Value) -> Value {
        let mut payload = payload.clone();
        payload["can_read"] = Value::Bool(!self.roots.is_empty());
        payload
    }

    /// The worst of everything that was read here.
    pub(crate) fn taint(&self) -> Taint {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).taint()
    }

    pub(crate) fn tools(&self) -> Vec<Box<dyn Tool<Trouble> + '_>> {
        let mut tools: Vec<Box<dyn Tool<Trouble> + '_>> = Vec::new();
        if !self.roots.is_empty() {
            tools.extend(eyes::all(self.minds, &self.roots));
        }
        if self.has_worked {
            tools.push(Box::new(EarlierWork::new(self.minds, &self.shown)));
        }
        if let Some(researcher) = &self.researcher {
            tools.push(Box::new(RequestResearch { spec: request_research(), desk: self, researcher }));
        }
        tools.push(Box::new(ValidatePlan { spec: validate_plan() }));
        tools
    }

    /// The planner's own run: it reads what it is told, and that is all.
    pub(crate) fn planning<'b>(&'b self, assigned: &'b Assigned, payload: Value) -> Reading<'b> {
        Reading {
            minds: self.minds,
            message: self.message.clone(),
            role: Role::Planner,
            assigned,
            payload,
            roots: &self.roots,
            exits: &self.exits,
            counts: CallCounts::new(call_limits(TOOL_CALLS_MAX)),
        }
    }

    async fn look_into(&self, researcher: &Researcher<'_>, question: &str) -> (String, bool) {
        let payload = json!({
            "date": date(self.minds.house.clock.now()),
            "briefing": question,
            "is_research": true,
            "directories": self.roots.iter().map(|(grant, _)| grant.place.path.as_str()).collect::<Vec<_>>(),
            "checks": [],
            "attempt": 1,
            "attempts_max": 1,
            "failures": [],
            "guidance": null,
        });
        let run = Reading { role: Role::Executor, ..self.planning(&researcher.assigned, payload) };
        let seen = Mutex::new(self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let tools = tools_of_research(self.minds, &self.roots);
        let names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let tools = chain(tools, Purpose::Research, names);
        let looking =
            agents::Minds::execute(&researcher.asking, &tools, &run, &seen, &researcher.purse, MODEL_CALLS_MAX);
        match tokio::time::timeout(RESEARCH_TIME_MAX, looking).await {
            Ok(Ok(Ended::Answer(output))) => (output.summary, true),
            Ok(Ok(Ended::GaveUp(_))) => ("Whoever looked came to no answer.".to_owned(), false),
            Ok(Err(_)) => ("Nobody could be asked to look. Plan with what you know.".to_owned(), false),
            Err(_) => ("It took too long. Plan with what you know.".to_owned(), false),
        }
    }
}

struct RequestResearch<'a> {
    spec: Spec,
    desk: &'a Desk<'a>,
    researcher: &'a Researcher<'a>,
}

impl Tool<Trouble> for RequestResearch<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Trouble> {
        Box::pin(async move {
            let arguments = call.arguments();
            let question = arguments["question"].as_str().unwrap_or_default().trim().to_owned();
            let (known, n) = {
                let found = self.desk.found.lock().unwrap_or_else(PoisonError::into_inner);
                (found.get(&question).cloned(), found.len())
            };
            let (for_model, is_success) = match known {
                Some(known) => (known, true),
                None if n >= RESEARCH_MAX => {
                    let enough =
                        format!("{RESEARCH_MAX} questions were looked into, which is all. Plan with what you know.");
                    (Tainted::new(enough, Source::Own.taint()), false)
                }
                None => {
                    let (text, is_success) = self.desk.look_into(self.researcher, &question).await;
                    // What somebody says about files is no file: the planner writes none, and needs no order of theirs.
                    let answer = Tainted::new(injection::scrub(&text).text, Source::Elsewhere.taint());
                    let mut found = self.desk.found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.insert(question.clone(), answer.clone());
                    (answer, is_success)
                }
            };
            let source = format!("what was found out about “{}”", scrub::visible_line(&question, 60));
            Ok(Done { for_model, remark: None, is_private: true, source, is_success })
        })
    }
}

struct ValidatePlan {
    spec: Spec,
}

impl Tool<Trouble> for ValidatePlan {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Trouble> {
        Box::pin(async move {
            let arguments = call.arguments();
            let plan = arguments["plan_markdown"].as_str().unwrap_or_default();
            let (text, is_success) = match check_plan(plan) {
                Ok(()) => ("The plan can be carried out.".to_owned(), true),
                Err(why) => (format!("Not yet: {why}."), false),
            };
            let for_model = Tainted::new(text, Source::Own.taint());
            Ok(Done { for_model, remark: None, is_private: false, source: "Silas itself".to_owned(), is_success })
        })
    }
}

fn request_research() -> Spec {
    let schema = object(&[("question", json!({ "type": "string", "maxLength": QUESTION_CHARS_MAX }))]);
    let about = "Has somebody look into what takes long, and tell you.";
    let spec = Spec::reading("request_research", about, schema);
    Spec { content: vec!["question".to_owned()], capabilities: vec!["research.request".to_owned()], ..spec }
}

fn validate_plan() -> Spec {
    let schema = object(&[("plan_markdown", json!({ "type": "string", "maxLength": 30_000 }))]);
    let spec = Spec::reading("validate_plan", "What is wrong with a plan as it is written.", schema);
    Spec { content: vec!["plan_markdown".to_owned()], capabilities: vec!["plan.validate".to_owned()], ..spec }
}

#[cfg(test)]
mod tests;
