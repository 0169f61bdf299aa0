//! The durable queue with producers and consumers who are slow, give up, and lose their leases to each other.
//!
//! Dealing with a message is a ledger entry in the transaction that acknowledges it, so the ledger shows what was dealt
//! with, how often, and in which order.

use crate::workload::{Marks, Promise, Strength, Survey, Workload};
use crate::world::{NOON, open};
use power_loss::Chance;
use serde_json::Value;
use silas_core::event::AuditEvent;
use silas_core::{MessageId, Timestamp};
use silas_store::queue::{self, Backoff, Kind, Lease, Leased, Name, NewMessage};
use silas_store::{Abort, Commit, Durability, Error, Lane, ReadTx, Store, Tx, ledger};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

pub(crate) struct Queues;

const PRODUCERS: u64 = 2;
const CONSUMERS: u64 = 3;
const KEYS_EACH: usize = 3;
const MESSAGES_EACH: usize = 40;
const LEASINGS_EACH: usize = 30;
const LEASED_MAX: u32 = 4;
const BODY_BYTES_MAX: usize = 4000;
const HOUR: Duration = Duration::from_secs(3600);

impl Workload for Queues {
    fn name(&self) -> &'static str {
        "queues"
    }

    fn run(&self, dir: &Path, seed: u64, marks: &Marks) {
        let mut chance = Chance::new(seed);
        let n_sessions = 1 + chance.below(2);
        for session in 0..n_sessions {
            let store = open(dir, seed + session as u64).unwrap();
            store.write(|tx| Ok(Commit(queue::requeue_leased(tx)?))).wait().unwrap();
            let durable_percent = chance.one_of(&[20, 50, 90]);
            let mut party = |name: String| Party {
                store: &store,
                marks,
                name,
                chance: Chance::new(chance.number()),
                durable_percent,
            };
            std::thread::scope(|scope| {
                for n in 0..PRODUCERS {
                    // Part of all ids and keys, so that they are new in every life of the directory.
                    let mut producer = party(format!("{seed:016x}-{session}-{n}"));
                    scope.spawn(move || (0..MESSAGES_EACH / n_sessions).for_each(|n| producer.produce(n)));
                }
                for n in 0..CONSUMERS {
                    let mut consumer = party(format!("consumer-{n}"));
                    scope.spawn(move || (0..LEASINGS_EACH / n_sessions).for_each(|_| consumer.consume()));
                }
            });
        }
    }

    fn check(&self, dir: &Path, promises: &[Promise]) -> Result<Survey, String> {
        let store = open(dir, 1).map_err(|error| format!("it does not open: {error}"))?;
        let text = |error: Error| error.to_string();
        let (found, handled) = (look(&store, queued)?, look(&store, handled)?);
        let mut survey = Survey { n_kept: 0, n_forgiven: 0, on_disk: Vec::new() };
        for promise in promises {
            let (kind, id) = promise.what.split_once(' ').ok_or("no promise")?;
            let is_handled = handled.contains(id);
            let is_kept = match kind {
                "entered" => is_handled || found.contains(id),
                "acknowledged" => is_handled,
                other => return Err(format!("{other} is no promise")),
            };
            match (is_kept, promise.strength) {
                (true, strength) => {
                    survey.n_kept += usize::from(strength == Strength::Durable);
                    survey.on_disk.push(Promise { strength: Strength::Durable, what: promise.what.clone() });
                }
                (false, Strength::Buffered) => survey.n_forgiven += 1,
                (false, Strength::Durable) => return Err(format!("`{}` was promised and is gone", promise.what)),
            }
        }
        if let Some(twice) = found.intersection(&handled.ids).next() {
            return Err(format!("{twice} was dealt with and would be delivered again"));
        }
        // A restart: leases of the past are void, and everything that waits is dealt with now.
        store.write(|tx| Ok(Commit(queue::requeue_leased(tx)?))).wait().map_err(text)?;
        deal_with_all(&store).map_err(text)?;
        let (left, after) = (look(&store, queued_alive)?, look(&store, self::handled)?);
        if !left.is_empty() {
            return Err(format!("{left:?} can never be delivered"));
        }
        let lost = found.iter().find(|id| !after.contains(id));
        let dead = look(&store, queued)?;
        match lost.filter(|id| !dead.contains(*id)) {
            Some(lost) => Err(format!("{lost} was in the queue and was never dealt with")),
            None => Ok(survey),
        }
    }
}

struct Party<'s> {
    store: &'s Store,
    marks: &'s Marks,
    name: String,
    chance: Chance,
    durable_percent: usize,
}

impl Party<'_> {
    fn durability(&mut self) -> (Durability, Strength) {
        match self.chance.percent(self.durable_percent) {
            true => (Durability::Durable, Strength::Durable),
            false => (Durability::Buffered, Strength::Buffered),
        }
    }

    fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        change: impl FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    ) -> T {
        match durability {
            // Half of the campaign's commits are thus made on the callers' own threads.
            Durability::Durable => self.store.write_and_wait(change).unwrap(),
            Durability::Buffered => self.store.write_in(durability, Lane::Interactive, change).wait().unwrap(),
        }
    }

    /// Each key has one producer, so the numbers of a key say in which order its messages came.
    fn produce(&mut self, n: usize) {
        let id = MessageId::parse(&format!("msg-{}-{n}", self.name)).unwrap();
        let message = NewMessage {
            id: id.clone(),
            queue: Name::Turns,
            scope: silas_core::Scope::Owner,
            key: format!("{}-{}", self.name, self.chance.below(KEYS_EACH)),
            kind: Kind::UserMessage,
            body: Value::from(vec![Value::from(n), Value::from("x".repeat(self.chance.below(BODY_BYTES_MAX)))]),
            trace: id.clone(),
        };
        let (durability, strength) = self.durability();
        assert!(self.write(durability, move |tx| Ok(Commit(queue::enqueue(tx, &message)?))));
        self.marks.promise(strength, &format!("entered {id}"));
    }

    fn consume(&mut self) {
        let (durability, _) = self.durability();
        // A lease that is over at once can be taken by the next consumer while this one still believes in it.
        let lease_for = self.chance.one_of(&[Duration::ZERO, HOUR]);
        let holder = self.name.clone();
        let leased = self.write(durability, move |tx| {
            Ok(Commit(queue::lease(tx, Name::Turns, &holder, later(), lease_for, LEASED_MAX)?))
        });
        for leased in leased {
            match self.chance.below(8) {
                0 => self.give_back(leased.lease),
                // Forgotten; only a lease that is over lets somebody else have it before the next start.
                1 if lease_for.is_zero() => {}
                _ => self.deal_with(leased),
            }
        }
    }

    fn deal_with(&mut self, leased: Leased) {
        let (durability, strength) = self.durability();
        let id = leased.lease.message.clone();
        if self.write(durability, move |tx| deal_with(tx, &leased)) {
            self.marks.promise(strength, &format!("acknowledged {id}"));
        }
    }

    fn give_back(&mut self, lease: Lease) {
        let backoff = Backoff { first: Duration::ZERO, longest: Duration::ZERO };
        let (durability, _) = self.durability();
        self.write(durability, move |tx| Ok(Commit(queue::nack(tx, &lease, later(), backoff)?)));
    }
}

/// After everything that the clock of a run says.
fn later() -> Timestamp {
    Timestamp::from_micros(NOON).plus(HOUR)
}

/// The result and the acknowledgement, or neither. False if somebody else has the message by now.
fn deal_with(tx: &mut Tx<'_>, leased: &Leased) -> Result<Commit<bool>, Abort> {
    if !queue::ack(tx, &leased.lease, "test")? {
        return Ok(Commit(false));
    }
    let number = leased.body.get(0).and_then(Value::as_u64).unwrap_or_default();
    let result = format!("{} {} {number}", leased.lease.message, leased.key);
    tx.record(&AuditEvent::StreamStarted { version: result })?;
    Ok(Commit(true))
}

fn deal_with_all(store: &Store) -> Result<(), Error> {
    loop {
        let n_leased = store.write(|tx| {
            // Past every lease and every backoff.
            let leased = queue::lease(tx, Name::Turns, "restart", later().plus(HOUR * 48), HOUR, LEASED_MAX)?;
            for leased in &leased {
                deal_with(tx, leased)?;
            }
            Ok(Commit(leased.len()))
        });
        if n_leased.wait()? == 0 {
            return Ok(());
        }
    }
}

fn look<T: Send + 'static>(store: &Store, look: fn(&ReadTx<'_>) -> Result<T, String>) -> Result<T, String> {
    store.read(move |tx| Ok(look(tx))).wait().map_err(|error| error.to_string())?
}

/// Everything in the queue, what was put aside included.
fn queued(tx: &ReadTx<'_>) -> Result<BTreeSet<String>, String> {
    let ids = tx.query("SELECT message_id FROM queue", [], |row| Ok(row.get(0)?));
    Ok(ids.map_err(|error| error.to_string())?.into_iter().collect())
}

fn queued_alive(tx: &ReadTx<'_>) -> Result<BTreeSet<String>, String> {
    let ids = tx.query("SELECT message_id FROM queue WHERE state <> 'dead'", [], |row| Ok(row.get(0)?));
    Ok(ids.map_err(|error| error.to_string())?.into_iter().collect())
}

/// What the ledger says was dealt with.
struct Handled {
    ids: BTreeSet<String>,
}

impl Handled {
    fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

/// Reads the ledger and refuses what was dealt with twice, or out of order within its key.
fn handled(tx: &ReadTx<'_>) -> Result<Handled, String> {
    let text = |error: Error| error.to_string();
    if let Some(broken) = ledger::verify(tx).map_err(text)?.broken {
        return Err(broken.to_string());
    }
    let (mut ids, mut last_of): (_, BTreeMap<String, u64>) = (BTreeSet::new(), BTreeMap::new());
    let mut from = 1;
    loop {
        let page = ledger::entries(tx, from, ledger::ENTRIES_MAX).map_err(text)?;
        let Some(last) = page.last() else { return Ok(Handled { ids }) };
        from = last.seq + 1;
        for entry in page {
            let Some(AuditEvent::StreamStarted { version }) = entry.event else { return Err("a foreign entry".into()) };
            let words: Vec<&str> = version.split(' ').collect();
            let [id, key, number] = words[..] else { return Err(format!("`{version}` is no result")) };
            let number: u64 = number.parse().map_err(|_| format!("`{version}` has no number"))?;
            if !ids.insert(id.to_owned()) {
                return Err(format!("{id} was dealt with twice"));
            }
            if let Some(before) = last_of.insert(key.to_owned(), number).filter(|before| *before >= number) {
                return Err(format!("{number} of {key} was dealt with after {before}"));
            }
        }
    }
}
