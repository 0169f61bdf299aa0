//! What a row says and what it is about, from the ledger alone.

use super::*;
use silas_core::check::CheckResult;
use silas_core::event::Phase;
use silas_core::model::{Period, Role};
use silas_core::token::{Kind, Verdict};
use silas_core::{CardId, Digest, ExecutionId, MessageId, Timestamp, TokenId};

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

/// What others would like to have said by Silas: it ends every mark that it may stand in.
const BOAST: &str = "x` ” Proved by all 214 tests";

/// Every text beside the chain is somebody's boast: as it is, or as the command of a red check.
struct Boasting {
    text: String,
}

impl Beside for Boasting {
    fn text(&self, _: &Text) -> Option<String> {
        Some(self.text.clone())
    }
    fn device(&self, _: &KeyId) -> Option<String> {
        None
    }
    fn grant(&self, _: &TokenId, _: &Words) -> Option<String> {
        None
    }
}

fn told(events: Vec<AuditEvent>) -> Vec<Row> {
    told_beside(events, &Bare)
}

fn told_beside(events: Vec<AuditEvent>, beside: &dyn Beside) -> Vec<Row> {
    let zero = Digest::of(b"");
    let entry = |(seq, event): (usize, AuditEvent)| {
        let name = event.name().to_owned();
        let (seq, at) = (seq as u64 + 1, Timestamp::EPOCH);
        Entry { seq, at, name, event: Some(event), body: String::new(), prev: zero, hash: zero }
    };
    let entries: Vec<Entry> = events.into_iter().enumerate().map(entry).collect();
    narrate(&entries, beside, &Words::new(None)).into_iter().map(|told| told.row).collect()
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
    assert_eq!(told(vec![refused(crate::assignment::SILENT)])[0].note, "It did not pass its test");
    let added = AuditEvent::BudgetExtended {
        token: TokenId::of(&Digest::of(b"token")),
        period: Period::day(Timestamp::EPOCH),
        microusd: 1_000_000,
    };
    check(added, Icon::Pen, "You added $1.00 for models", &[Topic::Decision, Topic::Spending]);
    check(AuditEvent::VaultUnlocked {}, Icon::Tick, "Unlocked the vault", &[]);
}

/// What a stranger wrote, what a model asks and what a check runs stands in marks that it cannot close.
#[test]
fn what_others_wrote_is_quoted_or_code() {
    let text = || Text(Digest::of(b"text"));
    let message = MessageId::parse("msg-1").unwrap();
    let strange = AuditEvent::MessageReceived { message, taint: Taint::External, text: text() };
    let card = CardId::parse("card-1").unwrap();
    let asked = AuditEvent::QuestionAsked { card, question: text(), taint: Taint::Owner };
    for event in [strange, asked] {
        let note = told_beside(vec![event], &Boasting { text: BOAST.to_owned() }).remove(0).note;
        let quoted = note.strip_prefix('“').and_then(|note| note.strip_suffix('”'));
        assert!(quoted.is_some_and(|quoted| quoted.contains("Proved") && !quoted.contains(['“', '”'])), "{note}");
    }
    let work_item = silas_core::WorkItemId::parse("task-1").unwrap();
    let started = AuditEvent::WorkStarted { work_item, execution: execution(), title: text() };
    let row = told_beside(vec![started], &Boasting { text: BOAST.to_owned() }).remove(0).text;
    let quoted = row.strip_prefix("Started “").and_then(|row| row.strip_suffix('”'));
    assert!(quoted.is_some_and(|quoted| quoted.contains("Proved") && !quoted.contains(['“', '”'])), "{row}");
    let red = |run: &str| CheckResult {
        name: BOAST.to_owned(),
        run: run.to_owned(),
        passed: false,
        reason: "Exit code 1, expected 0".to_owned(),
        output: String::new(),
        exit_code: Some(1),
        took_ms: 1,
        protected: true,
        tests: None,
        asked: Vec::new(),
        basis: None,
    };
    for (results, ends) in
        [(vec![red(BOAST)], "`"), (vec![red("")], "`"), (vec![red(BOAST), red(BOAST)], "` and 1 more")]
    {
        let failed = results.len() as u32;
        let event =
            AuditEvent::ChecksRun { execution: execution(), when: Phase::Before, passed: 0, failed, results: text() };
        let beside = Boasting { text: serde_json::to_string(&results).unwrap() };
        let note = told_beside(vec![event], &beside).remove(0).note;
        let code = note.strip_prefix("On the untouched copy: `").and_then(|note| note.strip_suffix(ends));
        assert!(code.is_some_and(|code| code.contains("Proved") && !code.contains('`')), "{note}");
    }
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
        (1, "Asked llama3.2 on this machine", "It cost $0.31")
    );
    assert_eq!(rows[0].topics, [Topic::Spending]);
    assert_eq!((rows[0].icon, told(vec![answered.clone()])[0].text.as_str()), (Icon::Tick, "Asked a model"));
    let AuditEvent::ModelAnswered { call, input_tokens, output_tokens, microusd, .. } = answered else { panic!() };
    let outcome = "E_LLM_TIMEOUT".to_owned();
    let vain = AuditEvent::ModelAnswered { call, outcome, input_tokens, output_tokens, microusd };
    check(vain, Icon::Cross, "Asked a model in vain", &[Topic::Spending]);
}
