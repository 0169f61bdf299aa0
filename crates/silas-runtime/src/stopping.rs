//! Everything is stopped: what ended with it and what was taken back, for as long as nothing has begun since.
//!
//! What waits behind an answer that was stopped is not begun either: it is answered with a sentence, so that it can be said
//! again.
//!
//! Deliberately absent: the stopping of work itself, which is the work's own affair, and the revocation, which is
//! [`crate::grants`]'s.

use crate::consumer::post;
use crate::view::StopView;
use crate::work::Stop;
use crate::{Stream, Trouble};
use silas_core::Tainted;
use silas_core::message::{Answering, CameOf, Message};
use silas_core::taint::Source;
use silas_store::{Commit, answers, settings};
use std::sync::Arc;
use std::time::Duration;

const NOT_BEGUN: &str = "Everything was stopped before this was begun. Say it again if you still want it.";

/// The setting that holds it.
const LAST_STOP: &str = "last_stop";
/// What is taken back this soon after a stop was taken back with it: one tap sends both.
const TOGETHER: Duration = Duration::from_secs(120);

impl Stream {
    /// Ends what a model is saying, all work, and what waits to be begun. Says how much work that was.
    pub async fn end_everything(self: &Arc<Self>) -> usize {
        self.interrupt();
        let n_works = self.stop_work(None, Stop::Owner);
        if let Err(trouble) = self.turn_away_what_waits().await {
            tracing::error!(%trouble, "what waits could not be turned away");
        }
        // What had its turn between the two.
        self.interrupt();
        self.remember_stop(n_works, 0).await;
        n_works
    }

    async fn turn_away_what_waits(self: &Arc<Self>) -> Result<(), Trouble> {
        let stream = self.clone();
        let turning_away = self.store.write(move |tx| {
            let sentence = Tainted::new(NOT_BEGUN.to_owned(), Source::Own.taint());
            let mut posted = Vec::new();
            for waiting in post::not_begun(tx)? {
                // What cannot be read is turned away like the rest; only whose answer it is cannot be said.
                let said = serde_json::from_value::<Message>(waiting.body).ok().map(|message| message.id);
                if let Some(message) = &said {
                    answers::forget_turn(tx, message)?;
                }
                let refused = said.map(|message| Answering { message, came_of: CameOf::Refused });
                posted.push(stream.tell_about(tx, &sentence, refused)?);
            }
            Ok(Commit(posted))
        });
        let posted = turning_away.await?;
        if !posted.is_empty() {
            posted.into_iter().for_each(|posted| self.deliver(posted));
            self.publish_activity().await;
        }
        Ok(())
    }

    /// All grants were taken back at once.
    pub(crate) async fn note_grants_gone(&self, n_grants: usize) {
        self.remember_stop(0, n_grants).await;
    }

    async fn remember_stop(&self, n_works: usize, n_grants: usize) {
        if n_works + n_grants == 0 {
            return;
        }
        let at = self.clock.now();
        let noting = self.store.write_buffered(move |tx| {
            let before = settings::get::<StopView>(tx, LAST_STOP)?.filter(|before| at.since(before.at) < TOGETHER);
            let (works, grants) = before.map_or((0, 0), |before| (before.n_works, before.n_grants));
            let stop = StopView { at, n_works: works + n_works, n_grants: grants + n_grants };
            settings::set(tx, LAST_STOP, &stop)?;
            Ok(Commit(()))
        });
        // What was stopped is stopped, whether or not it can be told later.
        if let Err(cause) = noting.await {
            tracing::warn!(%cause, "that everything was stopped could not be kept");
        }
    }
}

/// What the last stop did; whoever shows it looks whether anything has begun since.
pub(crate) fn last(tx: &silas_store::ReadTx<'_>) -> Result<Option<StopView>, silas_store::Error> {
    settings::get(tx, LAST_STOP)
}
