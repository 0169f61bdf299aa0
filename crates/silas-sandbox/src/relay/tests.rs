//! What is told about a command without the secrets that it was given.

use super::*;

#[test]
fn given_values_are_not_told() {
    let (socket, _other) = UnixStream::pair().unwrap();
    let values = [&b"s3cret\n"[..], b"abc", b""];
    let mut relay = Relay::new(&socket);
    relay.given = values.map(|value| Secret::new(value.to_vec())).to_vec();
    let hidden = |output: &str| String::from_utf8(relay.hide_given(output.as_bytes())).unwrap();
    assert_eq!(hidden("s3cret\n"), "[secret]");
    assert_eq!(hidden("a s3cret, s3crets3cre"), "a [secret], [secret]s3cre");
    assert_eq!(hidden("abc"), "abc", "too short to be told from other words");
    assert_eq!(hidden(""), "");
}
