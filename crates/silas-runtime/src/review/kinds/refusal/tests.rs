//! What the card of a refusal says: everything that would be allowed, short where it fits and whole where it does not.

use super::*;
use crate::words::chooser::Chooser;
use silas_core::card::{LABEL_CHARS_MAX, Risk};
use silas_core::check::{CheckResult, Command, Outcome};
use silas_core::mandate::Mandate;
use silas_core::model::ModelName;
use silas_core::taint::Taint;
use silas_core::{WorkItemId, plan, wanted};

const PLAN: &str = "---
id: task-1
type: task
title: Fetch the zones
budget: {max_wall_time_seconds: 600}
steps:
  - run: curl -sO https://tides.example/zones.csv
verify:
  - {name: Zones are there, run: test -s zones.csv, expect: {exit_code: 0}}
sandbox:
  directories:
    - {path: /home/mira/code/tidepool, access: write}
---
Fetch the zones.
";

fn words() -> Words {
    Words::new(Some("/home/mira".to_owned()))
}

fn before() -> Definition {
    plan::parse(PLAN.as_bytes()).unwrap().definition().clone()
}

fn wants(host: &str, by: By, command: &str) -> Wanted {
    Wanted::new(host, by, &Command::Shell(command.to_owned()))
}

fn amended(d: &Definition, wanted: &[Wanted]) -> WorkItem {
    wanted::amended(d, WorkItemId::parse("task-2").unwrap(), wanted).unwrap()
}

fn face(item: &WorkItem, rule: Rule, kind: Kind, said: Option<&str>) -> Face {
    let red = CheckResult {
        name: "All 214 project tests".to_owned(),
        run: "test -s zones".to_owned(),
        passed: false,
        reason: "Exit code 1, expected 0".to_owned(),
        output: String::new(),
        exit_code: Some(1),
        took_ms: 3,
        protected: true,
        tests: None,
        asked: Vec::new(),
        basis: None,
    };
    let result = ResultFacts {
        asked: Some("Fetch the zones."),
        directory: "tidepool",
        outcome: Outcome::Failed,
        before: std::slice::from_ref(&red),
        after: std::slice::from_ref(&red),
        diffs: &[],
        flags: &[],
        unseen: &[],
        commands: &[],
        ended: &[],
        chooser: Some(&Chooser::Owner),
        outputs: &["curl: (6) Could not resolve host: tides.example".to_owned()],
        taint: Taint::External,
        orders_found: 0,
        last_moment: &[],
        is_in_two_steps: false,
        in_part: None,
        left_out: &[],
        moved_on: &[],
        undeclared: &[],
        wanted: &[],
        took_ms: 1200,
        cost_microusd: 0,
    };
    let (intent, reason) = ("The check is still red", "Zones are there: Exit code 1, expected 0\n");
    words().refusal(&result, &Refused { plan: item, rule, kind, intent, reason, said })
}

/// For the browser: the card and the plan that it asks about.
pub(crate) fn sample() -> (Face, String) {
    let item = amended(&before(), &[wants("tides.example", By::Step(0), &before().steps[0].run.words())]);
    (face(&item, Rule::Rehearsal, Kind::Rehearsal, None), item.canonical().unwrap())
}

/// A host for work that carries a secret.
pub(crate) fn with_a_secret() -> (Face, String) {
    let secrets = vec![silas_core::secret::SecretRef::parse("mail").unwrap()];
    let before = Definition { secrets, ..before() };
    let item = amended(&before, &[wants("tides.example", By::Step(0), &before.steps[0].run.words())]);
    (face(&item, Rule::NoHost, Kind::Plan, None), item.canonical().unwrap())
}

/// Several hosts with names as long as names get, wanted by whoever can want one.
pub(crate) fn longest() -> (Face, String) {
    let item = amended(&led(), &longest_wanted());
    let said = "Without zones.csv the harbour names have no time zone. ".repeat(6);
    (face(&item, Rule::OtherHosts, Kind::Plan, Some(&said)), item.canonical().unwrap())
}

fn led() -> Definition {
    let model = ModelName::parse("openrouter:anthropic/claude-haiku-4-5").ok();
    Definition { executor: Some(Mandate { model, ..Mandate::default() }), ..before() }
}

fn long_name(n: usize) -> String {
    format!("{}.harbours-of-the-northern-coast-{n}.example", ["a-label-of-a-name"; 10].join("."))
}

fn longest_wanted() -> Vec<Wanted> {
    let check = || By::Check("Zones are there".to_owned());
    let by = |n: usize| [By::Step(0), check(), By::Model][n % 3].clone();
    (0..9).map(|n| wants(&long_name(n), by(n), "curl")).collect()
}

fn texts(face: &Face) -> Vec<(&str, &str)> {
    face.facts.iter().map(|fact| (fact.label.as_str(), fact.text.as_str())).collect()
}

fn ctas(face: &Face) -> Vec<(Press, &str)> {
    face.ctas.iter().map(|cta| (cta.press, cta.label.as_str())).collect()
}

#[test]
fn it_offers_the_one_host_for_as_long_as_the_task_may_take() {
    let (face, _) = sample();
    assert_eq!(
        (face.risk, face.state.as_str(), face.intent.as_str()),
        (Some(Risk::Medium), "Refused, nothing sent", "Let this task reach tides.example")
    );
    assert_eq!(
        texts(&face),
        [
            ("Wanted", "tides.example, by step 1"),
            ("Refused", "Rehearsals have no network"),
            ("Needs only", "tides.example, this task, 10 minutes"),
            ("May change", "~/code/tidepool, not .git"),
        ]
    );
    assert_eq!(ctas(&face), [(Press::Approve, "Allow tides.example, 10 minutes"), (Press::Decline, "Stop the task")]);
    assert_eq!(face.details[0].lines, ["tides.example:443, for step 1: curl -sO https://tides.example/zones.csv"]);
    let titles: Vec<&str> = face.details.iter().map(|detail| detail.title.as_str()).collect();
    assert!(titles.contains(&"How it ended") && titles.contains(&"What happened"), "{titles:?}");
    assert!(!titles.contains(&"In the model's words"));
}

#[test]
fn what_a_model_has_had_its_hands_in_takes_more_than_a_tap() {
    let item = amended(&led(), &[wants("tides.example", By::Model, "curl http://tides.example:8080/x")]);
    let face = face(&item, Rule::NoHost, Kind::Plan, Some("I need \u{202e}zones.csv"));
    assert_eq!(face.risk, Some(Risk::High));
    assert_eq!(face.intent, "Let this task reach tides.example:8080");
    assert_eq!(texts(&face)[0], ("Wanted", "1 host, listed below"));
    let presses: Vec<Press> = face.ctas.iter().map(|cta| cta.press).collect();
    assert_eq!(presses, [Press::Approve, Press::Change, Press::Decline]);
    assert!(face.details[1].lines.iter().any(|line| line.contains("could go there")), "{:?}", face.details[1]);
    let said = face.details.iter().find(|detail| detail.title == "In the model's words").unwrap();
    assert!(!said.lines[0].contains('\u{202e}'), "{said:?}");
    let all: String = face.details.iter().flat_map(|detail| detail.lines.clone()).collect();
    assert!(all.contains("Its commands may reach tides.example:8080, and have no secret"), "{all}");
}

#[test]
fn authority_is_counted_above_and_listed_whole_below() {
    let (face, _) = longest();
    assert_eq!(texts(&face)[0], ("Wanted", "9 hosts, listed below"));
    assert_eq!(face.ctas[0].label, "Allow 9 hosts, 10 minutes");
    assert_eq!(face.ctas[1].label, "Go on without them");
    for n in 0..9 {
        assert!(face.details[0].lines.iter().any(|line| line.contains(&long_name(n))), "{n}");
    }
    let one = amended(&before(), &[wants(&long_name(0), By::Step(0), "x")]);
    let one = self::face(&one, Rule::NoHost, Kind::Plan, None);
    assert_eq!(
        (one.intent.as_str(), one.ctas[0].label.as_str()),
        ("Let this task reach 1 host", "Allow 1 host, 10 minutes")
    );
    for face in [face, one, sample().0] {
        assert!(face.intent.chars().count() <= INTENT_CHARS_MAX && face.facts.len() <= FACTS_MAX);
        assert!(face.ctas.iter().all(|cta| cta.label.chars().count() <= BUTTON_CHARS_MAX));
        for fact in &face.facts {
            let max = if fact.label == "Needs only" { NEEDS_CHARS_MAX } else { FACT_CHARS_MAX };
            assert!(fact.text.chars().count() <= max && fact.label.chars().count() <= LABEL_CHARS_MAX, "{fact:?}");
            assert!(!fact.text.contains('…'), "{fact:?}");
        }
    }
}

#[test]
fn a_card_that_hides_something_is_noticed() {
    let words = words();
    let (face, payload) = sample();
    let says_it = |face: &Face, payload: &str, kind: Kind| {
        words.refusal_in_words_of_today(face, payload, kind).is_some_and(|today| today == *face)
    };
    let is_honest = |face: &Face, kind: Kind| says_it(face, &payload, kind);
    assert!(is_honest(&face, Kind::Rehearsal));
    // To be shown first, or to be applied when green, is not the same.
    assert!(!is_honest(&face, Kind::Plan));
    let other = amended(&before(), &[wants("other.example", By::Step(0), "x")]);
    assert!(!says_it(&face, &other.canonical().unwrap(), Kind::Rehearsal));
    let changed = |change: &dyn Fn(&mut Face)| {
        let mut face = face.clone();
        change(&mut face);
        face
    };
    for lie in [
        changed(&|face| face.risk = Some(Risk::Low)),
        changed(&|face| face.facts[1].text = "Nothing".to_owned()),
        changed(&|face| face.facts[2].text = "tides.example, this task".to_owned()),
        changed(&|face| face.details[0].lines.clear()),
        changed(&|face| face.ctas[0].label = "Go on".to_owned()),
        changed(&|face| face.details.truncate(1)),
    ] {
        assert!(!is_honest(&lie, Kind::Rehearsal));
    }
    assert!(is_honest(&changed(&|face| face.details.truncate(face.details.len() - 1)), Kind::Rehearsal));
}

#[test]
fn the_card_of_an_earlier_version_is_worded_again() {
    let (today, payload) = with_a_secret();
    let mut earlier = today.clone();
    earlier.ctas[0].consequence =
        "Runs it again with 1 host within reach. Applies when the checks turn green.".to_owned();
    assert_ne!(words().refusal_in_words_of_today(&earlier, &payload, Kind::Plan).as_ref(), Some(&earlier));
    assert_eq!(words().refusal_in_words_of_today(&earlier, &payload, Kind::Plan).as_ref(), Some(&today));
    // Whatever else it said of what is asked for is said by its plan.
    earlier.facts[0].text = "other.example, by step 1".to_owned();
    earlier.details[0].lines.clear();
    assert_eq!(words().refusal_in_words_of_today(&earlier, &payload, Kind::Plan).as_ref(), Some(&today));
}
