//! What tests of the store stand on: a clock that they set, and chance that is always the same.

use silas_core::{Clock, Random, Timestamp};
use std::sync::atomic::{AtomicI64, Ordering};

/// Shows what it was set to, in microseconds.
pub(crate) struct Watch(pub(crate) AtomicI64);

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct Zero;

impl Random for Zero {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}
