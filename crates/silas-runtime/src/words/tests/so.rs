//! Words against the state that makes them: what a card says is so, and what a model calls its own proof is nowhere on it.

use super::plans::{self, by_a_model, item};
use super::results::{BRAG, Found};
use super::samples::{Sample, samples, words};
use crate::words::chooser::Chooser;
use silas_core::card::{Face, Press};
use silas_core::model::{BudgetGrant, BudgetKind};

/// A face as it is shown: the names that a plan gives to its checks are in the results for whoever compares them, and no door
/// shows them.
fn shown(face: &Face) -> String {
    let mut face = face.clone();
    for evidence in face.evidence.iter_mut() {
        evidence.before.iter_mut().chain(&mut evidence.after).for_each(|result| result.name.clear());
    }
    serde_json::to_string(&face).unwrap()
}

/// Every plan and every result among the samples has a check that a model has named to be believed.
#[test]
fn no_card_shows_what_a_model_calls_its_checks() {
    let is_named = |sample: &&Sample| {
        serde_json::to_string(&sample.face).unwrap().contains(BRAG)
            || sample.payload.as_deref().is_some_and(|payload| payload.contains(BRAG))
    };
    assert!(samples().iter().filter(is_named).count() > 20, "the samples have such names");
    for Sample { name, face, .. } in samples() {
        assert!(!shown(&face).contains("214"), "{name}: {}", shown(&face));
    }
}

#[test]
fn a_card_says_whose_its_checks_are() {
    let title = |face: &Face| {
        face.details
            .iter()
            .find(|detail| detail.lines.iter().any(|line| line.starts_with("sh check.sh: ")))
            .unwrap()
            .title
            .clone()
    };
    let mine = item(plans::PLAN, "Fix it.");
    assert_eq!(title(&words().plan(&mine)), "Your check");
    let planned = by_a_model(plans::PLAN, "Fix it.", "I fix it.");
    assert_eq!(title(&words().plan(&planned)), "Check chosen by anthropic/claude-haiku-4-5");
    assert_eq!(title(&words().rehearsal(&planned)), "Check chosen by anthropic/claude-haiku-4-5");
    let again = silas_core::work::Definition { spawned_by: Some(planned.id().clone()), ..planned.definition().clone() };
    assert_eq!(Chooser::of(&again), Chooser::PlanBefore, "one that is planned again keeps its checks");
    let mut found = Found::ordinary();
    found.chooser = Chooser::Model("claude-haiku-4-5".to_owned());
    let whose = |face: Face| face.facts.into_iter().find(|fact| fact.label == "Checks").unwrap().text;
    assert_eq!(whose(words().rehearsed(&found.facts(), 2, 300)), "Chosen by claude-haiku-4-5");
    assert_eq!(whose(words().done(&found.facts(), 2, 300)), "Chosen by claude-haiku-4-5");
    let mine = Found::ordinary();
    let said = |face: Face| face.details.into_iter().find(|detail| detail.title == "Your checks").unwrap().lines;
    let commands: Vec<String> = mine.facts().after.iter().map(|check| check.shown()).collect();
    assert_eq!(said(words().rehearsed(&mine.facts(), 2, 300)), commands);
    assert_eq!(said(words().done(&mine.facts(), 2, 300)), commands);
    let longest = Found::longest(12);
    assert_eq!(whose(words().rehearsed(&longest.facts(), 12, 300)), "Chosen by a model");
}

/// A plan without a check is not applied by itself, and no button of it promises that.
#[test]
fn a_plan_without_a_check_promises_no_green() {
    let unchecked = |commits: &str| {
        let front = format!(
            "id: task-1\ntype: task\ntitle: Fix\nsteps:\n  - run: sh fix.sh\nsandbox:\n{commits}  directories:\n    - {{ path: /home/mira/code/tidepool, access: write }}\n"
        );
        words().plan(&item(&front, "Fix it."))
    };
    let face = unchecked("");
    let said: Vec<(Press, &str)> = face.ctas.iter().map(|cta| (cta.press, cta.label.as_str())).collect();
    assert_eq!(
        said,
        [
            (Press::Approve, "Do it, show me the result"),
            (Press::Change, "Ask for a change"),
            (Press::Decline, "Decline")
        ]
    );
    assert_eq!(
        face.ctas[0].consequence,
        "Runs it in a private copy. No check judges it, so you see it before it is applied."
    );
    for face in [face, unchecked("  commits: true\n")] {
        assert!(!shown(&face).contains("green") && !shown(&face).contains("proved"), "{}", shown(&face));
    }
}

/// What ends with an exit code is not a proof, and only a proof is applied by itself.
#[test]
fn a_button_promises_to_apply_only_what_is_proved() {
    let face = words().plan(&item(plans::PLAN, "Fix it."));
    assert_eq!(face.ctas[0].label, "Do it, apply when proved");
    assert_eq!(
        face.ctas[0].consequence,
        "Changes files in tidepool if counted tests turn green; if not, you see it first."
    );
}

#[test]
fn a_cap_that_is_far_off_is_not_called_nearly_spent_and_nothing_is_promised_to_what_waits() {
    let grant = |spent_microusd: u64| BudgetGrant {
        kind: BudgetKind::Budget,
        period: serde_json::from_value(serde_json::json!("2026-11-16")).unwrap(),
        microusd: 1_000_000,
        cap_microusd: 2_000_000,
        spent_microusd,
    };
    let face = words().budget(&grant(680_000));
    assert_eq!(face.intent, "The next question may exceed today's $2.00");
    assert!(shown(&face).contains("$2.00 a day, $0.68 spent"), "{}", shown(&face));
    assert_eq!(words().budget(&grant(2_000_000)).intent, "Today's $2.00 are spent");
    assert!(!shown(&face).contains("nothing is lost"), "{}", shown(&face));
    assert!(shown(&face).contains("what it did in its private copy is lost"), "{}", shown(&face));
}

/// A tool that asks each time does so also where no text from outside was read.
#[test]
fn one_call_is_asked_about_for_the_reason_that_there_is() {
    let face = |name: &str| samples().into_iter().find(|sample| sample.name == name).unwrap().face;
    assert_eq!(face("step_always").rationale, "This tool asks each time.");
    assert!(
        face("step").rationale.starts_with("The model has read text that is not yours"),
        "{}",
        face("step").rationale
    );
}
