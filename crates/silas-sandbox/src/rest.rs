//! Time in which a piece of work waits for a provider or its owner, and which its plan's wall clock does not count.
//!
//! The front says when waiting begins and ends; how long it was, this process measures by its own clock. Whoever lies about it
//! gains a day for all of an execution and no more. Waiting goes on while nobody is there: it lies on disk.

use crate::error::Doing;
use crate::memory::{self, Memory};
use crate::{Error, clock, durable};
use serde::{Deserialize, Serialize};
use silas_core::execution::ExecutionState;
use silas_core::{ExecutionId, Timestamp};
use std::time::Duration;

/// For the whole of an execution.
pub const REST_MAX: Duration = Duration::from_secs(24 * 3600);

/// What one execution has waited.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    /// What is over, in microseconds.
    micros: u64,
    /// Since when it waits now.
    since: Option<Timestamp>,
}

impl Rest {
    fn total(self, now: Timestamp) -> Duration {
        let now = self.since.map_or(Duration::ZERO, |since| now.since(since));
        Duration::from_micros(self.micros).saturating_add(now).min(REST_MAX)
    }
}

/// From now on it waits. Twice is once.
pub(crate) fn begin(memory: &Memory, execution: &ExecutionId) -> Result<(), Error> {
    if memory.record(execution)?.is_none_or(|record| record.state != ExecutionState::Running) {
        return Err(Error::NotAvailable("This work is not under way.".to_owned()));
    }
    let rest = load(memory, execution)?;
    if rest.since.is_some() {
        return Ok(());
    }
    save(memory, execution, Rest { since: Some(clock::now()), ..rest })
}

/// It waits no longer. Gives everything that it has waited, in microseconds.
pub(crate) fn end(memory: &Memory, execution: &ExecutionId) -> Result<u64, Error> {
    let rest = load(memory, execution)?;
    let total = rest.total(clock::now());
    let micros = u64::try_from(total.as_micros()).unwrap_or(u64::MAX);
    if rest.since.is_some() {
        save(memory, execution, Rest { micros, since: None })?;
    }
    Ok(micros)
}

/// Everything that it has waited by now.
pub(crate) fn total(memory: &Memory, execution: &ExecutionId) -> Result<Duration, Error> {
    Ok(load(memory, execution)?.total(clock::now()))
}

fn load(memory: &Memory, execution: &ExecutionId) -> Result<Rest, Error> {
    Ok(memory::read(&memory.rest(execution))?.unwrap_or_default())
}

fn save(memory: &Memory, execution: &ExecutionId, rest: Rest) -> Result<(), Error> {
    let bytes = serde_json::to_vec(&rest).map_err(|e| Error::Damaged(e.to_string()))?;
    durable::replace(&memory.rest(execution), &bytes).doing(|| "Noting that work waits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_adds_up_to_a_day_and_no_further() {
        let at = |secs: i64| Timestamp::from_micros(secs * 1_000_000);
        let rest = Rest { micros: 5_000_000, since: None };
        assert_eq!(rest.total(at(1_000)), Duration::from_secs(5));
        let rest = Rest { since: Some(at(1_000)), ..rest };
        assert_eq!(rest.total(at(1_060)), Duration::from_secs(65));
        assert_eq!(rest.total(at(0)), Duration::from_secs(5), "a clock that was set back takes nothing away");
        assert_eq!(rest.total(at(10_000_000)), REST_MAX);
    }
}
