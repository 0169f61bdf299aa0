//! Hands that edit: a model that reads, searches, patches and edits in the private copy as a good one would, is told what
//! helps where it errs, and hears the end of what was long. Over HTTP, with everything else real.

use crate::executing::{call, finish};
use crate::harness::{ASKING, TestSilas};
use crate::scripted::{in_every_role, proposal, route_to_planner};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::json;
use silas_core::card::CardKind;
use std::fs;
use std::path::Path;

const RUN: &str = "test -f made/by/hand && grep -q right src/a.py && grep -q right src/b.py && ! test -e old.py";

struct Hands {
    server: Server,
    silas: TestSilas,
}

impl Hands {
    fn new(dialect: Dialect) -> Hands {
        let server = Server::start(Script::new(dialect, [])).unwrap();
        let name = if dialect == Dialect::Anthropic { "anthropic:claude-haiku-4-5" } else { "openai:gpt-5-nano" };
        let model = format!("{name}@{}", server.url());
        let mut env = in_every_role(&model).to_vec();
        env.extend([("SILAS__LIMITS__LLM_CALLS_PER_MINUTE_PER_SCOPE", "10000"), ASKING]);
        Hands { silas: TestSilas::start_with(&env), server }
    }

    fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.silas.repo().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A wish, its plan with this check, and this work, until it is applied. What the model was told, last.
    fn works(&self, check: &str, exits: &str, work: Vec<Act>) -> String {
        let markdown = format!(
            "---\nid: task-1\ntype: task\ntitle: x\nbudget: {{ max_tokens: 5000000, max_cost_usd: 50 }}\nexecutor: {{ max_model_calls: 60, max_tool_calls: 200 }}\non_stuck: report\n\
             exits: {{ paths: [{exits}] }}\nverify:\n  - name: done\n    run: {check:?}\n    expect: {{ exit_code: 0 }}\nsandbox:\n  \
             directories:\n    - {{ path: {}, access: write }}\n---\n\n# What to do\nWork.\n",
            self.silas.repo().display()
        );
        let plan = || Act::Says(proposal("I would do that.", &markdown).to_string());
        let mut acts = vec![Act::Says(route_to_planner()), plan(), plan()];
        acts.extend(work);
        self.server.now_says(acts);
        let mut line = self.silas.line();
        line.say("do the work in this repo").unwrap();
        line.approve(CardKind::Model).unwrap();
        line.approve(CardKind::Root).unwrap();
        line.approve(CardKind::Plan).unwrap();
        let work = line.ended().unwrap();
        if work["place"] != "Applied" {
            line.approve(CardKind::Rehearsed).unwrap();
            line.card(CardKind::Done).unwrap();
        }
        assert_eq!(self.server.faults(), Vec::<String>::new());
        self.silas.assert_ledger_holds();
        assert_eq!(work["outcome"], "green_by_exit_code", "{work}");
        self.server.asked().last().unwrap().body["messages"].to_string()
    }
}

fn read(path: &str) -> (String, String) {
    call("read_file", json!({ "path": path }))
}

fn shell(script: &str) -> (String, String) {
    call("shell_exec", json!({ "script": script }))
}

fn edit(path: &str, old: &str, new: &str) -> (String, String) {
    call("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
}

fn patch(text: &str) -> (String, String) {
    call("apply_patch", json!({ "patch": format!("*** Begin Patch\n{text}*** End Patch\n") }))
}

fn search(pattern: &str, name: Option<&str>) -> (String, String) {
    call("search", json!({ "pattern": pattern, "path": ".", "name": name }))
}

/// Several files by one patch, after one that did not fit and changed nothing.
fn several_files(dialect: Dialect) {
    let hands = Hands::new(dialect);
    hands.file("src/a.py", b"def a():\n    return 'wrong'\n");
    hands.file("src/b.py", b"def b():\r\n    return 'wrong'\r\n");
    hands.file("old.py", b"gone\n");
    let good = "*** Update File: src/b.py\n@@ def b():\n-    return 'wrong'\n+    return 'right'\n*** Add File: made/by/hand\n+yes\n*** Delete File: old.py\n";
    let work = vec![
        Act::Calls(vec![search("wrong", Some("*.py")), call("list_files", json!({ "path": ".", "name": "*.py" }))]),
        Act::Calls(vec![read("src/a.py"), read("src/b.py")]),
        Act::Calls(vec![patch(&format!("{good}*** Update File: src/a.py\n-  return 'wrong'\n+  return 'right'\n"))]),
        Act::Calls(vec![shell("cat src/b.py && ls old.py")]),
        Act::Calls(vec![patch(&format!(
            "{good}*** Update File: src/a.py\n-    return 'wrong'\n+    return 'right'\n"
        ))]),
        finish("Mended."),
    ];
    let told = hands.works(RUN, "src/a.py, src/b.py, made/by/hand, old.py", work);
    let tree = hands.silas.tree();
    assert_eq!(tree[Path::new("src/b.py")], b"def b():\r\n    return 'right'\r\n", "line ends stay");
    assert_eq!(tree[Path::new("made/by/hand")], b"yes\n");
    assert!(!tree.contains_key(Path::new("old.py")));
    for words in [
        "src/a.py:2:    return 'wrong'",
        "2\\t    return 'wrong'",
        "Nothing was changed. Change 1 in `src/a.py`: its lines are nowhere.",
        "Patched. `src/b.py` +1 −1. `made/by/hand` added. `old.py` deleted. `src/a.py` +1 −1.",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn several_files_are_mended_by_one_patch() {
    several_files(Dialect::OpenAi);
}

#[test]
fn several_files_are_mended_by_one_patch_in_the_other_wire_format() {
    several_files(Dialect::Anthropic);
}

#[test]
fn a_refactoring_reads_twenty_files_and_changes_each() {
    let hands = Hands::new(Dialect::OpenAi);
    let names: Vec<String> = (0..20).map(|n| format!("lib/m{n}.py")).collect();
    for (n, name) in names.iter().enumerate() {
        hands.file(name, format!("def f{n}():\n    return old_name({n}) + old_name({n})\n").as_bytes());
    }
    let mut work = vec![Act::Calls(vec![search("old_name", None)])];
    work.extend(names.chunks(10).map(|names| Act::Calls(names.iter().map(|name| read(name)).collect())));
    let change = |name: &String| {
        call("edit_file", json!({ "path": name, "old_text": "old_name(", "new_text": "new_name(", "all": true }))
    };
    work.extend(names.chunks(7).map(|names| Act::Calls(names.iter().map(change).collect())));
    work.extend([Act::Calls(vec![search("old_name", None)]), finish("Renamed.")]);
    let told = hands.works("! grep -rq old_name lib && grep -rq new_name lib", &names.join(", "), work);
    for (n, name) in names.iter().enumerate() {
        let text = String::from_utf8(hands.silas.tree()[Path::new(name)].clone()).unwrap();
        assert_eq!(text, format!("def f{n}():\n    return new_name({n}) + new_name({n})\n"));
    }
    assert_eq!(told.matches("Replaced 2 times in").count(), 20, "{told}");
    assert!(told.contains("Nothing matches."), "{told}");
}

#[test]
fn a_model_recovers_from_every_refusal_and_hears_the_end_of_what_is_long() {
    let hands = Hands::new(Dialect::OpenAi);
    hands.file("src/a.py", b"x = 1\ny = 1\nz = 1\n");
    hands.file("src/b.py", b"right\n");
    hands.file("bin.dat", b"\x00\xff\xfe\x00");
    hands.file("odd\nname.py", b"\n");
    let long: String = (1..=100_000).map(|n| format!("line {n}\n")).collect();
    hands.file("long.txt", long.as_bytes());
    let before = hands.silas.tree();
    let work = vec![
        Act::Calls(vec![
            edit("src/a.py", " = 1", " = 2"),
            edit("src/a.py", "w = 1", "w = 2"),
            call("write_file", json!({ "path": "src/b.py", "text": "mine" })),
            read("../secret"),
            read("/etc/passwd"),
            read("bin.dat"),
            call("list_files", json!({ "path": "." })),
        ]),
        Act::Calls(vec![
            call("read_file", json!({ "path": "long.txt", "from_line": 99999, "lines": 9 })),
            call("shell_exec", json!({ "script": "pwd; ls", "cwd": "src" })),
            patch("*** Update File: ../secret\n-a\n+b\n"),
            call("python_exec", json!({ "script": "print('from python', 6 * 7)" })),
        ]),
        // A megabyte, whose end says how it went.
        Act::Calls(vec![shell("head -c 1500000 /dev/zero | tr '\\0' x; echo; echo the very end")]),
        Act::Calls(vec![call("search", json!({ "pattern": "the very", "path": "/tmp/printed" }))]),
        // Read, changed by a command, and so shown again before it is edited.
        Act::Calls(vec![
            read("src/a.py"),
            shell("sed -i s/x/left/ src/a.py"),
            edit("src/a.py", "z = 1", "z = 'right'"),
        ]),
        Act::Calls(vec![edit("src/a.py", "z = 1", "z = 'right'"), shell("mkdir -p made/by; touch made/by/hand")]),
        finish("Done."),
    ];
    let told = hands.works(RUN, "src/a.py, made/by/hand", work);
    for words in [
        "Not changed: old_text stands 3 times in `src/a.py`, at lines 1, 2, 3.",
        "Not changed: old_text is nowhere in `src/a.py`",
        "Not written: `src/b.py` is there and you have not read it whole.",
        "Not called: a path has no `..` in it.",
        "Not called: only these directories can be read",
        "`bin.dat` is not text (4 bytes)",
        "odd\\\\x0aname.py",
        "99999\\tline 99999\\n100000\\tline 100000\\n",
        "/src\\na.py\\na.txt\\nb.py\\nb.txt\\n",
        "Not done: a path has no `..` in it.",
        "from python 42",
        "1,490,014 characters are left out here",
        "the very end",
        "All of it is in /tmp/printed/8.txt, for read_file, search and commands.",
        "/tmp/printed/8.txt:",
        "`src/a.py` has changed since you read it, by a command. This is how it is now",
        "1\\tleft = 1",
        "Replaced in `src/a.py`, at line 3.",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let tree = hands.silas.tree();
    assert_eq!(tree[Path::new("src/a.py")], b"left = 1\ny = 1\nz = 'right'\n");
    for path in ["src/b.py", "bin.dat", "odd\nname.py", "long.txt"] {
        assert_eq!(tree[Path::new(path)], before[Path::new(path)], "{path}");
    }
}

/// What is red at the end of a long output is what the next attempt hears.
#[test]
fn the_next_attempt_hears_how_a_check_ended() {
    let hands = Hands::new(Dialect::OpenAi);
    hands.file("check.sh", b"seq 1 20000; if test -e made; then exit 0; fi; echo E: made is missing; exit 1\n");
    let work = vec![finish("Nothing to do."), Act::Calls(vec![shell("touch made")]), finish("Now.")];
    hands.works("sh check.sh", "made", work);
    let asked = hands.server.asked();
    let second = asked[4].body["messages"].to_string();
    assert!(second.contains("Attempt 2") && second.contains("E: made is missing"), "{second}");
    assert!(second.contains("characters are left out here") && second.contains("1\\n2\\n3\\n"), "{second}");
}
