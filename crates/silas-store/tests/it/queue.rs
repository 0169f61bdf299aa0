//! The queue's promises, one by one: known ids, full keys, backoff and dead letters, fences, waking without polling.

use crate::world::{NOON, World};
use serde_json::json;
use silas_core::{MessageId, Scope, Timestamp};
use silas_store::queue::{self, Backoff, Entered, Kind, Lease, Leased, Nacked, Name, NewMessage};
use silas_store::{Abort, Commit, Error, Store, Tx};
use std::time::Duration;

pub(crate) const LEASE: Duration = Duration::from_secs(60);
pub(crate) const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(5) };

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(NOON + seconds * 1_000_000)
}

pub(crate) fn id(n: u32) -> MessageId {
    MessageId::parse(&format!("msg-{n}")).unwrap()
}

pub(crate) fn message(n: u32, queue: Name, key: &str) -> NewMessage {
    let body = json!({ "n": n });
    NewMessage {
        id: id(n),
        queue,
        scope: Scope::Owner,
        key: key.to_owned(),
        kind: Kind::UserMessage,
        body,
        trace: id(0),
    }
}

pub(crate) fn change<T: Send + 'static>(
    store: &Store,
    mut f: impl FnMut(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
) -> T {
    store.write_buffered(move |tx| f(tx).map(Commit).map_err(Abort)).wait().unwrap()
}

fn lease(tx: &mut Tx<'_>, now: i64) -> Result<Vec<Leased>, Error> {
    queue::lease(tx, Name::Turns, "test", at(now), LEASE, 9)
}

/// What can be dealt with only later is due at its time or when somebody says so, and no attempt is counted.
#[test]
fn what_waits_is_due_at_its_time_or_sooner() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| queue::enqueue(tx, &message(1, Name::Turns, "a")));
    let leased = change(&store, |tx| lease(tx, 0)).remove(0);
    let kept = leased.lease.clone();
    assert!(change(&store, move |tx| queue::postpone(tx, &kept, at(500))));
    let lost = leased.lease;
    assert!(!change(&store, move |tx| queue::postpone(tx, &lost, at(900))), "it is let go once");
    assert!(change(&store, |tx| lease(tx, 499)).is_empty());
    let again = change(&store, |tx| lease(tx, 500)).remove(0);
    assert_eq!(again.attempts, 1, "waiting is no attempt");
    let kept = again.lease;
    assert!(change(&store, move |tx| queue::postpone(tx, &kept, at(5000))));
    assert_eq!(change(&store, |tx| queue::hasten(tx, Name::Work)), 0, "another queue");
    assert_eq!(change(&store, |tx| queue::hasten(tx, Name::Turns)), 1);
    assert_eq!(change(&store, |tx| lease(tx, 600)).len(), 1);
}

fn held(entered: Entered) -> Lease {
    match entered {
        Entered::Held(lease) => lease,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_known_id_is_not_taken_in_again() {
    let world = World::new();
    let store = world.open();
    let taken = change(&store, |tx| {
        let first = queue::enqueue(tx, &message(1, Name::Turns, "owner"))?;
        let again = queue::enqueue(tx, &message(1, Name::Turns, "owner"))?;
        let elsewhere = queue::enqueue_leased(tx, &message(1, Name::Work, "other"), "test", at(60))?;
        let lease = lease(tx, 0)?.remove(0).lease;
        let acked = queue::ack(tx, &lease, "test")?;
        // It is gone from the queue and known all the same, until that is forgotten.
        let processed = queue::enqueue(tx, &message(1, Name::Turns, "owner"))?;
        let n_forgotten = queue::forget_processed(tx, at(1))?;
        let forgotten = queue::enqueue(tx, &message(1, Name::Turns, "owner"))?;
        Ok((first, again, elsewhere, acked, processed, n_forgotten, forgotten))
    });
    assert_eq!(taken, (true, false, Entered::Known, true, false, 1, true));
}

#[test]
fn processed_marks_belong_to_a_consumer() {
    let world = World::new();
    let store = world.open();
    let marks = change(&store, |tx| {
        let marked = [queue::mark_processed(tx, "a", &id(1))?, queue::mark_processed(tx, "a", &id(1))?];
        Ok((marked, [queue::has_processed(tx, "a", &id(1))?, queue::has_processed(tx, "b", &id(1))?]))
    });
    assert_eq!(marks, ([true, false], [true, false]));
}

#[test]
fn what_comes_behind_others_waits_for_them() {
    let world = World::new();
    let store = world.open();
    let (second, other, first, left) = change(&store, |tx| {
        let first = held(queue::enqueue_leased(tx, &message(1, Name::Turns, "owner"), "test", at(60))?);
        let second = queue::enqueue_leased(tx, &message(2, Name::Turns, "owner"), "test", at(60))?;
        let other = queue::enqueue_leased(tx, &message(3, Name::Turns, "guest"), "test", at(60))?;
        let nothing = lease(tx, 0)?;
        assert!(nothing.is_empty(), "{nothing:?}");
        let next = message(4, Name::Waiting, "/srv");
        let first = queue::ack_and_enqueue(tx, &first, "test", &next)?;
        let left = lease(tx, 0)?;
        Ok((second, other, first, left))
    });
    assert_eq!(second, Entered::Behind);
    held(other);
    assert!(first);
    let [left] = &left[..] else { panic!("{left:?}") };
    assert_eq!((&left.lease.message, left.attempts, left.trace.clone()), (&id(2), 1, id(0)));
    assert_eq!((left.body.clone(), left.kind, left.key.as_str()), (json!({ "n": 2 }), Kind::UserMessage, "owner"));
}

#[test]
fn what_waits_for_a_decision_is_taken_together() {
    let world = World::new();
    let store = world.open();
    let (taken, again, processed) = change(&store, |tx| {
        for (n, key) in [(2, "/srv/a"), (1, "/srv/a"), (3, "/srv/b")] {
            queue::enqueue(tx, &message(n, Name::Waiting, key))?;
        }
        let taken = queue::take_key(tx, Name::Waiting, "/srv/a", "test")?;
        let again = queue::take_key(tx, Name::Waiting, "/srv/a", "test")?;
        Ok((taken, again, queue::has_processed(tx, "test", &id(1))?))
    });
    assert_eq!(taken, [message(2, Name::Waiting, "/srv/a"), message(1, Name::Waiting, "/srv/a")]);
    assert!(again.is_empty() && processed);
}

#[test]
fn a_message_that_fails_again_and_again_is_put_aside_and_can_be_revived() {
    let world = World::new();
    let store = world.open();
    let (waits, dead, rest, revived) = change(&store, |tx| {
        queue::enqueue(tx, &message(1, Name::Turns, "owner"))?;
        queue::enqueue(tx, &message(2, Name::Turns, "owner"))?;
        let mut now = 0;
        let mut waits = Vec::new();
        loop {
            let leased = lease(tx, now)?.remove(0);
            match queue::nack(tx, &leased.lease, at(now), BACKOFF)? {
                Nacked::Again { at: due } => {
                    waits.push(due.since(at(now)).as_secs());
                    assert_eq!(lease(tx, now)?, [], "it is not due yet, and the next one comes after it");
                    assert_eq!(queue::next_due(tx, Name::Turns)?, Some(due));
                    now += i64::try_from(due.since(at(now)).as_secs()).unwrap();
                }
                Nacked::Dead => break,
                Nacked::NotHeld => panic!("nobody else is here"),
            }
        }
        let dead = queue::dead(tx, &Scope::Owner)?;
        let revived = [queue::revive(tx, &id(1))?, queue::revive(tx, &id(1))?, queue::revive(tx, &id(9))?];
        let mut rest = Vec::new();
        while let Some(leased) = lease(tx, now)?.pop() {
            rest.push((leased.lease.message.clone(), leased.attempts));
            queue::ack(tx, &leased.lease, "test")?;
        }
        Ok((waits, dead, rest, revived))
    });
    assert_eq!(waits, [1, 2, 4, 5]);
    let [dead] = &dead[..] else { panic!("{dead:?}") };
    assert_eq!((&dead.message, dead.attempts, dead.body.clone()), (&id(1), queue::ATTEMPTS_MAX, json!({ "n": 1 })));
    assert_eq!(revived, [true, false, false]);
    // It comes back behind what was there meanwhile.
    assert_eq!(rest, [(id(2), 1), (id(1), 1)]);
}

#[test]
fn who_was_too_slow_is_fenced_off() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| {
        let slow = held(queue::enqueue_leased(tx, &message(1, Name::Turns, "owner"), "test", at(60))?);
        assert!(queue::heartbeat(tx, &slow, at(100))?);
        assert_eq!(lease(tx, 99)?, []);
        let quick = lease(tx, 100)?.remove(0);
        assert_eq!((&quick.lease.message, quick.attempts), (&id(1), 2));
        assert!(!queue::heartbeat(tx, &slow, at(200))?);
        assert!(!queue::ack(tx, &slow, "test")?);
        assert!(!queue::ack_and_enqueue(tx, &slow, "test", &message(2, Name::Waiting, "/srv"))?);
        assert_eq!(queue::nack(tx, &slow, at(100), BACKOFF)?, Nacked::NotHeld);
        assert!(queue::take_key(tx, Name::Waiting, "/srv", "test")?.is_empty());
        assert!(!queue::has_processed(tx, "test", &id(1))?);
        assert!(queue::ack(tx, &quick.lease, "test")?);
        assert!(!queue::ack(tx, &quick.lease, "test")?, "once");
        Ok(())
    });
}

#[test]
fn a_start_voids_the_leases_of_the_past() {
    let world = World::new();
    let store = world.open();
    let old = change(&store, |tx| {
        queue::enqueue(tx, &message(2, Name::Turns, "guest"))?;
        Ok(held(queue::enqueue_leased(tx, &message(1, Name::Turns, "owner"), "test", at(60))?))
    });
    drop(store);
    let store = world.open();
    let (n_void, is_acked, taken) = change(&store, move |tx| {
        let n_void = queue::requeue_leased(tx)?;
        Ok((n_void, queue::ack(tx, &old, "test")?, lease(tx, 0)?))
    });
    assert_eq!((n_void, is_acked), (1, false));
    let taken: Vec<_> = taken.into_iter().map(|leased| (leased.lease.message, leased.attempts)).collect();
    assert_eq!(taken, [(id(2), 1), (id(1), 2)]);
}

#[test]
fn a_full_key_says_so_and_leaves_the_others_open() {
    let world = World::new();
    let store = world.open();
    let full = change(&store, |tx| {
        for n in 1..=queue::KEY_MESSAGES_MAX {
            queue::enqueue(tx, &message(n, Name::Turns, "owner"))?;
        }
        queue::enqueue(tx, &message(1001, Name::Turns, "guest"))?;
        Ok(matches!(queue::enqueue(tx, &message(1000, Name::Turns, "owner")), Err(Error::Busy)))
    });
    assert!(full);
}

#[tokio::test]
async fn consumers_are_woken_by_a_commit_and_by_nothing_else() {
    let world = World::new();
    let store = world.open();
    let mut changed = store.queue_changed();
    let undone = store.write_buffered(|tx| {
        queue::enqueue(tx, &message(1, Name::Turns, "owner"))?;
        Err::<Commit<()>, _>(Abort(Error::Busy))
    });
    undone.await.unwrap_err();
    store.write_buffered(|tx| Ok(Commit(silas_store::settings::set(tx, "key", &1)?))).await.unwrap();
    assert!(!changed.has_changed().unwrap());
    let entering = store.write_buffered(|tx| Ok(Commit(queue::enqueue(tx, &message(1, Name::Turns, "owner"))?)));
    entering.await.unwrap();
    assert!(changed.has_changed().unwrap(), "before the answer left");
    changed.mark_unchanged();
    let leasing = store.write_buffered(|tx| Ok(Commit(lease(tx, 0)?.remove(0).lease)));
    let lease = leasing.await.unwrap();
    changed.mark_unchanged();
    store.write_buffered(move |tx| Ok(Commit(queue::ack(tx, &lease, "test")?))).await.unwrap();
    assert!(changed.has_changed().unwrap(), "the next one of its key can be leased now");
    assert_eq!(store.read(|tx| queue::next_due(tx, Name::Turns)).await.unwrap(), None);
}
