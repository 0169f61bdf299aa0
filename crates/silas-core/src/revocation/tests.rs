//! Lists and withdrawals with one thing changed at a time: each is refused with a reason that names it.

use super::*;
use crate::device::{CertificateBody, DeviceKind};
use crate::token::{Kind, Offer, Strength, Verdict};
use crate::{Digest, ExecutionId};
use ed25519_dalek::{Signer as _, SigningKey};
use proptest::prelude::*;
use serde_json::{Value, json};

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(secret: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(secret.verifying_key().to_bytes())
}

fn sign(secret: &SigningKey, message: &str) -> Signature {
    Signature::ed25519(public(secret).id(), secret.sign(message.as_bytes()).to_bytes())
}

fn at(secs: u64) -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(secs))
}

fn anchor() -> Anchor {
    Anchor { root: public(&secret(1)), installation: InstallationId::parse("inst-1").unwrap(), epoch: 3 }
}

fn certificate(seed: u8) -> Certificate {
    let device = public(&secret(seed));
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: anchor().installation,
        name: "Phone".to_owned(),
        key: device.id(),
        public: device,
        issued_at: at(10),
        site: None,
    };
    Certificate { signature: sign(&secret(1), &canonical::text(&body).unwrap()), body }
}

fn list(number: u64, devices: &[u8]) -> RevocationList {
    let devices = devices.iter().map(|seed| public(&secret(*seed)).id()).collect();
    let body = RevocationBody {
        v: 1,
        installation: anchor().installation,
        number,
        devices,
        grants: [TokenId::of(&Digest::of(b"grant"))].into(),
        issued_at: at(1000),
    };
    RevocationList { signature: sign(&secret(1), &body.message().unwrap()), body }
}

fn withdrawal(change: impl FnOnce(&mut WithdrawalBody)) -> Withdrawal {
    let mut body = WithdrawalBody {
        kind: WithdrawalKind::Withdrawal,
        installation: anchor().installation,
        epoch: 3,
        key: public(&secret(2)).id(),
        what: Withdrawn::Device(public(&secret(5)).id()),
        nonce: Nonce::parse("n-1").unwrap(),
        timestamp: at(1000),
    };
    change(&mut body);
    Withdrawal { signature: sign(&secret(2), &body.message().unwrap()), body }
}

fn token(seed: u8, nonce: &str) -> Token {
    let offer = Offer {
        v: Offer::VERSION,
        kind: Kind::Plan,
        scope: Kind::Plan.scope(),
        installation: anchor().installation,
        epoch: 3,
        work_item_id: "task-1".to_owned(),
        plan_hash: Digest::of(b"{}"),
        shown: Digest::of(b"card"),
        nonce: Nonce::parse(nonce).unwrap(),
        issued_at: at(1000),
        expires_at: at(1300),
        max_executions: 1,
        approval_strength: Strength::Tap,
        conditions: Default::default(),
    };
    let body = offer.answered(public(&secret(seed)).id(), Verdict::Approved);
    Token { signature: sign(&secret(seed), &body.message().unwrap()), body }
}

#[test]
fn a_list_says_who_and_what_is_out() {
    let in_force = Revocations::checked(list(1, &[5]), &anchor()).unwrap();
    assert!(in_force.has_device(&public(&secret(5)).id()) && !in_force.has_device(&public(&secret(2)).id()));
    assert_eq!(in_force.allow(&token(5, "n-1")), Err(Refusal::RevokedDevice));
    assert_eq!(in_force.allow(&token(2, "n-1")), Ok(()));
    let next = in_force.next(&Withdrawn::Grant(token(2, "n-1").id().unwrap()), &anchor().installation, at(2000));
    assert_eq!((next.number, next.devices.len(), next.grants.len()), (2, 1, 2));
    let signed = RevocationList { signature: sign(&secret(1), &next.message().unwrap()), body: next };
    let in_force = in_force.followed_by(signed, &anchor()).unwrap();
    assert_eq!(in_force.allow(&token(2, "n-1")), Err(Refusal::RevokedGrant));
    assert_eq!(in_force.allow(&token(2, "n-2")), Ok(()), "another decision of the same device");
    assert_eq!(Revocations::default().allow(&token(5, "n-1")), Ok(()));
}

#[test]
fn evidence_of_a_revoked_device_or_grant_is_refused_whatever_the_time() {
    let token = token(5, "n-1");
    let evidence = crate::evidence::Evidence {
        execution: ExecutionId::derive(&token.id().unwrap(), 0),
        token,
        certificate: certificate(5),
        payload: "{}".to_owned(),
        roots: Vec::new(),
        plan: None,
    };
    let ask = |revocations: &Revocations, when| {
        crate::evidence::verify(&evidence, Kind::Plan, &anchor(), revocations, when).map(drop)
    };
    use crate::evidence::When::{AlreadyCommitted, At};
    assert_eq!(ask(&Revocations::default(), At(at(1100))), Ok(()));
    let device = Revocations::checked(list(1, &[5]), &anchor()).unwrap();
    let grant = Withdrawn::Grant(evidence.token.id().unwrap());
    let body = Revocations::default().next(&grant, &anchor().installation, at(1050));
    let grant = RevocationList { signature: sign(&secret(1), &body.message().unwrap()), body };
    let grant = Revocations::checked(grant, &anchor()).unwrap();
    for when in [At(at(1100)), AlreadyCommitted] {
        assert_eq!(ask(&device, when), Err(Refusal::RevokedDevice));
        assert_eq!(ask(&grant, when), Err(Refusal::RevokedGrant));
    }
}

#[test]
fn numbers_only_grow() {
    let five = Revocations::checked(list(5, &[5]), &anchor()).unwrap();
    assert_eq!(five.followed_by(list(4, &[5]), &anchor()), Err(Refusal::Revocations(Mismatch::Number)));
    assert_eq!(five.followed_by(list(6, &[]), &anchor()).unwrap().number(), 6);
    let zero = Revocations::checked(list(0, &[]), &anchor());
    assert_eq!(zero, Err(Refusal::Revocations(Mismatch::Version)));
}

#[test]
fn each_altered_field_of_a_list_is_named() {
    let other = public(&secret(9));
    let cases: [(&str, Value, Mismatch); 8] = [
        ("/body/v", json!(2), Mismatch::Version),
        ("/body/installation", json!("inst-2"), Mismatch::Installation),
        ("/body/number", json!(8), Mismatch::Signature),
        ("/body/devices", json!([]), Mismatch::Signature),
        ("/body/grants", json!([]), Mismatch::Signature),
        ("/body/issued_at", json!(at(1001)), Mismatch::Signature),
        ("/signature/key", json!(other.id()), Mismatch::Signature),
        ("/signature/sig", json!(sign(&secret(9), "x").sig), Mismatch::Signature),
    ];
    let honest = serde_json::to_value(list(7, &[5])).unwrap();
    for (path, value, expected) in cases {
        let mut altered = honest.clone();
        *altered.pointer_mut(path).unwrap() = value;
        let altered: RevocationList = serde_json::from_value(altered).unwrap();
        assert_eq!(altered.check(&anchor().root, &anchor().installation), Err(expected), "{path}");
    }
    let foreign = list(7, &[5]);
    assert_eq!(foreign.check(&public(&secret(9)), &anchor().installation), Err(Mismatch::Signature));
}

#[test]
fn each_way_a_withdrawal_does_not_count_is_named() {
    let none = Revocations::default();
    let ask = |withdrawal: &Withdrawal, secs| withdrawal.verify(&certificate(2), &anchor(), &none, at(secs));
    assert_eq!(ask(&withdrawal(|_| {}), 1000), Ok(()));
    assert_eq!(ask(&withdrawal(|_| {}), 1301), Err(Refusal::Expired));
    assert_eq!(ask(&withdrawal(|_| {}), 699), Err(Refusal::NotYet));
    let elsewhere = InstallationId::parse("inst-2").unwrap();
    assert_eq!(ask(&withdrawal(|body| body.installation = elsewhere), 1000), Err(Refusal::Installation));
    assert_eq!(ask(&withdrawal(|body| body.epoch = 2), 1000), Err(Refusal::Epoch));
    assert_eq!(ask(&withdrawal(|body| body.key = public(&secret(4)).id()), 1000), Err(Refusal::Key));
    let mut turned = withdrawal(|_| {});
    turned.body.what = Withdrawn::Device(public(&secret(6)).id());
    assert_eq!(ask(&turned, 1000), Err(Refusal::Signature));
    let gone = Revocations::checked(list(1, &[2]), &anchor()).unwrap();
    let refused = withdrawal(|_| {}).verify(&certificate(2), &anchor(), &gone, at(1000));
    assert_eq!(refused, Err(Refusal::RevokedDevice), "a revoked device revokes nobody");
}

/// Flips one bit of one leaf of the JSON, whatever it is.
fn flipped(value: &Value, leaf: prop::sample::Index, bit: u8, within: prop::sample::Index) -> Value {
    fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, v)| leaves(v, format!("{at}/{key}"), found)),
            Value::Array(items) => items.iter().enumerate().for_each(|(n, v)| leaves(v, format!("{at}/{n}"), found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(at),
        }
    }
    let mut paths = Vec::new();
    leaves(value, String::new(), &mut paths);
    let mut altered = value.clone();
    let target = altered.pointer_mut(&paths[leaf.index(paths.len())]).unwrap();
    *target = match &*target {
        Value::Number(n) => json!(n.as_u64().unwrap() ^ (1 << (bit % 8))),
        Value::String(text) => {
            let mut bytes = text.clone().into_bytes();
            let n = within.index(bytes.len());
            bytes[n] ^= 1 << (bit % 6);
            json!(String::from_utf8_lossy(&bytes))
        }
        other => other.clone(),
    };
    altered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_mutation_of_a_list_counts(leaf: prop::sample::Index, bit: u8, within: prop::sample::Index) {
        let honest = list(7, &[5, 6]);
        let altered = flipped(&serde_json::to_value(&honest).unwrap(), leaf, bit, within);
        // What cannot be read is refused before it is checked; what reads as the same is the same.
        if let Ok(altered) = serde_json::from_value::<RevocationList>(altered)
            && altered != honest
        {
            let refused = altered.check(&anchor().root, &anchor().installation).unwrap_err();
            prop_assert!(!refused.to_string().is_empty());
        }
    }

    #[test]
    fn no_mutation_of_a_certificate_counts(leaf: prop::sample::Index, bit: u8, within: prop::sample::Index) {
        let honest = certificate(5);
        let altered = flipped(&serde_json::to_value(&honest).unwrap(), leaf, bit, within);
        if let Ok(altered) = serde_json::from_value::<Certificate>(altered)
            && altered != honest
        {
            let refused = altered.check(&anchor().root, &anchor().installation).unwrap_err();
            let expected = if altered.body.v != 1 {
                Mismatch::Version
            } else if altered.body.key != altered.body.public.id() {
                Mismatch::Key
            } else if altered.body.installation != anchor().installation {
                Mismatch::Installation
            } else {
                Mismatch::Signature
            };
            prop_assert_eq!(refused, expected);
        }
    }
}

#[test]
fn several_grants_go_together_and_none_of_them_alone_stands_for_all() {
    let token = |name: &str| TokenId::of(&Digest::of(name.as_bytes()));
    let all = Withdrawn::Grants([token("a"), token("b")].into());
    let known = Revocations::checked(list(4, &[9]), &anchor()).unwrap();
    let body = known.next(&all, &anchor().installation, at(2000));
    assert_eq!((body.number, body.devices.len(), body.grants.len()), (5, 1, 3));
    assert!(!known.has(&all));
    let one = known.next(&Withdrawn::Grant(token("a")), &anchor().installation, at(2000));
    let signed = |body: RevocationBody| RevocationList { signature: sign(&secret(1), &body.message().unwrap()), body };
    assert!(!Revocations::checked(signed(one), &anchor()).unwrap().has(&all), "one is missing");
    assert!(Revocations::checked(signed(body), &anchor()).unwrap().has(&all));
    // The order in which somebody names them is not theirs to choose: one text is signed.
    let (ab, ba) = (json!({ "grants": [token("a"), token("b")] }), json!({ "grants": [token("b"), token("a")] }));
    let read = |value: Value| canonical::text(&serde_json::from_value::<Withdrawn>(value).unwrap()).unwrap();
    assert_eq!(read(ab), read(ba));
}
