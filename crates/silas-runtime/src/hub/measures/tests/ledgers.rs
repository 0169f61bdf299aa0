//! Counting real ledgers: in pages, once for everybody, and going on where the last count ended.

use super::*;
use crate::hub::measures::kept::KEPT_FOR;
use crate::testing::{Watch, Zero};
use proptest::prelude::*;
use silas_core::{MessageId, Taint};
use silas_store::{Abort, Commit, Pending, Store, params};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// A store with a ledger, and the count of it.
struct Ledger {
    _dir: tempfile::TempDir,
    watch: Arc<Watch>,
    store: Store,
    kept: Kept,
    page: u64,
    n_looks: AtomicUsize,
}

impl Ledger {
    fn new(page: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let watch = Arc::new(Watch(AtomicI64::new(0)));
        let store = Store::open(dir.path(), Arc::new(Zero), watch.clone()).unwrap();
        Ledger { _dir: dir, watch, store, kept: Kept::default(), page, n_looks: AtomicUsize::new(0) }
    }

    /// What happened in the month goes on record.
    async fn write(&self, month: &mut Month) {
        let (watch, events) = (self.watch.clone(), std::mem::take(&mut month.events));
        let writing = self.store.write_buffered(move |tx| {
            for (at, event) in &events {
                watch.0.store(at.micros(), Ordering::SeqCst);
                tx.record(event).map_err(Abort)?;
            }
            Ok(Commit(()))
        });
        writing.await.unwrap();
    }

    fn look(&self, stretch: Stretch) -> Pending<Page> {
        self.n_looks.fetch_add(1, Ordering::SeqCst);
        let n_max = self.page;
        self.store.read(move |tx| page(tx, &stretch, n_max))
    }

    async fn ask(&self, now: Timestamp) -> Vec<MeasureView> {
        self.kept.rows(now, self.store.ledger_head(), |stretch| self.look(stretch)).await.unwrap()
    }

    /// How many pages were read since this was last asked.
    fn n_looks(&self) -> usize {
        self.n_looks.swap(0, Ordering::SeqCst)
    }

    /// Every entry of the window read and counted, with everything that is known.
    async fn plainly(&self, now: Timestamp) -> Tally {
        let counting = self.store.read(move |tx| {
            let (mut tally, mut next) = (Tally::new(now), 1);
            loop {
                let entries = ledger::entries(tx, next, ledger::ENTRIES_MAX)?;
                let Some(last) = entries.last() else { return Ok(tally) };
                next = last.seq + 1;
                let within = entries.into_iter().filter(|entry| entry.at >= tally.reads_from());
                let events: Vec<_> = within.filter_map(|entry| Some((entry.at, entry.event?))).collect();
                let known = known(tx, &events)?;
                events.iter().for_each(|(at, event)| tally.take(*at, event, &known));
            }
        });
        counting.await.unwrap()
    }
}

/// So many decisions, every tenth of them a no.
fn decisions(n: u64) -> Month {
    let mut month = Month::new();
    for n in 0..n {
        month.decide(Kind::Root, if n % 10 == 0 { Verdict::Declined } else { Verdict::Approved }, None, 3000);
    }
    month
}

fn declined(measures: &[MeasureView]) -> &str {
    &find(measures, "Declined").value
}

/// However long the ledger is and however small its pages are: all of the window counts, and nothing before it.
#[tokio::test]
async fn a_ledger_longer_than_a_page_is_counted_to_its_end() {
    let mut month = decisions(100);
    month.pass(DAY * 40);
    for n in 0..300u64 {
        let verdict = if n % 10 == 0 { Verdict::Declined } else { Verdict::Approved };
        month.decide(Kind::Root, verdict, None, 3000);
        let message = MessageId::parse(&format!("msg-{n}")).unwrap();
        let (text, taint) = (text(), if n % 2 == 0 { Taint::Owner } else { Taint::External });
        month.happens(AuditEvent::MessageReceived { message, text, taint });
    }
    for page in [7, 100, PAGE] {
        let (ledger, events) = (Ledger::new(page), month.events.clone());
        ledger.write(&mut month).await;
        month.events = events;
        let whole = ledger.ask(month.at).await;
        assert_eq!(declined(&whole), "30 of 300, 10 %", "in pages of {page}");
        assert_eq!(find(&whole, "Typed").value, "150 of 450, 33 %");
        assert_eq!(find(&whole, "Time to decide").value, "3 s");
        // What is before the window is not even looked at.
        assert_eq!(ledger.n_looks(), 900usize.div_ceil(page as usize));
    }
}

#[tokio::test]
async fn who_asks_meanwhile_or_again_gets_the_same_without_reading() {
    let (ledger, mut month) = (Ledger::new(8), decisions(20));
    ledger.write(&mut month).await;
    let (one, other, third) = tokio::join!(ledger.ask(month.at), ledger.ask(month.at), ledger.ask(month.at));
    assert_eq!(declined(&one), "2 of 20, 10 %");
    assert_eq!((&one, &one), (&other, &third));
    assert_eq!(ledger.n_looks(), 5, "forty entries, eight on a page");
    assert_eq!(ledger.ask(month.at.plus(KEPT_FOR / 2)).await, one);
    assert_eq!(ledger.n_looks(), 0);
}

#[tokio::test]
async fn what_is_new_is_counted_at_the_next_ask_and_the_rest_is_not_read_again() {
    let (ledger, mut month) = (Ledger::new(8), decisions(20));
    ledger.write(&mut month).await;
    ledger.ask(month.at).await;
    ledger.n_looks();
    // The card is offered before one ask and answered before the next.
    let card = month.offer(Kind::Root);
    ledger.write(&mut month).await;
    assert_eq!(declined(&ledger.ask(month.at).await), "2 of 20, 10 %");
    month.pass(Duration::from_secs(9));
    month.answer(card, Kind::Root, Verdict::Declined, browser());
    ledger.write(&mut month).await;
    let measures = ledger.ask(month.at).await;
    assert_eq!(declined(&measures), "3 of 21, 14 %");
    assert_eq!(ledger.n_looks(), 2, "one page for each");
    let tally = ledger.kept.0.lock().await.tally.clone();
    assert_eq!(tally, ledger.plainly(tally.begun_at()).await);
}

#[tokio::test]
async fn the_month_moves_on_after_an_hour_and_when_the_clock_is_set_back() {
    let (ledger, mut month) = (Ledger::new(PAGE), decisions(20));
    ledger.write(&mut month).await;
    let (end, almost) = (month.at.plus(DAY * 30), KEPT_FOR - Duration::from_secs(1));
    assert_eq!(declined(&ledger.ask(end).await), "0 of 1, 0 %");
    ledger.n_looks();
    assert_eq!(declined(&ledger.ask(end.plus(almost)).await), "0 of 1, 0 %");
    assert_eq!(ledger.n_looks(), 0);
    assert_eq!(ledger.ask(end.plus(KEPT_FOR)).await, []);
    assert_eq!(declined(&ledger.ask(month.at).await), "2 of 20, 10 %");
    assert_eq!(ledger.n_looks(), 2);
}

/// Whoever goes while a page is read leaves the look to the next one: a second reader is not taken for it.
#[tokio::test]
async fn a_look_whose_asker_is_gone_is_not_begun_again() {
    let (ledger, mut month) = (Ledger::new(PAGE), decisions(20));
    ledger.write(&mut month).await;
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(Some(gate));
    let slow = |stretch: Stretch| {
        ledger.n_looks.fetch_add(1, Ordering::SeqCst);
        let gate = gate.lock().unwrap().take();
        ledger.store.read(move |tx| {
            gate.map(|gate| gate.recv());
            page(tx, &stretch, PAGE)
        })
    };
    tokio::select! {
        biased;
        _ = ledger.kept.rows(month.at, ledger.store.ledger_head(), slow) => panic!("nobody opened the gate"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(ledger.n_looks(), 1);
    open.send(()).unwrap();
    assert_eq!(declined(&ledger.ask(month.at).await), "2 of 20, 10 %");
    assert_eq!(ledger.n_looks(), 0);
}

#[derive(Clone, Copy, Debug)]
enum Happens {
    Offered,
    Renewed,
    Parked,
    Decided(Kind, Verdict, usize),
    Said(Taint),
    Applied,
    Undone,
    SomethingElse,
    /// Nothing, but somebody asks.
    Asked,
}

const KINDS: [Kind; 5] = [Kind::Plan, Kind::Apply, Kind::Step, Kind::Root, Kind::Undo];
const VERDICTS: [Verdict; 3] = [Verdict::Approved, Verdict::Declined, Verdict::EditRequested];
/// Of the last card nothing is kept.
const RISKS: [&str; 5] = ["\"low\"", "\"medium\"", "\"high\"", "\"irreversible\"", "null"];
const N_CARDS: usize = 6;
/// Milliseconds.
const GAPS: [u64; 7] = [0, 400, 5000, 90_000, 45 * 60_000, 20 * 3_600_000, 6 * 24 * 3_600_000];

fn happenings() -> impl Strategy<Value = Vec<(usize, usize, Happens)>> {
    let decided = (0..KINDS.len(), 0..VERDICTS.len(), 0..3usize)
        .prop_map(|(kind, verdict, key)| Happens::Decided(KINDS[kind], VERDICTS[verdict], key));
    let happens = prop_oneof![
        4 => Just(Happens::Offered),
        1 => Just(Happens::Renewed),
        1 => Just(Happens::Parked),
        6 => decided,
        1 => Just(Happens::Said(Taint::Owner)),
        1 => Just(Happens::Said(Taint::External)),
        1 => Just(Happens::Applied),
        1 => Just(Happens::Undone),
        2 => Just(Happens::SomethingElse),
        3 => Just(Happens::Asked),
    ];
    // Short gaps are frequent, so that many decisions fall into one hour and some into another month.
    let gap = prop_oneof![12 => 0..4usize, 2 => Just(4), 1 => 5..GAPS.len()];
    prop::collection::vec((gap, 0..N_CARDS, happens), 1..120)
}

/// The cards and devices that the random ledgers speak of.
async fn furnish(store: &Store) {
    let furnishing = store.write_buffered(|tx| {
        for (n, risk) in RISKS.iter().enumerate() {
            let sql = "INSERT INTO cards (id, state, created_at, subject, card) VALUES (?1, 'answered', 0, '', ?2)";
            tx.execute(sql, params![format!("card-{n}"), format!(r#"{{"face":{{"risk":{risk}}}}}"#)]).map_err(Abort)?;
        }
        for (key, kind) in [(browser(), "browser"), (terminal(), "terminal")] {
            let sql = "INSERT INTO devices (key_id, kind, name, issued_at, certificate) VALUES (?1, ?2, '', 0, '{}')";
            tx.execute(sql, params![key.as_str(), kind]).map_err(Abort)?;
        }
        Ok(Commit(()))
    });
    furnishing.await.unwrap();
}

fn event(n_card: usize, happens: Happens) -> Option<AuditEvent> {
    let card = CardId::parse(&format!("card-{n_card}")).unwrap();
    Some(match happens {
        Happens::Offered => {
            let (plan_hash, shown) = (Digest::of(b""), Digest::of(b""));
            AuditEvent::CardOffered { card, kind: Kind::Plan, plan_hash, shown, intent: text() }
        }
        Happens::Renewed => AuditEvent::CardRenewed { card },
        Happens::Parked => AuditEvent::CardParked { card },
        Happens::Decided(kind, verdict, key) => {
            let key = [browser(), terminal(), KeyId::of(b"stranger")][key].clone();
            AuditEvent::DecisionRecorded { card, token: TokenId::of(&Digest::of(b"")), kind, verdict, key }
        }
        Happens::Said(taint) => {
            AuditEvent::MessageReceived { message: MessageId::parse("msg-1").unwrap(), text: text(), taint }
        }
        Happens::Applied => applied(),
        Happens::Undone => undone(),
        Happens::SomethingElse => AuditEvent::StreamStopped {},
        Happens::Asked => return None,
    })
}

/// The risks and devices are really found; otherwise the next test would compare nothing with nothing.
#[tokio::test]
async fn risk_and_device_of_a_decision_are_looked_up() {
    let (ledger, mut month) = (Ledger::new(PAGE), Month::new());
    furnish(&ledger.store).await;
    month.happens(event(2, Happens::Offered).unwrap());
    month.pass(Duration::from_secs(7));
    month.happens(event(2, Happens::Decided(Kind::Plan, Verdict::Approved, 0)).unwrap());
    month.happens(event(1, Happens::Decided(Kind::Plan, Verdict::Approved, 1)).unwrap());
    month.happens(applied());
    ledger.write(&mut month).await;
    let measures = ledger.ask(month.at).await;
    assert_eq!(find(&measures, "Time to decide, high risk").value, "7 s");
    assert_eq!(find(&measures, BY_HAND).value, "3.0 each: 1 tap, 1 slide, 1 command for 1 piece");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whenever and how often somebody asks: what is kept is what a plain count says of the same month.
    #[test]
    fn what_is_kept_is_what_a_plain_count_says(happenings in happenings(), page in 1u64..40) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (ledger, mut month) = (Ledger::new(page), Month::new());
            furnish(&ledger.store).await;
            for (gap, n_card, happens) in happenings.into_iter().chain([(0, 0, Happens::Asked)]) {
                month.pass(Duration::from_millis(GAPS[gap]));
                match event(n_card, happens) {
                    Some(event) => month.happens(event),
                    None => {
                        ledger.write(&mut month).await;
                        let said = ledger.ask(month.at).await;
                        let tally = ledger.kept.0.lock().await.tally.clone();
                        let plain = ledger.plainly(tally.begun_at()).await;
                        assert!(month.at.since(tally.begun_at()) < KEPT_FOR);
                        assert_eq!(tally, plain);
                        assert_eq!(said, rows::of(&plain));
                    }
                }
            }
        });
    }
}
