//! What durability costs on this machine: the disk's own floor, plain SQLite, and the store with one client and with many.
//!
//! Prints numbers and judges none; machines differ, and a shared disk differs from second to second. So everybody has a
//! short turn in each of several rounds.

use anyhow::{Context, Result};
use rusqlite::Connection;
use silas_core::{Clock, Random, Timestamp};
use silas_store::{Commit, Durability, Store, Tx, settings};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 10;
const TURN: Duration = Duration::from_millis(200);
const CLIENTS: usize = 64;
/// About as long as the log of plain SQLite gets before it is used again.
const OVERWRITTEN_BLOCKS: u64 = 1000;
/// Rows that the reads look up, in both databases.
const ROWS: u64 = 10_000;
const VALUE: &str = "about a hundred bytes, which is what a setting or a small row of the product has, more or less";

/// A line of the table; gives how often a second it was done in one turn.
type Line = (&'static str, Box<dyn FnMut() -> Result<f64>>);

fn main() -> Result<()> {
    // The directory decides which disk is measured; the default one for temporary files may be in memory.
    let place = match std::env::args_os().nth(1) {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir_in(std::env::current_dir()?)?,
    };
    let raw = Rc::new(RawDatabase::open(&place.path().join("raw.sqlite"))?);
    let store = Store::open(&place.path().join("store"), Arc::new(NoRandom), Arc::new(SystemClock))?;
    fill(&store)?;
    let mut lines = floor(&place.path().join("floor"))?;
    lines.extend(raw.lines());
    lines.extend(store_lines(&store));
    let mut rates = vec![Vec::new(); lines.len()];
    for _ in 0..ROUNDS {
        for ((_, turn), rates) in lines.iter_mut().zip(&mut rates) {
            rates.push(turn()?);
        }
    }
    println!("{:<52} {:>10} {:>10} {:>10} {:>10}", "a second", "min", "median", "max", "µs each");
    for ((what, _), mut rates) in lines.into_iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let (min, median, max) = (rates[0], rates[rates.len() / 2], rates[rates.len() - 1]);
        println!("{what:<52} {min:>10.0} {median:>10.0} {max:>10.0} {:>10.1}", 1e6 / median);
    }
    Ok(())
}

/// Repeats something for a turn.
fn repeat(mut once: impl FnMut() -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    let mut n = 0;
    while started.elapsed() < TURN {
        once()?;
        n += 1;
    }
    Ok(f64::from(n) / started.elapsed().as_secs_f64())
}

/// What one sync costs. Appending also changes the size of the file; a write-ahead log that is used again is overwritten
/// in place and does not, so the second line is the floor of everything durable that is done one at a time.
fn floor(path: &Path) -> Result<Vec<Line>> {
    let mut appended = OpenOptions::new().append(true).create(true).open(path)?;
    let overwritten = OpenOptions::new().write(true).create(true).truncate(true).open(path.with_extension("2"))?;
    overwritten.write_all_at(&vec![0; 4096 * OVERWRITTEN_BLOCKS as usize], 0)?;
    overwritten.sync_all()?;
    let append = move || {
        repeat(|| {
            appended.write_all(&[7; 4096])?;
            Ok(appended.sync_data()?)
        })
    };
    let mut n = 0;
    let overwrite = move || {
        repeat(|| {
            n += 1;
            overwritten.write_all_at(&[n as u8; 4096], n % OVERWRITTEN_BLOCKS * 4096)?;
            Ok(overwritten.sync_data()?)
        })
    };
    Ok(vec![("append 4 KiB + fdatasync", Box::new(append)), ("overwrite 4 KiB + fdatasync", Box::new(overwrite))])
}

struct RawDatabase(Connection);

impl RawDatabase {
    /// Set like the store's writer.
    fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch("CREATE TABLE rows (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")?;
        let raw = RawDatabase(connection);
        raw.0.execute_batch("BEGIN")?;
        (0..ROWS).try_for_each(|n| raw.put(n))?;
        raw.0.execute_batch("COMMIT")?;
        Ok(raw)
    }

    fn put(&self, n: u64) -> Result<()> {
        let sql =
            "INSERT INTO rows (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        self.0.prepare_cached(sql)?.execute([key(n), value(n)])?;
        Ok(())
    }

    fn get(&self, n: u64) -> Result<()> {
        let mut statement = self.0.prepare_cached("SELECT value FROM rows WHERE key = ?1")?;
        let value: String = statement.query_row([key(n)], |row| row.get(0))?;
        std::hint::black_box(value);
        Ok(())
    }

    fn lines(self: Rc<Self>) -> Vec<Line> {
        let writer = self.clone();
        let (mut n_written, mut n_read) = (ROWS, 0);
        let write = move || {
            repeat(|| {
                n_written += 1;
                writer.put(n_written)
            })
        };
        let read = move || {
            repeat(|| {
                n_read += 1;
                self.get(n_read)
            })
        };
        vec![
            ("plain SQLite, one row per transaction, FULL", Box::new(write)),
            ("plain SQLite point reads", Box::new(read)),
        ]
    }
}

fn key(n: u64) -> String {
    format!("key-{}", n % ROWS)
}

/// Never the same twice: writing what is there already changes no page, and SQLite then neither writes nor syncs.
fn value(n: u64) -> String {
    format!("{n:020} {VALUE}")
}

fn fill(store: &Store) -> Result<()> {
    let filling = store.write(|tx| {
        (0..ROWS).try_for_each(|n| settings::set(tx, &key(n), &value(n)))?;
        Ok(Commit(()))
    });
    Ok(filling.wait()?)
}

/// As many threads, each waiting for its answer before it goes on.
fn clients(n_clients: usize, n: &AtomicU64, once: impl Fn(u64) -> Result<()> + Sync) -> Result<f64> {
    let before = n.load(Ordering::Relaxed);
    let started = Instant::now();
    let client = || -> Result<()> {
        while started.elapsed() < TURN {
            once(n.fetch_add(1, Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients).map(|_| scope.spawn(client)).collect();
        clients.into_iter().try_for_each(|client| client.join().ok().context("a client panicked")?)
    })?;
    Ok((n.load(Ordering::Relaxed) - before) as f64 / started.elapsed().as_secs_f64())
}

fn store_lines(store: &Store) -> Vec<Line> {
    let n_written = Arc::new(AtomicU64::new(ROWS));
    let n_syncs = Arc::new(AtomicU64::new(0));
    let write = |n_clients, durability| -> Box<dyn FnMut() -> Result<f64>> {
        let (store, n_written, n_syncs) = (store.clone(), n_written.clone(), n_syncs.clone());
        Box::new(move || {
            let (before, started) = (store.n_durable_commits(), Instant::now());
            let rate = clients(n_clients, &n_written, |n| {
                let (key, value) = (key(n), value(n));
                let change = move |tx: &mut Tx<'_>| Ok(Commit(settings::set(tx, &key, &value)?));
                match durability {
                    Durability::Durable => store.write_and_wait(change)?,
                    Durability::Buffered => store.write_buffered(change).wait()?,
                }
                Ok(())
            })?;
            let n_commits = (store.n_durable_commits() - before) as f64 / started.elapsed().as_secs_f64();
            n_syncs.store(n_commits as u64, Ordering::Relaxed);
            Ok(rate)
        })
    };
    let read = |n_clients| -> Box<dyn FnMut() -> Result<f64>> {
        let (store, n_read) = (store.clone(), AtomicU64::new(0));
        Box::new(move || {
            clients(n_clients, &n_read, |n| {
                let key = key(n);
                let value: Option<String> = store.read(move |tx| settings::get(tx, &key)).wait()?;
                value.context("every key has a value")?;
                Ok(())
            })
        })
    };
    let synced = {
        let n_syncs = n_syncs.clone();
        // The disk's floor bounds these, however many changes share one.
        move || Ok(n_syncs.load(Ordering::Relaxed) as f64)
    };
    vec![
        ("store, 1 client, durable", write(1, Durability::Durable)),
        ("store, 64 clients, durable, grouped", write(CLIENTS, Durability::Durable)),
        ("    commits that were synced", Box::new(synced)),
        ("store, 1 client, buffered", write(1, Durability::Buffered)),
        ("store, 64 clients, buffered, grouped", write(CLIENTS, Durability::Buffered)),
        ("store point reads, 1 client", read(1)),
        ("store point reads, 64 clients", read(CLIENTS)),
    ]
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
