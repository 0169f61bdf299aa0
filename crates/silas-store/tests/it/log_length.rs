//! The write-ahead log begins anew under a load that never pauses, and is not checkpointed more often than it is worth.

use crate::world::World;
use silas_store::{Commit, settings};
use std::path::Path;

/// A log that is never overwritten from its start is emptied when it has become this long, whoever has to wait.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// How often the log began anew, as its header counts.
fn n_beginnings(log: &Path) -> u32 {
    let header = std::fs::read(log).unwrap();
    u32::from_be_bytes(header[12..16].try_into().unwrap())
}

#[test]
fn a_log_under_constant_load_begins_anew() {
    let world = World::new();
    let store = world.open();
    let log = world.dir.path().join("agent.sqlite-wal");
    let mut n_writes = 0;
    let mut write = || {
        n_writes += 1;
        let value = format!("{n_writes} {}", "x".repeat(200_000));
        store.write_buffered(move |tx| Ok(Commit(settings::set(tx, "key", &value)?))).wait().unwrap();
    };
    write();
    let before = n_beginnings(&log);
    while n_beginnings(&log) == before {
        write();
        assert!(std::fs::metadata(&log).unwrap().len() < LOG_BYTES_MAX, "it only ever grew");
    }
}
