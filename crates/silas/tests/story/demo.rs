//! `silas demo` on a machine that has never seen Silas.

use std::process::Command;

#[test]
fn the_demo_plays_and_its_ledger_can_be_checked_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let keep = dir.path().join("kept");
    let silas = env!("CARGO_BIN_EXE_silas");
    let played =
        Command::new(silas).args(["demo", "--keep"]).arg(&keep).env_remove("HOME").current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&played.stdout).into_owned();
    assert!(played.status.success(), "{text}{}", String::from_utf8_lossy(&played.stderr));
    for line in [
        "The patch is given",
        "Ran the checks first: 1 red",
        "Proved: red before, green after",
        "exactly as before",
        "unbroken",
    ] {
        assert!(text.contains(line), "{line} is missing in:\n{text}");
    }
    assert_is_what_the_readme_shows(&text);
    let data = keep.join("data");
    let verify = || {
        let state = dir.path().join("state");
        let args = ["audit", "verify", "--data-dir"];
        Command::new(silas).args(args).arg(&data).env("XDG_STATE_HOME", state).current_dir("/").output().unwrap()
    };
    assert!(verify().status.success());

    // The same ledger with one word changed is not the same ledger.
    let db = rusqlite::Connection::open(data.join("store/agent.sqlite")).unwrap();
    db.execute_batch("DROP TRIGGER ledger_is_not_edited; UPDATE ledger SET at = at + 1 WHERE seq = 5;").unwrap();
    drop(db);
    let broken = verify();
    assert!(!broken.status.success());
    assert!(String::from_utf8_lossy(&broken.stdout).contains("Entry 5"), "{broken:?}");
}

/// The transcript at the top of the README is a selection of these lines, in this order; only counts may differ.
fn assert_is_what_the_readme_shows(played: &str) {
    let plain = |line: &str| {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        words.replace(|c: char| c.is_ascii_digit(), "")
    };
    let played: Vec<String> = played.lines().map(plain).collect();
    let readme = include_str!("../../../../README.md");
    let transcript = readme.split("```").nth(1).unwrap();
    let mut at = 0;
    let lines = transcript.lines().map(plain).filter(|line| !line.is_empty());
    for line in lines {
        let found = played[at..].iter().position(|one| one.starts_with(&line));
        at += found.unwrap_or_else(|| panic!("{line:?} is not in what is played after line {at}")) + 1;
    }
    assert!(at > 15);
}

/// Numbers of processes that are waited for.
const TRAPS: u32 = 2000;

/// `silas demo | head`: nobody reads to the end, and still nothing is left, neither the place nor the server in it.
#[test]
fn a_demo_that_nobody_watches_tidies_up() {
    let dir = tempfile::tempdir().unwrap();
    // Everybody can put something into the place for temporary files: under a name that could be known, it would be used.
    let owners = tempfile::tempdir().unwrap();
    let mut probe = Command::new("true").spawn().unwrap();
    let n = probe.id();
    probe.wait().unwrap();
    for pid in n..n + TRAPS {
        let trap = dir.path().join(format!("silas-demo-{pid}"));
        std::fs::create_dir(&trap).unwrap();
        std::os::unix::fs::symlink(owners.path(), trap.join("data")).unwrap();
    }
    let mut played = Command::new(env!("CARGO_BIN_EXE_silas"))
        .arg("demo")
        .env("TMPDIR", dir.path())
        .env_remove("HOME")
        .current_dir("/")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(played.stdout.take());
    assert!(played.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), TRAPS as usize);
    assert_eq!(std::fs::read_dir(owners.path()).unwrap().count(), 0);
}
