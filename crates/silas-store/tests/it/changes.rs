//! Every change that is kept is counted and told of, in order and without a gap; and which copy of the directory made it.

use crate::world::{World, hold_writer, started};
use silas_core::{Digest, EventId, Random};
use silas_store::{Abort, Change, Commit, Error, Store, ledger, settings, snapshot};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a store tells of its changes from here on.
fn told(store: &Store) -> Arc<Mutex<Vec<Change>>> {
    let told = Arc::<Mutex<Vec<Change>>>::default();
    let hears = told.clone();
    assert!(store.on_change(move |change| hears.lock().unwrap().push(change.clone())));
    told
}

fn numbers(told: &Mutex<Vec<Change>>) -> Vec<u64> {
    told.lock().unwrap().iter().map(|change| change.number).collect()
}

fn set(store: &Store, value: u32) {
    store.write_buffered(move |tx| Ok(Commit(settings::set(tx, "key", &value)?))).wait().unwrap();
}

#[test]
fn what_is_undone_takes_no_number_whoever_shares_the_commit() {
    let world = World::new();
    let store = world.open();
    let told = told(&store);
    set(&store, 1);
    let release = hold_writer(&store);
    let waiting: Vec<_> = (0..4)
        .map(|n| {
            store.write(move |tx| {
                settings::set(tx, "key", &n)?;
                let event = tx.record(&started("1"))?;
                if n % 2 == 0 { Ok(Commit(event)) } else { Err(Abort(Error::Busy)) }
            })
        })
        .collect();
    drop(release);
    let kept: Vec<_> = waiting.into_iter().filter_map(|one| one.wait().ok()).collect();
    // Who changes nothing is no change.
    store.write(|tx| Ok(Commit(ledger::head(tx)?))).wait().unwrap();
    set(&store, 9);
    assert_eq!(numbers(&told), [1, 2, 3, 4]);
    let tables: Vec<_> = told.lock().unwrap()[1].tables.iter().copied().collect();
    assert_eq!(tables, ["ledger", "ledger_ids", "settings"]);
    let named: Vec<_> = kept.iter().map(|one| one.id.clone()).collect();
    assert_eq!(named, [2, 3].map(|number| EventId::nth(store.host(), number, 1)));
    drop(store);

    let store = world.open();
    let told = self::told(&store);
    set(&store, 10);
    assert_eq!(numbers(&told), [5], "and it goes on from there");
    assert!(!store.on_change(|_| ()), "nobody is silenced by another");
    let human = Arc::<Mutex<Vec<Change>>>::default();
    let hears = human.clone();
    store.human().on_change(move |change| hears.lock().unwrap().push(change.clone()));
    crate::saga::settled(&store, 1, &crate::saga::add(1, "a").1);
    assert_eq!(numbers(&human)[0], 1, "each file counts for itself");
    assert_eq!(human.lock().unwrap()[0].host, *store.host());
}

#[test]
fn an_event_is_found_by_its_name_wherever_it_stands() {
    let world = World::new();
    let store = world.open();
    let both = store.write(|tx| Ok(Commit((tx.record(&started("1"))?, tx.record(&started("2"))?))));
    let (first, second) = both.wait().unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!((first.seq, second.seq), (1, 2));
    let place = |event: EventId| store.read(move |tx| ledger::place_of(tx, &event)).wait().unwrap();
    assert_eq!((place(first.id), place(second.id)), (Some(1), Some(2)));
    assert_eq!(place(EventId::parse("event-of-another-ledger").unwrap()), None);
}

#[test]
fn a_copy_a_backup_and_a_restored_directory_are_other_hosts() {
    let world = World::new();
    let store = world.open();
    set(&store, 1);
    let host = store.host().clone();
    let backup = tempfile::TempDir::new().unwrap();
    snapshot::take(world.dir.path(), backup.path()).unwrap();
    drop(store);
    assert_eq!(*world.open().host(), host, "it stays what it is");
    let copy = tempfile::TempDir::new().unwrap();
    for file in snapshot::FILES {
        std::fs::copy(world.dir.path().join(file), copy.path().join(file)).unwrap();
    }
    for other in [backup.path(), copy.path()] {
        let (its, again) = (first_change(other), first_change(other));
        assert_ne!(its.host, host);
        assert_eq!((its.number, again.number), (1, 2), "it counts anew");
        assert_eq!(again.host, its.host);
    }
    assert_ne!(first_change(backup.path()).host, first_change(copy.path()).host);
    let moved = world.dir.path().join("moved");
    std::fs::create_dir(&moved).unwrap();
    for file in snapshot::FILES {
        std::fs::rename(world.dir.path().join(file), moved.join(file)).unwrap();
    }
    assert_eq!(first_change(&moved).host, host, "only its place is another");
}

fn first_change(dir: &Path) -> Change {
    let store = Store::open(dir, Arc::new(OfThePlace::new(dir)), World::new().clock).unwrap();
    let told = told(&store);
    set(&store, 2);
    told.lock().unwrap().remove(0)
}

/// Random bytes that are others in every directory.
struct OfThePlace(Digest, AtomicU64);

impl OfThePlace {
    fn new(dir: &Path) -> Self {
        OfThePlace(Digest::of(dir.as_os_str().as_encoded_bytes()), AtomicU64::new(0))
    }
}

impl Random for OfThePlace {
    fn fill(&self, bytes: &mut [u8]) {
        let n = self.1.fetch_add(1, Ordering::SeqCst);
        let digest = Digest::of(format!("{} {n}", self.0).as_bytes());
        bytes.iter_mut().zip(digest.as_bytes().iter().cycle()).for_each(|(byte, random)| *byte = *random);
    }
}
