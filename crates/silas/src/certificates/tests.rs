//! The authority vouches for its names and nothing else; a renewed certificate is believed by whoever believed the first.

use super::*;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{ServerName, UnixTime};
use std::sync::Arc;

const NOW: i64 = 1_800_000_000_000_000;

fn now() -> Timestamp {
    Timestamp::from_micros(NOW)
}

fn days(n: u32) -> Timestamp {
    now().plus(DAY * n)
}

fn made(names: &[&str]) -> (tempfile::TempDir, Place) {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::of(dir.path());
    place.make(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>(), now()).unwrap();
    (dir, place)
}

/// Whether a device that trusts the authority believes this certificate for that name at that time.
fn believes(place: &Place, server: &CertificateDer<'_>, name: &str, at: Timestamp) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate(&place.file("ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let at = UnixTime::since_unix_epoch(Duration::from_micros(at.micros().try_into().unwrap()));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    verifier.verify_server_cert(server, &[], &name, &[], at).is_ok()
}

#[test]
fn it_is_believed_for_its_names_and_for_its_time() {
    let (_dir, place) = made(&["silas.lan", "192.168.7.3"]);
    let server = certificate(&place.file("server.pem")).unwrap();
    assert!(believes(&place, &server, "silas.lan", now()) && believes(&place, &server, "192.168.7.3", days(300)));
    assert!(!believes(&place, &server, "example.org", now()) && !believes(&place, &server, "192.168.7.4", now()));
    assert!(!believes(&place, &server, "silas.lan", days(SERVER_DAYS + 1)));
    let (authority, ends) = place.ends().unwrap();
    assert!(days(396) < ends && ends < days(397) && days(3649) < authority && authority < days(3650));
}

#[test]
fn renewing_keeps_the_authority() {
    let (_dir, place) = made(&["silas.lan"]);
    let (before, fingerprint) = (certificate(&place.file("server.pem")).unwrap(), place.fingerprint().unwrap());
    place.renew(days(390)).unwrap();
    let after = certificate(&place.file("server.pem")).unwrap();
    assert_ne!(before, after);
    assert_eq!(place.fingerprint().unwrap(), fingerprint);
    assert!(believes(&place, &after, "silas.lan", days(700)));
}

/// Somebody who steals the authority's key still cannot pose as anybody else.
#[test]
fn the_authority_cannot_vouch_for_other_names() {
    for own in ["silas.lan", "192.168.7.3"] {
        let (_dir, place) = made(&[own]);
        let stolen = KeyPair::from_pem(&fs::read_to_string(place.file("ca.key")).unwrap()).unwrap();
        for other in ["bank.example", "10.0.0.1", "fe80::1"] {
            let issuer = Issuer::new(authority(&[own.to_owned()], now()).unwrap(), &stolen);
            let mut params = CertificateParams::new(vec![other.to_owned()]).unwrap();
            (params.not_before, params.not_after) = (date(now(), 0).unwrap(), date(now(), 90).unwrap());
            let forged = params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
            assert!(!believes(&place, forged.der(), other, now()), "{own} vouched for {other}");
        }
        // The same road, with a name that is its own, does lead there.
        place.issue(&[own.to_owned()], &stolen, now()).unwrap();
        assert!(believes(&place, &certificate(&place.file("server.pem")).unwrap(), own, now()));
    }
}

#[test]
fn keys_are_the_owners_alone_and_a_key_that_is_not_is_refused() {
    let (_dir, place) = made(&["silas.lan"]);
    for name in ["ca.key", "server.key", "ca.pem", "server.pem"] {
        assert_eq!(fs::metadata(place.file(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(&place.dir).unwrap().permissions().mode() & 0o777, 0o700);
    let key = place.file("server.key");
    assert!(private(&key, 0o077).is_ok());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = private(&key, 0o077).unwrap_err().to_string();
    assert!(refused.contains("E_CFG_TLS") && refused.contains("chmod 600"), "{refused}");
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let (_dir, place) = made(&["silas.lan"]);
    let read = |name: &str| fs::read(place.file(name)).unwrap();
    let (chain, key) = (read("server.pem"), read("server.key"));
    let refused = |chain: &[u8], key: &[u8], name: &str, at: Timestamp| match Tls::new(chain, key, name, at, None) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    };
    assert!(Tls::new(&chain, &key, "silas.lan", now(), None).is_ok());
    assert!(refused(&chain, &key, "other.lan", now()).contains("not made for `other.lan`"));
    assert!(refused(&chain, &read("ca.key"), "silas.lan", now()).contains("do not work together"));
    assert!(refused(&chain, &key, "silas.lan", days(400)).contains("good until"));
    assert!(refused(&chain, &key, "silas.lan", Timestamp::from_micros(0)).contains("is the clock right?"));
    assert!(refused(b"", &key, "silas.lan", now()).contains("holds no certificate"));
    assert!(refused(&chain, b"", "silas.lan", now()).contains("holds no private key"));
}
