//! The decisions that are in force: found by an index, verified once, and kept until a decision changes.
//!
//! What was used up, ran out or was taken back is neither read nor verified again, however much of it there is. Kept is what
//! signatures and hashes show, which never changes for the same bytes; what does change, revocation and time, is asked each
//! time ([`Kept::holds`]).

use super::Engine;
use crate::Error;
use silas_core::device::Certificate;
use silas_core::evidence::{self, When};
use silas_core::revocation::Revocations;
use silas_core::token::Kind;
use silas_core::{Digest, KeyId};
use silas_store::{ReadTx, tokens};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the engine has verified. Written by whoever finds something new, read by every check.
#[derive(Default)]
pub(super) struct Verified {
    decisions: Mutex<InForce>,
    devices: Mutex<BTreeMap<KeyId, Certificate>>,
    n_signatures: AtomicU64,
}

/// The decisions of one state of the database, which its mark names.
#[derive(Clone, Default)]
struct InForce {
    mark: Option<i64>,
    kept: Arc<Vec<Arc<Kept>>>,
}

/// A decision whose signatures and content were checked.
pub(super) struct Kept {
    pub(super) kind: Kind,
    pub(super) stored: tokens::Stored,
    /// Whether a device of ours signed exactly this as an approval of this kind.
    is_sound: bool,
}

/// Devices whose certificates are kept in memory; more are verified each time.
const DEVICES_KEPT_MAX: usize = 1000;

impl Kept {
    /// Whether it counts, as far as that changes: not taken back, and where time matters, in time.
    pub(super) fn holds(&self, revocations: &Revocations, when: When) -> bool {
        let token = &self.stored.token;
        self.is_sound && revocations.allow(token).is_ok() && evidence::check_times(&token.body.offer, when).is_ok()
    }
}

/// A directory or a model stays allowed after its decision was used; everything else is used up or runs out.
pub(super) fn stays(kind: Kind) -> bool {
    match kind {
        Kind::Root | Kind::Model => true,
        Kind::Plan
        | Kind::HouseRules
        | Kind::Rehearsal
        | Kind::Apply
        | Kind::Undo
        | Kind::Budget
        | Kind::Step
        | Kind::Device => false,
    }
}

impl Engine {
    /// Everything that may be in force; whoever relies on one asks [`Kept::holds`].
    pub(super) fn in_force(&self, tx: &ReadTx<'_>) -> Result<Arc<Vec<Arc<Kept>>>, Error> {
        let mark = tokens::mark(tx)?;
        let known = lock(&self.verified.decisions).clone();
        if known.mark == Some(mark) {
            return Ok(known.kept);
        }
        let before: BTreeMap<_, _> = known.kept.iter().map(|kept| (kept.stored.id.clone(), kept)).collect();
        let mut kept = Vec::new();
        for kind in Kind::ALL {
            for stored in self.possible(tx, kind)? {
                kept.push(match before.get(&stored.id) {
                    // Only how often it was used.
                    Some(known) if is_same(&known.stored, &stored) => {
                        Arc::new(Kept { kind, stored, is_sound: known.is_sound })
                    }
                    _ => Arc::new(self.verify(kind, stored)),
                });
            }
        }
        let kept = Arc::new(kept);
        *lock(&self.verified.decisions) = InForce { mark: Some(mark), kept: kept.clone() };
        Ok(kept)
    }

    /// Those of one kind that hold now.
    pub(super) fn holding(&self, tx: &ReadTx<'_>, kind: Kind) -> Result<Vec<Arc<Kept>>, Error> {
        let when = if stays(kind) { When::AlreadyCommitted } else { When::At(self.now(tx)?) };
        let revocations = self.revocations();
        let kept = self.in_force(tx)?;
        Ok(kept.iter().filter(|kept| kept.kind == kind && kept.holds(&revocations, when)).cloned().collect())
    }

    /// Whether the root key vouches for this device, revoked or not. Verified once for the same bytes.
    pub fn vouches_for(&self, certificate: &Certificate) -> bool {
        let key = &certificate.body.key;
        if lock(&self.verified.devices).get(key) == Some(certificate) {
            return true;
        }
        self.verified.n_signatures.fetch_add(1, Ordering::Relaxed);
        let is_ours = certificate.verifies(&self.anchor.root, &self.anchor.installation);
        let mut known = lock(&self.verified.devices);
        if is_ours && (known.len() < DEVICES_KEPT_MAX || known.contains_key(key)) {
            known.insert(key.clone(), certificate.clone());
        }
        is_ours
    }

    /// Signatures of kept decisions and of devices that were verified so far. Work is counted, not timed.
    pub fn n_signatures_verified(&self) -> u64 {
        self.verified.n_signatures.load(Ordering::Relaxed)
    }

    fn possible(&self, tx: &ReadTx<'_>, kind: Kind) -> Result<Vec<tokens::Stored>, Error> {
        Ok(match kind {
            Kind::Root | Kind::Model => tokens::standing(tx, kind)?,
            Kind::Plan | Kind::HouseRules | Kind::Rehearsal | Kind::Apply | Kind::Undo | Kind::Budget => {
                tokens::live(tx, kind, self.now(tx)?)?
            }
            // Signed and used on the spot, what is left of one allows nothing; and what was allowed by the other is a
            // device, and listed as one.
            Kind::Step | Kind::Device => Vec::new(),
        })
    }

    fn verify(&self, kind: Kind, stored: tokens::Stored) -> Kept {
        self.verified.n_signatures.fetch_add(1, Ordering::Relaxed);
        let (token, certificate) = (&stored.token, &stored.certificate);
        let nobody = Revocations::default();
        let verified = evidence::verify_token(token, certificate, kind, &self.anchor, &nobody, When::AlreadyCommitted);
        let is_sound = verified.is_ok_and(|id| id == stored.id)
            && Digest::of(stored.payload.as_bytes()) == token.body.offer.plan_hash;
        Kept { kind, stored, is_sound }
    }
}

fn is_same(known: &tokens::Stored, found: &tokens::Stored) -> bool {
    (&known.token, &known.certificate, &known.payload) == (&found.token, &found.certificate, &found.payload)
}

/// Each of these is written in one assignment, so a panic elsewhere leaves it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
