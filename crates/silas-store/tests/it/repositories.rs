//! One table each: what goes in comes out, in the promised order, whatever the store lies on.

mod channels;

use crate::backend::{Backend, on_every_backend};
use crate::world::{NOON, certificate, offer, token};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use silas_core::card::{Card, CardKind, CardState, Cta, Face, Press, Risk};
use silas_core::execution::ExecutionState;
use silas_core::roots::Access;
use silas_core::token::{Kind, Verdict};
use silas_core::work::{Budget, Definition, Directory, InteractionMode, Status, WorkItem, WorkState};
use silas_core::{CardId, Digest, ExecutionId, MessageId, Scope, Taint, Timestamp, WorkItemId};
use silas_store::executions::{self, Execution};
use silas_store::{
    Abort, Commit, Error, Store, Tx, cards, chronicle, devices, nonces, settings, tokens, undo_records, work_items,
};
use std::cell::Cell;

on_every_backend! {
    settings_keep_the_last_value,
    devices_are_listed_by_age,
    a_nonce_is_used_once_in_its_domain,
    the_chronicle_gives_the_last_entries_oldest_first,
    a_work_items_definition_stays_while_its_state_moves,
    open_and_parked_cards_wait_in_order,
    tokens_come_back_as_they_were_signed,
    an_execution_ends_once,
    an_execution_needs_its_token_and_is_made_once,
    any_words_come_back,
    more_cards_than_a_page_are_all_listed,
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(NOON + seconds * 1_000_000)
}

/// Runs the closure as one change and gives its answer.
pub(crate) fn change<T: Send + 'static>(
    store: &Store,
    mut f: impl FnMut(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
) -> T {
    store.write(move |tx| f(tx).map(Commit).map_err(Abort)).wait().unwrap()
}

fn settings_keep_the_last_value(backend: &impl Backend) {
    let store = backend.open();
    let read = change(&store, |tx| {
        settings::set(tx, "zone", "UTC")?;
        settings::set(tx, "zone", &["Europe", "Berlin"])?;
        Ok((settings::get::<Vec<String>>(tx, "zone")?, settings::get::<u32>(tx, "other")?))
    });
    assert_eq!(read, (Some(vec!["Europe".to_owned(), "Berlin".to_owned()]), None));
    let wrong = store.read(|tx| settings::get::<u32>(tx, "zone")).wait();
    assert!(matches!(wrong, Err(Error::Damaged { .. })));
}

fn devices_are_listed_by_age(backend: &impl Backend) {
    let store = backend.open();
    let (list, one) = change(&store, |tx| {
        for n in [3, 1, 2] {
            devices::insert(tx, &certificate(n))?;
        }
        Ok((devices::list(tx)?, devices::get(tx, &certificate(2).body.key)?))
    });
    assert_eq!(list, [1, 2, 3].map(certificate));
    assert_eq!(one, Some(certificate(2)));
    assert!(store.write(|tx| Ok(Commit(devices::insert(tx, &certificate(1))?))).wait().is_err());
}

fn a_nonce_is_used_once_in_its_domain(backend: &impl Backend) {
    let store = backend.open();
    let (used, n_pruned, again) = change(&store, |tx| {
        let used = [
            nonces::use_once(tx, "message", "n-1", at(0))?,
            nonces::use_once(tx, "message", "n-1", at(9))?,
            nonces::use_once(tx, "token", "n-1", at(5))?,
        ];
        let n_pruned = nonces::prune(tx, at(5))?;
        Ok((
            used,
            n_pruned,
            [nonces::use_once(tx, "message", "n-1", at(9))?, nonces::use_once(tx, "token", "n-1", at(9))?],
        ))
    });
    assert_eq!(used, [true, false, true]);
    // The one that is exactly as old as the limit stays.
    assert_eq!((n_pruned, again), (1, [true, false]));
}

pub(crate) fn said(n: u32, text: &str) -> chronicle::Entry {
    let sender = if n.is_multiple_of(2) { chronicle::Sender::Owner } else { chronicle::Sender::Silas };
    let id = MessageId::parse(&format!("msg-{n}")).unwrap();
    chronicle::Entry { id, sender, taint: Taint::Owner, text: text.to_owned(), answers: None, at: at(0) }
}

fn the_chronicle_gives_the_last_entries_oldest_first(backend: &impl Backend) {
    let store = backend.open();
    // The same instant and falling ids: the order is that of appending.
    let recent = change(&store, |tx| {
        for n in [9, 8, 7, 6] {
            chronicle::append(tx, &Scope::Owner, &said(n, "hello"))?;
        }
        chronicle::recent(tx, &Scope::Owner, 3)
    });
    assert_eq!(recent, [8, 7, 6].map(|n| said(n, "hello")));
}

pub(crate) fn work_item(title: &str) -> WorkItem {
    let id = WorkItemId::parse("task-1").unwrap();
    let path = "/srv/project".to_owned();
    WorkItem::new(Definition {
        budget: Budget::default(),
        interaction_mode: InteractionMode::ActAndReport,
        directories: vec![Directory { path, access: Access::Write, device: None, inode: None, replaces: None }],
        ..Definition::without_model(id, title.to_owned(), "Make the tests pass.".to_owned(), 60)
    })
    .unwrap()
}

pub(crate) fn trace() -> MessageId {
    MessageId::parse("msg-1").unwrap()
}

fn a_work_items_definition_stays_while_its_state_moves(backend: &impl Backend) {
    let store = backend.open();
    let item = work_item("Fix the parser");
    let expected = item.clone();
    let stored = change(&store, move |tx| {
        let mut state = WorkState::new(at(0));
        work_items::insert(tx, &Scope::Owner, &item, &state, &trace(), at(0))?;
        state.status = Status::Running;
        work_items::set_state(tx, item.id(), &state, at(7))?;
        work_items::get(tx, item.id())
    });
    let stored = stored.unwrap();
    assert_eq!((&stored.item, stored.state.status, stored.updated_at), (&expected, Status::Running, at(7)));
    assert_eq!(stored.trace, trace());
    assert_eq!(stored.item.plan_hash().unwrap(), expected.plan_hash().unwrap());
    let other = WorkItemId::parse("task-2").unwrap();
    let missing = store.write(move |tx| Ok(Commit(work_items::set_state(tx, &other, &WorkState::new(at(0)), at(0))?)));
    assert!(matches!(missing.wait(), Err(Error::Missing { .. })));
}

pub(crate) fn card(n: u32, state: CardState) -> Card {
    let face = Face {
        kind: CardKind::Plan,
        risk: Some(Risk::Medium),
        state: "New".to_owned(),
        intent: format!("Plan {n}"),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: "You asked for it.".to_owned(),
        asked: None,
        quote: None,
        details_title: "Details".to_owned(),
        details: Vec::new(),
        diffs: Vec::new(),
        ctas: vec![Cta { press: Press::Approve, label: "Run".to_owned(), consequence: "Runs it".to_owned() }],
    };
    Card {
        id: CardId::parse(&format!("card-{n}")).unwrap(),
        state,
        created_at: at(i64::from(n)),
        face,
        offer: Some(offer(Kind::Plan, "n-1", 1)),
        show_first: Some(offer(Kind::Rehearsal, "n-2", 1)),
        instead: None,
        payload: Some("{}".to_owned()),
        input: None,
        test_call: false,
        execution: None,
    }
}

fn open_and_parked_cards_wait_in_order(backend: &impl Backend) {
    let store = backend.open();
    let (open, about, one) = change(&store, |tx| {
        for (n, subject) in [(4, "task-1"), (2, "/srv/project"), (3, "task-1"), (1, "task-1")] {
            cards::insert(tx, &Scope::Owner, &card(n, CardState::Open), subject)?;
        }
        cards::update(tx, &card(2, CardState::Parked))?;
        cards::update(tx, &card(3, CardState::Answered))?;
        let one = cards::get(tx, &card(3, CardState::Open).id)?;
        Ok((cards::list_open(tx, &Scope::Owner)?, cards::find_by_subject(tx, &Scope::Owner, "task-1")?, one))
    });
    let (first, answered, last) = (card(1, CardState::Open), card(3, CardState::Answered), card(4, CardState::Open));
    assert_eq!(open, [first.clone(), card(2, CardState::Parked), last.clone()]);
    assert_eq!(about, [first, answered.clone(), last]);
    assert_eq!(one, Some(answered));
    let missing = store.write(|tx| Ok(Commit(cards::update(tx, &card(9, CardState::Open))?)));
    assert!(matches!(missing.wait(), Err(Error::Missing { .. })));
}

fn more_cards_than_a_page_are_all_listed(backend: &impl Backend) {
    let store = backend.open();
    let n_cards = cards::CARDS_MAX + 2;
    let open = change(&store, move |tx| {
        // Some at the same instant, so that a page ends between two of them.
        for n in 0..n_cards {
            let card = Card { created_at: at(i64::from(n / 7)), ..card(n, CardState::Open) };
            cards::insert(tx, &Scope::Owner, &card, "task-1")?;
        }
        cards::list_open(tx, &Scope::Owner)
    });
    let ids: std::collections::BTreeSet<String> = open.iter().map(|card| card.id.to_string()).collect();
    assert_eq!((open.len(), ids.len()), (n_cards as usize, n_cards as usize));
    assert!(open.is_sorted_by_key(|card| (card.created_at, card.id.clone())));
}

fn tokens_come_back_as_they_were_signed(backend: &impl Backend) {
    let store = backend.open();
    let (one, roots) = change(&store, |tx| {
        let root = token(Kind::Root, "n-1", 1, Verdict::Approved);
        let card = CardId::parse("card-1").unwrap();
        tokens::insert(tx, &root, &certificate(1), "payload", Some(&card))?;
        tokens::insert(tx, &token(Kind::Root, "n-2", 1, Verdict::Declined), &certificate(1), "payload", None)?;
        tokens::insert(tx, &token(Kind::Undo, "n-3", 1, Verdict::Approved), &certificate(1), "payload", None)?;
        Ok((tokens::get(tx, &root.id()?)?, tokens::standing(tx, Kind::Root)?))
    });
    let one = one.unwrap();
    assert_eq!(one.token, token(Kind::Root, "n-1", 1, Verdict::Approved));
    assert_eq!(
        (one.card.as_ref().unwrap().as_str(), one.payload.as_str(), one.executions_used),
        ("card-1", "payload", 0)
    );
    assert_eq!(one.certificate, certificate(1));
    assert_eq!(roots, [one]);
}

pub(crate) fn execution(n: u32) -> Execution {
    let token = token(Kind::Plan, "n-1", 9, Verdict::Approved).id().unwrap();
    Execution {
        id: ExecutionId::derive(&token, n),
        token,
        work_item: WorkItemId::parse("task-1").unwrap(),
        plan_hash: Digest::of(b"plan"),
        state: ExecutionState::Running,
        use_number: n,
        started_at: at(i64::from(n)),
        ended_at: None,
        undo_until: None,
        result: None,
        changeset: None,
    }
}

fn an_execution_ends_once(backend: &impl Backend) {
    let store = backend.open();
    let moves = change(&store, |tx| {
        let token = token(Kind::Plan, "n-1", 9, Verdict::Approved);
        tokens::insert(tx, &token, &certificate(1), "payload", None)?;
        for n in [2, 0, 1] {
            executions::insert(tx, &Scope::Owner, &execution(n))?;
        }
        let mut moves = Vec::new();
        for (n, to) in [
            (0, ExecutionState::Undone),
            (0, ExecutionState::Applied),
            (0, ExecutionState::Ended),
            (0, ExecutionState::Running),
            (1, ExecutionState::Ended),
            (1, ExecutionState::Applied),
            (1, ExecutionState::Undone),
        ] {
            moves.push(executions::set_state(tx, &execution(n).id, to, at(10))?);
        }
        let result = serde_json::json!({ "took": 1.5 });
        executions::set_result(tx, &execution(0).id, &result, Some(&Digest::of(b"changes")), Some(at(60)))?;
        Ok(moves)
    });
    assert_eq!(moves, [false, true, false, false, true, false, false]);

    let applied = Execution {
        state: ExecutionState::Applied,
        ended_at: Some(at(10)),
        undo_until: Some(at(60)),
        result: Some(serde_json::json!({ "took": 1.5 })),
        changeset: Some(Digest::of(b"changes")),
        ..execution(0)
    };
    let ended = Execution { state: ExecutionState::Ended, ended_at: Some(at(10)), ..execution(1) };
    let read = store.read(|tx| {
        Ok((
            undo_records::list_over(tx, at(59))?,
            undo_records::list_over(tx, at(60))?,
            [0, 1, 2].map(|n| executions::get(tx, &execution(n).id)),
        ))
    });
    let (in_time, over, all) = read.wait().unwrap();
    assert_eq!((in_time, over), (vec![], vec![applied.clone()]));
    assert_eq!(all.map(|one| one.unwrap().unwrap()), [applied, ended, execution(2)]);

    let undone = change(&store, |tx| {
        executions::set_state(tx, &execution(0).id, ExecutionState::Undone, at(20))?;
        Ok((undo_records::list_over(tx, at(60))?.len(), executions::get(tx, &execution(0).id)?))
    });
    let (n_over, undone) = undone;
    assert_eq!(n_over, 0, "what was taken back keeps nothing");
    assert_eq!(undone.map(|undone| (undone.state, undone.ended_at)), Some((ExecutionState::Undone, Some(at(10)))));
}

fn an_execution_needs_its_token_and_is_made_once(backend: &impl Backend) {
    let store = backend.open();
    assert!(store.write(|tx| Ok(Commit(executions::insert(tx, &Scope::Owner, &execution(0))?))).wait().is_err());
    change(&store, |tx| {
        tokens::insert(tx, &token(Kind::Plan, "n-1", 9, Verdict::Approved), &certificate(1), "payload", None)?;
        executions::insert(tx, &Scope::Owner, &execution(0))
    });
    assert!(store.write(|tx| Ok(Commit(executions::insert(tx, &Scope::Owner, &execution(0))?))).wait().is_err());
}

fn any_words_come_back(backend: &impl Backend) {
    let store = backend.open();
    let mut runner = TestRunner::new(ProptestConfig { cases: 8, ..ProptestConfig::default() });
    let n_said = Cell::new(0);
    let words = prop::collection::vec(any::<String>(), 1..12);
    let running = runner.run(&words, |texts| {
        let entries: Vec<_> = texts.iter().zip(n_said.get()..).map(|(text, n)| said(n, text)).collect();
        let n_entries = u32::try_from(entries.len()).unwrap();
        n_said.set(n_said.get() + n_entries);
        let (written, setting) = (entries.clone(), texts.clone());
        let read = change(&store, move |tx| {
            for entry in &written {
                chronicle::append(tx, &Scope::Owner, entry)?;
            }
            settings::set(tx, "texts", &setting)?;
            Ok((chronicle::recent(tx, &Scope::Owner, n_entries)?, settings::get::<Vec<String>>(tx, "texts")?))
        });
        prop_assert_eq!(read, (entries, Some(texts)));
        Ok(())
    });
    running.unwrap();
}
