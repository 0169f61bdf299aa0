//! Sessions and the channel outbox: nothing is lost on the way to a device, and nothing comes twice.

use super::{at, change, said};
use crate::backend::{Backend, on_every_backend};
use crate::world::certificate;
use silas_core::session::SessionType;
use silas_core::{KeyId, Scope, SessionId};
use silas_store::channel_outbox::{self, Backlog};
use silas_store::{Error, Store, Tx, chronicle, sessions};

on_every_backend! {
    a_device_finds_its_session_again,
    a_command_ends_with_its_session,
    two_pages_of_one_browser_are_one_session,
    a_device_that_was_away_gets_exactly_the_rest,
    an_acknowledgement_never_goes_back,
    a_connected_device_that_takes_nothing_in_is_stuck,
    after_a_restore_no_session_is_left,
}

fn key(n: u8) -> KeyId {
    certificate(n).body.key
}

fn id(n: u32) -> SessionId {
    SessionId::parse(&format!("sess-{n}")).unwrap()
}

/// Says something, on its way to the channels.
fn say(tx: &mut Tx<'_>, n: u32) -> Result<u64, Error> {
    let entry = said(n, &format!("sentence {n}"));
    chronicle::append(tx, &Scope::Owner, &entry)?;
    channel_outbox::put(tx, &Scope::Owner, &entry.id, at(i64::from(n)))
}

fn say_many(store: &Store, numbers: std::ops::Range<u32>) -> u64 {
    change(store, move |tx| numbers.clone().try_fold(0, |_, n| say(tx, n)))
}

fn a_device_finds_its_session_again(backend: &impl Backend) {
    let store = backend.open();
    let first = change(&store, |tx| {
        let session = sessions::attach(tx, &Scope::Owner, &id(1), &key(1), "Laptop", at(0))?;
        sessions::count_turn(tx, &session.session_id, at(1))?;
        sessions::count_turn(tx, &session.session_id, at(2))?;
        Ok(session)
    });
    assert_eq!((first.session_type, first.turn_count, first.active), (SessionType::Stream, 0, false));
    drop(store);
    let store = backend.open();
    let (connected, again) = change(&store, |tx| {
        let before = sessions::get(tx, &id(1))?.unwrap();
        sessions::restore(tx)?;
        Ok((before, sessions::attach(tx, &Scope::Owner, &id(2), &key(1), "Laptop, renamed", at(9))?))
    });
    assert!(connected.active, "the last life ended without a word");
    assert_eq!((again.session_id, again.turn_count, again.active), (id(1), 2, false));
    let now = store.read(|tx| sessions::get(tx, &id(1))).wait().unwrap().unwrap();
    assert_eq!((now.title.as_str(), now.active, now.last_active), ("Laptop, renamed", true, at(9)));
    assert_eq!(now.created_at, at(0));
}

fn a_command_ends_with_its_session(backend: &impl Backend) {
    let store = backend.open();
    let (during, after) = change(&store, |tx| {
        sessions::open_side(tx, &Scope::Owner, &id(1), "Terminal", at(0))?;
        sessions::attach(tx, &Scope::Owner, &id(2), &key(2), "Laptop", at(1))?;
        let during = sessions::list(tx, &Scope::Owner)?;
        sessions::detach(tx, &id(1), at(2))?;
        sessions::detach(tx, &id(2), at(3))?;
        Ok((during, sessions::list(tx, &Scope::Owner)?))
    });
    let names = |list: &[silas_core::session::Session]| -> Vec<(String, bool)> {
        list.iter().map(|session| (session.title.clone(), session.active)).collect()
    };
    assert_eq!(names(&during), [("Laptop".to_owned(), true), ("Terminal".to_owned(), true)]);
    assert_eq!(names(&after), [("Laptop".to_owned(), false)]);
}

fn two_pages_of_one_browser_are_one_session(backend: &impl Backend) {
    let store = backend.open();
    let (one, both, none) = change(&store, |tx| {
        sessions::attach(tx, &Scope::Owner, &id(1), &key(1), "Laptop", at(0))?;
        sessions::attach(tx, &Scope::Owner, &id(2), &key(1), "Laptop", at(1))?;
        let listed = sessions::list(tx, &Scope::Owner)?;
        sessions::detach(tx, &id(1), at(2))?;
        let one_left = sessions::get(tx, &id(1))?.unwrap().active;
        sessions::detach(tx, &id(1), at(3))?;
        // Once more than it came: a page that was counted in an earlier life.
        sessions::detach(tx, &id(1), at(4))?;
        Ok((listed.len(), one_left, sessions::get(tx, &id(1))?.unwrap().active))
    });
    assert_eq!((one, both, none), (1, true, false));
}

fn a_device_that_was_away_gets_exactly_the_rest(backend: &impl Backend) {
    let store = backend.open();
    say_many(&store, 0..3);
    let session = change(&store, |tx| sessions::attach(tx, &Scope::Owner, &id(1), &key(1), "Laptop", at(0)));
    assert_eq!(session.acknowledged, 3, "a new device is shown the whole");
    let head = say_many(&store, 3..250);
    let (waiting, is_resumable) = change(&store, |tx| {
        Ok((channel_outbox::backlog(tx, &Scope::Owner, 3)?, channel_outbox::reaches_back_to(tx, &Scope::Owner, 3)?))
    });
    assert_eq!((waiting, is_resumable), (Backlog { n_entries: 247, since: Some(at(3)) }, true));
    let mut seen = session.acknowledged;
    let mut got = Vec::new();
    loop {
        let page = store.read(move |tx| channel_outbox::after(tx, &Scope::Owner, seen, 1000)).wait().unwrap();
        assert!(page.len() <= channel_outbox::PAGE_MAX as usize);
        let Some(last) = page.last() else { break };
        seen = last.seq;
        got.extend(page.into_iter().map(|delivery| delivery.entry.text));
    }
    assert_eq!((seen, got), (head, (3..250).map(|n| format!("sentence {n}")).collect()));
    let beyond = store.read(move |tx| channel_outbox::reaches_back_to(tx, &Scope::Owner, head + 1)).wait().unwrap();
    assert!(!beyond, "nobody has seen what is not there");
}

fn an_acknowledgement_never_goes_back(backend: &impl Backend) {
    let store = backend.open();
    change(&store, |tx| sessions::attach(tx, &Scope::Owner, &id(1), &key(1), "Laptop", at(0)));
    say_many(&store, 0..5);
    let moved = change(&store, |tx| {
        let moved = [4, 2, 4, 5].map(|seq| sessions::acknowledge(tx, &id(1), seq, at(9)));
        Ok((moved.into_iter().collect::<Result<Vec<bool>, Error>>()?, sessions::acknowledge(tx, &id(7), 5, at(9))?))
    });
    assert_eq!(moved, (vec![true, false, false, true], false));
}

fn a_connected_device_that_takes_nothing_in_is_stuck(backend: &impl Backend) {
    let store = backend.open();
    change(&store, |tx| {
        sessions::attach(tx, &Scope::Owner, &id(1), &key(1), "Asleep", at(0))?;
        sessions::attach(tx, &Scope::Owner, &id(2), &key(2), "Away", at(0))?;
        sessions::detach(tx, &id(2), at(0))?;
        sessions::attach(tx, &Scope::Owner, &id(3), &key(3), "Awake", at(0))?;
        sessions::open_side(tx, &Scope::Owner, &id(4), "Terminal", at(0))?;
        let seq = say(tx, 1)?;
        sessions::acknowledge(tx, &id(3), seq, at(1))?;
        Ok(())
    });
    let stuck = |seconds| store.read(move |tx| channel_outbox::stuck(tx, at(seconds))).wait().unwrap();
    assert_eq!(stuck(0), []);
    assert_eq!(stuck(60), [(id(1), "Asleep".to_owned())]);
}

fn after_a_restore_no_session_is_left(backend: &impl Backend) {
    let store = backend.open();
    let n_void = change(&store, |tx| {
        sessions::attach(tx, &Scope::Owner, &id(1), &key(1), "Laptop", at(0))?;
        sessions::attach(tx, &Scope::Owner, &id(2), &key(2), "Phone", at(0))?;
        sessions::void_all(tx)
    });
    assert_eq!((n_void, store.read(|tx| sessions::list(tx, &Scope::Owner)).wait().unwrap().len()), (2, 0));
}
