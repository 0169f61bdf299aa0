//! What a closure of the store gets to work with: [`ReadTx`] to look, [`Tx`] to change.
//!
//! Both name the domain whose file they are about ([`Agent`], unless said otherwise), so that a function of one domain
//! cannot be handed the other's transaction.
//!
//! SQL is text of the program (`&'static str`), never built from data. Neither type can begin, end or leave its
//! transaction: that belongs to the writer, and a closure that could commit would take its neighbours along.

use crate::{Agent, Error, damage};
use rusqlite::{CachedStatement, Connection, Params, Row, StatementStatus};
use silas_core::{Clock, EventId, HostId, Random};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::ops::Deref;

/// At most 256 pages, 1 MiB, so that nobody waits for it.
const INCREMENTAL_VACUUM: &str = "PRAGMA incremental_vacuum(256)";

const COUNT: &str = "UPDATE changes SET number = number + 1 WHERE id = 1 RETURNING host, number";

/// One consistent look at the database.
pub struct ReadTx<'c, D = Agent> {
    connection: &'c Connection,
    /// What its statements took so far.
    n_steps: Cell<u64>,
    /// What was left out, where rows that cannot be read are; elsewhere the first of them ends the look.
    left_out: Option<RefCell<BTreeMap<&'static str, String>>>,
    domain: PhantomData<D>,
}

/// One change: all of it is kept, or nothing. It can also look, at what it has changed so far.
pub struct Tx<'c, D = Agent> {
    look: ReadTx<'c, D>,
    pub(crate) clock: &'c dyn Clock,
    pub(crate) random: &'c dyn Random,
    effects: Effects,
}

/// What follows from a change once it is on disk, and is forgotten with a change that was undone.
#[derive(Default)]
pub(crate) struct Effects {
    /// The last ledger entry that this change wrote.
    pub(crate) head: Option<u64>,
    /// What this change is called; once it has changed something, or has named an event.
    pub(crate) counted: Option<Counted>,
    /// Tables of which it changed a row.
    pub(crate) tables: BTreeSet<&'static str>,
    pub(crate) after_commit: Vec<Box<dyn FnOnce() + Send>>,
}

/// A change that has its number.
pub(crate) struct Counted {
    host: HostId,
    number: u64,
    /// Events that were named after it so far.
    n_events: u32,
}

/// A change that is on disk: the one hook by which everybody learns of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The copy of the data directory that made it.
    pub host: HostId,
    /// How many changes of this file that copy has kept, this one included. None is left out and none comes twice.
    pub number: u64,
    /// Tables of which it changed a row.
    pub tables: BTreeSet<&'static str>,
}

impl Effects {
    /// What is told of it once it is on disk; nothing of what changed nothing.
    pub(crate) fn change(&mut self) -> Option<Change> {
        let Counted { host, number, .. } = self.counted.take()?;
        Some(Change { host, number, tables: std::mem::take(&mut self.tables) })
    }
}

impl<'c, D> ReadTx<'c, D> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        ReadTx { connection, n_steps: Cell::new(0), left_out: None, domain: PhantomData }
    }

    /// The same look for somebody who only shows what is there: rows that cannot be read are left out of it and named by
    /// [`ReadTx::left_out`]. Whoever decides something by what it finds looks strictly.
    pub fn leaving_out(&self) -> Self {
        ReadTx { left_out: Some(RefCell::default()), ..ReadTx::new(self.connection) }
    }

    /// What could not be read so far, as a person would call it, each once, with why the first of its kind could not.
    pub fn left_out(&self) -> BTreeMap<&'static str, String> {
        self.left_out.as_ref().map(|left_out| left_out.borrow().clone()).unwrap_or_default()
    }

    /// All rows, in the order of the statement.
    pub fn query<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let statement = self.prepare(sql)?;
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(Error::Statement { sql, reason: "it is not a question" });
        }
        self.rows(sql, statement, params, map)
    }

    /// Steps of SQLite's machine that this transaction has taken so far. Work is counted, not timed.
    pub fn n_steps(&self) -> u64 {
        self.n_steps.get()
    }

    /// The first row, if there is one.
    pub fn query_one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        Ok(self.query(sql, params, map)?.into_iter().next())
    }

    fn prepare(&self, sql: &'static str) -> Result<CachedStatement<'c>, Error> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    fn rows<T>(
        &self,
        sql: &'static str,
        mut statement: CachedStatement<'_>,
        params: impl Params,
        mut map: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut rows = statement.query(params)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            match (map(row).map_err(|error| error.found_in(sql)), &self.left_out) {
                (Ok(read), _) => all.push(read),
                (Err(Error::Damaged { what, reason }), Some(left_out)) => {
                    left_out.borrow_mut().entry(what).or_insert(reason);
                }
                (Err(error), _) => return Err(error),
            }
        }
        drop(rows);
        self.count(&statement);
        Ok(all)
    }

    fn count(&self, statement: &CachedStatement<'_>) {
        // The counter lives as long as the statement, which is kept for the next transaction.
        let n_steps = u64::try_from(statement.reset_status(StatementStatus::VmStep)).unwrap_or_default();
        self.n_steps.set(self.n_steps.get() + n_steps);
    }
}

impl<'c, D> Tx<'c, D> {
    pub(crate) fn new(connection: &'c Connection, clock: &'c dyn Clock, random: &'c dyn Random) -> Self {
        Tx { look: ReadTx::new(connection), clock, random, effects: Effects::default() }
    }

    /// Runs a statement that changes something and says how many rows it changed.
    pub fn execute(&mut self, sql: &'static str, params: impl Params) -> Result<usize, Error> {
        let mut statement = self.prepare_change(sql)?;
        // `COMMIT` and its relatives count as reading; so this also keeps the transaction whole.
        if statement.readonly() {
            return Err(Error::Statement { sql, reason: "it changes nothing, or it would end the transaction" });
        }
        let n_changed = statement.execute(params)?;
        self.count(&statement);
        if n_changed > 0 {
            self.effects.tables.insert(damage::table(sql));
        }
        Ok(n_changed)
    }

    /// Runs a statement with `RETURNING` and gives its first row, if it changed one.
    pub fn returning<T>(
        &mut self,
        sql: &'static str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let statement = self.prepare_change(sql)?;
        if statement.readonly() || statement.column_count() == 0 {
            return Err(Error::Statement { sql, reason: "it does not change and return rows" });
        }
        let first = self.rows(sql, statement, params, map)?.into_iter().next();
        if first.is_some() {
            self.effects.tables.insert(damage::table(sql));
        }
        Ok(first)
    }

    /// The name of the next event that this change records: whose change it is, its number, and which of its events.
    pub(crate) fn name_event(&mut self) -> Result<EventId, Error> {
        let counted = self.counted()?;
        counted.n_events += 1;
        let (host, number, n) = (&counted.host, counted.number, counted.n_events);
        Ok(EventId::nth(host, number, n))
    }

    /// Gives the change its number, in the same transaction: one that is undone has taken none.
    fn counted(&mut self) -> Result<&mut Counted, Error> {
        let counted = match self.effects.counted.take() {
            Some(counted) => counted,
            None => {
                let mut statement = self.prepare_change(COUNT)?;
                let (host, number): (String, i64) = statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let host = HostId::try_from(host)
                    .map_err(|error| Error::Damaged { what: "whose copy this is", reason: error.to_string() })?;
                Counted { host, number: u64::try_from(number).unwrap_or_default(), n_events: 0 }
            }
        };
        Ok(self.effects.counted.insert(counted))
    }

    /// For the writer, once the closure is done: what has changed something is counted, whatever it was.
    pub(crate) fn count_change(&mut self) -> Result<(), Error> {
        // The writer finds out by itself that there is no transaction left to count in.
        if self.effects.tables.is_empty() || self.look.connection.is_autocommit() {
            return Ok(());
        }
        self.counted().map(|_counted| ())
    }

    /// Gives some of the room that deleted rows left back to the disk. Says how many pages.
    pub(crate) fn give_back_room(&mut self) -> Result<usize, Error> {
        let mut statement = self.prepare_change(INCREMENTAL_VACUUM)?;
        // Each step gives back one page.
        let mut pages = statement.query([])?;
        let mut n_pages = 0;
        while pages.next()?.is_some() {
            n_pages += 1;
        }
        Ok(n_pages)
    }

    /// Runs on whichever thread holds the writer once this change is on disk, before its answer leaves. It must be short,
    /// and it is dropped if the change is undone.
    pub fn after_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.effects.after_commit.push(Box::new(hook));
    }

    /// A full disk ends the transaction under a closure that runs on; its further changes would be kept one by one.
    fn prepare_change(&self, sql: &'static str) -> Result<CachedStatement<'c>, Error> {
        if self.look.connection.is_autocommit() {
            return Err(Error::NotWritten { reason: "the transaction has already been undone".to_owned() });
        }
        self.look.prepare(sql)
    }

    pub(crate) fn note_head(&mut self, seq: u64) {
        self.effects.head = Some(seq);
    }

    pub(crate) fn into_effects(self) -> Effects {
        self.effects
    }
}

/// Whoever may change may look.
impl<'c, D> Deref for Tx<'c, D> {
    type Target = ReadTx<'c, D>;

    fn deref(&self) -> &ReadTx<'c, D> {
        &self.look
    }
}
