//! What is looked at for an answer that is being made: shown to everybody who looks, step by step, until the answer is there.
//! What was looked at afterwards is for the ledger to say.

use crate::house::lock;
use crate::view::{LookView, Published, Update};
use silas_core::{MessageId, Timestamp};
use std::sync::{Arc, Mutex};
use tokio::sync::broadcast;

/// Steps that are shown of one message; the oldest go first.
const STEPS_MAX: usize = 30;

/// A cheap handle on the steps. Written by the runs that look, read by doors; as many as messages are being answered.
#[derive(Clone)]
pub(crate) struct Looks {
    steps: Arc<Mutex<Vec<LookView>>>,
    updates: broadcast::Sender<Arc<Published>>,
}

/// One message that is being answered. Dropping it takes its steps away: answered, handed on, failed or stopped.
pub(crate) struct Looking {
    message: MessageId,
    all: Looks,
}

impl Looks {
    pub(crate) fn new(updates: broadcast::Sender<Arc<Published>>) -> Self {
        Looks { steps: Arc::default(), updates }
    }

    pub(crate) fn begin(&self, message: &MessageId) -> Looking {
        Looking { message: message.clone(), all: self.clone() }
    }

    pub(crate) fn add(&self, message: &MessageId, text: String, at: Timestamp) {
        let mut steps = lock(&self.steps);
        steps.push(LookView { message: message.clone(), text, at });
        let is_of_it = |step: &LookView| step.message == *message;
        if steps.iter().filter(|step| is_of_it(step)).count() > STEPS_MAX
            && let Some(oldest) = steps.iter().position(is_of_it)
        {
            steps.remove(oldest);
        }
        self.tell(&steps);
    }

    /// Oldest first.
    pub(crate) fn list(&self) -> Vec<LookView> {
        lock(&self.steps).clone()
    }

    /// Under the lock, so that of two lists the one that is told last is the one that holds.
    fn tell(&self, steps: &[LookView]) {
        let looking = steps.to_vec();
        let _nobody_listens = self.updates.send(Arc::new(Published::new(Update::Looking { looking })));
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        let mut steps = lock(&self.all.steps);
        let n_before = steps.len();
        steps.retain(|step| step.message != self.message);
        if steps.len() < n_before {
            self.all.tell(&steps);
        }
    }
}
