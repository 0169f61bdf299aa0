//! The published vectors of RFC 8785, and what is refused before anything is hashed.

use super::*;
use serde_json::json;

/// Canonical text by the library alone: the vectors have floats, which [`text`] refuses.
fn jcs(input: &str) -> String {
    let value: Value = serde_json::from_str(input).unwrap();
    serde_json_canonicalizer::to_string(&value).unwrap()
}

#[test]
fn rfc_8785_section_3_2_2_serialization() {
    let input = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let expected = concat!(
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
        r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
    assert_eq!(jcs(input), expected);
}

#[test]
fn rfc_8785_section_3_2_3_sorting() {
    let input = r#"{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let expected = concat!(
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",",
        "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",",
        "\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
    );
    assert_eq!(jcs(input), expected);
    assert_eq!(text(&serde_json::from_str::<Value>(input).unwrap()).unwrap(), expected, "and without floats by ours");
}

#[test]
fn published_structures() {
    let cases = [
        (r#"[56, {"d": true, "10": null, "1": [ ]}]"#, r#"[56,{"1":[],"10":null,"d":true}]"#),
        (
            r#"{"1": {"f": {"f": "hi","F": 5} ,"\n": 56}, "10": { }, "": "empty", "a": { }, "111": [ { } ], "A": { }}"#,
            r#"{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{}],"A":{},"a":{}}"#,
        ),
        (
            r#"{"sin": "4", "pêche": "3", "péché": "2", "peach": "1"}"#,
            r#"{"peach":"1","péché":"2","pêche":"3","sin":"4"}"#,
        ),
        (r#"{"Unnormalized Unicode": "A\u030a"}"#, "{\"Unnormalized Unicode\":\"A\u{30a}\"}"),
        (
            r#"{"\u20ac": 1, "\r": 2, "\u000a": 3, "1": 4, "\u0080": "Control\u007f", "\ud83d\ude02": 5, "\u00f6": 6,
                "\ufb33": 7, "</script>": 8}"#,
            "{\"\\n\":3,\"\\r\":2,\"1\":4,\"</script>\":8,\"\u{80}\":\"Control\u{7f}\",\"ö\":6,\"€\":1,\"😂\":5,\"\u{fb33}\":7}",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(text(&read::<Value>(input).unwrap()).unwrap(), expected);
        assert_eq!(jcs(input), expected);
    }
}

#[test]
fn rfc_8785_appendix_b_numbers() {
    let table: [(u64, &str); 24] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, expected) in table {
        assert_eq!(serde_json_canonicalizer::to_string(&f64::from_bits(bits)).unwrap(), expected, "{bits:x}");
    }
    for bits in [0x7fff_ffff_ffff_ffff, 0x7ff0_0000_0000_0000_u64] {
        // The appendix wants an error here. This library writes null; either way nothing of ours can reach it.
        assert!(!serde_json_canonicalizer::to_string(&f64::from_bits(bits)).is_ok_and(|text| text != "null"));
    }
}

#[test]
fn no_float_and_no_large_integer_is_hashed() {
    for inexact in [json!(0.5), json!(56.0), json!(1e30), json!((1u64 << 53) + 1), json!(u64::MAX), json!(i64::MIN)] {
        assert!(matches!(text(&inexact), Err(Error::Number)), "{inexact}");
        assert!(matches!(text(&json!({ "a": [inexact] })), Err(Error::Number)), "{inexact} inside");
        assert!(read::<Value>(&inexact.to_string()).is_err(), "{inexact} read");
    }
    for exact in [json!(1u64 << 53), json!(-(1i64 << 53)), json!(0), json!(-1)] {
        assert_eq!(text(&exact).unwrap(), exact.to_string());
        assert_eq!(read::<Value>(&exact.to_string()).unwrap(), exact);
    }
}

#[test]
fn a_key_that_comes_twice_is_refused_at_any_depth() {
    for twice in [r#"{"a":1,"a":1}"#, r#"{"x":[{"a":1,"b":2,"a":3}]}"#, r#"{"a":1,"\u0061":2}"#] {
        assert!(serde_json::from_str::<Value>(twice).is_ok(), "plain serde_json lets this pass");
        assert!(read::<Value>(twice).unwrap_err().to_string().contains("comes twice"), "{twice}");
    }
}

#[test]
fn nothing_may_follow_and_depth_is_bounded() {
    for broken in ["", "{} {}", "{}x", "{\"a\":}", "\u{feff}{}", "[1,]", "NaN", "01", "'a'"] {
        assert!(read::<Value>(broken).is_err(), "{broken}");
    }
    assert!(read::<Value>(&"[".repeat(100_000)).is_err());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read::<Value>(&deep).is_err());
}

#[test]
fn a_hash_has_one_spelling() {
    let digest = Digest::of(b"");
    let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(digest.to_string(), hex);
    assert_eq!(Digest::try_from(hex.to_owned()).unwrap(), digest);
    let refused =
        [hex.to_uppercase(), hex[1..].to_owned(), format!("{hex}0"), format!(" {}", &hex[1..]), "é".repeat(32)];
    for other in refused {
        assert!(Digest::try_from(other.clone()).is_err(), "{other}");
    }
}
