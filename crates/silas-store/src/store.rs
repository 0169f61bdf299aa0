//! The store as the other rooms hold it: opened once for each data directory, cloned freely.
//!
//! The human's own records will be a second file beside `agent.sqlite`, opened here with its own writer.

use crate::checkpoint::Checkpointer;
use crate::queue::{Lane, Queue};
use crate::reader::Reader;
use crate::tx::{ReadTx, Tx};
use crate::write::{Abort, Commit, Durability, Job};
use crate::writer::{Writer, WriterThread};
use crate::{Error, Pending, connect, ledger, migrations};
use silas_core::{Clock, Random};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

const AGENT_FILE: &str = "agent.sqlite";
const LOCK_FILE: &str = "lock";

/// A cheap handle. With the last one the writer finishes what it accepted, and the directory is free again.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

/// Dropped in this order: the writer closes last and leaves the log empty.
struct Inner {
    reader: Reader,
    jobs: Arc<Queue<Job>>,
    /// Sent to by the writer alone, after each commit that added entries.
    head: watch::Receiver<u64>,
    n_durable_commits: Arc<AtomicU64>,
    _writer: WriterThread,
}

impl Store {
    /// Opens the data directory for this process alone, making what is missing and bringing the schema up to date.
    pub fn open(dir: &Path, random: Arc<dyn Random>, clock: Arc<dyn Clock>) -> Result<Store, Error> {
        let in_dir = |source| Error::File { path: dir.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(in_dir)?;
        let lock = Arc::new(lock(dir)?);
        let path = dir.join(AGENT_FILE);
        let mut connection = connect::for_writing(&path)?;
        migrations::apply(&mut connection, migrations::AGENT, clock.now())?;

        let last = ledger::last(&ReadTx::new(&connection))?;
        let (sender, head) = watch::channel(last.map_or(0, |last| last.seq));
        let jobs = Arc::new(Queue::new());
        let n_durable_commits = Arc::new(AtomicU64::new(0));
        let reader = Reader::start(&path, connect::for_reading(&path)?)?;
        let writer = Writer {
            connection,
            synced: Durability::Durable,
            clock,
            random,
            queue: jobs.clone(),
            head: sender,
            n_durable_commits: n_durable_commits.clone(),
            checkpointer: Checkpointer::start(&path)?,
            lock,
        };
        let writer = WriterThread::start(writer).map_err(in_dir)?;
        Ok(Store { inner: Arc::new(Inner { reader, jobs, head, n_durable_commits, _writer: writer }) })
    }

    /// Opens the data directory to look only: no lock, no migration, nothing is written to the database. Works beside a
    /// running server and on a copy that cannot be written.
    pub fn open_read_only(dir: &Path) -> Result<Reader, Error> {
        let path = dir.join(AGENT_FILE);
        let connection = connect::for_reading(&path)?;
        migrations::check(&connection, migrations::AGENT)?;
        Reader::start(&path, connection)
    }

    /// Changes something that must survive a loss of power, while somebody waits for it.
    ///
    /// The closure may run twice, so it touches nothing but its [`Tx`]; what follows from it belongs into
    /// [`Tx::after_commit`].
    pub fn write<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.write_in(Durability::Durable, Lane::Interactive, change)
    }

    /// Changes something that may be lost with the power, though not with the process.
    pub fn write_buffered<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.write_in(Durability::Buffered, Lane::Interactive, change)
    }

    /// Upkeep: buffered, and after everything that somebody waits for.
    pub fn write_background<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.write_in(Durability::Buffered, Lane::Background, change)
    }

    pub fn write_in<T, F>(&self, durability: Durability, lane: Lane, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        let (job, pending) = Job::new(durability, change);
        if let Err((refused, mut job)) = self.inner.jobs.push(lane, job) {
            job.member.fail(refused.into());
            job.member.answer();
        }
        pending
    }

    /// Looks at one consistent state; see [`Reader::read`].
    pub fn read<T, F>(&self, look: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTx<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.inner.reader.read(look)
    }

    /// The number of the last ledger entry on disk; 0 while there is none.
    pub fn ledger_head(&self) -> u64 {
        *self.inner.head.borrow()
    }

    /// Follows [`Store::ledger_head`]. It moves before the answer of the change that moved it leaves.
    pub fn watch_ledger(&self) -> watch::Receiver<u64> {
        self.inner.head.clone()
    }

    /// Commits since the store was opened that were synced to disk. Durability is counted, not timed.
    pub fn n_durable_commits(&self) -> u64 {
        self.inner.n_durable_commits.load(Ordering::SeqCst)
    }
}

/// The system lets go of the lock when the process ends, however it ends.
fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join(LOCK_FILE);
    let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
    let file = options.open(&path).map_err(|source| Error::File { path: path.clone(), source })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::AlreadyRunning { dir: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::File { path, source }),
    }
}
