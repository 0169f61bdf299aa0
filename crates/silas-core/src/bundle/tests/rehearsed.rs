//! Work that was tried out first: both decisions are checked, and that they are about the same plan, run and changes.

use super::*;
use crate::Digest;
use crate::ExecutionId;
use crate::token::Kind;

#[test]
fn a_result_that_waited_says_who_allowed_what() {
    let world = World::rehearsed_by_rules();
    let (_, proven) = verify(&world.text(), Some(&world.root())).unwrap();
    assert_eq!((proven.allowed, proven.outcome), (Kind::HouseRules, Outcome::Proved));
    assert_eq!(proven.applied_on.unwrap().body.name, "Phone");
    assert_eq!(proven.plan.definition().title, "Format the code");
    // The last run counts; the decision was about the one before.
    assert_eq!(proven.after[0].took_ms, 99);

    let world = World::rehearsed_by_plan();
    let (_, proven) = verify(&world.text(), Some(&world.root())).unwrap();
    assert_eq!(proven.allowed, Kind::Rehearsal);
    assert!(proven.applied_on.is_some());
    // The owner's looking at it is no part of the work.
    assert!(proven.worked < proven.applied_at.since(proven.started_at));

    let (_, proven) = verify(&World::honest().text(), None).unwrap();
    assert_eq!((proven.allowed, proven.applied_on), (Kind::Plan, None));
}

/// The order is signed, so it is right; what it is about must be what happened.
#[test]
fn the_decision_is_about_this_run_of_this_plan_with_these_changes() {
    let other = Digest::of(b"other");
    let lie = World::applied_by(|order| order.findings = other);
    assert!(matches!(refused(&lie), Refusal::Findings(_)));
    let lie = World::applied_by(|order| order.plan_hash = other);
    assert_eq!(refused(&lie), Refusal::Decision(evidence::Refusal::Content));
    let lie = World::applied_by(|order| order.changeset = other);
    assert!(matches!(refused(&lie), Refusal::Books(books::Fault { reason: books::Reason::OtherChange, .. })));
    let lie = World::applied_by(|order| {
        order.execution = ExecutionId::parse("exec-00aa11bb22cc33dd44ee55ff66007788").unwrap();
    });
    assert_eq!(refused(&lie), Refusal::Decision(evidence::Refusal::Execution));
    let lie = World::applied_by(|order| order.kind = Kind::Undo);
    assert_eq!(refused(&lie), Refusal::Decision(evidence::Refusal::Kind));
}

#[test]
fn a_rehearsal_is_not_applied_without_its_decision() {
    for world in [World::rehearsed_by_rules, World::rehearsed_by_plan] {
        // Nobody decided, or it is not said what.
        let mut lie = world();
        lie.drop_last("decision_recorded");
        lie.drop_last("token_spent");
        assert!(matches!(refused(&lie), Refusal::Books(books::Fault { reason: books::Reason::NotSpent, .. })));
        // Decided, and not spent.
        let mut lie = world();
        lie.drop_last("token_spent");
        assert!(matches!(refused(&lie), Refusal::Books(books::Fault { reason: books::Reason::NotSpent, .. })));
        // It never waited.
        let mut lie = world();
        lie.drop_event("work_rehearsed");
        assert!(matches!(refused(&lie), Refusal::Books(books::Fault { reason: books::Reason::OtherKind, .. })));
        // It waited with other changes, or with another outcome.
        let mut lie = world();
        lie.edit("work_rehearsed", |event| event["changeset"] = json!(Digest::of(b"other")));
        assert!(matches!(refused(&lie), Refusal::Changeset(_)));
        let mut lie = world();
        lie.edit("work_rehearsed", |event| event["outcome"] = json!("guarded"));
        assert!(matches!(refused(&lie), Refusal::Outcome { .. }));
    }
}

#[test]
fn house_rules_are_the_ones_that_were_used_for_it() {
    // Another use of them than the entry says.
    let mut lie = World::rehearsed_by_rules();
    lie.edit_first(|event| event["use_number"] = json!(5));
    assert!(matches!(refused(&lie), Refusal::Books(_)));
    // A use between that is not there.
    let mut lie = World::rehearsed_by_rules();
    lie.edit_counted("token_spent", 0, |event| event["use_number"] = json!(6));
    assert!(matches!(refused(&lie), Refusal::Books(_)));
    // No plan, or one too many.
    let mut lie = World::rehearsed_by_rules();
    lie.bundle_mut(|bundle| bundle.plan = None);
    assert!(matches!(refused(&lie), Refusal::Decision(evidence::Refusal::Malformed(_))));
    let mut lie = World::rehearsed_by_plan();
    lie.bundle_mut(|bundle| bundle.plan = Some("{}".to_owned()));
    assert!(matches!(refused(&lie), Refusal::Plan(_)));
    // They do not carry a plan that reaches out.
    let mut lie = World::rehearsed_by_rules();
    lie.bundle_mut(|bundle| {
        let reaching = crate::work::WorkItem::new(crate::work::tests::full()).unwrap();
        bundle.plan = Some(reaching.canonical().unwrap());
    });
    assert!(matches!(refused(&lie), Refusal::Decision(evidence::Refusal::HouseRules(_))));
}
