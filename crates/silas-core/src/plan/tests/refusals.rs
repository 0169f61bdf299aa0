//! One clear sentence for each way in which a plan can be wrong.

use super::*;

/// A plan with these lines after a sound beginning of four lines.
fn plan(lines: &str) -> Vec<u8> {
    format!("---\nid: task-1\ntype: task\ntitle: t\n{lines}---\nbody\n").into_bytes()
}

fn check(document: impl AsRef<[u8]>, expected: &str) {
    let error = parse(document.as_ref()).unwrap_err().to_string();
    assert_eq!(error, expected, "{}", String::from_utf8_lossy(&document.as_ref()[..document.as_ref().len().min(400)]));
}

#[test]
fn the_frame() {
    let no_front =
        "line 1, column 1: a plan begins with a line `---`, then its keys, then another line `---`, then the briefing";
    for text in ["", "# Title\n", " ---\nid: x\n---\n", "\n---\nid: x\n---\n", "----\n---\n", "--- x\n---\n"] {
        check(text, no_front);
    }
    let open = "line 1, column 1: the front matter is not closed; put a line `---` after its last key";
    for text in ["---", "---\n", "---\nid: task-1\n", "---\nid: task-1\n ---\n"] {
        check(text, open);
    }
    check("---\n---\n", "line 1, column 4, `type`: this key is needed and missing");
    check(vec![b'-'; PLAN_BYTES_MAX + 1], "line 1, column 1: a plan is at most 1 MiB");
    check(
        b"---\nid: task-1\ntitle: \xc3\xa9\xff\n---\n",
        "line 3, column 9: this is not UTF-8 text; save the plan as UTF-8",
    );
    check(b"\xff", "line 1, column 1: this is not UTF-8 text; save the plan as UTF-8");
}

#[test]
fn broken_yaml() {
    check(plan("steps: [\n"), "line 5, column 8: the YAML cannot be read: unclosed bracket '['");
    check(plan("title: x\n"), "line 5, column 1, `title`: this key comes twice; keep one");
    check(plan("steps:\n  - run: a\n    run: b\n"), "line 7, column 5, `run`: this key comes twice; keep one");
    check(plan("budget:\n\tmax_tokens: 1\n"), "line 6, column 2: a tab is used for indentation; YAML needs spaces");
    check(plan("steps: !x []\n"), "line 5, column 11: the tag `!x` is not supported");
    check(plan("...\nsteps: []\n"), "line 5, column 1: only one YAML document is expected here");
    check(plan("? [a]\n: b\n"), "line 5, column 3: a key must be a plain word");
    check("---\njust words\n---\n", "line 2, column 1: keys with values are needed, this is the text `just words`");
    check("---\n- a\n---\n", "line 2, column 1: keys with values are needed, this is a list");
    let error = parse(&plan("domain: \"abc\n")).unwrap_err();
    assert!(error.problem.starts_with("the YAML cannot be read: "), "{error}");
}

#[test]
fn aliases_and_bombs() {
    let problem = "`&name` and `*name` are not supported; write the value out, or put it in quotes";
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..20 {
        let last = n - 1;
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{last}"); 9].join(", ")));
    }
    for lines in [bomb.as_str(), "domain: &d x\nfailure_context: *d\n", "domain: *d\n", "domain: &d x\n"] {
        assert_eq!(parse(&plan(lines)).unwrap_err().problem, problem);
    }
    check(plan("<<: { domain: x }\n"), "line 5, column 1: `<<` is not supported; write the values out");
    let deep = format!("steps: {}\n", "[".repeat(500_000));
    assert!(parse(&plan(&deep)).is_err());
    let nested = format!("steps: {}{}\n", "[".repeat(100), "]".repeat(100));
    let nested = parse(&plan(&nested)).unwrap_err();
    assert!(nested.problem.contains("nested too deeply"), "{nested}");
    let wide = format!("steps: [{}]\n", "x, ".repeat(300_000));
    assert!(parse(&plan(&wide)).unwrap_err().problem.contains("too many entries"));
}

#[test]
fn keys() {
    check(plan("verfy: []\n"), "line 5, column 1, `verfy`: unknown key; did you mean `verify`?");
    check(plan("Title: x\n"), "line 5, column 1, `Title`: unknown key; did you mean `title`?");
    check(
        plan("budget: { max_token: 1 }\n"),
        "line 5, column 11, `budget.max_token`: unknown key; did you mean `max_tokens`?",
    );
    check(
        plan("steps:\n  - run: a\n    environment: x\n"),
        "line 7, column 5, `steps[0].environment`: unknown key; the keys here are run, python, cwd",
    );
    let of_the_runtime = parse(&plan("status: done\n")).unwrap_err().to_string();
    assert!(of_the_runtime.starts_with("line 5, column 1, `status`: unknown key; the keys here are id, type, "));
    check("---\ntype: task\ntitle: t\n---\n", "line 2, column 1, `id`: this key is needed and missing");
    check("---\nid: task-1\ntype: task\n---\n", "line 2, column 1, `title`: this key is needed and missing");
    check("---\nid: task-1\ntitle: t\n---\n", "line 2, column 1, `type`: this key is needed and missing");
    check(
        plan("verify:\n  - name: a\n    run: b\n"),
        "line 6, column 5, `verify[0].expect`: this key is needed and missing",
    );
}

#[test]
fn exits_and_flows() {
    let cases = [
        ("flows: [web]\n", "line 5, column 9, `flows[0]`: a flow is written `web → report.md`"),
        ("flows: [mail → x]\n", "line 5, column 9, `flows[0]`: a flow begins at `files` or at `web`"),
        (
            "flows: [web → ../x]\n",
            "line 5, column 9, `flows[0]`: expected a flow that ends at a file, without `.`, `..` or empty parts",
        ),
        ("flows: [web → x, web -> x]\n", "line 5, column 18, `flows[1]`: expected a flow that is not listed twice"),
        ("flows: web → x\n", "line 5, column 8, `flows`: a list is needed, this is the text `web → x`"),
        ("exits: { path: [x] }\n", "line 5, column 10, `exits.path`: unknown key; did you mean `paths`?"),
        (
            "exits: { paths: [a//b] }\n",
            "line 5, column 18, `exits.paths[0]`: expected a path without `.`, `..` or empty parts",
        ),
        (
            "exits: { paths: [a, a] }\n",
            "line 5, column 21, `exits.paths[1]`: expected an entry that is not listed twice",
        ),
        (
            "exits: { queries: [\" a\"] }\n",
            "line 5, column 20, `exits.queries[0]`: one line without control characters, and no space at either end, is needed",
        ),
    ];
    for (lines, expected) in cases {
        check(plan(lines), expected);
    }
    let many = format!("exits: {{ queries: [{}] }}\n", (0..33).map(|n| format!("q{n}, ")).collect::<String>());
    check(plan(&many), "line 5, column 19, `exits.queries`: expected at most 32 entries");
    let item = parse(&plan("flows: [web → report.md]\nexits: { paths: [\"src/**\"], queries: [tides *] }\n")).unwrap();
    let d = item.definition();
    assert_eq!(d.flows[0].to_string(), "web → report.md");
    assert_eq!((d.exits.paths[0].as_str(), d.exits.queries[0].as_str()), ("src/**", "tides *"));
}

#[test]
fn features_of_later_versions() {
    for key in ["gates", "skills", "access_levels", "escalation", "tasks", "depends_on", "input_artifacts_from"] {
        for empty in ["", "null", "[]", "{}", "\"\""] {
            assert!(parse(&plan(&format!("{key}: {empty}\n"))).is_ok(), "{key}: {empty}");
        }
        let error = parse(&plan(&format!("{key}: [x]\n"))).unwrap_err().to_string();
        let column = key.len() + 3;
        assert_eq!(error, format!("line 5, column {column}, `{key}`: not available in this version"));
    }
    check(plan("schedule: always_on\n"), "line 5, column 11, `schedule`: not available in this version");
    check(
        "---\nid: task-1\ntype: goal\ntitle: t\n---\n",
        "line 3, column 7, `type`: `goal` is not available in this version; write `task`",
    );
    check(
        "---\nid: task-1\ntype: tusk\ntitle: t\n---\n",
        "line 3, column 7, `type`: `tusk` is not one of task, goal, project",
    );
    check(
        plan("steps:\n  - { run: a, python: b }\n"),
        "line 6, column 23, `steps[0].python`: a step has `run` or `python`, not both",
    );
    check(
        plan("agent: stream\n"),
        "line 5, column 8, `agent`: `stream` is not available in this version; write `ephemeral`",
    );
    check(
        plan("sandbox:\n  hosts: [example.org]\n"),
        "line 6, column 11, `sandbox.hosts[0]`: `example.org` cannot be granted: a port is needed, such as example.org:443",
    );
    check(
        plan("sandbox: { toolchains: [rust] }\n"),
        "line 5, column 25, `sandbox.toolchains[0]`: keys with values are needed, this is the text `rust`",
    );
    check(
        plan("verify:\n  - { name: a, run: b, expect: { exit_code: 0 }, network: true }\n"),
        "line 6, column 59, `verify[0].network`: expected false, because the plan grants no host; name one under sandbox.hosts",
    );
}

#[test]
fn kinds_of_values() {
    let cases = [
        ("title2: 1\n", "line 5, column 1, `title2`: unknown key; did you mean `title`?"),
        ("domain: [a]\n", "line 5, column 9, `domain`: text is needed, this is a list"),
        ("parent: { a: b }\n", "line 5, column 9, `parent`: text is needed, this is a group of keys"),
        ("steps: make\n", "line 5, column 8, `steps`: a list is needed, this is the text `make`"),
        ("steps: [make]\n", "line 5, column 9, `steps[0]`: keys with values are needed, this is the text `make`"),
        ("budget: [1]\n", "line 5, column 9, `budget`: keys with values are needed, this is a list"),
        ("needs_approval: no\n", "line 5, column 17, `needs_approval`: `true` or `false` is needed, this is `no`"),
        (
            "needs_approval: \"true\"\n",
            "line 5, column 17, `needs_approval`: `true` or `false` is needed, this is the text `true`",
        ),
        ("steps: [{ run: [a, [b]] }]\n", "line 5, column 20, `steps[0].run[1]`: text is needed, this is a list"),
        (
            "steps: [{ run: { a: b } }]\n",
            "line 5, column 16, `steps[0].run`: a command or a list of its words is needed, this is a group of keys",
        ),
        (
            "interaction_mode: ask\n",
            "line 5, column 19, `interaction_mode`: `ask` is not one of default_and_offer, act_and_report, confirm_only_when_required",
        ),
        (
            "sandbox: { directories: [{ path: /a, access: rw }] }\n",
            "line 5, column 46, `sandbox.directories[0].access`: `rw` is not one of read, write",
        ),
    ];
    for (lines, expected) in cases {
        check(plan(lines), expected);
    }
    for number in ["1.5", "1e3", "\"5\"", "0x10", "007", "1_000", "true", "[1]", "-1", "99999999999999999999", "x"] {
        let error = parse(&plan(&format!("budget: {{ max_tokens: {number} }}\n"))).unwrap_err().to_string();
        assert!(
            error.starts_with("line 5, column 23, `budget.max_tokens`: a whole number is needed, this is "),
            "{error}"
        );
    }
    assert!(parse(&plan("budget: { max_attempts: 4294967296 }\n")).is_err());
}

#[test]
fn expectations() {
    let with = |expect: &str| plan(&format!("verify:\n  - name: a\n    run: b\n    expect: {expect}\n"));
    let at = "line 8, column 13, `verify[0].expect`";
    check(with("{}"), &format!("{at}: exactly one expectation is needed, 0 are given"));
    check(with("{ exit_code: null }"), &format!("{at}: exactly one expectation is needed, 0 are given"));
    check(with("{ exit_code: 0, equals: x }"), &format!("{at}: exactly one expectation is needed, 2 are given"));
    check(with("{ not_empty: false }"), &format!("{at}: `not_empty` can only be true"));
    check(with("{ file_exists: ../x }"), &format!("{at}: `file_exists` needs a path without `..`"));
    check(with("0"), &format!("{at}: keys with values are needed, this is `0`"));
    check(
        with("{ exit_cod: 0 }"),
        "line 8, column 15, `verify[0].expect.exit_cod`: unknown key; did you mean `exit_code`?",
    );
    check(
        with("{ regex: \"(\" }"),
        "line 8, column 22, `verify[0].expect.regex`: the regular expression cannot be used: unclosed group",
    );
    check(
        with("{ regex: a(?=b) }"),
        "line 8, column 22, `verify[0].expect.regex`: `(?=` is not supported in regular expressions",
    );
    check(
        with("{ output_lt: 1e5 }"),
        "line 8, column 26, `verify[0].expect.output_lt`: `1e5` is not a plain decimal number of at most 30 digits, such as 0.85 or -12",
    );
    assert!(parse(&with("{ regex: \"(a{1000}){1000}\" }")).unwrap_err().problem.contains("cannot be used"));
}

#[test]
fn rules_of_the_item_point_at_their_line() {
    let cases = [
        ("budget:\n  max_attempts: 0\n", "line 6, column 17, `budget.max_attempts`: expected at least 1"),
        (
            "verify:\n  - { name: a, run: b, expect: { exit_code: 0 } }\n  - { name: a, run: b, expect: { exit_code: 0 } }\n",
            "line 7, column 13, `verify[1].name`: expected a name that no other check has",
        ),
        (
            "sandbox:\n  directories:\n    - { path: /a/../b, access: read }\n",
            "line 7, column 15, `sandbox.directories[0].path`: expected an absolute path without `..`",
        ),
        (
            "sandbox:\n  directories:\n    - { path: /a, access: read }\n    - { path: /a, access: write }\n",
            "line 8, column 15, `sandbox.directories[1].path`: expected a directory that is not named already",
        ),
        (
            "sandbox:\n  directories:\n    - { path: /a/b, access: write }\n    - { path: /a, access: write }\n",
            "line 8, column 15, `sandbox.directories[1].path`: expected a directory that lies neither in nor around another that may be changed",
        ),
        (
            "steps:\n  - run: make\n",
            "line 2, column 1, `sandbox.directories`: expected at least one directory to work in, because there are steps or an executor",
        ),
    ];
    for (lines, expected) in cases {
        check(plan(lines), expected);
    }
    let many = format!("verify:\n{}", "  - { name: a, run: b, expect: { regex: \"[^a]{900}\" } }\n".repeat(1000));
    check(plan(&many), "line 6, column 3, `verify`: expected at most 50 checks");
    check(
        plan("parent: goal-1\n"),
        "line 5, column 9, `parent`: `goal-1` is not a work item's id: it should be `task-` followed by letters, digits or `-`, at most 80 in all",
    );
}

#[test]
fn nothing_of_a_plan_steers_the_terminal() {
    for lines in ["\"\\e[2J\": 1\n", "parent: \"\\e[2J\"\n", "interaction_mode: \"\\e[2J\\n\"\n", "budget: \"\\a\"\n"] {
        let error = parse(&plan(lines)).unwrap_err().to_string();
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
    let long = format!("{}: 1\n", "k".repeat(1000));
    assert!(parse(&plan(&long)).unwrap_err().to_string().chars().count() < 1200);
}
