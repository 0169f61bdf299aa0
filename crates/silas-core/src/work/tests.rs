//! What the plan hash covers, what a work item refuses, and how budgets add up.

pub(crate) mod any;

use super::*;
use crate::check::{CheckResult, Expectation};
use crate::exits::{Exits, Flow, Glob};
use crate::model::ModelName;
use crate::roots::Access;
use crate::toolchain::Family;
use crate::{Digest, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// As a plan names one before anybody has looked at the disk.
pub(crate) fn unpinned(path: &str, access: Access) -> Directory {
    Directory { path: path.to_owned(), access, device: None, inode: None, replaces: None }
}

/// An item in which every field says something, so that every field can be changed.
pub(crate) fn full() -> Definition {
    let id = |name: &str| WorkItemId::parse(name).unwrap();
    Definition {
        id: id("task-1"),
        title: "Format the code".to_owned(),
        parent: Some(id("task-2")),
        spawned_by: Some(id("task-3")),
        follow_up_of: Some(id("task-4")),
        domain: Some("personal".to_owned()),
        budget: Budget::default(),
        body: "# Context\n".to_owned(),
        planned: None,
        interaction_mode: InteractionMode::ActAndReport,
        steps: vec![Step { run: Command::Shell("make fmt".to_owned()), cwd: Some("src".to_owned()) }],
        verify: vec![Check {
            name: "formatted".to_owned(),
            run: Command::Argv(vec!["make".to_owned(), "check".to_owned()]),
            expect: Expectation::ExitCode(0),
            timeout: 60,
            network: false,
            protected: true,
        }],
        directories: vec![Directory {
            path: "/home/me/project".to_owned(),
            access: Access::Write,
            device: Some("2049".to_owned()),
            inode: Some("77".to_owned()),
            replaces: None,
        }],
        hosts: vec![HostGrant::parse("example.org:443").unwrap()],
        hosts_for: Vec::new(),
        secrets: vec![SecretRef::parse("github").unwrap()],
        callback_port: Some(8765),
        commits: false,
        include_ignored: false,
        beside: Vec::new(),
        executor: None,
        restores: None,
        merges: None,
        toolchains: Vec::new(),
        flows: Vec::new(),
        exits: Exits::default(),
        changes: Vec::new(),
        on_failure: "report".to_owned(),
        on_stuck: "consult_planner".to_owned(),
        failure_context: Some("see $failed_checks".to_owned()),
    }
}

fn tool(path: &str) -> Toolchain {
    Toolchain { family: Family::Cargo, path: path.to_owned(), device: "1".to_owned(), inode: "2".to_owned() }
}

/// Every leaf of the definition with another value for it.
fn mutations() -> Vec<(&'static str, Value)> {
    vec![
        ("/id", json!("task-9")),
        ("/title", json!("Format the cod")),
        ("/parent", json!("task-9")),
        ("/spawned_by", json!("task-9")),
        ("/follow_up_of", json!("task-9")),
        ("/domain", json!("business:x")),
        ("/budget/max_tokens", json!(1)),
        ("/budget/max_cost_microusd", json!(2_000_001)),
        ("/budget/max_wall_time_seconds", json!(1801)),
        ("/budget/max_attempts", json!(6)),
        ("/budget/max_planner_calls", json!(0)),
        ("/body", json!("# Context")),
        ("/planned", json!({ "by": "ollama:llama3.2", "asked": "make it green" })),
        ("/interaction_mode", json!("default_and_offer")),
        ("/steps/0/run", json!("make  fmt")),
        ("/steps/0/cwd", json!("src2")),
        ("/executor", json!({ "model": null, "tools": ["shell_exec"], "max_model_calls": 1, "max_tool_calls": 1 })),
        ("/verify/0/name", json!("formatted!")),
        ("/verify/0/run/0", json!("true")),
        ("/verify/0/run/1", json!("check2")),
        ("/verify/0/expect/exit_code", json!(1)),
        ("/verify/0/timeout", json!(61)),
        ("/verify/0/network", json!(true)),
        ("/directories/0/path", json!("/home/me/project2")),
        ("/directories/0/access", json!("read")),
        ("/directories/0/device", json!("2050")),
        ("/directories/0/inode", json!("78")),
        ("/hosts/0", json!("example.org:444")),
        ("/secrets/0", json!("gitlab")),
        ("/callback_port", json!(8766)),
        ("/commits", json!(true)),
        ("/include_ignored", json!(true)),
        ("/restores", json!("exec-9")),
        ("/merges", json!({ "execution": "exec-9", "changeset": "00".repeat(32) })),
        ("/exits/typed", json!("change notes.md")),
        ("/on_failure", json!("retry")),
        ("/on_stuck", json!("report")),
        ("/failure_context", json!("see")),
    ]
}

fn leaves(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| leaves(inner, &format!("{at}/{key}"), into)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, inner)| leaves(inner, &format!("{at}/{n}"), into));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            into.insert(at.to_owned());
        }
    }
}

#[test]
fn every_field_of_a_definition_is_in_the_hash() {
    let before = WorkItem(full());
    let whole = serde_json::to_value(full()).unwrap();
    let mut all = BTreeSet::new();
    leaves(&whole, "", &mut all);
    let listed: BTreeSet<String> = mutations().iter().map(|(at, _)| (*at).to_owned()).collect();
    assert_eq!(all, listed, "a field of Definition has no mutation here, or a mutation has no field");

    let mut hashes = BTreeSet::from([before.plan_hash().unwrap()]);
    for (at, other) in mutations() {
        let mut changed = whole.clone();
        let leaf = changed.pointer_mut(at).unwrap();
        assert_ne!(*leaf, other, "{at}");
        *leaf = other;
        // Past the rules on purpose: the hash must cover a field even where only one value is allowed today.
        let changed = WorkItem(serde_json::from_value(changed).unwrap());
        assert!(hashes.insert(changed.plan_hash().unwrap()), "{at} is not in the hash");
    }
}

#[test]
fn what_stands_beside_is_in_the_hash_and_comes_back() {
    let with = |beside: &[&str]| Definition { beside: beside.iter().map(|b| (*b).to_owned()).collect(), ..full() };
    let item = WorkItem::new(with(&["node_modules", "sub/target"])).unwrap();
    assert_ne!(item.plan_hash().unwrap(), WorkItem(full()).plan_hash().unwrap());
    assert_eq!(WorkItem::from_canonical(&item.canonical().unwrap()).unwrap(), item);
    for odd in ["/abs", "../out", "", ".git", "a/.GIT/b", "a//b", "a\u{202e}b"] {
        assert_eq!(WorkItem::new(with(&[odd])).unwrap_err().key, "sandbox.beside[0]", "{odd:?}");
    }
    assert_eq!(WorkItem::new(with(&["a", "a"])).unwrap_err().key, "sandbox.beside[1]");
    assert_eq!(WorkItem::new(Definition { include_ignored: true, ..with(&["a"]) }).unwrap_err().key, "sandbox.beside");
}

#[test]
fn lists_are_hashed_with_their_order_and_options_with_their_absence() {
    let hash = |change: fn(&mut Definition)| {
        let mut definition = full();
        change(&mut definition);
        WorkItem(definition).plan_hash().unwrap()
    };
    let step = |run: &str| Step { run: Command::Shell(run.to_owned()), cwd: None };
    let [a, b] = [step("a"), step("b")];
    let in_order = WorkItem(Definition { steps: vec![a.clone(), b.clone()], ..full() }).plan_hash().unwrap();
    let turned = WorkItem(Definition { steps: vec![b, a], ..full() }).plan_hash().unwrap();
    let shell = hash(|d| d.verify[0].run = Command::Shell("make check".to_owned()));
    let all = [
        hash(|_| {}),
        in_order,
        turned,
        shell,
        hash(|d| d.steps.clear()),
        hash(|d| d.verify.clear()),
        hash(|d| d.directories.clear()),
        hash(|d| d.toolchains.push(tool("/home/me/.cargo/bin"))),
        hash(|d| d.toolchains.push(tool("/home/me/.cargo/registry"))),
        hash(|d| d.flows.push(Flow::parse("web → notes.md").unwrap())),
        hash(|d| d.flows.push(Flow::parse("files → notes.md").unwrap())),
        hash(|d| d.exits.paths.push(Glob::parse("notes.md").unwrap())),
        hash(|d| d.changes.push(Glob::parse("notes.md").unwrap())),
        hash(|d| d.exits.queries.push(Glob::parse("notes.md").unwrap())),
        hash(|d| d.steps[0].run = Command::python("make fmt")),
        hash(|d| d.parent = None),
        hash(|d| d.domain = None),
        hash(|d| d.domain = Some(String::new())),
        hash(|d| d.failure_context = None),
        hash(|d| d.directories[0].device = None),
        hash(|d| d.steps[0].cwd = None),
    ];
    assert_eq!(BTreeSet::from(all).len(), all.len(), "two different plans have one hash");
}

/// Exhaustive on purpose: whoever adds a field to the state must come here and see that it stays out of the hash.
#[test]
fn nothing_the_runtime_learns_is_in_the_hash() {
    let WorkState { approval_token, needs_approval, status, attempts, budget_used, verification_results, created_at } =
        WorkState::new(Timestamp::EPOCH);
    let state = WorkState {
        approval_token,
        needs_approval: !needs_approval,
        status,
        attempts: attempts + 1,
        budget_used,
        verification_results: [verification_results, vec![passed("a", true)]].concat(),
        created_at,
    };
    let item = WorkItem::new(full()).unwrap();
    let canonical: Value = serde_json::from_str(&item.canonical().unwrap()).unwrap();
    for key in serde_json::to_value(state).unwrap().as_object().unwrap().keys() {
        assert!(canonical.get(key).is_none(), "{key} is in the hash");
    }
}

fn passed(name: &str, passed: bool) -> CheckResult {
    CheckResult {
        name: name.to_owned(),
        run: String::new(),
        passed,
        reason: String::new(),
        output: String::new(),
        exit_code: None,
        took_ms: 0,
        protected: true,
        tests: None,
        asked: Vec::new(),
        basis: None,
    }
}

/// What was approved yesterday must hash to the same bytes in every later version.
#[test]
fn the_hash_of_a_known_plan_stays() {
    let item = WorkItem::new(full()).unwrap();
    let text = item.canonical().unwrap();
    assert_eq!(
        text,
        concat!(
            r##"{"access_levels":{},"agent":"ephemeral","body":"# Context\n","budget":{"max_attempts":5,"##,
            r#""max_cost_microusd":2000000,"max_planner_calls":3,"max_tokens":200000,"max_wall_time_seconds":1800},"#,
            r#""depends_on":[],"domain":"personal","escalation":{},"failure_context":"see $failed_checks","#,
            r#""flows":[],"follow_up_of":"task-4","gates":[],"id":"task-1","input_artifacts_from":[],"#,
            r#""interaction_mode":"act_and_report","on_failure":"report","on_stuck":"consult_planner","#,
            r#""parent":"task-2","sandbox":{"callback_port":8765,"directories":[{"access":"write","device":"2049","inode":"77","#,
            r#""path":"/home/me/project"}],"hosts":["example.org:443"],"secrets":["github"],"toolchains":[]},"schedule":null,"skills":[],"#,
            r#""spawned_by":"task-3","steps":[{"cwd":"src","run":"make fmt"}],"tasks":[],"title":"Format the code","#,
            r#""type":"task","verify":[{"expect":{"exit_code":0},"name":"formatted","network":false,"#,
            r#""run":["make","check"],"timeout":60}]}"#
        )
    );
    assert_eq!(item.plan_hash().unwrap(), Digest::of(text.as_bytes()));
}

#[test]
fn canonical_text_with_anything_more_or_other_is_refused() {
    let text = WorkItem::new(full()).unwrap().canonical().unwrap();
    assert!(WorkItem::from_canonical(&text).is_ok());
    let changes: [(&str, &str); 10] = [
        (r#""gates":[]"#, r#""gates":[{"name":"g"}]"#),
        (r#""skills":[]"#, r#""skills":["coding"]"#),
        (r#""hosts":["example.org:443"]"#, r#""hosts":["Example.org:443"]"#),
        (r#""type":"task""#, r#""type":"goal""#),
        (r#""agent":"ephemeral""#, r#""agent":"stream""#),
        (r#""schedule":null"#, r#""schedule":"always_on""#),
        (r#""flows":[]"#, r#""flows":[],"zzz":1"#),
        (r#""flows":[],"#, ""),
        (r#""secrets":["github"]"#, r#""secrets":[]"#),
        (r#"{"access_levels""#, r#"{ "access_levels""#),
    ];
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        assert!(WorkItem::from_canonical(&text.replacen(from, to, 1)).is_err(), "{to}");
    }
    for broken in ["", "null", "[]", "{}", "{\"id\":\"task-1\"", &text[1..]] {
        assert!(WorkItem::from_canonical(broken).is_err(), "{broken}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn canonical_text_reads_back(item in any::item()) {
        let text = item.canonical().unwrap();
        prop_assert_eq!(WorkItem::from_canonical(&text).unwrap(), item.clone());
        let json = serde_json::to_string(&item).unwrap();
        prop_assert_eq!(serde_json::from_str::<WorkItem>(&json).unwrap(), item);
    }

    #[test]
    fn merging_adds_every_field_and_the_order_does_not_matter(a in used(), b in used(), c in used()) {
        let merged = |a: &BudgetUsed, b: &BudgetUsed| { let mut sum = a.clone(); sum.merge(b); sum };
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &BudgetUsed::default()), a.clone());
        let (one, two, sum) = (numbers(&a), numbers(&b), numbers(&merged(&a, &b)));
        for (key, value) in &sum {
            prop_assert_eq!(*value, one[key] + two[key], "{}", key);
        }
    }
}

fn used() -> impl Strategy<Value = BudgetUsed> {
    let n = 0..1u64 << 60;
    let m = 0..1u32 << 30;
    (n.clone(), n.clone(), n, m.clone(), m.clone(), m).prop_map(
        |(tokens, cost_microusd, wall_time_micros, attempts, planner_calls, executor_runs)| BudgetUsed {
            tokens,
            cost_microusd,
            wall_time_micros,
            attempts,
            planner_calls,
            executor_runs,
        },
    )
}

fn numbers(used: &BudgetUsed) -> std::collections::BTreeMap<String, u64> {
    let value = serde_json::to_value(used).unwrap();
    value.as_object().unwrap().iter().map(|(key, value)| (key.clone(), value.as_u64().unwrap())).collect()
}

#[test]
fn merging_stops_at_the_largest_number() {
    let mut most = BudgetUsed { tokens: u64::MAX, attempts: u32::MAX, ..BudgetUsed::default() };
    most.merge(&BudgetUsed { tokens: 1, attempts: 1, ..BudgetUsed::default() });
    assert_eq!((most.tokens, most.attempts), (u64::MAX, u32::MAX));
}

#[test]
fn reaching_a_limit_exhausts_it() {
    let budget = Budget {
        max_tokens: 10,
        max_cost_microusd: 20,
        max_wall_time_seconds: 30,
        max_attempts: 4,
        max_planner_calls: 5,
    };
    let just_below = BudgetUsed {
        tokens: 9,
        cost_microusd: 19,
        wall_time_micros: 29_999_999,
        attempts: 3,
        planner_calls: 4,
        executor_runs: u32::MAX,
    };
    assert!(!just_below.exceeds(&budget), "executor runs have no limit of their own");
    type Reach = fn(&mut BudgetUsed);
    let reached: [(&str, Reach); 5] = [
        ("tokens", |u| u.tokens = 10),
        ("cost", |u| u.cost_microusd = 20),
        ("time", |u| u.wall_time_micros = 30_000_000),
        ("attempts", |u| u.attempts = 4),
        ("planner", |u| u.planner_calls = 5),
    ];
    for (name, reach) in reached {
        let mut used = just_below.clone();
        reach(&mut used);
        assert!(used.exceeds(&budget), "{name}");
        reach(&mut used);
        used.merge(&used.clone());
        assert!(used.exceeds(&budget), "{name}, past the limit");
    }
}

#[test]
fn a_limit_of_zero_is_exhausted_by_the_first_use_only() {
    let budget = Budget { max_tokens: 0, max_cost_microusd: 0, max_planner_calls: 0, ..Budget::default() };
    assert!(!BudgetUsed::default().exceeds(&budget));
    assert!(BudgetUsed { tokens: 1, ..BudgetUsed::default() }.exceeds(&budget));
    assert!(BudgetUsed { cost_microusd: 1, ..BudgetUsed::default() }.exceeds(&budget));
    assert!(BudgetUsed { planner_calls: 1, ..BudgetUsed::default() }.exceeds(&budget));
}

#[test]
fn each_rule_of_an_item_names_its_key() {
    let long = "x".repeat(COMMAND_BYTES_MAX + 1);
    let shell = |script: &str| Command::Shell(script.to_owned());
    let mut cases: Vec<(&str, Definition)> = Vec::new();
    let mut case = |key, change: &dyn Fn(&mut Definition)| {
        let mut definition = full();
        change(&mut definition);
        cases.push((key, definition));
    };
    case("title", &|d| d.title = " ".to_owned());
    case("title", &|d| d.title = "x".repeat(201));
    case("title", &|d| d.title = "a\u{1b}[2J".to_owned());
    case("budget.max_wall_time_seconds", &|d| d.budget.max_wall_time_seconds = 0);
    case("budget.max_wall_time_seconds", &|d| d.budget.max_wall_time_seconds = 86_401);
    case("budget.max_attempts", &|d| d.budget.max_attempts = 0);
    case("budget.max_tokens", &|d| d.budget.max_tokens = (1 << 53) + 1);
    case("budget.max_cost_usd", &|d| d.budget.max_cost_microusd = (1 << 53) + 1);
    case("steps", &|d| d.steps = vec![d.steps[0].clone(); 51]);
    case("steps[0].run", &|d| d.steps[0].run = shell(" "));
    case("steps[0].run", &|d| d.steps[0].run = shell(&long));
    case("steps[0].run", &|d| d.steps[0].run = shell("a\0b"));
    case("steps[0].run", &|d| d.steps[0].run = Command::Argv(vec![]));
    case("steps[0].run", &|d| d.steps[0].run = Command::Argv(vec![String::new()]));
    case("steps[0].cwd", &|d| d.steps[0].cwd = Some("/etc".to_owned()));
    case("steps[0].cwd", &|d| d.steps[0].cwd = Some("a/../..".to_owned()));
    case("verify", &|d| d.verify = vec![d.verify[0].clone(); 51]);
    case("verify[0].name", &|d| d.verify[0].name = String::new());
    case("verify[0].name", &|d| d.verify[0].name = "a\nb".to_owned());
    case("verify[1].name", &|d| d.verify.push(d.verify[0].clone()));
    case("verify[0].run", &|d| d.verify[0].run = shell(""));
    case("verify[0].timeout", &|d| d.verify[0].timeout = 0);
    case("verify[0].timeout", &|d| d.verify[0].timeout = 86_401);
    case("verify[0].network", &|d| {
        d.verify[0].network = true;
        d.hosts.clear();
    });
    case("sandbox.hosts[1]", &|d| d.hosts.push(d.hosts[0].clone()));
    case("sandbox.hosts", &|d| d.hosts = vec![d.hosts[0].clone(); 33]);
    case("sandbox.secrets[1]", &|d| d.secrets.push(d.secrets[0].clone()));
    case("sandbox.callback_port", &|d| d.callback_port = Some(80));
    case("sandbox.directories", &|d| d.directories = vec![d.directories[0].clone(); 17]);
    case("sandbox.toolchains", &|d| d.toolchains = vec![tool("/t"); 17]);
    case("sandbox.toolchains[0].path", &|d| d.toolchains = vec![tool("t")]);
    case("steps[0].run", &|d| d.steps[0].run = Command::python(" "));
    case("verify[0].run", &|d| d.verify[0].run = Command::python("pass"));
    case("sandbox.directories[0].path", &|d| d.directories[0].path = "project".to_owned());
    case("sandbox.directories[0].path", &|d| d.directories[0].path = "/a/../b".to_owned());
    case("sandbox.directories[0].path", &|d| d.directories[0].path = "/a\0".to_owned());
    case("sandbox.directories", &|d| d.directories[0].access = Access::Read);
    for (key, definition) in cases {
        let json = serde_json::to_string(&definition).unwrap();
        assert_eq!(WorkItem::new(definition).unwrap_err().key, key);
        assert!(serde_json::from_str::<WorkItem>(&json).unwrap_err().to_string().contains(key), "{key}");
        assert!(serde_saphyr::from_str::<WorkItem>(&json).is_err(), "{key} as YAML");
    }
}

#[test]
fn what_is_left_to_a_model_is_in_the_hash_and_has_bounds() {
    let usual = Mandate::default();
    let with = |mandate: Mandate| WorkItem::new(Definition { executor: Some(mandate), ..full() });
    let hash = |mandate: &Mandate| with(mandate.clone()).unwrap().plan_hash().unwrap();
    let model = Some(ModelName::parse("ollama:qwen3").unwrap());
    let others = [
        Mandate { model, ..usual.clone() },
        Mandate { tools: vec!["shell_exec".to_owned()], ..usual.clone() },
        Mandate { max_model_calls: 31, ..usual.clone() },
        Mandate { max_tool_calls: 61, ..usual.clone() },
    ];
    for other in &others {
        assert_ne!(hash(other), hash(&usual), "{other:?}");
        let item = with(other.clone()).unwrap();
        assert_eq!(WorkItem::from_canonical(&item.canonical().unwrap()).unwrap(), item);
        assert_eq!(crate::plan::parse(crate::plan::render(&item).as_bytes()).unwrap(), item);
    }
    for (broken, key) in [
        (Mandate { tools: Vec::new(), ..usual.clone() }, "executor.tools"),
        (Mandate { tools: vec!["rm".to_owned()], ..usual.clone() }, "executor.tools"),
        (Mandate { tools: vec!["shell_exec".to_owned(); 2], ..usual.clone() }, "executor.tools"),
        (Mandate { max_model_calls: 0, ..usual.clone() }, "executor.max_model_calls"),
        (Mandate { max_tool_calls: 1001, ..usual.clone() }, "executor.max_tool_calls"),
    ] {
        assert_eq!(with(broken).unwrap_err().key, key);
    }
}

/// What Silas plans by itself starts from nothing: a field that its maker does not name asks for nothing.
#[test]
fn a_plan_without_a_model_reaches_nothing_and_spends_nothing_by_itself() {
    let id = WorkItemId::parse("task-1").unwrap();
    let plain = Definition::without_model(id, "Tidy".to_owned(), "tidy up".to_owned(), 60);
    let Budget { max_tokens, max_cost_microusd, max_planner_calls, max_wall_time_seconds, .. } = plain.budget;
    assert_eq!((max_tokens, max_cost_microusd, max_planner_calls, max_wall_time_seconds), (0, 0, 0, 60));
    assert_eq!(crate::rehearsal::exit_of(&plain), None, "it has no way out of its copy");
    assert!(plain.executor.is_none() && plain.planned.is_none(), "no model works in it or wrote it");
    assert_eq!(plain.owners_words(), Some("tidy up"));
}
