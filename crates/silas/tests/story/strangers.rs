//! What somebody meets who does not know Silas: exit codes as promised, errors in sentences, files that are gone or full.

use crate::harness::{Silas, binary};
use serde_json::Value;
use silas_core::card::CardKind;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Where nobody has ever started Silas.
fn fresh(home: &Path, args: &[&str]) -> (i32, String) {
    let output = binary()
        .args(args)
        .env("HOME", home)
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .stdin(Stdio::null())
        .current_dir("/")
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), told(&output))
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn exit_codes_are_as_the_help_promises() {
    let home = tempfile::tempdir().unwrap();
    let (_, help) = fresh(home.path(), &["--help"]);
    for (code, meaning) in [
        (0, "done"),
        (1, "not done"),
        (2, "the command line"),
        (3, "Silas does not run, or has never run"),
        (4, "done, but not everything could be shown"),
        (5, "the file agrees with itself, but no key"),
        (130, "ended by Ctrl-C"),
    ] {
        assert!(help.contains(&format!("\n  {code:<3}  {meaning}")), "{code}: {help}");
    }
    for args in
        [&["status"][..], &["review"], &["say", "hello"], &["work", "list"], &["audit", "verify"], &["backup", "/x"]]
    {
        let (code, text) = fresh(home.path(), args);
        assert!(code == 3 && text.contains("Start it once with `silas`"), "{args:?}: {code} {text}");
    }
    let (code, text) = fresh(home.path(), &["status", "--json"]);
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &error["error"]["exit"]), (3, &Value::from(3)), "{text}");
    let named: [(&[&str], &str); 7] = [
        (&["plan", "check", "/nope.md"], "/nope.md cannot be read"),
        (&["plan", "show", "/nope.md"], "/nope.md cannot be read"),
        (&["plan", "check", "/tmp"], "/tmp cannot be read: it is a directory"),
        (&["restore", "/nope"], "Nothing was restored, and nothing was changed. /nope cannot be read"),
        (&["--config", "/nope.yaml", "status"], "`/nope.yaml` cannot be read"),
        (&["verify", "/etc/hostname", "--key", "xyz"], "The key after --key is not a public root key"),
        (&["start", "--host", "no host"], "(from the option --host)"),
    ];
    for (args, expect) in named {
        let (code, text) = fresh(home.path(), args);
        assert!(code == 2 && text.contains(expect) && !text.contains(".:"), "{args:?}: {code} {text}");
        assert!(!text.contains("os error") && !text.trim_start().starts_with("E_"), "{text}");
    }
    let (code, text) = fresh(home.path(), &["--data-dir", "/no where", "status"]);
    assert!(code == 3 && text.contains("Start it once with `silas --data-dir '/no where'`"), "{code} {text}");
    let (code, text) = fresh(home.path(), &["model", "add"]);
    assert_eq!(code, 3, "{text}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "nothing was made");
}

/// Where a number is meant, whatever is none is told what it would be and where there is one.
#[test]
fn what_is_no_number_is_told_what_is_meant() {
    let home = tempfile::tempdir().unwrap();
    let odd: [(&[&str], &str); 11] = [
        (&["activity", "abc"], "`silas activity` shows it before each row"),
        (&["activity", "--", "-1"], "the number of an entry is meant, such as 12"),
        (&["activity", "99999999999999999999"], "the number of an entry is meant"),
        (&["activity", "--before", "yesterday"], "the number of an entry is meant"),
        (&["audit", "forget", "x"], "`silas audit list` before each entry"),
        (&["audit", "list", "--last", "many"], "a number of entries is meant, such as 30"),
        (&["start", "--port", "http"], "a port is a number from 1 to 65535"),
        (&["start", "--port", "70000"], "0 takes any that is free"),
        (&["eval", "--cap", "1.50"], "whole cents are meant"),
        (&["eval", "--minutes", "500"], "a number of minutes from 1 to 240"),
        (&["eval", "--model", "llama", "--yes"], "write PROVIDER:MODEL"),
    ];
    for (args, expect) in odd {
        let (code, text) = fresh(home.path(), args);
        assert!(code == 2 && text.contains(expect), "{args:?}: {code} {text}");
        for raw in ["invalid digit", "digit found", "number too large", "out of range", "is not in", "os error"] {
            assert!(!text.contains(raw), "{args:?}: {text}");
        }
    }
    let (code, text) = fresh(home.path(), &["activity", "abc", "--json"]);
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &error["error"]["exit"]), (2, &Value::from(2)), "{text}");
    assert!(error["error"]["message"].as_str().unwrap().contains("the number of an entry"), "{text}");
    let silas = Silas::start();
    for price in ["cheap", "1/x", "-1/2"] {
        let (code, text) = silas.command(&["model", "add", "ollama:llama3.2", &format!("--price={price}")]);
        assert!(code == 2 && text.contains("is not a price"), "{price}: {code} {text}");
    }
    for big in ["0", "9223372036854775807", "4000"] {
        let (code, text) = silas.command(&["activity", big]);
        assert!(code == 1 && text.contains("The ledger has no entry"), "{big}: {code} {text}");
    }
}

#[test]
fn looking_makes_nothing_and_a_doctor_knows_who_never_lived() {
    let home = tempfile::tempdir().unwrap();
    for args in [&["tls", "show"][..], &["tls"], &["config", "show"], &["config", "check"], &["doctor"]] {
        let (_, text) = fresh(home.path(), args);
        assert!(!home.path().join(".local/share/silas").exists(), "{args:?}: {text}");
    }
    // What an earlier version left behind by looking.
    let data = home.path().join(".local/share/silas");
    for part in ["store", "run", "keys", "launcher"] {
        fs::create_dir_all(data.join(part)).unwrap();
    }
    let (_, text) = fresh(home.path(), &["doctor"]);
    assert!(text.contains("was never started") && !text.contains("Restore a backup"), "{text}");
    assert_eq!(fresh(home.path(), &["status"]).0, 3);
}

#[test]
fn a_wish_that_is_refused_is_not_done() {
    let silas = Silas::start();
    let nowhere = format!("run `true` in `{}/nowhere` and check with `false`", silas.outside().display());
    let (code, text) = silas.command(&["say", &nowhere]);
    assert!(code == 1 && text.contains("there is no such directory"), "{code} {text}");
    let (code, text) = silas.command(&["say", &nowhere, "--json"]);
    let said: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &said["refused"]), (1, &Value::Bool(true)), "{text}");
    // Two wishes for one directory wait for one card, and both are taken up.
    assert_eq!(silas.command(&["say", &silas.wish()]).0, 0);
    let (code, text) = silas.command(&["say", &silas.wish().replace("fix.sh", "fix.sh; true")]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = silas.command(&["model", "add"]);
    assert!(code == 2 && text.contains("silas model add ollama:llama3.2"), "{code} {text}");
    let (code, text) = silas.command(&["approve", "zzzzz", "--json"]);
    let error: Value = serde_json::from_str(&text).unwrap();
    assert!(code == 1 && error["error"]["message"].as_str().unwrap().contains("There is no card zzzzz"), "{text}");
}

/// The exit code follows from what the server says came of it, never from the words.
#[test]
fn what_came_of_a_message_is_told_by_who_decided_it() {
    let mut silas = Silas::start();
    let say = |silas: &Silas, text: &str| {
        let (code, said) = silas.command(&["say", text, "--json"]);
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{text}: {e}: {said}"));
        (code, said["entry"]["answers"]["came_of"].as_str().unwrap().to_owned())
    };
    let came = |code: i32, of: &str| (code, of.to_owned());
    assert_eq!(say(&silas, "add task `Review the budget`"), came(0, "done"));
    assert_eq!(say(&silas, "tasks"), came(0, "answered"));
    // The word that an answer about waiting cards has in it decides nothing.
    assert_eq!(say(&silas, "done with `Review`"), came(1, "refused"));
    assert_eq!(say(&silas, "done with `Review the budget`"), came(0, "done"));
    assert_eq!(say(&silas, "put back the last change"), came(1, "refused"));
    assert_eq!(say(&silas, "hello"), came(0, "answered"));
    assert_eq!(
        say(&silas, "how tall is the tower of Pisa?"),
        came(1, "refused"),
        "there is nobody who could answer it"
    );
    assert_eq!(say(&silas, &silas.wish()), came(0, "asked"));
    assert_eq!(silas.command(&["approve"]).0, 0);
    silas.command(&["grant", "house-rules"]);
    silas.line().approve(CardKind::HouseRules).unwrap();
    assert_eq!(say(&silas, &silas.wish()), came(0, "begun"));
    silas.kill();
    silas.up(&[]);
    let entries = silas.line().snapshot["entries"].as_array().unwrap().clone();
    let kept: Vec<&str> = entries.iter().filter_map(|entry| entry["answers"]["came_of"].as_str()).collect();
    let told = ["done", "answered", "refused", "done", "refused", "answered", "refused", "asked", "asked", "begun"];
    assert_eq!(kept, told, "the wish is answered again when its directory was allowed: {entries:?}");
    for entry in entries.iter().filter(|entry| !entry["answers"].is_null()) {
        let answered = |other: &&Value| other["id"] == entry["answers"]["message"] && other["sender"] == "owner";
        assert_eq!(entries.iter().filter(answered).count(), 1, "{entry}");
    }
}

#[test]
fn nobody_to_read_and_nowhere_to_write() {
    let silas = Silas::start();
    for args in [&["status"][..], &["config", "show"], &["--help"]] {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let output = binary()
            .arg("--data-dir")
            .arg(silas.data())
            .args(args)
            .env("XDG_STATE_HOME", silas.outside().join("state"))
            .stdout(full())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("panicked"), "{args:?}: {text}");
        if args != ["--help"] {
            assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
            assert!(text.contains("could not be written: the disk is full"), "{args:?}: {text}");
        }
    }
    let mut child =
        binary().args(["config", "reference"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    assert_eq!(text, "", "whoever has read enough is no error");
}

#[test]
fn times_are_those_of_the_owners_clock() {
    let silas = Silas::start();
    silas.line().ask("add task water the plants");
    let hour = |zone: &str| -> i64 {
        let (code, text) = silas.command_with(&["activity"], &[("TZ", zone)], "");
        assert_eq!(code, 0, "{text}");
        let row = text.lines().find(|line| line.contains("Added a task")).unwrap_or_else(|| panic!("{text}"));
        // Its number, the day, and then the time.
        let time = row.split_whitespace().nth(2).unwrap_or_default();
        time.get(..2).and_then(|hour| hour.parse().ok()).unwrap_or_else(|| panic!("{row}"))
    };
    assert_eq!((hour("JST-9") - hour("UTC0")).rem_euclid(24), 9);
    let (_, text) = silas.command_with(&["activity", "--json"], &[("TZ", "JST-9")], "");
    let activity: Value = serde_json::from_str(&text).unwrap();
    assert!(activity["rows"][0]["at"].as_str().unwrap().ends_with('Z'), "{text}");
}

#[test]
fn the_server_is_ended_by_a_command_and_the_others_say_so() {
    let mut silas = Silas::start();
    drop(silas.line());
    let backup = silas.outside().join("b");
    let (code, text) = silas.command(&["backup", backup.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    for args in [&["key", "rotate", "vault"][..], &["restore", backup.to_str().unwrap(), "--replace"]] {
        let (code, text) = silas.command(args);
        assert!(code == 1 && text.contains("`silas stop --server`") && text.contains("systemctl"), "{args:?}: {text}");
    }
    let (code, text) = silas.command(&["stop"]);
    assert!(code == 0 && text.contains("`silas stop --server` ends it"), "{text}");
    assert!(silas.is_running());
    let (code, text) = silas.command(&["stop", "--server"]);
    assert!(code == 0 && text.contains("Silas has ended."), "{text}");
    silas.await_death();
    assert_eq!(silas.command(&["stop", "--server"]).0, 3);
    let elsewhere = silas.outside().join("elsewhere");
    let output = binary().arg("restore").arg(&backup).arg("--data-dir").arg(&elsewhere).output().unwrap();
    let text = told(&output);
    assert!(text.contains(&format!("Start with `silas --data-dir {}`.", elsewhere.display())), "{text}");
}

/// Starts it as a person would, on data that is not whole: it must end by itself.
fn start(silas: &Silas) -> Output {
    Command::new(env!("CARGO_BIN_EXE_silas"))
        .args(["start", "--port", "0", "--data-dir"])
        .arg(silas.data())
        .env("SILAS__KEYS__KEYRING", "false")
        .env("XDG_STATE_HOME", silas.outside().join("state"))
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .current_dir("/")
        .output()
        .unwrap()
}

#[test]
fn data_that_is_not_whole_is_named_before_the_greeting() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    assert_eq!(silas.command(&["status"]).0, 0);
    silas.terminate();
    let store = silas.data().join("store");
    let agent = fs::read(store.join("agent.sqlite")).unwrap();
    fs::write(store.join("agent.sqlite"), "not a database, but as long as one would be at least\n").unwrap();
    let output = start(&silas);
    let text = told(&output);
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{text}");
    assert!(text.contains("is damaged") && text.contains("silas restore FILE --replace"), "{text}");
    assert_eq!(text.trim().lines().count(), 1, "{text}");

    for name in ["agent.sqlite", "agent.sqlite-wal", "agent.sqlite-shm", "db.sqlite", "db.sqlite-wal", "db.sqlite-shm"]
    {
        let _none = fs::remove_file(store.join(name));
    }
    let output = start(&silas);
    let text = told(&output);
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{text}");
    assert!(text.contains("The databases are missing") && text.contains("its ledger had"), "{text}");
    assert!(!store.join("agent.sqlite").exists(), "nothing was begun anew");
    drop(agent);
}

#[test]
fn a_task_is_named_and_the_work_has_a_place() {
    let silas = Silas::start();
    silas.command(&["task", "add", "water the plants"]);
    assert_eq!(silas.command(&["task", "done", &silas.called("task")[0]]).0, 0);
    let entries = silas.line().snapshot["entries"].to_string();
    assert!(entries.contains("done with `water the plants`"), "{entries}");
    for _ in 0..2 {
        silas.command(&["task", "add", "twice"]);
    }
    let twice = silas.called("task");
    assert_eq!(silas.command(&["task", "done", &twice[1]]).0, 0, "two are called the same, and one is meant");
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let (_, text) = silas.command(&["work", "list"]);
    assert!(text.contains("repo"), "{text}");
    let (_, text) = silas.command(&["status"]);
    assert!(text.contains("1 grant, ") && !text.contains("1 grants"), "{text}");
}
