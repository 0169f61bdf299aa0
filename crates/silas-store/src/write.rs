//! A change on its way to the writer: a closure, how it may end, and where its answer goes.

use crate::pending::Reply;
use crate::{Error, Pending, Tx};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// When a change counts as done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Once it survives a loss of power.
    Durable,
    /// Once it survives a crash of Silas; the next durable change takes it along.
    Buffered,
}

/// The change is to be kept, and this is its answer. A refusal is an answer too, so that its ledger entry stays.
#[derive(Debug)]
pub struct Commit<T>(pub T);

/// Nothing of the change is to be kept, and this is why.
#[derive(Debug)]
pub struct Abort(pub Error);

impl<E: Into<Error>> From<E> for Abort {
    fn from(error: E) -> Self {
        Abort(error.into())
    }
}

/// Whether what a closure did stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    Keep,
    Undo,
}

/// A closure whose type of answer the writer need not know.
pub(crate) trait Member<D>: Send {
    /// Runs the closure and keeps its answer back. May happen twice, if a neighbour lost the group.
    fn run(&mut self, tx: &mut Tx<'_, D>) -> Ending;
    /// The database did not take the change. What the closure itself says about its failure is kept, it knows better.
    fn fail(&mut self, error: Error);
    /// Lets the answer go.
    fn answer(self: Box<Self>);
}

pub(crate) struct Job<D> {
    pub(crate) durability: Durability,
    pub(crate) member: Box<dyn Member<D>>,
}

struct Change<T, F> {
    closure: F,
    answer: Option<Result<T, Error>>,
    reply: Reply<T>,
}

impl<D> Job<D> {
    pub(crate) fn new<T, F>(durability: Durability, closure: F) -> (Job<D>, Pending<T>)
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_, D>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        let (reply, pending) = Pending::new();
        (Job { durability, member: Box::new(Change { closure, answer: None, reply }) }, pending)
    }
}

impl<D, T, F> Member<D> for Change<T, F>
where
    T: Send,
    F: FnMut(&mut Tx<'_, D>) -> Result<Commit<T>, Abort> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_, D>) -> Ending {
        // What a panic leaves behind is undone with the savepoint, and the closure's own state is not looked at again.
        let (answer, ending) = match catch_unwind(AssertUnwindSafe(|| (self.closure)(tx))) {
            Ok(Ok(Commit(value))) => (Ok(value), Ending::Keep),
            Ok(Err(Abort(error))) => (Err(error), Ending::Undo),
            Err(_) => (Err(Error::Panicked), Ending::Undo),
        };
        self.answer = Some(answer);
        ending
    }

    fn fail(&mut self, error: Error) {
        if !matches!(self.answer, Some(Err(_))) {
            self.answer = Some(Err(error));
        }
    }

    fn answer(self: Box<Self>) {
        // Nobody may be waiting any more; the change is made all the same.
        let _ = self.reply.send(self.answer.unwrap_or(Err(Error::Closed)));
    }
}
