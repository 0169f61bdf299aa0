//! What the server key can say, and that it can decide nothing.

use super::*;
use silas_core::checkpoint::ServerCertificate;
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

/// Whether the root key said so of exactly this key.
fn is_certified_by(key: &ServerKey, certificate: &ServerCertificate, anchor: &Anchor) -> bool {
    certificate.body.public == key.public() && certificate.check(&anchor.root, &anchor.installation).is_ok()
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
    let dressed = |kind, name: &str| CertificateBody {
        v: 1,
        kind,
        installation: world.anchor.installation.clone(),
        name: name.to_owned(),
        key: public.id(),
        public,
        issued_at: Timestamp::EPOCH,
        site: None,
    };
    let refused = |certificate: &Certificate| {
        let (none, when) = (Revocations::default(), When::At(Timestamp::EPOCH));
        evidence::verify_token(&token, certificate, Kind::Plan, &world.anchor, &none, when)
    };
    let by_itself = dressed(DeviceKind::Terminal, "server");
    let signature = keys::sign_text(&world.key.key, &canonical::text(&by_itself).unwrap());
    let not_signed = Err(Refusal::Certificate(Mismatch::Signature));
    assert_eq!(refused(&Certificate { body: by_itself, signature }), not_signed);

    // The root key did sign something about this key. It is no device's certificate, in whatever clothes.
    let vouched = certified(&world);
    assert!(is_certified_by(&world.key, &vouched, &world.anchor));
    assert!(serde_json::from_value::<Certificate>(serde_json::to_value(&vouched).unwrap()).is_err());
    for (kind, name) in [(DeviceKind::Browser, "server"), (DeviceKind::Terminal, "ledger"), (DeviceKind::Browser, "")] {
        let certificate = Certificate { body: dressed(kind, name), signature: vouched.signature.clone() };
        assert_eq!(refused(&certificate), not_signed);
    }
}

fn certified(world: &World) -> ServerCertificate {
    let body = world.key.to_be_certified(&world.anchor, Timestamp::EPOCH, None);
    let signature = keys::sign_text(&SigningKey::from_bytes(&[7; 32]), &body.message().unwrap());
    ServerCertificate { body, signature }
}

#[test]
fn the_roots_word_is_about_one_key_of_one_installation() {
    let world = world();
    let honest = certified(&world);
    let check = |certificate: &ServerCertificate| certificate.check(&world.anchor.root, &world.anchor.installation);
    assert_eq!(check(&honest), Ok(()));
    let changed = |change: &dyn Fn(&mut ServerCertificateBody)| {
        let mut certificate = honest.clone();
        change(&mut certificate.body);
        check(&certificate)
    };
    assert_eq!(changed(&|body| body.v = 2), Err(Mismatch::Version));
    assert_eq!(changed(&|body| body.public = world.anchor.root), Err(Mismatch::Key));
    let other = InstallationId::parse("inst-2").unwrap();
    assert_eq!(changed(&|body| body.installation = other.clone()), Err(Mismatch::Installation));
    assert_eq!(changed(&|body| body.issued_at = Timestamp::from_micros(9)), Err(Mismatch::Signature));
    let another = ServerKey::load_or_make(&world.dir.path().join("another.key")).unwrap();
    assert!(!is_certified_by(&another, &honest, &world.anchor));
}
