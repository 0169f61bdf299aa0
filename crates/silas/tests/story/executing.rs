//! A plan that leaves the work to a model: the golden bug fix in words, and everything that a model can do wrong on the
//! way. Planner and executor are scripted, over HTTP; everything else is real.

use crate::harness::{ASKING, Line, Silas};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind};
use silas_core::token::Verdict;
use std::fs;
use std::path::Path;

const WISH: &str = "fix the time-zone bug in this repo";
const CLOCK: &str = "from datetime import datetime, timezone\n\n\ndef stamp(seconds):\n    return datetime.fromtimestamp(seconds).isoformat()\n";
const TEST: &str = "import os, time, unittest\nfrom clock import stamp\n\n\nclass Stamp(unittest.TestCase):\n    def test_everywhere(self):\n        for zone in ('UTC', 'Asia/Tokyo'):\n            os.environ['TZ'] = zone\n            time.tzset()\n            self.assertEqual(stamp(0), '1970-01-01T00:00:00+00:00')\n";
const CHECK: &str = "/usr/bin/python3 -m unittest -q test_clock";
const WRONG: &str = "sed -i 's/fromtimestamp(seconds)/fromtimestamp(seconds - 1)/' clock.py";
const RIGHT: &str = "sed -i 's/fromtimestamp(.*)\\.iso/fromtimestamp(seconds, timezone.utc).iso/' clock.py";

fn to_planner() -> Act {
    Act::Says(
        json!({
            "route": "planner", "reason": "files change", "interaction_register": "execution",
            "interaction_mode": "act_and_report", "context_profile": "coding", "continuation_of": null, "response": null,
        })
        .to_string(),
    )
}

/// A plan with an executor and no commands; `more` goes into its front matter.
fn plan(directory: &Path, more: &str) -> Act {
    let markdown = format!(
        "---\nid: task-1\ntype: task\ntitle: x\nexecutor: {{}}\nexits: {{ paths: [clock.py] }}\n{more}verify:\n  - name: stamps are UTC\n    run: {CHECK}\n    \
         expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: {}, access: write }}\n---\n\n# What to do\n\
         Make clock.py give out UTC wherever it runs.\n",
        directory.display()
    );
    let action = json!({
        "action": "propose", "plan_markdown": markdown, "continuation_of": null, "interaction_mode_override": null,
    });
    Act::Says(
        json!({ "message": "I would mend clock.py.", "needs_approval": false, "plan_action": action }).to_string(),
    )
}

fn call(name: &str, arguments: Value) -> (String, String) {
    (name.to_owned(), arguments.to_string())
}

fn shell(script: &str) -> Act {
    Act::Calls(vec![call("shell_exec", json!({ "script": script, "timeout_seconds": null }))])
}

fn read(path: &str) -> (String, String) {
    call("read_file", json!({ "path": path, "from_line": null, "lines": null }))
}

fn finish(summary: &str) -> Act {
    Act::Calls(vec![call("finish", json!({ "summary": summary, "artifact_refs": [], "next_steps": ["Tell Tokyo."] }))])
}

struct World {
    server: Server,
    silas: Silas,
}

impl World {
    fn new(dialect: Dialect, more: &[(&str, &str)]) -> Self {
        let server = Server::start(Script::new(dialect, [])).unwrap();
        let provider = if dialect == Dialect::Anthropic { "anthropic" } else { "compatible" };
        let model = format!("{provider}:test@{}", server.url());
        let mut env =
            vec![("SILAS__MODELS__DAILY_CAP_CENTS", "100000"), ("SILAS__MODELS__MONTHLY_CAP_CENTS", "100000")];
        env.extend(["PROXY", "PLANNER", "EXECUTOR"].map(|role| match role {
            "PROXY" => ("SILAS__MODELS__PROXY", model.as_str()),
            "PLANNER" => ("SILAS__MODELS__PLANNER", model.as_str()),
            _ => ("SILAS__MODELS__EXECUTOR", model.as_str()),
        }));
        env.extend([
            ("SILAS__MODELS__PROXY_KEY", "none"),
            ("SILAS__MODELS__PLANNER_KEY", "none"),
            ("SILAS__MODELS__EXECUTOR_KEY", "none"),
            ("SILAS__LIMITS__LLM_CALLS_PER_MINUTE_PER_SCOPE", "10000"),
        ]);
        env.extend(more);
        let silas = Silas::start_with(&env);
        fs::write(silas.repo().join("clock.py"), CLOCK).unwrap();
        fs::write(silas.repo().join("test_clock.py"), TEST).unwrap();
        World { server, silas }
    }

    /// Asks, agrees to the model and the directory, and gives the line on which the plan comes.
    fn planned(&self, more: &str, work: Vec<Act>) -> Line {
        let repo = self.silas.repo();
        let mut acts = vec![to_planner(), plan(&repo, more), to_planner(), plan(&repo, more)];
        acts.extend(work);
        self.server.now_says(acts);
        let mut line = self.silas.line();
        line.say(WISH).unwrap();
        line.approve(CardKind::Model).unwrap();
        line.approve(CardKind::Root).unwrap();
        line
    }

    /// Requests of the executor, in order: those after two times proxy and planner.
    fn work_asked(&self) -> Vec<Value> {
        self.server.asked().into_iter().skip(4).map(|asked| asked.body).collect()
    }

    /// The whole way of a plan that is approved and ends without a result, and the card that says so.
    fn ends(&self, more: &str, work: Vec<Act>) -> Card {
        let before = self.silas.tree();
        let mut line = self.planned(more, work);
        line.approve(CardKind::Plan).unwrap();
        line.ended().unwrap();
        let card = line.card(CardKind::Report).unwrap();
        assert_eq!(self.silas.tree(), before, "nothing is touched");
        assert_eq!(self.server.faults(), Vec::<String>::new());
        self.silas.assert_ledger_holds();
        card
    }
}

fn lines(card: &Card, title: &str) -> String {
    let found = card.face.details.iter().find(|detail| detail.title == title);
    found.map_or_else(String::new, |detail| detail.lines.join("\n"))
}

fn golden(dialect: Dialect) {
    let world = World::new(dialect, &[ASKING]);
    let original = world.silas.tree();
    let work = vec![
        Act::Calls(vec![read("clock.py"), call("list_files", json!({ "path": ".", "depth": 1 }))]),
        shell(WRONG),
        finish("It is mended."),
        shell(RIGHT),
        finish("Now it is."),
    ];
    let mut line = world.planned("", work);
    let card = line.card(CardKind::Plan).unwrap();
    assert!(card.face.intent.starts_with("Have a model work in"), "{}", card.face.intent);
    let left = lines(&card, "Left to a model");
    assert!(left.contains("at most 5 attempts, 30 questions, 60 calls of tools and $2.00"), "{left}");
    assert!(left.contains("stays on this machine") && left.contains("shell_exec"), "{left}");
    line.approve(CardKind::Plan).unwrap();
    let work = line.ended().unwrap();
    assert_eq!((&work["place"], &work["outcome"]), (&json!("Applied"), &json!("proved")), "{work}");
    let mended = String::from_utf8(world.silas.tree()[Path::new("clock.py")].clone()).unwrap();
    assert!(mended.contains("fromtimestamp(seconds, timezone.utc)"), "{mended}");

    let asked = world.work_asked();
    assert_eq!((asked.len(), world.server.faults()), (5, vec![]));
    // It read the file, saw what is beside it, and was told why the first attempt failed, all of it fenced.
    let second = asked[1]["messages"].to_string();
    assert!(
        second.contains("def stamp") && second.contains("test_clock.py") && second.contains("⟦from outside"),
        "{second}"
    );
    let third = asked[3]["messages"].to_string();
    assert!(third.contains("Attempt 2 of 5") && third.contains("AssertionError"), "{third}");
    assert!(!third.contains("def stamp"), "an attempt begins without a memory: {third}");

    // Every call and every attempt is in the ledger, and the proof holds elsewhere.
    let (_, list) = world.silas.command(&["audit", "list"]);
    assert_eq!(list.matches("tool_called").count(), 4, "{list}");
    assert_eq!((list.matches("tool_returned").count(), list.matches("attempt_begun").count()), (4, 2), "{list}");
    let file = world.silas.outside().join("proof.json");
    let (code, text) = world.silas.command(&["work", "proof", "--out", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = world.silas.command(&["verify", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    let done = line.card(CardKind::Done).unwrap();
    assert!(line.decide(&done, Verdict::Approved).unwrap().0);
    assert_eq!(world.silas.tree(), original);
    world.silas.assert_ledger_holds();
}

#[test]
fn the_golden_bug_fix_in_words() {
    golden(Dialect::OpenAi);
}

#[test]
fn the_golden_bug_fix_in_words_in_the_other_wire_format() {
    golden(Dialect::Anthropic);
}
