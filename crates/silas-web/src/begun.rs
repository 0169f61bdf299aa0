//! What was begun for somebody who may go: it is finished without the connection, and waited for when the server leaves.
//!
//! A decision that is written down and not followed by what it allows, or a revocation that the launcher has signed and nobody
//! here has heard of, would be half a thing. Deliberately absent: what only looks. That ends with whoever looked.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tracing::Instrument;

/// How long it may take when the server leaves. What is cut short then is found by the next start.
const GRACE: Duration = Duration::from_secs(10);

/// Written by every connection. Bounded by how often devices may ask, and by how much a connection has begun at a time.
#[derive(Default)]
pub(crate) struct Begun(Mutex<JoinSet<()>>);

/// What comes of it, for whoever is still there; `None` if it failed without a word.
pub(crate) type Outcome<T> = Pin<Box<dyn Future<Output = Option<T>> + Send>>;

impl Begun {
    /// Begins it now, before this returns, and goes on with it whether or not anybody waits for the outcome.
    pub(crate) fn begin<T: Send + 'static>(&self, doing: impl Future<Output = T> + Send + 'static) -> Outcome<T> {
        let mut doing = Box::pin(doing);
        // What follows may count on its first step: a message that comes behind a stop is not taken for one before it.
        if let Some(done) = futures_util::FutureExt::now_or_never(doing.as_mut()) {
            return Box::pin(std::future::ready(Some(done)));
        }
        let (told, outcome) = oneshot::channel();
        let mut begun = self.lock();
        while let Some(ended) = begun.try_join_next() {
            if let Err(cause) = ended {
                tracing::error!(%cause, "what somebody asked for ended unexpectedly");
            }
        }
        let finishing = async move {
            let _nobody_may_wait = told.send(doing.await);
        };
        begun.spawn(finishing.in_current_span());
        Box::pin(async move { outcome.await.ok() })
    }

    /// Waits for all of it, for a while.
    pub(crate) async fn finish(&self) {
        let mut begun = std::mem::take(&mut *self.lock());
        let finishing = async { while begun.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, finishing).await.is_err() {
            tracing::warn!(n = begun.len(), "what was begun is not finished; the next start looks what is true");
        }
    }

    fn lock(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
