//! A month of made-up answers, measured.

use super::*;

fn answer(verdict: Verdict, seconds: u64, at: i64) -> Answer {
    Answer { kind: Kind::Plan, verdict, took: Duration::from_secs(seconds), at: Timestamp::from_micros(at * 1_000_000) }
}

fn find<'m>(measures: &'m [MeasureView], name: &str) -> &'m MeasureView {
    measures.iter().find(|measure| measure.name == name).unwrap()
}

#[test]
fn nothing_is_measured_where_nothing_happened() {
    assert_eq!(measure(&Seen::default(), Timestamp::from_micros(0)), []);
}

#[test]
fn an_attentive_owner() {
    let mut answers: Vec<Answer> = (0..18).map(|n| answer(Verdict::Approved, 4 + n % 3, 100)).collect();
    answers.push(answer(Verdict::Declined, 9, 100));
    answers.push(answer(Verdict::EditRequested, 12, 100));
    let seen = Seen { answers, n_messages: 4, n_applied: 15, n_undone: 1 };
    let measures = measure(&seen, Timestamp::from_micros(200_000_000));
    assert_eq!(find(&measures, "Time to decide").value, "5 s");
    assert_eq!(find(&measures, "Declined").value, "1 of 20, 5 %");
    assert_eq!(find(&measures, "Undone").value, "1 of 15, 6 %");
    assert_eq!(find(&measures, "Five quick ones in a row").value, "0 times this week");
    assert!(measures.iter().all(|measure| measure.note.is_empty()), "{measures:?}");
}

#[test]
fn a_tired_owner_is_seen() {
    let answers = (0..12).map(|_| answer(Verdict::Approved, 0, 100)).collect();
    let seen = Seen { answers, n_messages: 0, n_applied: 12, n_undone: 4 };
    let measures = measure(&seen, Timestamp::from_micros(200_000_000));
    assert_eq!(find(&measures, "Time to decide").value, "under 1 s");
    assert_eq!(find(&measures, "Five quick ones in a row").value, "2 times this week");
    let noted = ["Time to decide", "Declined", "Undone", "Five quick ones in a row"];
    assert!(noted.iter().all(|name| !find(&measures, name).note.is_empty()), "{measures:?}");
    let later = measure(&seen, Timestamp::from_micros(30 * 24 * 3600 * 1_000_000));
    assert_eq!(find(&later, "Five quick ones in a row").value, "0 times this week");
}
