//! Instants have one spelling; everything else is refused.

use super::*;
use proptest::prelude::*;

#[test]
fn known_instants() {
    let cases = [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (1_794_775_345_000_001, "2026-11-15T20:42:25.000001Z"),
        (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        (LAST, "9999-12-31T23:59:59.999999Z"),
    ];
    for (micros, text) in cases {
        assert_eq!(Timestamp::from_micros(micros).to_string(), text);
        assert_eq!(Timestamp::parse(text).unwrap().micros(), micros);
    }
}

#[test]
fn other_spellings_are_refused() {
    let others = [
        "",
        "2026-11-15T20:42:25Z",
        "2026-11-15T20:42:25.000Z",
        "2026-11-15T20:42:25.000000000Z",
        "2026-11-15T20:42:25.000000z",
        "2026-11-15t20:42:25.000000Z",
        "2026-11-15 20:42:25.000000Z",
        "2026-11-15T20:42:25.000000+00:00",
        "2026-11-15T20:42:25,000000Z",
        "+026-11-15T20:42:25.000000Z",
        "2026-1-15T20:42:25.0000000Z",
        "2026-13-15T20:42:25.000000Z",
        "2026-00-15T20:42:25.000000Z",
        "2026-11-00T20:42:25.000000Z",
        "2026-11-31T20:42:25.000000Z",
        "2026-02-29T20:42:25.000000Z",
        "2100-02-29T20:42:25.000000Z",
        "2026-11-15T24:00:00.000000Z",
        "2026-11-15T20:60:25.000000Z",
        "2026-11-15T20:42:60.000000Z",
        "1969-12-31T23:59:59.999999Z",
        "0000-01-01T00:00:00.000000Z",
        " 2026-11-15T20:42:25.000000Z",
        "2026-11-15T20:42:25.000000Z\n",
        "２026-11-15T20:42:25.000000Z",
    ];
    for other in others {
        assert!(Timestamp::parse(other).is_err(), "{other:?}");
    }
}

#[test]
fn arithmetic_stays_within_what_can_be_written() {
    assert_eq!(Timestamp::from_micros(-1), Timestamp::EPOCH);
    let last = Timestamp::from_micros(i64::MAX);
    assert_eq!(last.micros(), LAST);
    assert_eq!(last.plus(Duration::MAX), last);
    assert_eq!(Timestamp::EPOCH.since(last), Duration::ZERO);
    assert_eq!(last.since(Timestamp::EPOCH), Duration::from_micros(LAST as u64));
    assert_eq!(Timestamp::EPOCH.plus(Duration::from_secs(1)).micros(), 1_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn reads_back_and_sorts_like_its_text(a in 0..=LAST, b in 0..=LAST) {
        let (a, b) = (Timestamp::from_micros(a), Timestamp::from_micros(b));
        prop_assert_eq!(Timestamp::parse(&a.to_string()).unwrap(), a);
        prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
    }
}
