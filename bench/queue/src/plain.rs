//! SQLite without us, at the same durability: the least that can be called a queue, and one that promises what ours does.
//!
//! Every producer has a connection of its own. Each step is a transaction of its own, synced by its commit.

use crate::{BODY, Contender, send};
use anyhow::{Result, ensure};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// No ids, no order per key, no fence, no memory of what was done.
pub(crate) fn bare(dir: &Path, n_producers: usize) -> Result<Contender> {
    let producers = Producers::open(
        &dir.join("bare.sqlite"),
        n_producers,
        "CREATE TABLE q (id INTEGER PRIMARY KEY, body TEXT, state INTEGER); CREATE INDEX ready ON q (state, id);",
    )?;
    Ok(Contender::new("plain SQLite, FULL", move |span| {
        send(n_producers, span, |producer| {
            let connection = producers.get(producer)?;
            connection.prepare_cached("INSERT INTO q (body, state) VALUES (?1, 0)")?.execute(params![BODY])?;
            let lease =
                "UPDATE q SET state = 1 WHERE id = (SELECT id FROM q WHERE state = 0 ORDER BY id LIMIT 1) RETURNING id";
            let id: i64 = connection.prepare_cached(lease)?.query_row([], |row| row.get(0))?;
            connection.prepare_cached("DELETE FROM q WHERE id = ?1")?.execute(params![id])?;
            Ok(())
        })
    }))
}

const ALIKE: &str = "
    CREATE TABLE q (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, body TEXT NOT NULL,
        holder TEXT, until INTEGER NOT NULL, attempts INTEGER NOT NULL, fence INTEGER NOT NULL);
    CREATE INDEX q_of_key ON q (key, seq);
    CREATE TABLE done (id TEXT PRIMARY KEY, at INTEGER NOT NULL);
    CREATE INDEX done_by_age ON done (at);";

/// Refuses what it knows, keeps order within a key, fences off who lost a lease, and remembers what was done.
pub(crate) fn alike(dir: &Path, n_producers: usize) -> Result<Contender> {
    let producers = Producers::open(&dir.join("alike.sqlite"), n_producers, ALIKE)?;
    let n_ids = AtomicI64::new(0);
    Ok(Contender::new("plain SQLite, FULL, promising the same", move |span| {
        send(n_producers, span, |producer| {
            let connection = producers.get(producer)?;
            let now = n_ids.fetch_add(1, Ordering::Relaxed);
            in_transaction(&connection, || put(&connection, &format!("msg-{now}")))?;
            let (id, fence) = in_transaction(&connection, || lease(&connection, now))?;
            in_transaction(&connection, || acknowledge(&connection, &id, fence, now))
        })
    }))
}

fn put(connection: &Connection, id: &str) -> Result<()> {
    let sql = "SELECT 1 FROM q WHERE id = ?1 UNION ALL SELECT 1 FROM done WHERE id = ?1 LIMIT 1";
    let known = connection.prepare_cached(sql)?.query_row([id], |_| Ok(())).optional()?;
    ensure!(known.is_none(), "{id} is new");
    let mut waiting = connection.prepare_cached("SELECT count(*) FROM q WHERE key = ?1")?;
    ensure!(waiting.query_row([id], |row| row.get::<_, u32>(0))? < 256, "no key is full here");
    let sql = "INSERT INTO q (id, key, body, until, attempts, fence) VALUES (?1, ?1, ?2, 0, 0, 0)";
    connection.prepare_cached(sql)?.execute(params![id, BODY])?;
    Ok(())
}

fn lease(connection: &Connection, now: i64) -> Result<(String, i64)> {
    let sql = "UPDATE q SET holder = 'bench', until = ?1 + 1000000, attempts = attempts + 1, fence = fence + 1
         WHERE seq = (SELECT seq FROM q AS m WHERE until <= ?1 AND NOT EXISTS
             (SELECT 1 FROM q AS earlier WHERE earlier.key = m.key AND earlier.seq < m.seq) ORDER BY seq LIMIT 1)
         RETURNING id, fence";
    Ok(connection.prepare_cached(sql)?.query_row(params![now], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

fn acknowledge(connection: &Connection, id: &str, fence: i64, now: i64) -> Result<()> {
    let sql = "DELETE FROM q WHERE id = ?1 AND holder = 'bench' AND fence = ?2";
    ensure!(connection.prepare_cached(sql)?.execute(params![id, fence])? == 1, "the lease of {id} is ours");
    connection.prepare_cached("INSERT INTO done (id, at) VALUES (?1, ?2)")?.execute(params![id, now])?;
    Ok(())
}

fn in_transaction<T>(connection: &Connection, run: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let done = run()?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(done)
}

struct Producers(Vec<Mutex<Connection>>);

impl Producers {
    fn open(path: &Path, n_producers: usize, schema: &str) -> Result<Self> {
        let open = || -> Result<Connection> {
            let connection = Connection::open(path)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.busy_timeout(Duration::from_secs(30))?;
            Ok(connection)
        };
        open()?.execute_batch(schema)?;
        Ok(Producers((0..n_producers).map(|_| open().map(Mutex::new)).collect::<Result<_>>()?))
    }

    fn get(&self, producer: usize) -> Result<MutexGuard<'_, Connection>> {
        self.0[producer].lock().map_err(|_| anyhow::anyhow!("a producer panicked"))
    }
}
