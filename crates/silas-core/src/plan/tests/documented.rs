//! `docs/plans.md` knows every key of a plan, and its examples are plans. A story of the whole program runs each of them.

use super::*;
use regex::Regex;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/plans.md");
const READER: &str = include_str!("../item.rs");

/// Every name that stands in a list of keys of the reader.
fn keys() -> BTreeSet<&'static str> {
    let list = Regex::new(r#"\[\s*(?:"[a-z_]+",?\s*)+\]"#).unwrap();
    let name = Regex::new("\"([a-z_]+)\"").unwrap();
    let lists = list.find_iter(READER).map(|found| found.as_str());
    lists.flat_map(|found| name.captures_iter(found).map(|captures| captures.extract::<1>().1[0])).collect()
}

#[test]
fn every_key_is_documented_and_every_example_is_a_plan() {
    let keys = keys();
    assert!(keys.len() > 60 && keys.contains("max_planner_calls") && keys.contains("replaces"), "{keys:?}");
    let is_known = |key: &&str| {
        let quoted = Regex::new(&format!("`(?:[a-z_]+[.])?{key}(?:: [a-z_]+)?`")).unwrap();
        quoted.is_match(PAGE)
    };
    let unknown: Vec<&str> = keys.iter().copied().filter(|key| !is_known(key)).collect();
    assert!(unknown.is_empty(), "docs/plans.md does not say what these are: {unknown:?}");

    let examples: Vec<&str> = PAGE.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let plans: Vec<&str> = examples.iter().copied().filter(|example| example.starts_with("---\n")).collect();
    assert!(plans.len() >= 3);
    for example in &plans {
        parse(example.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
    // What is a value and what is not there yet has no example.
    let not_shown = [
        "goal",
        "project",
        "stream",
        "gates",
        "skills",
        "access_levels",
        "escalation",
        "schedule",
        "tasks",
        "depends_on",
        "input_artifacts_from",
    ];
    let shown = |key: &&str| {
        let written = Regex::new(&format!(r"(?m)(?:^|[\s{{,-]){key}:")).unwrap();
        not_shown.contains(key) || plans.iter().any(|plan| written.is_match(plan))
    };
    let missing: Vec<&str> = keys.iter().copied().filter(|key| !shown(key)).collect();
    assert!(missing.is_empty(), "no example of docs/plans.md has these: {missing:?}");
}
