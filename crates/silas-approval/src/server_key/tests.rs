//! What the server key can say, and that it can decide nothing.

use super::*;
use silas_core::device::{Certificate, CertificateBody, DeviceKind, Mismatch};
use silas_core::evidence::{self, Refusal, When};
use silas_core::revocation::Revocations;
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::{Digest, InstallationId, Nonce};

struct World {
    dir: tempfile::TempDir,
    key: ServerKey,
    anchor: Anchor,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let key = ServerKey::load_or_make(&dir.path().join("server.key")).unwrap();
    let root = SigningKey::from_bytes(&[7; 32]);
    let root = PublicKey::from_bytes(root.verifying_key().to_bytes());
    let anchor = Anchor { root, installation: InstallationId::parse("inst-1").unwrap(), epoch: 1 };
    World { dir, key, anchor }
}

fn head() -> Head {
    Head { seq: 256, hash: Digest::of(b"entry") }
}

#[test]
fn it_is_made_once() {
    let world = world();
    let again = ServerKey::load_or_make(&world.dir.path().join("server.key")).unwrap();
    assert_eq!(again.public(), world.key.public());
}

#[test]
fn a_statement_fits_its_claim_its_body_and_its_key() {
    let world = world();
    let said = world.key.state(Claim::Checkpoint, &world.anchor, head(), Timestamp::EPOCH).unwrap();
    assert!(said.verifies(&world.key.public(), Claim::Checkpoint));
    assert!(!said.verifies(&world.key.public(), Claim::VerifiedPrefix));
    assert!(!said.verifies(&world.anchor.root, Claim::Checkpoint));
    let mut changed = said.clone();
    changed.body.head.seq += 1;
    assert!(!changed.verifies(&world.key.public(), Claim::Checkpoint));
}

/// INV-01: even with a certificate that it signs for itself, its decision is nobody's.
#[test]
fn it_approves_nothing() {
    let world = world();
    let offer = Offer {
        v: Offer::VERSION,
        kind: Kind::Plan,
        scope: Kind::Plan.scope(),
        installation: world.anchor.installation.clone(),
        epoch: 1,
        work_item_id: "task-1".to_owned(),
        plan_hash: Digest::of(b"plan"),
        shown: Digest::of(b"card"),
        nonce: Nonce::parse("n-1").unwrap(),
        issued_at: Timestamp::EPOCH,
        expires_at: Timestamp::from_micros(1_000_000),
        max_executions: 1,
        approval_strength: Strength::Tap,
        conditions: Default::default(),
    };
    let public = world.key.public();
    let body = offer.answered(public.id(), Verdict::Approved);
    let token = Token { signature: keys::sign_text(&world.key.key, &body.message().unwrap()), body };
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Terminal,
        installation: world.anchor.installation.clone(),
        name: "server".to_owned(),
        key: public.id(),
        public,
        issued_at: Timestamp::EPOCH,
    };
    let signature = keys::sign_text(&world.key.key, &canonical::text(&body).unwrap());
    let certificate = Certificate { body, signature };
    let when = When::At(Timestamp::EPOCH);
    let refused =
        evidence::verify_token(&token, &certificate, Kind::Plan, &world.anchor, &Revocations::default(), when);
    assert_eq!(refused, Err(Refusal::Certificate(Mismatch::Signature)));
}
