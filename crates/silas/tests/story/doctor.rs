//! `silas doctor` on an installation that is well, and on one that is not.

use crate::harness::Silas;
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

fn examined(silas: &Silas) -> (i32, Vec<Value>) {
    examined_with(silas, &[ANY_PORT])
}

/// So that a Silas of whoever runs this is not in the way.
const ANY_PORT: (&str, &str) = (PORT, "0");
const PORT: &str = "SILAS__CHANNELS__WEB__PORT";

fn examined_with(silas: &Silas, env: &[(&str, &str)]) -> (i32, Vec<Value>) {
    let (code, text) = silas.command_with(&["doctor", "--json"], env, "");
    (code, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

fn found<'a>(probes: &'a [Value], name: &str) -> (&'a str, &'a str) {
    let probe = probes.iter().find(|probe| probe["name"] == name).unwrap_or_else(|| panic!("{name}: {probes:#?}"));
    (probe["state"].as_str().unwrap(), probe["sentence"].as_str().unwrap())
}

#[test]
fn all_is_well_with_a_running_silas() {
    let silas = Silas::start();
    silas.line().ask("add task water the plants");
    let (code, probes) = examined(&silas);
    assert_eq!(code, 0, "{probes:#?}");
    for name in ["Sandbox", "Data directory", "Databases", "Ledger", "Changes under way", "Messages", "History", "Room"]
    {
        assert_eq!(found(&probes, name).0, "good", "{probes:#?}");
    }
    assert!(found(&probes, "Server").1.contains("may neither start programs"), "{probes:#?}");
    assert!(found(&probes, "Keys").1.contains("file permissions only"), "{probes:#?}");
    assert_eq!(found(&probes, "Models").1, "None is set up. Tasks, commands and checks work without one.");
    let (code, text) = silas.command_with(&["doctor"], &[ANY_PORT], "");
    assert!(code == 0 && text.contains("✓ Ledger") && text.contains("0 bad"), "{text}");
}

#[test]
fn what_is_not_well_is_named_with_what_to_do() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    silas.terminate();
    std::fs::set_permissions(silas.data().join("keys"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.execute_batch(
        "DROP TRIGGER ledger_is_not_edited; UPDATE ledger SET at = at + 1 WHERE seq = 2;
         INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, fence)
         VALUES ('msg-x', 'turns', 'owner', 'user_message', '{}', 'msg-x', 'dead', 5, 0, 0);",
    )
    .unwrap();
    let (code, probes) = examined(&silas);
    assert_eq!(code, 1);
    assert_eq!(found(&probes, "Data directory").0, "bad", "{probes:#?}");
    assert_eq!(found(&probes, "Ledger"), ("bad", "Entry 2 of the ledger was altered."), "{probes:#?}");
    assert_eq!(found(&probes, "Messages").0, "warning", "{probes:#?}");
    assert!(found(&probes, "Server").1.contains("does not run"), "{probes:#?}");
    assert!(probes.iter().all(|probe| probe["state"] == "good" || probe["fix"].is_string()), "{probes:#?}");
}

#[test]
fn before_the_first_start_there_is_nothing_to_be_ill() {
    let dir = tempfile::tempdir().unwrap();
    let output = crate::harness::binary()
        .args(["doctor", "--data-dir"])
        .arg(dir.path().join("none"))
        .current_dir("/")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Start Silas once"), "{text}");
    assert!(!dir.path().join("none").exists());
}

/// What a front that was taken over could still do is found out by trying, and named.
#[test]
fn what_the_front_could_still_reach_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let engine = dir.path().join("engine.sock");
    let _listener = UnixListener::bind(&engine).unwrap();
    let doctor = |docker: &str| -> Vec<Value> {
        let output = crate::harness::binary()
            .args(["doctor", "--json", "--data-dir"])
            .arg(dir.path().join("none"))
            .env_clear()
            .env("DOCKER_HOST", docker)
            .env("HOME", dir.path())
            .current_dir("/")
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let probes = doctor(&format!("unix://{}", engine.display()));
    let (state, sentence) = found(&probes, "Front: sockets");
    assert_eq!(state, "warning");
    assert!(
        sentence.contains("Docker engine, which makes anybody root") && sentence.contains("engine.sock"),
        "{sentence}"
    );
    let (state, sentence) = found(&probes, "Front: programs");
    assert!(state == "good" && sentence.contains("cannot start any"), "{sentence}");
    let (state, sentence) = found(&probes, "Front: files");
    assert!(state == "good" && sentence.contains("/etc, /usr") && sentence.contains("closed to it"), "{sentence}");
    assert!(found(&probes, "Limits").1.contains("memory is limited"), "{probes:#?}");
    assert!(found(&probes, "Tools").1.contains("none were found in your home"), "{probes:#?}");
    // Without anybody listening there is nothing to reach.
    let probes = doctor(&format!("unix://{}", dir.path().join("nobody.sock").display()));
    assert!(!found(&probes, "Front: sockets").1.contains("nobody.sock"), "{probes:#?}");
}

#[test]
fn fix_mends_what_it_can_and_says_so() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    silas.terminate();
    std::fs::set_permissions(silas.data().join("keys"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mending = || silas.command_with(&["doctor", "--fix"], &[ANY_PORT], "");
    let (code, text) = mending();
    assert!(code == 0 && text.contains("Closing") && text.contains("keys to others"), "{text}");
    assert_eq!(std::fs::metadata(silas.data().join("keys")).unwrap().permissions().mode() & 0o777, 0o700);
    let (code, text) = mending();
    assert!(code == 0 && text.contains("nothing that `--fix` could mend"), "{text}");
}

/// Silas has its port, somebody else has it while Silas is elsewhere, and somebody else has it and Silas is not there.
#[test]
fn who_holds_the_port_of_the_page_is_told() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    let port = silas.port().to_string();
    let (code, probes) = examined_with(&silas, &[(PORT, &port)]);
    assert_eq!((code, found(&probes, "Page").0), (0, "good"), "{probes:#?}");
    assert!(found(&probes, "Page").1.ends_with(&format!(":{port}.")), "{probes:#?}");

    // Of those that the kernel gives to nobody who asks for any, so that no other story has it when it is free.
    let foreign = (21_000..32_000).find_map(|port| std::net::TcpListener::bind(("127.0.0.1", port)).ok()).unwrap();
    let held = foreign.local_addr().unwrap().port().to_string();
    let (code, probes) = examined_with(&silas, &[(PORT, &held)]);
    let (state, sentence) = found(&probes, "Page");
    assert_eq!((code, state), (0, "warning"), "{probes:#?}");
    assert!(sentence.contains(&format!("Port {held} of the configuration is held by another program")), "{sentence}");

    silas.terminate();
    let (code, probes) = examined_with(&silas, &[(PORT, &held)]);
    let (state, sentence) = found(&probes, "Page");
    assert_eq!((code, state), (1, "bad"), "{probes:#?}");
    assert!(sentence.contains(&format!("Port {held} is held by another program")), "{sentence}");
    drop(foreign);
    let (code, probes) = examined_with(&silas, &[(PORT, &held)]);
    assert_eq!((code, found(&probes, "Page").0), (0, "good"), "{probes:#?}");
}

/// A model that could be asked, and each thing that keeps it from being asked, with and without a server beside.
#[test]
fn what_keeps_a_model_from_being_asked_is_told() {
    const KEY: (&str, &str) = ("STORY_DOCTOR_KEY", "sk-story");
    let ready = Act::Says(r#"{"word":"ready"}"#.to_owned());
    let server = Server::start(Script::new(Dialect::OpenAi, [ready])).unwrap();
    let model = format!("compatible:test@{}", server.url());
    let mut silas = Silas::start_with(&[KEY]);
    let add = ["model", "add", model.as_str(), "--key-env", KEY.0, "--price", "1/5", "--yes"];
    let (code, text) = silas.command(&add);
    assert_eq!(code, 0, "{text}");
    // The variable is the server's and not this command's, and the server is asked.
    let (code, probes) = examined(&silas);
    let (state, sentence) = found(&probes, "Models");
    assert!(code == 0 && state == "good" && sentence.contains("test on this machine"), "{probes:#?}");

    silas.terminate();
    let (code, probes) = examined(&silas);
    let (state, sentence) = found(&probes, "Models");
    assert_eq!((code, state), (0, "warning"), "{probes:#?}");
    assert!(sentence.contains(&format!("the variable {} of the server", KEY.0)), "{sentence}");
    let (_, probes) = examined_with(&silas, &[ANY_PORT, KEY]);
    assert_eq!(found(&probes, "Models").0, "good", "{probes:#?}");
    let (_, probes) = examined_with(&silas, &[ANY_PORT, KEY, ("SILAS__MODELS__DAILY_CAP_CENTS", "0")]);
    assert!(found(&probes, "Models").1.starts_with("Today's cap for models is reached: "), "{probes:#?}");

    silas.up(&[]);
    server.now_says([Act::Status(401, Vec::new(), String::new())]);
    let (code, _) = silas.command(&["model", "check"]);
    assert_eq!(code, 1);
    let (_, probes) = examined(&silas);
    let (state, sentence) = found(&probes, "Models");
    assert!(state == "warning" && sentence.starts_with("The last question to test on this machine"), "{probes:#?}");
}
