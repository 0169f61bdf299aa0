//! Calls that wait for the owner: the run that wants one waits here until its card is answered. Nobody's silence is a yes.

use crate::house::lock;
use silas_approval::Approved;
use silas_core::call_order::CallOrder;
use silas_core::{CardId, ExecutionId};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// An answer: the witness of the spent decision, or nothing.
pub(crate) type Answer = Option<Box<Approved<CallOrder>>>;

/// Who waits for which card. Written by runs, emptied by answers; bounded by the work that is under way.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<BTreeMap<CardId, (ExecutionId, oneshot::Sender<Answer>)>>);

impl Waiting {
    pub(crate) fn wait(&self, card: &CardId, execution: &ExecutionId) -> oneshot::Receiver<Answer> {
        let (tell, answer) = oneshot::channel();
        self.lock().insert(card.clone(), (execution.clone(), tell));
        answer
    }

    /// Wakes whoever waits for this card. Nobody may: then there is nothing to do.
    pub(crate) fn answer(&self, card: &CardId, answer: Answer) {
        if let Some((_, tell)) = self.lock().remove(card) {
            // A run that was stopped does not listen any more.
            let _ = tell.send(answer);
        }
    }

    /// Whether an answer to this card would be heard.
    pub(crate) fn is_waiting(&self, card: &CardId) -> bool {
        self.lock().get(card).is_some_and(|(_, tell)| !tell.is_closed())
    }

    /// How many runs wait for an answer.
    pub(crate) fn len(&self) -> usize {
        self.lock().values().filter(|(_, tell)| !tell.is_closed()).count()
    }

    /// The run is stopped: what it waits for is not wanted any more.
    pub(crate) fn leave(&self, execution: &ExecutionId) {
        self.lock().retain(|_, (whose, _)| whose != execution);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CardId, (ExecutionId, oneshot::Sender<Answer>)>> {
        lock(&self.0)
    }
}
