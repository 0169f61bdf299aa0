//! One database file with its writer and its readers. Both domains are kept by this same code.

use crate::checkpoint::{Checkpointer, LogLength, Waker};
use crate::lanes::{Lane, Queue, Refused, Ticket};
use crate::lock::Lock;
use crate::migrations::Migration;
use crate::reader::Reader;
use crate::tx::{Change, ReadTx, Tx};
use crate::write::{Abort, Commit, Durability, Job};
use crate::writer::{Jobs, Writer, WriterThread};
use crate::{Error, Pending, connect, host, pending, upgrade};
use rusqlite::{Connection, TransactionBehavior};
use silas_core::{Clock, HostId, Random};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// The agent's domain: what Silas makes and keeps, and the ledger. Never a value; it only names the file.
pub enum Agent {}

/// The human's domain: what the owner wrote. Never a value; it only names the file.
pub enum Human {}

/// What the files of one data directory have in common.
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) n_durable_commits: Arc<AtomicU64>,
    /// Held by every writer; the directory is free when the last one has ended.
    pub(crate) lock: Arc<Lock>,
}

/// What is told of every change that was kept.
pub(crate) type OnChange = Box<dyn Fn(&Change) + Send + Sync>;

/// Dropped in this order: the writer closes last and leaves the log empty.
pub struct Database<D: 'static> {
    reader: Reader<D>,
    jobs: Arc<Jobs<D>>,
    host: HostId,
    head: watch::Receiver<u64>,
    queue_changes: watch::Receiver<u64>,
    /// Shared with the writer, which calls it.
    on_change: Arc<OnceLock<OnChange>>,
    /// Let go of before the writer ends, which waits for the checkpointer.
    waker: Waker,
    _writer: WriterThread<D>,
}

impl<D: 'static> Database<D> {
    /// Opens the file for this process alone, which `shared.lock` is the sign of. `look` checks what an upgrade made of
    /// it, `host` says whose changes it counts, `head` finds the last ledger entry.
    pub(crate) fn open(
        path: &Path,
        known: &[Migration],
        shared: &Shared,
        look: impl FnOnce(&ReadTx<'_, D>) -> Result<(), Error>,
        host: impl FnOnce(&Connection) -> Result<HostId, Error>,
        head: impl FnOnce(&ReadTx<'_, D>) -> Result<u64, Error>,
    ) -> Result<Self, Error> {
        let mut connection = connect::for_writing(path)?;
        connect::sync_log(&connection)?;
        upgrade::upgrade(&mut connection, path, known, shared.clock.now(), |connection| {
            look(&ReadTx::new(connection))
        })?;
        connect::give_back_pages(&connection)?;
        let settling = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let host = host(&settling)?;
        host::adopt(&settling, &host)?;
        settling.commit()?;
        let on_change: Arc<OnceLock<OnChange>> = Arc::default();
        let (sender, head) = watch::channel(head(&ReadTx::new(&connection))?);
        let (queue_moved, queue_changes) = watch::channel(0);
        let jobs: Arc<Jobs<D>> = Arc::new(Queue::new());
        let reader = Reader::start(path, connect::for_reading(path)?)?;
        let at_rest = {
            let jobs = jobs.clone();
            move |run: &dyn Fn()| {
                if let Some(writer) = jobs.seat() {
                    run();
                    jobs.give_back(writer);
                }
            }
        };
        let checkpointer = Checkpointer::start(path, at_rest)?;
        let waker = checkpointer.waker();
        jobs.add_seat(Box::new(Writer {
            log: LogLength::of(&mut connection)?,
            connection,
            synced: Durability::Durable,
            clock: shared.clock.clone(),
            random: shared.random.clone(),
            head: sender,
            queue_changes: queue_moved,
            on_change: on_change.clone(),
            n_durable_commits: shared.n_durable_commits.clone(),
            checkpointer,
            lock: shared.lock.clone(),
        }));
        let writer =
            WriterThread::start(jobs.clone()).map_err(|source| Error::File { path: path.to_owned(), source })?;
        Ok(Database { reader, jobs, host, head, queue_changes, on_change, waker, _writer: writer })
    }

    /// Tells of every change of this file once it is on disk, in the order in which they were made, on the thread that made
    /// it. Set once, by whoever opened the file; false if it was set before.
    pub fn on_change(&self, tell: impl Fn(&Change) + Send + Sync + 'static) -> bool {
        self.on_change.set(Box::new(tell)).is_ok()
    }

    /// The host whose changes the file counts.
    pub fn host(&self) -> &HostId {
        &self.host
    }

    /// Changes that wait for the writer, and looks that wait for a connection.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.jobs.n_waiting(), self.reader.n_waiting())
    }

    /// Changes something that must survive a loss of power, while somebody waits for it.
    ///
    /// The closure may run twice, so it touches nothing but its [`Tx`]; what follows from it belongs into
    /// [`Tx::after_commit`].
    pub fn write<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_, D>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.write_in(Durability::Durable, Lane::Interactive, change)
    }

    /// Changes something that may be lost with the power, though not with the process.
    pub fn write_buffered<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_, D>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.write_in(Durability::Buffered, Lane::Interactive, change)
    }

    /// Changes something that must survive a loss of power, and blocks until it is done; not for async code. If the
    /// writer is free the closure runs on this thread, which spares two changes of threads.
    ///
    /// # Panics
    ///
    /// On a thread that runs async tasks.
    pub fn write_and_wait<T, F>(&self, change: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_, D>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        // Before anything waits that only this thread would come for.
        pending::refuse_async_thread();
        let (job, pending) = Job::new(Durability::Durable, change);
        self.queued(pending, self.jobs.push_quietly(Lane::Interactive, job)).wait()
    }

    pub fn write_in<T, F>(&self, durability: Durability, lane: Lane, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_, D>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        let (job, pending) = Job::new(durability, change);
        self.queued(pending, self.jobs.push(lane, job))
    }

    fn queued<T>(&self, pending: Pending<T>, pushed: Result<Ticket, (Refused, Job<D>)>) -> Pending<T> {
        match pushed {
            Ok(ticket) => pending.waiting_at(self.jobs.clone(), ticket),
            Err((refused, mut job)) => {
                job.member.fail(refused.into());
                job.member.answer();
                pending
            }
        }
    }

    /// Looks at one consistent state; see [`Reader::read`].
    pub fn read<T, F>(&self, look: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTx<'_, D>) -> Result<T, Error> + Send + 'static,
    {
        self.reader.read(look)
    }

    /// Empties the write-ahead log, making others wait; see [`Waker::scrub`].
    pub(crate) fn empty_log(&self) -> Pending<bool> {
        self.waker.scrub()
    }

    pub(crate) fn head(&self) -> &watch::Receiver<u64> {
        &self.head
    }

    pub(crate) fn queue_changes(&self) -> &watch::Receiver<u64> {
        &self.queue_changes
    }
}
