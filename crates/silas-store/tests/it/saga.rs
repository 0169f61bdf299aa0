//! A change across both files, interrupted after every step: recovery brings both to the same ending, once.

use crate::words::{instructed, instructed_by};
use crate::world::{NOON, World, certificate};
use proptest::prelude::*;
use silas_core::event::AuditEvent;
use silas_core::message::{MessageBody, SignedMessage};
use silas_core::reflex::GRAMMAR;
use silas_core::signature::Signature;
use silas_core::task::{Ending, OperationId, Refusal, TaskCall, TaskId, TaskState};
use silas_core::{AgentId, InstallationId, MessageId, Nonce, RunKey, Scope, Timestamp};
use silas_store::saga::Place;
use silas_store::tasks::{self, Task};
use silas_store::{Commit, Error, Store, Tx, devices, instructions, ledger, outbox, saga};
use std::collections::BTreeMap;

pub(crate) fn at() -> Timestamp {
    Timestamp::from_micros(NOON)
}

pub(crate) fn message(n: u32) -> MessageId {
    MessageId::parse(&format!("msg-{n}")).unwrap()
}

/// The run that a message is the cause of.
pub(crate) fn run(message: &MessageId) -> RunKey {
    RunKey::said(&AgentId::of(&InstallationId::parse("inst-1").unwrap(), &Scope::Owner), message)
}

pub(crate) fn add(n: u32, title: &str) -> (OperationId, TaskCall) {
    let call = TaskCall::add(&run(&message(n)), title.to_owned(), 0).unwrap();
    (operation(&message(n), &call), call)
}

pub(crate) fn operation(message: &MessageId, call: &TaskCall) -> OperationId {
    call.operation(&run(message), 0).unwrap()
}

pub(crate) fn complete(seen: &Task) -> TaskCall {
    TaskCall::CompleteTask { task: seen.id.clone(), title: seen.title.clone(), version: seen.version }
}

pub(crate) fn reopen(seen: &Task) -> TaskCall {
    TaskCall::ReopenTask { task: seen.id.clone(), title: seen.title.clone(), version: seen.version }
}

/// Phase 1, with the instruction that it uses up.
pub(crate) fn prepare(tx: &mut Tx<'_>, message: &MessageId, call: &TaskCall) -> Result<bool, Error> {
    let device = certificate(1);
    if devices::get(tx, &device.body.key)?.is_none() {
        devices::insert(tx, &device)?;
    }
    let body = MessageBody {
        text: format!("about {}", call.title()),
        timestamp: at(),
        nonce: Nonce::parse("n-1").unwrap(),
        installation: InstallationId::parse("inst-1").unwrap(),
        scope: "owner".to_owned(),
    };
    let signed = SignedMessage { body, signature: Signature::ed25519(device.body.key, [1; 64]) };
    if instructions::get(tx, message)?.is_none() {
        assert!(instructions::keep(tx, message, &signed, GRAMMAR, at())?);
    }
    saga::prepare(tx, &Place::said(run(message), message.clone(), 0), call, at())
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The whole way of one operation, as the product goes it.
pub(crate) fn settled(store: &Store, n: u32, call: &TaskCall) -> Ending {
    let prepared = call.clone();
    store.write(move |tx| Ok(Commit(prepare(tx, &message(n), &prepared)?))).wait().unwrap();
    block_on(store.settle(instructed(&message(n), call), at())).unwrap()
}

/// What a start does: settles whatever is open and was asked for, and brings the ledger up to date.
pub(crate) fn recover(store: &Store) {
    for open in store.read(saga::sagas_open).wait().unwrap() {
        let occurrence = open.run.map(|_| open.occurrence);
        match open.message.and_then(|message| instructed_by(&message, occurrence, &open.call)) {
            Some(asked) => block_on(store.settle(asked, at())).unwrap(),
            None => block_on(store.call_off(open.operation, Refusal::NotApproved, at())).unwrap(),
        };
    }
    block_on(store.drain_outbox(at())).unwrap();
}

/// Both files tell the same story: every task has a row for each of its versions, every change is in the chain exactly
/// once, and nothing is half done. Gives all tasks.
pub(crate) fn assert_consistent(store: &Store) -> Vec<Task> {
    assert_eq!(store.read(saga::sagas_open).wait().unwrap(), []);
    assert_eq!(store.human().read(outbox::undrained).wait().unwrap(), []);
    let looking = store.human().read(|tx| {
        let mut told = Vec::new();
        let tasks: Vec<Task> = [tasks::list_open(tx)?, tasks::list_done(tx)?].concat();
        for task in &tasks {
            let changes = tasks::changes(tx, &task.id)?;
            let versions: Vec<u64> = changes.iter().map(|change| change.version).collect();
            assert_eq!(versions, (1..=task.version).collect::<Vec<_>>(), "{task:?}");
            told.extend(changes.into_iter().map(|change| change.event));
        }
        let endings = "SELECT operation, ending FROM operations ORDER BY operation";
        let endings: BTreeMap<String, String> =
            tx.query(endings, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
        Ok((tasks, told, endings))
    });
    let (tasks, mut told, endings) = looking.wait().unwrap();

    let looking = store.read(|tx| {
        let bodies = tx.query("SELECT body FROM ledger ORDER BY seq", [], |row| Ok(row.get::<_, String>(0)?))?;
        let sagas = "SELECT operation, ending FROM sagas ORDER BY operation";
        let sagas: BTreeMap<String, String> =
            tx.query(sagas, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
        Ok((bodies, sagas, ledger::verify(tx)?))
    });
    let (bodies, sagas, verified) = looking.wait().unwrap();
    assert_eq!(verified.broken, None);
    assert_eq!(sagas, endings, "both files know the same operations and endings");
    let mut in_chain = Vec::new();
    for body in bodies {
        match silas_core::canonical::read::<AuditEvent>(&body).unwrap() {
            AuditEvent::TaskAdded { operation, .. }
            | AuditEvent::TaskCompleted { operation, .. }
            | AuditEvent::TaskReopened { operation, .. } => in_chain.push(operation.event()),
            _ => {}
        }
    }
    told.sort();
    in_chain.sort();
    assert_eq!(in_chain, told, "every change is in the chain, once");
    tasks
}

#[derive(Clone, Copy, Debug)]
enum Wish {
    Add,
    /// Which task, and whether its version was read long ago.
    Complete(prop::sample::Index, bool),
    Reopen(prop::sample::Index, bool),
}

#[derive(Clone, Copy, Debug)]
struct Life {
    wish: Wish,
    /// How many steps of the operation are done before the crash.
    n_steps: u32,
    /// How many steps of a first recovery are done before it crashes too.
    n_recovered: u32,
    /// Whether the recovery that gets through calls off instead of settling.
    calls_off: bool,
}

/// The steps of an operation, each with a commit of its own; the crash comes after the first `n`.
fn steps(store: &Store, n: u32, message: &MessageId, call: &TaskCall) {
    let operation = operation(message, call);
    let wait = |pending: silas_store::Pending<bool>| pending.wait().unwrap();
    if n >= 1 {
        let (message, call) = (message.clone(), call.clone());
        wait(store.write(move |tx| Ok(Commit(prepare(tx, &message, &call)?))));
    }
    if n >= 2 {
        let asked = instructed(message, call);
        wait(store.human().write(move |tx| Ok(Commit(saga::apply(tx, &asked, at()).map(|_| true)?))));
    }
    let waiting = store.human().read(outbox::undrained).wait().unwrap();
    for one in waiting {
        let id = one.id;
        if n >= 3 {
            wait(store.write(move |tx| Ok(Commit(outbox::take_in(tx, &one)?))));
        }
        if n >= 4 {
            wait(store.human().write_buffered(move |tx| Ok(Commit(outbox::mark_drained(tx, &id, at())?))));
        }
    }
    if n >= 5 {
        let ending = store.human().read(move |tx| saga::applied(tx, &operation)).wait().unwrap().unwrap();
        wait(store.write_buffered(move |tx| Ok(Commit(saga::finish(tx, &operation, &ending, at())?))));
    }
}

fn any_wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        3 => Just(Wish::Add),
        2 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(task, stale)| Wish::Complete(task, stale)),
        1 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(task, stale)| Wish::Reopen(task, stale)),
    ]
}

fn any_life() -> impl Strategy<Value = Life> {
    (any_wish(), 0..=5u32, 0..=5u32, any::<bool>()).prop_map(|(wish, n_steps, n_recovered, calls_off)| Life {
        wish,
        n_steps,
        n_recovered,
        calls_off,
    })
}

/// The call that a wish makes of what is there.
fn call_of(wish: Wish, n: u32, model: &[Task]) -> TaskCall {
    let seen = |task: prop::sample::Index, stale: bool| {
        let mut seen = task.get(model).clone();
        seen.version += u64::from(stale);
        seen
    };
    match wish {
        Wish::Complete(task, stale) if !model.is_empty() => complete(&seen(task, stale)),
        Wish::Reopen(task, stale) if !model.is_empty() => reopen(&seen(task, stale)),
        _ => add(n, &format!("task {n}")).1,
    }
}

/// What a call that is carried out does to the list.
fn expected(model: &mut Vec<Task>, call: &TaskCall) -> Ending {
    let (task, version, state) = match call {
        TaskCall::AddTask { task, title } => {
            model.push(Task {
                id: task.clone(),
                title: title.clone(),
                state: TaskState::Open,
                version: 1,
                created_at: at(),
                updated_at: at(),
                done_at: None,
            });
            return Ending::Done {};
        }
        TaskCall::CompleteTask { task, version, .. } => (task, *version, TaskState::Done),
        TaskCall::ReopenTask { task, version, .. } => (task, *version, TaskState::Open),
    };
    let known = model.iter_mut().find(|known| known.id == *task).unwrap();
    if known.version != version {
        return Ending::Refused { why: Refusal::Changed };
    }
    if known.state == state {
        return Ending::Refused { why: Refusal::AlreadySo };
    }
    (known.state, known.version) = (state, version + 1);
    known.done_at = (state == TaskState::Done).then(at);
    Ending::Done {}
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_after_any_step_converges(lives in prop::collection::vec(any_life(), 1..10)) {
        let world = World::new();
        let mut model: Vec<Task> = Vec::new();
        for (n, life) in lives.iter().enumerate() {
            let n = u32::try_from(n).unwrap();
            let call = call_of(life.wish, n, &model);
            let operation = operation(&message(n), &call);

            let store = world.open();
            steps(&store, life.n_steps, &message(n), &call);
            drop(store);

            let store = world.open();
            let open = store.read(saga::sagas_open).wait().unwrap();
            prop_assert_eq!(open.len(), usize::from((1..5).contains(&life.n_steps)));
            for open in &open {
                steps(&store, life.n_recovered.max(1), open.message.as_ref().unwrap(), &open.call);
            }
            drop(store);

            let store = world.open();
            if life.calls_off {
                for open in store.read(saga::sagas_open).wait().unwrap() {
                    block_on(store.call_off(open.operation, Refusal::NotApproved, at())).unwrap();
                }
            }
            recover(&store);
            let furthest = if open.is_empty() { life.n_steps } else { life.n_steps.max(life.n_recovered) };
            let ending = match furthest {
                0 => None,
                1 if life.calls_off => Some(Ending::Refused { why: Refusal::NotApproved }),
                _ => Some(expected(&mut model, &call)),
            };
            let known = store.read(move |tx| saga::get(tx, &operation)).wait().unwrap();
            prop_assert_eq!(known.and_then(|saga| saga.ending), ending.clone());
            // Whoever asks again gets the same answer, and nothing happens.
            if let Some(ending) = ending {
                let again = block_on(store.settle(instructed(&message(n), &call), at())).unwrap();
                prop_assert_eq!(&again, &ending);
                let again = block_on(store.call_off(operation, Refusal::Missing, at())).unwrap();
                prop_assert_eq!(again, ending);
            }
            let mut found = assert_consistent(&store);
            found.sort_by(|a, b| a.id.cmp(&b.id));
            model.sort_by(|a, b| a.id.cmp(&b.id));
            prop_assert_eq!(&found, &model);
        }
    }
}

#[test]
fn an_error_is_kept_for_whoever_asks_what_is_stuck() {
    let world = World::new();
    let store = world.open();
    let (operation, call) = add(1, "a");
    let preparing = store.write(move |tx| {
        prepare(tx, &message(1), &call)?;
        saga::note_error(tx, &operation, &"the disk is full. ".repeat(100), at())?;
        Ok(Commit(()))
    });
    preparing.wait().unwrap();
    let open = store.read(saga::sagas_open).wait().unwrap();
    assert!(open[0].last_error.as_ref().is_some_and(|error| error.len() == 500), "{open:?}");
    recover(&store);
    assert_consistent(&store);
}

#[test]
fn a_run_has_a_place_for_each_call_and_only_what_words_ask_for_is_carried_out() {
    let world = World::new();
    let store = world.open();
    let of = |run: RunKey, message: Option<MessageId>, occurrence, title: &str| {
        let call = TaskCall::add(&run, title.to_owned(), occurrence).unwrap();
        (Place { run, occurrence, message }, call)
    };
    let said = run(&message(1));
    let ticked = run(&MessageId::parse("msg-nobody").unwrap());
    let asked = [
        of(said, Some(message(1)), 0, "the same"),
        of(said, Some(message(1)), 1, "the same"),
        of(ticked, None, 0, "of its own accord"),
    ];
    let (first, places) = (asked[0].1.clone(), asked.clone());
    let preparing = store.write(move |tx| {
        // Keeps the words.
        assert!(prepare(tx, &message(1), &first)?);
        let again: Result<Vec<bool>, Error> =
            places.iter().map(|(place, call)| saga::prepare(tx, place, call, at())).collect();
        Ok(Commit(again?))
    });
    assert_eq!(preparing.wait().unwrap(), [false, true, true]);
    for (place, call) in &asked {
        let looking = place.clone();
        let found = store.read(move |tx| saga::find(tx, &looking)).wait().unwrap().unwrap();
        assert_eq!((&found.call, found.occurrence, &found.message), (call, place.occurrence, &place.message));
    }
    recover(&store);
    let mut titles: Vec<String> = assert_consistent(&store).into_iter().map(|task| task.title).collect();
    titles.sort();
    assert_eq!(titles, ["the same"], "words have no second call, and a run without words has no witness");
}

/// What a version prepared under which an operation followed from its message is settled under its old name.
#[test]
fn an_operation_of_before_is_found_and_not_made_again() {
    let world = World::new();
    let store = world.open();
    let old = OperationId::derive(&message(1));
    let call = TaskCall::AddTask { task: TaskId::derive(&old), title: "old".to_owned() };
    let (first, written) = (add(1, "new").1, serde_json::to_string(&call).unwrap());
    let preparing = store.write(move |tx| {
        prepare(tx, &message(1), &first)?;
        tx.execute(
            "UPDATE sagas SET operation = ?1, run_key = NULL, call = ?2",
            silas_store::params![old.to_string(), written],
        )?;
        Ok(Commit(prepare(tx, &message(1), &first)?))
    });
    assert!(!preparing.wait().unwrap());
    recover(&store);
    let titles: Vec<String> = assert_consistent(&store).into_iter().map(|task| task.title).collect();
    assert_eq!(titles, ["old"]);
}
