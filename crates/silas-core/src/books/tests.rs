//! An honest ledger adds up; every way to bend its meaning is found at the entry where it happens.

mod handing_over;
mod passkeys;
mod rehearsing;

use super::*;
use crate::changeset::ChangeOrder;
use crate::device::{CertificateBody, DeviceKind};
use crate::event::Text;
use crate::message::{MessageBody, SignedMessage};
use crate::signature::Signature;
use crate::task::TaskCall;
use crate::token::{Offer, Strength, Verdict};
use crate::{AgentId, Nonce, RunKey, Scope, WorkItemId, canonical, check::Outcome, evidence, reflex};
use ed25519_dalek::{Signer as _, SigningKey};
use std::time::Duration;

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(secret: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(secret.verifying_key().to_bytes())
}

fn sign(secret: &SigningKey, message: &str) -> Signature {
    Signature::ed25519(public(secret).id(), secret.sign(message.as_bytes()).to_bytes())
}

fn at(secs: u64) -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(secs))
}

fn installation() -> InstallationId {
    InstallationId::parse("inst-1").unwrap()
}

fn certificate() -> Certificate {
    let device = public(&secret(2));
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: installation(),
        name: "Phone".to_owned(),
        key: device.id(),
        public: device,
        issued_at: at(10),
        site: None,
    };
    let signature = sign(&secret(1), &canonical::text(&body).unwrap());
    Certificate { body, signature }
}

fn decision(kind: Kind, nonce: &str, payload: &str, max_executions: u32, verdict: Verdict) -> Decision {
    let offer = Offer {
        v: Offer::VERSION,
        kind,
        scope: kind.scope(),
        installation: installation(),
        epoch: 1,
        work_item_id: "task-1".to_owned(),
        plan_hash: Digest::of(payload.as_bytes()),
        shown: Digest::of(b"card"),
        nonce: Nonce::parse(nonce).unwrap(),
        issued_at: at(100),
        expires_at: at(400),
        max_executions,
        approval_strength: Strength::Tap,
        conditions: BTreeMap::new(),
    };
    let body = offer.answered(public(&secret(2)).id(), verdict);
    let signature = sign(&secret(2), &body.message().unwrap());
    let card = (kind != Kind::HouseRules).then(|| CardId::parse(&format!("card-{nonce}")).unwrap());
    let token = Token { body, signature };
    Decision { token, certificate: certificate(), payload: payload.to_owned(), card, executions_used: 1 }
}

/// An entry and what lies beside it.
#[derive(Clone)]
struct Page {
    at: Timestamp,
    event: AuditEvent,
    beside: Option<Beside>,
}

fn page(secs: u64, event: AuditEvent) -> Page {
    Page { at: at(secs), event, beside: None }
}

fn decided(secs: u64, decision: &Decision) -> Page {
    let token = &decision.token;
    let (id, key) = (token.id().unwrap(), token.body.key.clone());
    let event = match &decision.card {
        None => AuditEvent::HouseRulesSigned { token: id, key },
        Some(card) => AuditEvent::DecisionRecorded {
            card: card.clone(),
            token: id,
            kind: token.body.offer.kind,
            verdict: token.body.verdict,
            key,
        },
    };
    Page { at: at(secs), event, beside: Some(Beside::Decision(Box::new(decision.clone()))) }
}

fn spent(secs: u64, decision: &Decision, use_number: u32) -> Page {
    let token = decision.token.id().unwrap();
    let execution = ExecutionId::derive(&token, use_number);
    let plan_hash = decision.token.body.offer.plan_hash;
    page(secs, AuditEvent::TokenSpent { token, execution, plan_hash, use_number })
}

fn text() -> Text {
    Text(Digest::of(b"words"))
}

fn plan() -> Decision {
    decision(Kind::Plan, "n-plan", "the plan", 1, Verdict::Approved)
}

fn execution() -> ExecutionId {
    ExecutionId::derive(&plan().token.id().unwrap(), 0)
}

fn undo() -> Decision {
    let order = ChangeOrder { kind: Kind::Undo, execution: execution(), changeset: Digest::of(b"change") };
    decision(Kind::Undo, "n-undo", &canonical::text(&order).unwrap(), 1, Verdict::Approved)
}

/// Words of the owner's with the call that a version made of them: this one, or one of when a message made at most one.
fn instruction_by(occurrence: Option<u32>) -> Instruction {
    let body = MessageBody {
        text: "add task `Water the plants`".to_owned(),
        timestamp: at(300),
        nonce: Nonce::parse("n-msg").unwrap(),
        installation: installation(),
        scope: "owner".to_owned(),
    };
    let signature = sign(&secret(2), &body.message().unwrap());
    let message = MessageId::parse("msg-1").unwrap();
    let run = RunKey::said(&AgentId::of(&installation(), &Scope::Owner), &message);
    let title = "Water the plants".to_owned();
    let call = match occurrence {
        Some(occurrence) => TaskCall::add(&run, title, occurrence).unwrap(),
        None => TaskCall::AddTask { task: TaskId::derive(&OperationId::derive(&message)), title },
    };
    let (signed, grammar) = (SignedMessage { body, signature }, reflex::GRAMMAR);
    Instruction { message, signed, certificate: certificate(), grammar, occurrence, call }
}

fn instruction() -> Instruction {
    instruction_by(Some(0))
}

/// The entries that tell of it.
fn instructed(told: &Instruction) -> [Page; 2] {
    let operation = told.operation().unwrap();
    let TaskCall::AddTask { task, .. } = told.call.clone() else { panic!("{told:?}") };
    let taken = AuditEvent::InstructionTaken {
        message: told.message.clone(),
        operation,
        key: told.signed.signature.key.clone(),
        call: canonical::digest(&told.call).unwrap(),
    };
    let beside = Some(Beside::Instruction(Box::new(told.clone())));
    [Page { at: at(310), event: taken, beside }, page(311, AuditEvent::TaskAdded { task, operation, title: text() })]
}

/// Pairing, a plan that was carried out and taken back, a declined one, a task.
fn story() -> Vec<Page> {
    let rules = decision(Kind::HouseRules, "n-rules", "the rules", 3, Verdict::Approved);
    let declined =
        Decision { executions_used: 0, ..decision(Kind::Plan, "n-no", "another plan", 1, Verdict::Declined) };
    let mut story = vec![
        page(90, AuditEvent::InstallationCreated { installation: installation(), root: public(&secret(1)).id() }),
        decided(110, &rules),
        page(110, AuditEvent::DevicePaired { key: public(&secret(2)).id(), name: text() }),
        decided(120, &plan()),
        spent(120, &plan(), 0),
        page(
            120,
            AuditEvent::WorkStarted {
                work_item: WorkItemId::parse("task-1").unwrap(),
                execution: execution(),
                title: text(),
            },
        ),
        spent(125, &rules, 0),
        page(125, AuditEvent::ExecutionResumed { execution: execution() }),
        page(130, AuditEvent::StepRun { execution: execution(), step: 0, exit_code: Some(0), output: text() }),
        page(
            140,
            AuditEvent::WorkApplied {
                execution: execution(),
                changeset: Digest::of(b"change"),
                files: 1,
                outcome: Outcome::Proved,
                landed: None,
            },
        ),
        decided(150, &declined),
        decided(160, &undo()),
        spent(160, &undo(), 0),
        page(
            170,
            AuditEvent::WorkUndone {
                execution: execution(),
                changeset: Digest::of(b"change"),
                files: 1,
                token: undo().token.id().unwrap(),
            },
        ),
    ];
    story.extend(instructed(&instruction()));
    story
}

fn read(pages: &[Page]) -> Result<Summary, Fault> {
    let mut books = Books::open(public(&secret(1)), installation());
    for (n, page) in pages.iter().enumerate() {
        books.enter(n as u64 + 1, page.at, Some(&page.event), page.beside.as_ref())?;
    }
    books.close(pages.len() as u64)
}

#[track_caller]
fn check(change: impl FnOnce(&mut Vec<Page>), seq: u64, reason: Reason) {
    let mut pages = story();
    change(&mut pages);
    assert_eq!(read(&pages), Err(Fault { seq, reason }));
}

fn kept(pages: &mut [Page], n: usize) -> &mut Decision {
    match pages[n].beside.as_mut() {
        Some(Beside::Decision(decision)) => decision,
        _ => panic!("no decision lies there"),
    }
}

#[test]
fn an_honest_ledger_adds_up() {
    assert_eq!(read(&story()), Ok(Summary { n_decisions: 4, n_spent: 3, n_instructions: 1, ..Summary::default() }));
}

#[test]
fn decisions_that_do_not_hold() {
    use crate::evidence::Refusal;
    check(|pages| pages[3].beside = None, 4, Reason::NoDecision);
    check(|pages| kept(pages, 3).payload.push(' '), 4, Refusal::Content.into());
    check(
        |pages| kept(pages, 3).certificate.body.name.push('x'),
        4,
        Refusal::Certificate(crate::device::Mismatch::Signature).into(),
    );
    check(|pages| kept(pages, 3).token.signature = sign(&secret(9), "x"), 4, Refusal::Signature.into());
    check(|pages| *kept(pages, 3) = undo(), 4, Reason::OtherDecision);
    check(|pages| pages[3].at = at(400), 4, Refusal::Expired.into());
    check(|pages| pages.insert(4, pages[3].clone()), 5, Reason::DecidedTwice);
    check(|pages| drop(pages.remove(2)), 3, Reason::Unpaired);
    // The entry turns a no into a yes; the signed body does not.
    let turn = |pages: &mut Vec<Page>| {
        if let AuditEvent::DecisionRecorded { verdict, .. } = &mut pages[10].event {
            *verdict = Verdict::Approved;
        }
    };
    check(turn, 11, Reason::OtherDecision);
}

#[test]
fn spendings_that_were_not_allowed() {
    use crate::evidence::Refusal;
    let other = decision(Kind::Plan, "n-other", "never recorded", 1, Verdict::Approved);
    check(|pages| pages.insert(4, spent(120, &other, 0)), 5, Reason::NoDecision);
    check(|pages| pages.insert(5, spent(120, &plan(), 1)), 6, Reason::Overspent { max: 1 });
    check(|pages| pages[4].at = at(400), 5, Refusal::Expired.into());
    let declined = decision(Kind::Plan, "n-no", "another plan", 1, Verdict::Declined);
    check(|pages| pages.insert(11, spent(155, &declined, 0)), 12, Refusal::Verdict.into());
    let rules = decision(Kind::HouseRules, "n-rules", "the rules", 3, Verdict::Approved);
    check(|pages| pages[6] = spent(125, &rules, 1), 7, Refusal::Execution.into());
    let content = |pages: &mut Vec<Page>| {
        if let AuditEvent::TokenSpent { plan_hash, .. } = &mut pages[4].event {
            *plan_hash = Digest::of(b"other");
        }
    };
    check(content, 5, Refusal::Content.into());
}

#[test]
fn counts_that_differ_from_the_ledger() {
    let token = plan().token.id().unwrap();
    for kept_count in [0, 2] {
        let reason = Reason::Count { token: token.clone(), ledger: 1, kept: kept_count };
        check(|pages| kept(pages, 3).executions_used = kept_count, 16, reason);
    }
}

#[test]
fn effects_without_a_spent_approval() {
    check(|pages| drop(pages.remove(4)), 5, Reason::NotSpent);
    check(|pages| drop(pages.drain(3..6)), 5, Reason::NotSpent);
    check(|pages| drop(pages.remove(12)), 13, Reason::NotSpent);
    let root = page(115, AuditEvent::RootGranted { token: plan().token.id().unwrap(), place: text() });
    check(|pages| pages.insert(3, root.clone()), 4, Reason::NotSpent);
    check(|pages| pages.insert(5, root.clone()), 6, Reason::OtherKind);
    let other = WorkItemId::parse("task-2").unwrap();
    let turn = |pages: &mut Vec<Page>| {
        if let AuditEvent::WorkStarted { work_item, .. } = &mut pages[5].event {
            *work_item = other;
        }
    };
    check(turn, 6, Reason::OtherWork);
    check(|pages| pages.insert(6, pages[5].clone()), 7, Reason::Twice);
    check(|pages| pages.insert(10, pages[9].clone()), 11, Reason::Twice);
    check(|pages| pages.push(pages[13].clone()), 17, Reason::Twice);
    let change = |pages: &mut Vec<Page>| {
        if let AuditEvent::WorkUndone { changeset, .. } = &mut pages[13].event {
            *changeset = Digest::of(b"another change");
        }
    };
    check(change, 14, Reason::OtherChange);
}

#[test]
fn tasks_that_nobody_asked_for() {
    check(|pages| drop(pages.remove(14)), 15, Reason::NotInstructed);
    check(|pages| pages[14].beside = None, 15, Reason::NoInstruction);
    let words = |pages: &mut Vec<Page>| {
        if let Some(Beside::Instruction(told)) = &mut pages[14].beside {
            told.signed.body.text = "add task `Pay the rent`".to_owned();
        }
    };
    check(words, 15, Reason::Instruction);
    let of_a_later_version = |pages: &mut Vec<Page>| {
        if let Some(Beside::Instruction(told)) = &mut pages[14].beside {
            told.grammar = reflex::GRAMMAR + 1;
        }
    };
    check(of_a_later_version, 15, Reason::Grammar(reflex::UnknownGrammar(reflex::GRAMMAR + 1)));
    let twice = |pages: &mut Vec<Page>| pages.push(pages[14].clone());
    check(twice, 17, Reason::Twice);
}

#[test]
fn an_operation_of_when_a_message_made_at_most_one_is_read_as_it_was() {
    let told = instruction_by(None);
    assert_eq!(told.operation().unwrap(), OperationId::derive(&told.message));
    assert_eq!(serde_json::to_value(&told).unwrap().get("occurrence"), None);
    assert_ne!(told.operation().unwrap(), instruction().operation().unwrap());
    let mut pages = story();
    pages.truncate(14);
    pages.extend(instructed(&told));
    read(&pages).unwrap();
}

#[test]
fn words_that_ask_for_one_call_have_no_second() {
    let add_another = |pages: &mut Vec<Page>| pages.extend(instructed(&instruction_by(Some(1))));
    check(add_another, 17, Reason::Instruction);
}

#[test]
fn an_instruction_without_a_grammar_was_understood_by_the_first() {
    let told = Instruction { grammar: 1, ..instruction() };
    let written = serde_json::to_value(&told).unwrap();
    assert!(written.get("grammar").is_none(), "{written}");
    assert_eq!(serde_json::from_value::<Instruction>(written).unwrap(), told);
    let later = Instruction { grammar: 2, ..told };
    let written = serde_json::to_value(&later).unwrap();
    assert_eq!(written["grammar"], 2);
    assert_eq!(serde_json::from_value::<Instruction>(written).unwrap(), later);
}

#[test]
fn a_restore_voids_what_was_approved_before() {
    use crate::evidence::Refusal;
    let restored = |epoch| page(119, AuditEvent::RestoredFromBackup { old_head: None, epoch });
    check(|pages| pages.insert(3, restored(2)), 5, Refusal::Epoch.into());
    check(|pages| pages.insert(4, restored(2)), 6, Refusal::Epoch.into());
    check(|pages| pages.insert(4, restored(1)), 5, Reason::EpochBack);
}

#[test]
fn another_installation() {
    let other = InstallationId::parse("inst-2").unwrap();
    let root = public(&secret(1)).id();
    check(
        |pages| pages[0].event = AuditEvent::InstallationCreated { installation: other, root },
        1,
        Reason::OtherInstallation,
    );
}

#[test]
fn what_another_version_wrote_is_counted_and_not_judged() {
    let mut books = Books::open(public(&secret(1)), installation());
    let pages = story();
    for (n, page) in pages.iter().enumerate().filter(|(n, _)| *n != 4 && *n < 5) {
        books.enter(n as u64 + 1, page.at, Some(&page.event), page.beside.as_ref()).unwrap();
    }
    books.enter(5, at(120), None, None).unwrap();
    let summary = books.close(5).unwrap();
    assert_eq!((summary.n_unknown, summary.n_spent), (1, 0));
}

/// What was forgotten is told later in the ledger: instructions with their time, texts by the owner. Decisions stay.
#[test]
fn what_is_gone_must_have_been_forgotten() {
    let expired = |secs| page(900, AuditEvent::RecordsExpired { before: at(secs), instructions: 1 });
    let forgotten = || page(900, AuditEvent::TextForgotten { entry: 4, key: public(&secret(2)).id() });
    let take_away = |n: usize, told: Option<Page>| {
        let mut pages = story();
        pages[n].beside = None;
        pages.extend(told);
        read(&pages)
    };
    for n in [3, 11] {
        let fault = |reason| Err(Fault { seq: n as u64 + 1, reason });
        assert_eq!(take_away(n, None), fault(Reason::NoDecision));
        assert_eq!(take_away(n, Some(forgotten())), fault(Reason::NoDecision), "a decision is more than its text");
        assert_eq!(take_away(n, Some(expired(800))), fault(Reason::NoDecision), "a decision has no time to be over");
    }
    assert_eq!(take_away(14, None), Err(Fault { seq: 15, reason: Reason::NoInstruction }));
    assert!(take_away(14, Some(forgotten())).is_ok() && take_away(14, Some(expired(800))).is_ok());
    assert_eq!(take_away(14, Some(expired(100))), Err(Fault { seq: 15, reason: Reason::NoInstruction }), "too young");

    let erase = |told: Option<Page>| {
        let mut pages = story();
        kept(&mut pages, 3).payload = String::new();
        pages.extend(told);
        read(&pages)
    };
    assert_eq!(erase(None), Err(Fault { seq: 4, reason: evidence::Refusal::Content.into() }));
    assert!(erase(Some(expired(800))).is_err(), "the text of a decision goes by the owner's word only");
    assert!(erase(Some(forgotten())).is_ok());
}

/// A device that was taken out decides nothing any more, not even the rules that it could sign before it was paired.
#[test]
fn decisions_of_a_device_that_was_revoked_before() {
    use crate::evidence::Refusal;
    let key = public(&secret(2)).id();
    let revoked = || page(105, AuditEvent::DeviceRevoked { key: key.clone(), by: None, number: 1 });
    let rules = story().iter().position(|page| matches!(page.event, AuditEvent::HouseRulesSigned { .. })).unwrap();
    let seq = rules as u64 + 2;
    check(|pages| pages.insert(rules, revoked()), seq, Refusal::RevokedDevice.into());
    check(|pages| pages.insert(3, revoked()), 5, Refusal::RevokedDevice.into());
    // What it decided before stays decided.
    let mut pages = story();
    pages.push(revoked());
    assert!(read(&pages).is_ok());
}
