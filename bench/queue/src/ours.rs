//! Our queue, waited for on plain threads and awaited in async tasks.

use crate::{BODY, Contender, Turn, send};
use anyhow::{Context, Result, ensure};
use silas_core::{Clock, MessageId, Random, Timestamp};
use silas_store::queue::{self, Kind, Lease, Name, NewMessage};
use silas_store::{Abort, Commit, Store, Tx};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn contenders(dir: &Path, n_producers: usize) -> Result<[Contender; 2]> {
    let store = Store::open(&dir.join("waited"), Arc::new(NoRandom), Arc::new(SystemClock))?;
    let ids = AtomicU64::new(0);
    let waited = Contender::new("silas, durable", move |span| {
        let known = (store.n_durable_commits(), ids.load(Ordering::Relaxed));
        let turn = send(n_producers, span, |_| {
            let message = message(ids.fetch_add(1, Ordering::Relaxed))?;
            store.write_and_wait(move |tx| put(tx, &message))?;
            let lease = store.write_and_wait(lease)?.context("a message that was put can be leased")?;
            ensure!(store.write_and_wait(move |tx| acknowledge(tx, &lease))?, "a lease that nobody took is ours");
            Ok(())
        })?;
        ensure_synced(n_producers, store.n_durable_commits() - known.0, ids.load(Ordering::Relaxed) - known.1)?;
        Ok(turn)
    });
    let store = Store::open(&dir.join("awaited"), Arc::new(NoRandom), Arc::new(SystemClock))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let ids = Arc::new(AtomicU64::new(0));
    let awaited = Contender::new("silas, durable, awaited", move |span| {
        let started = Instant::now();
        let known = (store.n_durable_commits(), ids.load(Ordering::Relaxed));
        let tasks: Vec<_> = (0..n_producers)
            .map(|_| {
                let (store, ids) = (store.clone(), ids.clone());
                runtime.spawn(async move {
                    loop {
                        let message = message(ids.fetch_add(1, Ordering::Relaxed))?;
                        store.write(move |tx| put(tx, &message)).await?;
                        let lease = store.write(lease).await?.context("a message that was put can be leased")?;
                        let acknowledged = store.write(move |tx| acknowledge(tx, &lease)).await?;
                        ensure!(acknowledged, "a lease that nobody took is ours");
                        if started.elapsed() >= span {
                            return Ok(());
                        }
                    }
                })
            })
            .collect();
        tasks.into_iter().try_for_each(|task| runtime.block_on(task)?)?;
        let n_messages = ids.load(Ordering::Relaxed) - known.1;
        let turn = Turn { n_messages, secs: started.elapsed().as_secs_f64(), secs_in_line: None };
        ensure_synced(n_producers, store.n_durable_commits() - known.0, n_messages)?;
        Ok(turn)
    });
    Ok([waited, awaited])
}

/// With one producer there is nobody to share a sync with.
fn ensure_synced(n_producers: usize, n_commits: u64, n_messages: u64) -> Result<()> {
    ensure!(n_producers > 1 || n_commits == 3 * n_messages, "{n_commits} commits for {n_messages} messages");
    Ok(())
}

/// A key of its own for each, so that none has to wait for another.
fn message(n: u64) -> Result<NewMessage> {
    let id = MessageId::parse(&format!("msg-{n}"))?;
    Ok(NewMessage {
        trace: id.clone(),
        id,
        queue: Name::Turns,
        scope: silas_core::Scope::Owner,
        key: format!("key-{n}"),
        kind: Kind::UserMessage,
        body: serde_json::json!(BODY),
    })
}

fn put(tx: &mut Tx<'_>, message: &NewMessage) -> Result<Commit<bool>, Abort> {
    Ok(Commit(queue::enqueue(tx, message)?))
}

fn lease(tx: &mut Tx<'_>) -> Result<Commit<Option<Lease>>, Abort> {
    let leased = queue::lease(tx, Name::Turns, "bench", SystemClock.now(), Duration::from_secs(60), 1)?;
    Ok(Commit(leased.into_iter().next().map(|leased| leased.lease)))
}

fn acknowledge(tx: &mut Tx<'_>, lease: &Lease) -> Result<Commit<bool>, Abort> {
    Ok(Commit(queue::ack(tx, lease, "bench")?))
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
