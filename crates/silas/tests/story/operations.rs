//! What whoever runs Silas sees of it: a log for people or for programs, and a unit for systemd.

use crate::harness::{Line, Silas, binary};
use crate::typist::typing;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

fn log_of(format: &str) -> String {
    let mut silas = Silas::start_with_log(&[("SILAS__LOG__FORMAT", format)]);
    silas.line().ask("hello");
    silas.terminate();
    std::fs::read_to_string(silas.outside().join("log")).unwrap()
}

#[test]
fn the_log_is_for_people_or_for_programs() {
    let log = log_of("json");
    assert!(!log.is_empty());
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|cause| panic!("{cause}: {line}"));
        assert!(entry["timestamp"].is_string() && entry["level"].is_string() && entry["message"].is_string(), "{line}");
    }
    let log = log_of("text");
    let first = log.lines().next().unwrap();
    assert!(first.contains("INFO") && serde_json::from_str::<Value>(first).is_err(), "{first}");
}

/// Whoever started it looks on while somebody else ends it.
#[test]
fn a_person_at_a_terminal_sees_the_greeting_and_no_log() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().canonicalize().unwrap().join("data");
    let (code, shown) = std::thread::scope(|scope| {
        let start = scope.spawn(|| typing(&data, &["start", "--port", "0"], &[("Stop with Ctrl-C", "")]));
        // The greeting comes before the doors open.
        while Line::open(&data).is_err() {
            assert!(!start.is_finished(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(10));
        }
        let stop = binary().arg("--data-dir").arg(&data).args(["stop", "--server"]).current_dir("/").output().unwrap();
        assert!(stop.status.success(), "{stop:?}");
        start.join().unwrap()
    });
    assert!(code == 0 && shown.contains("/#pair="), "{code}: {shown}");
    assert!(!shown.contains("INFO"), "{shown}");
}

#[test]
fn the_unit_is_installed_once_and_not_over_another() {
    let dir = tempfile::tempdir().unwrap();
    let service = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_silas"))
            .arg("service")
            .args(args)
            .env("XDG_CONFIG_HOME", dir.path())
            .current_dir("/")
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (good, unit) = service(&["print"]);
    assert!(good && unit.contains(&format!("ExecStart=\"{}\" start", env!("CARGO_BIN_EXE_silas"))), "{unit}");
    let (good, text) = service(&["install"]);
    assert!(good && text.contains("systemctl --user enable --now silas"), "{text}");
    let path = dir.path().join("systemd/user/silas.service");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), unit);
    assert!(service(&["install"]).0, "twice is the same");
    std::fs::write(&path, "# mine\n").unwrap();
    let (good, text) = service(&["install"]);
    assert!(!good && text.contains("--replace"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine\n");
    assert!(service(&["install", "--replace"]).0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), unit);
}
