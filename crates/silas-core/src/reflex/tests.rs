//! The sentences that are understood, and that everything else is not.

use super::*;

fn run(run: &str, directory: Option<&str>, check: &str) -> Decision {
    several(run, directory.as_slice(), &[], check)
}

fn several(run: &str, directories: &[&str], reads: &[&str], check: &str) -> Decision {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Decision::RunAndCheck {
        run: run.to_owned(),
        directories: owned(directories),
        reads: owned(reads),
        commits: false,
        hosts: Vec::new(),
        check: check.to_owned(),
        protected: true,
    }
}

#[test]
fn commits_and_putting_back() {
    let Decision::RunAndCheck { commits, .. } = decide("run `a` in /p reading /q with commits and check with `b`")
    else {
        panic!("not understood")
    };
    assert!(commits);
    assert_eq!(decide("Put back the last change."), Decision::PutBack);
    assert_eq!(decide("put back everything"), Decision::NotUnderstood);
    for said in ["undo", "Undo that.", "undo the last change"] {
        assert_eq!(decide(said), Decision::PutBack, "{said}");
    }
    assert_eq!(decide("undo everything"), Decision::NotUnderstood);
}

#[test]
fn a_plan_begins_with_its_fence() {
    assert_eq!(decide("---\ntitle: x\n---\n"), Decision::Plan);
    assert_eq!(decide("--- and so on"), Decision::NotUnderstood);
    assert_eq!(decide("a ---"), Decision::NotUnderstood);
}

#[test]
fn several_directories() {
    let cases = [
        ("run `a` in /p and /q and check with `b`", several("a", &["/p", "/q"], &[], "b")),
        ("run `a` in `p`, `q` and in ~/r, and check with `b`", several("a", &["p", "q", "~/r"], &[], "b")),
        ("run `a` in /p reading /q and `r` and check with `b`", several("a", &["/p"], &["/q", "r"], "b")),
        ("run `a` reading /q, then check with `b`", several("a", &[], &["/q"], "b")),
    ];
    for (text, expected) in cases {
        assert_eq!(decide(text), expected, "{text}");
    }
    for text in [
        "run `a` in /p and and check with `b`",
        "run `a` in /p and q and check with `b`",
        "run `a` reading and check with `b`",
    ] {
        assert_eq!(decide_by(1, text), Ok(Decision::NotUnderstood), "{text}");
    }
}

#[test]
fn spellings_of_run_and_check() {
    let fmt = || run("cargo fmt", Some("/home/me/p"), "cargo fmt --check");
    let cases = [
        ("run `cargo fmt` in `/home/me/p` and check with `cargo fmt --check`", fmt()),
        ("Run `cargo fmt` in /home/me/p and check with `cargo fmt --check`.", fmt()),
        ("please run `cargo fmt` inside /home/me/p, then check with `cargo fmt --check`!", fmt()),
        ("  RUN   `cargo fmt`\n in\t`/home/me/p`,  and   check it with `cargo fmt --check`  ", fmt()),
        ("run ` cargo fmt ` in ` /home/me/p ` check with ` cargo fmt --check `", fmt()),
        ("run `a` and check with `b`", run("a", None, "b")),
        ("run `a`, and check with `b`", run("a", None, "b")),
        ("run`a`and check with`b`", run("a", None, "b")),
        ("run ``echo `date` `` and check with `true`", run("echo `date`", None, "true")),
        ("run ```a ``b`` c``` in ~/p and check with ``d`e``", run("a ``b`` c", Some("~/p"), "d`e")),
        ("run `a` in . and check with `b`", run("a", Some("."), "b")),
        ("run `a` in `my dir` and check with `b`", run("a", Some("my dir"), "b")),
        ("run `ä 'ö' \"ü\" 😀` and check with `b && c | d > e`", run("ä 'ö' \"ü\" 😀", None, "b && c | d > e")),
        ("run `a\nb` and check with `c`", run("a\nb", None, "c")),
    ];
    for (text, expected) in cases {
        assert_eq!(decide(text), expected, "{text}");
    }
}

#[test]
fn a_sentence_with_a_missing_or_an_extra_part_is_not_understood() {
    let others = [
        "",
        "run",
        "run `a`",
        "run `a` in `b`",
        "run `a` and check",
        "run `a` and check with",
        "run `a` and check with b",
        "run a and check with `b`",
        "run `` and check with `b`",
        "run ` ` and check with `b`",
        "run `a and check with b",
        "run `a` in and check with `b`",
        "run `a` in src and check with `b`",
        "run `a` in `` and check with `b`",
        "run `a` and check with `b` and then some",
        "run `a` and check with `b` `c`",
        "don't run `a` and check with `b`",
        "running `a` and check with `b`",
        "run `a` and checks with `b`",
        "never mind: run `a` and check with `b`",
        "if it rains run `a` and check with `b`",
        "run ``a` and check with `b`",
        "delete everything",
        "whatever did you do",
        "what do you do",
        "activity please",
        "\0",
        "run \u{2018}a\u{2019} and check with \u{2018}b\u{2019}",
    ];
    for text in others {
        assert_eq!(decide_by(1, text), Ok(Decision::NotUnderstood), "{text:?}");
    }
}

#[test]
fn spellings_of_what_happened() {
    let cases = [
        ("what did you do?", Asked::Lately),
        ("What have you done today", Asked::Hours(24)),
        ("WHAT HAPPENED??", Asked::Lately),
        ("activity", Asked::Lately),
        (" Activity. ", Asked::Lately),
        ("What did you do while I slept?", Asked::Away),
        ("what happened last night", Asked::Away),
        ("what did you do while I was away?", Asked::Away),
        ("what happened overnight", Asked::Away),
        ("what did you do in the last hour?", Asked::Hours(1)),
        ("what happened in the last 3 hours", Asked::Hours(3)),
        ("what did you do in the past 2 days", Asked::Hours(48)),
        ("what have you done this week?", Asked::Hours(168)),
        ("what happened in the last 0 hours", Asked::Lately),
        ("what happened in the last 99999999999 weeks", Asked::Lately),
        ("what happened in the last 4000000000 weeks", Asked::Lately),
    ];
    for (text, when) in cases {
        assert_eq!(decide(text), Decision::WhatHappened { when }, "{text}");
    }
}

#[test]
fn spellings_about_tasks() {
    let add = |title: &str| Decision::AddTask { title: title.to_owned() };
    let done = |task: &str| Decision::CompleteTask { task: task.to_owned() };
    let reopen = |task: &str| Decision::ReopenTask { task: task.to_owned() };
    let cases = [
        ("add task `call the dentist`", add("call the dentist")),
        ("Add task: call the dentist", add("call the dentist")),
        ("add a task to call the dentist", add("call the dentist")),
        ("add a task `x`.", add("x")),
        ("add call the dentist to tasks", add("call the dentist")),
        ("add  Call the dentist   to my tasks!", add("Call the dentist")),
        ("add `go to tasks` to the task list", add("go to tasks")),
        ("add milk to tea to my task list", add("milk to tea")),
        ("add task ``fix `foo` ``", add("fix `foo`")),
        ("add task fix `foo` today", add("fix `foo` today")),
        ("add task ünïcode 😀", add("ünïcode 😀")),
        ("done with `call the dentist`!", done("call the dentist")),
        ("Complete task call the dentist", done("call the dentist")),
        ("reopen `x`", reopen("x")),
        ("reopen task x y", reopen("x y")),
        ("tasks", Decision::ListTasks),
        ("Show my tasks.", Decision::ListTasks),
        ("what are my tasks?", Decision::ListTasks),
    ];
    for (text, expected) in cases {
        assert_eq!(decide(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_surely_about_tasks_is_not_understood() {
    let others = [
        "add",
        "add task",
        "add task:",
        "add task ``",
        "add task `a` and run `b`",
        "add task-force meeting",
        "add tasks buy milk",
        "add to tasks",
        "add 2 and 3",
        "add salt to taste",
        "add milk totasks",
        "add `a` `b` to tasks",
        "add `a` to tasks and then some",
        "don't add task `x`",
        "add task one\ntwo",
        "add task `one\ntwo`",
        "add task a\u{7}b",
        "done with work for today",
        "done with",
        "done with ``",
        "done with `a` `b`",
        "i am done with `a`",
        "reopen",
        "reopen the bar",
        "task",
        "tasks are boring",
        "no tasks",
    ];
    for text in others {
        assert_eq!(decide_by(1, text), Ok(Decision::NotUnderstood), "{text:?}");
    }
}

#[test]
fn a_quoted_title_reads_back() {
    for title in
        ["a", "`", "``", "a `b` c", "`a`", "``a` b", "ends with `", "` starts", "```", "no ticks. at all!", "😀`😀"]
    {
        let said = format!("add task {}", quote(title));
        assert_eq!(decide(&said), Decision::AddTask { title: title.to_owned() }, "{said}");
    }
}

#[test]
fn the_sentences_shown_to_people_are_understood() {
    for sentence in UNDERSTOOD {
        let said = sentence.replace("DIRECTORY", "/home/me/p").replace("COMMAND", "make").replace("TITLE", "call mum");
        assert_ne!(decide(&said), Decision::NotUnderstood, "{sentence}");
    }
}

#[test]
fn a_model_is_asked_for_in_few_ways_and_a_task_about_one_is_a_task() {
    for said in ["add a model", "Add a model!", "set up a model", "connect a model", "use a model", "add model"] {
        assert_eq!(decide(said), Decision::AddModel, "{said}");
    }
    let title = "model".to_owned();
    assert_eq!(decide("add task model"), Decision::AddTask { title: title.clone() });
    assert_eq!(decide("add a model to tasks"), Decision::AddTask { title: "a model".to_owned() });
    assert_eq!(decide("add a model of the harbour"), Decision::NotUnderstood);
    assert!(!Decision::AddModel.is_instruction());
}

#[test]
fn the_sample_is_tried_in_few_words_and_nothing_else_is_it() {
    for said in [
        "try it on a sample project",
        "Try it on a sample project",
        "Try it on the sample project.",
        "try a sample",
        "try silas on a sample",
    ] {
        assert_eq!(decide(said), Decision::TrySample, "{said}");
    }
    for said in
        ["try it", "sample project", "try it on my project", "try it on a sample project in /etc", "try a sample size"]
    {
        assert_eq!(decide(said), Decision::NotUnderstood, "{said}");
    }
    let title = "try it on a sample project".to_owned();
    assert_eq!(decide("add task try it on a sample project"), Decision::AddTask { title });
    assert!(!Decision::TrySample.is_instruction());
}

#[test]
fn hostile_input_is_read_once_and_not_understood() {
    let n = 100_000;
    let texts = [
        "`".repeat(n),
        format!("run {}", "`".repeat(n)),
        format!("run {}a{}", "`".repeat(n / 2), "`".repeat(n / 2 - 1)),
        format!("run `{}", "a".repeat(n)),
        "run ".repeat(n / 4),
        " ".repeat(n),
        ",".repeat(n),
        format!("run `a` in /{}", "x".repeat(n)),
        format!("run `a` {}", ", ".repeat(n / 2)),
        "😀".repeat(n / 4),
        format!("r{}", "\u{301}".repeat(n / 2)),
        "what ".repeat(n / 5),
        "add ".repeat(n / 4),
        format!("add {}", "`".repeat(n)),
        format!("add {} to task", "x".repeat(n)),
        format!("add task {}", "`".repeat(n)),
        "tasks ".repeat(n / 6),
    ];
    for text in texts {
        assert_eq!(decide(&text), Decision::NotUnderstood, "{}…", text.chars().take(20).collect::<String>());
    }
    let long = "x".repeat(n);
    assert_eq!(decide(&format!("run `{long}` and check with `y`")), run(&long, None, "y"));
}

#[test]
fn no_prefix_of_a_sentence_panics() {
    let sentence = "please run ``é`` in ~/ö, and check it with `ü`!";
    let all: Vec<char> = sentence.chars().collect();
    for from in 0..all.len() {
        for to in from..=all.len() {
            decide(&String::from_iter(&all[from..to]));
        }
    }
}

#[test]
fn hosts_are_named_one_by_one() {
    let decided = |text: &str| match decide(text) {
        Decision::RunAndCheck { hosts, check, .. } => Some((hosts.join(" "), check)),
        _ => None,
    };
    let found = |hosts: &str| Some((hosts.to_owned(), "k".to_owned()));
    assert_eq!(decided("run `c` in `d` reaching `example.org:443` and check with `k`"), found("example.org:443"));
    assert_eq!(decided("run `c` reaching `a:1` and `b:2` and check with `k`"), found("a:1 b:2"));
    assert_eq!(decided("run `c` in `d` and check with `k`"), found(""));
    assert_eq!(decided("run `c` reaching a:1 and check with `k`"), found("a:1"));
    assert_eq!(decided("run `c` reaching and check with `k`"), None);
}

#[test]
fn a_check_is_open_only_if_that_is_said() {
    for text in ["run `a` and check openly with `b`", "Run `a`, then check openly with `b`."] {
        let open = Decision::RunAndCheck {
            run: "a".to_owned(),
            directories: Vec::new(),
            reads: Vec::new(),
            commits: false,
            hosts: Vec::new(),
            check: "b".to_owned(),
            protected: false,
        };
        assert_eq!(decide(text), open, "{text}");
    }
    assert_eq!(decide("run `a` and check not openly with `b`"), Decision::NotUnderstood);
}

#[test]
fn whoever_asks_for_help_gets_it_without_a_model() {
    for said in ["help", "Help!", "help me", "What can you do?", "what can I say"] {
        assert_eq!(decide(said), Decision::Help, "{said}");
    }
    assert_eq!(decide("help me move the harbour"), Decision::NotUnderstood);
    assert!(!Decision::Help.is_instruction());
}

#[test]
fn words_are_read_as_the_version_read_them_that_understood_them() {
    let title = "Water the plants".to_owned();
    assert_eq!(decide_by(1, "add task `Water the plants`"), Ok(Decision::AddTask { title }));
    // What the first version left to a model, the second understands, and whoever reads the old ledger does not.
    let said = "done with call the dentist";
    assert_eq!(decide_by(1, said), Ok(Decision::NotUnderstood));
    assert_eq!(decide_by(2, said), Ok(Decision::CompleteTask { task: "call the dentist".to_owned() }));
    for unknown in [0, GRAMMAR + 1, u32::MAX] {
        assert_eq!(decide_by(unknown, "tasks"), Err(UnknownGrammar(unknown)));
    }
    let said = UnknownGrammar(7).to_string();
    assert_eq!(said, "its words were understood by version 7 of the grammar, and this Silas knows it up to version 2");
}
