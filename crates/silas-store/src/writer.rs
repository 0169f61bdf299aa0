//! The one writer of a file: runs waiting closures in groups, one commit for each group.
//!
//! It is a seat rather than a thread. A thread of the store takes it when closures wait; so may a caller that blocks
//! until its answer comes, if the writer is free: it runs the group that its own closure is in, under the same rules.
//!
//! Every closure has its own savepoint, so an error or a panic undoes that closure and no other; one that is alone has the
//! whole transaction for that. Some failures end the whole transaction (a full disk, `OR ROLLBACK`): then its members run
//! again, one by one, and only the guilty one fails.
//!
//! Architecture invariant: an answer leaves after COMMIT, never before. A durable commit syncs the whole write-ahead log,
//! so everything that was committed earlier is durable with it.

use crate::Error;
use crate::checkpoint::{Checkpointer, LogLength};
use crate::connect;
use crate::database::OnChange;
use crate::lanes::{Queue, Taken, Ticket};
use crate::lock::Lock;
use crate::pending::Help;
use crate::tx::{Effects, Tx};
use crate::write::{Durability, Ending, Job, Member};
use rusqlite::Connection;
use silas_core::{Clock, Random};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Closures in one commit. More would save little: the sync is shared by 64 already.
const GROUP_MAX: usize = 64;
/// After this long the group is committed and the rest waits for the next one, so that nobody waits long for neighbours.
const GROUP_TIME_MAX: Duration = Duration::from_millis(2);

pub(crate) struct Writer {
    pub(crate) connection: Connection,
    /// What `PRAGMA synchronous` of the connection stands at.
    pub(crate) synced: Durability,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    /// The last ledger entry on disk; stays 0 in a file without a ledger. Only the writer sends.
    pub(crate) head: watch::Sender<u64>,
    /// Counts commits that changed the durable queue; stays 0 in a file without one. Only the writer sends.
    pub(crate) queue_changes: watch::Sender<u64>,
    /// Whoever is told of each change; set by whoever opened the file.
    pub(crate) on_change: Arc<OnceLock<OnChange>>,
    /// Commits that were synced and kept something, of all files together.
    pub(crate) n_durable_commits: Arc<AtomicU64>,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) log: LogLength,
    /// Held as long as anybody can write.
    pub(crate) lock: Arc<Lock>,
}

pub(crate) type Jobs<D> = Queue<Job<D>, Box<Writer>>;
type Group<D> = Vec<Taken<Job<D>>>;

/// The group's transaction is gone, with everything that its members did.
struct Lost {
    /// How many had their turn, the one that lost the group included.
    n_run: usize,
    /// What SQLite said, so that each member can be told.
    failure: Option<rusqlite::ffi::Error>,
    reason: String,
}

impl Lost {
    /// The same for every member: what has a code of its own keeps it.
    fn error(&self) -> Error {
        let reason = self.reason.clone();
        let Some(failure) = self.failure else { return Error::NotWritten { reason } };
        let error = Error::Database(rusqlite::Error::SqliteFailure(failure, Some(reason.clone())));
        match error.code() {
            "E_DB_FULL" => Error::Full,
            "E_DB_WRITE" => Error::NotWritten { reason },
            _ => error,
        }
    }
}

impl Writer {
    /// Brings every job of the group to its answer, or puts it back into the queue. The answers are for whoever holds the
    /// writer to give, once others can have it.
    fn settle<D: 'static>(&mut self, jobs: &Jobs<D>, mut group: Group<D>) -> Group<D> {
        match self.attempt(&mut group) {
            Ok(effects) => {
                jobs.put_back(group.split_off(effects.len()));
                for effects in effects {
                    self.publish(effects);
                }
                group
            }
            Err(lost) if lost.n_run > 1 => {
                jobs.put_back(group.split_off(lost.n_run));
                group.into_iter().flat_map(|job| self.settle(jobs, vec![job])).collect()
            }
            Err(lost) => {
                // Either this member lost its transaction all by itself, or there was none to be had for anybody. Most
                // likely the disk is full, and an emptied log is room.
                self.checkpointer.wake_because_full();
                if lost.n_run == 1 {
                    jobs.put_back(group.split_off(1));
                }
                for (_, job) in &mut group {
                    job.member.fail(lost.error());
                }
                group
            }
        }
    }

    /// One transaction. On success there is one set of effects for each member that had its turn.
    fn attempt<D: 'static>(&mut self, group: &mut [Taken<Job<D>>]) -> Result<Vec<Effects>, Lost> {
        let durability = match group.iter().any(|(_, job)| job.durability == Durability::Durable) {
            true => Durability::Durable,
            false => Durability::Buffered,
        };
        let begun = self.sync_on_commit(durability).and_then(|()| self.control("BEGIN IMMEDIATE"));
        if let Err(error) = begun {
            return Err(self.give_up(0, error));
        }
        if let [(_, job)] = group {
            return self.run_alone(job.member.as_mut(), durability).map_err(|error| self.give_up(1, error));
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
        if let Err(error) = self.commit(durability, n_kept) {
            return Err(self.give_up(all.len(), error));
        }
        Ok(all)
    }

    /// One closure that nobody shares the transaction with needs no savepoint in it: a savepoint copies every page aside
    /// that the closure changes.
    fn run_alone<D: 'static>(
        &self,
        member: &mut dyn Member<D>,
        durability: Durability,
    ) -> Result<Vec<Effects>, rusqlite::Error> {
        let (ending, effects) = self.run_closure(member)?;
        match ending {
            Ending::Keep => self.commit(durability, 1).map(|()| vec![effects]),
            Ending::Undo => self.control("ROLLBACK").map(|()| vec![Effects::default()]),
        }
    }

    fn commit(&self, durability: Durability, n_kept: usize) -> Result<(), rusqlite::Error> {
        // If a closure lost the transaction, there is none to commit and this fails.
        self.control("COMMIT").inspect_err(connect::end_process_if_io)?;
        if durability == Durability::Durable && n_kept > 0 {
            self.n_durable_commits.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The closure, and the number of its change, if it is to be kept.
    fn run_closure<D: 'static>(&self, member: &mut dyn Member<D>) -> Result<(Ending, Effects), rusqlite::Error> {
        let mut tx = Tx::new(&self.connection, self.clock.as_ref(), self.random.as_ref());
        let ending = member.run(&mut tx);
        if ending == Ending::Keep {
            tx.count_change().map_err(|error| match error {
                Error::Database(error) => error,
                other => rusqlite::Error::ToSqlConversionFailure(Box::new(other)),
            })?;
        }
        Ok((ending, tx.into_effects()))
    }

    /// One closure in its savepoint. An error means that the transaction around it cannot be relied on any more.
    fn run_member<D: 'static>(&self, member: &mut dyn Member<D>) -> Result<(Ending, Effects), rusqlite::Error> {
        self.control("SAVEPOINT member")?;
        let (ending, effects) = self.run_closure(member)?;
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
        Lost { n_run, failure: error.sqlite_error().copied(), reason: error.to_string() }
    }

    fn publish(&self, mut effects: Effects) {
        if let Some(seq) = effects.head {
            self.head.send_replace(seq);
        }
        if let Some(change) = effects.change() {
            if change.tables.contains("queue") {
                self.queue_changes.send_modify(|n| *n += 1);
            }
            if let Some(tell) = self.on_change.get() {
                follow(|| tell(&change));
            }
        }
        effects.after_commit.into_iter().for_each(follow);
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

/// The change is on disk whatever follows it does; the writer must live on for the others.
fn follow(hook: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(hook)).is_err() {
        tracing::error!("what was to follow a commit panicked");
    }
}

/// Runs one group on the calling thread, gives the writer back, and lets the answers go.
fn run<D: 'static>(jobs: &Jobs<D>, mut writer: Box<Writer>, group: Group<D>) {
    let settled = catch_unwind(AssertUnwindSafe(|| writer.settle(jobs, group)));
    let Writer { checkpointer, log, .. } = writer.as_mut();
    checkpointer.wake_if_due(log);
    jobs.give_back(writer);
    match settled {
        Ok(group) => group.into_iter().for_each(|(_, job)| job.member.answer()),
        // Closures and hooks cannot do this; whoever waits for the group hears that it will not come.
        Err(_) => tracing::error!("the writer of the store panicked"),
    }
}

impl<D: 'static> Help for Jobs<D> {
    /// Runs the next group, as long as the job of the ticket is not behind us.
    fn help(&self, ticket: Ticket) -> bool {
        self.take_for(ticket, GROUP_MAX).map(|(writer, group)| run(self, writer, group)).is_some()
    }
}

/// Ends the writer with the store, once it has finished what it accepted.
pub(crate) struct WriterThread<D: 'static> {
    jobs: Arc<Jobs<D>>,
    thread: Option<JoinHandle<()>>,
}

impl<D: 'static> WriterThread<D> {
    pub(crate) fn start(jobs: Arc<Jobs<D>>) -> Result<Self, std::io::Error> {
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn({
            let jobs = jobs.clone();
            move || {
                while let Some((writer, group)) = jobs.take(GROUP_MAX) {
                    run(&jobs, writer, group);
                }
                let writer = *jobs.retire();
                // Connections close before the lock opens the door to the next process.
                writer.checkpointer.stop();
                drop(writer.connection);
                drop(writer.lock);
            }
        })?;
        Ok(WriterThread { jobs, thread: Some(thread) })
    }
}

impl<D: 'static> Drop for WriterThread<D> {
    fn drop(&mut self) {
        self.jobs.close();
        if let Some(thread) = self.thread.take()
            // A hook may have held the last handle; the writer cannot wait for itself.
            && thread.thread().id() != std::thread::current().id()
            && !self.jobs.is_held_here()
            && thread.join().is_err()
        {
            tracing::error!("the writer of the store panicked");
        }
    }
}
