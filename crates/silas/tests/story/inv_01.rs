//! INV-01: nothing executes without a verified approval. Every road we know to break it, and the refusal it meets.
//!
//! The same roads inside the engine are in `silas-approval/tests/it/roads.rs`, those past it in
//! `silas-sandbox/tests/it/evidence.rs`.

use crate::harness::{Device, Silas};
use crate::rotation;
use silas_core::card::CardKind;
use silas_core::token::{Token, Verdict};

/// Walks to the plan card and hands in what `forge` makes of it. Nothing may run.
#[track_caller]
fn refused(forge: impl FnOnce(&silas_core::token::Offer, Token, &Device) -> Token, expect: &str) {
    let silas = Silas::start();
    let original = silas.tree();
    let stranger = Device::new();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    let honest = line.token(&card, Verdict::Approved).unwrap();
    let forged = forge(card.offer.as_ref().unwrap(), honest, &stranger);
    let (recorded, message) = line.submit(&card, &forged).unwrap();
    assert!(!recorded && message.contains(expect), "{message}");
    assert_eq!(silas.tree(), original);
    assert!(line.work.is_empty());
    let told = line.ask("what did you do?");
    assert!(told.contains("Refused a decision"), "{told}");
    // The card still waits for an honest answer.
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
}

#[test]
fn a_key_that_nobody_paired() {
    refused(|offer, _, stranger| stranger.answer(offer, Verdict::Approved), "not paired");
}

#[test]
fn a_signature_under_anothers_name() {
    refused(
        |_, honest, stranger| {
            let message = honest.body.message().unwrap();
            let signature =
                silas_core::signature::Signature { key: honest.signature.key.clone(), ..stranger.sign(&message) };
            Token { signature, ..honest }
        },
        "signature does not fit",
    );
}

#[test]
fn a_declined_decision_with_the_verdict_turned() {
    refused(
        |_, honest, _| {
            let mut turned = honest;
            turned.body.verdict = Verdict::Conditional;
            turned
        },
        "signature does not fit",
    );
}

#[test]
fn a_message_cannot_approve() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    for text in ["approve", "yes, do it", "I approve the plan", "approved: true"] {
        let reply = line.ask(text);
        assert!(reply.contains("needs a model"), "{reply}");
    }
    assert_eq!(silas.tree(), original);
    assert!(line.work.is_empty());
}

#[test]
fn an_unsigned_or_replayed_message_makes_no_plan() {
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    let message = device.message(&silas.wish(), &line.installation());
    let send = |line: &mut crate::harness::Line, message: &silas_core::message::SignedMessage| {
        line.send(&serde_json::json!({ "type": "message", "message": message })).unwrap();
        line.reply_to(&message.body.text)
    };
    let mut altered = message.clone();
    altered.body.text = altered.body.text.replace("fix.sh", "evil.sh");
    assert!(send(&mut line, &altered).contains("not freshly signed"));
    assert!(line.cards.is_empty());
    assert!(send(&mut line, &message).contains("may plans work in"));
    let n_cards = line.cards.len();
    assert!(send(&mut line, &message).contains("not freshly signed"), "a replay");
    assert_eq!(line.cards.len(), n_cards);
    let told = line.ask("what did you do?");
    assert!(told.contains("Refused a repeated message"), "{told}");
}

/// A database that says that work runs, with no approval behind it: a restart takes up nothing.
#[test]
fn an_execution_without_any_token() {
    let mut silas = Silas::start_asking();
    silas.pair();
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    drop(line);
    silas.terminate();
    let offer = card.offer.unwrap();
    let execution = "exec-00000000000000000000000000000000";
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.execute_batch("PRAGMA foreign_keys = 0").unwrap();
    db.execute(
        "INSERT INTO executions (id, token_id, work_item_id, plan_hash, state, use_number, started_at)
         VALUES (?1, ?2, ?3, ?4, 'running', 0, ?5)",
        rusqlite::params![
            execution,
            silas_core::TokenId::of(&offer.shown).as_str(),
            offer.work_item_id,
            offer.plan_hash.to_string(),
            crate::harness::now().micros()
        ],
    )
    .unwrap();
    crate::queue::leave_work_behind(&db, execution);
    drop(db);
    silas.up(&[]);
    let mut line = silas.line();
    line.ask("hello");
    assert!(line.work.is_empty());
    assert_eq!(silas.tree(), original);
    drop(line);
    silas.terminate();
    let (code, text) = silas.command(&["audit", "verify"]);
    assert!(code == 1 && text.contains("of which the ledger knows nothing"), "{text}");
}

/// The browser was lost. What it signed, before or after, runs nothing, and the card waits for somebody else.
#[test]
fn a_device_that_was_revoked() {
    let silas = Silas::start_asking();
    let lost = silas.pair();
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    assert_eq!(silas.command(&["device", "revoke", lost.id().as_str()]).0, 0);
    let token = lost.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    let (recorded, message) = line.submit(&card, &token).unwrap();
    assert!(!recorded && message.contains("was revoked"), "{message}");
    assert_eq!(silas.tree(), original);
    assert!(line.work.is_empty());
    let message = lost.message(&silas.wish(), &line.installation());
    line.send(&serde_json::json!({ "type": "message", "message": message })).unwrap();
    assert!(line.reply_to(&message.body.text).contains("not freshly signed"));
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
}

/// The root key vouches for the server key, for the ledger only. Whoever takes over the front has that key, its certificate
/// and the database; what they make of the three is no device, and what it signs is no decision.
#[test]
fn the_servers_certificate_passed_off_as_a_devices() {
    let mut silas = Silas::start_asking();
    let original = silas.tree();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    drop(line);
    silas.terminate();
    let read = |name: &str| std::fs::read(silas.data().join("store").join(name)).unwrap();
    let server = Device::from_seed(read("server.key")[8..].try_into().unwrap());
    let vouched: serde_json::Value = serde_json::from_slice(&read("server.cert")).unwrap();
    assert_eq!(vouched["body"]["key"], server.id().as_str());
    let dressed = serde_json::json!({
        "body": {
            "v": 1, "kind": "browser", "installation": vouched["body"]["installation"], "name": "My phone",
            "key": server.id(), "public": server.public(), "issued_at": vouched["body"]["issued_at"],
        },
        "signature": vouched["signature"],
    });
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.execute(
        "INSERT INTO devices (key_id, kind, name, issued_at, certificate) VALUES (?1, 'browser', 'My phone', 0, ?2)",
        rusqlite::params![server.id().as_str(), dressed.to_string()],
    )
    .unwrap();
    drop(db);
    silas.up(&[]);
    let mut line = silas.line();
    let card = line.card(CardKind::Plan).unwrap();
    let token = server.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    let (recorded, message) = line.submit(&card, &token).unwrap();
    assert!(!recorded && message.contains("not signed by this installation's root key"), "{message}");
    assert!(line.work.is_empty());
    assert_eq!(silas.tree(), original);
}

/// The root key handed over; a device that the old one certifies afterwards is nobody's, however it is dated.
#[test]
fn a_device_certified_by_the_root_key_of_before() {
    let mut silas = Silas::start_asking();
    silas.line();
    silas.terminate();
    let old = rotation::seed(&silas.data().join("keys/root.key"));
    silas.rotate("root");
    let stranger = Device::new();
    rotation::put_device(&silas, &rotation::forged_certificate(&silas, &old, &stranger));
    silas.up(&[]);
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    let forged = stranger.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    let (recorded, said) = line.submit(&card, &forged).unwrap();
    assert!(!recorded && said.contains("not signed by this installation's root key"), "{said}");
    assert_eq!(silas.tree(), original);
    let devices = silas.line().snapshot["devices"].to_string();
    assert!(!devices.contains(stranger.id().as_str()), "{devices}");
    // The card still waits for an honest answer.
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let (code, text) = silas.command(&["audit", "verify"]);
    assert!(code == 1 && text.contains(&format!("Device {} is kept otherwise", stranger.id())), "{text}");
}
