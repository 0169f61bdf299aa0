//! What a start and a turn ask costs the same whether the Stream is short or has gone on for years.
//!
//! Counted in steps of SQLite's machine, which do not depend on the machine below.

use crate::world::{NOON, World, token};
use silas_core::token::{Kind, Verdict};
use silas_core::{MessageId, Scope, Taint, Timestamp};
use silas_store::retention::{self, Policy};
use silas_store::{
    Commit, ReadTx, Store, Tx, audit, cards, channel_outbox, checkpoints, chronicle, devices, executions, ledger,
    nonces, queue, saga, sessions, settings, tokens, undo_records,
};

const FEW: u32 = 10_000;
const MANY: u32 = 1_000_000;

fn filled(n_entries: u32) -> (World, Store) {
    let world = World::new();
    drop(world.open());
    let db = world.forger();
    db.pragma_update(None, "synchronous", "OFF").unwrap();
    let inserting = db.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO chronicle (id, scope, sender, taint, text, at)
         SELECT printf('msg-%08d', i), 'owner', CASE i % 2 WHEN 0 THEN 'silas' ELSE 'owner' END, 'owner',
             'a sentence of ordinary length, as people say them', ?2 + i FROM n",
        rusqlite::params![n_entries, NOON],
    );
    assert_eq!(inserting.unwrap(), n_entries as usize);
    let putting = db.execute(
        "INSERT INTO channel_outbox (scope, seq, message_id, at) SELECT scope, seq, id, at FROM chronicle",
        [],
    );
    assert_eq!(putting.unwrap(), n_entries as usize);
    // One in ten led to a decision: used up, run out or taken back. What they say is never read, so it need not be anything.
    let deciding = db.execute(
        "INSERT INTO tokens (token_id, kind, verdict, token, certificate, payload, executions_used, max_executions,
             expires_at, revoked_at)
         SELECT printf('tok-%08d', seq), CASE seq / 10 % 4 WHEN 0 THEN 'undo' WHEN 1 THEN 'root' ELSE 'plan' END,
             'approved', '', '', '', seq / 10 % 2, 1, at - 10000000000, CASE seq / 10 % 4 WHEN 1 THEN at END
         FROM chronicle WHERE seq % 10 = 0",
        [],
    );
    assert_eq!(deciding.unwrap(), n_entries as usize / 10);
    // And as many questions that were answered.
    let answering = db.execute(
        "INSERT INTO cards (id, state, created_at, expires_at, subject, card)
         SELECT printf('card-%08d', seq), 'closed', at, at, 'many', '' FROM chronicle WHERE seq % 10 = 0",
        [],
    );
    assert_eq!(answering.unwrap(), n_entries as usize / 10);
    drop(db);
    let store = world.open();
    (world, store)
}

/// What a start and a snapshot for a door look at.
fn start(tx: &ReadTx<'_>) -> Result<(), silas_store::Error> {
    settings::get::<u64>(tx, "epoch")?;
    checkpoints::last(tx)?;
    ledger::head(tx)?;
    devices::get(tx, &crate::world::certificate(1).body.key)?;
    undo_records::list_over(tx, silas_core::Timestamp::EPOCH)?;
    undo_records::list_open(tx, &Scope::Owner, Timestamp::EPOCH)?;
    sessions::list(tx, &Scope::Owner)?;
    channel_outbox::head(tx, &Scope::Owner)?;
    saga::sagas_open(tx)?;
    tokens::mark(tx)?;
    for kind in Kind::ALL {
        assert_eq!(
            (tokens::live(tx, kind, Timestamp::from_micros(NOON))?, tokens::standing(tx, kind)?),
            (vec![], vec![])
        );
    }
    cards::list_late(tx, Timestamp::from_micros(i64::MAX))?;
    chronicle::recent(tx, &Scope::Owner, 100)?;
    cards::list_asking(tx, &Scope::Owner)?;
    cards::page_parked(tx, &Scope::Owner, 0, 200)?;
    executions::recent(tx, &Scope::Owner, 20)?;
    ledger::latest(tx, 400)?;
    queue::dead(tx, &Scope::Owner)?;
    Ok(())
}

/// What one message writes, from its arrival to the answer, and a piece of upkeep behind it.
fn turn(tx: &mut Tx<'_>) -> Result<(), silas_store::Error> {
    let now = Timestamp::from_micros(NOON);
    nonces::use_once(tx, "message", "n-1", now)?;
    let entry = |id: &str, sender, text: &str| chronicle::Entry {
        id: MessageId::parse(id).unwrap(),
        sender,
        taint: Taint::Owner,
        text: text.to_owned(),
        answers: None,
        at: now,
    };
    chronicle::append(tx, &Scope::Owner, &entry("msg-asked", chronicle::Sender::Owner, "hello"))?;
    let asked = channel_outbox::put(tx, &Scope::Owner, &MessageId::parse("msg-asked").unwrap(), now)?;
    tx.record(&crate::world::started("1"))?;
    tokens::get(tx, &token(Kind::Plan, "n-1", 1, Verdict::Approved).id().unwrap())?;
    chronicle::append(tx, &Scope::Owner, &entry("msg-answered", chronicle::Sender::Silas, "hello"))?;
    tx.record(&crate::world::started("2"))?;
    channel_outbox::put(tx, &Scope::Owner, &MessageId::parse("msg-answered").unwrap(), now)?;
    channel_outbox::after(tx, &Scope::Owner, asked, 100)?;
    retention::prune(
        tx,
        &Policy { chronicle_before: now, outbox_before: now, nonces_before: now, processed_before: now },
    )?;
    Ok(())
}

/// Steps of a start and of a turn.
fn counted(n_entries: u32) -> (u64, u64) {
    let (_world, store) = filled(n_entries);
    let starting = store.read(|tx| {
        start(tx)?;
        Ok(tx.n_steps())
    });
    let started = starting.wait().unwrap();
    let turning = store.write(|tx| {
        turn(tx)?;
        Ok(Commit(tx.n_steps()))
    });
    (started, turning.wait().unwrap())
}

#[test]
fn a_start_and_a_turn_cost_the_same_after_years() {
    let (few, many) = (counted(FEW), counted(MANY));
    assert!(few.0 > 500 && few.1 > 100, "hardly anything was counted: {few:?}");
    assert!(many.0 <= 2 * few.0 && many.1 <= 2 * few.1, "{few:?} at {FEW}, {many:?} at {MANY}");
}

/// The same for the look back: what was verified before is not read again, however long it is.
#[test]
fn a_start_reads_only_the_new_end_of_a_long_ledger() {
    let world = World::new();
    let store = world.open();
    let write = |n_entries: usize| {
        let writing = store.write(move |tx| {
            for _ in 0..n_entries {
                tx.record(&crate::world::started("1"))?;
            }
            Ok(Commit(()))
        });
        writing.wait().unwrap();
    };
    let look = |store: &Store| {
        let (keeper, statement) = crate::audit::verified_now(store);
        store.write(move |tx| Ok(Commit(audit::keep_verified(tx, &statement)?))).wait().unwrap();
        let looking = store.read(move |tx| {
            assert_eq!(audit::audit(tx, &keeper, audit::Extent::New)?.problem(), None);
            Ok(tx.n_steps())
        });
        looking.wait().unwrap()
    };
    write(100);
    let short = look(&store);
    write(10_000);
    let long = look(&store);
    assert!(long <= 2 * short, "{short} steps at 100 entries, {long} at 10 100");
}
