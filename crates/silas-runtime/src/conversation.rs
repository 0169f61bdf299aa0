//! The conversation: what the owner says is taken in, made something of and answered; what waits in the queue is taken up.
//!
//! Deliberately absent: commands. What was approved is [`crate::work`]'s to carry out.

mod consumer;
mod dead_letters;
mod stopping;
mod turn;

pub use stopping::Ended;
pub use turn::Came;

use crate::house::{House, lock};
use crate::hub::Hub;
use crate::minds::Minds;
use crate::questions::Questions;
use crate::running::Running;
use crate::tasks::Tasks;
use crate::trust::Trust;
use crate::work::Work;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tracing::Instrument;

/// Answers what the owner says, one message of a scope after the other.
pub struct Conversation {
    house: Arc<House>,
    running: Arc<Running>,
    hub: Arc<Hub>,
    trust: Arc<Trust>,
    minds: Arc<Minds>,
    questions: Arc<Questions>,
    work: Arc<Work>,
    tasks: Arc<Tasks>,
    /// The consumer of the queue, from the start until the stop.
    consumer: Mutex<Option<JoinHandle<()>>>,
    /// Turns that wait for a model. Written by whoever begins one, ended at the stop; one at a time for each scope.
    thinking: Mutex<JoinSet<()>>,
    /// How many stops have not turned away what waited when they came; until they have, nothing of it is begun.
    n_turning_away: AtomicUsize,
    /// How often everything was stopped. Written by each stop before it does anything.
    n_stops: AtomicU64,
    /// Moves when the owner interrupts whatever a model is saying.
    interrupt: watch::Sender<u64>,
}

impl Conversation {
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a room below this one, and a struct of them would only be unpacked"
    )]
    pub(crate) fn new(
        house: Arc<House>,
        running: Arc<Running>,
        hub: Arc<Hub>,
        trust: Arc<Trust>,
        minds: Arc<Minds>,
        questions: Arc<Questions>,
        work: Arc<Work>,
        tasks: Arc<Tasks>,
    ) -> Self {
        Conversation {
            house,
            running,
            hub,
            trust,
            minds,
            questions,
            work,
            tasks,
            consumer: Mutex::default(),
            thinking: Mutex::default(),
            n_turning_away: AtomicUsize::new(0),
            n_stops: AtomicU64::new(0),
            interrupt: watch::Sender::new(0),
        }
    }

    /// From here on the queue is looked after, until Silas goes away.
    pub(crate) fn start_consumer(self: &Arc<Self>) {
        let consuming = self.clone().consume(self.house.stopping());
        *lock(&self.consumer) = Some(tokio::spawn(consuming.in_current_span()));
    }

    pub(crate) async fn stop_consumer(&self) {
        let consumer = lock(&self.consumer).take();
        if let Some(consumer) = consumer
            && let Err(cause) = consumer.await
        {
            tracing::error!(%cause, "the consumer of the queue ended unexpectedly");
        }
    }

    /// Asks a model in a task of its own, where no channel waits for it.
    pub(crate) fn think(&self, answering: impl Future<Output = ()> + Send + 'static) {
        let mut thinking = lock(&self.thinking);
        while let Some(ended) = thinking.try_join_next() {
            if let Err(cause) = ended {
                tracing::error!(%cause, "a turn ended unexpectedly; its message will be delivered again");
            }
        }
        thinking.spawn(answering.in_current_span());
    }

    /// Turns that are cut short by this are answered after the next start.
    pub(crate) async fn stop_thinking(&self) {
        let mut thinking = std::mem::take(&mut *lock(&self.thinking));
        thinking.shutdown().await;
    }

    /// Ends what a model is saying; what was said so far stays.
    pub fn interrupt(&self) {
        self.interrupt.send_modify(|n| *n += 1);
    }

    pub(crate) fn interrupts(&self) -> watch::Receiver<u64> {
        self.interrupt.subscribe()
    }
}
