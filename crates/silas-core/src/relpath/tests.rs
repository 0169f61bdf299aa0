//! Every file name has one text, and every text one file name.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn escapes() {
    let cases: [(&[u8], &str); 8] = [
        (b"src/main.rs", "src/main.rs"),
        (b"a b", "a b"),
        ("é/😀".as_bytes(), "é/😀"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"a\nb\x7f", "a\\x0ab\\x7f"),
        (b"a\\x41", "a\\\\x41"),
        ("\u{85}".as_bytes(), "\\xc2\\x85"),
        (b"\xe2\x82", "\\xe2\\x82"),
    ];
    for (bytes, text) in cases {
        let path = RelPath::from_bytes(bytes).unwrap();
        assert_eq!(path.to_string(), text);
        assert_eq!(RelPath::try_from(text.to_owned()).unwrap().as_bytes(), bytes);
    }
}

#[test]
fn nothing_leaves_the_directory() {
    let outside: [&[u8]; 12] =
        [b"", b"/", b"/etc", b"..", b"a/..", b"../a", b"a/../b", b".", b"./a", b"a//b", b"a/", b"a\0b"];
    for bytes in outside {
        assert!(RelPath::from_bytes(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn other_spellings_are_refused() {
    let others = [
        "\\x61",
        "\\xFF",
        "\\x+f",
        "\\x2f",
        "a\\x2fb",
        "\\",
        "\\x",
        "\\x0",
        "\\n",
        "\\xc3\\xa9",
        "a\nb",
        "\\x00",
        "\\x2e\\x2e",
    ];
    for other in others {
        assert!(RelPath::try_from(other.to_owned()).is_err(), "{other:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn reads_back_over_all_bytes(bytes in vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'x'), Just(b'/'), Just(0xc2)], 0..24)) {
        if let Ok(path) = RelPath::from_bytes(&bytes) {
            let text = path.to_string();
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert_eq!(RelPath::try_from(text).unwrap(), path);
        }
    }

    #[test]
    fn any_text_is_one_path_or_none(text in vec(prop_oneof![any::<char>(), Just('\\'), Just('x'), Just('f'), Just('0')], 0..12)) {
        let text = String::from_iter(text);
        if let Ok(path) = RelPath::try_from(text.clone()) {
            prop_assert_eq!(path.to_string(), text);
        }
    }
}
