//! One repair and no more, the walk through the modes, and what each outcome costs.

use super::*;
use crate::meter::Settled;
use crate::scripted::{Line, ScriptedModel};
use crate::{Check, Usage};
use silas_core::Digest;
use std::sync::Mutex;

/// Allows a number of calls and writes everything down.
pub(crate) struct Purse {
    calls_left: Mutex<u32>,
    settled: Mutex<Vec<Settled>>,
    kept: Mutex<Vec<(Digest, Reply)>>,
}

impl Purse {
    pub(crate) fn of(calls: u32) -> Self {
        Purse { calls_left: Mutex::new(calls), settled: Mutex::default(), kept: Mutex::default() }
    }

    fn settled(&self) -> Vec<Settled> {
        self.settled.lock().unwrap().clone()
    }
}

impl Meter for Purse {
    type Receipt = u64;
    type Refusal = &'static str;

    async fn recall(&self, question: &Digest) -> Option<Reply> {
        let kept = self.kept.lock().unwrap();
        kept.iter().find(|(kept, _)| kept == question).map(|(_, reply)| reply.clone())
    }

    async fn reserve(&self, worth: Worth) -> Result<u64, &'static str> {
        let mut left = self.calls_left.lock().unwrap();
        *left = left.checked_sub(1).ok_or("nothing left")?;
        Ok(worth.microusd_max)
    }

    async fn settle(&self, _receipt: u64, settled: Settled, answered: Option<Answered<'_>>) {
        self.settled.lock().unwrap().push(settled);
        self.kept.lock().unwrap().extend(answered.map(|answered| (answered.question, answered.reply.clone())));
    }
}

const PRICE: Price = Price { input: 1_000_000, output: 1_000_000 };

pub(crate) fn question() -> Question {
    Question { system: "S".to_owned(), user: "U".to_owned(), output_tokens_max: 100, price: PRICE }
}

async fn ask_check(model: &ScriptedModel, purse: &Purse) -> Result<Outcome<Check>, Stop<&'static str>> {
    ask(model, &question(), purse, &mut |_| {}).await
}

fn rejected() -> Error {
    Error::Rejected { host: "h".to_owned(), status: 400, reason: String::new() }
}

#[tokio::test]
async fn a_good_answer_is_taken_at_once() {
    let model = ScriptedModel::says([r#"{"word":"ready"}"#]);
    let outcome = ask_check(&model, &Purse::of(9)).await.unwrap();
    assert_eq!(outcome, Outcome::Usable(Check { word: "ready".to_owned() }));
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn the_same_question_is_paid_for_once_and_another_one_is_asked() {
    let model = ScriptedModel::says(["nonsense", r#"{"word":"ready"}"#, r#"{"word":"Ready"}"#]);
    let purse = Purse::of(3);
    let first = ask_check(&model, &purse).await.unwrap();
    assert_eq!(ask_check(&model, &purse).await.unwrap(), first, "told again, the repair included");
    assert_eq!((model.asked().len(), purse.settled().len()), (2, 2));
    let other = Question { user: "V".to_owned(), ..question() };
    let outcome: Outcome<Check> = ask(&model, &other, &purse, &mut |_| {}).await.unwrap();
    assert_eq!(outcome, Outcome::Usable(Check { word: "Ready".to_owned() }));
    assert_eq!(purse.settled().len(), 3);
}

#[tokio::test]
async fn a_bad_answer_is_repaired_once_with_what_was_wrong() {
    for bad in ["nonsense", r#"{"word":"nope"}"#, r#"{"word":"ready","more":1}"#, r#"{"word":"ready"#, "", "[]"] {
        let model = ScriptedModel::says([bad, r#"{"word":"ready"}"#]);
        let outcome = ask_check(&model, &Purse::of(9)).await.unwrap();
        assert!(matches!(outcome, Outcome::Usable(_)), "{bad}");
        let asked = model.asked();
        assert_eq!(asked.len(), 2, "{bad}");
        let repair = asked[1].user.strip_prefix("U\n\n[SCHEMA VALIDATION ERROR]\n").unwrap();
        assert!(!repair.is_empty() && asked[1].system == "S");
    }
}

#[tokio::test]
async fn twice_malformed_is_the_end_of_it() {
    let model = ScriptedModel::says(["{", "{\"word\":", r#"{"word":"ready"}"#]);
    let outcome = ask_check(&model, &Purse::of(9)).await.unwrap();
    assert!(matches!(outcome, Outcome::Unusable { .. }));
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn an_answer_that_was_cut_or_refused_is_not_read() {
    for finish in [Finish::Length, Finish::Refused] {
        let whole = r#"{"word":"ready"}"#.to_owned();
        let model = ScriptedModel::new([Line::Stops(whole.clone(), finish), Line::Stops(whole, finish)]);
        assert!(matches!(ask_check(&model, &Purse::of(9)).await.unwrap(), Outcome::Unusable { .. }));
    }
}

#[tokio::test]
async fn the_repair_has_the_same_limits_and_asks_the_meter() {
    let model = ScriptedModel::says(["nonsense", r#"{"word":"ready"}"#]);
    let purse = Purse::of(1);
    assert_eq!(ask_check(&model, &purse).await, Err(Stop::Refused("nothing left")));
    assert_eq!(model.asked().len(), 1);
    let model = ScriptedModel::says(["nonsense", r#"{"word":"ready"}"#]);
    ask_check(&model, &Purse::of(2)).await.unwrap();
    let asked = model.asked();
    assert_eq!(asked[0].output_tokens_max, asked[1].output_tokens_max);
}

#[tokio::test]
async fn modes_are_walked_down_and_the_one_that_worked_is_remembered() {
    let good = || Line::Says("Sure:\n```json\n{\"word\":\"ready\"}\n```".to_owned(), 5);
    let model = ScriptedModel::new([Line::Fails(rejected()), Line::Fails(rejected()), good(), good()]);
    // Each in a turn of its own: within one, the same question is not asked twice.
    ask_check(&model, &Purse::of(9)).await.unwrap();
    ask_check(&model, &Purse::of(9)).await.unwrap();
    let modes: Vec<Mode> = model.asked().iter().map(|request| request.shape.mode).collect();
    assert_eq!(modes, [Mode::JsonSchema, Mode::ForcedTool, Mode::Prose, Mode::Prose]);
    let asked = model.asked();
    assert!(!asked[1].system.contains("JSON schema") && asked[2].system.contains("JSON schema"));
}

#[tokio::test]
async fn a_question_that_is_refused_in_every_form_lowers_nothing() {
    let model = ScriptedModel::new([rejected(), rejected(), rejected()].map(Line::Fails));
    assert_eq!(ask_check(&model, &Purse::of(9)).await, Err(Stop::Failed(rejected())));
    assert_eq!((model.asked().len(), model.mode()), (3, Mode::JsonSchema));
}

#[tokio::test]
async fn other_failures_are_not_asked_in_another_form() {
    let error = Error::Timeout { host: "h".to_owned() };
    let model = ScriptedModel::new([Line::Fails(error.clone())]);
    let purse = Purse::of(9);
    assert_eq!(ask_check(&model, &purse).await, Err(Stop::Failed(error)));
    // It may have been answered and billed: the whole reserve counts.
    assert_eq!(model.asked().len(), 1);
    assert!(purse.settled()[0].microusd > 100 && purse.settled()[0].outcome == "E_LLM_TIMEOUT");
}

#[tokio::test]
async fn usage_is_believed_only_where_it_can_be() {
    let says = r#"{"word":"ready"}"#;
    let used = |input_tokens, output_tokens, microusd| {
        Some(Usage { input_tokens, output_tokens, microusd, ..Usage::default() })
    };
    let reserve = 0;
    for (claim, expected) in [
        (used(40, 10, None), 50),
        (used(40, 10, Some(7)), 7),
        (used(40, 10, Some(0)), 50),
        (used(u64::MAX, u64::MAX, None), u64::MAX),
        (used(0, 0, None), reserve),
        (None, reserve),
    ] {
        let system = "x".repeat(700);
        let model = ScriptedModel::new([Line::Claims(says.to_owned(), claim)]);
        let purse = Purse::of(1);
        let question = Question { system, ..question() };
        ask::<Check, _>(&model, &question, &purse, &mut |_| {}).await.unwrap();
        let request = &model.asked()[0];
        let whole = PRICE.of(request.n_tokens(), 100);
        let expected = if expected == reserve { whole } else { expected };
        assert_eq!(purse.settled()[0].microusd, expected, "{claim:?}");
    }
}

#[tokio::test]
async fn five_megabytes_are_read_once_and_repaired_once() {
    let long = format!("{{\"word\":\"{}\"}}", "x".repeat(5 << 20));
    let model = ScriptedModel::new([Line::Says(long, 1 << 20), Line::Says(r#"{"word":"ready"}"#.to_owned(), 3)]);
    assert!(matches!(ask_check(&model, &Purse::of(9)).await.unwrap(), Outcome::Usable(_)));
    assert!(model.asked()[1].user.len() < 1_000);
}

#[tokio::test]
async fn silence_ends_with_whoever_waits() {
    let model = ScriptedModel::new([Line::Silence]);
    let purse = Purse::of(1);
    tokio::select! {
        biased;
        _ = ask_check(&model, &purse) => unreachable!(),
        () = tokio::task::yield_now() => {}
    }
    // Reserved and never settled: the books count all of it.
    assert!(purse.settled().is_empty() && model.asked().len() == 1);
}
