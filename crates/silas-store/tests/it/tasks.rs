//! Tasks in the human's file: versions, their change rows, refusals, and their way into the ledger.

use crate::saga::{add, at, complete, message, prepare, reopen, run, settled};
use crate::words::instructed;
use crate::world::World;
use silas_core::event::AuditEvent;
use silas_core::task::{Ending, Refusal, TaskCall, TaskId, TaskState};
use silas_store::saga::Place;
use silas_store::{Commit, Error, Store, ledger, outbox, saga, tasks};

fn refused(why: Refusal) -> Ending {
    Ending::Refused { why }
}

fn task(store: &Store, id: &TaskId) -> tasks::Task {
    let id = id.clone();
    store.human().read(move |tx| tasks::get(tx, &id)).wait().unwrap().unwrap()
}

fn events(store: &Store) -> Vec<AuditEvent> {
    let entries = store.read(|tx| ledger::latest(tx, 100)).wait().unwrap();
    entries.into_iter().filter_map(|entry| entry.event).collect()
}

#[test]
fn every_change_is_a_version_a_row_and_an_event() {
    let world = World::new();
    let store = world.open();
    let (operation, call) = add(1, "Call the dentist");
    let TaskCall::AddTask { task: id, title } = call.clone() else { panic!() };
    assert_eq!(settled(&store, 1, &call), Ending::Done {});
    let seen = task(&store, &id);
    assert_eq!((seen.state, seen.version, seen.done_at), (TaskState::Open, 1, None));
    assert_eq!(settled(&store, 2, &complete(&seen)), Ending::Done {});
    let done = task(&store, &id);
    assert_eq!((done.state, done.version, done.done_at), (TaskState::Done, 2, Some(at())));
    assert_eq!(settled(&store, 3, &reopen(&done)), Ending::Done {});

    let looking = store.human().read({
        let id = id.clone();
        move |tx| Ok((tasks::changes(tx, &id)?, tasks::list_open(tx)?, tasks::list_done(tx)?))
    });
    let (changes, open, finished) = looking.wait().unwrap();
    assert_eq!(changes.iter().map(|change| change.version).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(changes[0].event, operation.event());
    assert_eq!((open.len(), finished.len()), (1, 0));

    let told = events(&store);
    let (
        AuditEvent::TaskAdded { task: added, operation: by, title: text },
        AuditEvent::TaskReopened { version: 3, .. },
    ) = (&told[0], &told[2])
    else {
        panic!("{told:?}")
    };
    assert_eq!((added, by), (&id, &operation));
    let text = text.clone();
    assert_eq!(store.read(move |tx| ledger::text_of(tx, &text)).wait().unwrap(), Some(title));
    assert_eq!(store.read(ledger::verify).wait().unwrap().broken, None);
}

#[test]
fn a_stale_look_changes_nothing() {
    let world = World::new();
    let store = world.open();
    let (_, call) = add(1, "a");
    settled(&store, 1, &call);
    let TaskCall::AddTask { task: id, .. } = call else { panic!() };
    let seen = task(&store, &id);
    settled(&store, 2, &complete(&seen));
    assert_eq!(settled(&store, 3, &complete(&seen)), refused(Refusal::Changed));
    assert_eq!(settled(&store, 4, &complete(&task(&store, &id))), refused(Refusal::AlreadySo));
    let another = TaskCall::CompleteTask { task: id.clone(), title: "b".to_owned(), version: 2 };
    assert_eq!(settled(&store, 5, &another), refused(Refusal::Changed), "another title is another task");
    let missing = TaskCall::ReopenTask { task: add(99, "").1.clone().into_task(), title: "a".to_owned(), version: 1 };
    assert_eq!(settled(&store, 6, &missing), refused(Refusal::Missing));
    assert_eq!(task(&store, &id).version, 2);
    let told = events(&store).iter().filter(|e| matches!(e, AuditEvent::InstructionRefused { .. })).count();
    assert_eq!(told, 4, "a refusal is in the ledger too");
}

#[test]
fn the_list_is_bounded() {
    let world = World::new();
    let store = world.open();
    let filling = store.human().write(|tx| {
        for n in 0..tasks::OPEN_MAX {
            let asked = instructed(&message(n), &add(n, "x").1);
            assert_eq!(saga::apply(tx, &asked, at())?, Ending::Done {});
        }
        Ok(Commit(()))
    });
    filling.wait().unwrap();
    assert_eq!(settled(&store, 5000, &add(5000, "one more").1), refused(Refusal::TooMany));
    let open = store.human().read(tasks::list_open).wait().unwrap();
    assert_eq!(open.len(), tasks::OPEN_MAX as usize);
    settled(&store, 5001, &complete(&open[0]));
    assert_eq!(settled(&store, 5002, &add(5002, "one more").1), Ending::Done {});
    // All of them came into the ledger, more than fit into one transaction.
    assert_eq!(store.read(ledger::verify).wait().unwrap().broken, None);
    assert!(store.human().read(outbox::undrained).wait().unwrap().is_empty());
}

#[test]
fn changes_are_append_only() {
    let world = World::new();
    let store = world.open();
    settled(&store, 1, &add(1, "a").1);
    for sql in [
        "UPDATE task_changes SET change = '{}'",
        "DELETE FROM task_changes",
        "UPDATE tasks SET title = 'b'",
        "UPDATE tasks SET title = 'b', version = version + 2",
        "DELETE FROM tasks",
    ] {
        assert!(store.human().write(move |tx| Ok(Commit(tx.execute(sql, [])?))).wait().is_err(), "{sql}");
    }
}

#[test]
fn a_text_that_was_altered_on_its_way_is_not_taken_in() {
    let world = World::new();
    let store = world.open();
    let asked = instructed(&message(1), &add(1, "Call the dentist").1);
    store.human().write(move |tx| Ok(Commit(saga::apply(tx, &asked, at())?))).wait().unwrap();
    let forger = world.human_forger();
    forger.execute("UPDATE outbox SET texts = replace(texts, 'dentist', 'plumber')", []).unwrap();
    let mut waiting = store.human().read(outbox::undrained).wait().unwrap();
    let altered = waiting.remove(0);
    let taking = store.write(move |tx| Ok(Commit(outbox::take_in(tx, &altered)?)));
    assert!(matches!(taking.wait(), Err(Error::Damaged { what: "a text of the ledger", .. })));
    assert!(events(&store).is_empty());
}

#[test]
fn what_was_drained_keeps_no_text_behind() {
    let world = World::new();
    let store = world.open();
    settled(&store, 1, &add(1, "a secret plan").1);
    let sql = "SELECT texts FROM outbox";
    let texts: Vec<String> = store.human().read(move |tx| tx.query(sql, [], |row| Ok(row.get(0)?))).wait().unwrap();
    assert_eq!(texts, ["[]"]);
}

#[test]
fn an_instruction_is_used_once() {
    let world = World::new();
    let store = world.open();
    settled(&store, 1, &add(1, "a").1);
    let again = store.write(|tx| {
        let other = TaskCall::AddTask { task: add(2, "").1.into_task(), title: "b".to_owned() };
        Ok(Commit(prepare(tx, &message(1), &other)?))
    });
    assert!(!again.wait().unwrap());
    let kept = store.read(|tx| saga::get(tx, &add(1, "a").0)).wait().unwrap().unwrap();
    assert_eq!(kept.call, add(1, "a").1, "the first call stands");
    // Words that nobody signed prepare nothing.
    let unsigned = store.write(|tx| {
        let place = Place::said(run(&message(7)), message(7), 0);
        Ok(Commit(saga::prepare(tx, &place, &add(7, "b").1, at())?))
    });
    assert!(unsigned.wait().is_err());
}

trait IntoTask {
    fn into_task(self) -> TaskId;
}

impl IntoTask for TaskCall {
    fn into_task(self) -> TaskId {
        match self {
            TaskCall::AddTask { task, .. }
            | TaskCall::CompleteTask { task, .. }
            | TaskCall::ReopenTask { task, .. } => task,
        }
    }
}
