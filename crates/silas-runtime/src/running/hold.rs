//! The leases that tasks of this process hold right now. Who holds one is alive; the consumer prolongs the lease for it.
//!
//! A task that ends without a word, by a panic or because nobody waits for it any more, lets go here. Its lease then
//! runs out, and the message is delivered again.

use silas_store::queue::Lease;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A cheap handle on the list. Written by whoever takes or lets go of a lease, read by the consumer.
#[derive(Clone, Default)]
pub(crate) struct Holds(Arc<Mutex<BTreeSet<Lease>>>);

/// One message in the hands of one task.
pub(crate) struct Hold {
    lease: Lease,
    holds: Holds,
}

impl Holds {
    pub(crate) fn take(&self, lease: Lease) -> Hold {
        self.lock().insert(lease.clone());
        Hold { lease, holds: self.clone() }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn all(&self) -> Vec<Lease> {
        self.lock().iter().cloned().collect()
    }

    /// Nothing under this lock can panic halfway, so a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, BTreeSet<Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds.lock().remove(&self.lease);
    }
}
