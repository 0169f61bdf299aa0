//! Everything is stopped: what ended with it and what was taken back, for as long as nothing has begun since.
//!
//! What waits behind an answer that was stopped is not begun either: it is answered with a sentence, so that it can be said
//! again.
//!
//! Deliberately absent: the stopping of work itself, which is the work's own affair, and the revocation, which is
//! [`crate::trust`]'s.

use crate::Trouble;
use crate::conversation::Conversation;
use crate::hub::Posted;
use crate::post::{self, Wish};
use crate::running::Stop;
use silas_core::message::{Answering, CameOf};
use silas_core::taint::Source;
use silas_core::{MessageId, Scope, Tainted};
use silas_store::{Commit, Tx, answers};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const NOT_BEGUN: &str = "Everything was stopped before this was begun. Say it again if you still want it.";

/// What a stop ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    pub n_works: usize,
    /// The models for whose answers a message waited, by name.
    pub models: Vec<String>,
}

impl Conversation {
    /// Ends what a model is saying, all work, and what waits to be begun. Says how much work that was, and which models are
    /// not waited for any more. Whoever holds the database holds none of this up: it is written down afterwards.
    pub async fn end_everything(self: &Arc<Self>) -> Ended {
        self.n_stops.fetch_add(1, Ordering::SeqCst);
        let waited_for = self.hub.asked_models.list().into_iter().filter(|asked| !asked.for_work);
        let models: Vec<String> = waited_for.map(|asked| asked.model).collect();
        self.interrupt();
        let n_works = self.running.stop_work(None, Stop::Owner);
        let turning_away = TurningAway::begin(self.clone());
        let conversation = self.clone();
        self.house
            .write_afterwards("what a stop turned away", move || {
                let (conversation, _held_until_it_is_written) = (conversation.clone(), &turning_away);
                async move { conversation.turn_away_what_waits().await }
            })
            .await;
        self.hub.remember_stop(n_works, 0, models.clone()).await;
        Ended { n_works, models }
    }

    /// Whether something waits that a stop is about to turn away.
    pub(crate) fn is_turning_away(&self) -> bool {
        self.n_turning_away.load(Ordering::SeqCst) > 0
    }

    /// How often everything was stopped so far. A door notes it when a message comes in, so that a stop that overtakes the
    /// message is known to have come after it.
    pub fn n_stops(&self) -> u64 {
        self.n_stops.load(Ordering::SeqCst)
    }

    /// The answer to a message that a stop overtook; part of the transaction that takes the message in.
    pub(crate) fn turn_away(&self, tx: &mut Tx<'_>, message: &MessageId) -> Result<Posted, silas_store::Error> {
        let sentence = Tainted::new(NOT_BEGUN.to_owned(), Source::Own.taint());
        let refused = Answering { message: message.clone(), came_of: CameOf::Refused };
        self.hub.tell_about(tx, &sentence, Some(refused))
    }

    async fn turn_away_what_waits(self: &Arc<Self>) -> Result<(), Trouble> {
        let conversation = self.clone();
        let turning_away = self.house.store.write(move |tx| {
            let sentence = Tainted::new(NOT_BEGUN.to_owned(), Source::Own.taint());
            let mut posted = Vec::new();
            for waiting in post::not_begun(tx, &Scope::Owner)? {
                // What cannot be read is turned away like the rest; only whose answer it is cannot be said.
                let said = Wish::read(waiting.kind, &waiting.body).ok().map(|wish| wish.message.id);
                if let Some(message) = &said {
                    answers::forget_turn(tx, message)?;
                }
                let refused = said.map(|message| Answering { message, came_of: CameOf::Refused });
                posted.push(conversation.hub.tell_about(tx, &sentence, refused)?);
            }
            Ok(Commit(posted))
        });
        let posted = turning_away.await?;
        if !posted.is_empty() {
            posted.into_iter().for_each(|posted| self.hub.deliver(posted));
            self.hub.publish_activity().await;
        }
        Ok(())
    }
}

/// From a stop on until what waited when it came is turned away.
struct TurningAway(Arc<Conversation>);

impl TurningAway {
    fn begin(conversation: Arc<Conversation>) -> Self {
        conversation.n_turning_away.fetch_add(1, Ordering::SeqCst);
        TurningAway(conversation)
    }
}

impl Drop for TurningAway {
    fn drop(&mut self) {
        // What had its turn between the two.
        self.0.interrupt();
        self.0.n_turning_away.fetch_sub(1, Ordering::SeqCst);
    }
}
