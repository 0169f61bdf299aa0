//! What is replaced, what stays, and what is said where it was not clear.

use super::*;
use proptest::prelude::*;

fn one(text: &str, old: &str, new: &str) -> Result<String, NotReplaced> {
    replace(text.as_bytes(), old, new, Places::TheOne).map(|made| String::from_utf8(made.text).unwrap())
}

#[test]
fn one_place_is_replaced_and_every_doubt_is_told() {
    assert_eq!(one("a\nb\nc\n", "b", "x\ny"), Ok("a\nx\ny\nc\n".to_owned()));
    assert_eq!(one("a\nb\nc", "b\nc", ""), Ok("a\n".to_owned()));
    assert_eq!(one("b a\nb\n", "b", "x"), Err(NotReplaced::Several { lines: vec![1, 2] }));
    assert_eq!(one("a\n", "a", "a"), Err(NotReplaced::Same));
    assert_eq!(one("a\n", "", "a"), Err(NotReplaced::Same));
    assert_eq!(one("a\n", "zzzzzz", "a"), Err(NotReplaced::Absent { nearest: None }));
    let all = replace(b"b a\nb\n", "b", "x\n", Places::All).unwrap();
    assert_eq!((all.text.as_slice(), all.lines.as_slice()), (&b"x\n a\nx\n\n"[..], &[1, 3][..]));
}

#[test]
fn the_nearest_place_is_found_through_other_blanks_and_other_words() {
    let text = "def a():\n    return 1\n\n\ndef b():\n\treturn total + 1\n\n\ndef c():\n    return 3\n";
    let near = |sought: &str| nearest(text.as_bytes(), sought);
    assert_eq!(near("def b():\n    return total + 1\n"), Some((3, 8)));
    assert_eq!(near("    return total + 2"), Some((4, 8)));
    assert_eq!(near("}"), None);
    assert_eq!(nearest(b"", "x"), None);
}

#[test]
fn lines_that_end_with_cr_lf_stay_so() {
    assert_eq!(one("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz"), Ok("x\r\ny\r\nz\r\nc\r\n".to_owned()));
    assert_eq!(one("a\r\nb\nc\n", "b\nc", "x\ny"), Ok("a\r\nx\ny\n".to_owned()), "mixed ends are left alone");
    assert_eq!(one("a\r\nb\r\n", "a\r\nb", "c"), Ok("c\r\n".to_owned()));
    assert!(!has_crlf_only(b"a") && has_crlf_only(b"a\r\n") && !has_crlf_only(b"\n"));
}

proptest! {
    /// What is not replaced stays byte for byte, and taking it back gives the old text.
    #[test]
    fn nothing_else_is_touched(
        before in prop::collection::vec(any::<u8>(), 0..60),
        after in prop::collection::vec(any::<u8>(), 0..60),
        new in "[a-z\\n€]{0,9}",
    ) {
        const OLD: &str = "⟦here⟧";
        let text = [before.as_slice(), OLD.as_bytes(), after.as_slice()].concat();
        let made = replace(&text, OLD, &new, Places::TheOne).unwrap();
        let put_in = if made.is_crlf { new.replace('\n', "\r\n") } else { new.clone() };
        prop_assert_eq!(&made.text, &[before.as_slice(), put_in.as_bytes(), after.as_slice()].concat());
    }

    #[test]
    fn any_text_can_be_looked_through(text in prop::collection::vec(any::<u8>(), 0..200), sought in ".{0,40}") {
        let n = lines(&text).len() as u64;
        if let Some((from, to)) = nearest(&text, &sought) {
            prop_assert!(1 <= from && from <= to && to <= n);
        }
    }
}
