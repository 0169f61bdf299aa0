//! Who takes up what waits in the durable queue: messages to be answered, plans to be made, executions to be carried out.
//!
//! Most messages never come by here. Whoever accepts one holds its lease from the same transaction on and deals with it
//! at once, handed over in memory. The consumer gets the rest: what a restart left, what came behind an earlier message
//! of its key, what failed and is due again. It also prolongs the leases of those who are still at it.
//!
//! It never polls. It sleeps until the queue changes or the next message is due, whichever is first, and writes only if
//! there is something to lease.

use crate::Trouble;
use crate::conversation::Conversation;
use crate::post::{self, HOLDER, LEASE, TURN, WORK, Wish};
use silas_core::Timestamp;
use silas_sandbox::Recovered;
use silas_store::queue::{self, ATTEMPTS_MAX, Backoff, Lease, Leased, Name};
use silas_store::{Commit, Tx};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

/// Half a second, then one, two and four: what does not work by then will not.
pub(crate) const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(4) };
/// Messages that one look takes at most; the next look follows at once.
const TAKEN_MAX: u32 = 16;
/// The pause after the store itself has failed, or while a stop has not turned away what waits.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// What one look has leased.
struct Due {
    work: Vec<Leased>,
    turns: Vec<Leased>,
}

impl Conversation {
    /// At the start, before any door is open: takes up what the last life left. Long work goes on behind this.
    pub(crate) async fn take_up_the_past(self: &Arc<Self>, recovered: &[Recovered]) -> Result<(), Trouble> {
        while self.next_due().await?.is_some_and(|due| due <= self.house.clock.now()) {
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
        let mut changed = self.house.store.queue_changed();
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
            let now = self.house.clock.now();
            if self.is_turning_away() {
                return Ok(Some(STORE_PAUSE));
            }
            match self.next_due().await? {
                None => return Ok(None),
                Some(due) if due > now => return Ok(Some(due.since(now))),
                Some(_) => {}
            }
            let due = self.take_due().await?;
            for leased in due.turns {
                let conversation = self.clone();
                turns.spawn(async move { conversation.take_turn(leased).await }.in_current_span());
            }
            if due.work.is_empty() {
                continue;
            }
            let recovered = self.work.recover().await;
            for leased in due.work {
                self.take_work(leased, recovered.as_deref().map_err(Clone::clone)).await;
            }
        }
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Trouble> {
        let due = self.house.store.read(|tx| {
            let due = [Name::Work, Name::Turns, Name::Plans].map(|name| queue::next_due(tx, name));
            let due = due.into_iter().collect::<Result<Vec<_>, _>>()?;
            Ok(due.into_iter().flatten().min())
        });
        Ok(due.await?)
    }

    /// Prolongs the leases of the living, then leases what is due. Buffered: with the power, every lease is void anyway.
    async fn take_due(&self) -> Result<Due, Trouble> {
        let now = self.house.clock.now();
        let held = self.running.holds.all();
        let taking = self.house.store.write_buffered(move |tx| Ok(Commit(take_due(tx, &held, now)?)));
        Ok(taking.await?)
    }

    /// Answers a message that was leased.
    pub(crate) async fn take_turn(self: &Arc<Self>, leased: Leased) {
        let hold = self.running.holds.take(leased.lease);
        if leased.attempts > ATTEMPTS_MAX {
            return self.give_back(hold.lease(), leased.kind, &leased.body, &cut_short()).await;
        }
        match Wish::read(leased.kind, &leased.body) {
            Ok(wish) => self.respond_soon(self.turn(leased.scope, wish, leased.trace, hold)).await,
            Err(cause) => self.give_back(hold.lease(), leased.kind, &leased.body, &unreadable(&cause)).await,
        }
    }

    /// Goes on with an execution that was leased: the launcher's word about it comes first.
    async fn take_work(self: &Arc<Self>, leased: Leased, recovered: Result<&[Recovered], Trouble>) {
        let lease = leased.lease.clone();
        let hold = self.running.holds.take(leased.lease);
        let taken = match (recovered, serde_json::from_value::<post::ExecutionStatus>(leased.body.clone())) {
            _ if leased.attempts > ATTEMPTS_MAX => Err(cut_short()),
            (Err(trouble), _) => Err(trouble),
            (_, Err(cause)) => Err(unreadable(&cause)),
            (Ok(recovered), Ok(status)) => match status.status {
                post::Status::Running => self.work.go_on(&status.execution, hold, recovered).await,
            },
        };
        if let Err(trouble) = taken {
            self.give_back(&lease, leased.kind, &leased.body, &trouble).await;
        }
    }
}

fn take_due(tx: &mut Tx<'_>, held: &[Lease], now: Timestamp) -> Result<Due, silas_store::Error> {
    for lease in held {
        queue::heartbeat(tx, lease, now.plus(LEASE))?;
    }
    let mut turns = take(tx, Name::Turns, TURN, now)?;
    turns.extend(take(tx, Name::Plans, TURN, now)?);
    Ok(Due { work: take(tx, Name::Work, WORK, now)?, turns })
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

fn cut_short() -> Trouble {
    Trouble::new("E_WORK_LOST", "Each time, Silas ended before it was done.", "See the log.")
}

fn unreadable(cause: &serde_json::Error) -> Trouble {
    tracing::error!(%cause, "a message of the queue cannot be read");
    silas_store::Error::Damaged { what: "a message that waits to be dealt with", reason: cause.to_string() }.into()
}

async fn sleep(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
