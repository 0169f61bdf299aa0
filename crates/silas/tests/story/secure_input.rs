//! A secret that a card asks for: given over HTTP by a paired device, in a chat or by a command; once, in time, and found
//! nowhere but in the vault. And a model that is set up that way.

use crate::harness::{Device, Line, Silas, now};
use crate::http;
use crate::secrets::{assert_no_process_shows, finds, search_files, spelled};
use crate::typist::at_terminal;
use crate::vault::CANARY;
use base64::Engine as _;
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::input::{Input, KeyState, WantedBy};
use silas_core::secret::{Secret, SecretRef};
use silas_core::{Digest, Nonce};
use std::io::Write;
use std::process::{Command, Stdio};

const PATH: &str = "/secrets/mail";

pub(crate) fn body(value: &str) -> String {
    json!({ "value": value }).to_string()
}

/// The header of a request that hands in exactly this.
pub(crate) fn header(silas: &Silas, device: &Device, path: &str, body: &str) -> String {
    let (nonce, key, at) = (Nonce::new(&crate::harness::OsRandom), device.id(), now());
    let proof = json!({
        "kind": "write", "method": "POST", "path": path, "body": Digest::of(body.as_bytes()),
        "installation": silas.line().installation(), "key": key, "timestamp": at, "nonce": nonce,
    });
    let signature = device.sign(&silas_core::canonical::text(&proof).unwrap());
    let credentials = json!({ "key": key, "timestamp": at, "nonce": nonce, "signature": signature }).to_string();
    format!("Silas {}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(credentials))
}

fn send(port: u16, host: &str, origin: &str, path: &str, authorization: &str, body: &str) -> (u16, Value) {
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nAuthorization: {authorization}\r\nConnection: \
         close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, answer) = http::raw(port, &request);
    (status, serde_json::from_str(&answer).unwrap_or(Value::Null))
}

fn give(silas: &Silas, device: &Device, path: &str, body: &str) -> (u16, Value) {
    let port = silas.port();
    let (host, origin) = (format!("localhost:{port}"), format!("http://localhost:{port}"));
    send(port, &host, &origin, path, &header(silas, device, path, body), body)
}

/// Submits the plan that uses `mail` and allows its directory; the vault does not have the secret.
pub(crate) fn asked(silas: &Silas, line: &mut Line) -> Card {
    let file = silas.write_secret_plan();
    let (code, text) = silas.command(&["plan", "submit", &file]);
    assert_eq!(code, 0, "{text}");
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::SecureInput).unwrap()
}

#[test]
fn a_plan_asks_for_the_secret_that_it_lacks_and_goes_on_when_it_is_given() {
    let mut silas = Silas::start_with_log(&[]);
    let device = silas.pair();
    let mut line = silas.line();
    assert_eq!(give(&silas, &device, PATH, &body(CANARY)).0, 404, "nobody asked yet");
    let card = asked(&silas, &mut line);
    assert_eq!((card.face.risk, card.offer.is_none(), card.payload.is_none()), (None, true, true));
    let Some(Input::Secret(wanted)) = &card.input else { panic!("{card:?}") };
    assert!(wanted.ref_id.as_str() == "mail" && matches!(&wanted.wanted_by, WantedBy::Plan { .. }), "{wanted:?}");
    assert!(!line.cards.iter().any(|card| card.face.kind == CardKind::Plan), "the plan waits for it");
    // The same wish again asks nothing new; both wait for the one answer.
    silas.command(&["plan", "submit", &silas.write_secret_plan()]);
    line.ask("tasks");
    assert_eq!(line.cards.iter().filter(|card| card.face.kind == CardKind::SecureInput).count(), 1);

    let port = silas.port();
    let (host, origin, good) = (format!("localhost:{port}"), format!("http://localhost:{port}"), body(CANARY));
    let sign = |body: &str| header(&silas, &device, PATH, body);
    let post = |host: &str, origin: &str, header: &str| send(port, host, origin, PATH, header, &good);
    assert_eq!(post(&host, "http://localhost:1", &sign(&good)).0, 403, "a page from elsewhere");
    assert_eq!(post("rebound.example", &origin, &sign(&good)).0, 421, "another name");
    assert_eq!(post(&host, &origin, "").0, 401, "no signature");
    assert_eq!(post(&host, &origin, &header(&silas, &Device::new(), PATH, &good)).0, 401, "a stranger");
    assert_eq!(post(&host, &origin, &sign(&body("other"))).0, 401, "a signature for another body");
    assert_eq!(post(&host, &origin, &header(&silas, &device, "/secrets/post", &good)).0, 401, "for another path");
    for (bad, status) in [
        ("{}".to_owned(), 400),
        ("canary".to_owned(), 400),
        (format!(r#"{{"value":["{CANARY}"]}}"#), 400),
        (format!(r#"{{"value":"{CANARY}","more":1}}"#), 400),
        (body(""), 413),
        (body(&"x".repeat(70_000)), 413),
        (body(&"x".repeat(200_000)), 413),
    ] {
        let (got, said) = give(&silas, &device, PATH, &bad);
        assert_eq!(got, status, "{said}");
        assert!(!said.to_string().contains("canary"), "an error quotes nothing: {said}");
    }
    assert_eq!(give(&silas, &device, "/secrets/post", &good).0, 404, "nobody asked for that one");
    assert_eq!(give(&silas, &device, "/secrets/..%2Fmail", &good).0, 404, "no name at all");
    let (_, listed) = silas.command(&["secret", "list"]);
    assert!(listed.contains("There are no secrets"), "{listed}");

    let once = sign(&good);
    assert_eq!(post(&host, &origin, &once), (200, json!({ "stored": true })));
    assert_eq!(post(&host, &origin, &once).0, 401, "the same request again");
    let (status, said) = give(&silas, &device, PATH, &body("second"));
    assert_eq!((status, &said["code"]), (409, &json!("E_VAULT_GIVEN")));
    let plan = line.approve(CardKind::Plan).unwrap();
    assert!(plan.face.details.iter().any(|detail| detail.lines.iter().any(|line| line.contains("mail"))));
    assert_eq!(line.ended().unwrap()["outcome"], "proved", "the first value is the one that is used");

    let (_, told) = silas.command(&["activity"]);
    for sentence in ["Asked for the secret mail", "Keeps the secret mail", "Used the secret mail"] {
        assert!(told.contains(sentence), "{told}");
    }
    silas.assert_ledger_holds();
    nowhere_but_in_the_vault(&mut silas, line, CANARY);
}

/// Looks for a value in every file, in the arguments and variables of every process, and in what the doors show.
fn nowhere_but_in_the_vault(silas: &mut Silas, line: Line, value: &str) {
    let canary = [spelled("the secret", value.as_bytes().to_vec())];
    assert_no_process_shows(silas, &canary[0]);
    let export = silas.outside().join("export");
    assert_eq!(silas.command(&["audit", "export", "--with-texts", export.to_str().unwrap()]).0, 0);
    for shown in [silas.line().snapshot.to_string(), silas.command(&["audit", "list"]).1] {
        assert!(!finds(shown.as_bytes(), &canary[0]), "{shown}");
    }
    // With the write-ahead log as it is while Silas runs, and again after it has ended.
    let mut n_files = 0;
    search_files(&silas.data().join("store"), &silas.data().join("keys"), &canary, &mut n_files);
    drop(line);
    silas.terminate();
    search_files(&silas.outside(), &silas.data().join("keys"), &canary, &mut n_files);
    assert!(n_files > 12, "{n_files}");
}

#[test]
fn guessing_names_is_slowed_down_and_learns_nothing() {
    let silas = Silas::start();
    let device = silas.pair();
    let statuses: Vec<u16> =
        (0..40).map(|n| give(&silas, &device, &format!("/secrets/guess-{n}"), &body("x")).0).collect();
    assert!(statuses.iter().all(|status| [404, 429].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&404) && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn it_expires_is_asked_again_and_can_be_skipped() {
    let silas = Silas::start_with(&[("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "6")]);
    let device = silas.pair();
    let mut line = silas.line();
    let card = asked(&silas, &mut line);
    let is_parked = |line: &Line| line.cards.iter().any(|c| c.id == card.id && c.state == CardState::Parked);
    line.wait(is_parked).unwrap();
    let (status, said) = give(&silas, &device, PATH, &body(CANARY));
    assert_eq!((status, &said["code"]), (410, &json!("E_VAULT_LATE")), "{said}");
    line.send(&json!({ "type": "renew", "request_id": card.id })).unwrap();
    let again = line.card(CardKind::SecureInput).unwrap();
    assert!(again.id == card.id && again.expires_at() > card.expires_at());
    line.send(&json!({ "type": "dismiss", "request_id": card.id })).unwrap();
    assert_eq!(line.wait_for("decided").unwrap()["recorded"], true);
    assert_eq!(give(&silas, &device, PATH, &body(CANARY)).0, 404, "it is not asked for any more");
    line.send(&json!({ "type": "dismiss", "request_id": card.id })).unwrap();
    assert_eq!(line.wait_for("decided").unwrap()["recorded"], false, "put away once");
    // What waited for it went with it.
    silas.set_secret("mail", CANARY);
    line.ask("tasks");
    assert!(!line.cards.iter().any(|card| card.face.kind == CardKind::Plan));
    silas.assert_ledger_holds();
}

#[test]
fn a_locked_vault_is_said_and_the_card_stays() {
    let passphrase = "a long passphrase for tests";
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    asked(&silas, &mut line);
    let twice = format!("{passphrase}\n{passphrase}\n");
    let (code, text) = silas.command_with(&["key", "passphrase"], &[], &twice);
    assert_eq!(code, 0, "{text}");
    let (code, text) = silas.command(&["lock"]);
    assert_eq!(code, 0, "{text}");
    let (status, said) = give(&silas, &device, PATH, &body(CANARY));
    assert_eq!((status, &said["code"]), (423, &json!("E_VAULT_LOCKED")), "{said}");
    assert!(said["todo"].as_str().unwrap().contains("silas unlock"));
    let (code, text) = silas.command_with(&["unlock"], &[], &format!("{passphrase}\n"));
    assert_eq!(code, 0, "{text}");
    assert_eq!(give(&silas, &device, PATH, &body(CANARY)).0, 200);
    line.card(CardKind::Plan).unwrap();
}

/// Silas ends between the vault's record and the ledger's: after the start the vault's record counts.
#[test]
fn what_the_vault_has_is_an_answer_after_a_crash_too() {
    let mut silas = Silas::start();
    let mut line = silas.line();
    asked(&silas, &mut line);
    silas.kill();
    let vault = silas_approval::Vault::open(&silas.data().join("store/vault"), || None).unwrap();
    vault.put(&SecretRef::parse("mail").unwrap(), &Secret::new(CANARY.as_bytes().to_vec()), now()).unwrap();
    drop(vault);
    silas.up(&[]);
    let mut line = silas.line();
    line.approve(CardKind::Plan).unwrap();
    assert!(!line.cards.iter().any(|card| card.face.kind == CardKind::SecureInput));
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    silas.assert_ledger_holds();
}

#[test]
fn a_command_of_the_terminal_answers_it_too() {
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    asked(&silas, &mut line);
    let (code, text) = silas.command(&["approve"]);
    assert!(code != 0 && text.contains("Nothing waits for a decision"), "{text}");
    let (_, shown) = silas.command(&["show", "1"]);
    assert!(shown.contains("silas secret set mail"), "{shown}");
    silas.set_secret("mail", CANARY);
    line.card(CardKind::Plan).unwrap();
    assert_eq!(give(&silas, &device, PATH, &body("late")).0, 409);
}

#[test]
fn a_chat_asks_for_it_unseen() {
    let silas = Silas::start();
    let mut line = silas.line();
    asked(&silas, &mut line);
    // Through a pipe: the choice, the value, and the plan that comes then.
    let mut child = Command::new(env!("CARGO_BIN_EXE_silas"))
        .arg("--data-dir")
        .arg(silas.data())
        .arg("chat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let talk = format!("1\n{CANARY}\n1\ndo\n");
    child.stdin.take().unwrap().write_all(talk.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Paste the secret mail") && text.contains("mail is in the vault"), "{text}");
    assert!(text.contains("Proved: red before, green after") && !text.contains("canary"), "{text}");
    silas.assert_ledger_holds();
}

/// What the terminal shows must not have the value in it.
#[test]
fn a_terminal_shows_nothing_of_it() {
    let silas = Silas::start();
    let mut line = silas.line();
    asked(&silas, &mut line);
    let typed = format!("{CANARY}\n");
    let steps = [("Skip for now", "1\n"), ("unseen: ", typed.as_str()), ("is in the vault", "/quit\n")];
    let (code, shown) = at_terminal(&silas, &["chat"], &steps);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("mail is in the vault") && !shown.contains("canary"), "{shown}");
    line.card(CardKind::Plan).unwrap();
}

const KEY: &str = "sk-canary-5d0e77c1aa";

fn model_server(key: &str) -> Server {
    let direct = json!({
        "route": "direct", "reason": "words", "interaction_register": "status", "interaction_mode": "default_and_offer",
        "context_profile": "conversation", "continuation_of": null, "response": { "message": "Paris." },
    });
    let acts = vec![Act::Says(r#"{"word":"ready"}"#.to_owned()), Act::Says(direct.to_string())];
    Server::start(Script { key: Some(key.to_owned()), ..Script::new(Dialect::OpenAi, acts) }).unwrap()
}

fn choose(line: &mut Line, card: &Card, model: &str, key: &str) -> (bool, String) {
    line.send(&json!({ "type": "model_choose", "request_id": card.id, "model": model, "key": key })).unwrap();
    let answer = line.wait_for("decided").unwrap();
    (answer["recorded"] == true, answer["message"].as_str().unwrap().to_owned())
}

#[test]
fn a_model_is_added_by_cards_alone_and_answers_without_a_restart() {
    let server = model_server(KEY);
    let mut silas = Silas::start_with_log(&[]);
    let device = silas.pair();
    let mut line = silas.line();
    let without = line.ask("what is the capital of France");
    assert_eq!(line.snapshot["no_model"], without.as_str(), "the page can tell this answer from others");
    let said = line.ask("add a model");
    assert!(said.contains("Choose one in Review"), "{said}");
    let card = line.card(CardKind::ModelChoice).unwrap();
    line.ask("Add a model!");
    assert_eq!(line.cards.iter().filter(|card| card.face.kind == CardKind::ModelChoice).count(), 1);
    let Some(Input::Model(choice)) = &card.input else { panic!("{card:?}") };
    let stands: Vec<(&str, KeyState)> = choice.choices.iter().map(|it| (it.title.as_str(), it.key)).collect();
    assert_eq!(stands.len(), 5);
    assert!(stands.contains(&("Ollama", KeyState::None)) && stands.contains(&("OpenRouter", KeyState::Needed)));

    for bad in ["compatible:test", "nobody:x", "compatible:test@http://far.example/v1", ""] {
        let (recorded, message) = choose(&mut line, &card, bad, "new");
        assert!(!recorded && message.contains("Change it and try again"), "{bad}: {message}");
    }
    let model = format!("compatible:test@{}", server.url());
    let (recorded, message) = choose(&mut line, &card, &model, "new");
    assert!(recorded, "{message}");
    assert!(!choose(&mut line, &card, &model, "new").0, "answered once");
    let asked = line.card(CardKind::SecureInput).unwrap();
    let name = asked.input.as_ref().and_then(Input::secret).unwrap().ref_id.clone();
    assert!(asked.face.intent.contains("127.0.0.1") && name.as_str().starts_with("compatible:127.0.0.1"));
    assert_eq!(give(&silas, &device, &format!("/secrets/{name}"), &body(KEY)).0, 200);

    let consent = line.card(CardKind::Model).unwrap();
    assert!(server.asked().is_empty(), "nothing is sent before the owner agreed");
    assert_eq!(consent.face.ctas[0].label, "Agree, make 1 test call");
    assert!(consent.test_call && consent.payload.as_ref().unwrap().contains(name.as_str()));
    let signed: Value = serde_json::from_str(consent.payload.as_deref().unwrap()).unwrap();
    assert_eq!(signed["listener"], "yours", "who answers is looked for, also after its key was given");
    line.approve(CardKind::Model).unwrap();
    let report = line.card(CardKind::Report).unwrap();
    assert!(report.face.intent == "The model answers", "{report:?}");
    assert!(report.face.rationale.starts_with("test on this machine answered in "), "{report:?}");
    let behind = report.face.details.iter().find(|detail| detail.title == "Answered").unwrap();
    assert_eq!(behind.lines[1], "Tested for answering");
    assert_eq!(server.asked().len(), 1);
    assert_eq!(line.ask("what is the capital of France"), "Paris.");
    assert_eq!((server.asked().len(), server.faults()), (2, vec![]));
    assert!(silas.line().snapshot["no_model"].is_null());
    silas.assert_ledger_holds();
    nowhere_but_in_the_vault(&mut silas, line, KEY);
}

#[test]
fn a_test_that_fails_is_told_in_words_and_a_lost_key_is_asked_for() {
    let server = model_server(KEY);
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    line.ask("add a model");
    let card = line.card(CardKind::ModelChoice).unwrap();
    let model = format!("compatible:test@{}", server.url());
    assert!(choose(&mut line, &card, &model, "kept").0, "a key that is not kept is asked for");
    let asked = line.card(CardKind::SecureInput).unwrap();
    let name = asked.input.as_ref().and_then(Input::secret).unwrap().ref_id.to_string();
    let path = format!("/secrets/{name}");
    assert_eq!(give(&silas, &device, &path, &body("not-the-key")).0, 200);
    line.approve(CardKind::Model).unwrap();
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "The model did not answer the test");
    assert!(!report.face.rationale.is_empty() && !report.face.rationale.contains("not-the-key"), "{report:?}");

    // A key that is gone is asked for when it is needed, and the message waits for it.
    assert_eq!(silas.command(&["secret", "rm", &name]).0, 0);
    let said = line.ask("what is the capital of France");
    assert!(said.contains("your message waits"), "{said}");
    line.card(CardKind::SecureInput).unwrap();
    server.now_says([Act::Says(
        json!({
            "route": "direct", "reason": "words", "interaction_register": "status",
            "interaction_mode": "default_and_offer", "context_profile": "conversation", "continuation_of": null,
            "response": { "message": "Paris." },
        })
        .to_string(),
    )]);
    assert_eq!(give(&silas, &device, &path, &body(KEY)).0, 200);
    let entry = loop {
        let message = line.wait_for("message").unwrap();
        if message["entry"]["sender"] == "silas" {
            break message["entry"]["text"].clone();
        }
    };
    assert_eq!(entry, "Paris.");
}
