//! Nonsense gets one clear sentence each, and nothing is lost.

use crate::harness::{Silas, binary};
use silas_core::card::CardKind;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

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
    check(&silas, "run `true` and check with `false`", "Say where: run true in ~/DIRECTORY and check with false");
    check(&silas, &wish("nowhere"), "nowhere, seen from /, where Silas was started: there is no such directory");
    check(&silas, &format!("run `{}` in `/x` and check with `true`", "y".repeat(40_000)), "longer than 32 KiB");
    check(&silas, "   ", "The message is empty");
    silas.assert_ledger_holds();
}

/// Whoever may change its settings may change what it allows: they are treated as its data are.
#[test]
fn silass_own_settings_cannot_be_granted() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("config/silas/deep")).unwrap();
    symlink(base.join("config/silas"), base.join("alias")).unwrap();
    let (config, state) = (base.join("config"), base.join("state"));
    let env = [("XDG_CONFIG_HOME", config.to_str().unwrap()), ("XDG_STATE_HOME", state.to_str().unwrap())];
    let silas = Silas::start_with(&env);
    // Made only now: what was not there when Silas started is its own all the same.
    fs::create_dir_all(state.join("silas")).unwrap();
    let wish = |dir: PathBuf| format!("run `true` in `{}` and check with `false`", dir.display());
    check(&silas, &wish(config.join("silas")), "contains Silas's own data or settings");
    check(&silas, &wish(base.join("alias")), "contains Silas's own data or settings");
    check(&silas, &wish(config.join("silas/deep")), "lies inside Silas's own data or settings");
    check(&silas, &wish(config.clone()), "contains Silas's own data or settings");
    check(&silas, &wish(base.clone()), "contains Silas's own data or settings");
    check(&silas, &wish(state.join("silas")), "contains Silas's own data or settings");
    let dir = config.join("silas").display().to_string();
    let (code, said) = silas.command(&["root", "add", &dir]);
    assert!(code != 0 && said.contains("Silas's own data or settings"), "{said}");
}

/// What nobody can read as a setting is refused by its name and not passed over.
#[test]
fn a_variable_that_is_not_text_is_refused() {
    let odd = OsStr::from_bytes(b"84\xff20");
    let check = || binary().args(["config", "check"]).current_dir("/").env("SILAS__CHANNELS__WEB__PORT", odd).output();
    let output = check().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("`SILAS__CHANNELS__WEB__PORT` is not text (UTF-8).") && text.contains("(E_CFG_VALUE)"),
        "{text}"
    );
    // One of another program is none of ours.
    let output = binary().args(["config", "check"]).current_dir("/").env("ELSEWHERE", odd).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A name at the beginning of a sentence stays as it was typed.
#[test]
fn a_file_keeps_its_name() {
    let output = binary().args(["plan", "check", "ff"]).current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.trim_end(), "ff cannot be read: there is no such file or directory.");
}

/// Without a model a wish that lacks a part is told which, and is shown whole; nothing comes of it.
#[test]
fn a_wish_that_is_nearly_understood_is_shown_completed() {
    let silas = Silas::start();
    let whole = "• run `make` in `x` and check with `make test`\n";
    check(&silas, "run `make` in `x` and check with", "the check is missing, a command that shows whether it worked.");
    check(&silas, "run `make` in `x` and check with", "• run `make` in `x` and check with `COMMAND`\n");
    check(&silas, "run make in x and check with make test", whole);
    check(&silas, "run make in x and check with make test", "commands and names stand in backticks");
    check(&silas, "run `make` in and check with `make test`", "a directory is not named");
    check(&silas, "run `make` in `x` and check with `make test` twice", "“twice” is not understood");
    let reply = silas.line().ask("run make in x");
    assert!(!reply.contains("done with TITLE") && reply.contains("add a model"), "not the whole list: {reply}");
    // Whoever sends it from a script learns that nothing was made of it.
    assert_eq!(silas.command(&["say", "run make in x"]).0, 1);
    check(&silas, "walk the dog", "done with TITLE");
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
    let evidence = line.card(CardKind::Rehearsed).unwrap().face.evidence.unwrap();
    assert!(evidence.claim.starts_with("Stayed green"), "{}", evidence.claim);
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

/// Runs the binary with an argument that no text can be, and gives what it printed; it must end by itself.
fn ends_by_itself(silas: &Silas, args: &[&OsStr]) -> (i32, String) {
    let mut child = crate::harness::binary()
        .arg("--data-dir")
        .arg(silas.data())
        .args(args)
        .current_dir(silas.outside())
        .env("XDG_STATE_HOME", silas.outside().join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("{args:?} waits without an end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text)
}

/// Every command that the binary lists, and every one below it, refuses what is not UTF-8 in a sentence. The name of
/// a file may be any bytes: a command that writes one writes it.
#[test]
fn arguments_that_are_not_text_are_refused_by_every_command() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    let odd = OsStr::from_bytes(b"caf\xe9");
    let named = |command: &[String]| -> Vec<String> {
        let (_, help) =
            silas.command(&[&command.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--help"]].concat());
        let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
        let names = list
            .lines()
            .take_while(|line| !line.is_empty())
            .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| *name != "help")
            .map(str::to_owned)
            .collect()
    };
    let mut commands: Vec<Vec<String>> = Vec::new();
    for name in named(&[]) {
        let below = named(std::slice::from_ref(&name));
        match below.is_empty() {
            true => commands.push(vec![name]),
            false => commands.extend(below.into_iter().map(|below| vec![name.clone(), below])),
        }
    }
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        for more in [&[odd][..], &[OsStr::new("--json"), odd], &[odd, odd, odd]] {
            let args: Vec<&OsStr> = command.iter().map(OsStr::new).chain(more.iter().copied()).collect();
            let (code, text) = ends_by_itself(&silas, &args);
            let is_written = code == 0 && fs::remove_file(silas.outside().join(odd)).is_ok();
            assert!(!text.contains("panicked") && (is_written || (1..=3).contains(&code)), "{args:?}: {code} {text}");
        }
    }
}

/// A file that is none is refused at once, wherever one can be named.
#[test]
fn a_fifo_is_no_file_and_nothing_waits_for_it() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    let fifo = silas.outside().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let fifo = fifo.as_os_str();
    let huge = silas.outside().join("huge");
    fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    for (args, word) in [
        (&["plan", "check"][..], "is not a regular file"),
        (&["plan", "show"], "is not a regular file"),
        (&["plan", "submit"], "is not a regular file"),
        (&["verify"], "is not a regular file"),
        (&["restore", "--replace"], "is not a regular file"),
        (&["audit", "verify", "--export"], "is not a regular file"),
        (&["audit", "verify", "--witness"], "is not a regular file"),
        (&["status", "--config"], "is not a regular file"),
    ] {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).chain([fifo]).collect();
        let (code, text) = ends_by_itself(&silas, &args);
        assert!((1..=2).contains(&code) && text.contains(word), "{args:?}: {code} {text}");
    }
    let (code, text) = ends_by_itself(
        &silas,
        &["plan", "check"].map(OsStr::new).into_iter().chain([huge.as_os_str()]).collect::<Vec<_>>(),
    );
    assert!(code != 0 && !text.contains("panicked"), "{text}");
}
