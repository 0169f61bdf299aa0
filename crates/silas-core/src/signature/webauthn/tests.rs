//! An assertion of our own making, and each part of it changed by itself: with the signature as it was, and signed again.

use super::*;
use crate::device::{Certificate, CertificateBody, DeviceKind};
use crate::passkey::Site;
use crate::signature::Signature;
use crate::{InstallationId, Timestamp};
use p256::ecdsa::SigningKey;
use p256::ecdsa::signature::Signer as _;
use serde_json::{Value, json};

const MESSAGE: &[u8] = br#"{"key":"key-1","verdict":"approved"}"#;

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_slice(&[seed; 32]).unwrap()
}

pub(crate) fn public(seed: u8) -> PublicKey {
    let point = secret(seed).verifying_key().to_sec1_point(false);
    PublicKey::P256(point.as_bytes().try_into().unwrap())
}

fn data(rp_id: &str, flags: u8, count: u32) -> Vec<u8> {
    [Digest::of(rp_id.as_bytes()).as_bytes().as_slice(), &[flags], &count.to_be_bytes()].concat()
}

fn client(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let challenge = URL_SAFE_NO_PAD.encode(Digest::of(MESSAGE).as_bytes());
    let origin = "http://localhost:8420";
    let mut client = json!({"type": "webauthn.get", "challenge": challenge, "origin": origin, "crossOrigin": false});
    change(&mut client);
    serde_json::to_vec(&client).unwrap()
}

fn signed(data: &[u8], client: &[u8]) -> Assertion {
    let message = [data, Digest::of(client).as_bytes()].concat();
    let signature: p256::ecdsa::Signature = secret(7).sign(&message);
    Assertion::new(data, client, signature.to_der().as_bytes()).unwrap()
}

fn honest() -> Assertion {
    signed(&data("localhost", 0x05, 3), &client(|_| {}))
}

fn holds(assertion: &Assertion) -> bool {
    assertion.is_about(MESSAGE, &public(7), "localhost")
}

#[test]
fn an_honest_assertion_is_enough() {
    assert!(holds(&honest()));
    assert_eq!(honest().sign_count(), 3);
    let backed_up = 0x05 | 0x18;
    assert!(holds(&signed(&data("localhost", backed_up, 0), &client(|_| {}))));
    assert!(holds(&signed(&data("localhost", 5, 1), &client(|client| client["another"] = json!("field")))));
    assert!(holds(&signed(
        &data("localhost", 5, 1),
        &client(|client| drop(client.as_object_mut().unwrap().remove("crossOrigin")))
    )));
}

#[test]
fn a_page_of_another_port_is_another_page() {
    let ours = ["http://localhost:8420".to_owned(), "https://silas.lan".to_owned()];
    assert!(honest().is_made_at(&ours));
    for origin in ["http://localhost:8421", "http://localhost", "https://localhost:8420", "http://localhost:84200"] {
        let elsewhere = signed(&data("localhost", 5, 3), &client(|client| client["origin"] = json!(origin)));
        // The key's own site, so only whoever knows the port can tell.
        assert!(!elsewhere.is_made_at(&ours), "{origin}");
    }
    assert!(!honest().is_made_at(&[]));
}

#[test]
fn every_single_field_counts_even_if_it_is_signed() {
    for flags in [0x00, 0x01, 0x04, 0x15, 0x45, 0x85, 0x07, 0x25] {
        assert!(!holds(&signed(&data("localhost", flags, 3), &client(|_| {}))), "flags {flags:#x}");
    }
    assert!(!holds(&signed(&data("localhost.", 5, 3), &client(|_| {}))), "another site");
    let other_challenge = URL_SAFE_NO_PAD.encode(Digest::of(b"other").as_bytes());
    let in_full = base64::engine::general_purpose::URL_SAFE.encode(Digest::of(MESSAGE).as_bytes());
    for (field, value) in [
        ("type", json!("webauthn.create")),
        ("type", json!("payment.get")),
        ("challenge", json!(other_challenge)),
        ("challenge", json!(in_full)),
        ("challenge", json!("")),
        ("crossOrigin", json!(true)),
        ("origin", json!("http://localhost.evil.example")),
        ("origin", json!("http://evil.example")),
        ("origin", json!("https://evil.example#localhost")),
        ("origin", json!("http://127.0.0.1:8420")),
        ("origin", json!("http://notlocalhost:8420")),
        ("origin", json!("http://user@localhost:8420")),
        ("origin", json!("http://localhost:8420/")),
        ("origin", json!("http://localhost:")),
        ("origin", json!("ftp://localhost")),
        ("origin", json!("localhost")),
        ("origin", json!(null)),
    ] {
        let changed = signed(&data("localhost", 5, 3), &client(|client| client[field] = value.clone()));
        assert!(!holds(&changed), "{field} = {value}");
    }
    for field in ["type", "challenge", "origin"] {
        let without = client(|client| drop(client.as_object_mut().unwrap().remove(field)));
        assert!(!holds(&signed(&data("localhost", 5, 3), &without)), "without {field}");
    }
    let twice = [b"{\"type\":\"webauthn.get\",".as_slice(), &client(|_| {})[1..]].concat();
    assert!(!holds(&signed(&data("localhost", 5, 3), &twice)), "a field that is there twice");
}

#[test]
fn every_single_bit_is_signed() {
    let Assertion { authenticator_data, client_data, signature } = honest();
    for bit in 0..authenticator_data.len() * 8 {
        let mut data = authenticator_data;
        data[bit / 8] ^= 1 << (bit % 8);
        assert!(!holds(&Assertion::new(&data, &client_data, &signature).unwrap()), "bit {bit} of the data");
    }
    for bit in 0..client_data.len() * 8 {
        let mut client = client_data.clone();
        client[bit / 8] ^= 1 << (bit % 8);
        assert!(
            !holds(&Assertion::new(&authenticator_data, &client, &signature).unwrap()),
            "bit {bit} of the client's"
        );
    }
    for bit in 0..signature.len() * 8 {
        let mut signature = signature.clone();
        signature[bit / 8] ^= 1 << (bit % 8);
        assert!(!holds(&Assertion::new(&authenticator_data, &client_data, &signature).unwrap()), "bit {bit} of it");
    }
    assert!(!honest().is_about(b"something else", &public(7), "localhost"));
    assert!(!honest().is_about(MESSAGE, &public(8), "localhost"));
    assert!(!honest().is_about(MESSAGE, &PublicKey::from_bytes([7; 32]), "localhost"));
    assert!(!honest().is_about(MESSAGE, &public(7), "example.com"));
}

#[test]
fn a_site_is_a_name_over_tls_or_this_machine() {
    let of = |origin: &str, rp_id: &str| {
        let challenge = client(|client| client["origin"] = json!(origin));
        signed(&data(rp_id, 5, 0), &challenge).is_about(MESSAGE, &public(7), rp_id)
    };
    assert!(of("https://silas.example", "silas.example"));
    assert!(of("https://home.silas.example:8443", "silas.example"));
    assert!(!of("http://silas.example", "silas.example"), "in the clear only on this machine");
    assert!(!of("https://evilsilas.example", "silas.example"));
    assert!(!of("https://silas.example.evil", "silas.example"));
    assert!(!of("http://app.localhost:8420", "localhost"), "this machine's own page has one name");
}

#[test]
fn it_has_one_spelling_and_a_bounded_length() {
    let text = honest().to_text();
    assert_eq!(Assertion::from_text(&text).unwrap(), honest());
    for other in
        [format!("{text}."), format!("{text}="), text.replacen('.', "", 1), format!(".{text}"), text[1..].to_owned()]
    {
        assert!(Assertion::from_text(&other).is_err(), "{other}");
    }
    let Assertion { authenticator_data, client_data, signature } = honest();
    assert!(Assertion::new(&authenticator_data[1..], &client_data, &signature).is_none());
    assert!(Assertion::new(&[&authenticator_data[..], &[0]].concat(), &client_data, &signature).is_none());
    assert!(Assertion::new(&authenticator_data, &[b' '; 1025], &signature).is_none());
    assert!(Assertion::new(&authenticator_data, &client_data, &[0; 73]).is_none());
}

fn certificate(kind: DeviceKind, site: Option<&str>) -> Certificate {
    let site = site.map(|rp_id| Site { rp_id: rp_id.to_owned(), credential: "AA".to_owned() });
    let body = CertificateBody {
        v: 1,
        kind,
        installation: InstallationId::parse("inst-1").unwrap(),
        name: "Phone".to_owned(),
        key: public(7).id(),
        public: public(7),
        issued_at: Timestamp::EPOCH,
        site,
    };
    Certificate { body, signature: Signature::ed25519(public(1).id(), [0; 64]) }
}

#[test]
fn a_device_signs_by_the_rules_of_its_kind_only() {
    let plain: p256::ecdsa::Signature = secret(7).sign(MESSAGE);
    let es256 = Signature::es256(public(7).id(), plain.to_bytes().into());
    let webauthn = Signature::webauthn(public(7).id(), honest());
    let vouches = |kind, site, signature: &Signature| certificate(kind, site).vouches_for(MESSAGE, signature);
    assert!(vouches(DeviceKind::Passkey, Some("localhost"), &webauthn));
    assert!(vouches(DeviceKind::Browser, None, &es256));
    assert!(!vouches(DeviceKind::Passkey, Some("localhost"), &es256), "a passkey asks its owner, always");
    assert!(!vouches(DeviceKind::Browser, None, &webauthn));
    assert!(!vouches(DeviceKind::Browser, Some("localhost"), &webauthn));
    assert!(!vouches(DeviceKind::Passkey, None, &webauthn));
    assert!(!vouches(DeviceKind::Passkey, Some("example.com"), &webauthn));
    let named_otherwise = Signature::webauthn(public(8).id(), honest());
    assert!(!vouches(DeviceKind::Passkey, Some("localhost"), &named_otherwise));
    assert!(!public(7).verifies(MESSAGE, &webauthn), "no message and no session is signed by one");
    let mislabelled = Signature { alg: crate::signature::Algorithm::Es256, ..webauthn };
    assert!(!vouches(DeviceKind::Passkey, Some("localhost"), &mislabelled));
}
