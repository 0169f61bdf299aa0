//! What people are shown, compared with what the ledger was told: a card says what its last entry says, whoever wrote it anew,
//! and a device that was taken in is still there.

use crate::audit::keeper;
use crate::repositories::{card, execution};
use crate::world::{NOON, World, certificate, token};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::token::{Kind, Verdict};
use silas_core::{Clock, Digest, KeyId, MessageId, Scope, Taint, Timestamp};
use silas_store::audit::{self, Audit, Compared, Extent};
use silas_store::retention::{self, Policy};
use silas_store::{Commit, Store, cards, chronicle, executions, ledger, tokens};

const DAY: i64 = 24 * 3600 * 1_000_000;

fn look(store: &Store) -> Audit {
    store.read(move |tx| audit::audit(tx, &keeper(), Extent::Everything)).wait().unwrap()
}

fn change(store: &Store, change: impl Fn(&mut silas_store::Tx<'_>) -> Result<(), silas_store::Error> + Send + 'static) {
    store.write(move |tx| Ok(Commit(change(tx)?))).wait().unwrap();
}

fn told(store: &Store) -> Vec<String> {
    store.read(|tx| ledger::latest(tx, 100)).wait().unwrap().into_iter().map(|entry| entry.name).collect()
}

/// A question in these words.
fn asking(words: &str) -> Card {
    let mut card = card(1, CardState::Open);
    card.face.intent = words.to_owned();
    let (shown, plan_hash) = (card.face.hash().unwrap(), Digest::of(card.payload.as_deref().unwrap().as_bytes()));
    for offer in [&mut card.offer, &mut card.show_first].into_iter().flatten() {
        (offer.shown, offer.plan_hash) = (shown, plan_hash);
    }
    card
}

/// A card that asks for nothing.
fn reporting(words: &str) -> Card {
    let card = asking(words);
    let face = silas_core::card::Face { kind: CardKind::Report, ..card.face };
    Card { face, offer: None, show_first: None, payload: None, ..card }
}

#[test]
fn a_card_that_is_worded_anew_is_told_with_it() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| cards::insert(tx, &Scope::Owner, &asking("Merge both"), "task-1"));
    change(&store, |tx| cards::update(tx, &Card { state: CardState::Parked, ..asking("Redo it") }));
    assert_eq!(look(&store).problem(), None);
    assert_eq!(told(&store), ["card_offered", "card_offered"]);
    change(&store, |tx| cards::update(tx, &asking("Redo it")));
    assert_eq!(told(&store).len(), 2, "the same words and the same question");

    let other = reporting("Nothing was applied");
    let other = Card { id: silas_core::CardId::parse("card-2").unwrap(), ..other };
    let (laid, worded) = (other.clone(), Card { face: reporting("Nothing was applied, again").face, ..other });
    change(&store, move |tx| cards::insert(tx, &Scope::Owner, &laid, "task-1"));
    change(&store, move |tx| cards::update(tx, &worded));
    assert_eq!(told(&store)[2..], ["card_shown", "card_shown"]);
    let found = look(&store);
    assert_eq!((found.problem(), found.rows), (None, Some(Compared::Rows { n_untold: 0 })));
}

#[test]
fn a_report_that_was_worded_by_hand_is_named() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| cards::insert(tx, &Scope::Owner, &reporting("1 check is red"), "task-1"));
    assert_eq!(look(&store).problem(), None);
    let forged = "UPDATE cards SET state = 'open',
                  card = json_set(card, '$.face.intent', 'Applied and proved by 214 tests', '$.state', 'open')";
    assert_eq!(world.forger().execute(forged, []).unwrap(), 1);
    let problem = look(&store).problem().unwrap();
    assert!(problem.contains("does not show what was offered"), "{problem}");
}

/// What still runs is written again and again; from its end on every letter counts, and the hash alone tells nothing of it.
#[test]
fn a_result_is_told_once_it_is_one() {
    let world = World::new();
    let store = world.open();
    let result = serde_json::json!({ "outputs": ["yes"] });
    let write = |result: serde_json::Value| {
        change(&store, move |tx| executions::set_result(tx, &execution(0).id, &result, None, None));
    };
    change(&store, |tx| {
        tokens::insert(tx, &token(Kind::Plan, "n-1", 9, Verdict::Approved), &certificate(1), "plan", None)?;
        executions::insert(tx, &Scope::Owner, &execution(0))
    });
    write(result.clone());
    assert_eq!(told(&store), Vec::<String>::new());
    change(&store, |tx| {
        let at = execution(0).started_at;
        executions::set_state(tx, &execution(0).id, ExecutionState::Ended, at).map(drop)
    });
    write(result.clone());
    write(result.clone());
    let kept: String = world.forger().query_row("SELECT result FROM executions", [], |row| row.get(0)).unwrap();
    let hashes: Vec<Digest> = store.read(|tx| ledger::latest(tx, 100)).wait().unwrap().into_iter().map(hash).collect();
    let hash_of_kept = Digest::of(kept.as_bytes());
    assert_eq!((hashes.len(), hashes.last()), (2, Some(&hash_of_kept)));
    assert_ne!(hashes[0], hashes[1], "equal results cannot be told by their hashes");
    assert_ne!(hash_of_kept, Digest::of(result.to_string().as_bytes()));
    let read = store.read(|tx| executions::get(tx, &execution(0).id)).wait().unwrap();
    assert_eq!(read.unwrap().result, Some(result), "whoever reads it gets what was written");
}

fn hash(entry: ledger::Entry) -> Digest {
    let Some(AuditEvent::ResultKept { result, .. }) = entry.event else { panic!("{}", entry.name) };
    result
}

/// As an earlier version left it.
#[test]
fn a_card_of_which_nothing_was_told_is_counted() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| cards::insert(tx, &Scope::Owner, &reporting("1 check is red"), "task-1"));
    let copied = "INSERT INTO cards (id, state, created_at, expires_at, subject, card)
                  SELECT 'card-9', state, created_at, expires_at, subject, json_set(card, '$.id', 'card-9') FROM cards";
    assert_eq!(world.forger().execute(copied, []).unwrap(), 1);
    let found = look(&store);
    assert_eq!((found.problem(), found.rows), (None, Some(Compared::Rows { n_untold: 1 })));
}

/// What is not the owner's is not shown to the owner.
#[test]
fn a_row_that_was_moved_out_of_sight_is_found() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| cards::insert(tx, &Scope::Owner, &reporting("1 check is red"), "task-1"));
    assert_eq!(look(&store).problem(), None);
    assert_eq!(world.forger().execute("UPDATE cards SET scope = 'customer:ann'", []).unwrap(), 1);
    let problem = look(&store).problem().unwrap();
    assert!(problem.contains("of the table cards is kept as somebody else's than the owner's"), "{problem}");
}

#[test]
fn a_device_that_was_taken_in_and_not_revoked_must_be_there() {
    let world = World::new();
    let store = world.open();
    let key = KeyId::try_from(keeper().root.id().to_string()).unwrap();
    let paired = key.clone();
    change(&store, move |tx| {
        let name = tx.text("A browser")?;
        tx.record(&AuditEvent::DevicePaired { key: paired.clone(), name })?;
        Ok(())
    });
    let problem = look(&store).problem().unwrap();
    assert!(problem.contains("was taken in and never revoked, and is not kept any more"), "{problem}");
    change(&store, move |tx| {
        tx.record(&AuditEvent::DeviceRevoked { key: key.clone(), by: None, number: 1 })?;
        Ok(())
    });
    assert_eq!(look(&store).problem(), None);
}

/// Says something and has the ledger told, a day after the last.
fn say(world: &World, store: &Store, day: i64) {
    world.clock.set(NOON + day * DAY);
    let at = world.clock.now();
    change(store, move |tx| {
        let id = MessageId::parse(&format!("msg-{day}")).unwrap();
        let (sender, taint, text) = (chronicle::Sender::Silas, Taint::Owner, "hello".to_owned());
        chronicle::append(
            tx,
            &Scope::Owner,
            &chronicle::Entry { id: id.clone(), sender, taint, text, answers: None, at },
        )?;
        let text = tx.text("hello")?;
        tx.record(&AuditEvent::ReplySent { message: id, text })?;
        Ok(())
    });
}

fn prune(store: &Store, day: i64) {
    let before = Timestamp::from_micros(NOON + day * DAY);
    let policy =
        Policy { chronicle_before: before, outbox_before: before, nonces_before: before, processed_before: before };
    while !store.write_background(move |tx| Ok(Commit(retention::prune(tx, &policy)?))).wait().unwrap().is_nothing() {}
}

/// What goes with its time is no fault, however often that is looked after; what is missing beside it is one.
#[test]
fn a_message_may_be_missing_only_when_its_time_is_over() {
    let world = World::new();
    let store = world.open();
    for day in 0..20 {
        say(&world, &store, day);
    }
    assert_eq!(look(&store).problem(), None);
    for day in [3, 7] {
        prune(&store, day);
        assert_eq!(look(&store).problem(), None, "day {day}");
    }
    let kept: u32 = world.forger().query_row("SELECT count(*) FROM chronicle", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 13);
    assert_eq!(world.forger().execute("DELETE FROM chronicle WHERE id = 'msg-9'", []).unwrap(), 1);
    let problem = look(&store).problem().unwrap();
    assert!(problem.contains("msg-9 of the conversation is not kept any more"), "{problem}");
}

/// A clock that was ahead and was set back: the ledger's times stand still until they are reached again, the rows go by theirs.
#[test]
fn a_clock_that_was_set_back_makes_nobody_a_thief() {
    let world = World::new();
    let store = world.open();
    for day in [0, 400, 1, 2, 3] {
        say(&world, &store, day);
    }
    assert_eq!(look(&store).problem(), None);
    prune(&store, 3);
    assert_eq!(look(&store).problem(), None);
}

/// A card goes with its time or with what was forgotten, and with nothing else.
#[test]
fn a_card_may_be_missing_only_when_its_time_is_over() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| cards::insert(tx, &Scope::Owner, &reporting("1 check is red"), "task-1"));
    say(&world, &store, 1);
    assert_eq!(world.forger().execute("DELETE FROM cards", []).unwrap(), 1);
    assert_eq!(look(&store).problem(), None, "no text before it is kept, so nobody knows");
    let late = Card { id: silas_core::CardId::parse("card-2").unwrap(), ..reporting("1 check is red") };
    world.clock.set(NOON + 2 * DAY);
    change(&store, move |tx| cards::insert(tx, &Scope::Owner, &late, "task-1"));
    assert_eq!(look(&store).problem(), None);
    assert_eq!(world.forger().execute("DELETE FROM cards", []).unwrap(), 1);
    let problem = look(&store).problem().unwrap();
    assert!(problem.contains("Card card-2 is not kept any more"), "{problem}");
}

/// Another version may have told of rows what is not known here: then nothing is compared, and that is said.
#[test]
fn an_entry_of_another_version_is_no_silent_pass() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| cards::insert(tx, &Scope::Owner, &reporting("1 check is red"), "task-1"));
    drop(store);
    let db = world.forger();
    let (at, hash): (i64, String) = db
        .query_row("SELECT at, hash FROM ledger ORDER BY seq DESC LIMIT 1", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let body = r#"{"event":"card_sung","card":"card-1"}"#;
    let before = Digest::try_from(hash.clone()).unwrap();
    let next = silas_core::chain::hash(2, silas_core::Timestamp::from_micros(at), body, &before).unwrap().to_string();
    let sql = "INSERT INTO ledger (seq, at, event, body, prev, hash) VALUES (2, ?1, 'card_sung', ?2, ?3, ?4)";
    db.execute(sql, rusqlite::params![at, body, hash, next]).unwrap();
    drop(db);
    let found = look(&world.open());
    assert_eq!((found.problem(), found.rows), (None, Some(Compared::Nothing)));
}
