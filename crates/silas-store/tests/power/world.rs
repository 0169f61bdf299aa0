//! A clock that moves by itself, random bytes of a seed, and a token to spend.

use power_loss::Chance;
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::{Clock, Digest, InstallationId, KeyId, Nonce, Random, Timestamp};
use silas_store::{Error, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub(crate) const NOON: i64 = 1_795_000_000_000_000;
const DEFAULT_SEED: u64 = 20_261_115;

/// What the campaigns of this run follow from.
pub(crate) fn seed() -> u64 {
    match std::env::var("SILAS_SEED") {
        Ok(seed) => seed.parse().expect("SILAS_SEED is a number"),
        Err(_) => DEFAULT_SEED,
    }
}

/// The same, said where nothing else says it.
pub(crate) fn announced_seed() -> u64 {
    let seed = seed();
    println!("seed {seed}; repeat with SILAS_SEED={seed}");
    seed
}

pub(crate) fn is_soak() -> bool {
    std::env::var_os("SILAS_SOAK").is_some()
}

/// In memory where there is such a place: images are many, and nothing here asks the real disk.
pub(crate) fn place() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let inside = if memory.is_dir() { memory } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("silas-power-").tempdir_in(&inside).or_else(|_| TempDir::new()).unwrap()
}

/// Ticks with every look, unless it is set.
pub(crate) struct TickingClock(pub(crate) AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

struct SeededRandom(Mutex<Chance>);

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let mut chance = self.0.lock().unwrap();
        bytes.fill_with(|| chance.number() as u8);
    }
}

pub(crate) fn open(dir: &Path, seed: u64) -> Result<Store, Error> {
    open_at(dir, seed, Arc::new(TickingClock(AtomicI64::new(NOON))))
}

pub(crate) fn open_at(dir: &Path, seed: u64, clock: Arc<TickingClock>) -> Result<Store, Error> {
    Store::open(dir, Arc::new(SeededRandom(Mutex::new(Chance::new(seed)))), clock)
}

pub(crate) fn certificate() -> Certificate {
    let public = PublicKey::from_bytes([1; 32]);
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: InstallationId::parse("inst-1").unwrap(),
        name: "Laptop".to_owned(),
        key: public.id(),
        public,
        issued_at: Timestamp::from_micros(NOON),
        site: None,
    };
    Certificate { body, signature: Signature::ed25519(KeyId::parse("key-root").unwrap(), [1; 64]) }
}

pub(crate) fn token(nonce: &str, max_executions: u32) -> Token {
    let offer = Offer {
        v: Offer::VERSION,
        kind: Kind::Plan,
        scope: Kind::Plan.scope(),
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
    };
    let key = certificate().body.key;
    Token { body: offer.answered(key.clone(), Verdict::Approved), signature: Signature::ed25519(key, [7; 64]) }
}
