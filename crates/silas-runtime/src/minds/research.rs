//! Finding something out for a plan: the planner asks, somebody with nothing but eyes looks, and what was found comes back
//! in a few sentences. (RUNTIME §19.4, §19.5.1)
//!
//! Everything here reads. Files are read by the launcher, within the directories that the owner allowed; tools with effects
//! do not exist in these runs. No approval is needed, and none is used up.

use crate::Trouble;
use crate::assignment::Assigned;
use crate::minds::Minds;
use crate::minds::file_tools::{list_files, read_file};
use crate::minds::reading::{Reading, call_limits};
use crate::minds::search::WebSearch;
use crate::minds::spending::{self, Purse};
use crate::words::date;
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Purpose, Tool, chain};
use silas_agents::{self as agents, Asking, Ended, check_plan};
use silas_core::evidence::Allowance;
use silas_core::exits::Exits;
use silas_core::message::Message;
use silas_core::model::{ModelGrant, Role};
use silas_core::roots::{RootGrant, contains};
use silas_core::seen::{Seen, Sight};
use silas_core::taint::Source;
use silas_core::tool::{Spec, object};
use silas_core::work::Budget;
use silas_core::{MessageId, Taint, Tainted};
use silas_gates::calls::CallCounts;
use silas_gates::{injection, scrub};
use silas_sandbox::Look;
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

type Roots = Vec<(RootGrant, Allowance)>;

/// Reads a file or names, by way of the launcher.
struct Eyes<'a> {
    spec: Spec,
    minds: &'a Minds,
    roots: &'a Roots,
    look: fn(&Value) -> Look,
}

impl Tool<Trouble> for Eyes<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Trouble> {
        Box::pin(async move {
            let arguments = call.arguments();
            let path = arguments["path"].as_str().unwrap_or_default().to_owned();
            let source = format!("{} {}", self.spec.name, scrub::visible_line(&path, 60));
            let innermost = |root: &&(RootGrant, Allowance)| contains(&root.0.place.path, &path);
            let root = self.roots.iter().filter(innermost).max_by_key(|(grant, _)| grant.place.path.len());
            let (launcher, look) = (self.minds.house.launcher.clone(), (self.look)(arguments));
            let looked = match root.map(|(_, allowance)| allowance.clone()) {
                None => Ok(Err("it is in none of the allowed directories".to_owned())),
                Some(allowance) => {
                    let looking = move || launcher.look(&allowance, &path, look).map_err(|error| error.to_string());
                    tokio::task::spawn_blocking(looking).await
                }
            };
            let interrupted = |_| Trouble::new("E_SANDBOX_LOST", "Looking at a file was interrupted.", "Say it again.");
            let (text, remark, is_success) = match looked.map_err(interrupted)? {
                Ok(looked) => (looked.text, looked.is_cut.then(|| "There is more.".to_owned()), true),
                Err(why) => (String::new(), Some(format!("It could not be read: {why}")), false),
            };
            let for_model = Tainted::new(text, Source::Elsewhere.taint());
            Ok(Done { for_model, remark, is_private: true, source, is_success })
        })
    }
}

fn eyes<'a>(minds: &'a Minds, roots: &'a Roots) -> Vec<Box<dyn Tool<Trouble> + 'a>> {
    let file = |arguments: &Value| Look::File {
        from_line: arguments["from_line"].as_u64().unwrap_or(1),
        lines: arguments["lines"].as_u64().unwrap_or(u64::MAX),
    };
    let names = |arguments: &Value| Look::Names {
        depth: arguments["depth"].as_u64().and_then(|depth| u32::try_from(depth).ok()).unwrap_or(2),
    };
    // Here nobody waits for anybody: several may be read at once.
    let spec = |spec: Spec| Spec { is_parallel: true, ..spec };
    let mut tools: Vec<Box<dyn Tool<Trouble> + 'a>> = vec![
        Box::new(Eyes { spec: spec(read_file()), minds, roots, look: file }),
        Box::new(Eyes { spec: spec(list_files()), minds, roots, look: names }),
    ];
    if let Some(search) = minds.search() {
        tools.push(Box::new(WebSearch::new(search)));
    }
    tools
}

/// What the planner has besides its own head, for one message.
pub(crate) struct Desk<'a> {
    minds: &'a Minds,
    message: MessageId,
    executor: Assigned,
    asking: Asking,
    roots: Roots,
    /// What research costs is counted apart: it would otherwise eat up what the planner needs to say its answer.
    purse: Purse<'a>,
    /// Answers to questions that were asked before; the same one is not looked into twice.
    found: Mutex<BTreeMap<String, Tainted<String>>>,
    exits: Exits,
    /// What the planner has read. Whoever looks for it begins with that: its question may be made of it.
    pub(crate) seen: Mutex<Seen>,
}

impl<'a> Desk<'a> {
    /// `None` if nobody is set up to look.
    pub(crate) async fn open(
        minds: &'a Minds,
        message: &Message,
        said: Sight,
        grants: &[ModelGrant],
    ) -> Result<Option<Desk<'a>>, Trouble> {
        let Some(executor) = minds.assigned(grants, Role::Executor) else { return Ok(None) };
        if !executor.is_agreed || !minds.has_key(&executor.key) {
            return Ok(None);
        }
        let engine = minds.house.engine.clone();
        let roots = minds.house.store.read(move |tx| Ok(engine.roots(tx)?)).await?;
        let asking = minds.asking(&executor).map_err(|error| spending::failed(&error))?;
        let budget = Budget { max_tokens: minds.house.options.models.turn_tokens_max, ..Budget::default() };
        let purse = Purse::of_research(minds, &executor.model, &budget, &message.id);
        let exits = Exits::of_words(&message.text);
        let mut seen = Seen::default();
        seen.add(said, "");
        let (message, seen, found) = (message.id.clone(), Mutex::new(seen), Mutex::default());
        Ok(Some(Desk { minds, message, executor, asking, roots, purse, found, exits, seen }))
    }

    /// The worst of everything that was read here.
    pub(crate) fn taint(&self) -> Taint {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).taint()
    }

    pub(crate) fn tools(&self) -> Vec<Box<dyn Tool<Trouble> + '_>> {
        vec![
            Box::new(RequestResearch { spec: request_research(), desk: self }),
            Box::new(ValidatePlan { spec: validate_plan() }),
        ]
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

    async fn look_into(&self, question: &str) -> (String, bool) {
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
        let run = Reading { role: Role::Executor, ..self.planning(&self.executor, payload) };
        let seen = Mutex::new(self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let tools = eyes(self.minds, &self.roots);
        let names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let tools = chain(tools, Purpose::Research, names);
        let looking = agents::Minds::execute(&self.asking, &tools, &run, &seen, &self.purse, MODEL_CALLS_MAX);
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
                    let (text, is_success) = self.desk.look_into(&question).await;
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
    let schema = object(&[("question", json!({ "type": "string", "minLength": 1, "maxLength": QUESTION_CHARS_MAX }))]);
    let about = "Has somebody look at the files in the allowed directories, read-only, and tell you what they found.";
    let spec = Spec::reading("request_research", about, schema);
    Spec { content: vec!["question".to_owned()], capabilities: vec!["research.request".to_owned()], ..spec }
}

fn validate_plan() -> Spec {
    let schema = object(&[("plan_markdown", json!({ "type": "string", "minLength": 1, "maxLength": 30_000 }))]);
    let spec = Spec::reading("validate_plan", "Says whether a plan could be carried out as it is written.", schema);
    Spec { content: vec!["plan_markdown".to_owned()], capabilities: vec!["plan.validate".to_owned()], ..spec }
}
