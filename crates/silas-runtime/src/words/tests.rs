//! Cards that the browser is tested with, made here: the page is looked at with the words that people will really read,
//! ordinary and as long as they can get.
//!
//! After a change of the words: `SILAS_WRITE_DOCS=1 cargo test -p silas-runtime words`, and look at the difference.

use super::*;
use serde_json::{Value, json};
use silas_core::changeset::{ChangeOrder, DiffLine};
use silas_core::exits::{Exit, Lack};
use silas_core::model::{KeySource, Role};
use silas_core::plan;
use silas_core::rehearsal::{ApplyOrder, Findings};
use silas_core::relpath::RelPath;
use silas_core::secret::SecretRef;
use silas_core::token::Kind;
use silas_core::{Digest, ExecutionId, TokenId};
use std::path::Path;

fn words() -> Words {
    Words::new(Some("/home/mira".to_owned()))
}

fn real(kind: &str, face: &Face, payload: &str) -> Value {
    json!({ "kind": kind, "face": face, "payload": payload })
}

fn execution() -> ExecutionId {
    ExecutionId::derive(&TokenId::of(&Digest::of(b"token")), 0)
}

fn undeclared(exit: Exit, value: &str, lacks: Lack, from: &[&str]) -> Undeclared {
    Undeclared { exit, value: value.to_owned(), lacks, from: from.iter().map(|what| (*what).to_owned()).collect() }
}

fn step(tool: &str, arguments: &Value, undeclared: Vec<Undeclared>) -> Value {
    let (kind, execution, nth) = (Kind::Step, execution(), 0);
    let order = CallOrder { kind, execution, nth, tool: tool.to_owned(), arguments: arguments.to_string(), undeclared };
    real("step", &words().step(&order), &canonical::text(&order).unwrap())
}

fn left_to_a_model(front: &str, body: &str) -> Value {
    let item = plan::parse(format!("---\n{front}---\n\n{body}\n").as_bytes()).unwrap();
    let face = words().plan(&item, &item.definition().body);
    real("plan", &face, &item.canonical().unwrap())
}

fn rehearsal(front: &str, body: &str) -> Value {
    let item = plan::parse(format!("---\n{front}---\n\n{body}\n").as_bytes()).unwrap();
    let face = words().rehearsal(&item, &item.definition().body);
    real("rehearsal", &face, &item.canonical().unwrap())
}

fn check(name: &str, passed: bool, protected: bool) -> CheckResult {
    CheckResult {
        name: name.to_owned(),
        passed,
        reason: format!("Exit code {}, expected 0", i32::from(!passed)),
        output: String::new(),
        exit_code: Some(i32::from(!passed)),
        took_ms: 210,
        protected,
        tests: None,
        asked: Vec::new(),
    }
}

fn changed(path: &str) -> FileDiff {
    let lines = vec![
        DiffLine::Same("def parse_time(text, zone):".to_owned()),
        DiffLine::Removed("    return datetime.fromisoformat(text)".to_owned()),
        DiffLine::Added("    when = datetime.fromisoformat(text)".to_owned()),
        DiffLine::Gap(12),
        DiffLine::Added("    return when.replace(tzinfo=ZoneInfo(zone))".to_owned()),
    ];
    FileDiff {
        directory: String::new(),
        path: RelPath::from_bytes(path.as_bytes()).unwrap(),
        renamed_from: None,
        mode_before: None,
        mode_after: None,
        added: 2,
        removed: 1,
        lines: Some(lines),
        is_verbatim: true,
    }
}

fn rehearsed(directory: &str, names: &[&str], is_protected: bool, paths: &[String], unnamed: &[Undeclared]) -> Value {
    result(directory, names, is_protected, paths, unnamed, |result| {
        let face = words().rehearsed(result, u32::try_from(paths.len()).unwrap(), 300);
        let order = ApplyOrder {
            kind: Kind::Apply,
            execution: execution(),
            plan_hash: Digest::of(b"plan"),
            changeset: Digest::of(b"changes"),
            findings: Findings { before: result.before, after: result.after, diffs: result.diffs }.hash().unwrap(),
        };
        real("apply", &face, &canonical::text(&order).unwrap())
    })
}

fn done(directory: &str, names: &[&str], is_protected: bool, paths: &[String]) -> Value {
    result(directory, names, is_protected, paths, &[], |result| {
        let face = words().done(result, u32::try_from(paths.len()).unwrap(), 300);
        let order = ChangeOrder { kind: Kind::Undo, execution: execution(), changeset: Digest::of(b"changes") };
        real("undo", &face, &canonical::text(&order).unwrap())
    })
}

fn model(name: &str, roles: Vec<Role>, face: fn(&Words, &ModelGrant) -> Face) -> Value {
    let grant = ModelGrant::new(
        ModelName::parse(name).unwrap(),
        roles,
        KeySource::Vault(SecretRef::parse("openrouter").unwrap()),
        None,
    );
    real("model", &face(&words(), &grant), &canonical::text(&grant).unwrap())
}

fn result(
    directory: &str,
    names: &[&str],
    is_protected: bool,
    paths: &[String],
    unnamed: &[Undeclared],
    card: impl FnOnce(&ResultFacts<'_>) -> Value,
) -> Value {
    let results = |passed| names.iter().map(|name| check(name, passed, is_protected)).collect::<Vec<_>>();
    let (before, after) = (results(false), results(true));
    let diffs: Vec<FileDiff> = paths.iter().map(|path| changed(path)).collect();
    let result = ResultFacts {
        asked: "Tide times are an hour off since the clocks changed. Fix it in tidepool.",
        directory,
        commands: &[],
        outcome: Outcome::of(&before, &after),
        before: &before,
        after: &after,
        diffs: &diffs,
        flags: &[],
        unseen: &[],
        outputs: &[],
        taint: Taint::External,
        orders_found: 2,
        last_moment: &[],
        is_in_two_steps: false,
        moved_on: &[],
        undeclared: unnamed,
        wanted: &[],
        took_ms: 130_000,
        cost_microusd: 50_000,
    };
    card(&result)
}

fn refused(kind: &str, (face, payload): (Face, String)) -> Value {
    real(kind, &face, &payload)
}

fn all() -> Value {
    let long_words = "tide tables of every harbour between the two capes ".repeat(8);
    let long_source = "what `curl --silent --location https://tides.example/a/very/long/path/to/a/page.html` printed";
    let long_path =
        |n: usize| format!("{}/generated-tables-of-the-year-{n:03}.py", "a-directory-with-a-long-name".repeat(5));
    let queries = [
        undeclared(
            Exit::Search,
            long_words.trim(),
            Lack::Value,
            &[long_source, "README.md", "a page of tides.example"],
        ),
        undeclared(Exit::Search, "beacon 77", Lack::Value, &[]),
    ];
    let many: Vec<String> = (0..60).map(long_path).collect();
    let unnamed: Vec<Undeclared> =
        many.iter().map(|path| undeclared(Exit::Apply, path, Lack::FlowFromWeb, &[long_source, "README.md"])).collect();
    let files = ["tides/parse.py".to_owned(), "tides/report.py".to_owned()];
    let named = ["tides/parse.py".to_owned(), ".github/ci.yml".to_owned()];
    let ci = undeclared(Exit::Apply, ".github/ci.yml", Lack::Value, &["what `cat README.md` printed"]);
    json!({
        "step": step("web_search", &json!({ "query": "beacon 77" }),
            vec![undeclared(Exit::Search, "beacon 77", Lack::Value, &["a search for tide tables"])]),
        "step_longest": step("web_search", &json!({ "query": long_words.trim() }), queries.to_vec()),
        "step_always": step("web_search", &json!({ "query": "tide tables" }), Vec::new()),
        "model_plan": left_to_a_model(MODEL_PLAN, "Make the tide times right again."),
        "model_plan_longest": left_to_a_model(MODEL_PLAN_LONGEST, &"Every morning the tide table is an hour off. ".repeat(9)),
        "refusal": refused("rehearsal", refusal::tests::sample()),
        "refusal_longest": refused("plan", refusal::tests::longest()),
        "rehearsal": rehearsal(MODEL_PLAN, "Make the tide times right again."),
        "rehearsal_longest": rehearsal(MODEL_PLAN_LONGEST, &"Every morning the tide table is an hour off. ".repeat(9)),
        "proved": rehearsed("tidepool", &["Clock-change tests", "All other tests"], true, &files, &[]),
        "done": done("tidepool", &["Clock-change tests", "All other tests"], true, &files),
        "done_open": done("tidepool", &["Clock-change tests"], false, &files),
        "model": model("openrouter:anthropic/claude-haiku-4-5", vec![Role::Proxy], Words::model),
        "model_to_test": model("openrouter:anthropic/claude-haiku-4-5", vec![Role::Proxy, Role::Planner, Role::Executor], Words::model_to_test),
        "undeclared": rehearsed("tidepool", &["Clock-change tests"], true, &named, &[ci]),
        "undeclared_longest": rehearsed("some-very-long-named-project-here", &["Clock-change tests of the northern coast", "Everything else",
            "Types", "Spelling of the harbours"], false, &many, &unnamed),
    })
}

const MODEL_PLAN: &str = r#"id: task-1
type: task
title: Fix the one-hour shift in tidepool
executor: { model: "openrouter:anthropic/claude-haiku-4-5" }
exits: { paths: ["tides/*.py"] }
verify:
  - { name: Clock-change tests, run: sh check.sh, expect: { exit_code: 0 } }
sandbox:
  directories:
    - { path: /home/mira/code/tidepool, access: write }
"#;

const MODEL_PLAN_LONGEST: &str = r#"id: task-1
type: task
title: Fix the one-hour shift
budget: { max_attempts: 5 }
steps:
  - run: sh prepare-the-tables-of-every-harbour.sh --with --every --option --that --there --is
executor:
  model: "openrouter:somebody/a-model-with-a-name-that-is-as-long-as-names-of-models-get-2026-11-16"
  tools: [shell_exec, python_exec, read_file, list_files, tell_user, web_search]
  max_model_calls: 500
  max_tool_calls: 1000
exits:
  paths: ["tides/**/*.py", "docs/a-directory-with-a-rather-long-name/and-another-one-below-it/*.md"]
  queries: ["tide tables *"]
flows: [web -> docs/a-directory-with-a-rather-long-name/and-another-one-below-it/tides.md]
verify:
  - { name: Clock-change tests of the northern coast, run: sh check.sh --all, expect: { exit_code: 0 } }
  - { name: Everything else, run: python3 -m pytest --quiet tests, expect: { exit_code: 0 } }
sandbox:
  hosts: ["tides.example:443", "harbours.of-the-northern-coast.example:443"]
  directories:
    - { path: /home/mira/code/some-very-long-named-project-here/with/another/below, access: write }
    - { path: /home/mira/code/tidepool, access: write }
    - { path: /home/mira/documents/tables-of-the-last-hundred-years, access: read }
"#;

#[test]
fn the_browser_is_tested_with_the_cards_of_today() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/real-cards.json");
    let made = format!("{}\n", serde_json::to_string_pretty(&all()).unwrap());
    if std::env::var_os("SILAS_WRITE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == made,
        "web/tests/real-cards.json is not what the words say. Write it with SILAS_WRITE_DOCS=1, and look at the difference."
    );
}

/// Where a yes could do harm, the way between runs nothing and the no says what stays.
#[test]
fn what_could_do_harm_has_a_safe_way_between_and_a_no_that_says_what_stays() {
    let labels = |outside: &str| {
        let front = format!(
            "id: task-x\ntitle: Send\ntype: task\nsteps:\n  - run: sh send.sh\nverify:\n  - name: ok\n    run: sh ok.sh\n    expect: \
             {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: /home/mira/code/tidepool, access: write }}\n{outside}"
        );
        let item = plan::parse(format!("---\n{front}---\n\nSend it.\n").as_bytes()).unwrap();
        let face = words().plan(&item, "Send it.");
        let ctas: Vec<(Press, String)> = face.ctas.into_iter().map(|cta| (cta.press, cta.label)).collect();
        (face.risk.unwrap(), ctas[1].0, ctas[2].1.clone())
    };
    let both = "  hosts: [\"tides.example:443\"]\n  secrets: [tides]\n";
    assert_eq!(labels(both), (Risk::Irreversible, Press::Change, "Send nothing".to_owned()));
    assert_eq!(labels("  secrets: [tides]\n"), (Risk::High, Press::Rehearse, "Leave it as it is".to_owned()));
    assert_eq!(labels("  hosts: [\"192.168.1.9:80\"]\n"), (Risk::High, Press::Rehearse, "Send nothing".to_owned()));
    assert_eq!(labels(""), (Risk::Medium, Press::Rehearse, "Decline".to_owned()));
}
