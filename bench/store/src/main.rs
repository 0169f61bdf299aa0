//! What durability costs on this machine, all in one run so that the lines can be compared: the disk's own floor, plain
//! SQLite, and the store with one client and with many.
//!
//! Prints numbers and judges none; machines differ, and the same one differs from hour to hour.

use anyhow::{Context, Result};
use rusqlite::Connection;
use silas_core::{Clock, Random, Timestamp};
use silas_store::{Commit, Durability, Lane, Store, settings};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long each line is measured.
const SPAN: Duration = Duration::from_secs(2);
const CLIENTS: usize = 64;
/// About as long as the log of plain SQLite gets before it is used again.
const OVERWRITTEN_BLOCKS: u64 = 1000;
/// Rows that the reads look up, in both databases.
const ROWS: u64 = 10_000;
const VALUE: &str = "about a hundred bytes, which is what a setting or a small row of the product has, more or less";

fn main() -> Result<()> {
    // The directory decides which disk is measured; the default one for temporary files may be in memory.
    let place = match std::env::args_os().nth(1) {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir_in(std::env::current_dir()?)?,
    };
    println!("{:<52} {:>10} {:>10}", "", "per second", "µs each");
    sync_floor(&place.path().join("floor"))?;
    let raw = RawDatabase::open(&place.path().join("raw.sqlite"))?;
    raw.writes()?;
    let store = Store::open(&place.path().join("store"), Arc::new(NoRandom), Arc::new(SystemClock))?;
    store_writes(&store, "store, 1 client, durable", 1, Durability::Durable)?;
    store_writes(&store, "store, 64 clients, durable, grouped", CLIENTS, Durability::Durable)?;
    store_writes(&store, "store, 1 client, buffered", 1, Durability::Buffered)?;
    store_writes(&store, "store, 64 clients, buffered, grouped", CLIENTS, Durability::Buffered)?;
    raw.reads()?;
    store_reads(&store, "store point reads, 1 client", 1)?;
    store_reads(&store, "store point reads, 64 clients", CLIENTS)?;
    Ok(())
}

fn report(what: &str, n: u64, took: Duration) {
    let per_second = n as f64 / took.as_secs_f64();
    println!("{what:<52} {per_second:>10.0} {:>10.1}", 1e6 / per_second);
}

/// Repeats something for the span and reports it.
fn measure(what: &str, mut once: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let started = Instant::now();
    let mut n = 0;
    while started.elapsed() < SPAN {
        once(n)?;
        n += 1;
    }
    report(what, n, started.elapsed());
    Ok(())
}

/// What one sync costs. Appending also changes the size of the file; a write-ahead log that is used again is overwritten
/// in place and does not, so the second line is the floor of everything durable that is done one at a time.
fn sync_floor(path: &Path) -> Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    measure("append 4 KiB + fdatasync", |_| {
        file.write_all(&[7; 4096])?;
        Ok(file.sync_data()?)
    })?;
    let file = OpenOptions::new().write(true).open(path)?;
    measure("overwrite 4 KiB + fdatasync", |n| {
        file.write_all_at(&[n as u8; 4096], n % OVERWRITTEN_BLOCKS * 4096)?;
        Ok(file.sync_data()?)
    })
}

struct RawDatabase(Connection);

impl RawDatabase {
    /// Set like the store's writer.
    fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch("CREATE TABLE rows (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")?;
        Ok(RawDatabase(connection))
    }

    fn put(&self, n: u64) -> Result<()> {
        let sql =
            "INSERT INTO rows (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        self.0.prepare_cached(sql)?.execute([key(n), value(n)])?;
        Ok(())
    }

    fn writes(&self) -> Result<()> {
        measure("plain SQLite, one row per transaction, FULL", |n| self.put(n))
    }

    fn reads(&self) -> Result<()> {
        self.0.execute_batch("BEGIN")?;
        (0..ROWS).try_for_each(|n| self.put(n))?;
        self.0.execute_batch("COMMIT")?;
        measure("plain SQLite point reads", |n| {
            let mut statement = self.0.prepare_cached("SELECT value FROM rows WHERE key = ?1")?;
            let value: String = statement.query_row([key(n)], |row| row.get(0))?;
            std::hint::black_box(value);
            Ok(())
        })
    }
}

fn key(n: u64) -> String {
    format!("key-{}", n % ROWS)
}

/// Never the same twice: writing what is there already changes no page, and SQLite then neither writes nor syncs.
fn value(n: u64) -> String {
    format!("{n:020} {VALUE}")
}

/// As many threads, each waiting for its answer before it goes on.
fn clients(what: &str, n_clients: usize, once: impl Fn(u64) -> Result<()> + Sync) -> Result<()> {
    let n = AtomicU64::new(0);
    let started = Instant::now();
    let client = || -> Result<()> {
        while started.elapsed() < SPAN {
            once(n.fetch_add(1, Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients).map(|_| scope.spawn(client)).collect();
        clients.into_iter().try_for_each(|client| client.join().ok().context("a client panicked")?)
    })?;
    report(what, n.into_inner(), started.elapsed());
    Ok(())
}

fn store_writes(store: &Store, what: &str, n_clients: usize, durability: Durability) -> Result<()> {
    let (synced_before, started) = (store.n_durable_commits(), Instant::now());
    clients(what, n_clients, |n| {
        let (key, value) = (key(n), value(n));
        let put = store.write_in(durability, Lane::Interactive, move |tx| Ok(Commit(settings::set(tx, &key, &value)?)));
        Ok(put.wait()?)
    })?;
    // The disk's floor bounds these, however many changes share one.
    let n_synced = (store.n_durable_commits() - synced_before) as f64;
    println!("{:<52} {:>10.0}", "    commits that were synced", n_synced / started.elapsed().as_secs_f64());
    Ok(())
}

fn store_reads(store: &Store, what: &str, n_clients: usize) -> Result<()> {
    clients(what, n_clients, |n| {
        let key = key(n);
        let value: Option<String> = store.read(move |tx| settings::get(tx, &key)).wait()?;
        value.context("the writes above left a value for every key")?;
        Ok(())
    })
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::EPOCH.plus(since_1970)
    }
}

/// Nothing that is measured here asks for random bytes.
struct NoRandom;

impl Random for NoRandom {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}
