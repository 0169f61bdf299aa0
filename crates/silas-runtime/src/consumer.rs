//! Who takes up what waits in the durable queue: messages to be answered, executions to be carried out.
//!
//! Most messages never come by here. Whoever accepts one holds its lease from the same transaction on and deals with it
//! at once, handed over in memory. The consumer gets the rest: what a restart left, what came behind an earlier message
//! of its key, what failed and is due again. It also prolongs the leases of those who are still at it.
//!
//! It never polls. It sleeps until the queue changes or the next message is due, whichever is first, and writes only if
//! there is something to lease.

use crate::turn::Turn;
use crate::view::{DeadLetterView, Update, WorkView};
use crate::work::WorkRecord;
use crate::{Stream, Trouble};
use serde_json::Value;
use silas_core::Timestamp;
use silas_gates::scrub;
use silas_sandbox::Recovered;
use silas_store::queue::{self, ATTEMPTS_MAX, Backoff, Kind, Lease, Leased, Nacked, Name};
use silas_store::{Commit, ReadTx, Tx, executions};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

mod hold;
pub(crate) mod post;

pub(crate) use hold::{Hold, Holds};

/// Consumers, as the processed marks name them.
pub(crate) const TURN: &str = "turn";
pub(crate) const WORK: &str = "work";

/// This process; there is no other on the same files.
const HOLDER: &str = "front";
/// How long a message stays with a task that ended without a word. Longer than any pause of a living process.
const LEASE: Duration = Duration::from_secs(60);
/// Half a second, then one, two and four: what does not work by then will not.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(4) };
/// Messages that one look takes at most; the next look follows at once.
const TAKEN_MAX: u32 = 16;
/// The pause after the store itself has failed.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// What one look has leased.
struct Due {
    work: Vec<Leased>,
    turns: Vec<Leased>,
}

impl Stream {
    /// At the start, before any door is open: takes up what the last life left. Long work goes on behind this.
    pub(crate) async fn take_up_the_past(self: &Arc<Self>, recovered: &[Recovered]) -> Result<(), Trouble> {
        while self.next_due().await?.is_some_and(|due| due <= self.clock.now()) {
            let due = self.take_due().await?;
            for leased in due.work {
                self.take_work(leased, Ok(recovered)).await;
            }
            for leased in due.turns {
                self.take_turn(leased).await;
            }
        }
        Ok(())
    }

    /// Runs until it is told to stop. Turns that are cut short by that are answered after the next start.
    pub(crate) async fn consume(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        let mut changed = self.store.queue_changed();
        let mut turns = JoinSet::new();
        while !*stopping.borrow_and_update() {
            // Before the look: what changes from here on wakes us again.
            changed.mark_unchanged();
            let pause = match self.take_what_is_due(&mut turns).await {
                Ok(pause) => pause,
                Err(trouble) => {
                    tracing::error!(%trouble, "the queue cannot be looked at");
                    Some(STORE_PAUSE)
                }
            };
            tokio::select! {
                _ = changed.changed() => {}
                _ = stopping.changed() => {}
                () = sleep(pause) => {}
                Some(ended) = turns.join_next() => if let Err(cause) = ended {
                    tracing::error!(%cause, "a turn ended unexpectedly; its message will be delivered again");
                }
            }
        }
        turns.shutdown().await;
    }

    /// Starts what is due and says how long nothing else will be.
    async fn take_what_is_due(self: &Arc<Self>, turns: &mut JoinSet<()>) -> Result<Option<Duration>, Trouble> {
        loop {
            let now = self.clock.now();
            match self.next_due().await? {
                None => return Ok(None),
                Some(due) if due > now => return Ok(Some(due.since(now))),
                Some(_) => {}
            }
            let due = self.take_due().await?;
            for leased in due.turns {
                let stream = self.clone();
                turns.spawn(async move { stream.take_turn(leased).await }.in_current_span());
            }
            if due.work.is_empty() {
                continue;
            }
            let recovered = self.recover().await;
            for leased in due.work {
                self.take_work(leased, recovered.as_deref().map_err(Clone::clone)).await;
            }
        }
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Trouble> {
        let due = self.store.read(|tx| {
            let due = [queue::next_due(tx, Name::Work)?, queue::next_due(tx, Name::Turns)?];
            Ok(due.into_iter().flatten().min())
        });
        Ok(due.await?)
    }

    /// Prolongs the leases of the living, then leases what is due. Buffered: with the power, every lease is void anyway.
    async fn take_due(&self) -> Result<Due, Trouble> {
        let now = self.clock.now();
        let held = self.holds.all();
        let taking = self.store.write_buffered(move |tx| Ok(Commit(take_due(tx, &held, now)?)));
        Ok(taking.await?)
    }

    /// Answers a message that was leased.
    pub(crate) async fn take_turn(self: &Arc<Self>, leased: Leased) {
        let hold = self.holds.take(leased.lease);
        if leased.attempts > ATTEMPTS_MAX {
            return self.give_back(hold.lease(), leased.kind, &leased.body, &cut_short()).await;
        }
        match serde_json::from_value(leased.body.clone()) {
            Ok(message) => self.respond(Turn { message, trace: leased.trace, hold }).await,
            Err(cause) => self.give_back(hold.lease(), leased.kind, &leased.body, &unreadable(&cause)).await,
        }
    }

    /// Goes on with an execution that was leased: the launcher's word about it comes first.
    async fn take_work(self: &Arc<Self>, leased: Leased, recovered: Result<&[Recovered], Trouble>) {
        let lease = leased.lease.clone();
        let hold = self.holds.take(leased.lease);
        let taken = match (recovered, serde_json::from_value::<post::ExecutionStatus>(leased.body.clone())) {
            _ if leased.attempts > ATTEMPTS_MAX => Err(cut_short()),
            (Err(trouble), _) => Err(trouble),
            (_, Err(cause)) => Err(unreadable(&cause)),
            (Ok(recovered), Ok(status)) => match status.status {
                post::Status::Running => self.go_on(&status.execution, hold, recovered).await,
            },
        };
        if let Err(trouble) = taken {
            self.give_back(&lease, leased.kind, &leased.body, &trouble).await;
        }
    }

    /// A message could not be dealt with: it comes again later. If it came often enough it is put aside, and the owner
    /// is told.
    pub(crate) async fn give_back(self: &Arc<Self>, lease: &Lease, kind: Kind, body: &Value, trouble: &Trouble) {
        tracing::warn!(message = %lease.message, %trouble, "a message could not be dealt with");
        let (stream, lease, body, now) = (self.clone(), lease.clone(), body.clone(), self.clock.now());
        let reason = trouble.message.clone();
        let nacking = self.store.write(move |tx| {
            let Nacked::Dead = queue::nack(tx, &lease, now, BACKOFF)? else { return Ok(Commit(None)) };
            let what = what_it_was(tx, kind, &body)?;
            let todo = match kind {
                Kind::UserMessage => "Say it again to try again.",
                Kind::ExecutionStatus => "Look at the directory before you ask for it again.",
            };
            let sentence = format!("Put aside after {ATTEMPTS_MAX} attempts: {what}. {reason} {todo}");
            let work = put_aside(tx, &body)?;
            Ok(Commit(Some((stream.tell_in(tx, &sentence)?, work))))
        });
        match nacking.await {
            Ok(None) => {}
            Ok(Some((entry, work))) => {
                if let Some(work) = work {
                    self.publish(Update::Work { work });
                }
                self.publish_entry(entry);
            }
            // The lease runs out by itself.
            Err(cause) => tracing::error!(%cause, "a message could not be given back"),
        }
    }

    /// What the launcher says is true. Finishes what was committed, removes what was not.
    pub(crate) async fn recover(&self) -> Result<Vec<Recovered>, Trouble> {
        let launcher = self.launcher.clone();
        let recovered = match tokio::task::spawn_blocking(move || launcher.recover()).await {
            Ok(Ok(recovered)) => recovered,
            Ok(Err(error)) => return Err(Trouble::new(error.code(), &error.to_string(), "See the log.")),
            Err(_) => return Err(Trouble::new("E_SANDBOX_LOST", "Recovery was interrupted.", "Start Silas again.")),
        };
        for truth in recovered.iter().filter(|truth| truth.problem.is_some()) {
            tracing::warn!(execution = %truth.execution, problem = ?truth.problem, "recovery is not finished");
        }
        Ok(recovered)
    }
}

fn take_due(tx: &mut Tx<'_>, held: &[Lease], now: Timestamp) -> Result<Due, silas_store::Error> {
    for lease in held {
        queue::heartbeat(tx, lease, now.plus(LEASE))?;
    }
    Ok(Due { work: take(tx, Name::Work, WORK, now)?, turns: take(tx, Name::Turns, TURN, now)? })
}

fn take(tx: &mut Tx<'_>, name: Name, consumer: &str, now: Timestamp) -> Result<Vec<Leased>, silas_store::Error> {
    let mut taken = Vec::new();
    for leased in queue::lease(tx, name, HOLDER, now, LEASE, TAKEN_MAX)? {
        // A mark without an acknowledgement: its effect is there, so it is only acknowledged.
        if queue::has_processed(tx, consumer, &leased.lease.message)? {
            queue::ack(tx, &leased.lease, consumer)?;
        } else {
            taken.push(leased);
        }
    }
    Ok(taken)
}

/// What was put aside, in the words of the owner.
pub(crate) fn dead_letters(tx: &ReadTx<'_>) -> Result<Vec<DeadLetterView>, silas_store::Error> {
    let mut letters = Vec::new();
    for dead in queue::dead(tx)? {
        let text = what_it_was(tx, dead.kind, &dead.body)?;
        // A delivery beyond the last attempt only put it aside.
        let attempts = dead.attempts.min(ATTEMPTS_MAX);
        letters.push(DeadLetterView { message: dead.message, text, attempts });
    }
    Ok(letters)
}

fn what_it_was(tx: &ReadTx<'_>, kind: Kind, body: &Value) -> Result<String, silas_store::Error> {
    let words = match kind {
        Kind::UserMessage => body["text"].as_str().map(str::to_owned),
        Kind::ExecutionStatus => record_of(tx, body)?.map(|(_, record)| record.view.title),
    };
    Ok(match (words, kind) {
        (Some(words), _) => format!("“{}”", scrub::visible_line(&words, 80)),
        (None, Kind::UserMessage) => "a message".to_owned(),
        (None, Kind::ExecutionStatus) => "a change to your files".to_owned(),
    })
}

/// Work that was put aside does not look as if it ran.
fn put_aside(tx: &mut Tx<'_>, body: &Value) -> Result<Option<WorkView>, silas_store::Error> {
    let Some((execution, mut record)) = record_of(tx, body)? else { return Ok(None) };
    record.settle_steps();
    record.view.place = "Put aside".to_owned();
    record.view.footer = "Unfinished. Look at the directory".to_owned();
    executions::set_result(tx, &execution.id, &record.to_json()?, record.changeset.as_ref(), execution.undo_until)?;
    Ok(Some(record.view))
}

fn record_of(tx: &ReadTx<'_>, body: &Value) -> Result<Option<(executions::Execution, WorkRecord)>, silas_store::Error> {
    let Ok(status) = serde_json::from_value::<post::ExecutionStatus>(body.clone()) else { return Ok(None) };
    let Some(execution) = executions::get(tx, &status.execution)? else { return Ok(None) };
    let record = execution.result.clone().and_then(|result| serde_json::from_value(result).ok());
    Ok(record.map(|record| (execution, record)))
}

fn cut_short() -> Trouble {
    Trouble::new("E_WORK_LOST", "Each time, Silas ended before it was done.", "See the log.")
}

fn unreadable(cause: &serde_json::Error) -> Trouble {
    tracing::error!(%cause, "a message of the queue cannot be read");
    Trouble::new("E_DB_DAMAGED", "It cannot be read any more.", "See the log.")
}

async fn sleep(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
