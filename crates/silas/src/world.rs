//! Time and randomness as they really are.

use silas_core::Random;

pub(crate) use silas_sandbox::SystemClock;

pub(crate) struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        // Nonces and salts from a broken generator would be worse than stopping.
        if getrandom::fill(bytes).is_err() {
            std::process::abort();
        }
    }
}
