//! An answer that comes later: awaited in async code, waited for on a plain thread.
//!
//! Dropping it does not call the work off; what was accepted is done.

use crate::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot;

#[must_use = "whether the work was done is known only from its answer"]
pub struct Pending<T>(oneshot::Receiver<Result<T, Error>>);

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

impl<T> Pending<T> {
    pub(crate) fn new() -> (Reply<T>, Pending<T>) {
        let (reply, answer) = oneshot::channel();
        (reply, Pending(answer))
    }

    /// Blocks this thread until the answer is there. Not for async code: there, await.
    pub fn wait(self) -> Result<T, Error> {
        self.0.blocking_recv().unwrap_or(Err(Error::Closed))
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| answer.unwrap_or(Err(Error::Closed)))
    }
}
