//! What is done already and still has to be written down. A stop, a revocation or a connection does not wait for whoever holds
//! the database: it is done, it is answered, and the writing follows, as often as it takes.
//!
//! Deliberately absent: anything that holds only once it is on disk. An approval is spent by its transaction and by nothing
//! else.

use super::{House, lock};
use crate::Trouble;
use silas_store::{Abort, Commit, Tx};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tracing::Instrument;

/// Nearly always it is on disk by then, and whoever asks next sees it; nobody waits longer for it.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(300);
/// Between two attempts. Each of them waits for the database by itself.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long the end of Silas waits for what is not written down yet.
const LAST_GRACE: Duration = Duration::from_secs(15);

impl House {
    /// Has it written down, also if another program holds the database for a while. Returns when that is done, or after a
    /// moment; the rest goes on behind this.
    pub(crate) async fn write_afterwards<W>(&self, what: &'static str, mut writing: impl FnMut() -> W + Send + 'static)
    where
        W: Future<Output = Result<(), Trouble>> + Send,
    {
        let (told, written) = oneshot::channel();
        let trying = async move {
            while let Err(trouble) = writing().await {
                if !is_passing(&trouble.code) {
                    tracing::error!(%trouble, what, "this could not be written down");
                    break;
                }
                tracing::warn!(%trouble, what, "this is written down as soon as the database can be had");
                tokio::time::sleep(AGAIN_AFTER).await;
            }
            // What it holds ends before anybody is told.
            drop(writing);
            let _nobody_may_wait = told.send(());
        };
        {
            let mut afterwards = lock(&self.leaving.afterwards);
            while afterwards.try_join_next().is_some() {}
            afterwards.spawn(trying.in_current_span());
        }
        let _done_or_not = tokio::time::timeout(AT_ONCE, written).await;
    }

    /// The same on a thread of its own, which waits for it. `delayed` is called each time that the database cannot be had. Given
    /// up only when Silas itself goes away: the next start finds it undone.
    pub(crate) fn write_until_done<T, F>(&self, change: F, mut delayed: impl FnMut()) -> Result<T, silas_store::Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Commit<T>, Abort> + Send + 'static,
    {
        let change = Arc::new(Mutex::new(change));
        loop {
            let change = change.clone();
            match self.store.write_and_wait(move |tx| lock(&change)(tx)) {
                Err(cause) if is_passing(cause.code()) && !self.is_stopping() => {
                    tracing::warn!(%cause, "this is written down as soon as the database can be had");
                    delayed();
                    std::thread::sleep(AGAIN_AFTER);
                }
                written => return written,
            }
        }
    }

    /// At the end: nothing that was done stays unwritten, if the database can be had at all.
    pub(crate) async fn finish_writing(&self) {
        let mut afterwards = std::mem::take(&mut *lock(&self.leaving.afterwards));
        let finishing = async { while afterwards.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_GRACE, finishing).await.is_err() {
            tracing::error!(
                n = afterwards.len(),
                "another program holds the database; not everything was written down"
            );
        }
    }
}

/// Whether it is worth trying again.
fn is_passing(code: &str) -> bool {
    matches!(code, "E_DB_LOCKED" | "E_DB_FULL" | "busy_retry")
}
