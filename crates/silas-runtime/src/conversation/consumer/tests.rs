//! What one look of the consumer does: the living keep their messages, the rest is taken, nothing is done twice.

use super::*;
use crate::running::Holds;
use crate::testing::Zero;
use silas_core::{Clock, MessageId, Scope};
use silas_store::queue::{Entered, Kind, NewMessage};
use silas_store::{Abort, Store};

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        noon(0)
    }
}

fn noon(seconds: u64) -> Timestamp {
    Timestamp::from_micros(1_795_000_000_000_000).plus(Duration::from_secs(seconds))
}

fn message(n: u32, queue: Name) -> NewMessage {
    let id = MessageId::parse(&format!("msg-{n}")).unwrap();
    let body = serde_json::json!({ "text": "hello" });
    NewMessage {
        id: id.clone(),
        queue,
        scope: Scope::Owner,
        key: n.to_string(),
        kind: Kind::UserMessage,
        body,
        trace: id,
    }
}

fn change<T: Send + 'static>(
    store: &Store,
    mut f: impl FnMut(&mut Tx<'_>) -> Result<T, silas_store::Error> + Send + 'static,
) -> T {
    store.write_buffered(move |tx| f(tx).map(Commit).map_err(Abort)).wait().unwrap()
}

fn enter(store: &Store, n: u32, queue: Name) -> Lease {
    let entered = change(store, move |tx| queue::enqueue_leased(tx, &message(n, queue), HOLDER, noon(0).plus(LEASE)));
    match entered {
        Entered::Held(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn taken(leased: Vec<Leased>) -> Vec<String> {
    leased.into_iter().map(|leased| leased.lease.message.to_string()).collect()
}

#[test]
fn who_is_alive_keeps_its_message_and_who_let_go_loses_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Arc::new(Zero), Arc::new(Noon)).unwrap();
    let holds = Holds::default();
    let alive = holds.take(enter(&store, 1, Name::Work));
    drop(holds.take(enter(&store, 2, Name::Work)));
    assert_eq!(holds.all(), [alive.lease().clone()]);

    let late = LEASE.as_secs();
    let held = holds.all();
    let due = change(&store, move |tx| take_due(tx, &held, noon(late)));
    assert_eq!((taken(due.work), taken(due.turns)), (vec!["msg-2".to_owned()], vec![]));
    let lease = alive.lease().clone();
    assert!(change(&store, move |tx| queue::ack(tx, &lease, WORK)), "it was prolonged, not taken away");
}

#[test]
fn what_has_its_effect_already_is_only_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Arc::new(Zero), Arc::new(Noon)).unwrap();
    let (due, again) = change(&store, |tx| {
        for n in [1, 2, 3] {
            queue::enqueue(tx, &message(n, Name::Turns))?;
        }
        queue::mark_processed(tx, TURN, &message(1, Name::Turns).id)?;
        // Another consumer's mark says nothing about this one.
        queue::mark_processed(tx, WORK, &message(2, Name::Turns).id)?;
        Ok((take_due(tx, &[], noon(0))?, queue::next_due(tx, Name::Turns)?))
    });
    assert_eq!(taken(due.turns), ["msg-2", "msg-3"]);
    assert_eq!(again, Some(noon(0).plus(LEASE)));
}
