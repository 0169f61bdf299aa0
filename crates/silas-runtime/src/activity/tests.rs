//! What a row says and what it is about, from the ledger alone.

use super::*;
use crate::view::Topic;
use silas_core::model::{Period, Role};
use silas_core::{CardId, Digest, ExecutionId, Timestamp, TokenId};

/// Nothing is kept beside the chain.
struct Bare;

impl Beside for Bare {
    fn text(&self, _: &Text) -> Option<String> {
        None
    }
    fn device(&self, _: &KeyId) -> Option<String> {
        None
    }
    fn grant(&self, _: &TokenId, _: &Words) -> Option<String> {
        None
    }
}

fn told(events: Vec<AuditEvent>) -> Vec<Row> {
    let zero = Digest::of(b"");
    let entry = |(seq, event): (usize, AuditEvent)| {
        let name = event.name().to_owned();
        let (seq, at) = (seq as u64 + 1, Timestamp::EPOCH);
        Entry { seq, at, name, event: Some(event), body: String::new(), prev: zero, hash: zero }
    };
    let entries: Vec<Entry> = events.into_iter().enumerate().map(entry).collect();
    narrate(&entries, &Bare, &Words::new(None)).into_iter().map(|told| told.row).collect()
}

#[track_caller]
fn check(event: AuditEvent, icon: Icon, text: &str, topics: &[Topic]) {
    let rows = told(vec![event]);
    assert_eq!((rows[0].icon, rows[0].text.as_str(), rows[0].topics.as_slice()), (icon, text, topics));
}

fn execution() -> ExecutionId {
    ExecutionId::parse("exec-1").unwrap()
}

fn decision(kind: Kind, verdict: Verdict) -> AuditEvent {
    let token = TokenId::of(&Digest::of(b"token"));
    let key = KeyId::parse("key-00112233445566778899aabbccddeeff").unwrap();
    AuditEvent::DecisionRecorded { card: CardId::parse("card-1").unwrap(), token, kind, verdict, key }
}

#[test]
fn each_row_is_found_under_what_it_is_about() {
    let (changeset, files) = (Digest::of(b""), 2);
    let rehearsed = |outcome| AuditEvent::WorkRehearsed { execution: execution(), changeset, files, outcome };
    check(rehearsed(Outcome::Proved), Icon::Seal, "Proved 2 changed files", &[Topic::Change]);
    check(rehearsed(Outcome::Unproven), Icon::Tick, "Rehearsed 2 changed files", &[Topic::Change]);
    let applied =
        AuditEvent::WorkApplied { execution: execution(), changeset, files, outcome: Outcome::Proved, landed: None };
    check(applied, Icon::Seal, "Proved and applied 2 files", &[Topic::Change]);
    let undone =
        AuditEvent::WorkUndone { execution: execution(), changeset, files, token: TokenId::of(&Digest::of(b"token")) };
    check(undone, Icon::Undo, "Put 2 files back", &[Topic::Change]);
    check(decision(Kind::Plan, Verdict::Declined), Icon::Pen, "You declined a plan", &[Topic::Decision]);
    let more = decision(Kind::Budget, Verdict::Approved);
    check(more, Icon::Pen, "You approved more money for models", &[Topic::Decision, Topic::Spending]);
    let refused = |code: &str| AuditEvent::ModelRefused { role: Role::Proxy, code: code.to_owned() };
    check(refused("E_LLM_CAP"), Icon::Refused, "Did not ask a model", &[Topic::Refusal, Topic::Spending]);
    check(refused("secret_unavailable"), Icon::Refused, "Did not ask a model", &[Topic::Refusal]);
    assert_eq!(told(vec![refused(models::SILENT)])[0].note, "It did not pass its test");
    let added = AuditEvent::BudgetExtended {
        token: TokenId::of(&Digest::of(b"token")),
        period: Period::day(Timestamp::EPOCH),
        microusd: 1_000_000,
    };
    check(added, Icon::Pen, "You added $1.00 for models", &[Topic::Decision, Topic::Spending]);
    check(AuditEvent::VaultUnlocked {}, Icon::Tick, "Unlocked the vault", &[]);
}

#[test]
fn a_question_to_a_model_says_which_and_what_it_cost() {
    let call = CallId::parse("call-1").unwrap();
    let answered = AuditEvent::ModelAnswered {
        call: call.clone(),
        outcome: "answered".to_owned(),
        input_tokens: 1,
        output_tokens: 1,
        microusd: 310_000,
    };
    let (role, model) = (Role::Proxy, "ollama:llama3.2".to_owned());
    let called = AuditEvent::ModelCalled { call, message: None, role, model, reserved_microusd: 500_000 };
    let rows = told(vec![called, answered.clone()]);
    assert_eq!(
        (rows.len(), rows[0].text.as_str(), rows[0].note.as_str()),
        (1, "Asked ollama:llama3.2", "It cost $0.31")
    );
    assert_eq!(rows[0].topics, [Topic::Spending]);
    assert_eq!((rows[0].icon, told(vec![answered.clone()])[0].text.as_str()), (Icon::Tick, "Asked a model"));
    let AuditEvent::ModelAnswered { call, input_tokens, output_tokens, microusd, .. } = answered else { panic!() };
    let outcome = "E_LLM_TIMEOUT".to_owned();
    let vain = AuditEvent::ModelAnswered { call, outcome, input_tokens, output_tokens, microusd };
    check(vain, Icon::Cross, "Asked a model in vain", &[Topic::Spending]);
}
