//! A request is good once, for a while, and not too often.

use super::*;
use silas_core::Random;

/// Counts, so that no two are the same.
struct Counting(std::sync::atomic::AtomicU8);

impl Random for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    }
}

#[test]
fn a_request_is_good_once_and_so_many_in_a_minute() {
    let callers = Callers::new(Duration::from_secs(300), 3, Timestamp::from_micros(999_000_000));
    let random = Counting(std::sync::atomic::AtomicU8::new(0));
    let now = Timestamp::from_micros(1_000_000_000);
    let key = KeyId::of(&[7; 32]);
    let once = Nonce::new(&random);
    assert_eq!(callers.admit(&key, once.clone(), now, now), Ok(()));
    assert_eq!(callers.admit(&key, once, now, now), Err(NotAnswered::Unknown));
    assert_eq!(callers.admit(&key, Nonce::new(&random), now, now), Ok(()));
    assert_eq!(callers.admit(&key, Nonce::new(&random), now, now), Ok(()));
    assert_eq!(callers.admit(&key, Nonce::new(&random), now, now), Err(NotAnswered::TooOften));
    // Another device is not the worse for it.
    assert_eq!(callers.admit(&KeyId::of(&[8; 32]), Nonce::new(&random), now, now), Ok(()));
}

#[test]
fn what_is_old_or_from_the_future_is_not_fresh() {
    let callers = Callers::new(Duration::from_secs(300), 3, Timestamp::from_micros(999_000_000));
    let now = Timestamp::from_micros(1_000_000_000);
    let after = |secs| now.plus(Duration::from_secs(secs));
    assert!(callers.is_fresh(now, after(300)) && callers.is_fresh(after(300), now));
    assert!(!callers.is_fresh(now, after(301)) && !callers.is_fresh(after(301), now));
}

#[test]
fn what_is_dated_before_the_start_may_have_been_answered_then() {
    let start = Timestamp::from_micros(1_000_000_000);
    let callers = Callers::new(Duration::from_secs(300), 3, start);
    let random = Counting(std::sync::atomic::AtomicU8::new(0));
    let (key, now) = (KeyId::of(&[7; 32]), start.plus(Duration::from_secs(10)));
    let before = Timestamp::from_micros(start.micros() - 1);
    assert!(callers.is_fresh(before, now));
    assert_eq!(callers.admit(&key, Nonce::new(&random), before, now), Err(NotAnswered::BeforeStart));
    assert_eq!(callers.admit(&key, Nonce::new(&random), start, now), Ok(()));
}
