//! Put, lease and acknowledge, each durable by itself: our queue beside plain SQLite and, given a Python that has them,
//! beside litequeue, huey and persist-queue, all in one run and on one disk.
//!
//! Prints numbers and judges none. A line counts whole messages: three synced steps each.

use anyhow::{Context, Result};
use rusqlite::{Connection, params};
use silas_core::{Clock, MessageId, Random, Timestamp};
use silas_store::queue::{self, Kind, Name, NewMessage};
use silas_store::{Commit, Store};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long each line is measured.
const SPAN: Duration = Duration::from_secs(3);
const PRODUCERS: usize = 16;
const BODY: &str = "about a hundred bytes, which is what a message or a small row of the product has, more or less";
/// The peers, at the same durability; handed to Python as they stand.
const PEERS: &str = include_str!("../peers.py");

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let place = tempfile::tempdir_in(args.next().map_or_else(std::env::current_dir, Ok)?)?;
    println!("{:<44} {:>12}", "", "messages/s");
    sync_floor(&place.path().join("floor"))?;
    for n_producers in [1, PRODUCERS] {
        plain(&place.path().join(format!("plain-{n_producers}.sqlite")), n_producers)?;
        ours(&place.path().join(format!("store-{n_producers}")), n_producers)?;
    }
    match args.next() {
        Some(python) => peers(&python, place.path()),
        None => {
            println!("(litequeue, huey and persist-queue: name a Python that has them as the second argument)");
            Ok(())
        }
    }
}

/// What the disk can do at most: three small appends with a sync each.
fn sync_floor(path: &Path) -> Result<()> {
    let mut file = std::fs::File::create(path)?;
    measure("disk: three appends with fdatasync", 1, |_, _| {
        for _ in 0..3 {
            file_append(&mut file.try_clone()?)?;
        }
        Ok(())
    })?;
    file.flush()?;
    Ok(())
}

fn file_append(file: &mut std::fs::File) -> Result<()> {
    file.write_all(&[7; 4096])?;
    Ok(file.sync_data()?)
}

/// The least that a durable queue in SQLite does: no order per key, no fence, no memory of what was done.
fn plain(path: &Path, n_producers: usize) -> Result<()> {
    let open = || -> Result<Connection> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.busy_timeout(Duration::from_secs(30))?;
        Ok(connection)
    };
    open()?.execute_batch(
        "CREATE TABLE q (id INTEGER PRIMARY KEY, body TEXT, state INTEGER); CREATE INDEX ready ON q (state, id);",
    )?;
    let connections: Vec<std::sync::Mutex<Connection>> =
        (0..n_producers).map(|_| open().map(std::sync::Mutex::new)).collect::<Result<_>>()?;
    measure(&format!("plain SQLite, FULL, {n_producers} at once"), n_producers, |producer, _| {
        let connection = connections[producer].lock().map_err(|_| anyhow::anyhow!("a producer failed"))?;
        connection.prepare_cached("INSERT INTO q (body, state) VALUES (?1, 0)")?.execute(params![BODY])?;
        let lease =
            "UPDATE q SET state = 1 WHERE id = (SELECT id FROM q WHERE state = 0 ORDER BY id LIMIT 1) RETURNING id";
        let id: i64 = connection.prepare_cached(lease)?.query_row([], |row| row.get(0))?;
        connection.prepare_cached("DELETE FROM q WHERE id = ?1")?.execute(params![id])?;
        Ok(())
    })
}

fn ours(path: &Path, n_producers: usize) -> Result<()> {
    let store = Store::open(path, Arc::new(NoRandom), Arc::new(SystemClock))?;
    let known = store.n_durable_commits();
    let started = Instant::now();
    measure(&format!("silas, durable, {n_producers} at once"), n_producers, |producer, n| {
        let id = MessageId::parse(&format!("msg-{n_producers}-{producer}-{n}"))?;
        let message = NewMessage {
            trace: id.clone(),
            id,
            queue: Name::Turns,
            key: format!("{producer}-{n}"),
            kind: Kind::UserMessage,
            body: serde_json::json!(BODY),
        };
        store.write(move |tx| Ok(Commit(queue::enqueue(tx, &message)?))).wait()?;
        let holder = format!("holder-{producer}");
        let leasing = store.write(move |tx| {
            Ok(Commit(queue::lease(tx, Name::Turns, &holder, SystemClock.now(), Duration::from_secs(60), 1)?))
        });
        let leased = leasing.wait()?.pop().context("a message that was put can be leased")?;
        let acked = store.write(move |tx| Ok(Commit(queue::ack(tx, &leased.lease, "bench")?))).wait()?;
        anyhow::ensure!(acked, "a lease that nobody took can be acknowledged");
        Ok(())
    })?;
    let commits = (store.n_durable_commits() - known) as f64 / started.elapsed().as_secs_f64();
    println!("{:<44} {commits:>12.0}", "    synced commits a second");
    Ok(())
}

fn peers(python: &Path, place: &Path) -> Result<()> {
    let run = std::process::Command::new(python)
        .args(["-c", PEERS])
        .arg(place)
        .arg(SPAN.as_secs().to_string())
        .arg(PRODUCERS.to_string())
        .status()
        .context("that Python cannot be started")?;
    anyhow::ensure!(run.success(), "the peers ended with {run}");
    Ok(())
}

/// Repeats something for the span, from as many threads, and reports how often it was done.
fn measure(what: &str, n_threads: usize, once: impl Fn(usize, u64) -> Result<()> + Sync) -> Result<()> {
    let done = AtomicU64::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads)
            .map(|thread| {
                let (once, done) = (&once, &done);
                scope.spawn(move || -> Result<()> {
                    let mut n = 0;
                    while started.elapsed() < SPAN {
                        once(thread, n)?;
                        n += 1;
                    }
                    done.fetch_add(n, Ordering::Relaxed);
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread failed"))?)
    })?;
    let per_second = done.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
    println!("{what:<44} {per_second:>12.0}");
    Ok(())
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
