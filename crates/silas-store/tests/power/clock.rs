//! A clock that is set back, within a life and between two, does not bring the ledger's time back.

use crate::records::put;
use crate::world::{NOON, TickingClock, open_at, place};
use silas_store::ledger;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const HOUR: i64 = 3_600_000_000;

#[test]
fn the_ledgers_time_never_goes_back() {
    let place = place();
    let mut last = None;
    for life in 0..4 {
        // Each life begins a day earlier than the one before, and jumps around from there.
        let begin = NOON - life * 24 * HOUR;
        let clock = Arc::new(TickingClock(AtomicI64::new(begin)));
        let store = open_at(place.path(), 1, clock.clone()).unwrap();
        for (n, jump) in [HOUR, -HOUR, -30 * 24 * HOUR, 2 * HOUR, i64::MIN / 4].into_iter().enumerate() {
            clock.0.store(begin.saturating_add(jump), Ordering::SeqCst);
            store.write(move |tx| put(tx, &format!("key-{life}-{n}-10"))).wait().unwrap();
        }
        let verified = store.read(ledger::verify).wait().unwrap();
        assert_eq!(verified.broken, None);
        let entries = store.read(|tx| ledger::entries(tx, 1, ledger::ENTRIES_MAX)).wait().unwrap();
        assert_eq!(entries.len() as i64, 5 * (life + 1));
        assert!(entries.is_sorted_by_key(|entry| entry.at));
        let now = store.read(ledger::last_time).wait().unwrap();
        assert!(now >= last);
        last = now;
    }
}
