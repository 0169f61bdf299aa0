//! Which server key may say what: the current one everything, an old one only what it saw.

use super::*;
use crate::checkpoint::{Purpose, Replaced, ServerCertificateBody, StatementBody};
use crate::signature::Signature;
use crate::{Digest, Timestamp, canonical};
use ed25519_dalek::{Signer as _, SigningKey};
use proptest::prelude::*;

const ROOT: u8 = 1;

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(seed: u8) -> PublicKey {
    PublicKey::from_bytes(secret(seed).verifying_key().to_bytes())
}

fn sign(seed: u8, message: &str) -> Signature {
    Signature::ed25519(public(seed).id(), secret(seed).sign(message.as_bytes()).to_bytes())
}

fn installation() -> InstallationId {
    InstallationId::parse("inst-1").unwrap()
}

fn head(seq: u64) -> Head {
    Head { seq, hash: Digest::of(&seq.to_le_bytes()) }
}

fn certificate(seed: u8, replaces: Option<(u8, u64)>) -> ServerCertificate {
    let body = ServerCertificateBody {
        v: ServerCertificateBody::VERSION,
        purpose: Purpose::Ledger,
        installation: installation(),
        key: public(seed).id(),
        public: public(seed),
        issued_at: Timestamp::EPOCH,
        replaces: replaces.map(|(old, seq)| Replaced { key: public(old).id(), last: head(seq) }),
    };
    ServerCertificate { signature: sign(ROOT, &body.message().unwrap()), body }
}

fn said(seed: u8, seq: u64) -> Statement {
    let (claim, installation) = (Claim::Checkpoint, installation());
    let body = StatementBody { v: 1, claim, installation, epoch: 1, head: head(seq), at: Timestamp::EPOCH };
    Statement { signature: sign(seed, &body.message().unwrap()), body }
}

fn checked(certificates: &[ServerCertificate]) -> Result<ServerKeys, Mismatch> {
    ServerKeys::checked(certificates, &public(ROOT), &installation())
}

/// Three keys; the first was replaced at entry 100, the second at 200.
fn three() -> Vec<ServerCertificate> {
    vec![certificate(2, None), certificate(3, Some((2, 100))), certificate(4, Some((3, 200)))]
}

#[test]
fn an_old_key_vouches_for_what_it_saw_and_nothing_after() {
    let keys = checked(&three()).unwrap();
    assert!(keys.is_vouched() && keys.current() == public(4) && keys.ids().len() == 3);
    assert_eq!(keys.pinned().collect::<Vec<_>>(), [head(100), head(200)]);
    let judge = |seed, seq| keys.judge(&said(seed, seq), Claim::Checkpoint, &installation());
    for (seed, seq, expected) in [
        (2, 100, Ok(())),
        (2, 101, Err(Unfit::Replaced { at: 100 })),
        (3, 1, Ok(())),
        (3, 200, Ok(())),
        (3, 201, Err(Unfit::Replaced { at: 200 })),
        (4, 1, Ok(())),
        (4, 999, Ok(())),
        (5, 1, Err(Unfit::NotOurs)),
    ] {
        assert_eq!(judge(seed, seq), expected, "key {seed} about entry {seq}");
    }
    let elsewhere = InstallationId::parse("inst-2").unwrap();
    assert_eq!(keys.judge(&said(4, 1), Claim::Checkpoint, &elsewhere), Err(Unfit::NotOurs));
    assert_eq!(keys.judge(&said(4, 1), Claim::VerifiedPrefix, &installation()), Err(Unfit::NotOurs));
    assert!(!ServerKeys::only(public(4)).is_vouched());
}

#[test]
fn a_succession_has_no_gap_and_no_way_back() {
    assert_eq!(checked(&[]), Err(Mismatch::Key));
    assert_eq!(checked(&three()[1..]), Err(Mismatch::Order), "the first is missing");
    assert_eq!(checked(&[three()[0].clone(), three()[2].clone()]), Err(Mismatch::Order), "one in between is missing");
    assert_eq!(checked(&[certificate(2, None), certificate(3, None)]), Err(Mismatch::Order));
    let back = [certificate(2, None), certificate(3, Some((2, 100))), certificate(4, Some((3, 99)))];
    assert_eq!(checked(&back), Err(Mismatch::Order), "an earlier entry");
    let again = [certificate(2, None), certificate(3, Some((2, 100))), certificate(2, Some((3, 200)))];
    assert_eq!(checked(&again), Err(Mismatch::Order), "a key that was left stays left");
    assert_eq!(checked(&[certificate(2, Some((2, 1)))]), Err(Mismatch::Key));
    let other_root = ServerKeys::checked(&three(), &public(9), &installation());
    assert_eq!(other_root, Err(Mismatch::Signature));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_mutation_of_a_certificate_counts(within: prop::sample::Index, bit in 0u8..7) {
        let honest = certificate(3, Some((2, 100)));
        let mut bytes = canonical::text(&honest).unwrap().into_bytes();
        let n = within.index(bytes.len());
        bytes[n] ^= 1 << bit;
        if let Ok(altered) = serde_json::from_slice::<ServerCertificate>(&bytes)
            && altered != honest
        {
            let refused = altered.check(&public(ROOT), &installation()).unwrap_err();
            prop_assert!(!refused.to_string().is_empty());
        }
    }
}
