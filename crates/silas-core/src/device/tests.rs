//! The digits of a key: the same for the same key, others for another.

use super::*;
use ed25519_dalek::SigningKey;

fn key(seed: u8) -> PublicKey {
    PublicKey::from_bytes(SigningKey::from_bytes(&[seed; 32]).verifying_key().to_bytes())
}

fn shown(seed: u8, installation: &str) -> String {
    digits(&key(seed), &InstallationId::parse(installation).unwrap())
}

#[test]
fn digits_are_of_the_key_and_of_the_installation() {
    // The page's tests expect the same of the same key.
    assert_eq!(shown(7, "inst-1"), "737 446");
    assert_ne!(shown(8, "inst-1"), shown(7, "inst-1"));
    assert_ne!(shown(7, "inst-2"), shown(7, "inst-1"));
}
