//! A month of made-up answers, and a ledger that is known, measured.

use super::*;
use silas_core::check::Outcome;
use silas_core::event::Text;
use silas_core::{Digest, ExecutionId, KeyId, TokenId};

fn answer(verdict: Verdict, seconds: u64, at: i64) -> Answer {
    let (took, at) = (Duration::from_secs(seconds), Timestamp::from_micros(at * 1_000_000));
    Answer { kind: Kind::Plan, verdict, risk: Some(Risk::Medium), took, at }
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

const SECOND: i64 = 1_000_000;

fn text() -> Text {
    Text(Digest::of(b""))
}

fn applied() -> AuditEvent {
    let execution = ExecutionId::derive(&TokenId::of(&Digest::of(b"")), 1);
    AuditEvent::WorkApplied { execution, changeset: Digest::of(b""), files: 1, outcome: Outcome::Proved, landed: None }
}

fn undone() -> AuditEvent {
    let token = TokenId::of(&Digest::of(b""));
    let execution = ExecutionId::derive(&token, 1);
    AuditEvent::WorkUndone { execution, changeset: Digest::of(b""), files: 1, token }
}

/// A ledger with one question after the other: offered, and decided so many seconds later.
fn ledger(questions: &[(Kind, Verdict, u64)], more: Vec<AuditEvent>) -> Vec<Entry> {
    let (zero, mut at, mut events) = (Digest::of(b""), 0, Vec::new());
    for (n, (kind, verdict, seconds)) in questions.iter().enumerate() {
        let card = CardId::parse(&format!("card-{n}")).unwrap();
        at += 60 * SECOND;
        let (plan_hash, shown, intent) = (zero, zero, text());
        events.push((at, AuditEvent::CardOffered { card: card.clone(), kind: *kind, plan_hash, shown, intent }));
        at += i64::try_from(*seconds).unwrap() * SECOND;
        let (token, key) = (TokenId::of(&zero), KeyId::of(b"key"));
        events.push((at, AuditEvent::DecisionRecorded { card, token, kind: *kind, verdict: *verdict, key }));
    }
    events.extend(more.into_iter().map(|event| (at, event)));
    let entry = |(seq, (at, event)): (usize, (i64, AuditEvent))| {
        let name = event.name().to_owned();
        let at = Timestamp::from_micros(at);
        Entry { seq: seq as u64 + 1, at, name, event: Some(event), body: String::new(), prev: zero, hash: zero }
    };
    events.into_iter().enumerate().map(entry).collect()
}

#[test]
fn each_risk_has_its_own_time_and_only_what_is_known_counts() {
    use Kind::{Apply, Plan, Root, Undo};
    use Verdict::{Approved, Declined, EditRequested};
    let questions = [
        (Plan, Approved, 8),
        (Plan, EditRequested, 12),
        (Plan, Approved, 10),
        (Apply, Approved, 3),
        (Apply, Declined, 5),
        (Root, Approved, 40),
        (Undo, Approved, 1),
    ];
    let entries = ledger(&questions, vec![applied(), applied(), undone()]);
    // Of the directory's card nothing is kept any more.
    let risk = |n: usize| if n < 3 { Risk::Medium } else { Risk::Low };
    let known = [0, 1, 2, 3, 4, 6].map(|n| (CardId::parse(&format!("card-{n}")).unwrap(), risk(n)));
    let seen = seen(&entries, &HashMap::from(known), Timestamp::EPOCH);
    let measures = measure(&seen, Timestamp::from_micros(3600 * SECOND));
    let told: Vec<(&str, &str, &str)> =
        measures.iter().map(|one| (one.name.as_str(), one.value.as_str(), one.target.as_str())).collect();
    assert_eq!(
        told,
        [
            ("Time to decide", "10 s", "2 to 15 s"),
            ("Time to decide, low risk", "5 s", "2 to 5 s"),
            ("Time to decide, medium risk", "10 s", "5 to 15 s"),
            ("Taps for finished work", "2.5 each, 5 for 2", "3 or fewer"),
            ("Declined", "1 of 6, 16 %", "5 to 15 %"),
            ("Sent back", "1 of 6, 16 %", "under 10 %"),
            ("Undone", "1 of 2, 50 %", "under 10 %"),
            ("Typed", "0 of 7, 0 %", "under 20 %"),
            ("Five quick ones in a row", "0 times this week", "none"),
        ]
    );
    // Six decisions are too few for a verdict about them.
    assert!(measures.iter().all(|one| one.note.is_empty()), "{measures:?}");
}

#[test]
fn a_family_is_judged_once_there_is_enough_of_it() {
    use Verdict::{Approved, EditRequested};
    let of = |n: usize, kind| (0..n).map(move |n| (kind, if n == 0 { EditRequested } else { Approved }, 9));
    let questions: Vec<_> = of(11, Kind::Plan).chain(of(9, Kind::Root)).collect();
    let entries = ledger(&questions, vec![applied(), undone()]);
    let measures = measure(&seen(&entries, &HashMap::new(), Timestamp::EPOCH), Timestamp::from_micros(7200 * SECOND));
    let work = find(&measures, "Corrected, of work");
    assert_eq!((work.value.as_str(), work.target.as_str()), ("2 of 11, 18 %", "under 10 %"));
    assert!(!work.note.is_empty());
    assert!(!measures.iter().any(|one| one.name.ends_with("of directories") || one.name.contains("risk")));
    let taps = find(&measures, "Taps for finished work");
    assert_eq!((taps.value.as_str(), taps.note.is_empty()), ("11.0 each, 11 for 1", false));
}

#[test]
fn what_is_older_than_a_month_is_not_measured() {
    let entries = ledger(&[(Kind::Plan, Verdict::Approved, 9)], vec![applied()]);
    let later = Timestamp::from_micros(3600 * SECOND);
    assert_eq!(measure(&seen(&entries, &HashMap::new(), later), later), []);
}
