//! A temporary data directory with a clock and random bytes of its own, and some nouns to fill it with.

use rusqlite::Connection;
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::event::AuditEvent;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::{Clock, Digest, InstallationId, KeyId, Nonce, Random, Timestamp};
use silas_store::{Error, Store};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use tempfile::TempDir;

pub(crate) const NOON: i64 = 1_795_000_000_000_000;

/// Stands still until a test moves it.
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Counts, so that no two fillings are equal and every run is.
pub(crate) struct TestRandom(AtomicU64);

impl Random for TestRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let n = self.0.fetch_add(1, Ordering::SeqCst);
        let digest = Digest::of(&n.to_le_bytes());
        for (byte, random) in bytes.iter_mut().zip(digest.as_bytes().iter().cycle()) {
            *byte = *random;
        }
    }
}

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) random: Arc<TestRandom>,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(TestClock(AtomicI64::new(NOON)));
        World { dir: TempDir::new().unwrap(), clock, random: Arc::new(TestRandom(AtomicU64::new(0))) }
    }

    pub(crate) fn try_open(&self) -> Result<Store, Error> {
        open(self.dir.path(), self.clock.clone(), self.random.clone())
    }

    pub(crate) fn open(&self) -> Store {
        self.try_open().unwrap()
    }

    /// A connection past all rules of the store, as a forger would have it.
    pub(crate) fn forger(&self) -> Connection {
        Connection::open(self.dir.path().join("agent.sqlite")).unwrap()
    }

    pub(crate) fn human_forger(&self) -> Connection {
        Connection::open(self.dir.path().join("db.sqlite")).unwrap()
    }
}

pub(crate) fn open(dir: &Path, clock: Arc<TestClock>, random: Arc<TestRandom>) -> Result<Store, Error> {
    Store::open(dir, random, clock)
}

pub(crate) fn open_like_new(dir: &Path) -> Store {
    let clock = Arc::new(TestClock(AtomicI64::new(NOON)));
    open(dir, clock, Arc::new(TestRandom(AtomicU64::new(0)))).unwrap()
}

/// Keeps the writer busy until the returned sender is used or dropped, so that what is written meanwhile waits together.
pub(crate) fn hold_writer(store: &Store) -> Sender<()> {
    let (release, released) = channel::<()>();
    let (started, is_started) = channel();
    // Dropping the pending answer does not call the closure off.
    drop(store.write_buffered(move |_| {
        started.send(()).ok();
        released.recv().ok();
        Ok(silas_store::Commit(()))
    }));
    is_started.recv().unwrap();
    release
}

pub(crate) fn started(version: &str) -> AuditEvent {
    AuditEvent::StreamStarted { version: version.to_owned() }
}

pub(crate) fn certificate(n: u8) -> Certificate {
    let public = PublicKey::from_bytes([n; 32]);
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: InstallationId::parse("inst-1").unwrap(),
        name: format!("Laptop {n}"),
        key: public.id(),
        public,
        issued_at: Timestamp::from_micros(NOON + i64::from(n)),
        site: None,
    };
    Certificate { body, signature: Signature::ed25519(KeyId::parse("key-root").unwrap(), [n; 64]) }
}

pub(crate) fn offer(kind: Kind, nonce: &str, max_executions: u32) -> Offer {
    Offer {
        v: Offer::VERSION,
        kind,
        scope: kind.scope(),
        installation: InstallationId::parse("inst-1").unwrap(),
        epoch: 1,
        work_item_id: "task-1".to_owned(),
        plan_hash: Digest::of(b"plan"),
        shown: Digest::of(b"card"),
        nonce: Nonce::parse(nonce).unwrap(),
        issued_at: Timestamp::from_micros(NOON),
        expires_at: Timestamp::from_micros(NOON + 300_000_000),
        max_executions,
        approval_strength: Strength::Tap,
        conditions: BTreeMap::new(),
    }
}

pub(crate) fn token(kind: Kind, nonce: &str, max_executions: u32, verdict: Verdict) -> Token {
    let key = certificate(1).body.key;
    let body = offer(kind, nonce, max_executions).answered(key.clone(), verdict);
    Token { body, signature: Signature::ed25519(key, [7; 64]) }
}
