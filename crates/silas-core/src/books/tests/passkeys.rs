//! Where a passkey is registered, the books hold every later decision about what cannot be undone against that.

use super::*;
use crate::host::HostGrant;
use crate::passkey::{DeviceGrantKind, PasskeyGrant, Site};
use crate::secret::SecretRef;
use crate::signature::webauthn::Assertion;
use crate::work::WorkItem;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer as _;

fn authenticator() -> p256::ecdsa::SigningKey {
    p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap()
}

fn grant() -> PasskeyGrant {
    let point = authenticator().verifying_key().to_sec1_point(false);
    PasskeyGrant {
        kind: DeviceGrantKind::Device,
        name: "Key".to_owned(),
        public: PublicKey::P256(point.as_bytes().try_into().unwrap()),
        site: Site { rp_id: "localhost".to_owned(), credential: "AAEC".to_owned() },
    }
}

fn registration() -> Decision {
    decision(Kind::Device, "n-passkey", &canonical::text(&grant()).unwrap(), 1, Verdict::Approved)
}

/// A plan that carries a secret to a host.
fn sending(nonce: &str) -> Decision {
    let text = "---\nid: task-1\ntype: task\ntitle: Send\n---\nProse.\n";
    let mut d = crate::plan::parse(text.as_bytes()).unwrap().definition().clone();
    d.hosts = vec![HostGrant::parse("example.com:443").unwrap()];
    d.secrets = vec![SecretRef::parse("mail").unwrap()];
    let payload = WorkItem::try_from(d).unwrap().canonical().unwrap();
    Decision { executions_used: 0, ..decision(Kind::Plan, nonce, &payload, 1, Verdict::Approved) }
}

/// The same decision, by the passkey.
fn by_passkey(decision: Decision, count: u32) -> Decision {
    let body = grant().certificate_body(&installation(), at(50));
    let signature = sign(&secret(1), &canonical::text(&body).unwrap());
    let certificate = Certificate { body, signature };
    let body = decision.token.body.offer.answered(certificate.body.key.clone(), Verdict::Approved);
    let challenge = URL_SAFE_NO_PAD.encode(Digest::of(body.message().unwrap().as_bytes()).as_bytes());
    let client =
        format!(r#"{{"type":"webauthn.get","challenge":"{challenge}","origin":"http://localhost:8420"}}"#).into_bytes();
    let data = [Digest::of(b"localhost").as_bytes().as_slice(), &[5], &count.to_be_bytes()].concat();
    let signed: p256::ecdsa::Signature =
        authenticator().sign(&[data.as_slice(), Digest::of(&client).as_bytes()].concat());
    let assertion = Assertion::new(&data, &client, signed.to_der().as_bytes()).unwrap();
    let signature = Signature::webauthn(certificate.body.key.clone(), assertion);
    Decision { token: Token { body, signature }, certificate, ..decision }
}

/// Pairing, a passkey, and then these decisions.
fn ledger(decisions: &[Decision]) -> Result<Summary, Fault> {
    let rules = Decision { executions_used: 0, ..decision(Kind::HouseRules, "n-rules", "rules", 3, Verdict::Approved) };
    let (registration, key) = (registration(), grant().public.id());
    let token = Some(registration.token.id().unwrap());
    let mut pages = vec![
        page(90, AuditEvent::InstallationCreated { installation: installation(), root: public(&secret(1)).id() }),
        decided(110, &rules),
        page(110, AuditEvent::DevicePaired { key: public(&secret(2)).id(), name: text() }),
        decided(120, &registration),
        spent(120, &registration, 0),
        page(121, AuditEvent::PasskeyRegistered { key, name: text(), token }),
    ];
    pages.extend(decisions.iter().map(|decision| decided(130, decision)));
    read(&pages)
}

#[test]
fn only_the_passkey_decided_what_cannot_be_undone() {
    assert_eq!(ledger(&[by_passkey(sending("n-1"), 1)]).unwrap().n_decisions, 3);
    let no_passkey = Reason::Decision(evidence::Refusal::NoPasskey);
    assert_eq!(ledger(&[sending("n-1")]), Err(Fault { seq: 7, reason: no_passkey.clone() }));
    let second = Decision { executions_used: 0, ..decision(Kind::Device, "n-2", "{}", 1, Verdict::Approved) };
    assert_eq!(ledger(&[second]), Err(Fault { seq: 7, reason: no_passkey }));
    let no = Decision { executions_used: 0, ..decision(Kind::Device, "n-2", "{}", 1, Verdict::Declined) };
    assert!(ledger(&[no]).is_ok());
}

#[test]
fn a_counter_that_goes_back_is_found() {
    let counted = |first: u32, second: u32| {
        ledger(&[by_passkey(sending("n-1"), first), by_passkey(sending("n-2"), second)]).map(drop)
    };
    assert_eq!(counted(0, 0), Ok(()));
    assert_eq!(counted(3, 4), Ok(()));
    for (first, second) in [(3, 3), (3, 2), (3, 0)] {
        assert_eq!(counted(first, second), Err(Fault { seq: 8, reason: Reason::Counter }));
    }
}

#[test]
fn a_passkey_that_nobody_registered_decides_nothing() {
    let rules = Decision { executions_used: 0, ..decision(Kind::HouseRules, "n-rules", "rules", 3, Verdict::Approved) };
    let pages = [
        page(90, AuditEvent::InstallationCreated { installation: installation(), root: public(&secret(1)).id() }),
        decided(110, &rules),
        decided(130, &by_passkey(sending("n-1"), 1)),
    ];
    assert_eq!(read(&pages), Err(Fault { seq: 3, reason: Reason::Unpaired }));
    let unspent = page(
        121,
        AuditEvent::PasskeyRegistered {
            key: grant().public.id(),
            name: text(),
            token: Some(registration().token.id().unwrap()),
        },
    );
    assert_eq!(read(&[unspent]), Err(Fault { seq: 1, reason: Reason::NotSpent }));
}
