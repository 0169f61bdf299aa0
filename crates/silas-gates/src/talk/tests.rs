//! What a message and a reply must be.

use super::*;

#[test]
fn a_message_says_something_and_not_more_than_one_may() {
    let code = |text: &str| of_a_turn().message_in(text).err().map(|blocked| blocked.code);
    assert_eq!(code(" \n\t"), Some("E_CHANNEL_EMPTY"));
    assert_eq!(code(&"a".repeat(MESSAGE_BYTES_MAX)), None);
    assert_eq!(code(&"a".repeat(MESSAGE_BYTES_MAX + 1)), Some("E_CHANNEL_SIZE"));
}

#[test]
fn nothing_hides_in_a_reply() {
    let shown = of_a_turn().reply_out("all \u{202e}good\u{1b}[8m".to_owned()).unwrap();
    assert!(shown.starts_with("all ") && !shown.contains(['\u{202e}', '\u{1b}']), "{shown:?}");
}
