//! Sealed things open with their own key and about their own subject, and not otherwise.

use super::*;

#[test]
fn only_the_same_key_and_the_same_subject_open() {
    let key = SealKey::random();
    let sealed = key.seal(b"mail", b"value").unwrap();
    assert_eq!(key.open(b"mail", &sealed).unwrap().as_slice(), b"value");
    assert!(key.open(b"post", &sealed).is_none());
    assert!(SealKey::random().open(b"mail", &sealed).is_none());
    assert_ne!(key.seal(b"mail", b"value").unwrap(), sealed, "a nonce is used once");
    assert_eq!(format!("{key:?}"), "[secret]");
}

#[test]
fn one_flipped_bit_or_a_missing_byte_is_noticed() {
    let key = SealKey::random();
    let sealed = key.seal(b"", b"value").unwrap();
    for n in 0..sealed.len() {
        let mut flipped = sealed.clone();
        flipped[n] ^= 1;
        assert!(key.open(b"", &flipped).is_none(), "byte {n}");
        assert!(key.open(b"", &sealed[..n]).is_none(), "cut at {n}");
    }
}

#[test]
fn a_passphrase_gives_one_key_with_one_salt() {
    let (one, other) = (Stretch::new(), Stretch::new());
    let passphrase = Secret::new(b"correct horse".to_vec());
    let key = one.key(&passphrase).unwrap();
    assert_eq!(one.key(&passphrase).unwrap(), key);
    assert_ne!(other.key(&passphrase).unwrap(), key);
    assert_ne!(one.key(&Secret::new(b"correct horsf".to_vec())).unwrap(), key);
}

#[test]
fn a_file_cannot_ask_for_all_memory_or_all_time() {
    let passphrase = Secret::new(b"x".to_vec());
    assert!(Stretch { memory_kib: u32::MAX, ..Stretch::new() }.key(&passphrase).is_none());
    assert!(Stretch { passes: u32::MAX, ..Stretch::new() }.key(&passphrase).is_none());
    assert!(Stretch { salt: "short".to_owned(), ..Stretch::new() }.key(&passphrase).is_none());
}
