//! Hand-overs of the root key with one thing changed at a time: each is refused with a reason that names it.

use super::*;
use crate::device::{Certificate, CertificateBody, DeviceKind};
use crate::revocation::{RevocationBody, RevocationList};
use ed25519_dalek::{Signer as _, SigningKey};
use proptest::prelude::*;
use serde_json::{Value, json};

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

fn handover(number: u64, from: u8, to: u8) -> Handover {
    let body = HandoverBody {
        v: HandoverBody::VERSION,
        installation: installation(),
        number,
        from: public(from),
        to: public(to),
        revocations: 4,
        at: Timestamp::from_micros(7),
    };
    let message = body.message().unwrap();
    Handover { signature: sign(from, &message), accepted: sign(to, &message), body }
}

fn checked(list: &[Handover], root: u8) -> Result<Handovers, Mismatch> {
    Handovers::checked(list.to_vec(), &public(root), &installation())
}

#[test]
fn they_lead_from_the_first_key_to_the_one_that_holds() {
    let none = checked(&[], 1).unwrap();
    assert_eq!((none.number(), none.first(&public(1))), (0, public(1).id()));
    let (one, two) = (handover(1, 1, 2), handover(2, 2, 3));
    let both = checked(&[one.clone(), two.clone()], 3).unwrap();
    assert_eq!((both.number(), both.first(&public(3))), (2, public(1).id()));
    assert_eq!(checked(std::slice::from_ref(&one), 2).unwrap().number(), 1);
    assert_eq!(checked(std::slice::from_ref(&one), 1), Err(Mismatch::Successor), "the old key holds no more");
    assert_eq!(checked(std::slice::from_ref(&one), 9), Err(Mismatch::Successor));
    assert_eq!(checked(&[two.clone(), one.clone()], 2), Err(Mismatch::Order));
    assert_eq!(checked(&[one.clone(), handover(2, 5, 3)], 3), Err(Mismatch::Order), "it begins elsewhere");
    assert_eq!(checked(&[one.clone(), handover(3, 2, 3)], 3), Err(Mismatch::Order));
    assert_eq!(checked(&[one.clone(), handover(2, 2, 1)], 1), Err(Mismatch::Key), "a key that was left stays left");
    let many: Vec<Handover> = std::iter::repeat_n(one, HANDOVERS_MAX + 1).collect();
    assert_eq!(checked(&many, 2), Err(Mismatch::Version));
}

#[test]
fn each_altered_field_is_named() {
    let cases: [(&str, Value, Mismatch); 10] = [
        ("/body/v", json!(2), Mismatch::Version),
        ("/body/installation", json!("inst-2"), Mismatch::Installation),
        ("/body/number", json!(2), Mismatch::Order),
        ("/body/from", json!(public(9)), Mismatch::Signature),
        ("/body/to", json!(public(1)), Mismatch::Key),
        ("/body/to", json!(public(9)), Mismatch::Signature),
        ("/body/revocations", json!(5), Mismatch::Signature),
        ("/body/at", json!(Timestamp::from_micros(8)), Mismatch::Signature),
        ("/signature", json!(sign(9, "x")), Mismatch::Signature),
        ("/accepted", json!(sign(9, "x")), Mismatch::Unaccepted),
    ];
    let honest = serde_json::to_value(handover(1, 1, 2)).unwrap();
    for (path, value, expected) in cases {
        let mut altered = honest.clone();
        *altered.pointer_mut(path).unwrap() = value;
        let altered: Handover = serde_json::from_value(altered).unwrap();
        assert_eq!(altered.check(&installation(), 1), Err(expected), "{path}");
    }
}

/// INV-01: whatever the old key signs after it handed over fits no key that anybody stands on, however it is dated.
#[test]
fn what_the_old_key_signs_after_it_handed_over_does_not_count() {
    let device = public(5);
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: installation(),
        name: "Phone".to_owned(),
        key: device.id(),
        public: device,
        // From before the hand-over, as a thief would write it.
        issued_at: Timestamp::EPOCH,
        site: None,
    };
    let certificate = Certificate { signature: sign(1, &canonical::text(&body).unwrap()), body };
    assert_eq!(certificate.check(&public(1), &installation()), Ok(()));
    assert_eq!(certificate.check(&public(2), &installation()), Err(Mismatch::Signature));
    let body = RevocationBody {
        v: RevocationBody::VERSION,
        installation: installation(),
        number: 100,
        devices: [device.id()].into(),
        grants: Default::default(),
        issued_at: Timestamp::EPOCH,
    };
    let list = RevocationList { signature: sign(1, &body.message().unwrap()), body };
    assert_eq!(list.check(&public(2), &installation()), Err(Mismatch::Signature));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// One bit of one signed byte, or of a signature.
    #[test]
    fn no_mutation_counts(within: prop::sample::Index, bit in 0u8..7) {
        let honest = handover(1, 1, 2);
        let mut bytes = canonical::text(&honest).unwrap().into_bytes();
        let n = within.index(bytes.len());
        bytes[n] ^= 1 << bit;
        // What cannot be read is refused before it is checked; what reads as the same is the same.
        if let Ok(altered) = serde_json::from_slice::<Handover>(&bytes)
            && altered != honest
        {
            let refused = altered.check(&installation(), 1).unwrap_err();
            prop_assert!(!refused.to_string().is_empty());
        }
    }
}
