//! More of everything than fits into one answer: grants, cards, rows and work by the hundreds. Nothing is refused for its
//! size, answers and memory stay bounded, and every single one can be reached, with the limits that everybody has.

use crate::harness::{Device, OsRandom, Silas, now};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind};
use silas_core::event::AuditEvent;
use silas_core::roots::RootGrant;
use silas_core::token::{Kind, Verdict};
use silas_core::{CardId, Clock, Digest, ExecutionId, Nonce, Scope, Timestamp, canonical};
use silas_store::{Commit, Store, cards, tokens};
use std::collections::BTreeSet;
use std::sync::Arc;

const N_GRANTS: usize = 300;
const N_CARDS: usize = 300;
const N_ROWS: usize = 5_000;
const N_WORK: usize = 500;
/// What a door says at once, everything together.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// The most that the server ever held, in a build without optimisation.
const PEAK_BYTES_MAX: u64 = 512 << 20;

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// As if it had been going on for years: what one real piece of work left behind, many times over.
fn fill(silas: &Silas, device: &Device) {
    let store = Store::open(&silas.data().join("store"), Arc::new(OsRandom), Arc::new(Now)).unwrap();
    let root = store.read(|tx| tokens::standing(tx, Kind::Root)).wait().unwrap().remove(0);
    let plan = store.read(|tx| cards::list_open(tx, &Scope::Owner)).wait().unwrap();
    let plan = plan.into_iter().find(|card| card.face.kind == CardKind::Plan).unwrap();
    let key = device.id();
    let signed: Vec<_> = (0..N_GRANTS)
        .map(|n| {
            let mut grant: RootGrant = canonical::read(&root.payload).unwrap();
            grant.place.path = format!("{}/project-{n}", grant.place.path);
            let payload = canonical::text(&grant).unwrap();
            let mut offer = root.token.body.offer.clone();
            (offer.nonce, offer.plan_hash) = (Nonce::new(&OsRandom), Digest::of(payload.as_bytes()));
            (device.answer(&offer, Verdict::Approved), payload)
        })
        .collect();
    let certificate = root.certificate.clone();
    let filling = store.write(move |tx| {
        for (token, payload) in &signed {
            tokens::insert(tx, token, &certificate, payload, None)?;
            tokens::spend(tx, &token.id()?)?;
        }
        for _ in 0..N_CARDS {
            cards::insert(tx, &Scope::Owner, &Card { id: CardId::new(&OsRandom), ..plan.clone() }, "many")?;
        }
        for n in 0..N_ROWS {
            tx.record(&AuditEvent::WithdrawalRefused { key: key.clone(), reason: format!("reason {n}") })?;
        }
        Ok(Commit(()))
    });
    filling.wait().unwrap();
    drop(store);
    let database = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    for n in 0..i64::try_from(N_WORK).unwrap() {
        database
            .execute(
                "INSERT INTO executions SELECT ?1, token_id, work_item_id, plan_hash, state, use_number + ?2 + 1,
                     started_at - ?2 - 1, ended_at, NULL, json_set(result, '$.view.execution', ?1), changeset, scope
                 FROM executions WHERE use_number = 0 LIMIT 1",
                (ExecutionId::new(&OsRandom).as_str(), n),
            )
            .unwrap();
    }
}

fn told(silas: &Silas, args: &[&str]) -> Value {
    let (code, text) = silas.command(args);
    assert_eq!(code, 0, "{args:?}: {}", text.chars().take(400).collect::<String>());
    serde_json::from_str(&text).unwrap_or_else(|bad| panic!("{args:?}: {bad}"))
}

/// How many different ones there are.
fn n_of(values: &Value, id: &str) -> usize {
    values.as_array().unwrap().iter().map(|value| value[id].to_string()).collect::<BTreeSet<_>>().len()
}

#[test]
fn hundreds_of_everything_are_given_out_in_pages_and_all_can_be_reached() {
    let mut silas = Silas::start_asking();
    let device = silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    let root = line.card(CardKind::Root).unwrap();
    assert!(line.submit(&root, &device.answer(root.offer.as_ref().unwrap(), Verdict::Approved)).unwrap().0);
    line.approve(CardKind::Plan).unwrap();
    line.ended().unwrap();
    line.say(&silas.wish()).unwrap();
    line.card(CardKind::Plan).unwrap();
    drop(line);
    silas.terminate();
    fill(&silas, &device);
    silas.up(&[]);

    // The first word has a page of each and says how much more there is.
    let mut line = silas.line();
    let n_bytes = line.snapshot.to_string().len();
    assert!(n_bytes < ANSWER_BYTES_MAX, "{n_bytes}");
    let part = |name: &str| line.snapshot[name].as_array().unwrap().len();
    let more = |name: &str| usize::try_from(line.snapshot[name].as_u64().unwrap()).unwrap();
    let n_grants = part("grants") + more("n_more_grants");
    // With the house rules and the directory that was really allowed.
    assert_eq!((part("grants"), n_grants), (100, N_GRANTS + 2));
    let n_cards = part("cards") + more("n_more_cards");
    assert!(part("cards") == 200 && n_cards > N_CARDS, "{n_cards}");
    assert!(line.snapshot["activity"]["earlier"].is_u64() && part("work") == 20);

    // Page by page, as a page does it.
    let mut tokens = BTreeSet::new();
    while tokens.len() < n_grants {
        line.send(&json!({ "type": "grants", "from": tokens.len() })).unwrap();
        let page = line.wait_for("grants_page").unwrap();
        assert!(page.to_string().len() < ANSWER_BYTES_MAX);
        let before = tokens.len();
        tokens.extend(page["grants"].as_array().unwrap().iter().map(|grant| grant["token"].to_string()));
        assert!(tokens.len() > before, "a page that brings nothing new");
    }
    let (mut before, mut n_rows) = (u64::MAX >> 1, 0);
    loop {
        line.send(&json!({ "type": "activity", "before": before })).unwrap();
        let page = line.wait_for("activity_page").unwrap();
        assert!(page.to_string().len() < ANSWER_BYTES_MAX);
        n_rows += page["rows"].as_array().unwrap().len();
        match page["earlier"].as_u64() {
            Some(earlier) if earlier < before => before = earlier,
            Some(stuck) => panic!("no progress before entry {stuck}"),
            None => break,
        }
    }
    assert!(n_rows >= N_ROWS, "{n_rows}");

    // And with one command each.
    assert_eq!(n_of(&told(&silas, &["grant", "list", "--json"]), "token"), n_grants);
    assert_eq!(n_of(&told(&silas, &["review", "--json"]), "id"), n_cards);
    assert_eq!(n_of(&told(&silas, &["work", "list", "--json"])["work"], "execution"), N_WORK + 1);
    assert_eq!(n_of(&told(&silas, &["activity", "--all", "--json"])["rows"], "seq"), n_rows);
    let (code, text) = silas.command(&["activity"]);
    assert!(code == 0 && text.contains("There is more before that: `silas activity --before "), "{text}");
    assert!(silas.command(&["activity", "--before", "40"]).1.contains("Before entry 40"));

    // All of it is taken back with one signature, whatever a minute allows.
    let (code, text) = silas.command(&["stop", "--all", "--revoke"]);
    assert_eq!(code, 0, "{text}");
    assert!(silas.command(&["grant", "list"]).1.contains("Nothing is granted"));
    let peak = silas.peak_bytes();
    println!("welcome {n_bytes} bytes, peak {} MiB", peak >> 20);
    assert!(peak < PEAK_BYTES_MAX, "{peak}");
}
