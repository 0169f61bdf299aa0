//! Dialogues with a scripted model: calls in order and side by side, mistakes, limits, and what is told again.

use super::*;
use crate::Check;
use crate::scripted::{Line, ScriptedModel};
use crate::structured::tests::Purse;
use crate::tools::tests::{Witness, echo};
use crate::tools::{Done, Intent, Purpose, Verdict, Wait, chain};
use serde_json::Value;
use silas_core::CallId;
use silas_core::tool::{Effect, Spec};
use std::collections::VecDeque;

#[derive(Default)]
struct Stage {
    witness: Witness,
    recalled: Mutex<VecDeque<Reply>>,
    kept: Mutex<Vec<Reply>>,
}

impl Run for Stage {
    type Error = &'static str;

    fn scope(&self, spec: &Spec, arguments: &Value) -> Result<(), String> {
        self.witness.scope(spec, arguments)
    }
    fn gates(&self, spec: &Spec, arguments: Value) -> Result<Value, String> {
        self.witness.gates(spec, arguments)
    }
    fn authorise(&self, spec: &Spec, arguments: &Value, seen: &Seen) -> Verdict {
        self.witness.authorise(spec, arguments, seen)
    }
    async fn ask(&self, intent: &Intent<'_>, wait: &Wait) -> Result<bool, &'static str> {
        self.witness.ask(intent, wait).await
    }
    async fn intend(&self, intent: &Intent<'_>) -> Result<CallId, &'static str> {
        if intent.arguments["text"] == "stop" {
            return Err("stopped");
        }
        self.witness.intend(intent).await
    }
    fn clean(&self, spec: &Spec, done: &Done) -> String {
        self.witness.clean(spec, done)
    }
    async fn record(&self, call: &CallId, spec: &Spec, done: &Done) -> Result<(), &'static str> {
        self.witness.record(call, spec, done).await
    }
    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), &'static str> {
        self.witness.refuse(name, code).await
    }
}

impl Script for Stage {
    async fn prompt(&self, _: &[Turn]) -> Result<Prompt, &'static str> {
        Ok(Prompt { system: "S".to_owned(), user: "U".to_owned() })
    }
    async fn recall(&self) -> Result<Option<Reply>, &'static str> {
        Ok(self.recalled.lock().unwrap().pop_front())
    }
    async fn keep(&self, reply: &Reply) -> Result<(), &'static str> {
        self.kept.lock().unwrap().push(reply.clone());
        Ok(())
    }
}

type Heard = Result<Ended<Check>, Break<&'static str, &'static str>>;

async fn hold(stage: &Stage, lines: Vec<Line>) -> (Heard, ScriptedModel) {
    let model = ScriptedModel::new(lines);
    let tools = vec![echo("look", Effect::Reads), echo("work", Effect::Workspace)];
    let tools = chain(tools, Purpose::Work, vec!["look".to_owned(), "work".to_owned()]);
    let seen = Mutex::default();
    let bounds = Bounds { model_calls_max: 12, output_tokens_max: 100 };
    let dialogue = Dialogue { model: &model, price: Price::FREE, tools: &tools, seen: &seen, bounds };
    let ended = dialogue.hold(stage, &Purse::of(99), &mut |_| {}).await;
    (ended, model)
}

fn calls(calls: &[(&str, &str)]) -> Line {
    Line::Calls(calls.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect())
}

fn done() -> Line {
    calls(&[("check", r#"{"word":"ready"}"#)])
}

fn ready() -> Heard {
    Ok(Ended::Answer(Check { word: "ready".to_owned() }))
}

#[tokio::test]
async fn calls_are_made_and_told_in_their_order() {
    let stage = Stage::default();
    let both = calls(&[("look", r#"{"text":"a"}"#), ("look", r#"{"text":"b"}"#), ("work", r#"{"text":"c"}"#)]);
    let (ended, model) = hold(&stage, vec![both, done()]).await;
    assert_eq!(ended, ready());
    let asked = model.asked();
    assert_eq!(asked[1].turns[0].results, ["<a>", "<b>", "<c>"]);
    assert_eq!((asked.len(), asked[0].tools.len(), stage.kept.lock().unwrap().len()), (2, 2, 2));
}

#[tokio::test]
async fn an_answer_is_heard_and_taken_back_if_it_was_none() {
    let early = calls(&[("work", r#"{"text":"a"}"#), ("check", r#"{"word":"early"}"#)]);
    let model = ScriptedModel::new(vec![early, done()]);
    let tools = chain(vec![echo("work", Effect::Workspace)], Purpose::Work, vec!["work".to_owned()]);
    let seen = Mutex::default();
    let bounds = Bounds { model_calls_max: 3, output_tokens_max: 100 };
    let dialogue = Dialogue { model: &model, price: Price::FREE, tools: &tools, seen: &seen, bounds };
    let mut heard: Vec<String> = Vec::new();
    let mut told = |piece: Piece<'_>| match piece {
        Piece::Text(text) => heard.push(text.to_owned()),
        Piece::Again => heard.clear(),
    };
    let ended: Heard = dialogue.hold(&Stage::default(), &Purse::of(9), &mut told).await;
    assert_eq!((ended, heard.concat().as_str()), (ready(), r#"{"word":"ready"}"#));
}

#[tokio::test]
async fn an_answer_beside_calls_is_early() {
    let early = calls(&[("work", r#"{"text":"a"}"#), ("check", r#"{"word":"ready"}"#)]);
    let (ended, model) = hold(&Stage::default(), vec![early, done()]).await;
    assert_eq!(ended, ready());
    assert!(model.asked()[1].turns[0].results[1].contains("give your answer alone"));
}

#[tokio::test]
async fn the_answer_may_come_in_words_and_is_repaired_once() {
    let (ended, _) = hold(&Stage::default(), vec![Line::Says(r#"{"word":"ready"}"#.to_owned(), 5)]).await;
    assert_eq!(ended, ready());
    let nonsense = || Line::Says("I am ready.".to_owned(), 5);
    let (ended, model) = hold(&Stage::default(), vec![nonsense(), done()]).await;
    assert_eq!(ended, ready());
    assert!(model.asked()[1].turns[0].note.as_ref().unwrap().contains("[SCHEMA VALIDATION ERROR]"));
    let wrong = || calls(&[("check", r#"{"word":"never"}"#)]);
    let (ended, model) = hold(&Stage::default(), vec![wrong(), wrong(), done()]).await;
    assert!(matches!(ended, Ok(Ended::GaveUp(Why::Form(why))) if why.contains("must be: ready")));
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn mistakes_in_a_row_end_it_and_a_good_call_forgives() {
    let unknown = || calls(&[("paint", "{}")]);
    let (ended, model) = hold(&Stage::default(), (0..9).map(|_| unknown()).collect()).await;
    assert!(matches!(ended, Ok(Ended::GaveUp(Why::Mistakes(last))) if last.contains("There are: look, work")));
    assert_eq!(model.asked().len(), 6);
    let good = calls(&[("look", r#"{"text":"a"}"#)]);
    let mut lines: Vec<Line> = (0..5).map(|_| unknown()).collect();
    lines.extend([good, unknown(), done()]);
    assert_eq!(hold(&Stage::default(), lines).await.0, ready());
}

#[tokio::test]
async fn it_is_asked_so_often_and_no_more() {
    let look = || calls(&[("look", r#"{"text":"a"}"#)]);
    let (ended, model) = hold(&Stage::default(), (0..20).map(|_| look()).collect()).await;
    assert_eq!((ended, model.asked().len()), (Ok(Ended::GaveUp(Why::Calls(12))), 12));
}

#[tokio::test]
async fn what_breaks_off_is_asked_for_again_twice() {
    let cut = || Line::Fails(Error::Cut { host: "h".to_owned() });
    assert_eq!(hold(&Stage::default(), vec![cut(), cut(), done()]).await.0, ready());
    let (ended, model) = hold(&Stage::default(), vec![cut(), cut(), cut(), done()]).await;
    assert_eq!((ended, model.asked().len()), (Err(Break::Failed(Error::Cut { host: "h".to_owned() })), 3));
}

#[tokio::test]
async fn whoever_cannot_be_made_to_call_something_is_asked_to() {
    let rejected = Line::Fails(Error::Rejected { host: "h".to_owned(), status: 400, reason: String::new() });
    let (ended, model) = hold(&Stage::default(), vec![rejected, done()]).await;
    assert_eq!(ended, ready());
    let modes: Vec<Mode> = model.asked().iter().map(|asked| asked.shape.mode).collect();
    assert_eq!(modes, [Mode::ForcedTool, Mode::Prose]);
}

#[tokio::test]
async fn what_was_answered_before_is_told_again_and_not_asked_for() {
    let stage = Stage::default();
    let before = ToolCall::new("work", r#"{"text":"a"}"#);
    let reply =
        Reply { text: String::new(), calls: vec![before], finish: Finish::Complete, usage: None, verbatim: None };
    stage.recalled.lock().unwrap().push_back(reply);
    let (ended, model) = hold(&stage, vec![done()]).await;
    assert_eq!((ended, model.asked().len()), (ready(), 1));
    assert_eq!(model.asked()[0].turns[0].results, ["<a>"]);
    assert!(stage.witness.steps().contains("intend:a"), "what it called is done again");
}

#[tokio::test]
async fn a_run_that_is_stopped_ends_at_once() {
    let (ended, model) = hold(&Stage::default(), vec![calls(&[("work", r#"{"text":"stop"}"#)]), done()]).await;
    assert_eq!((ended, model.asked().len()), (Err(Break::Halted("stopped")), 1));
}

/// Between two evictions each question begins like the one before it.
#[test]
fn what_was_said_long_ago_is_left_out_in_one_block() {
    let turn = |chars: usize| Turn { results: vec!["x".repeat(chars)], ..Turn::default() };
    let lengths = |turns: &[Turn]| turns.iter().map(|turn| turn.results[0].len()).collect::<Vec<_>>();
    // 6,000 tokens each.
    let mut turns: Vec<Turn> = (0..4).map(|_| turn(21_000)).collect();
    shorten(&mut turns);
    assert_eq!(lengths(&turns), [21_000; 4], "all that fits stays");
    let out = LEFT_OUT.len();
    turns.push(turn(21_000));
    shorten(&mut turns);
    assert_eq!(lengths(&turns), [out, out, out, 21_000, 21_000]);
    for _ in 0..2 {
        let before = turns.clone();
        turns.push(turn(20_900));
        shorten(&mut turns);
        assert_eq!(turns[..before.len()], before, "and nothing changes until there is too much again");
    }
    turns.push(turn(21_000));
    shorten(&mut turns);
    assert_eq!(lengths(&turns), [out, out, out, out, out, out, 20_900, 21_000]);
    let mut large = vec![turn(7_000), turn(210_000)];
    shorten(&mut large);
    assert_eq!(lengths(&large), [out, 210_000], "what nobody has read yet stays");
}
