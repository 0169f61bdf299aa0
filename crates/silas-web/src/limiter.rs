//! A limit on how often somebody may ask: a bucket that refills evenly.

use silas_core::Timestamp;

pub(crate) struct Limiter {
    per_minute: u32,
    /// Micro-messages that may still be sent; one message costs [`UNIT`].
    left: u64,
    at: Timestamp,
}

const UNIT: u64 = 60_000_000;

impl Limiter {
    pub(crate) fn per_minute(per_minute: u32, now: Timestamp) -> Self {
        Limiter { per_minute, left: u64::from(per_minute) * UNIT, at: now }
    }

    pub(crate) fn allows(&mut self, now: Timestamp) -> bool {
        self.refill(now);
        let allowed = self.left >= UNIT;
        if allowed {
            self.left -= UNIT;
        }
        allowed
    }

    /// Whether nothing of it is used up, so that a new one would be the same.
    pub(crate) fn is_full(&mut self, now: Timestamp) -> bool {
        self.refill(now);
        self.left == self.full()
    }

    fn full(&self) -> u64 {
        u64::from(self.per_minute) * UNIT
    }

    fn refill(&mut self, now: Timestamp) {
        let elapsed = u64::try_from(now.since(self.at).as_micros()).unwrap_or(u64::MAX);
        // A bucket gains `per_minute` messages, that is `per_minute * UNIT`, in 60 million microseconds.
        self.left = self.left.saturating_add(elapsed.saturating_mul(u64::from(self.per_minute))).min(self.full());
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_allows_its_number_and_refills_evenly() {
        let start = Timestamp::from_micros(1_000_000);
        let mut limiter = Limiter::per_minute(3, start);
        assert_eq!((0..5).filter(|_| limiter.allows(start)).count(), 3);
        let later = start.plus(std::time::Duration::from_secs(20));
        assert!(limiter.allows(later) && !limiter.allows(later));
        // A clock that goes back gives nothing away.
        assert!(!limiter.allows(start));
    }
}
