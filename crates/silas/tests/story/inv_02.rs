//! INV-02: an approval fits one content, one card text, one installation, and is used once.

use crate::harness::{Line, Silas};
use silas_core::card::{Card, CardKind};
use silas_core::token::{Offer, Token, Verdict};

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
    let silas = Silas::start();
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
    let silas = Silas::start();
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
    let silas = Silas::start();
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
    let (ours, theirs) = (Silas::start(), Silas::start());
    let (mut line, card) = at_the_plan(&ours);
    let their_line = theirs.line();
    let foreign: Token = their_line.token(&card, Verdict::Approved).unwrap();
    let (recorded, message) = line.submit(&card, &foreign).unwrap();
    assert!(!recorded && message.contains("not paired"), "{message}");
}

/// The front is taken over: it writes into its own database whatever it likes. The launcher still asks for evidence.
#[test]
fn a_forged_database_runs_nothing() {
    let mut silas = Silas::start();
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
    db.execute(
        "INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, lease_holder,
             lease_until, fence)
         VALUES (?1, 'work', ?2, 'execution_status', ?3, ?1, 'leased', 1, 0, 'front', 0, 1)",
        rusqlite::params![
            format!("msg-{execution}"),
            execution,
            serde_json::json!({ "execution": execution, "status": "running" }).to_string()
        ],
    )
    .unwrap();
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
        let mut silas = Silas::start();
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
