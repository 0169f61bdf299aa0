//! Results that wait in their private copies for the owner's word: what the launcher knows of each, for a bounded time, in
//! bounded number and size. It is the launcher's own finding; what a card says is compared with it, never the other way.

use crate::clock;
use crate::error::Doing;
use crate::extent::Bounds;
use crate::ground::Ground;
use crate::memory::{self, Memory};
use crate::private_copy::CopyNote;
use crate::tree::Manifest;
use crate::{Error, durable, workspace};
use serde::{Deserialize, Serialize};
use silas_core::check::{CheckResult, Outcome};
use silas_core::execution::ExecutionState;
use silas_core::number::grouped;
use silas_core::rehearsal::WAITING_MAX;
use silas_core::testlog::TestLog;
use silas_core::{Digest, ExecutionId, Timestamp};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    pub(crate) changeset: Digest,
    /// What the owner is shown of it: see [`silas_core::rehearsal::Findings`].
    pub(crate) findings: Digest,
    pub(crate) before: Vec<CheckResult>,
    pub(crate) after: Vec<CheckResult>,
    pub(crate) tests_before: Vec<Option<TestLog>>,
    pub(crate) copies: Vec<CopyNote>,
    /// What the owner's directories were when the checks ran, where that is not what the copies were made of.
    pub(crate) base: Vec<Option<Manifest>>,
    /// How much of the disk the copies take.
    pub(crate) bytes: u64,
    pub(crate) until: Timestamp,
}

impl Waiting {
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::of(&self.before, &self.after)
    }

    pub(crate) fn load(memory: &Memory, execution: &ExecutionId) -> Result<Option<Self>, Error> {
        memory::read(&memory.waiting(execution))
    }

    /// Replaces what an earlier life of the same execution may have left.
    pub(crate) fn save(&self, memory: &Memory, execution: &ExecutionId) -> Result<(), Error> {
        let bytes = serde_json::to_vec(self).map_err(|e| Error::Damaged(e.to_string()))?;
        durable::replace(&memory.waiting(execution), &bytes).doing(|| "Noting what waits".to_owned())
    }
}

/// Whether one more result of this size may wait.
pub(crate) fn has_room(memory: &Memory, bytes: u64, bounds: Bounds) -> Result<(), Error> {
    let (mut n, mut total) = (0u32, bytes);
    for execution in memory.noted_as_waiting()? {
        if memory.record(&execution)?.is_some_and(|record| record.state == ExecutionState::Rehearsed) {
            n += 1;
            total = total.saturating_add(Waiting::load(memory, &execution)?.map_or(0, |waiting| waiting.bytes));
        }
    }
    if n >= WAITING_MAX {
        let problem = format!("{n} results wait for a decision already. Apply or discard some of them first.");
        return Err(Error::NotAvailable(problem));
    }
    if total > bounds.waiting_bytes_max {
        let mb = grouped(usize::try_from(bounds.waiting_bytes_max >> 20).unwrap_or(usize::MAX));
        return Err(Error::NotAvailable(format!(
            "The results that wait for a decision would take more than {mb} MB, the most that `sandbox.waiting_mb_max` \
             allows. Apply or discard some first, or raise it."
        )));
    }
    Ok(())
}

/// Throws a result away that waits. What does not wait stays as it is.
pub(crate) fn discard(ground: &Ground, execution: &ExecutionId) -> Result<(), Error> {
    let _lock = ground.memory.lock_soon(execution)?;
    if ground.memory.record(execution)?.is_none_or(|record| record.state != ExecutionState::Rehearsed) {
        return Ok(());
    }
    end(&ground.memory, execution)
}

/// Ends an execution whose result waited, and removes everything of it. Its lock must be held.
pub(crate) fn end(memory: &Memory, execution: &ExecutionId) -> Result<(), Error> {
    if let Some(mut record) = memory.record(execution)? {
        record.state = ExecutionState::Ended;
        (record.changeset, record.files) = (None, 0);
        memory.update(execution, &record)?;
    }
    workspace::remove(&memory.work(execution))?;
    forget(memory, execution)
}

pub(crate) fn forget(memory: &Memory, execution: &ExecutionId) -> Result<(), Error> {
    durable::remove(&memory.waiting(execution)).doing(|| "Forgetting what waited".to_owned())
}

/// Whether a result has waited long enough, or cannot be known any more.
pub(crate) fn is_over(memory: &Memory, execution: &ExecutionId) -> Result<bool, Error> {
    Ok(Waiting::load(memory, execution)?.is_none_or(|waiting| clock::now() >= waiting.until))
}
