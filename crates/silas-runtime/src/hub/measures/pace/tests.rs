//! The cases that the page is held against too.

use super::*;
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Case {
    name: String,
    decisions: Vec<Decision>,
    /// How often it became too quick.
    times: usize,
}

#[derive(Deserialize)]
struct Decision {
    /// Since the one before.
    after_s: u64,
    risk: Option<Risk>,
    ms: u64,
    /// Whether deciding is too quick from then on.
    quick: bool,
}

#[test]
fn the_page_and_the_ledger_mean_the_same_by_too_quick() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/pace.json");
    let cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(cases.len() >= 8);
    for case in cases {
        let (mut pace, mut at, mut n_times) = (Pace::default(), Timestamp::EPOCH, 0);
        for (n, Decision { after_s, risk, ms, quick }) in case.decisions.into_iter().enumerate() {
            at = at.plus(Duration::from_secs(after_s));
            n_times += usize::from(pace.decided(risk, Some(Duration::from_millis(ms)), at));
            assert_eq!(pace.is_too_quick, quick, "{}: decision {}", case.name, n + 1);
        }
        assert_eq!(n_times, case.times, "{}", case.name);
    }
}

#[test]
fn a_decision_whose_time_nobody_knows_is_not_a_quick_one() {
    let mut pace = Pace::default();
    for took in [Some(1), None, Some(1), Some(1), Some(1)] {
        assert!(!pace.decided(Some(Risk::High), took.map(Duration::from_millis), Timestamp::EPOCH));
    }
    assert!(pace.decided(Some(Risk::High), Some(Duration::ZERO), Timestamp::EPOCH));
}
