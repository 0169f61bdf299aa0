//! No id passes for another.

use super::*;

struct Counting;
impl Random for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.iter_mut().enumerate().for_each(|(n, byte)| *byte = n as u8 * 17);
    }
}

#[test]
fn a_prefix_and_plain_characters() {
    assert_eq!(CardId::new(&Counting).as_str(), "card-00112233-4455-4677-8899-aabbccddeeff");
    assert!(WorkItemId::parse(&format!("task-{}", "x".repeat(75))).is_ok());
    let refused = [
        "",
        "task-",
        "task",
        "card-1",
        "Task-1",
        " task-1",
        "task-1 ",
        "task-a_b",
        "task-a/b",
        "task-..",
        "task-é",
        "task-1\n",
        "task-\0",
        &format!("task-{}", "x".repeat(76)),
    ];
    for text in refused {
        assert!(WorkItemId::parse(text).is_err(), "{text:?}");
    }
    assert!(WorkItemId::parse(&"x".repeat(1_000_000)).unwrap_err().to_string().len() < 300);
}

#[test]
fn every_kind_has_its_own_prefix() {
    let prefixes = [
        CardId::PREFIX,
        WorkItemId::PREFIX,
        ExecutionId::PREFIX,
        TokenId::PREFIX,
        KeyId::PREFIX,
        InstallationId::PREFIX,
        SessionId::PREFIX,
        MessageId::PREFIX,
        Nonce::PREFIX,
    ];
    for (n, one) in prefixes.iter().enumerate() {
        assert!(!prefixes.iter().enumerate().any(|(m, other)| m != n && other.starts_with(one)), "{one}");
    }
}

#[test]
fn derived_ids_follow_from_what_they_name() {
    let token = TokenId::of(&Digest::of(b"a"));
    assert_eq!(TokenId::parse(token.as_str()).unwrap(), token);
    assert_eq!(ExecutionId::derive(&token, 0), ExecutionId::derive(&token, 0));
    assert_ne!(ExecutionId::derive(&token, 0), ExecutionId::derive(&token, 1));
    assert_ne!(ExecutionId::derive(&token, 0), ExecutionId::derive(&TokenId::of(&Digest::of(b"b")), 0));
    assert_ne!(KeyId::of(&[0; 32]), KeyId::of(&[1; 32]));
    assert!(ExecutionId::parse(ExecutionId::derive(&token, 999).as_str()).is_ok());
}
