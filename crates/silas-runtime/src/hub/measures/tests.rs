//! Months of made-up decisions, as a ledger tells them, and what is said of them.

mod ledgers;

use super::*;
use silas_core::card::Risk;
use silas_core::check::Outcome;
use silas_core::device::DeviceKind;
use silas_core::event::Text;
use silas_core::token::{Kind, Verdict};
use silas_core::{CardId, Digest, ExecutionId, KeyId, TokenId};
use std::collections::BTreeMap;
use std::time::Duration;
use tally::Tally;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Decisions one after the other on one day, each with its card.
struct Month {
    at: Timestamp,
    events: Vec<(Timestamp, AuditEvent)>,
    known: Known,
}

impl Month {
    fn new() -> Self {
        let devices = BTreeMap::from([(terminal(), DeviceKind::Terminal), (browser(), DeviceKind::Browser)]);
        let at = Timestamp::from_micros(1_795_000_000_000_000);
        Month { at, events: Vec::new(), known: Known { risks: BTreeMap::new(), devices } }
    }

    fn pass(&mut self, time: Duration) {
        self.at = self.at.plus(time);
    }

    fn happens(&mut self, event: AuditEvent) {
        self.events.push((self.at, event));
    }

    fn offer(&mut self, kind: Kind) -> CardId {
        let (plan_hash, shown) = (Digest::of(b""), Digest::of(b""));
        let card = CardId::parse(&format!("card-{}", self.events.len())).unwrap();
        self.happens(AuditEvent::CardOffered { card: card.clone(), kind, plan_hash, shown, intent: text() });
        card
    }

    fn answer(&mut self, card: CardId, kind: Kind, verdict: Verdict, key: KeyId) {
        let token = TokenId::of(&Digest::of(b""));
        self.happens(AuditEvent::DecisionRecorded { card, token, kind, verdict, key });
    }

    /// A minute later a card comes, and after so many milliseconds it is answered in the browser.
    fn decide(&mut self, kind: Kind, verdict: Verdict, risk: Option<Risk>, ms: u64) {
        self.pass(Duration::from_secs(60));
        let card = self.offer(kind);
        self.known.risks.extend(risk.map(|risk| (card.clone(), risk)));
        self.pass(Duration::from_millis(ms));
        self.answer(card, kind, verdict, browser());
    }

    fn measured(&self, now: Timestamp) -> Vec<MeasureView> {
        let mut tally = Tally::new(now);
        self.events.iter().for_each(|(at, event)| tally.take(*at, event, &self.known));
        rows::of(&tally)
    }
}

fn browser() -> KeyId {
    KeyId::of(b"browser")
}

fn terminal() -> KeyId {
    KeyId::of(b"terminal")
}

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

fn find<'m>(measures: &'m [MeasureView], name: &str) -> &'m MeasureView {
    measures.iter().find(|measure| measure.name == name).unwrap_or_else(|| panic!("{name} in {measures:#?}"))
}

const TOO_QUICK: &str = "Five too quick to be read";
const BY_HAND: &str = "By hand, for finished work";

#[test]
fn nothing_is_measured_where_nothing_happened() {
    assert_eq!(Month::new().measured(Timestamp::from_micros(0)), []);
}

#[test]
fn an_attentive_owner() {
    let mut month = Month::new();
    for n in 0..18 {
        month.decide(Kind::Apply, Verdict::Approved, Some(Risk::Medium), 4000 + n % 3 * 1000);
        month.happens(applied());
    }
    month.decide(Kind::Plan, Verdict::Declined, Some(Risk::Medium), 9000);
    month.decide(Kind::Root, Verdict::EditRequested, Some(Risk::Medium), 12_000);
    month.happens(undone());
    let measures = month.measured(month.at);
    assert_eq!(find(&measures, "Time to decide").value, "5 s");
    assert_eq!(find(&measures, "Declined").value, "1 of 20, 5 %");
    assert_eq!(find(&measures, "Undone").value, "1 of 18, 5 %");
    assert_eq!(find(&measures, TOO_QUICK).value, "0 times this week");
    assert!(measures.iter().all(|one| one.note.is_empty() || one.name == "Corrected, of work"), "{measures:#?}");
}

#[test]
fn a_tired_owner_is_seen() {
    let mut month = Month::new();
    for _ in 0..12 {
        month.decide(Kind::Plan, Verdict::Approved, Some(Risk::Medium), 500);
        month.happens(applied());
    }
    (0..4).for_each(|_| month.happens(undone()));
    let measures = month.measured(month.at);
    assert_eq!(find(&measures, "Time to decide").value, "under 1 s");
    assert_eq!(find(&measures, TOO_QUICK).value, "1 time this week");
    let noted = ["Time to decide", "Time to decide, medium risk", "Declined", "Undone", TOO_QUICK];
    assert!(noted.iter().all(|name| !find(&measures, name).note.is_empty()), "{measures:#?}");
    let later = month.measured(month.at.plus(DAY * 8));
    assert_eq!(find(&later, TOO_QUICK).value, "0 times this week");
}

#[test]
fn each_risk_has_its_own_time_and_only_what_is_known_counts() {
    use Risk::{Low, Medium};
    use Verdict::{Approved, Declined, EditRequested};
    let mut month = Month::new();
    month.decide(Kind::Plan, Approved, Some(Medium), 8000);
    month.decide(Kind::Plan, EditRequested, Some(Medium), 12_000);
    month.decide(Kind::Plan, Approved, Some(Medium), 10_000);
    month.decide(Kind::Apply, Approved, Some(Low), 3000);
    month.decide(Kind::Apply, Declined, Some(Low), 5000);
    // Of the directory's card nothing is kept any more.
    month.decide(Kind::Root, Approved, None, 40_000);
    month.happens(applied());
    month.happens(applied());
    // Nobody asked whether to take it back.
    month.answer(CardId::parse("card-done").unwrap(), Kind::Undo, Approved, browser());
    month.happens(undone());
    let measures = month.measured(month.at);
    let told: Vec<(&str, &str, &str)> =
        measures.iter().map(|one| (one.name.as_str(), one.value.as_str(), one.target.as_str())).collect();
    assert_eq!(
        told,
        [
            ("Time to decide", "10 s", "2 to 15 s"),
            ("Time to decide, low risk", "5 s", "2 to 5 s"),
            ("Time to decide, medium risk", "10 s", "5 to 15 s"),
            (BY_HAND, "4.0 each: 8 taps for 2 pieces", "3 or fewer"),
            ("Declined", "1 of 6, 16 %", "5 to 15 %"),
            ("Sent back", "1 of 6, 16 %", "under 10 %"),
            ("Undone", "1 of 2, 50 %", "under 10 %"),
            ("Typed", "0 of 7, 0 %", "under 20 %"),
            (TOO_QUICK, "0 times this week", "less than once"),
        ]
    );
    // Six decisions are too few for a verdict about shares; hands are counted from the first result on.
    assert!(measures.iter().all(|one| one.note.is_empty() || one.name == BY_HAND), "{measures:#?}");
}

#[test]
fn a_hand_that_slides_and_one_that_types_are_not_said_to_tap() {
    let mut month = Month::new();
    month.decide(Kind::Plan, Verdict::Approved, Some(Risk::High), 9000);
    month.decide(Kind::Step, Verdict::Approved, None, 9000);
    let card = month.offer(Kind::Apply);
    month.answer(card, Kind::Apply, Verdict::Approved, terminal());
    month.happens(applied());
    month.happens(applied());
    assert_eq!(find(&month.measured(month.at), BY_HAND).value, "2.0 each: 2 taps, 1 slide, 1 command for 2 pieces");
}

/// What a share should be and from where on it is a sign are two things.
#[test]
fn signs_are_not_targets() {
    let check = |n_declined: usize, n_approved: usize, expect: &str| {
        let mut month = Month::new();
        for n in 0..n_declined + n_approved {
            let verdict = if n < n_declined { Verdict::Declined } else { Verdict::Approved };
            month.decide(Kind::HouseRules, verdict, Some(Risk::Low), 3000);
        }
        let measures = month.measured(month.at);
        let declined = find(&measures, "Declined");
        assert_eq!((declined.target.as_str(), declined.note.as_str()), ("5 to 15 %", expect), "{}", declined.value);
    };
    let (few, many) = ("So few that they may not be read.", "Many proposals do not fit.");
    check(0, 9, "");
    check(0, 10, few);
    check(1, 59, few);
    check(1, 49, "");
    check(1, 19, "");
    check(3, 17, "");
    check(3, 7, "");
    check(31, 69, many);
    // More than thirty, though less than thirty-one.
    check(61, 139, many);
}

#[test]
fn a_family_is_judged_once_there_is_enough_of_it() {
    use Verdict::{Approved, Declined, EditRequested};
    let mut month = Month::new();
    for n in 0..20 {
        let verdict = if n == 0 { EditRequested } else { Approved };
        month.decide(Kind::Plan, verdict, None, 9000);
    }
    for n in 0..9 {
        month.decide(Kind::Root, if n == 0 { Declined } else { Approved }, None, 9000);
    }
    let of_work = |month: &Month| {
        let measures = month.measured(month.at);
        let work = find(&measures, "Corrected, of work");
        assert_eq!(work.target, "under 10 %");
        (work.value.clone(), work.note.is_empty())
    };
    assert_eq!(of_work(&month), ("1 of 20, 5 %".to_owned(), true));
    // A no and an undo are corrections as much as being sent back.
    month.decide(Kind::Apply, Declined, None, 9000);
    month.happens(applied());
    assert_eq!(of_work(&month), ("2 of 21, 9 %".to_owned(), true));
    month.happens(undone());
    assert_eq!(of_work(&month), ("3 of 21, 14 %".to_owned(), false));
    let measures = month.measured(month.at);
    assert!(!measures.iter().any(|one| one.name.ends_with("of directories") || one.name.contains("risk")));
    month.decide(Kind::Root, Approved, None, 9000);
    assert_eq!(find(&month.measured(month.at), "Corrected, of directories").value, "1 of 10, 10 %");
    // Each of these cards is gone, so each counts one tap.
    assert_eq!(find(&measures, BY_HAND).value, "21.0 each: 21 taps for 1 piece");
}

#[test]
fn a_card_waits_for_the_ones_before_it_and_begins_anew_when_it_is_asked_again() {
    let mut month = Month::new();
    let (first, second) = (month.offer(Kind::Plan), month.offer(Kind::Plan));
    month.pass(Duration::from_secs(50));
    month.answer(first, Kind::Plan, Verdict::Approved, browser());
    month.pass(Duration::from_secs(4));
    month.answer(second, Kind::Plan, Verdict::Approved, browser());
    let parked = month.offer(Kind::Plan);
    month.pass(DAY);
    month.happens(AuditEvent::CardParked { card: parked.clone() });
    month.pass(DAY);
    month.happens(AuditEvent::CardRenewed { card: parked.clone() });
    month.pass(Duration::from_secs(6));
    month.answer(parked, Kind::Plan, Verdict::Approved, browser());
    // 4, 6 and 50 seconds.
    assert_eq!(find(&month.measured(month.at), "Time to decide").value, "6 s");
}

#[test]
fn what_is_older_than_a_month_is_not_measured_and_what_was_offered_before_is_timed() {
    let mut month = Month::new();
    month.decide(Kind::Plan, Verdict::Approved, None, 9000);
    month.happens(applied());
    let card = month.offer(Kind::Plan);
    month.pass(Duration::from_secs(20));
    let from = month.at;
    month.answer(card, Kind::Plan, Verdict::Approved, browser());
    assert_eq!(month.measured(from.plus(DAY * 31)), []);
    let measures = month.measured(from.plus(DAY * 30));
    assert_eq!(find(&measures, "Time to decide").value, "20 s");
    assert_eq!(find(&measures, "Declined").value, "0 of 1, 0 %");
}
