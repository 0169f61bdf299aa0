//! INV-02: an approval fits one content, one card text, one installation, and is used once.
//!
//! Roads that need a clock or the engine's inside are in `silas-approval/tests/it/roads.rs` (expired, clock set back,
//! restored, second installation) and `mutations.rs` (every bit of what was shown); those that go past the engine, straight
//! to the launcher, in `silas-sandbox/tests/it/evidence.rs`; a restored backup in `backup.rs`.

use crate::harness::{ASKING, Line, Silas};
use crate::rotation;
use serde_json::Value;
use silas_core::card::{Card, CardKind};
use silas_core::checkpoint::Statement;
use silas_core::token::{Offer, Token, Verdict};
use std::fs;

fn at_the_plan(silas: &Silas) -> (Line, Card) {
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    (line, card)
}

#[test]
fn an_offer_that_was_changed_before_it_was_signed() {
    type Change = fn(&mut Offer);
    let changes: [(&str, Change); 6] = [
        ("plan_hash", |offer| offer.plan_hash = silas_core::Digest::of(b"another plan")),
        ("shown", |offer| offer.shown = silas_core::Digest::of(b"another text")),
        ("expires_at", |offer| offer.expires_at = offer.expires_at.plus(std::time::Duration::from_secs(86_400))),
        ("max_executions", |offer| offer.max_executions = 2),
        ("epoch", |offer| offer.epoch += 1),
        ("work_item_id", |offer| offer.work_item_id.push('x')),
    ];
    let silas = Silas::start_asking();
    let device = silas.pair();
    let (mut line, card) = at_the_plan(&silas);
    let original = silas.tree();
    for (what, change) in changes {
        let mut offer = card.offer.clone().unwrap();
        change(&mut offer);
        let (recorded, message) = line.submit(&card, &device.answer(&offer, Verdict::Approved)).unwrap();
        assert!(!recorded && message.contains("not about this card"), "{what}: {message}");
    }
    assert_eq!(silas.tree(), original);
}

#[test]
fn a_decision_is_used_once() {
    let silas = Silas::start_asking();
    let (mut line, card) = at_the_plan(&silas);
    let token = line.token(&card, Verdict::Approved).unwrap();
    assert!(line.submit(&card, &token).unwrap().0);
    line.ended().unwrap();
    let applied = silas.tree();
    for _ in 0..3 {
        assert!(!line.submit(&card, &token).unwrap().0);
    }
    assert_eq!(silas.tree(), applied);
    assert_eq!(line.work.len(), 1);
}

#[test]
fn a_decision_about_one_card_does_not_answer_another() {
    let silas = Silas::start_asking();
    let (mut line, first) = at_the_plan(&silas);
    let token = line.token(&first, Verdict::Approved).unwrap();
    assert!(line.decide(&first, Verdict::Declined).unwrap().0);
    line.wait(|line| line.cards.is_empty()).unwrap();
    line.say(&silas.wish()).unwrap();
    let second = line.card(CardKind::Plan).unwrap();
    assert_ne!(first.id, second.id);
    let (recorded, message) = line.submit(&second, &token).unwrap();
    assert!(!recorded && message.contains("not about this card"), "{message}");
    assert!(line.work.is_empty());
}

#[test]
fn a_decision_of_another_installation() {
    let (ours, theirs) = (Silas::start_asking(), Silas::start_asking());
    let (mut line, card) = at_the_plan(&ours);
    let their_line = theirs.line();
    let foreign: Token = their_line.token(&card, Verdict::Approved).unwrap();
    let (recorded, message) = line.submit(&card, &foreign).unwrap();
    assert!(!recorded && message.contains("not paired"), "{message}");
}

/// The front is taken over: it writes into its own database whatever it likes. The launcher still asks for evidence.
#[test]
fn a_forged_database_runs_nothing() {
    let mut silas = Silas::start_asking();
    silas.pair();
    let (mut line, card) = at_the_plan(&silas);
    let original = silas.tree();
    let token = line.token(&card, Verdict::Declined).unwrap();
    assert!(line.submit(&card, &token).unwrap().0);
    drop(line);
    silas.terminate();
    // A declined decision becomes an approved one with a running execution and its message, as a restart would resume it.
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let mut forged = token.clone();
    forged.body.verdict = Verdict::Approved;
    let id = token.id().unwrap().to_string();
    let execution = silas_core::ExecutionId::derive(&token.id().unwrap(), 0).to_string();
    let work_item = &card.offer.as_ref().unwrap().work_item_id;
    db.execute(
        "UPDATE tokens SET verdict = 'approved', token = ?2, executions_used = 1 WHERE token_id = ?1",
        rusqlite::params![id, serde_json::to_string(&forged).unwrap()],
    )
    .unwrap();
    let record = serde_json::json!({
        "view": { "execution": execution, "work_item": work_item, "title": "forged", "place": "", "steps": [], "running": true,
                  "started_at": crate::harness::now(), "footer": "", "outcome": null, "has_proof": false },
        "labels": [], "asked": "", "directory": silas.repo(), "n_checks": 1, "before": [], "after": [], "outputs": [], "diffs": [],
        "changeset": null, "took_ms": 0, "first_entry": 1, "last_entry": 1
    });
    db.execute(
        "INSERT INTO executions (id, token_id, work_item_id, plan_hash, state, use_number, started_at, result)
         VALUES (?1, ?2, ?3, ?4, 'running', 0, ?5, ?6)",
        rusqlite::params![
            execution,
            id,
            work_item,
            card.offer.as_ref().unwrap().plan_hash.to_string(),
            crate::harness::now().micros(),
            record.to_string()
        ],
    )
    .unwrap();
    crate::queue::leave_work_behind(&db, &execution);
    drop(db);
    silas.up(&[]);
    let mut line = silas.line();
    line.wait(|line| line.work.values().any(|work| work["running"] == false)).unwrap();
    assert_eq!(silas.tree(), original);
    let report = line.card(CardKind::Report).unwrap();
    assert!(format!("{:?}", report.face.details).contains("signature does not fit"), "{:?}", report.face);
}

/// A tampered database shows one thing and asks for another. Neither the terminal nor the server goes along.
#[test]
fn a_card_that_says_one_thing_and_asks_for_another() {
    type Forge = fn(&mut Card);
    let forgeries: [(&str, Forge); 2] = [
        ("another command behind the same words", |card| {
            let payload = card.payload.as_ref().unwrap().replace("sh fix.sh", "sh evil.sh");
            card.offer.as_mut().unwrap().plan_hash = silas_core::Digest::of(payload.as_bytes());
            card.payload = Some(payload);
        }),
        ("more uses and more time", |card| {
            let offer = card.offer.as_mut().unwrap();
            offer.max_executions = 1000;
            offer.expires_at = offer.expires_at.plus(std::time::Duration::from_secs(365 * 86_400));
        }),
    ];
    for (what, forge) in forgeries {
        let mut silas = Silas::start_asking();
        let device = silas.pair();
        let (line, mut card) = at_the_plan(&silas);
        drop(line);
        let original = silas.tree();
        silas.terminate();
        forge(&mut card);
        let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
        let json = serde_json::to_string(&card).unwrap();
        db.execute("UPDATE cards SET card = ?2 WHERE id = ?1", rusqlite::params![card.id.as_str(), json]).unwrap();
        drop(db);
        silas.up(&[]);
        let (code, text) = silas.command(&["approve"]);
        assert!(code != 0 && text.contains("Nothing was signed"), "{what}: {text}");
        // A device that signs whatever it is given does not help either.
        let mut line = silas.line();
        let token = device.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
        let (recorded, message) = line.submit(&card, &token).unwrap();
        assert!(!recorded, "{what}: {message}");
        assert_eq!(silas.tree(), original, "{what}");
    }
}

/// The database is put back to before the decision; the signed decision is then handed in a second time. The engine has
/// forgotten that it was spent. The launcher has not, and so has not the audit.
#[test]
fn a_replay_against_a_database_that_was_put_back() {
    let mut silas = Silas::start_asking();
    let original = silas.tree();
    let (line, card) = at_the_plan(&silas);
    let token = line.token(&card, Verdict::Approved).unwrap();
    drop(line);
    silas.terminate();
    let before = silas.outside().join("before");
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    copy(&silas.data().join("store"), &before);
    silas.up(&[]);
    let mut line = silas.line();
    assert!(line.submit(&card, &token).unwrap().0);
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    drop(line);
    silas.terminate();

    std::fs::remove_dir_all(silas.data().join("store")).unwrap();
    copy(&before, &silas.data().join("store"));
    for (path, bytes) in &original {
        std::fs::write(silas.repo().join(path), bytes).unwrap();
    }
    let (code, text) = silas.command(&["audit", "verify"]);
    assert!(code == 1 && text.contains("DOES NOT TELL EVERYTHING"), "{text}");
    silas.up(&[]);
    let mut line = silas.line();
    assert!(line.submit(&card, &token).unwrap().0, "the engine cannot know");
    line.wait(|line| line.work.values().any(|work| work["running"] == false)).unwrap();
    let report = line.card(CardKind::Report).unwrap();
    assert!(format!("{:?}", report.face.details).contains("used"), "{:?}", report.face.details);
    for (path, bytes) in &original {
        assert_eq!(&std::fs::read(silas.repo().join(path)).unwrap(), bytes, "{path:?}");
    }
}

/// Somebody sets the clock back to bring an old offer to life. The ledger remembers that it was later.
#[test]
fn a_clock_that_was_set_back() {
    struct Later;
    impl silas_core::Clock for Later {
        fn now(&self) -> silas_core::Timestamp {
            crate::harness::now().plus(std::time::Duration::from_secs(3600))
        }
    }
    let mut silas = Silas::start_asking();
    let original = silas.tree();
    let (line, card) = at_the_plan(&silas);
    let token = line.token(&card, Verdict::Approved).unwrap();
    drop(line);
    silas.terminate();
    let random = std::sync::Arc::new(crate::harness::OsRandom);
    let store = silas_store::Store::open(&silas.data().join("store"), random, std::sync::Arc::new(Later)).unwrap();
    let noting = store.write(|tx| {
        tx.record(&silas_core::event::AuditEvent::StreamStopped {})?;
        Ok(silas_store::Commit(()))
    });
    noting.wait().unwrap();
    drop(store);
    silas.up(&[]);
    let mut line = silas.line();
    let (recorded, message) = line.submit(&card, &token).unwrap();
    assert!(!recorded && message.contains("expired"), "{message}");
    assert_eq!(silas.tree(), original);
}

#[test]
fn a_decision_that_comes_too_late() {
    let silas = Silas::start_with(&[("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "2"), ASKING]);
    let device = silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    let card = line.card(CardKind::Root).unwrap();
    let token = device.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    line.wait(|line| line.cards.iter().any(|card| card.state == silas_core::card::CardState::Parked)).unwrap();
    let (recorded, message) = line.submit(&card, &token).unwrap();
    assert!(!recorded && message.contains("expired"), "{message}");
}

/// A revoked browser cannot be brought back by editing the database, not even with the list taken out of it.
#[test]
fn a_database_without_its_revocations() {
    let mut silas = Silas::start_asking();
    let lost = silas.pair();
    let (line, card) = at_the_plan(&silas);
    drop(line);
    let original = silas.tree();
    assert_eq!(silas.command(&["device", "revoke", lost.id().as_str()]).0, 0);
    silas.terminate();
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    assert_eq!(db.execute("DELETE FROM settings WHERE key = 'revocations'", []).unwrap(), 1);
    drop(db);
    silas.up(&[]);
    let mut line = silas.line();
    let token = lost.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    let (recorded, message) = line.submit(&card, &token).unwrap();
    assert!(!recorded && message.contains("was revoked"), "{message}");
    assert_eq!(silas.tree(), original);
    assert!(line.work.is_empty());
}

/// What was approved is held against a ledger whose heads are signed. A server key that was replaced signs none of them any
/// more: neither in the database nor in a file that left the machine.
#[test]
fn a_checkpoint_of_a_server_key_that_was_replaced() {
    let mut silas = Silas::start();
    silas.line().run(&silas.wish()).unwrap();
    silas.terminate();
    let old = rotation::seed(&silas.data().join("store/server.key"));
    silas.rotate("server");
    silas.up(&[]);
    silas.line().ask("add task `Water the plants`");
    silas.terminate();
    let (export, root) = (silas.export("ledger.export"), silas.root_key());
    let text = fs::read_to_string(&export).unwrap();
    let last = text.lines().rfind(|line| line.starts_with("{\"checkpoint\"")).unwrap();
    let mut line: Value = serde_json::from_str(last).unwrap();
    let mut forged: Statement = serde_json::from_value(line["checkpoint"].clone()).unwrap();
    forged.signature = rotation::sign(&old, &forged.body.message().unwrap());
    line["checkpoint"] = serde_json::to_value(&forged).unwrap();
    fs::write(&export, text.replace(last, &line.to_string())).unwrap();
    let (code, said) = silas.command(&["audit", "verify", "--export", &export, "--root", &root]);
    assert!(code != 0 && said.contains("signed by a server key that had been replaced at entry"), "{said}");

    // The last entry but one has no checkpoint yet.
    let entry = text.lines().rfind(|line| line.starts_with("{\"entry\"")).unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    let seq = entry["entry"]["link"]["seq"].as_i64().unwrap() - 1;
    let head = serde_json::json!({ "seq": seq, "hash": entry["entry"]["link"]["prev"] });
    forged.body.head = serde_json::from_value(head).unwrap();
    forged.signature = rotation::sign(&old, &forged.body.message().unwrap());
    let database = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let statement = serde_json::to_string(&forged).unwrap();
    let n = database.execute("INSERT INTO checkpoints (seq, statement) VALUES (?1, ?2)", (seq, statement)).unwrap();
    assert_eq!(n, 1);
    drop(database);
    let (code, said) = silas.command(&["audit", "verify"]);
    assert!(
        code != 0 && said.contains(&format!("checkpoint at entry {seq} was signed by a server key that")),
        "{said}"
    );
}
