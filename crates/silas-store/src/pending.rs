//! An answer that comes later: awaited in async code, waited for on a plain thread.
//!
//! Dropping it does not call the work off; what was accepted is done. A plain thread that waits does not sit idle if it
//! could do the work itself: handing it to another thread and back can cost more than the sync of the disk. Async code
//! never does that, its threads are not for work that blocks.

use crate::Error;
use crate::lanes::Ticket;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::oneshot;

#[must_use = "whether the work was done is known only from its answer"]
pub struct Pending<T> {
    answer: oneshot::Receiver<Result<T, Error>>,
    /// Where the job waits. Nowhere, if it was refused.
    waiting: Option<(Arc<dyn Help>, Ticket)>,
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// Work that whoever waits for it can do.
pub(crate) trait Help: Send + Sync {
    /// Does some of what stands between the job and its answer. False if the job does not wait any more, or others are
    /// at it.
    fn help(&self, ticket: Ticket) -> bool;
}

impl<T> Pending<T> {
    pub(crate) fn new() -> (Reply<T>, Pending<T>) {
        let (reply, answer) = oneshot::channel();
        (reply, Pending { answer, waiting: None })
    }

    pub(crate) fn waiting_at(mut self, place: Arc<dyn Help>, ticket: Ticket) -> Self {
        self.waiting = Some((place, ticket));
        self
    }

    /// Blocks this thread until the answer is there, and may do the work on it. Not for async code: there, await.
    ///
    /// # Panics
    ///
    /// On a thread that runs async tasks.
    pub fn wait(mut self) -> Result<T, Error> {
        refuse_async_thread();
        if let Some((place, ticket)) = self.waiting.take() {
            // A ticket is served once, so this ends when the job has had its turn.
            while place.help(ticket) {}
        }
        self.answer.blocking_recv().unwrap_or(Err(Error::Closed))
    }
}

/// The async runtime knows which threads are its own and panics on them. It has to be asked before any work is done here,
/// so it is made to wait for something that is there already.
pub(crate) fn refuse_async_thread() {
    let (reply, answer) = oneshot::channel();
    let _ = reply.send(());
    let _ = answer.blocking_recv();
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer).poll(cx).map(|answer| answer.unwrap_or(Err(Error::Closed)))
    }
}
