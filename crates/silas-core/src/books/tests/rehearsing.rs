//! A rehearsal in the ledger: allowed by the house rules, applied only by a decision about exactly its changes.

use super::*;
use crate::house_rules::HouseRule;
use crate::house_rules::HouseRules;
use crate::rehearsal::ApplyOrder;

fn rules() -> Decision {
    let rules = canonical::text(&HouseRules::current()).unwrap();
    decision(Kind::HouseRules, "n-rules", &rules, 3, Verdict::Approved)
}

fn run() -> ExecutionId {
    ExecutionId::derive(&rules().token.id().unwrap(), 0)
}

fn apply(execution: ExecutionId, changeset: &[u8]) -> Decision {
    let order = ApplyOrder {
        kind: Kind::Apply,
        execution,
        plan_hash: Digest::of(b"the plan"),
        changeset: Digest::of(changeset),
        findings: Digest::of(b"findings"),
    };
    decision(Kind::Apply, "n-apply", &canonical::text(&order).unwrap(), 1, Verdict::Approved)
}

fn started() -> Page {
    let work_item = WorkItemId::parse("task-7").unwrap();
    page(120, AuditEvent::WorkStarted { work_item, execution: run(), title: text() })
}

fn rehearsed() -> Page {
    let (changeset, outcome) = (Digest::of(b"change"), Outcome::Proved);
    page(130, AuditEvent::WorkRehearsed { execution: run(), changeset, files: 1, outcome })
}

fn applied() -> Page {
    let (changeset, outcome) = (Digest::of(b"change"), Outcome::Proved);
    page(150, AuditEvent::WorkApplied { execution: run(), changeset, files: 1, outcome, landed: None })
}

fn story() -> Vec<Page> {
    let order = apply(run(), b"change");
    vec![
        decided(110, &rules()),
        page(110, AuditEvent::DevicePaired { key: public(&secret(2)).id(), name: text() }),
        spent(120, &rules(), 0),
        started(),
        rehearsed(),
        decided(140, &order),
        spent(140, &order, 0),
        applied(),
    ]
}

#[track_caller]
fn check(change: impl FnOnce(&mut Vec<Page>), seq: u64, reason: Reason) {
    let mut pages = story();
    change(&mut pages);
    assert_eq!(read(&pages), Err(Fault { seq, reason }));
}

#[test]
fn an_honest_rehearsal_adds_up() {
    assert_eq!(read(&story()), Ok(Summary { n_decisions: 2, n_spent: 2, ..Summary::default() }));
    // Discarded, it ends where it waited.
    let mut pages = story();
    pages.truncate(5);
    let outcome = Outcome::Proved;
    pages.push(page(140, AuditEvent::WorkEnded { execution: run(), outcome, reason: text() }));
    assert!(read(&pages).is_ok());
}

#[test]
fn what_was_rehearsed_is_not_applied_without_its_decision() {
    check(|pages| drop(pages.drain(5..7)), 6, Reason::NotSpent);
    check(|pages| drop(pages.remove(4)), 7, Reason::OtherKind);
    let other = ExecutionId::derive(&rules().token.id().unwrap(), 2);
    for order in [apply(run(), b"other"), apply(other, b"change")] {
        let reason = if order == apply(run(), b"other") { Reason::OtherChange } else { Reason::NotSpent };
        let swap = |pages: &mut Vec<Page>| {
            pages[5] = decided(140, &order);
            pages[6] = spent(140, &order, 0);
        };
        check(swap, 8, reason);
    }
    check(|pages| pages.push(applied()), 9, Reason::Twice);
}

#[test]
fn rules_that_do_not_name_it_allow_no_rehearsal() {
    let old = HouseRules { kind: Kind::HouseRules, rules: vec![HouseRule::DropOldVersions] };
    let old = decision(Kind::HouseRules, "n-rules", &canonical::text(&old).unwrap(), 3, Verdict::Approved);
    let execution = ExecutionId::derive(&old.token.id().unwrap(), 0);
    let work_item = WorkItemId::parse("task-7").unwrap();
    let pages = [
        decided(110, &old),
        spent(120, &old, 0),
        page(120, AuditEvent::WorkStarted { work_item, execution, title: text() }),
    ];
    assert_eq!(read(&pages), Err(Fault { seq: 3, reason: Reason::OtherKind }));
}
