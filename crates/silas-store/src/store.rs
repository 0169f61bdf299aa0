//! The store as the other rooms hold it: opened once for each data directory, cloned freely.
//!
//! Two files lie in it: the agent's `agent.sqlite`, which the functions of the store itself are about, and the human's
//! `db.sqlite` ([`Store::human`]). No transaction spans both; what crosses is a saga.

use crate::database::{Agent, Database, Human, Shared};
use crate::lanes::Lane;
use crate::lock::Lock;
use crate::migrations::Migration;
use crate::reader::Reader;
use crate::tx::{Change, ReadTx, Tx};
use crate::write::{Abort, Commit, Durability};
use crate::{Error, Pending, connect, host, ledger, migrations, upgrade};
use rusqlite::Connection;
use silas_core::{Clock, HostId, Random};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

pub(crate) const AGENT_FILE: &str = "agent.sqlite";
pub(crate) const HUMAN_FILE: &str = "db.sqlite";

/// A cheap handle. With the last one the writers finish what they accepted, and the directory is free again.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    agent: Database<Agent>,
    human: Database<Human>,
    n_durable_commits: Arc<AtomicU64>,
}

impl Store {
    /// Opens the data directory for this process alone, making what is missing and bringing the schema up to date.
    pub fn open(dir: &Path, random: Arc<dyn Random>, clock: Arc<dyn Clock>) -> Result<Store, Error> {
        let in_dir = |source| Error::File { path: dir.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(in_dir)?;
        let lock = Arc::new(Lock::take(dir)?);
        let n_durable_commits = Arc::new(AtomicU64::new(0));
        let shared = Shared { clock, random, n_durable_commits: n_durable_commits.clone(), lock };
        // Both are looked at before either is touched: opening a file to write it already writes.
        refuse_unknown(&dir.join(AGENT_FILE), migrations::AGENT)?;
        refuse_unknown(&dir.join(HUMAN_FILE), migrations::HUMAN)?;
        let path = dir.join(AGENT_FILE);
        let settle = |connection: &Connection| host::settle(connection, &path, shared.random.as_ref());
        let head = |tx: &ReadTx<'_>| Ok(ledger::last(tx)?.map_or(0, |last| last.seq));
        let agent = Database::open(&path, migrations::AGENT, &shared, ledger::check_tail, settle, head)?;
        // The two are one host's.
        let same = |_: &Connection| Ok(agent.host().clone());
        let human = Database::open(&dir.join(HUMAN_FILE), migrations::HUMAN, &shared, |_| Ok(()), same, |_| Ok(0))?;
        Ok(Store { inner: Arc::new(Inner { dir: dir.to_owned(), agent, human, n_durable_commits }) })
    }

    /// Opens the agent's file to look only: no lock, no migration, nothing is written to the database. Works beside a
    /// running server and on a copy that cannot be written.
    pub fn open_read_only(dir: &Path) -> Result<Reader, Error> {
        let path = dir.join(AGENT_FILE);
        let connection = connect::for_reading(&path)?;
        migrations::check(&connection, migrations::AGENT)?;
        Reader::start(&path, connection)
    }

    /// What the owner wrote and owns.
    pub fn human(&self) -> &Database<Human> {
        &self.inner.human
    }

    /// Changes something of the agent's; see [`Database::write`].
    pub fn write<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.inner.agent.write(change)
    }

    /// Changes something of the agent's and blocks until it is done; see [`Database::write_and_wait`].
    pub fn write_and_wait<T, F>(&self, change: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.inner.agent.write_and_wait(change)
    }

    /// Changes something that may be lost with the power, though not with the process.
    pub fn write_buffered<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.inner.agent.write_buffered(change)
    }

    /// Upkeep: buffered, and after everything that somebody waits for.
    pub fn write_background<T, F>(&self, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.inner.agent.write_in(Durability::Buffered, Lane::Background, change)
    }

    pub fn write_in<T, F>(&self, durability: Durability, lane: Lane, change: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        self.inner.agent.write_in(durability, lane, change)
    }

    /// Looks at one consistent state; see [`Reader::read`].
    pub fn read<T, F>(&self, look: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTx<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.inner.agent.read(look)
    }

    /// Tells of every change of the agent's file; see [`Database::on_change`].
    pub fn on_change(&self, tell: impl Fn(&Change) + Send + Sync + 'static) -> bool {
        self.inner.agent.on_change(tell)
    }

    /// This copy of the data directory, among all of the installation.
    pub fn host(&self) -> &HostId {
        self.inner.agent.host()
    }

    /// The number of the last ledger entry on disk; 0 while there is none.
    pub fn ledger_head(&self) -> u64 {
        *self.inner.agent.head().borrow()
    }

    /// Moves after every commit that changed the durable queue, before the answer of that change leaves.
    pub fn queue_changed(&self) -> watch::Receiver<u64> {
        self.inner.agent.queue_changes().clone()
    }

    pub(crate) fn agent_waiting(&self) -> (usize, usize) {
        self.inner.agent.waiting()
    }

    pub(crate) fn empty_log(&self) -> Pending<bool> {
        self.inner.agent.empty_log()
    }

    /// Removes what was kept of the agent's file before an upgrade.
    pub(crate) fn remove_copies(&self) -> Result<(), Error> {
        upgrade::remove_copies(&self.inner.dir.join(AGENT_FILE), None)
    }

    /// Commits since the store was opened that were synced to disk, in both files. Durability is counted, not timed.
    pub fn n_durable_commits(&self) -> u64 {
        self.inner.n_durable_commits.load(Ordering::SeqCst)
    }
}

/// A file of a version that this one does not know is left exactly as it is.
fn refuse_unknown(path: &Path, known: &[Migration]) -> Result<(), Error> {
    match path.exists() {
        true => migrations::missing(&connect::for_reading(path)?, known).map(|_known_or_missing| ()),
        false => Ok(()),
    }
}
