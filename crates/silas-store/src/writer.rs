//! The one writer of a file: a thread that runs waiting closures in groups, one commit for each group.
//!
//! Every closure has its own savepoint, so an error or a panic undoes that closure and no other. Some failures end the
//! whole transaction (a full disk, `OR ROLLBACK`): then its members run again, one by one, and only the guilty one fails.
//!
//! Architecture invariant: an answer leaves after COMMIT, never before. A durable commit syncs the whole write-ahead log,
//! so everything that was committed earlier is durable with it.

use crate::Error;
use crate::checkpoint::Checkpointer;
use crate::connect;
use crate::lanes::{Lane, Queue};
use crate::lock::Lock;
use crate::tx::{Effects, Tx};
use crate::write::{Durability, Ending, Job, Member};
use rusqlite::Connection;
use silas_core::{Clock, Random};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Closures in one commit. More would save little: the sync is shared by 64 already.
const GROUP_MAX: usize = 64;
/// After this long the group is committed and the rest waits for the next one, so that nobody waits long for neighbours.
const GROUP_TIME_MAX: Duration = Duration::from_millis(2);

pub(crate) struct Writer<D> {
    pub(crate) connection: Connection,
    /// What `PRAGMA synchronous` of the connection stands at.
    pub(crate) synced: Durability,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) queue: Arc<Queue<Job<D>>>,
    /// The last ledger entry on disk; stays 0 in a file without a ledger. Only this thread sends.
    pub(crate) head: watch::Sender<u64>,
    /// Counts commits that changed the durable queue; stays 0 in a file without one. Only this thread sends.
    pub(crate) queue_changes: watch::Sender<u64>,
    /// Commits that were synced and kept something, of all files together.
    pub(crate) n_durable_commits: Arc<AtomicU64>,
    pub(crate) checkpointer: Checkpointer,
    /// Held as long as this thread can write.
    pub(crate) lock: Arc<Lock>,
}

/// The group's transaction is gone, with everything that its members did.
struct Lost {
    /// How many had their turn, the one that lost the group included.
    n_run: usize,
    reason: String,
}

impl<D: 'static> Writer<D> {
    fn run(mut self) {
        loop {
            let group = self.queue.take(GROUP_MAX);
            if group.is_empty() {
                break;
            }
            self.settle(group);
            self.checkpointer.wake_if_due();
        }
        // Connections close before the lock opens the door to the next process.
        self.checkpointer.stop();
        drop(self.connection);
        drop(self.lock);
    }

    /// Brings every job of the group to its answer, or puts it back into the queue.
    fn settle(&mut self, mut group: Vec<(Lane, Job<D>)>) {
        match self.attempt(&mut group) {
            Ok(effects) => {
                self.queue.put_back(group.split_off(effects.len()));
                for effects in effects {
                    self.publish(effects);
                }
                answer(group);
            }
            Err(lost) if lost.n_run > 1 => {
                self.queue.put_back(group.split_off(lost.n_run));
                for job in group {
                    self.settle(vec![job]);
                }
            }
            Err(lost) => {
                // Either this member lost its transaction all by itself, or there was none to be had for anybody. Most
                // likely the disk is full, and an emptied log is room.
                self.checkpointer.wake_because_full();
                if lost.n_run == 1 {
                    self.queue.put_back(group.split_off(1));
                }
                for (_, job) in &mut group {
                    job.member.fail(Error::NotWritten { reason: lost.reason.clone() });
                }
                answer(group);
            }
        }
    }

    /// One transaction. On success there is one set of effects for each member that had its turn.
    fn attempt(&mut self, group: &mut [(Lane, Job<D>)]) -> Result<Vec<Effects>, Lost> {
        let durability = match group.iter().any(|(_, job)| job.durability == Durability::Durable) {
            true => Durability::Durable,
            false => Durability::Buffered,
        };
        let begun = self.sync_on_commit(durability).and_then(|()| self.control("BEGIN IMMEDIATE"));
        if let Err(error) = begun {
            return Err(Lost { n_run: 0, reason: error.to_string() });
        }
        let started = Instant::now();
        let mut n_kept = 0;
        let mut all = Vec::with_capacity(group.len());
        for (_, job) in group.iter_mut() {
            match self.run_member(job.member.as_mut()) {
                Ok((ending, effects)) => {
                    n_kept += usize::from(ending == Ending::Keep);
                    all.push(effects);
                }
                Err(error) => return Err(self.give_up(all.len() + 1, error)),
            }
            if started.elapsed() >= GROUP_TIME_MAX {
                break;
            }
        }
        if let Err(error) = self.control("COMMIT") {
            connect::end_process_if_io(&error);
            return Err(self.give_up(all.len(), error));
        }
        if durability == Durability::Durable && n_kept > 0 {
            self.n_durable_commits.fetch_add(1, Ordering::SeqCst);
        }
        Ok(all)
    }

    /// One closure in its savepoint. An error means that the transaction around it cannot be relied on any more.
    fn run_member(&self, member: &mut dyn Member<D>) -> Result<(Ending, Effects), rusqlite::Error> {
        self.control("SAVEPOINT member")?;
        let mut tx = Tx::new(&self.connection, self.clock.as_ref(), self.random.as_ref());
        let ending = member.run(&mut tx);
        let effects = tx.into_effects();
        // If the closure lost the transaction, its savepoint went along and leaving it fails.
        match ending {
            Ending::Keep => {
                self.control("RELEASE member")?;
                Ok((ending, effects))
            }
            Ending::Undo => {
                self.control("ROLLBACK TO member")?;
                self.control("RELEASE member")?;
                Ok((ending, Effects::default()))
            }
        }
    }

    /// Leaves the connection outside any transaction.
    fn give_up(&self, n_run: usize, error: rusqlite::Error) -> Lost {
        if !self.connection.is_autocommit()
            && let Err(error) = self.control("ROLLBACK")
        {
            tracing::error!(%error, "a group could not be rolled back");
        }
        Lost { n_run, reason: error.to_string() }
    }

    fn publish(&self, effects: Effects) {
        if let Some(seq) = effects.head {
            self.head.send_replace(seq);
        }
        if effects.is_queue_changed {
            self.queue_changes.send_modify(|n| *n += 1);
        }
        for hook in effects.after_commit {
            // The change is on disk whatever its hook does; the writer must live on for the others.
            if catch_unwind(AssertUnwindSafe(hook)).is_err() {
                tracing::error!("what was to follow a commit panicked");
            }
        }
    }

    /// Refused inside a transaction, so it is set between groups.
    fn sync_on_commit(&mut self, durability: Durability) -> Result<(), rusqlite::Error> {
        if self.synced != durability {
            connect::sync_on_commit(&self.connection, durability)?;
            self.synced = durability;
        }
        Ok(())
    }

    fn control(&self, sql: &str) -> Result<(), rusqlite::Error> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }
}

fn answer<D>(group: Vec<(Lane, Job<D>)>) {
    for (_, job) in group {
        job.member.answer();
    }
}

/// Ends the writer with the store, once it has finished what it accepted.
pub(crate) struct WriterThread<D> {
    queue: Arc<Queue<Job<D>>>,
    thread: Option<JoinHandle<()>>,
}

impl<D: 'static> WriterThread<D> {
    pub(crate) fn start(writer: Writer<D>) -> Result<Self, std::io::Error> {
        let queue = writer.queue.clone();
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn(|| writer.run())?;
        Ok(WriterThread { queue, thread: Some(thread) })
    }
}

impl<D> Drop for WriterThread<D> {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take()
            // A hook may have held the last handle; the writer cannot wait for itself.
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the writer of the store panicked");
        }
    }
}
