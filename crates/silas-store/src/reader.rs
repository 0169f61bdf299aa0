//! Looking at the database: a few read-only connections, and as many threads to use them.
//!
//! A look is one closure over one consistent state. It cannot change anything, and waits for no writer. A caller that
//! blocks until its answer comes looks itself if a connection is free; nobody else's look, that may take long.

use crate::lanes::{Lane, Queue, Refused, Ticket};
use crate::pending::{Help, Reply};
use crate::{Agent, Error, Pending, ReadTx, connect};
use rusqlite::Connection;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Enough that a long look (a verification, an export) does not keep short ones waiting.
const READERS: usize = 3;

/// A cheap handle; the connections close with the last one.
pub struct Reader<D = Agent> {
    threads: Arc<Threads>,
    domain: PhantomData<fn() -> D>,
}

type Job = Box<dyn FnOnce(Result<&Connection, Error>) + Send>;

type Looks = Queue<Job, Connection>;

struct Threads {
    queue: Arc<Looks>,
    threads: Vec<JoinHandle<()>>,
}

impl<D> Reader<D> {
    /// The first connection is given because opening it showed whether the file can be read at all.
    pub(crate) fn start(path: &Path, first: Connection) -> Result<Self, Error> {
        let mut connections = vec![first];
        while connections.len() < READERS {
            connections.push(connect::for_reading(path)?);
        }
        let queue: Arc<Looks> = Arc::new(Queue::new());
        let mut threads = Threads { queue: queue.clone(), threads: Vec::new() };
        for connection in connections {
            queue.add_seat(connection);
            let queue = queue.clone();
            let thread = std::thread::Builder::new()
                .name("store-reader".to_owned())
                .spawn(move || run(&queue))
                .map_err(|source| Error::File { path: path.to_owned(), source })?;
            threads.threads.push(thread);
        }
        Ok(Reader { threads: Arc::new(threads), domain: PhantomData })
    }

    pub(crate) fn n_waiting(&self) -> usize {
        self.threads.queue.n_waiting()
    }

    /// Looks at one consistent state. What was answered before this call is in it.
    pub fn read<T, F>(&self, look: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTx<'_, D>) -> Result<T, Error> + Send + 'static,
    {
        let (reply, pending): (Reply<T>, _) = Pending::new();
        let job: Job = Box::new(move |connection| {
            let answer = connection.and_then(|connection| one_look(connection, look));
            // Nobody may be waiting any more.
            let _ = reply.send(answer);
        });
        match self.threads.queue.push(Lane::Interactive, job) {
            Ok(ticket) => pending.waiting_at(self.threads.queue.clone(), ticket),
            Err((refused, job)) => {
                job(Err(refused.into()));
                pending
            }
        }
    }
}

impl<D> Clone for Reader<D> {
    fn clone(&self) -> Self {
        Reader { threads: self.threads.clone(), domain: PhantomData }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Full => Error::Busy,
            Refused::Closed => Error::Closed,
        }
    }
}

fn run(queue: &Looks) {
    while let Some((connection, jobs)) = queue.take(1) {
        for (_, job) in jobs {
            job(Ok(&connection));
        }
        queue.give_back(connection);
    }
    drop(queue.retire());
}

impl Help for Looks {
    fn help(&self, ticket: Ticket) -> bool {
        self.take_only(ticket).is_some_and(|(connection, job)| {
            job(Ok(&connection));
            self.give_back(connection);
            true
        })
    }
}

fn one_look<T, D>(connection: &Connection, look: impl FnOnce(&ReadTx<'_, D>) -> Result<T, Error>) -> Result<T, Error> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let looked = catch_unwind(AssertUnwindSafe(|| look(&ReadTx::new(connection))));
    connection.prepare_cached("ROLLBACK")?.execute([])?;
    looked.unwrap_or(Err(Error::Panicked))
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A look may have held the last handle; a thread cannot wait for itself.
            let is_own = thread.thread().id() == std::thread::current().id() || self.queue.is_held_here();
            if !is_own && thread.join().is_err() {
                tracing::error!("a reader of the store panicked");
            }
        }
    }
}
