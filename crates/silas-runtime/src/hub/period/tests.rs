//! Which pause counts as being away, and what is counted in it.

use super::*;
use crate::testing::{Watch, Zero};
use silas_core::check::Outcome;
use silas_core::event::Text;
use silas_core::{Digest, ExecutionId, MessageId, Taint, WorkItemId};
use silas_store::{Abort, Commit, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

fn at(minutes: u64) -> Timestamp {
    Timestamp::parse("2026-11-15T20:00:00.000000Z").unwrap().plus(Duration::from_secs(minutes * 60))
}

fn entry(seq: u64, minutes: u64, event: AuditEvent) -> Entry {
    let (name, body) = (event.name().to_owned(), String::new());
    let zero = Digest::of(b"");
    Entry { seq, at: at(minutes), name, event: Some(event), body, prev: zero, hash: zero }
}

fn text() -> Text {
    Text(Digest::of(b"text"))
}

fn said(seq: u64, minutes: u64) -> Entry {
    let message = MessageId::parse("msg-1").unwrap();
    entry(seq, minutes, AuditEvent::MessageReceived { message, taint: Taint::Owner, text: text() })
}

fn night() -> Vec<Entry> {
    let execution = ExecutionId::parse("exec-1").unwrap();
    let work_item = WorkItemId::parse("task-1").unwrap();
    vec![
        said(1, 0),
        entry(2, 5, AuditEvent::WorkStarted { work_item, execution: execution.clone(), title: text() }),
        said(3, 10),
        entry(4, 60, AuditEvent::ModelRefused { role: silas_core::model::Role::Proxy, code: "E_LLM_CAP".to_owned() }),
        entry(
            5,
            200,
            AuditEvent::WorkApplied {
                execution: execution.clone(),
                changeset: Digest::of(b""),
                files: 2,
                outcome: Outcome::Proved,
                landed: None,
            },
        ),
        entry(6, 300, AuditEvent::WorkEnded { execution, outcome: Outcome::Failed, reason: text() }),
        said(7, 490),
        said(8, 530),
    ]
}

#[test]
fn the_longest_pause_of_the_owner_is_the_night() {
    let view = away(&night(), at(540), &Words::new(None)).unwrap();
    assert_eq!((view.from, view.to, view.microusd), (at(10), at(490), 0));
    assert_eq!(
        view.text,
        "While you were away, 20:10 to 04:10 UTC (8 hours): 1 applied in 2 files, 1 proved, 1 ended without touching \
         anything, 1 refusal."
    );
}

#[test]
fn a_short_pause_or_an_old_one_is_none() {
    let short = vec![said(1, 0), said(2, 29), said(3, 58)];
    assert_eq!(away(&short, at(60), &Words::new(None)), None);
    assert_eq!(pause(acts(&night()), at(530 + 24 * 60 + 1)), None, "nobody slept in the last day");
    assert_eq!(away(&[], at(0), &Words::new(None)), None);
}

#[test]
fn a_pause_goes_on_until_the_owner_does_something() {
    let evening = vec![said(1, 0), said(2, 20)];
    assert_eq!(away(&evening, at(49), &Words::new(None)), None);
    let morning = away(&evening, at(520), &Words::new(None)).unwrap();
    assert_eq!((morning.from, morning.to), (at(20), at(520)));
}

#[test]
fn what_did_not_happen_is_not_counted() {
    assert_eq!(Tally::default().words(), "nothing happened");
    let two = Tally { begun: 2, asked_models: 1, microusd: 30_000, ..Tally::default() };
    assert_eq!(two.words(), "2 pieces of work begun, 1 question to models for $0.03");
}

/// What is told of the night at its end, if no more than so many entries are read: the sentence, and how many rows.
fn told(asked: Asked, n_max: u64) -> (String, usize) {
    let dir = tempfile::tempdir().unwrap();
    let watch = Arc::new(Watch(AtomicI64::new(0)));
    let store = Store::open(dir.path(), Arc::new(Zero), watch.clone()).unwrap();
    let writing = store.write_buffered(move |tx| {
        for entry in night() {
            watch.0.store(entry.at.micros(), Ordering::SeqCst);
            tx.record(&entry.event.unwrap()).map_err(Abort)?;
        }
        Ok(Commit(()))
    });
    writing.wait().unwrap();
    let (text, told) = store.read(move |tx| tell(tx, asked, at(540), &Words::new(None), n_max)).wait().unwrap();
    (text, told.len())
}

#[test]
fn what_was_not_read_is_said() {
    let (whole, n_rows) = told(Asked::Hours(24), 8);
    assert_eq!(
        whole,
        "In this time, 2026-11-15 05:00 to 2026-11-16 05:00 UTC (24 hours): 1 piece of work begun, 1 applied in 2 files, 1 \
         proved, 1 ended without touching anything, 1 refusal."
    );
    assert_eq!(told(Asked::Hours(24), 20_000), (whole, n_rows));
    let (cut, n_fewer) = told(Asked::Hours(24), 5);
    assert_eq!(
        cut,
        "So much happened that only the time since 2026-11-15 21:00 UTC is told here; Activity has the rest. In this time, \
         21:00 to 05:00 UTC (8 hours): 1 applied in 2 files, 1 proved, 1 ended without touching anything, 1 refusal."
    );
    assert!(n_fewer < n_rows);
    // Nothing that was asked for is missing.
    let (short, _) = told(Asked::Hours(8), 5);
    assert!(short.starts_with("In this time, 21:00 to 05:00 UTC"), "{short}");
}

#[test]
fn a_night_that_was_not_read_to_its_beginning_is_not_denied() {
    let (whole, _) = told(Asked::Away, 20_000);
    assert!(whole.starts_with("While you were away, 20:10 to 04:10 UTC (8 hours)"), "{whole}");
    let (cut, _) = told(Asked::Away, 1);
    assert_eq!(
        cut,
        "So much happened that only the time since 2026-11-16 04:50 UTC is told here; Activity has the rest. You were not \
         away for half an hour in this time. Lately:"
    );
    let (lately, _) = told(Asked::Lately, 3);
    assert!(lately.starts_with("So much happened that only the time since 2026-11-16 01:00 UTC is told"), "{lately}");
    assert!(lately.contains(" so far"), "{lately}");
}
