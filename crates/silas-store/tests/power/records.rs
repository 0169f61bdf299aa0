//! The store's own rows under load: settings, messages, forgetting, tokens, spendings and executions, each with its ledger entry, from
//! several threads, durable and buffered mixed, with answers that are waited for in groups.

use crate::survey;
use crate::workload::{Marks, Promise, Strength, Survey, Workload};
use crate::world::{certificate, open, token};
use power_loss::Chance;
use silas_core::check::Outcome;
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::token::Verdict;
use silas_core::{CardId, Digest, ExecutionId, MessageId, Scope, Taint, Timestamp, TokenId, WorkItemId};
use silas_store::forgetting::{self, Forgotten};
use silas_store::{
    Abort, Commit, Durability, Error, Lane, Pending, Store, Tx, channel_outbox, chronicle, executions, ledger,
    settings, tokens,
};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(crate) struct Records;

const THREADS: u64 = 4;
/// Steps of one thread; enough that the log of the database grows past a checkpoint or two.
const STEPS: usize = 36;
/// Changes that a thread hands in before it waits for their answers.
const BATCH_MAX: usize = 5;
/// Long values need pages of their own, so a torn one would show.
const VALUE_BYTES_MAX: usize = 9000;
/// What the process says before it ends because of that.
pub(crate) const NOT_OPENED: &str = "the store does not open";
/// Counts the rows with a value; changed in the same transaction as each of them.
pub(crate) const COUNTER: &str = "counter";

impl Workload for Records {
    fn name(&self) -> &'static str {
        "records"
    }

    fn run(&self, dir: &Path, seed: u64, marks: &Marks) {
        let mut chance = Chance::new(seed);
        // A restart in the middle: closing, opening and recovering are interrupted like everything else.
        let n_sessions = 1 + chance.below(2);
        for session in 0..n_sessions {
            let store = open(dir, seed + session as u64).unwrap_or_else(|error| panic!("{NOT_OPENED}: {error}"));
            let known = Arc::new(Mutex::new(Known::default()));
            let durable_percent = chance.one_of(&[10, 50, 90]);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let seed = chance.number();
                    let mut worker = Worker {
                        store: &store,
                        known: &known,
                        marks,
                        name: format!("{seed:016x}-{thread}"),
                        chance: Chance::new(seed),
                        durable_percent,
                        n_changes: 0,
                    };
                    scope.spawn(move || (0..STEPS / n_sessions).for_each(|_| worker.step()));
                }
            });
        }
    }

    fn check(&self, dir: &Path, promises: &[Promise]) -> Result<Survey, String> {
        survey::check(dir, promises)
    }
}

/// What can be spent and what can be ended, for all threads of a session.
#[derive(Default)]
struct Known {
    tokens: Vec<TokenId>,
    running: Vec<ExecutionId>,
    /// Entries that have words.
    said: Vec<u64>,
}

struct Worker<'s> {
    store: &'s Store,
    known: &'s Mutex<Known>,
    marks: &'s Marks,
    /// Part of all names that this worker gives, so that they are new in every life of the directory.
    name: String,
    chance: Chance,
    durable_percent: usize,
    n_changes: usize,
}

/// What is said of a change once its answer is there; `None` for one that changed nothing.
type Said = Option<String>;

impl Worker<'_> {
    /// Hands in a few changes, then waits for all of them.
    fn step(&mut self) {
        let n_changes = 1 + self.chance.below(BATCH_MAX);
        let mut pending = Vec::new();
        for _ in 0..n_changes {
            let durability = match self.chance.percent(self.durable_percent) {
                true => Durability::Durable,
                false => Durability::Buffered,
            };
            pending.push((durability, self.change(durability)));
        }
        for (durability, pending) in pending {
            let strength = match durability {
                Durability::Durable => Strength::Durable,
                Durability::Buffered => Strength::Buffered,
            };
            match pending.wait() {
                Ok(Some(what)) => {
                    self.marks.promise(strength, &what);
                    self.learn(&what);
                }
                Ok(None) | Err(Error::Missing { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn change(&mut self, durability: Durability) -> Pending<Said> {
        self.n_changes += 1;
        let name = format!("{}-{}", self.name, self.n_changes);
        let chosen = self.chance.number() as usize;
        let known = self.known.lock().unwrap();
        let some_token = known.tokens.get(chosen % known.tokens.len().max(1)).cloned();
        let some_running = known.running.get(chosen % known.running.len().max(1)).cloned();
        let some_said = known.said.get(chosen % known.said.len().max(1)).copied();
        drop(known);
        match (self.chance.below(20), some_token, some_running) {
            (0, ..) | (_, None, _) => {
                let token = token(&format!("n-{name}"), 1 + (chosen % 6) as u32);
                self.write(durability, move |tx| keep_token(tx, &token))
            }
            (1..=4, Some(token), _) => self.write(durability, move |tx| spend(tx, &token)),
            (5..=7, _, Some(execution)) => self.write(durability, move |tx| end(tx, &execution)),
            (8, ..) => self.write(durability, move |tx| give_up(tx, &name)),
            (9, ..) if some_said.is_some() => {
                let entry = some_said.unwrap_or_default();
                self.write(durability, move |tx| forget(tx, entry))
            }
            (9..=13, ..) => {
                let n_bytes = chosen % VALUE_BYTES_MAX;
                self.write(durability, move |tx| say(tx, &name, n_bytes))
            }
            _ => self.write(durability, move |tx| put(tx, &format!("{name}-{}", chosen % VALUE_BYTES_MAX))),
        }
    }

    fn write<F>(&self, durability: Durability, change: F) -> Pending<Said>
    where
        F: FnMut(&mut Tx<'_>) -> Result<Commit<Said>, Abort> + Send + 'static,
    {
        self.store.write_in(durability, Lane::Interactive, change)
    }

    fn learn(&self, what: &str) {
        let mut words = what.split(' ');
        let (kind, subject) = (words.next().unwrap(), words.next().unwrap());
        let mut known = self.known.lock().unwrap();
        match kind {
            "token" => known.tokens.push(TokenId::parse(subject).unwrap()),
            "message" => known.said.push(words.next().unwrap().parse().unwrap()),
            "spent" => known.running.push(ExecutionId::parse(subject).unwrap()),
            _ => {}
        }
    }
}

/// The value that belongs to a key: as long as the number at its end says, and nowhere the same.
pub(crate) fn value_of(key: &str) -> String {
    let n_bytes: usize = key.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let unit = format!("{key}.");
    unit.chars().cycle().take(n_bytes).collect()
}

/// A row, a count of rows, and an entry that names the row.
pub(crate) fn put(tx: &mut Tx<'_>, key: &str) -> Result<Commit<Said>, Abort> {
    let n_rows: u64 = settings::get(tx, COUNTER)?.unwrap_or(0);
    settings::set(tx, COUNTER, &(n_rows + 1))?;
    settings::set(tx, key, &value_of(key))?;
    let seq = tx.record(&AuditEvent::StreamStarted { version: key.to_owned() })?.seq;
    Ok(Commit(Some(format!("put {key} {seq}"))))
}

fn say(tx: &mut Tx<'_>, name: &str, n_bytes: usize) -> Result<Commit<Said>, Abort> {
    let id = MessageId::parse(&format!("msg-{name}")).unwrap();
    let text = value_of(&format!("{name}-{n_bytes}"));
    let kept = tx.text(&text)?;
    let taint = Taint::Owner;
    let seq = tx.record(&AuditEvent::MessageReceived { message: id.clone(), taint, text: kept })?.seq;
    let at = Timestamp::EPOCH;
    chronicle::append(
        tx,
        &Scope::Owner,
        &chronicle::Entry { id: id.clone(), sender: chronicle::Sender::Owner, taint, text, answers: None, at },
    )?;
    channel_outbox::put(tx, &Scope::Owner, &id, at)?;
    Ok(Commit(Some(format!("message {id} {seq}"))))
}

/// The words of an entry go, there and where they were said; that they went is an entry.
fn forget(tx: &mut Tx<'_>, entry: u64) -> Result<Commit<Said>, Abort> {
    match forgetting::forget(tx, entry, &certificate().body.key)? {
        Forgotten::Done => {
            let seq = ledger::head(tx)?.map_or(0, |(seq, _)| seq);
            Ok(Commit(Some(format!("forgot {entry} {seq}"))))
        }
        Forgotten::NothingToForget => Ok(Commit(None)),
        other => panic!("{other:?}"),
    }
}

/// Changes something and then does not want it: nothing of it may ever be seen.
fn give_up(tx: &mut Tx<'_>, name: &str) -> Result<Commit<Said>, Abort> {
    put(tx, &format!("never-{name}-100"))?;
    Err(Abort(Error::Missing { what: "reason to go on", id: name.to_owned() }))
}

fn keep_token(tx: &mut Tx<'_>, token: &silas_core::token::Token) -> Result<Commit<Said>, Abort> {
    let id = token.id()?;
    tokens::insert(tx, token, &certificate(), "payload", None)?;
    let seq = tx
        .record(&AuditEvent::DecisionRecorded {
            card: CardId::parse("card-1").unwrap(),
            token: id.clone(),
            kind: token.body.offer.kind,
            verdict: Verdict::Approved,
            key: token.body.key.clone(),
        })?
        .seq;
    Ok(Commit(Some(format!("token {id} {seq}"))))
}

fn spend(tx: &mut Tx<'_>, token: &TokenId) -> Result<Commit<Said>, Abort> {
    let Some(use_number) = tokens::spend(tx, token)? else { return Ok(Commit(None)) };
    let id = ExecutionId::derive(token, use_number);
    let plan_hash = Digest::of(b"plan");
    executions::insert(
        tx,
        &Scope::Owner,
        &executions::Execution {
            id: id.clone(),
            token: token.clone(),
            work_item: WorkItemId::parse("task-1").unwrap(),
            plan_hash,
            state: ExecutionState::Running,
            use_number,
            started_at: Timestamp::EPOCH,
            ended_at: None,
            undo_until: None,
            result: None,
            changeset: None,
        },
    )?;
    let event = AuditEvent::TokenSpent { token: token.clone(), execution: id.clone(), plan_hash, use_number };
    let seq = tx.record(&event)?.seq;
    Ok(Commit(Some(format!("spent {id} {seq}"))))
}

fn end(tx: &mut Tx<'_>, execution: &ExecutionId) -> Result<Commit<Said>, Abort> {
    if !executions::set_state(tx, execution, ExecutionState::Applied, Timestamp::EPOCH)? {
        return Ok(Commit(None));
    }
    let seq = tx
        .record(&AuditEvent::WorkApplied {
            execution: execution.clone(),
            changeset: Digest::of(b"changes"),
            files: 1,
            outcome: Outcome::Proved,
            landed: None,
        })?
        .seq;
    Ok(Commit(Some(format!("applied {execution} {seq}"))))
}
