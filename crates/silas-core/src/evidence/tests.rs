//! Every road around the signature: each field changed by itself, with and without a fresh signature over the change.

mod bits;
mod rehearsing;

use super::*;
use crate::device::{CertificateBody, DeviceKind};
use crate::signature::Signature;
use crate::token::{Scope, Strength};
use crate::{KeyId, Nonce};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

const PAYLOAD: &str = r#"{"title":"Format the code"}"#;

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

fn none() -> Revocations {
    Revocations::default()
}

fn offer() -> Offer {
    Offer {
        v: Offer::VERSION,
        kind: Kind::Plan,
        scope: Scope::FullPlan,
        installation: anchor().installation,
        epoch: 3,
        work_item_id: "task-1".to_owned(),
        plan_hash: Digest::of(PAYLOAD.as_bytes()),
        shown: Digest::of(b"card"),
        nonce: Nonce::parse("n-1").unwrap(),
        issued_at: at(1000),
        expires_at: at(1300),
        max_executions: 1,
        approval_strength: Strength::Tap,
        conditions: [("a".to_owned(), "b".to_owned())].into(),
    }
}

fn certificate(change: impl FnOnce(&mut CertificateBody)) -> Certificate {
    let device = public(&secret(2));
    let mut body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: anchor().installation,
        name: "Phone".to_owned(),
        key: device.id(),
        public: device,
        issued_at: at(10),
        site: None,
    };
    change(&mut body);
    let signature = sign(&secret(1), &canonical::text(&body).unwrap());
    Certificate { body, signature }
}

fn token(offer: Offer, verdict: Verdict) -> Token {
    let body = offer.answered(public(&secret(2)).id(), verdict);
    let signature = sign(&secret(2), &body.message().unwrap());
    Token { body, signature }
}

fn evidence(offer: Offer) -> Evidence {
    let token = token(offer, Verdict::Approved);
    let execution = ExecutionId::derive(&token.id().unwrap(), 0);
    Evidence {
        token,
        certificate: certificate(|_| {}),
        payload: PAYLOAD.to_owned(),
        execution,
        roots: Vec::new(),
        plan: None,
    }
}

fn check(evidence: &Evidence) -> Result<TokenId, Refusal> {
    verify(evidence, Kind::Plan, &anchor(), &none(), When::At(at(1100)))
}

#[test]
fn honest_evidence_is_enough() {
    let honest = evidence(offer());
    let id = honest.token.id().unwrap();
    assert_eq!(check(&honest), Ok(id.clone()));
    assert_eq!(verify(&honest, Kind::Plan, &anchor(), &none(), When::AlreadyCommitted), Ok(id));
    let json = serde_json::to_string(&honest).unwrap();
    assert_eq!(canonical::read::<Evidence>(&json).unwrap(), honest);
}

/// What each field of the evidence becomes, and what refuses it.
fn tampering() -> Vec<(&'static str, Value, Refusal)> {
    let other = public(&secret(9));
    let hash = json!(Digest::of(b"other"));
    let sig = json!(sign(&secret(9), "other").sig);
    vec![
        ("/token/body/offer/v", json!(2), Refusal::Signature),
        ("/token/body/offer/kind", json!("undo"), Refusal::Signature),
        ("/token/body/offer/scope", json!("standing"), Refusal::Signature),
        ("/token/body/offer/installation", json!("inst-2"), Refusal::Signature),
        ("/token/body/offer/epoch", json!(4), Refusal::Signature),
        ("/token/body/offer/work_item_id", json!("task-2"), Refusal::Signature),
        ("/token/body/offer/plan_hash", hash.clone(), Refusal::Signature),
        ("/token/body/offer/shown", hash, Refusal::Signature),
        ("/token/body/offer/nonce", json!("n-2"), Refusal::Signature),
        ("/token/body/offer/issued_at", json!(at(999)), Refusal::Signature),
        ("/token/body/offer/expires_at", json!(at(9999)), Refusal::Signature),
        ("/token/body/offer/max_executions", json!(2), Refusal::Signature),
        // One value each: the wire has no other today, so the change is refused when it is read.
        ("/token/body/offer/approval_strength", json!("passkey"), Refusal::Malformed(String::new())),
        ("/token/signature/alg", json!("none"), Refusal::Malformed(String::new())),
        ("/certificate/signature/alg", json!("none"), Refusal::Malformed(String::new())),
        ("/token/body/offer/conditions/a", json!("c"), Refusal::Signature),
        ("/token/body/key", json!(other.id()), Refusal::Key),
        ("/token/body/verdict", json!("declined"), Refusal::Signature),
        ("/token/signature/key", json!(other.id()), Refusal::Signature),
        ("/token/signature/sig", sig.clone(), Refusal::Signature),
        ("/certificate/body/v", json!(2), Refusal::Certificate(Mismatch::Version)),
        ("/certificate/body/kind", json!("terminal"), Refusal::Certificate(Mismatch::Signature)),
        ("/certificate/body/installation", json!("inst-2"), Refusal::Certificate(Mismatch::Installation)),
        ("/certificate/body/name", json!("Phone2"), Refusal::Certificate(Mismatch::Signature)),
        ("/certificate/body/key", json!(other.id()), Refusal::Certificate(Mismatch::Key)),
        ("/certificate/body/public", json!(other), Refusal::Certificate(Mismatch::Key)),
        ("/certificate/body/issued_at", json!(at(11)), Refusal::Certificate(Mismatch::Signature)),
        ("/certificate/signature/key", json!(other.id()), Refusal::Certificate(Mismatch::Signature)),
        ("/certificate/signature/sig", sig, Refusal::Certificate(Mismatch::Signature)),
        ("/payload", json!(format!("{PAYLOAD} ")), Refusal::Content),
        ("/execution", json!("exec-1"), Refusal::Execution),
    ]
}

fn leaves(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| leaves(inner, &format!("{at}/{key}"), into)),
        _ => {
            into.insert(at.to_owned());
        }
    }
}

#[test]
fn every_field_changed_by_itself_is_refused() {
    let honest = serde_json::to_value(evidence(offer())).unwrap();
    let mut all = BTreeSet::new();
    leaves(&honest, "", &mut all);
    let listed: BTreeSet<String> = tampering().iter().map(|(at, ..)| (*at).to_owned()).collect();
    assert_eq!(all, listed, "a field of the evidence is not tampered with here");

    for (at, other, refusal) in tampering() {
        let mut changed = honest.clone();
        assert_ne!(*changed.pointer(at).unwrap(), other, "{at}");
        *changed.pointer_mut(at).unwrap() = other;
        match serde_json::from_value::<Evidence>(changed) {
            Ok(changed) => assert_eq!(check(&changed), Err(refusal), "{at}"),
            Err(_) => assert!(matches!(refusal, Refusal::Malformed(_)), "{at} cannot be read"),
        }
    }
}

#[test]
fn a_fresh_signature_over_a_changed_offer_does_not_help() {
    type Change = fn(&mut Offer);
    let cases: [(&str, Change, Refusal); 9] = [
        ("version", |o| o.v = 2, Refusal::Malformed("unknown version".to_owned())),
        ("installation", |o| o.installation = InstallationId::parse("inst-2").unwrap(), Refusal::Installation),
        ("older epoch", |o| o.epoch = 2, Refusal::Epoch),
        ("later epoch", |o| o.epoch = 4, Refusal::Epoch),
        ("kind", |o| (o.kind, o.scope) = (Kind::Root, Kind::Root.scope()), Refusal::Kind),
        ("scope", |o| o.scope = Scope::Standing, Refusal::Kind),
        ("expired", |o| o.expires_at = at(1100), Refusal::Expired),
        ("future", |o| o.issued_at = at(1161), Refusal::NotYet),
        ("content", |o| o.plan_hash = Digest::of(b"other"), Refusal::Content),
    ];
    for (name, change, refusal) in cases {
        let mut changed = offer();
        change(&mut changed);
        assert_eq!(check(&evidence(changed)), Err(refusal), "{name}");
    }
    let slack = evidence(Offer { issued_at: at(1160), ..offer() });
    assert!(check(&slack).is_ok(), "clocks may disagree by a minute");
    let large = Offer { epoch: u64::MAX, ..offer() };
    assert!(
        large.answered(public(&secret(2)).id(), Verdict::Approved).message().is_err(),
        "no signature over it exists"
    );
}

#[test]
fn only_an_approval_approves() {
    for verdict in [Verdict::Declined, Verdict::EditRequested, Verdict::Conditional] {
        let mut answered = evidence(offer());
        answered.token = token(offer(), verdict);
        answered.execution = ExecutionId::derive(&answered.token.id().unwrap(), 0);
        assert_eq!(check(&answered), Err(Refusal::Verdict));
        assert_eq!(verify(&answered, Kind::Plan, &anchor(), &none(), When::AlreadyCommitted), Err(Refusal::Verdict));
        assert_eq!(verify_signature(&answered.token, &answered.certificate, &anchor()), Ok(()), "it is signed, though");
    }
}

#[test]
fn every_kind_stands_for_itself_alone() {
    let kinds = [Kind::Plan, Kind::HouseRules, Kind::Undo, Kind::Root];
    for signed in kinds {
        let shown = evidence(Offer { kind: signed, scope: signed.scope(), ..offer() });
        for asked in kinds {
            let answer = verify(&shown, asked, &anchor(), &none(), When::At(at(1100)));
            assert_eq!(answer.is_ok(), signed == asked, "{signed:?} for {asked:?}");
        }
    }
}

#[test]
fn another_anchor_trusts_nothing_of_this_one() {
    let honest = evidence(offer());
    let ask = |anchor: Anchor| verify(&honest, Kind::Plan, &anchor, &none(), When::At(at(1100)));
    assert_eq!(ask(Anchor { root: public(&secret(2)), ..anchor() }), Err(Refusal::Certificate(Mismatch::Signature)));
    assert_eq!(
        ask(Anchor { installation: InstallationId::parse("inst-2").unwrap(), ..anchor() }),
        Err(Refusal::Certificate(Mismatch::Installation))
    );
    assert_eq!(ask(Anchor { epoch: 4, ..anchor() }), Err(Refusal::Epoch));
}

#[test]
fn a_device_cannot_vouch_for_itself_and_the_root_vouches_for_exactly_one_key() {
    let mut own = evidence(offer());
    let text = canonical::text(&own.certificate.body).unwrap();
    own.certificate.signature = sign(&secret(2), &text);
    assert_eq!(check(&own), Err(Refusal::Certificate(Mismatch::Signature)), "self-signed");

    let mut other = evidence(offer());
    other.certificate = certificate(|body| {
        body.public = public(&secret(4));
        body.key = public(&secret(4)).id();
    });
    assert_eq!(check(&other), Err(Refusal::Key), "the certificate of another device");

    let mut mixed = evidence(offer());
    mixed.certificate = certificate(|body| body.public = public(&secret(4)));
    assert_eq!(check(&mixed), Err(Refusal::Certificate(Mismatch::Key)), "a key id that does not belong to the key");
    mixed.certificate = certificate(|body| body.v = 2);
    assert_eq!(check(&mixed), Err(Refusal::Certificate(Mismatch::Version)), "a certificate of an unknown version");
    mixed.certificate = certificate(|body| body.key = KeyId::parse("key-0").unwrap());
    assert_eq!(check(&mixed), Err(Refusal::Certificate(Mismatch::Key)), "a made-up key id");
}

#[test]
fn time_is_checked_to_the_microsecond_until_it_is_committed() {
    let honest = evidence(offer());
    let ask = |when| verify(&honest, Kind::Plan, &anchor(), &none(), when);
    let last = Timestamp::from_micros(at(1300).micros() - 1);
    assert!(ask(When::At(last)).is_ok());
    assert_eq!(ask(When::At(at(1300))), Err(Refusal::Expired));
    assert!(ask(When::At(at(940))).is_ok());
    assert_eq!(ask(When::At(Timestamp::from_micros(at(940).micros() - 1))), Err(Refusal::NotYet));
    assert!(ask(When::AlreadyCommitted).is_ok(), "what was begun in time may be finished");
}

#[test]
fn an_execution_belongs_to_one_token_and_one_number() {
    let mut one = evidence(offer());
    let id = one.token.id().unwrap();
    for (n, fits) in [(0, true), (1, false), (2, false)] {
        one.execution = ExecutionId::derive(&id, n);
        assert_eq!(check(&one).is_ok(), fits, "use {n}");
    }
    let rules = Offer { kind: Kind::HouseRules, scope: Kind::HouseRules.scope(), max_executions: 2, ..offer() };
    let mut two = evidence(rules);
    let id = two.token.id().unwrap();
    for (n, fits) in [(0, true), (1, true), (2, false)] {
        two.execution = ExecutionId::derive(&id, n);
        let verified = verify(&two, Kind::HouseRules, &anchor(), &none(), When::At(at(1100)));
        assert_eq!(verified.is_ok(), fits, "use {n}");
    }
}

#[test]
fn no_offer_goes_beyond_what_its_kind_may() {
    let day = Duration::from_secs(24 * 3600);
    let beyond = [
        Offer { max_executions: 0, ..offer() },
        Offer { max_executions: 2, ..offer() },
        Offer { max_executions: u32::MAX, ..offer() },
        Offer { expires_at: offer().issued_at.plus(day + Duration::from_micros(1)), ..offer() },
    ];
    for offer in beyond {
        assert_eq!(check(&evidence(offer.clone())), Err(Refusal::Bounds), "{offer:?}");
        let committed = verify(&evidence(offer), Kind::Plan, &anchor(), &none(), When::AlreadyCommitted);
        assert_eq!(committed, Err(Refusal::Bounds));
    }
    assert!(check(&evidence(Offer { expires_at: offer().issued_at.plus(day), ..offer() })).is_ok());
}
