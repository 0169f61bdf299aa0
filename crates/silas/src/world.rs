//! Time and randomness as they really are.

use silas_core::{Clock, Random, Timestamp};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads as 1970; every approval then looks dated in the future and is refused.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros());
        Timestamp::from_micros(i64::try_from(since).unwrap_or(i64::MAX))
    }
}

pub(crate) struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        // Nonces and salts from a broken generator would be worse than stopping.
        if getrandom::fill(bytes).is_err() {
            std::process::abort();
        }
    }
}
