//! `silas eval` against the scripted model: right solutions for some tasks, every other way to end for others, and each
//! column of the table checked against what really happened.

use crate::harness::{Silas, binary};
use crate::scripted::{direct, finish, proposal, shell, to_planner};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(120);

/// A plan that leaves the work to the executor; the directory is where the wish says it is.
fn plan(check: &str) -> Act {
    plan_within(check, "")
}

fn plan_within(check: &str, more: &str) -> Act {
    let markdown = format!(
        "---\nid: task-1\ntype: task\ntitle: x\nexecutor: {{}}\n{more}verify:\n  - name: shipped check\n    run: {check}\n    expect: \
         {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: REPOSITORY, access: write }}\n---\n\n# What to do\nWhat \
         was wished for.\n"
    );
    let text = proposal("I would do it.", &markdown).to_string();
    Act::Echoes { text, put_in_for: "REPOSITORY", after: "The repository is ", before: ". It is done" }
}

/// The reference solution of a task as a script that writes its files.
fn solution(task: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("eval/solutions/{task}.files"));
    let mut script = String::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        if let Some(path) = line.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) {
            if !script.is_empty() {
                script.push_str("END_OF_FILE\n");
            }
            script.push_str(&format!("cat > {path} <<'END_OF_FILE'\n"));
        } else {
            script.push_str(line);
            script.push('\n');
        }
    }
    script + "END_OF_FILE\n"
}

const UNITTEST: &str = "python3 -m unittest -q";

/// Everything that a right solution takes: planned twice, because the directory is allowed in between.
/// As a planner is told to, the plan names the files that the work may change.
fn solved(task: &str, check: &str) -> Vec<Act> {
    let solution = solution(task);
    let files = solution.lines().filter_map(|line| line.strip_prefix("cat > ")?.strip_suffix(" <<'END_OF_FILE'"));
    let exits = format!("exits: {{ paths: [{}] }}\n", files.collect::<Vec<_>>().join(", "));
    let plan = || plan_within(check, &exits);
    let planned = [to_planner(), plan(), plan()];
    planned.into_iter().chain([shell(&solution), finish()]).collect()
}

/// An owner with a home of their own, in which nothing may change.
struct Owner {
    dir: TempDir,
    server: Server,
}

impl Owner {
    fn new(acts: Vec<Act>) -> Self {
        let server = Server::start(Script::new(Dialect::OpenAi, acts)).unwrap();
        Owner { dir: TempDir::new().unwrap(), server }
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn model(&self) -> String {
        format!("compatible:test@{}", self.server.url())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.args(["--model", &self.model(), "--no-key"]);
        command
    }

    /// Without a word about the model.
    fn bare(&self, args: &[&str]) -> Command {
        let mut command = binary();
        command.arg("eval").args(args);
        command.env("HOME", self.path("home")).env("XDG_STATE_HOME", self.path("state"));
        command.env("XDG_DATA_HOME", self.path("share")).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("TMPDIR", self.path("tmp"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn eval(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// What is left: nothing in the temporary directory, and of the owner's only what was spent.
    fn assert_nothing_else_is_left(&self) {
        assert_eq!(files(&self.path("tmp")), Vec::<String>::new());
        for own in ["home", "share", "config"] {
            assert_eq!(files(&self.path(own)), Vec::<String>::new(), "{own}");
        }
        let state = files(&self.path("state"));
        assert!(state.iter().all(|path| path.ends_with("silas/eval.json")), "{state:?}");
    }
}

fn files(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}

fn row<'a>(found: &'a Value, task: &str) -> &'a Value {
    found["tasks"].as_array().unwrap().iter().find(|row| row["task"] == task).unwrap()
}

#[test]
fn every_column_is_what_happened() {
    let mut acts = solved("intervals", UNITTEST);
    // Says that it is done without having done anything.
    let once = || plan_within(UNITTEST, "budget: { max_attempts: 1 }\n");
    acts.extend([to_planner(), once(), once(), finish()]);
    // Only talks.
    acts.push(Act::Says(direct("I would rather talk about money.")));
    // Proved by a check of the model's own choice, which is not what was wished for.
    let beside = "python3 -m unittest -q test_retry.Retrying.test_once";
    let half = shell("sed -i 's/, times)/, times + 1)/' retry.py");
    acts.extend([to_planner(), plan(beside), plan(beside), half, finish()]);
    // A check that was green before shows nothing, nothing is done, and there is no other check.
    acts.extend([to_planner(), plan("true"), plan("true"), plan("true"), plan("true")]);
    // Solved after a first try that failed.
    let mut twice = solved("slugs", UNITTEST);
    twice.insert(3, shell("echo 'def slug(title): return title' > slug.py"));
    twice.insert(4, finish());
    acts.extend(twice);
    // Twice in no form at all.
    acts.extend([Act::Says("what?".to_owned()), Act::Says("what?".to_owned())]);
    let owner = Owner::new(acts);
    let names = ["intervals", "leap-years", "money", "retries", "roman-numerals", "slugs", "unique-in-order"];
    let mut args = vec!["--yes", "--json", "--price", "1/1"];
    args.extend(names.iter().flat_map(|name| ["--only", name]));
    let (code, out, err) = owner.eval(&args);
    assert_eq!(code, 0, "{err}");
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(owner.server.faults(), Vec::<String>::new());
    assert_eq!((&found["is_whole"], &found["stopped_because"]), (&json!(true), &Value::Null));
    assert_eq!(
        found["tasks"].as_array().unwrap().iter().map(|row| row["task"].as_str().unwrap()).collect::<Vec<_>>(),
        names
    );
    let seen = |task: &str| {
        let row = row(&found, task);
        let is = |name: &str| row[name].as_bool().unwrap();
        let n = |name: &str| row[name].as_u64().unwrap();
        (is("solved"), is("proven"), n("cards"), n("questions"), row["end"].as_str().unwrap().to_owned())
    };
    let end = str::to_owned;
    assert_eq!(seen("intervals"), (true, true, 1, 5, end("applied")), "{err}");
    assert_eq!(seen("leap-years"), (false, false, 0, 4, end("not_applied")), "{err}");
    assert_eq!(seen("money"), (false, false, 0, 1, end("words")), "{err}");
    assert_eq!(row(&found, "money")["note"], "I would rather talk about money.");
    assert_eq!(seen("retries"), (false, true, 1, 5, end("applied")), "{err}");
    assert_eq!(seen("roman-numerals"), (false, false, 0, 5, end("not_applied")), "{err}");
    assert_eq!(seen("slugs"), (true, true, 1, 7, end("applied")), "{err}");
    assert_eq!(seen("unique-in-order"), (false, false, 0, 2, end("words")), "{err}");

    // A dollar for a million tokens: each costs a micro-dollar. The server counts what it was asked.
    let sum = &found["sum"];
    let total =
        |name: &str| found["tasks"].as_array().unwrap().iter().map(|row| row[name].as_u64().unwrap()).sum::<u64>();
    for name in ["cards", "questions", "input_tokens", "output_tokens", "microusd", "millis"] {
        assert_eq!(sum[name].as_u64().unwrap(), total(name), "{name}");
    }
    assert_eq!(total("microusd"), total("input_tokens") + total("output_tokens"));
    assert_eq!(total("questions"), owner.server.asked().len() as u64);
    let sent: usize = owner.server.asked().iter().map(|asked| asked.text.len() / 4).sum();
    assert_eq!(total("input_tokens"), sent as u64);
    assert_eq!((&sum["tasks"], &sum["solved"], &sum["proven"]), (&json!(7), &json!(2), &json!(3)));
    assert_eq!((&sum["cards"], &sum["cards_median"]), (&json!(3), &json!(0)));
    assert!(found["models"]["executor"].as_str().unwrap().starts_with("compatible:test@"));
    // Of the owner's own conversation, name and place nothing was sent.
    for asked in owner.server.asked() {
        assert!(!asked.text.contains(owner.path("home").to_str().unwrap()));
    }
    let spent: Value =
        serde_json::from_str(&fs::read_to_string(owner.path("state").join("silas/eval.json")).unwrap()).unwrap();
    assert!(spent.as_object().unwrap().values().all(|value| value.as_u64() == Some(total("microusd"))), "{spent}");
    owner.assert_nothing_else_is_left();
}

/// Every shipped task, done rightly, is solved and proved through Silas. A few each time, all of them in a soak.
#[test]
fn a_model_that_can_solves_every_task() {
    let all = task_names();
    let is_soak = std::env::var_os("SILAS_SOAK").is_some();
    let names: Vec<&String> = all.iter().filter(|name| is_soak || EACH_KIND.contains(&name.as_str())).collect();
    let acts = names.iter().flat_map(|name| solved(name, &check_of(name))).collect();
    let owner = Owner::new(acts);
    let mut args = vec!["--yes", "--json", "--price", "1/1"];
    args.extend(names.iter().flat_map(|name| ["--only", name.as_str()]));
    let (code, out, err) = owner.eval(&args);
    assert_eq!(code, 0, "{err}");
    let found: Value = serde_json::from_str(&out).unwrap();
    let (sum, n) = (&found["sum"], names.len());
    assert_eq!((&sum["tasks"], &sum["solved"], &sum["proven"]), (&json!(n), &json!(n), &json!(n)), "{err}");
    assert_eq!(sum["cards_median"], 1, "one tap for each");
    println!("{err}");
    owner.assert_nothing_else_is_left();
}

/// One of each kind of check.
const EACH_KIND: [&str; 3] = ["names-with-spaces", "slugs", "translations"];

fn task_names() -> Vec<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("eval/tasks");
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.map(|name| name.strip_suffix(".task").unwrap().to_owned()).collect();
    names.sort();
    names
}

fn check_of(task: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("eval/tasks/{task}.task"));
    let text = fs::read_to_string(path).unwrap();
    text.lines().find_map(|line| line.strip_prefix("check: ")).unwrap().to_owned()
}

#[test]
fn a_table_says_the_same_in_words() {
    let mut acts = solved("intervals", UNITTEST);
    acts.push(Act::Says(direct("No.")));
    let owner = Owner::new(acts);
    let (code, out, err) = owner.eval(&["--yes", "--only", "intervals", "--only", "money", "--price", "1/1"]);
    assert_eq!(code, 0, "{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("task ") && lines[0].contains("proven"), "{out}");
    assert!(lines[1].starts_with("intervals ") && lines[1].contains(" yes     yes     1 "), "{out}");
    assert!(lines[2].starts_with("money ") && lines[2].contains(" no      no      0 "), "{out}");
    assert_eq!(lines[3], "  words: No.");
    assert!(lines[4].starts_with("2 tasks ") && lines[4].contains(" 1       1       1 "), "{out}");
    assert!(err.contains("approved by themselves") && err.contains("nothing of yours is read or touched"), "{err}");
}

/// The caps are the owner's, and what is spent counts for the next eval of the day.
#[test]
fn no_more_is_spent_than_the_caps_allow() {
    let owner = Owner::new(vec![Act::Says(direct("No."))]);
    let two = ["--yes", "--json", "--only", "intervals", "--only", "money"];
    // Without a price each question is expensive: not even one fits into a cent.
    let (code, out, err) = owner.eval(&[&two[..], &["--cap", "1"]].concat());
    let found: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 1 && err.contains("the spending cap is reached"), "{err}");
    assert_eq!((&found["is_whole"], found["tasks"].as_array().unwrap().len()), (&json!(false), 1));
    assert_eq!(row(&found, "intervals")["end"], "over_cap");
    assert!(owner.server.asked().is_empty(), "nothing is sent that cannot be paid for");

    // An answer that claims to have used a lot: it is believed, and the second task is not begun.
    owner.server.now_says([Act::Claims(direct("No."), Some((60_000, 1_000_000)))]);
    let (code, out, _) = owner.eval(&[&two[..], &["--price", "1/1", "--cap", "100"]].concat());
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, found["tasks"].as_array().unwrap().len(), owner.server.asked().len()), (1, 1, 1));
    assert_eq!(found["sum"]["microusd"], 1_060_000);

    // The day's own cap is two dollars, and the next eval knows what the first one spent.
    let (_, _, err) = owner.eval(&[&two[..], &["--price", "1/1"]].concat());
    assert!(err.contains("At most $0.94 is spent"), "{err}");
    owner.assert_nothing_else_is_left();
}

#[test]
fn an_interrupt_ends_it_with_what_was_found_so_far() {
    let mut acts = solved("intervals", UNITTEST);
    acts.push(Act::Silence);
    let owner = Owner::new(acts);
    let mut command = owner.command(&["--yes", "--json", "--only", "intervals", "--only", "money", "--only", "slugs"]);
    let child = command.args(["--price", "1/1"]).spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    while owner.server.asked().len() < 6 {
        assert!(Instant::now() < until, "the second task was never asked about");
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && err.contains("interrupted"), "{err}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ends: Vec<&str> = found["tasks"].as_array().unwrap().iter().map(|row| row["end"].as_str().unwrap()).collect();
    assert_eq!(ends, ["applied", "interrupted"]);
    assert_eq!(row(&found, "intervals")["proven"], true);
    owner.assert_nothing_else_is_left();
}

const KEY: &str = "sk-canary-55d0c1a7e3";
const KEY_VARIABLE: &str = "SILAS_TEST_EVAL_KEY";

/// What the owner added is measured, with what is left of their money, and their own Silas notices nothing.
#[test]
fn the_models_that_the_owner_added_are_measured() {
    let claims = Act::Claims(direct("Good morning."), Some((60_000, 1_000_000)));
    let ready = Act::Says(r#"{"word":"ready"}"#.to_owned());
    let mut owner = Owner::new(Vec::new());
    owner.server = Server::start(Script {
        key: Some(KEY.to_owned()),
        ..Script::new(Dialect::OpenAi, [ready, claims, Act::Says(direct("No."))])
    })
    .unwrap();
    let silas = Silas::start_with(&[(KEY_VARIABLE, KEY)]);
    let add = ["model", "add", &owner.model(), "--key-env", KEY_VARIABLE, "--price", "1/1", "--yes"];
    let (code, text) = silas.command(&add);
    assert_eq!(code, 0, "{text}");
    assert_eq!(silas.command(&["say", "good morning"]).1.trim(), "│ Good morning.");
    let (_, before) = silas.command(&["model", "list", "--json"]);

    let args = ["--yes", "--json", "--only", "money", "--price", "1/1", "--key-env", KEY_VARIABLE, "--data-dir"];
    let mut command = owner.bare(&args);
    let output = command.arg(silas.data()).env(KEY_VARIABLE, KEY).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    // Two dollars a day, of which one answer cost 1.06.
    assert!(err.contains("At most $0.93 is spent") || err.contains("At most $0.94 is spent"), "{err}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&row(&found, "money")["note"], &found["models"]["planner"]), (&json!("No."), &json!(owner.model())));
    assert!(owner.server.asked().iter().all(|asked| asked.headers["authorization"] == format!("Bearer {KEY}")));
    assert!(!err.contains(KEY) && !String::from_utf8_lossy(&output.stdout).contains(KEY));
    assert_eq!(silas.command(&["model", "list", "--json"]).1, before, "the owner's books are as they were");
    silas.assert_ledger_holds();
    owner.assert_nothing_else_is_left();
}

/// A key in a vault stays there: it is typed, and goes to the servers of the eval only.
#[test]
fn a_key_that_lies_in_a_vault_is_asked_for() {
    let mut owner = Owner::new(Vec::new());
    owner.server =
        Server::start(Script { key: Some(KEY.to_owned()), ..Script::new(Dialect::OpenAi, [Act::Says(direct("No."))]) })
            .unwrap();
    let run = |input: &str| {
        let mut command = owner.bare(&["--yes", "--json", "--only", "money", "--price", "1/1"]);
        command.env("SILAS__MODELS__PROXY", owner.model()).env("SILAS__MODELS__PROXY_KEY", "secret:provider");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = run("");
    // A program that asked for JSON gets the reason as JSON.
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && told.to_string().contains("Without its key"), "{told}");
    let output = run(&format!("{KEY}\n"));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(0) && !err.contains(KEY), "{err}");
    assert_eq!(owner.server.asked().len(), 1);
    assert_eq!(owner.server.asked()[0].headers["authorization"], format!("Bearer {KEY}"));
    owner.assert_nothing_else_is_left();
}

#[test]
fn nobody_who_did_not_agree_pays() {
    let owner = Owner::new(vec![Act::Says(direct("No."))]);
    let (code, _, err) = owner.eval(&[]);
    assert!(code == 1 && err.contains("30 tasks") && err.contains("Nothing was sent"), "{err}");
    assert!(owner.server.asked().is_empty());
    let (code, out, _) = owner.eval(&["--list"]);
    assert_eq!((code, out.lines().count()), (0, 30));
    let (code, _, err) = owner.eval(&["--yes", "--only", "nothing-like-it"]);
    assert!(code == 1 && err.contains("There is no task"), "{err}");
    owner.assert_nothing_else_is_left();
}
