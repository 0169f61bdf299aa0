//! The Stream: Silas's one permanent conversation with its owner. It makes the rooms, each from those before it, starts them in
//! their order, keeps time, and lets them finish. What a door wants it asks of the room whose affair it is.
//!
//! Deliberately absent: state of its own. No room knows the Stream, or a room after it.

use crate::Trouble;
use crate::conversation::Conversation;
use crate::house::House;
use crate::hub::Hub;
use crate::minds::{self, Minds};
use crate::questions::Questions;
use crate::review::Review;
use crate::running::{Running, Stop};
use crate::tasks::{self, Tasks};
use crate::trust::{self, Trust};
use crate::work::Work;
use silas_core::device::Certificate;
use silas_core::event::AuditEvent;
use silas_store::Commit;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// For work that was told to leave; whoever is slower is cut off by the end of the process.
const LETTING_GO: Duration = Duration::from_secs(2);
/// How often it is looked whether everything has finished.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub struct Stream {
    house: Arc<House>,
    pub running: Arc<Running>,
    pub hub: Arc<Hub>,
    pub trust: Arc<Trust>,
    pub minds: Arc<Minds>,
    pub questions: Arc<Questions>,
    pub work: Arc<Work>,
    pub tasks: Arc<Tasks>,
    pub conversation: Arc<Conversation>,
    pub review: Arc<Review>,
}

impl Stream {
    /// Every line makes one room from rooms already made.
    #[rustfmt::skip]
    fn new(house: House, trust: trust::Options, minds: minds::Options) -> Self {
        let house        = Arc::new(house);
        let running      = Arc::new(Running::default());
        let hub          = Arc::new(Hub::new(house.clone(), running.clone()));
        let trust        = Arc::new(Trust::new(house.clone(), running.clone(), hub.clone(), trust));
        let minds        = Arc::new(Minds::new(house.clone(), hub.clone(), minds));
        let questions    = Arc::new(Questions::new(house.clone(), hub.clone(), trust.clone(), minds.clone()));
        let work         = Arc::new(Work::new(house.clone(), running.clone(), hub.clone(), trust.clone(), minds.clone(),
                                              questions.clone()));
        let tasks        = Arc::new(Tasks::new(house.clone(), hub.clone()));
        let conversation = Arc::new(Conversation::new(house.clone(), running.clone(), hub.clone(), trust.clone(),
                                                      minds.clone(), questions.clone(), work.clone(), tasks.clone()));
        let review       = Arc::new(Review::new(house.clone(), running.clone(), hub.clone(), trust.clone(), minds.clone(),
                                                questions.clone(), work.clone(), conversation.clone()));
        Stream { house, running, hub, trust, minds, questions, work, tasks, conversation, review }
    }

    /// Writes down the start, finishes what was committed, goes on with what was interrupted. What was acknowledged before the
    /// last stop is taken up where it was left: the leases of the last life are void, the launcher's word comes first, then
    /// the consumer takes up what the queue holds.
    pub async fn start(
        house: House,
        trust: trust::Options,
        minds: minds::Options,
        terminal: Certificate,
        version: &str,
    ) -> Result<Arc<Stream>, Trouble> {
        let stream = Arc::new(Stream::new(house, trust, minds));
        stream.review.enter_epoch().await?;
        stream.trust.know_server_keys().await?;
        stream.trust.know_checkpoints().await?;
        stream.trust.know_revocations().await?;
        stream.trust.know_passkeys().await?;
        stream.trust.note_start(terminal, version).await?;
        stream.review.reword_cards().await?;
        stream.hub.restore_outbox().await?;
        let recovered = stream.work.recover().await?;
        stream.tasks.finish_operations(Duration::ZERO).await;
        stream.work.settle_waiting(&recovered).await?;
        stream.review.settle_inputs().await?;
        stream.conversation.take_up_the_past(&recovered).await?;
        stream.conversation.start_consumer();
        stream.questions.offer_first_root().await?;
        stream.trust.tell_if_locked().await?;
        stream.trust.ask_for_new_house_rules().await?;
        Ok(stream)
    }

    /// Time passes. Called about once a second.
    pub async fn tick(&self) -> Result<(), Trouble> {
        self.tasks.finish_operations(tasks::OPERATION_REST).await;
        self.trust.checkpoint_if_due().await?;
        self.work.end_what_was_stopped_waiting().await?;
        self.review.expire_late().await
    }

    /// Forgets what is too old, until it is dropped.
    pub async fn keep_house(self: Arc<Self>) {
        self.house.keep_up().await;
    }

    /// How many messages and pieces of work are being dealt with. What waits for a card is not: it waits for somebody who may
    /// not come, and is found again after the next start.
    pub fn n_under_way(&self) -> usize {
        self.running.holds.len().saturating_sub(self.running.waiting.len() + self.minds.n_at_a_cap())
    }

    /// Waits until nothing is under way any more, for so long at most. False if something still is.
    async fn drain(&self, grace: Duration) -> bool {
        let until = Instant::now() + grace;
        while self.n_under_way() > 0 {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        true
    }

    /// Takes in nothing new, lets what is under way finish for as long as `grace` at most, ends the rest, and writes down the
    /// stop. Cards wait as they are, and what was ended is taken up again at the next start. Meanwhile what only takes away is
    /// still heard, and who looks still sees.
    pub async fn stop(&self, grace: Duration) -> Result<(), Trouble> {
        self.house.leave();
        self.conversation.stop_consumer().await;
        if !self.drain(grace).await {
            tracing::warn!(
                n = self.n_under_way(),
                "the time for finishing is over; the next start begins the rest again, or asks about it"
            );
        }
        self.conversation.stop_thinking().await;
        self.running.stop_work(None, Stop::Leaving);
        // What was told to leave needs a moment to let go of its copy.
        self.drain(LETTING_GO).await;
        self.house.finish_writing().await;
        let noting = self.house.store.write(|tx| {
            tx.record(&AuditEvent::StreamStopped {})?;
            Ok(Commit(()))
        });
        noting.await?;
        self.trust.checkpoint().await
    }
}
