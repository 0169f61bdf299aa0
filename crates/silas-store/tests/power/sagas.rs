//! Changes that cross both files: prepared in the agent's, carried out in the human's, told in the ledger.
//!
//! Some are left where they are, as if the process had died there; a restart brings every one of them to one ending.

use crate::words::instructed;
use crate::workload::{Marks, Promise, Strength, Survey, Workload};
use crate::world::{NOON, certificate, open};
use power_loss::Chance;
use silas_core::event::AuditEvent;
use silas_core::message::{MessageBody, SignedMessage};
use silas_core::signature::Signature;
use silas_core::task::{Ending, Refusal, TaskCall, TaskState};
use silas_core::{AgentId, InstallationId, MessageId, Nonce, RunKey, Scope, Timestamp};
use silas_store::saga::Place;
use silas_store::{Abort, Commit, Error, Human, ReadTx, Store, Tx, devices, instructions, ledger, outbox, saga, tasks};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) struct Sagas;

const THREADS: u64 = 3;
const OPERATIONS: usize = 25;
/// Titles long enough that both files grow.
const TITLE_CHARS_MAX: usize = 900;

impl Workload for Sagas {
    fn name(&self) -> &'static str {
        "sagas"
    }

    fn run(&self, dir: &Path, seed: u64, marks: &Marks) {
        let mut chance = Chance::new(seed);
        let n_sessions = 1 + chance.below(2);
        for session in 0..n_sessions {
            let store = open(dir, seed + session as u64).unwrap();
            if session > 0 {
                recover(&store).unwrap();
            }
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let seed = chance.number();
                    let mut owner = Owner {
                        store: &store,
                        marks,
                        name: format!("{seed:016x}-{thread}"),
                        chance: Chance::new(seed),
                    };
                    scope.spawn(move || (0..OPERATIONS / n_sessions).for_each(|n| owner.ask(n)));
                }
            });
        }
    }

    fn check(&self, dir: &Path, promises: &[Promise]) -> Result<Survey, String> {
        let store = open(dir, 1).map_err(|error| format!("it does not open: {error}"))?;
        prepared_comes_first(&store)?;
        let mut survey = Survey { n_kept: 0, n_forgiven: 0, on_disk: Vec::new() };
        for promise in promises {
            match (is_kept(&store, &promise.what)?, promise.strength) {
                (true, strength) => {
                    survey.n_kept += usize::from(strength == Strength::Durable);
                    survey.on_disk.push(Promise { strength: Strength::Durable, what: promise.what.clone() });
                }
                (false, Strength::Buffered) => survey.n_forgiven += 1,
                (false, Strength::Durable) => return Err(format!("`{}` was acknowledged and is gone", promise.what)),
            }
        }
        recover(&store).map_err(|error| format!("it does not recover: {error}"))?;
        converged(&store)?;
        Ok(survey)
    }
}

/// Somebody who asks for changes of tasks, one message each.
struct Owner<'s> {
    store: &'s Store,
    marks: &'s Marks,
    name: String,
    chance: Chance,
}

impl Owner<'_> {
    fn ask(&mut self, n: usize) {
        let message = MessageId::parse(&format!("msg-{}-{n}", self.name)).unwrap();
        let call = self.call(&run(&message));
        let operation = call.operation(&run(&message), 0).unwrap();
        let (about, prepared) = (message.clone(), call.clone());
        self.store.write(move |tx| prepare(tx, &about, &prepared)).wait().unwrap();
        self.marks.promise(Strength::Durable, &format!("prepared {message}"));
        let ending = match self.chance.below(10) {
            // The process might as well have died here.
            0 => return,
            1 => block_on(self.store.call_off(operation, Refusal::NotApproved, at())).unwrap(),
            _ => block_on(self.store.settle(instructed(&message, &call), at())).unwrap(),
        };
        self.marks.promise(Strength::Durable, &format!("settled {message} {}", word(&ending)));
        self.marks.promise(Strength::Buffered, &format!("finished {message}"));
    }

    /// Adds a task, or changes one that is there; others change it at the same time.
    fn call(&mut self, run: &RunKey) -> TaskCall {
        let open = self.store.human().read(tasks::list_open).wait().unwrap();
        let done = self.store.human().read(tasks::list_done).wait().unwrap();
        let chosen = self.chance.number() as usize;
        let some = |list: &[tasks::Task]| list.get(chosen % list.len().max(1)).cloned();
        match (self.chance.below(4), some(&open), some(&done)) {
            (0, Some(task), _) => TaskCall::CompleteTask { task: task.id, title: task.title, version: task.version },
            (1, _, Some(task)) => TaskCall::ReopenTask { task: task.id, title: task.title, version: task.version },
            _ => TaskCall::add(run, "x".repeat(1 + chosen % TITLE_CHARS_MAX), 0).unwrap(),
        }
    }
}

/// Phase 1, with the instruction that it uses up.
fn prepare(tx: &mut Tx<'_>, message: &MessageId, call: &TaskCall) -> Result<Commit<()>, Abort> {
    let device = certificate();
    if devices::get(tx, &device.body.key)?.is_none() {
        devices::insert(tx, &device)?;
    }
    let body = MessageBody {
        text: "please".to_owned(),
        timestamp: at(),
        nonce: Nonce::parse("n-1").unwrap(),
        installation: InstallationId::parse("inst-1").unwrap(),
        scope: "owner".to_owned(),
    };
    let signed = SignedMessage { body, signature: Signature::ed25519(device.body.key, [1; 64]) };
    assert!(instructions::keep(tx, message, &signed, silas_core::reflex::GRAMMAR, at())?);
    assert!(saga::prepare(tx, &place(message), call, at())?);
    Ok(Commit(()))
}

fn run(message: &MessageId) -> RunKey {
    RunKey::said(&AgentId::of(&InstallationId::parse("inst-1").unwrap(), &Scope::Owner), message)
}

fn place(message: &MessageId) -> Place {
    Place::said(run(message), message.clone(), 0)
}

fn at() -> Timestamp {
    Timestamp::from_micros(NOON)
}

fn word(ending: &Ending) -> String {
    match ending {
        Ending::Done {} => "done".to_owned(),
        Ending::Refused { why } => format!("{why:?}"),
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// What a start does, until nothing is open any more.
fn recover(store: &Store) -> Result<(), Error> {
    loop {
        let open = store.read(saga::sagas_open).wait()?;
        if open.is_empty() {
            break;
        }
        for saga in open {
            let message = saga.message.expect("every saga of these has words");
            block_on(store.settle(instructed(&message, &saga.call), at()))?;
        }
    }
    block_on(store.drain_outbox(at())).map(|_| ())
}

/// Right after the crash, before anything is repaired.
fn is_kept(store: &Store, what: &str) -> Result<bool, String> {
    let words: Vec<&str> = what.split(' ').collect();
    let place = place(&MessageId::parse(words[1]).unwrap());
    let Some(saga) = look(store, move |tx| saga::find(tx, &place))? else { return Ok(false) };
    match words[0] {
        "prepared" => Ok(true),
        "finished" => Ok(saga.ending.is_some()),
        "settled" => {
            let ending = store.human().read(move |tx| saga::applied(tx, &saga.operation)).wait();
            match ending.map_err(|error| error.to_string())? {
                None => Ok(false),
                Some(ending) if word(&ending) == words[2] => Ok(true),
                Some(ending) => Err(format!("`{what}` was acknowledged, and the ending is {ending:?}")),
            }
        }
        other => Err(format!("{other} is no promise")),
    }
}

fn look<T: Send + 'static>(
    store: &Store,
    look: impl FnOnce(&ReadTx<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T, String> {
    store.read(look).wait().map_err(|error| error.to_string())
}

/// Nothing happens in the human's file that was not on disk in the agent's before.
fn prepared_comes_first(store: &Store) -> Result<(), String> {
    let prepared =
        look(store, |tx| tx.query("SELECT operation FROM sagas ORDER BY operation", [], |row| text(row, 0)))?;
    for (operation, _) in operations(store)? {
        if prepared.binary_search(&operation).is_err() {
            return Err(format!("{operation} was carried out and never prepared"));
        }
    }
    Ok(())
}

/// Operation and ending, as the human's file has them.
fn operations(store: &Store) -> Result<Vec<(String, String)>, String> {
    human(store, |tx| {
        tx.query("SELECT operation, ending FROM operations ORDER BY operation", [], |row| {
            Ok((text(row, 0)?, text(row, 1)?))
        })
    })
}

fn human<T: Send + 'static>(
    store: &Store,
    look: impl FnOnce(&ReadTx<'_, Human>) -> Result<T, Error> + Send + 'static,
) -> Result<T, String> {
    store.human().read(look).wait().map_err(|error| error.to_string())
}

fn text(row: &silas_store::Row<'_>, column: usize) -> Result<String, Error> {
    Ok(row.get(column)?)
}

/// Both files tell one story: the same endings, every change in the ledger once, those of a task in their order.
fn converged(store: &Store) -> Result<(), String> {
    let verified = look(store, ledger::verify)?;
    if let Some(broken) = verified.broken {
        return Err(broken.to_string());
    }
    let agents = look(store, |tx| {
        tx.query("SELECT operation, ending FROM sagas ORDER BY operation", [], |row| Ok((text(row, 0)?, text(row, 1)?)))
    })?;
    let humans = operations(store)?;
    if agents != humans {
        return Err(format!("the endings differ: {agents:?} and {humans:?}"));
    }
    if !human(store, outbox::undrained)?.is_empty() {
        return Err("something is left in the outbox".to_owned());
    }
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    let mut versions: BTreeMap<String, u64> = BTreeMap::new();
    let mut from = 1;
    loop {
        let page = look(store, move |tx| ledger::entries(tx, from, ledger::ENTRIES_MAX))?;
        let Some(last) = page.last() else { break };
        from = last.seq + 1;
        for entry in page {
            let (task, operation, version) = match entry.event {
                Some(AuditEvent::TaskAdded { task, operation, .. }) => (task, operation, 1),
                Some(AuditEvent::TaskCompleted { task, operation, version, .. })
                | Some(AuditEvent::TaskReopened { task, operation, version, .. }) => (task, operation, version),
                Some(AuditEvent::InstructionRefused { operation, .. }) => {
                    *told.entry(operation.to_string()).or_default() += 1;
                    continue;
                }
                other => return Err(format!("nobody recorded {other:?}")),
            };
            *told.entry(operation.to_string()).or_default() += 1;
            let before = versions.insert(task.to_string(), version).unwrap_or(0);
            if version != before + 1 {
                return Err(format!("version {version} of {task} was told after version {before}"));
            }
        }
    }
    let once: BTreeMap<String, usize> = humans.into_iter().map(|(operation, _)| (operation, 1)).collect();
    if told != once {
        return Err(format!("the ledger tells {told:?} of {once:?}"));
    }
    tasks_fit(store, &versions)
}

fn tasks_fit(store: &Store, versions: &BTreeMap<String, u64>) -> Result<(), String> {
    let all = human(store, |tx| {
        let mut all = tasks::list_open(tx)?;
        all.extend(tasks::list_done(tx)?);
        all.into_iter()
            .map(|task| Ok((tasks::changes(tx, &task.id)?.len() as u64, task)))
            .collect::<Result<Vec<_>, Error>>()
    })?;
    if all.len() != versions.len() {
        return Err(format!("{} tasks are there, the ledger knows {}", all.len(), versions.len()));
    }
    for (n_changes, task) in all {
        // A task is open, done, open, done …
        let state = if task.version % 2 == 1 { TaskState::Open } else { TaskState::Done };
        if versions.get(task.id.as_str()) != Some(&task.version) || n_changes != task.version || task.state != state {
            return Err(format!(
                "{task:?} has {n_changes} changes; the ledger tells of {:?}",
                versions.get(task.id.as_str())
            ));
        }
    }
    Ok(())
}
