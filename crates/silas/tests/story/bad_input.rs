//! Nonsense gets one clear sentence each, and nothing is lost.

use crate::harness::Silas;
use silas_core::card::CardKind;
use std::fs;
use std::os::unix::fs::symlink;

#[track_caller]
fn check(silas: &Silas, wish: &str, expect: &str) {
    let before = silas.tree();
    let mut line = silas.line();
    let n_cards = line.cards.len();
    let reply = line.ask(wish);
    assert!(reply.contains(expect), "{wish}\n→ {reply}");
    assert_eq!(line.cards.len(), n_cards, "{wish}");
    assert_eq!(silas.tree(), before);
}

#[test]
fn directories_that_cannot_be_granted() {
    let silas = Silas::start();
    fs::write(silas.outside().join("file"), "").unwrap();
    symlink("/", silas.outside().join("everything")).unwrap();
    symlink(silas.data().join("store"), silas.outside().join("inside")).unwrap();
    let outside = silas.outside().display().to_string();
    let wish = |dir: &str| format!("run `true` in `{dir}` and check with `false`");
    check(&silas, &wish(&format!("{outside}/nowhere")), "there is no such directory");
    check(&silas, &wish(&format!("{outside}/file")), "this is a file, not a directory");
    check(&silas, &wish("/"), "The whole file system cannot be granted");
    check(&silas, &wish(&format!("{outside}/everything")), "The whole file system cannot be granted");
    check(&silas, &wish(&outside), "contains Silas's own data");
    check(&silas, &wish(&silas.data().display().to_string()), "Silas's own data");
    check(&silas, &wish(&format!("{outside}/inside")), "inside Silas's own data");
    check(&silas, &wish("/etc"), "A system directory cannot be granted");
    check(&silas, &wish("/usr/share"), "A system directory cannot be granted");
    check(&silas, "run `true` and check with `false`", "run `true` in `DIRECTORY` and check with `false`");
    check(&silas, &wish("nowhere"), "nowhere, seen from /, where Silas was started: there is no such directory");
    check(&silas, &format!("run `{}` in `/x` and check with `true`", "y".repeat(40_000)), "longer than 32 KiB");
    check(&silas, "   ", "The message is empty");
    silas.assert_ledger_holds();
}

/// Without a model a wish that lacks a part is told which, and is shown whole; nothing comes of it.
#[test]
fn a_wish_that_is_nearly_understood_is_shown_completed() {
    let silas = Silas::start();
    let whole = "• run `make` in `x` and check with `make test`\n";
    check(
        &silas,
        "run `make` in `x`",
        "the check is missing, a command that shows whether it worked. Nothing was done.",
    );
    check(&silas, "run `make` in `x`", "• run `make` in `x` and check with `COMMAND`\n");
    check(&silas, "run make in x and check with make test", whole);
    check(&silas, "run make in x and check with make test", "commands and names stand in backticks");
    check(&silas, "run `make` in and check with `make test`", "a directory is not named");
    check(&silas, "run `make` in `x` and check with `make test` twice", "“twice” is not understood");
    let reply = silas.line().ask("run `make` in `x`");
    assert!(!reply.contains("done with `TITLE`") && reply.contains("add a model"), "not the whole list: {reply}");
    // Whoever sends it from a script learns that nothing was made of it.
    assert_eq!(silas.command(&["say", "run make in x"]).0, 1);
    check(&silas, "walk the dog", "done with `TITLE`");
    silas.assert_ledger_holds();
}

#[test]
fn a_check_that_hangs_is_stopped_and_says_so() {
    let silas = Silas::start_with(&[("SILAS__SANDBOX__DEFAULT_TIMEOUT_SECONDS", "2")]);
    let original = silas.tree();
    let mut line = silas.line();
    let wish = format!("run `true` in `{}` and check with `sleep 1000`", silas.repo().display());
    let work = line.run(&wish).unwrap();
    assert_eq!(work["footer"], "Your files are untouched");
    let report = line.card(CardKind::Report).unwrap();
    let text = format!("{:?}", report.face);
    assert!(text.contains("Timeout") || text.contains("used up"), "{text}");
    assert_eq!(silas.tree(), original);
}

#[test]
fn a_command_that_does_not_exist_leaves_the_check_red() {
    let silas = Silas::start();
    let mut line = silas.line();
    let wish = format!("run `no-such-program` in `{}` and check with `sh check.sh`", silas.repo().display());
    let work = line.run(&wish).unwrap();
    assert_eq!((&work["outcome"], &work["footer"]), (&"failed".into(), &"Your files are untouched".into()));
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "The check is still red");
    assert!(format!("{:?}", report.face.details).contains("not found"), "{:?}", report.face.details);
}

#[test]
fn a_check_that_is_green_already_proves_nothing() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    let wish = format!("run `sh fix.sh` in `{}` and check with `true`", silas.repo().display());
    line.run(&wish).unwrap();
    assert_eq!(line.card(CardKind::Report).unwrap().face.intent, "Already passes, nothing to do");
    assert_eq!(silas.tree(), original);
}

#[test]
fn a_directory_that_was_swapped_after_the_card_is_refused() {
    let silas = Silas::start();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    fs::rename(silas.repo(), silas.outside().join("moved")).unwrap();
    fs::create_dir(silas.repo()).unwrap();
    fs::write(silas.repo().join("fix.sh"), "echo gotcha > taken\n").unwrap();
    line.decide(&plan, silas_core::token::Verdict::Approved).unwrap();
    line.ended().unwrap();
    let report = line.card(CardKind::Report).unwrap();
    assert!(format!("{:?}", report.face.details).contains("not the directory that was approved"), "{:?}", report.face);
    assert!(!silas.repo().join("taken").exists());
}

#[test]
fn files_that_are_not_plans_are_refused_with_line_and_column() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str], bytes: &[u8]| {
        let file = dir.path().join("plan.md");
        fs::write(&file, bytes).unwrap();
        let output = crate::harness::binary().args(args).arg(&file).current_dir("/").output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), text)
    };
    let plan = |extra: &str| format!("---\nid: task-1\ntype: task\ntitle: Tidy\n{extra}---\nProse.\n");
    let (sound, text) = run(&["plan", "check"], plan("").as_bytes());
    assert!(sound && text.contains("a sound plan"), "{text}");
    let (sound, text) = run(&["plan", "show"], plan("").as_bytes());
    assert!(sound && text.contains("plan hash"), "{text}");
    let bomb = format!(
        "a: &a [{}]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b]\n",
        "x, ".repeat(1000)
    );
    let bad: [(&str, Vec<u8>); 8] = [
        ("line 1", b"no front matter".to_vec()),
        ("line 5", plan("domain: [\n").into_bytes()),
        (
            "exactly one expectation",
            plan("verify:\n  - name: n\n    run: x\n    expect: { exit_code: 0, contains: y }\n").into_bytes(),
        ),
        ("line", plan(&bomb).into_bytes()),
        ("1 MiB", vec![b'-'; 10 << 20]),
        ("UTF-8", [plan("").into_bytes(), vec![0xff, 0xfe]].concat()),
        ("not available in this version", plan("gates: [{ name: g }]\n").into_bytes()),
        ("a port is needed", plan("sandbox: { hosts: [example.org] }\n").into_bytes()),
    ];
    for (expect, bytes) in bad {
        let (sound, text) = run(&["plan", "check"], &bytes);
        assert!(!sound && text.contains(expect) && text.len() < 2000, "expected {expect}: {text}");
    }
    let (sound, text) = run(&["plan", "show"], b"---\n");
    assert!(!sound && text.contains("line"), "{text}");
}

#[test]
fn settings_that_cannot_be_are_named_before_anything_starts() {
    let start = |env: &str, value: &str| {
        let dir = tempfile::tempdir().unwrap();
        let output = crate::harness::binary()
            .args(["start", "--port", "0", "--quiet", "--data-dir"])
            .arg(dir.path().join("data"))
            .env(env, value)
            .current_dir("/")
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert!(!dir.path().join("data").exists(), "nothing was made");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = start("SILAS__CHANNELS__WEB__PRT", "1");
    assert!(
        text.contains("`SILAS__CHANNELS__WEB__PRT`") && text.contains("Did you mean `SILAS__CHANNELS__WEB__PORT`"),
        "{text}"
    );
    let text = start("SILAS__CHANNELS__WEB__HOST", "0.0.0.0");
    assert!(text.contains("E_CFG_NETWORK") && text.contains("channels.web.host") && text.contains("0.0.0.0"), "{text}");
    let text = start("SILAS__UNDO__WINDOW_SECONDS", "soon");
    assert!(text.contains("undo.window_seconds"), "{text}");
}
