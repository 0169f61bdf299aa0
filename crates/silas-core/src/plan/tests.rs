//! Plans: there and back, what is refused and in which words, and that no document is able to hurt.

mod documented;
mod mutations;
mod refusals;

use super::*;
use crate::check::{Check, Command, Expectation};
use crate::decimal::Decimal;
use crate::roots::Access;
use crate::work::tests::{any, unpinned};
use crate::work::{Budget, Directory, InteractionMode, Step};
use proptest::prelude::*;

/// The shape that the planner is told to write, with this version's parts.
const SAMPLE: &str = r#"---
id: task-7
type: task
title: no
interaction_mode: act_and_report
skills: []
budget: { max_tokens: 1000, max_cost_usd: 0.50, max_wall_time_seconds: 60 }
needs_approval: false
steps:
  - run: |
      cargo fmt
      cargo build
    cwd: src
  - { run: [make, "-j", 2] }
verify:
  - name: fast
    run: ./bench   # prints seconds
    expect: { output_lt: 0.50 }
  - name: version
    run: cat VERSION
    expect: { equals: 007 }
    timeout: 5
    network: false
sandbox:
  directories:
    - { path: /home/me/p, access: write, device: 2049, inode: 18446744073709551615 }
    - path: /home/me/q
      access: read
  hosts: []
gates: null
schedule:
on_stuck: report
---

# Context
Why.

---

More.
"#;

#[test]
fn a_plan_as_people_write_it() {
    let item = parse(SAMPLE.as_bytes()).unwrap();
    let d = item.definition();
    assert_eq!((d.id.as_str(), d.title.as_str()), ("task-7", "no"));
    assert_eq!(d.interaction_mode, InteractionMode::ActAndReport);
    let budget =
        Budget { max_tokens: 1000, max_cost_microusd: 500_000, max_wall_time_seconds: 60, ..Budget::default() };
    assert_eq!(d.budget, budget);
    let words = |words: &[&str]| Command::Argv(words.iter().map(|w| (*w).to_owned()).collect());
    assert_eq!(
        d.steps,
        [
            Step { run: Command::Shell("cargo fmt\ncargo build\n".to_owned()), cwd: Some("src".to_owned()) },
            Step { run: words(&["make", "-j", "2"]), cwd: None },
        ]
    );
    let check = |name: &str, run: &str, expect, timeout| Check {
        name: name.to_owned(),
        run: Command::Shell(run.to_owned()),
        expect,
        timeout,
        network: false,
        protected: true,
    };
    let limit = Decimal::parse("0.5").unwrap();
    assert_eq!(
        d.verify,
        [
            check("fast", "./bench", Expectation::OutputLt(limit), 60),
            check("version", "cat VERSION", Expectation::Equals("007".to_owned()), 5),
        ]
    );
    let pinned = Directory {
        device: Some("2049".to_owned()),
        inode: Some(u64::MAX.to_string()),
        replaces: None,
        ..unpinned("/home/me/p", Access::Write)
    };
    assert_eq!(d.directories, [pinned, unpinned("/home/me/q", Access::Read)]);
    assert_eq!((d.on_failure.as_str(), d.on_stuck.as_str()), ("report", "report"));
    assert_eq!(d.body, "\n# Context\nWhy.\n\n---\n\nMore.\n", "the body is kept byte for byte");
    assert_eq!(parse(render(&item).as_bytes()).unwrap(), item);
}

#[test]
fn what_a_plan_leaves_out_has_its_default() {
    let item = parse(b"---\nid: task-1\ntype: task\ntitle: t\n---").unwrap();
    let d = item.definition();
    assert_eq!((&d.budget, d.body.as_str()), (&Budget::default(), ""));
    assert_eq!(d.interaction_mode, InteractionMode::ConfirmOnlyWhenRequired);
    assert_eq!((d.on_failure.as_str(), d.on_stuck.as_str()), ("report", "consult_planner"));
    assert!(d.steps.is_empty() && d.verify.is_empty() && d.directories.is_empty());
    assert_eq!((&d.parent, &d.domain, &d.failure_context), (&None, &None, &None));
}

#[test]
fn needs_approval_is_no_authority() {
    let with = |line: &str| parse(format!("---\nid: task-1\ntype: task\ntitle: t\n{line}---\n").as_bytes()).unwrap();
    let hash = with("").plan_hash().unwrap();
    for wish in ["needs_approval: false\n", "needs_approval: true\n", "needs_approval: null\n"] {
        assert_eq!(with(wish).plan_hash().unwrap(), hash);
    }
}

#[test]
fn scalars_are_the_text_that_was_written() {
    for text in ["no", "yes", "true", "0x1F", "1e999", ".inf", "1_000", "12:30", "2026-01-01", "007", "1.50", "-0"] {
        let plan = format!(
            "---\nid: task-1\ntype: task\ntitle: {text}\ndomain: {text}\nverify:\n  - {{ name: {text}, run: [{text}], expect: {{ contains: {text} }} }}\n---\n"
        );
        let item = parse(plan.as_bytes()).unwrap();
        let d = item.definition();
        assert_eq!((d.title.as_str(), d.domain.as_deref(), d.verify[0].name.as_str()), (text, Some(text), text));
        assert_eq!(d.verify[0].run, Command::Argv(vec![text.to_owned()]));
        assert_eq!(d.verify[0].expect, Expectation::Contains(text.to_owned()));
    }
}

#[test]
fn money_is_exact() {
    let cost = |usd: &str| {
        let plan = format!("---\nid: task-1\ntype: task\ntitle: t\nbudget: {{ max_cost_usd: {usd} }}\n---\n");
        parse(plan.as_bytes()).map(|item| item.definition().budget.max_cost_microusd).map_err(|e| e.problem)
    };
    let cases = [
        ("2.00", 2_000_000),
        ("0.1", 100_000),
        ("0.000001", 1),
        ("0", 0),
        ("\"1.5\"", 1_500_000),
        ("2.5000000", 2_500_000),
    ];
    for (usd, micros) in cases {
        assert_eq!(cost(usd), Ok(micros), "{usd}");
    }
    assert_eq!(cost("4503599627.370497"), Ok(4_503_599_627_370_497));
    for (usd, problem) in [
        ("0.0000001", "at most 6 decimals"),
        ("-1", "negative"),
        ("1e3", "plain decimal"),
        (".inf", "plain decimal"),
        ("9007199254.740993", "2^53"),
        ("99999999999999999999", "too large"),
    ] {
        assert!(cost(usd).unwrap_err().contains(problem), "{usd}");
    }
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_fine() {
    let plan = "\u{feff}---\r\nid: task-1\r\ntype: task\r\ntitle: t\r\n---\r\nbody\r\n";
    let item = parse(plan.as_bytes()).unwrap();
    assert_eq!((item.definition().title.as_str(), item.definition().body.as_str()), ("t", "body\r\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn every_item_reads_back_from_its_plan(item in any::item()) {
        let text = render(&item);
        match parse(text.as_bytes()) {
            Ok(read) => prop_assert_eq!(read, item),
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }
}
