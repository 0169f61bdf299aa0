//! Strict checking: a signature that two programs could disagree about is no signature.

use super::*;
use ed25519_dalek::{Signer as _, SigningKey};

fn signed(message: &[u8]) -> (PublicKey, Signature) {
    let secret = SigningKey::from_bytes(&[7; 32]);
    let public = PublicKey::from_bytes(secret.verifying_key().to_bytes());
    (public, Signature::ed25519(public.id(), secret.sign(message).to_bytes()))
}

#[test]
fn a_signature_fits_its_message_and_key_only() {
    let (public, signature) = signed(b"yes");
    assert!(public.verifies(b"yes", &signature));
    assert!(!public.verifies(b"yes ", &signature));
    let other = PublicKey::from_bytes(SigningKey::from_bytes(&[8; 32]).verifying_key().to_bytes());
    assert!(!other.verifies(b"yes", &signature), "it names another key");
    assert!(!other.verifies(b"yes", &Signature { key: other.id(), ..signature.clone() }), "it was made by another key");
    assert!(!public.verifies(b"yes", &Signature { key: other.id(), ..signature }), "both names must agree");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let (public, signature) = signed(b"yes");
    for bit in 0..512 {
        let SignatureBytes::Plain(plain) = signature.sig.clone() else { panic!("an assertion") };
        let mut bytes = *plain;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(!public.verifies(b"yes", &Signature::ed25519(public.id(), bytes)), "bit {bit}");
    }
}

#[test]
fn a_key_of_small_order_signs_nothing() {
    // The neutral point as key and as R, with s = 0: the equation holds for every message.
    let mut neutral = [0u8; 32];
    neutral[0] = 1;
    let mut bytes = [0u8; 64];
    bytes[0] = 1;
    let lax = ed25519_dalek::VerifyingKey::from_bytes(&neutral).unwrap();
    assert!(
        lax.verify(b"anything", &ed25519_dalek::Signature::from_bytes(&bytes)).is_ok(),
        "lax checking lets it pass"
    );
    let public = PublicKey::from_bytes(neutral);
    assert!(!public.verifies(b"anything", &Signature::ed25519(public.id(), bytes)));
}

#[test]
fn a_second_spelling_of_a_signature_is_refused() {
    // s + L is the same number to the equation; a strict reader wants the smaller one.
    const L: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let (public, signature) = signed(b"yes");
    let SignatureBytes::Plain(plain) = signature.sig.clone() else { panic!("an assertion") };
    let mut bytes = *plain;
    let mut carry = 0u16;
    for (byte, l) in bytes[32..].iter_mut().zip(L) {
        let sum = u16::from(*byte) + u16::from(l) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    assert!(!public.verifies(b"yes", &Signature::ed25519(public.id(), bytes)));
}

#[test]
fn a_point_that_is_none_verifies_nothing() {
    let (_, signature) = signed(b"yes");
    let mut bytes = [0u8; 32];
    bytes[0] = 2;
    let public = PublicKey::from_bytes(bytes);
    assert!(!public.verifies(b"yes", &Signature { key: public.id(), ..signature }));
}

#[test]
fn keys_and_signatures_have_one_spelling() {
    let (public, signature) = signed(b"yes");
    let text = String::from(public);
    assert_eq!((PublicKey::try_from(text.clone()).unwrap(), text.len()), (public, 43));
    for other in
        [format!("{text}="), text.replace(['-', '_'], "+"), text[1..].to_owned(), format!("{text}A"), String::new()]
    {
        assert!(other == text || PublicKey::try_from(other.clone()).is_err(), "{other}");
    }
    // The last character carries two bits that must be zero, or one key would have four texts.
    let spellings: Vec<PublicKey> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .filter_map(|last| PublicKey::try_from(format!("{}{last}", &text[..42])).ok())
        .filter(|key| *key == public)
        .collect();
    assert_eq!(spellings.len(), 1);
    assert_eq!(serde_json::from_str::<Signature>(&serde_json::to_string(&signature).unwrap()).unwrap(), signature);
    let foreign = r#"{"alg":"rs256","key":"key-0","sig":""}"#;
    assert!(serde_json::from_str::<Signature>(foreign).is_err());
}

/// Project Wycheproof's Ed25519 vectors: every signature that is not exactly right is refused, and the right ones pass.
#[test]
fn wycheproof() {
    use wycheproof::{TestResult, eddsa};
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    let (mut n_valid, mut n_invalid) = (0, 0);
    for group in set.test_groups {
        let public = PublicKey::from_bytes(group.key.pk[..].try_into().unwrap());
        for test in group.tests {
            // A signature of another length cannot be written in our types at all.
            let bytes: Result<[u8; 64], _> = test.sig[..].try_into();
            let verified = bytes.is_ok_and(|sig| public.verifies(&test.msg, &Signature::ed25519(public.id(), sig)));
            match test.result {
                TestResult::Valid => n_valid += 1,
                TestResult::Invalid => n_invalid += 1,
                TestResult::Acceptable => panic!("strict checking accepts nothing half-right: {}", test.tc_id),
            }
            assert_eq!(verified, test.result == TestResult::Valid, "case {}: {}", test.tc_id, test.comment);
        }
    }
    assert!(n_valid > 50 && n_invalid > 50, "{n_valid} valid, {n_invalid} invalid");
}

/// Project Wycheproof's vectors for ECDSA on P-256 with SHA-256, in the form in which browsers sign.
#[test]
fn wycheproof_es256() {
    use wycheproof::{TestResult, ecdsa};
    let set = ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256P1363).unwrap();
    let (mut n_valid, mut n_invalid) = (0, 0);
    for group in set.test_groups {
        let public = PublicKey::P256(group.key.key[..].try_into().unwrap());
        for test in group.tests {
            let bytes: Result<[u8; 64], _> = test.sig[..].try_into();
            let verified = bytes.is_ok_and(|sig| public.verifies(&test.msg, &Signature::es256(public.id(), sig)));
            if test.result == TestResult::Valid {
                n_valid += 1
            } else {
                n_invalid += 1
            }
            assert_eq!(verified, test.result == TestResult::Valid, "case {}: {}", test.tc_id, test.comment);
        }
    }
    assert!(n_valid > 50 && n_invalid > 50, "{n_valid} valid, {n_invalid} invalid");
}

/// A key has one form, and what is not on the curve verifies nothing.
#[test]
fn points_of_p256_are_checked() {
    let mut point = [0u8; 65];
    point[0] = 4;
    let nowhere = PublicKey::P256(point);
    let text = String::from(nowhere);
    assert_eq!(PublicKey::try_from(text.clone()).unwrap(), nowhere, "whether it is a point is asked when it verifies");
    assert!(!nowhere.verifies(b"yes", &Signature::es256(nowhere.id(), [1; 64])));
    for first in [0, 2, 3, 6, 7] {
        point[0] = first;
        assert!(PublicKey::try_from(URL_SAFE_NO_PAD.encode(point)).is_err(), "{first}");
    }
    assert!(PublicKey::try_from(URL_SAFE_NO_PAD.encode([2u8; 33])).is_err(), "no second spelling");
}
