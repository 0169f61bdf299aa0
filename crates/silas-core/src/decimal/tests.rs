//! One spelling of every number, and an order that agrees with arithmetic.

use super::*;
use proptest::prelude::*;

#[test]
fn one_spelling() {
    let cases = [
        ("0", "0"),
        ("-0", "0"),
        ("-0.000", "0"),
        ("00012.3400", "12.34"),
        ("-007", "-7"),
        ("0.85", "0.85"),
        ("1.0", "1"),
        ("999999999999999999999999999999", "999999999999999999999999999999"),
        ("99999999999999999999.9999999999", "99999999999999999999.9999999999"),
    ];
    for (written, canonical) in cases {
        let decimal = Decimal::parse(written).unwrap();
        assert_eq!(decimal.as_str(), canonical);
        assert_eq!(Decimal::parse(canonical).unwrap(), decimal, "the spelling is a fixed point");
    }
}

#[test]
fn other_spellings_are_refused() {
    let others = [
        "",
        " ",
        "-",
        ".",
        ".5",
        "5.",
        "+1",
        "1e5",
        "1E5",
        "0x10",
        "1_000",
        "1,5",
        "--1",
        "1.2.3",
        " 1",
        "1 ",
        "NaN",
        "inf",
        "١",
        "1\n",
        "-.5",
        "1.-5",
        "9999999999999999999999999999999",
        "99999999999999999999.99999999999",
    ];
    for other in others {
        assert!(Decimal::parse(other).is_err(), "{other:?}");
    }
    assert!(Decimal::parse(&"9".repeat(1_000_000)).unwrap_err().to_string().len() < 200);
}

/// Any number that has several spellings, with its value in units of 10^-12.
fn number() -> impl Strategy<Value = (String, i128)> {
    (any::<bool>(), 0..1_000_000u64, 0u32..=12, any::<u64>(), 0usize..3).prop_map(
        |(negative, whole, scale, part, zeros)| {
            let part = part % 10u64.pow(scale);
            let value = i128::from(whole) * 10i128.pow(12) + i128::from(part) * 10i128.pow(12 - scale);
            let sign = if negative { "-" } else { "" };
            let zeros = "0".repeat(zeros);
            let fraction =
                if scale == 0 { String::new() } else { format!(".{part:0width$}{zeros}", width = scale as usize) };
            (format!("{sign}{zeros}{whole}{fraction}"), if negative { -value } else { value })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn order_is_the_order_of_the_numbers((a_text, a) in number(), (b_text, b) in number()) {
        let (a_decimal, b_decimal) = (Decimal::parse(&a_text).unwrap(), Decimal::parse(&b_text).unwrap());
        prop_assert_eq!(a_decimal.cmp(&b_decimal), a.cmp(&b));
        prop_assert_eq!(a_decimal == b_decimal, a == b, "equal numbers have equal texts");
    }
}
