//! What follows once the sample project was mended: one of the owner's own.

use crate::hub::Posted;
use crate::work::Work;
use crate::work_record::WorkRecord;
use silas_core::execution::ExecutionState;
use silas_core::reflex::{self, Decision};
use silas_core::taint::Source;
use silas_core::{ExecutionId, Tainted};
use silas_store::{Tx, executions};

/// Said when the sample was put back or put away. It ends with a sentence that the page can put into the composer.
const NEXT: &str = "That was the whole road: a private copy, checks before and after, your yes, and the way back. Now one of \
                    your own: run COMMAND in ~/DIRECTORY and check with COMMAND";

/// What follows when work that this was asked for has come to its end.
pub(crate) fn next_after(asked: &str) -> Option<&'static str> {
    (reflex::decide(asked) == Decision::TrySample).then_some(NEXT)
}

impl Work {
    /// Whoever keeps the mended sample, instead of taking it back, is told what follows as well. `subject` is what the card of
    /// the result was about.
    pub(crate) fn offer_next(&self, tx: &mut Tx<'_>, subject: &str) -> Result<Option<Posted>, silas_store::Error> {
        let Ok(execution) = ExecutionId::parse(subject) else { return Ok(None) };
        let Some(run) = executions::get(tx, &execution)?.filter(|run| run.state == ExecutionState::Applied) else {
            return Ok(None);
        };
        let record = run.result.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok());
        match record.and_then(|record| next_after(record.asked().unwrap_or_default())) {
            Some(next) => self.hub.tell_in(tx, &Tainted::new(next.to_owned(), Source::Own.taint())).map(Some),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
