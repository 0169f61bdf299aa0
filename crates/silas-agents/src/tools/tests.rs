//! What a wrapper leaves out does not exist, and the path of a call is walked in its order and no further than it may.

use super::*;
use crate::model::ToolCall;
use serde_json::{Value, json};
use silas_core::seen::Seen;
use silas_core::tool::{WayOut, object};
use silas_core::{CallId, Taint};
use std::sync::Mutex;

pub(crate) struct Echo(pub(crate) Spec);

impl Tool<&'static str> for Echo {
    fn spec(&self) -> &Spec {
        &self.0
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, &'static str> {
        Box::pin(async move {
            let for_model =
                Tainted::new(call.arguments()["text"].as_str().unwrap_or_default().to_owned(), Taint::External);
            Ok(Done { for_model, remark: None, is_private: true, source: "an echo".to_owned(), is_success: true })
        })
    }
}

pub(crate) fn echo(name: &str, effect: Effect) -> Box<dyn Tool<&'static str>> {
    let schema = object(&[("text", json!({ "type": "string", "maxLength": 20 }))]);
    Box::new(Echo(Spec { effect, ..Spec::reading(name, "Says it again.", schema) }))
}

/// Writes down every step of the path.
#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) steps: Mutex<Vec<String>>,
    pub(crate) gate: Option<fn(Value) -> Result<Value, String>>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) owner_says: bool,
}

impl Witness {
    fn note(&self, step: impl Into<String>) {
        self.steps.lock().unwrap().push(step.into());
    }

    pub(crate) fn steps(&self) -> String {
        self.steps.lock().unwrap().join(" ")
    }
}

impl Run for Witness {
    type Error = &'static str;

    fn scope(&self, _: &Spec, arguments: &Value) -> Result<(), String> {
        self.note("scope");
        if arguments["text"] == "elsewhere" { Err("that is elsewhere".to_owned()) } else { Ok(()) }
    }

    fn gates(&self, _: &Spec, arguments: Value) -> Result<Value, String> {
        self.note("gates");
        self.gate.map_or(Ok(arguments.clone()), |gate| gate(arguments))
    }

    fn authorise(&self, _: &Spec, arguments: &Value, seen: &Seen) -> Verdict {
        self.note(format!("authorise:{}:{}", arguments["text"].as_str().unwrap(), seen.has_private()));
        self.verdict.clone().unwrap_or(Verdict::Allowed)
    }

    async fn ask(&self, _: &Intent<'_>, wait: &Wait) -> Result<bool, &'static str> {
        self.note(format!("ask:{}", wait.question.len()));
        Ok(self.owner_says)
    }

    async fn intend(&self, intent: &Intent<'_>) -> Result<CallId, &'static str> {
        self.note(format!("intend:{}", intent.arguments["text"].as_str().unwrap()));
        Ok(CallId::parse("call-1").unwrap())
    }

    fn clean(&self, _: &Spec, done: &Done) -> String {
        self.note("clean");
        format!("<{}>", done.for_model.peek())
    }

    async fn record(&self, _: &CallId, _: &Spec, _: &Done) -> Result<(), &'static str> {
        self.note("record");
        Ok(())
    }

    async fn refuse(&self, _: &str, code: &'static str) -> Result<(), &'static str> {
        self.note(code);
        Ok(())
    }
}

fn set(purpose: Purpose, names: &[&str]) -> impl Toolset<&'static str> {
    let mut asked = Spec::reading("asked", "Asks first.", object(&[("text", json!({ "type": "string" }))]));
    asked.requires_approval = true;
    let tools: Vec<Box<dyn Tool<&'static str>>> =
        vec![echo("look", Effect::Reads), echo("work", Effect::Workspace), Box::new(Echo(asked))];
    chain(tools, purpose, names.iter().map(|name| (*name).to_owned()).collect())
}

async fn calling(witness: &Witness, name: &str, arguments: &str, seen: &Mutex<Seen>) -> Returned {
    let tools = set(Purpose::Work, &["look", "work", "asked"]);
    let written = ToolCall::new(name, arguments);
    call(&tools, witness, Call { written: &written, seen }).await.unwrap()
}

#[test]
fn what_is_left_out_is_neither_shown_nor_found() {
    let names = |set: &dyn Toolset<&'static str>| -> Vec<String> {
        set.offered().iter().map(|spec| spec.name.clone()).collect()
    };
    let all = ["look", "work", "asked"];
    assert_eq!(names(&set(Purpose::Work, &all)), all);
    assert_eq!(names(&set(Purpose::Research, &all)), ["look", "asked"]);
    let few = set(Purpose::Work, &["work"]);
    assert!(names(&few) == ["work"] && few.find("look").is_none() && few.find("work").is_some());
    assert!(set(Purpose::Research, &all).find("work").is_none());
    // Who answers may speak to the owner, and has no other effect.
    assert_eq!(names(&set(Purpose::Answer, &all)), ["look", "asked"]);
    let tells = |ways_out: Vec<WayOut>| {
        let outside = Spec { effect: Effect::Outside, ..Spec::reading("x", "", json!({})) };
        Prepared { inner: Skills::<&'static str>::new(Vec::new()), purpose: Purpose::Answer }
            .exists(&Spec { ways_out, ..outside })
    };
    let search = || WayOut::Search { query: "text".to_owned() };
    assert!(tells(vec![WayOut::Owner]));
    assert!(!tells(Vec::new()) && !tells(vec![search()]) && !tells(vec![WayOut::Owner, search()]));
}

#[tokio::test]
async fn a_call_goes_its_way_in_order_and_what_it_read_is_remembered() {
    let (witness, seen) = (Witness::default(), Mutex::default());
    let returned = calling(&witness, "look", r#"{"text":"a"}"#, &seen).await;
    assert_eq!(returned, Returned::Done { text: "<a>".to_owned(), is_success: true });
    assert_eq!(witness.steps(), "scope gates scope authorise:a:false intend:a clean record");
    calling(&witness, "work", r#"{"text":"b"}"#, &seen).await;
    assert!(witness.steps().contains("authorise:b:true"), "the next call is judged by what was read");
}

#[tokio::test]
async fn what_gates_write_is_looked_at_again() {
    for (gate, steps) in [
        (
            (|_| Ok(json!({ "text": "b" }))) as fn(Value) -> Result<Value, String>,
            "scope gates scope authorise:b:false intend:b clean record",
        ),
        (|_| Ok(json!({ "text": "elsewhere" })), "scope gates scope E_TOOL_SCOPE"),
        (|_| Ok(json!({ "text": "x".repeat(21) })), "scope gates E_TOOL_ARGUMENTS"),
        (|_| Err("no".to_owned()), "scope gates E_TOOL_BLOCKED"),
    ] {
        let witness = Witness { gate: Some(gate), ..Witness::default() };
        calling(&witness, "look", r#"{"text":"a"}"#, &Mutex::default()).await;
        assert_eq!(witness.steps(), steps);
    }
}

#[tokio::test]
async fn what_cannot_be_called_is_explained_and_nothing_is_done() {
    for (name, arguments, steps) in [
        ("paint", "{}", "E_TOOL_UNKNOWN"),
        ("look", "{", "E_TOOL_ARGUMENTS"),
        ("look", "", "E_TOOL_ARGUMENTS"),
        ("look", r#"{"text":"a","more":1}"#, "E_TOOL_ARGUMENTS"),
        ("look", r#"{"text":"elsewhere"}"#, "scope E_TOOL_SCOPE"),
    ] {
        let witness = Witness::default();
        let returned = calling(&witness, name, arguments, &Mutex::default()).await;
        assert!(matches!(returned, Returned::Refused { .. }), "{name} {arguments}");
        assert_eq!(witness.steps(), steps);
    }
}

#[tokio::test]
async fn a_call_that_needs_the_owner_is_made_only_after_a_yes() {
    for (owner_says, steps) in [(true, "intend:a clean record"), (false, "E_TOOL_DECLINED")] {
        let witness = Witness { owner_says, ..Witness::default() };
        calling(&witness, "asked", r#"{"text":"a"}"#, &Mutex::default()).await;
        assert!(witness.steps().contains("ask:") && witness.steps().ends_with(steps), "{}", witness.steps());
        let verdict = Some(Verdict::Asks(Wait { question: "May it?".to_owned(), undeclared: Vec::new() }));
        let witness = Witness { owner_says, verdict, ..Witness::default() };
        calling(&witness, "look", r#"{"text":"a"}"#, &Mutex::default()).await;
        assert!(witness.steps().ends_with(steps), "{}", witness.steps());
    }
    let witness = Witness { verdict: Some(Verdict::Denied("no".to_owned())), ..Witness::default() };
    calling(&witness, "look", r#"{"text":"a"}"#, &Mutex::default()).await;
    assert!(witness.steps().ends_with("authorise:a:false E_TOOL_DENIED"));
}
