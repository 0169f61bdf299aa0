//! What the house rules let be tried out, and what an order to apply must name.

use super::*;
use crate::house_rules::{HouseRule, RehearsalBudget};
use crate::plan;

fn plan_text(extra: &str) -> String {
    let text = format!("---\nid: task-1\ntype: task\ntitle: Tidy\n{extra}---\nProse.\n");
    plan::parse(text.as_bytes()).unwrap().canonical().unwrap()
}

fn of(kind: Kind, payload: String, plan: Option<String>) -> Evidence {
    let offer = Offer { kind, scope: kind.scope(), plan_hash: Digest::of(payload.as_bytes()), ..offer() };
    Evidence { payload, plan, ..evidence(offer) }
}

fn rules(rules: Vec<HouseRule>) -> String {
    canonical::text(&HouseRules { kind: Kind::HouseRules, rules }).unwrap()
}

fn rehearse(evidence: &Evidence) -> Result<RehearsalBudget, Refusal> {
    verify_rehearsal(evidence, &anchor(), &none(), When::At(at(1100))).map(|(_, _, budget)| budget)
}

const BUDGET: RehearsalBudget = RehearsalBudget { per_day: 3, max_wall_time_seconds: 1800 };

#[test]
fn house_rules_that_name_it_let_a_plan_be_tried_out() {
    let named = rules(vec![HouseRule::DropOldVersions, HouseRule::Rehearse(BUDGET)]);
    let plan = plan_text("");
    assert_eq!(rehearse(&of(Kind::HouseRules, named.clone(), Some(plan.clone()))), Ok(BUDGET));
    let refused = |evidence: &Evidence| match rehearse(evidence) {
        Err(Refusal::HouseRules(why)) => why,
        other => panic!("{other:?}"),
    };
    let unnamed = rules(vec![HouseRule::DropOldVersions, HouseRule::ResumeInterrupted]);
    assert!(refused(&of(Kind::HouseRules, unnamed, Some(plan.clone()))).contains("do not name"));
    let short = rules(vec![HouseRule::Rehearse(RehearsalBudget { max_wall_time_seconds: 1799, ..BUDGET })]);
    assert!(refused(&of(Kind::HouseRules, short, Some(plan.clone()))).contains("more time"));
    let commits = plan_text("sandbox:\n  commits: true\n");
    assert!(refused(&of(Kind::HouseRules, named.clone(), Some(commits))).contains("commits"));
    assert!(matches!(rehearse(&of(Kind::HouseRules, named.clone(), None)), Err(Refusal::Malformed(_))));
    // The same words under another kind of decision allow nothing.
    assert_eq!(rehearse(&of(Kind::Plan, named, Some(plan))), Err(Refusal::Kind));
}

#[test]
fn an_order_names_its_plan() {
    let plan = plan_text("");
    let order = |kind: Kind, plan: &str| {
        let order = ApplyOrder {
            kind,
            execution: ExecutionId::derive(&evidence(offer()).token.id().unwrap(), 0),
            plan_hash: Digest::of(plan.as_bytes()),
            changeset: Digest::of(b"changes"),
            findings: Digest::of(b"findings"),
        };
        canonical::text(&order).unwrap()
    };
    let ask = |evidence: &Evidence| verify_apply(evidence, &anchor(), &none(), When::At(at(1100))).map(|_| ());
    assert_eq!(ask(&of(Kind::Apply, order(Kind::Apply, &plan), Some(plan.clone()))), Ok(()));
    let other = plan_text("sandbox:\n  commits: true\n");
    assert_eq!(ask(&of(Kind::Apply, order(Kind::Apply, &plan), Some(other))), Err(Refusal::Content));
    assert_eq!(ask(&of(Kind::Apply, order(Kind::Undo, &plan), Some(plan.clone()))), Err(Refusal::Kind));
    assert_eq!(ask(&of(Kind::Undo, order(Kind::Apply, &plan), Some(plan.clone()))), Err(Refusal::Kind));
    assert!(matches!(ask(&of(Kind::Apply, order(Kind::Apply, &plan), None)), Err(Refusal::Malformed(_))));
}
