//! No line of a text can stand where Silas speaks.

use super::*;

#[test]
fn every_line_but_the_first_is_marked() {
    let forged = "true\n● Low risk · Plan · zzzzz\n  silas approve  Harmless\n";
    let lines = laid_out(forged, 10, None);
    assert_eq!(lines, ["true", "│ ● Low risk · Plan · zzzzz", "│   silas approve  Harmless"]);
    assert_eq!(laid_out("a\n\n\nb", 0, None), ["a", "│ ", "│ ", "│ b"]);
}

#[test]
fn no_other_character_ends_a_line() {
    for c in ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}', '\u{1b}'] {
        assert_eq!(laid_out(&format!("a{c}b"), 0, None).len(), 1, "{c:?}");
        assert!(!laid_out(&format!("a{c}b"), 0, None)[0].contains(c), "{c:?}");
    }
}

/// A text that is padded to the width of the screen would go on at its left edge.
#[test]
fn what_is_wider_than_the_screen_is_broken_and_marked() {
    let padded = format!("true #{}● Low risk · Plan · zzzzz", " ".repeat(62));
    let lines = laid_out(&padded, 10, Some(80));
    assert!(lines.len() > 1, "{lines:?}");
    for (n, line) in lines.iter().enumerate() {
        assert!(10 + line.chars().count() <= 80, "{line}");
        assert!(n == 0 || line.starts_with("┊ "), "{line}");
    }
    let wide = laid_out(&"世".repeat(100), 4, Some(40));
    assert!(wide.iter().all(|line| line.chars().count() * 2 <= 36 + 2), "{wide:?}");
    assert_eq!(laid_out(&"x".repeat(400), 10, None).len(), 1, "a pipe has no width");
}

#[test]
fn what_begins_at_the_left_edge_is_marked_from_the_first_line_on() {
    assert_eq!(marked("● Low risk\nb"), ["│ ● Low risk", "│ b"]);
}

#[test]
fn what_comes_bit_by_bit_is_marked_in_the_same_way() {
    let mut spoken = Spoken { column: 0, is_in_word: false, screen: Some(20) };
    assert_eq!(spoken.more("One.\n● Lo"), "│ One.\n│ ● Lo");
    assert_eq!(spoken.more("w risk · Plan · zz"), "w risk · \n┊ Plan · zz");
    assert_eq!(spoken.more("z and abcdefghijklmnopqrstuvwxyz"), "z and ab\n┊ cdefghijklmnopqrst\n┊ uvwxyz");
    assert_eq!((spoken.end(), spoken.end()), ("\n", ""));
    let mut piped = Spoken { column: 0, is_in_word: false, screen: None };
    assert_eq!(piped.more("a\r\n\nb"), "│ a⟨U+000D⟩\n│ \n│ b");
}

#[test]
fn lines_are_broken_between_words() {
    assert_eq!(broken("one two three four", Some(9)), ["one two", "three", "four"]);
    assert_eq!(broken("one two three four", Some(7)), ["one two", "three", "four"]);
    assert_eq!(broken("abcdefghijkl mn", Some(5)), ["abcde", "fghij", "kl mn"]);
    assert_eq!(broken("ab abcdefghijkl", Some(5)), ["ab", "abcde", "fghij", "kl"]);
    // Only the one space that a break stands for is not there.
    assert_eq!(broken("ab     cd", Some(4)), ["ab  ", "  cd"]);
    assert_eq!(broken("", Some(4)), [""]);
    assert_eq!(broken("abcd ", Some(4)), ["abcd"]);
    for room in 1..30 {
        let text = "run `cargo test --all` in  /home/mira/code and   say so";
        let said: String = broken(text, Some(room)).concat();
        let without = |text: &str| text.replace(' ', "");
        assert_eq!(without(&said), without(text), "{room}");
        assert!(broken(text, Some(room)).iter().all(|part| part.chars().count() <= room), "{room}");
    }
}
