//! What trust costs on this machine: checking and spending an approval beside a bare signature check, writing and checking
//! the ledger beside a bare hash. All in one run, so that the lines can be compared.
//!
//! Prints numbers and judges none; machines differ, and the same one differs from hour to hour.

mod owner;

use anyhow::{Context, Result, ensure};
use ed25519_dalek::VerifyingKey;
use owner::{Owner, Standing};
use sha2::{Digest as _, Sha256};
use silas_approval::Engine;
use silas_core::event::AuditEvent;
use silas_core::evidence::{self, When};
use silas_core::token::Kind;
use silas_core::{Clock, Random, Timestamp, TokenId, chain};
use silas_store::audit::{self, Extent};
use silas_store::{Commit, Store, ledger, tokens};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long each line is measured.
const SPAN: Duration = Duration::from_secs(2);
const CLIENTS: usize = 64;
/// Entries of the ledger that is read again.
const ENTRIES: u64 = 50_000;

fn main() -> Result<()> {
    // The directory decides which disk is measured; the default one for temporary files may be in memory.
    let place = match std::env::args_os().nth(1) {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir_in(std::env::current_dir()?)?,
    };
    let store = Store::open(&place.path().join("store"), Arc::new(NoRandom), Arc::new(SystemClock))?;
    let owner = Owner::new();
    let engine = Engine::new(owner.anchor(), Arc::new(SystemClock), Arc::new(Counter(AtomicU64::new(0))));
    println!("{:<58} {:>10} {:>10}", "", "per second", "µs each");
    approvals(&owner, &engine)?;
    spendings(&owner, &engine, &store)?;
    entries(&store)?;
    readings(&owner, &store)
}

fn report(what: &str, n: u64, took: Duration) {
    let per_second = n as f64 / took.as_secs_f64();
    println!("{what:<58} {per_second:>10.0} {:>10.2}", 1e6 / per_second);
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

/// An approval needs two signatures checked: the root's over the device, the device's over the decision.
fn approvals(owner: &Owner, engine: &Engine) -> Result<()> {
    let evidence = owner.evidence(engine, 0)?;
    let message = evidence.token.body.message()?;
    let (public, bytes) = owner.bare(&message);
    let key = VerifyingKey::from_bytes(&public)?;
    let signature = ed25519_dalek::Signature::from_bytes(&bytes);
    measure("Ed25519, strict, one signature over a decision", |_| {
        Ok(key.verify_strict(black_box(message.as_bytes()), &signature)?)
    })?;
    let anchor = owner.anchor();
    let now = SystemClock.now();
    measure("evidence: two signatures, hashes, times", |_| {
        let verified =
            evidence::verify(black_box(&evidence), Kind::HouseRules, &anchor, &Default::default(), When::At(now));
        verified.map(drop).context("the evidence holds")
    })
}

fn spendings(owner: &Owner, engine: &Engine, store: &Store) -> Result<()> {
    for (what, clients) in [("spend, 1 client, durable", 1), ("spend, 64 clients, durable, grouped", CLIENTS)] {
        let started = Instant::now();
        let spent = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let client = |n: usize| {
                while started.elapsed() < SPAN {
                    let token = keep(owner, engine, store, (clients * 1000 + n) as u64)?;
                    for _ in 0..owner::USES {
                        if started.elapsed() >= SPAN {
                            break;
                        }
                        spend(engine, store, &token)?;
                        spent.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Ok(())
            };
            let threads: Vec<_> = (0..clients).map(|n| scope.spawn(move || client(n))).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a client panicked"))))
        })?;
        report(what, spent.load(Ordering::Relaxed), started.elapsed());
    }
    Ok(())
}

/// A standing approval on record.
fn keep(owner: &Owner, engine: &Engine, store: &Store, n: u64) -> Result<TokenId> {
    let evidence = owner.evidence(engine, n)?;
    let id = evidence.token.id()?;
    let kept = id.clone();
    let keeping = store.write_buffered(move |tx| {
        if tokens::insert(tx, &evidence.token, &evidence.certificate, &evidence.payload, None)? {
            let key = evidence.token.body.key.clone();
            tx.record(&AuditEvent::HouseRulesSigned { token: kept.clone(), key })?;
        }
        Ok(Commit(()))
    });
    keeping.wait()?;
    Ok(id)
}

fn spend(engine: &Engine, store: &Store, token: &TokenId) -> Result<()> {
    let (engine, token) = (engine.clone(), token.clone());
    let spending = store.write(move |tx| Ok(Commit(engine.authorize(tx, &token, Standing)?.is_ok())));
    ensure!(spending.wait()?, "a use that was left was refused");
    Ok(())
}

fn event(n: u64) -> AuditEvent {
    AuditEvent::StreamStarted { version: format!("0.1.0, and about as long as most entries are {n:>20}") }
}

/// An entry costs a canonical text, a hash and a row.
fn entries(store: &Store) -> Result<()> {
    let body = silas_core::canonical::text(&event(0))?;
    let hashed = format!(r#"["v1","ledger",1000,"2026-01-01T00:00:00.000000Z","{body}","{}"]"#, chain::first_prev());
    measure("SHA-256 of the bytes of one entry", |_| {
        black_box(Sha256::digest(black_box(hashed.as_bytes())));
        Ok(())
    })?;
    measure("hash of one entry, with its canonical text", |n| {
        black_box(chain::hash(n, Timestamp::EPOCH, black_box(&body), &chain::first_prev())?);
        Ok(())
    })?;
    measure("append, 1 client, durable", |n| {
        store.write(move |tx| Ok(Commit(tx.record(&event(n))?))).wait()?;
        Ok(())
    })?;
    let started = Instant::now();
    for batch in 0..ENTRIES / 1000 {
        let appending = store.write_buffered(move |tx| {
            (0..1000).try_for_each(|n| tx.record(&event(batch * 1000 + n)).map(drop))?;
            Ok(Commit(()))
        });
        appending.wait()?;
    }
    report("append, 1,000 in a transaction, buffered", ENTRIES, started.elapsed());
    Ok(())
}

fn readings(owner: &Owner, store: &Store) -> Result<()> {
    let started = Instant::now();
    let chain = store.read(ledger::verify).wait()?;
    ensure!(chain.broken.is_none(), "the ledger holds");
    report("verify the chain", chain.entries, started.elapsed());
    let keeper = owner.keeper();
    let started = Instant::now();
    let audit = store.read(move |tx| audit::audit(tx, &keeper, Extent::Everything)).wait()?;
    ensure!(audit.problem().is_none(), "{:?}", audit.problem());
    report("verify chain, decisions, counts and effects", audit.chain.entries, started.elapsed());
    if let Some(Ok(books)) = audit.books {
        println!("({} decisions, spent {} times, among {} entries)", books.n_decisions, books.n_spent, chain.entries);
    }
    Ok(())
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Nothing here needs secrets; salts may be equal.
struct NoRandom;

impl Random for NoRandom {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// Nonces that differ.
struct Counter(AtomicU64);

impl Random for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        let n = self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        for (byte, n) in bytes.iter_mut().zip(n.iter().cycle()) {
            *byte = *n;
        }
    }
}
