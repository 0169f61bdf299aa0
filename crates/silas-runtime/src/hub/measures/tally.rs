//! What is counted, entry by entry. It holds numbers and the cards that wait, never the entries: its size does not depend
//! on how much was decided.
//!
//! It judges nothing; what a number should be is said in `rows.rs`.

use super::by_hand::Moves;
use super::pace::Pace;
use silas_core::card::Risk;
use silas_core::device::DeviceKind;
use silas_core::event::AuditEvent;
use silas_core::token::{Kind, Verdict};
use silas_core::{CardId, KeyId, Taint, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
const WINDOW: Duration = Duration::from_secs(30 * 24 * 3600);
/// Hardly a question can be answered longer after it was put than this; then it is put again. Only the house rules may wait
/// longer, and how long they did is then not known.
const OFFER_LASTS_MAX: Duration = DAY;
/// Cards whose time is followed at once. Many more than anybody has before them; the time of one beyond is not known.
const WAITING_MAX: usize = 10_000;
/// Whether something took an hour or a day says the same: it waited.
const SECONDS_MAX: u64 = 3600;

/// The events that [`Tally::take`] looks at; others need not be read.
pub(super) const NAMES: [&str; 7] = [
    "card_offered",
    "card_renewed",
    "card_parked",
    "decision_recorded",
    "message_received",
    "work_applied",
    "work_undone",
];

/// What the ledger leaves to others to say.
#[derive(Default)]
pub(super) struct Known {
    /// Of the cards that are still kept and name one.
    pub(super) risks: BTreeMap<CardId, Risk>,
    pub(super) devices: BTreeMap<KeyId, DeviceKind>,
}

/// How many of one kind of question were answered in which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Answers {
    pub(super) approved: usize,
    pub(super) declined: usize,
    pub(super) sent_back: usize,
}

impl Answers {
    pub(super) fn total(self) -> usize {
        self.approved + self.declined + self.sent_back
    }

    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Approved => self.approved += 1,
            Verdict::Declined => self.declined += 1,
            // "Only narrower" is "not like this" with a hint.
            Verdict::EditRequested | Verdict::Conditional => self.sent_back += 1,
        }
    }

    pub(super) fn and(self, other: Answers) -> Answers {
        Answers {
            approved: self.approved + other.approved,
            declined: self.declined + other.declined,
            sent_back: self.sent_back + other.sent_back,
        }
    }
}

/// How many decisions took so many whole seconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Times(BTreeMap<u64, usize>);

impl Times {
    pub(super) fn add(&mut self, took: Duration) {
        self.add_many(took.as_secs().min(SECONDS_MAX), 1);
    }

    fn add_many(&mut self, seconds: u64, n: usize) {
        *self.0.entry(seconds).or_default() += n;
    }

    pub(super) fn and(mut self, other: &Times) -> Times {
        other.0.iter().for_each(|(seconds, n)| self.add_many(*seconds, *n));
        self
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().sum()
    }

    /// In whole seconds; of an even number the later of the two in the middle, as the page does.
    pub(super) fn median(&self) -> Option<u64> {
        let middle = self.len() / 2;
        let mut n_passed = 0;
        self.0.iter().find_map(|(seconds, n)| {
            n_passed += n;
            (n_passed > middle).then_some(*seconds)
        })
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tally {
    /// When it was begun; the month and the week end here, and what comes later counts too.
    now: Timestamp,
    from: Timestamp,
    /// Since when each card that waits can be answered; goes with its answer.
    waiting: BTreeMap<CardId, Timestamp>,
    /// The last decision: cards wait for the ones before them.
    last: Option<Timestamp>,
    pace: Pace,
    /// Questions; taking something back is none.
    pub(super) answers: BTreeMap<Kind, Answers>,
    /// By the risk on the card. `None` where the card is not kept any more or names none.
    pub(super) times: BTreeMap<Option<Risk>, Times>,
    /// What hands did for work and its calls.
    pub(super) moves: Moves,
    pub(super) n_decided: usize,
    pub(super) n_messages: usize,
    pub(super) n_applied: usize,
    pub(super) n_undone: usize,
    /// How often deciding became too quick in the last week.
    pub(super) n_too_quick: usize,
}

fn before(now: Timestamp, span: Duration) -> Timestamp {
    Timestamp::from_micros(now.micros().saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
}

impl Tally {
    pub(super) fn new(now: Timestamp) -> Self {
        Tally {
            now,
            from: before(now, WINDOW),
            waiting: BTreeMap::new(),
            last: None,
            pace: Pace::default(),
            answers: BTreeMap::new(),
            times: BTreeMap::new(),
            moves: Moves::default(),
            n_decided: 0,
            n_messages: 0,
            n_applied: 0,
            n_undone: 0,
            n_too_quick: 0,
        }
    }

    /// The entries of the day before the window are not counted; they say since when the first cards of it waited.
    pub(super) fn reads_from(&self) -> Timestamp {
        before(self.from, OFFER_LASTS_MAX)
    }

    pub(super) fn begun_at(&self) -> Timestamp {
        self.now
    }

    /// The next event, in the ledger's order.
    pub(super) fn take(&mut self, at: Timestamp, event: &AuditEvent, known: &Known) {
        let counts = at >= self.from;
        match event {
            AuditEvent::CardOffered { card, .. } | AuditEvent::CardRenewed { card }
                if self.waiting.len() < WAITING_MAX || self.waiting.contains_key(card) =>
            {
                self.waiting.insert(card.clone(), at);
            }
            // It waits no more before it is put again.
            AuditEvent::CardParked { card } => {
                self.waiting.remove(card);
            }
            AuditEvent::DecisionRecorded { card, kind, verdict, key, .. } => {
                let since =
                    self.waiting.remove(card).map(|offered| self.last.map_or(offered, |last| offered.max(last)));
                self.last = Some(at);
                if counts {
                    let (risk, by) = (known.risks.get(card).copied(), known.devices.get(key).copied());
                    let took = since.map(|since| at.since(since));
                    self.decided(*kind, *verdict, risk, by, took, at);
                }
            }
            AuditEvent::MessageReceived { taint: Taint::Owner, .. } if counts => self.n_messages += 1,
            AuditEvent::WorkApplied { .. } if counts => self.n_applied += 1,
            AuditEvent::WorkUndone { .. } if counts => self.n_undone += 1,
            _ => {}
        }
    }

    fn decided(
        &mut self,
        kind: Kind,
        verdict: Verdict,
        risk: Option<Risk>,
        by: Option<DeviceKind>,
        took: Option<Duration>,
        at: Timestamp,
    ) {
        self.n_decided += 1;
        let became_too_quick = self.pace.decided(risk, took, at);
        if became_too_quick && self.now.since(at) <= WEEK {
            self.n_too_quick += 1;
        }
        // Nobody asked; the owner took something back.
        if kind == Kind::Undo {
            return;
        }
        self.answers.entry(kind).or_default().add(verdict);
        if let Some(took) = took {
            self.times.entry(risk).or_default().add(took);
        }
        if matches!(Family::of(kind), Some(Family::Work | Family::Calls)) {
            self.moves.add(Moves::of(kind, verdict, risk, by));
        }
    }
}

/// What decisions are about, where being corrected says something about the proposals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Work,
    Calls,
    Directories,
    Models,
}

impl Family {
    pub(super) fn of(kind: Kind) -> Option<Family> {
        match kind {
            Kind::Plan | Kind::Rehearsal | Kind::Apply => Some(Family::Work),
            Kind::Step => Some(Family::Calls),
            Kind::Root => Some(Family::Directories),
            Kind::Model | Kind::Budget => Some(Family::Models),
            // Nobody proposes these; the owner asks for them.
            Kind::HouseRules | Kind::Undo | Kind::Device => None,
        }
    }
}
