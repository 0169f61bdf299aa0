//! What is forgotten is gone, from every row and from the disk; the chain stays whole and says that it was.

use crate::repositories::{at, card, change, execution, said, trace, work_item};
use crate::world::{World, certificate, started, token};
use silas_core::card::CardState;
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::message::{MessageBody, SignedMessage};
use silas_core::reflex::GRAMMAR;
use silas_core::signature::Signature;
use silas_core::task::{Ending, TaskCall};
use silas_core::token::{Kind, Verdict};
use silas_core::work::WorkState;
use silas_core::{InstallationId, MessageId, Nonce, Scope, Taint, Timestamp};
use silas_store::forgetting::{self, Forgotten, Need};
use silas_store::queue::{self, Entered, Name, NewMessage};
use silas_store::{Store, Tx, cards, chronicle, devices, executions, instructions, ledger, saga, tokens, work_items};
use std::time::Duration;

/// What must not be found again, wherever one looks.
const SECRET: &str = "combination-of-the-safe-4711";

pub(crate) fn received(tx: &mut Tx<'_>, message: &MessageId, text: &str) -> Result<u64, silas_store::Error> {
    let entry = chronicle::Entry { id: message.clone(), ..said(0, text) };
    chronicle::append(tx, &Scope::Owner, &entry)?;
    let text = tx.text(text)?;
    Ok(tx.record(&AuditEvent::MessageReceived { message: message.clone(), taint: Taint::Owner, text })?.seq)
}

pub(crate) fn forget(store: &Store, seq: u64) -> Forgotten {
    change(store, move |tx| forgetting::forget(tx, seq, &certificate(1).body.key))
}

/// Every file in the directory of the store, as bytes.
pub(crate) fn is_on_disk(world: &World, needle: &str) -> bool {
    std::fs::read_dir(world.dir.path()).unwrap().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
    })
}

pub(crate) fn scrub(store: &Store) -> bool {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(store.scrub()).unwrap()
}

#[test]
fn a_message_is_forgotten_everywhere_and_taken_off_the_disk() {
    let world = World::new();
    let store = world.open();
    // Neighbours, so that rows move between pages before and after.
    let seq = change(&store, |tx| {
        let mut seq = 0;
        for n in 0..400 {
            let message = MessageId::parse(&format!("msg-{n}")).unwrap();
            let text = if n == 200 { format!("the {SECRET}, keep it") } else { format!("words {n} ").repeat(30) };
            let entry = received(tx, &message, &text)?;
            seq = if n == 200 { entry } else { seq };
        }
        Ok(seq)
    });
    // A copy from before an upgrade has it too.
    std::fs::copy(world.dir.path().join("agent.sqlite-wal"), world.dir.path().join("agent.before-9.sqlite")).unwrap();
    assert!(is_on_disk(&world, SECRET));
    assert_eq!(forget(&store, seq), Forgotten::Done);
    assert!(scrub(&store));
    assert!(!is_on_disk(&world, SECRET));
    let kept = store.read(|tx| chronicle::recent(tx, &Scope::Owner, 400)).wait().unwrap();
    assert_eq!((kept.len(), kept[200].text.as_str()), (400, ""));
    let verified = store.read(ledger::verify).wait().unwrap();
    assert_eq!((verified.entries, verified.erased_texts, verified.broken), (401, 1, None));
    assert_eq!(forget(&store, seq), Forgotten::NothingToForget);
    assert_eq!(forget(&store, 9999), Forgotten::NoSuchEntry);
    drop(store);
    assert!(!is_on_disk(&world, SECRET));
}

#[test]
fn what_is_pruned_is_off_the_disk_as_well() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| received(tx, &trace(), SECRET));
    let policy = silas_store::retention::Policy {
        chronicle_before: at(7200),
        outbox_before: at(7200),
        nonces_before: at(7200),
        processed_before: at(7200),
    };
    let pruned = change(&store, move |tx| silas_store::retention::prune(tx, &policy));
    assert_eq!((pruned.entries, pruned.texts), (1, 1));
    drop(store);
    assert!(!is_on_disk(&world, SECRET));
}

#[test]
fn a_message_that_is_not_answered_yet_is_still_needed() {
    let world = World::new();
    let store = world.open();
    let (seq, lease) = change(&store, |tx| {
        let seq = received(tx, &trace(), SECRET)?;
        let body = serde_json::json!({ "text": SECRET });
        let kind = queue::Kind::UserMessage;
        let new = NewMessage {
            id: trace(),
            queue: Name::Turns,
            scope: Scope::Owner,
            key: "owner".to_owned(),
            kind,
            body,
            trace: trace(),
        };
        let Entered::Held(lease) = queue::enqueue_leased(tx, &new, "test", at(60))? else {
            panic!("nobody is before it")
        };
        Ok((seq, lease))
    });
    assert_eq!(forget(&store, seq), Forgotten::StillNeeded(Need::UnderWay));
    // Put aside, it is given up with what it says.
    let backoff = queue::Backoff { first: Duration::ZERO, longest: Duration::ZERO };
    change(&store, move |tx| {
        let mut lease = lease.clone();
        while queue::nack(tx, &lease, at(0), backoff)? != queue::Nacked::Dead {
            lease = queue::lease(tx, Name::Turns, "test", at(0), Duration::from_secs(60), 1)?.remove(0).lease;
        }
        Ok(())
    });
    assert_eq!(forget(&store, seq), Forgotten::Done);
    assert!(store.read(|tx| queue::dead(tx, &Scope::Owner)).wait().unwrap().is_empty());
}

/// A plan that was asked, approved and is running; its cards open.
fn planned(store: &Store) -> u64 {
    change(store, |tx| {
        let seq = received(tx, &trace(), SECRET)?;
        let item = work_item(SECRET);
        work_items::insert(tx, &Scope::Owner, &item, &WorkState::new(at(0)), &trace(), at(0))?;
        cards::insert(tx, &Scope::Owner, &card(1, CardState::Answered), item.id().as_str())?;
        let signed = token(Kind::Plan, "n-1", 9, Verdict::Approved);
        tokens::insert(tx, &signed, &certificate(1), SECRET, Some(&card(1, CardState::Open).id))?;
        let run = execution(0);
        executions::insert(tx, &Scope::Owner, &executions::Execution { work_item: item.id().clone(), ..run.clone() })?;
        executions::set_result(tx, &run.id, &serde_json::json!({ "title": SECRET }), None, Some(at(60)))?;
        cards::insert(tx, &Scope::Owner, &card(2, CardState::Open), run.id.as_str())?;
        Ok(seq)
    })
}

#[test]
fn work_is_forgotten_once_nothing_of_it_is_open() {
    let world = World::new();
    let store = world.open();
    let seq = planned(&store);
    let run = execution(0).id;
    assert_eq!(forget(&store, seq), Forgotten::StillNeeded(Need::UnderWay));
    let id = run.clone();
    change(&store, move |tx| executions::set_state(tx, &id, ExecutionState::Applied, at(1)));
    assert_eq!(forget(&store, seq), Forgotten::StillNeeded(Need::Undo));
    let id = run.clone();
    change(&store, move |tx| silas_store::undo_records::close(tx, &id));
    assert_eq!(forget(&store, seq), Forgotten::StillNeeded(Need::Card));
    change(&store, |tx| cards::update(tx, &card(2, CardState::Closed)));
    assert_eq!(forget(&store, seq), Forgotten::Done);
    assert!(scrub(&store));
    assert!(!is_on_disk(&world, SECRET));
    // That it was approved, and what became of it, stays.
    let (kept, spent) = store
        .read(move |tx| Ok((executions::get(tx, &run)?.unwrap(), tokens::get(tx, &execution(0).token)?.unwrap())))
        .wait()
        .unwrap();
    assert_eq!((kept.state, kept.result, spent.payload.as_str()), (ExecutionState::Applied, None, ""));
    assert_eq!(store.read(ledger::verify).wait().unwrap().broken, None);
}

#[test]
fn an_operation_is_forgotten_once_it_is_finished() {
    let world = World::new();
    let store = world.open();
    let call = TaskCall::add(&crate::saga::run(&trace()), SECRET.to_owned(), 0).unwrap();
    let operation = crate::saga::operation(&trace(), &call);
    let seq = change(&store, move |tx| {
        devices::insert(tx, &certificate(1))?;
        let seq = received(tx, &trace(), SECRET)?;
        let body = MessageBody {
            text: SECRET.to_owned(),
            timestamp: at(0),
            nonce: Nonce::parse("n-1").unwrap(),
            installation: InstallationId::parse("inst-1").unwrap(),
            scope: "owner".to_owned(),
        };
        let signed = SignedMessage { body, signature: Signature::ed25519(certificate(1).body.key, [1; 64]) };
        assert!(instructions::keep(tx, &trace(), &signed, GRAMMAR, at(0))?);
        let place = saga::Place::said(crate::saga::run(&trace()), trace(), 0);
        saga::prepare(tx, &place, &call, at(0))?;
        Ok(seq)
    });
    assert_eq!(forget(&store, seq), Forgotten::StillNeeded(Need::UnderWay));
    change(&store, move |tx| saga::finish(tx, &operation, &Ending::Done {}, at(1)));
    assert_eq!(forget(&store, seq), Forgotten::Done);
    assert!(scrub(&store));
    assert!(!is_on_disk(&world, SECRET));
}

#[test]
fn old_texts_expire_and_the_ledger_says_so() {
    let world = World::new();
    let store = world.open();
    let day = |n: i64| Timestamp::from_micros(crate::world::NOON + n * 24 * 3600 * 1_000_000);
    for n in 0..6_u32 {
        world.clock.set(day(i64::from(n)).micros());
        change(&store, move |tx| received(tx, &MessageId::parse(&format!("msg-{n}")).unwrap(), "hello"));
    }
    change(&store, |tx| tx.record(&started("1")));
    let policy = silas_store::retention::Policy {
        chronicle_before: day(4),
        outbox_before: day(4),
        nonces_before: day(4),
        processed_before: day(4),
    };
    let prune = || change(&store, move |tx| silas_store::retention::prune(tx, &policy));
    assert_eq!((prune().texts, prune().texts), (4, 0));
    let (verified, last) =
        store.read(|tx| Ok((ledger::verify(tx)?, ledger::latest(tx, 1)?.remove(0).event))).wait().unwrap();
    assert_eq!((verified.entries, verified.erased_texts, verified.broken), (8, 4, None));
    assert_eq!(last, Some(AuditEvent::TextsExpired { through: 4, texts: 4 }));
    let look = |seq| store.read(move |tx| forgetting::look(tx, seq)).wait().unwrap().unwrap().1;
    assert_eq!((look(4), look(5)), (None, Some("hello".to_owned())));
}
