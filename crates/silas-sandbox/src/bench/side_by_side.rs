//! Several things at once, each in a process beside the workshop's own. Knows nothing about what they are.

use crate::errand::Errand;
use crate::error::Doing;
use crate::{Error, syscall};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// At once; each may use a whole machine for itself.
const SIDE_BY_SIDE_MAX: usize = 4;

/// Runs what does not depend on each other in processes beside this one, as many at once as there are processors.
/// but never more than `at_once`. `one` is told which it is, and a slot that no other has at the time.
pub(super) fn side_by_side<T: Serialize + DeserializeOwned>(
    n_all: usize,
    at_once: usize,
    one: impl Fn(usize, usize) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let n_slots = std::thread::available_parallelism().map_or(1, usize::from).min(SIDE_BY_SIDE_MAX).min(at_once);
    if n_all <= 1 || n_slots <= 1 {
        return (0..n_all).map(|n| one(n, 0)).collect();
    }
    let mut went: Vec<Option<Result<T, Error>>> = (0..n_all).map(|_| None).collect();
    let mut free: Vec<usize> = (0..n_slots).collect();
    let mut under_way: Vec<Errand<(usize, usize)>> = Vec::new();
    let mut next = 0;
    while next < n_all || !under_way.is_empty() {
        while let Some(slot) = free.pop_if(|_| next < n_all) {
            let n = next;
            next += 1;
            under_way.push(Errand::run_beside((n, slot), || one(n, slot))?);
        }
        let fds: Vec<_> = under_way.iter().map(|errand| (errand.fd(), libc::POLLIN)).collect();
        let events = syscall::poll(&fds, None).doing(|| "Waiting for checks".to_owned())?;
        // From the end, so that taking one out moves none that is still to be looked at.
        for (at, _) in events.iter().enumerate().rev().filter(|(_, event)| **event != 0) {
            if under_way[at].read_some() {
                let ((n, slot), answer) = under_way.swap_remove(at).end();
                let decoded = answer.and_then(|bytes| {
                    serde_json::from_slice(&bytes).map_err(|e| Error::Damaged(e.to_string())).and_then(|inner| inner)
                });
                went[n] = Some(decoded);
                free.push(slot);
            }
        }
    }
    went.into_iter().map(|one| one.unwrap_or(Err(Error::Lost))).collect()
}
