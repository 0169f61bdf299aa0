//! Names of secrets, and values that are not printed.

use super::*;

#[test]
fn a_secret_is_not_printed() {
    let secret = Secret::new(b"hunter2".to_vec());
    assert_eq!(format!("{secret:?}"), "[secret]");
    assert_eq!(secret.expose(), b"hunter2");
}

#[test]
fn names_of_secrets() {
    for good in ["github", "outlook:ref_abc123", "a.b-c_d", "7"] {
        assert_eq!(SecretRef::parse(good).unwrap().to_string(), good);
    }
    for bad in ["", " a", "a b", "-a", "../x", "a/b", "é", "a\n", &"a".repeat(81)] {
        assert!(SecretRef::parse(bad).is_err(), "{bad:?}");
    }
}
