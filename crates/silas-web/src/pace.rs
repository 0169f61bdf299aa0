//! How often each device may ask, over however many sockets it holds, and whether or not it comes again; and how often all
//! devices may that come from one address.
//!
//! It does not count the terminal: whoever is there has the owner's account, and each of its lines has a pace of its own,
//! so that a script is not told to wait for what other commands have asked.

use crate::limiter::Limiter;
use silas_core::{KeyId, Timestamp};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Devices, and addresses, whose pace is kept. More that ask within the same minute than any owner has are sent away.
const KEPT_MAX: usize = 1024;

/// What is left of one minute's messages.
#[derive(Clone)]
struct Bucket(Arc<Mutex<Limiter>>);

impl Bucket {
    fn new(per_minute: u32, now: Timestamp) -> Self {
        Bucket(Arc::new(Mutex::new(Limiter::per_minute(per_minute, now))))
    }

    /// Nobody holds it, and whoever comes next would find it as new.
    fn is_idle(&self, now: Timestamp) -> bool {
        Arc::strong_count(&self.0) == 1 && held(&self.0).is_full(now)
    }
}

/// Everything that counts when one socket asks.
#[derive(Clone)]
pub(crate) struct Pace(Vec<Bucket>);

impl Pace {
    /// What one of them does not allow is not allowed; the others have counted it nevertheless.
    pub(crate) fn allows(&self, now: Timestamp) -> bool {
        self.0.iter().all(|bucket| held(&bucket.0).allows(now))
    }
}

/// One for each of something; only so many at a time.
struct Kept<K> {
    per_minute: u32,
    buckets: Mutex<BTreeMap<K, Bucket>>,
}

impl<K: Ord + Clone> Kept<K> {
    fn new(per_minute: u32) -> Self {
        Kept { per_minute, buckets: Mutex::default() }
    }

    fn of(&self, key: &K, now: Timestamp) -> Option<Bucket> {
        let mut buckets = held(&self.buckets);
        if let Some(bucket) = buckets.get(key) {
            return Some(bucket.clone());
        }
        if buckets.len() >= KEPT_MAX {
            buckets.retain(|_, bucket| !bucket.is_idle(now));
        }
        let new = || Bucket::new(self.per_minute, now);
        (buckets.len() < KEPT_MAX).then(|| buckets.entry(key.clone()).or_insert_with(new).clone())
    }
}

pub(crate) struct Paces {
    devices: Kept<KeyId>,
    addresses: Kept<IpAddr>,
}

impl Paces {
    pub(crate) fn new(per_device: u32, per_address: u32) -> Self {
        Paces { devices: Kept::new(per_device), addresses: Kept::new(per_address) }
    }

    /// That of a device, the same for all its sockets, at an address; none if there are too many devices or addresses.
    pub(crate) fn of_device(&self, key: &KeyId, from: IpAddr, now: Timestamp) -> Option<Pace> {
        Some(Pace(vec![self.devices.of(key, now)?, self.addresses.of(&from, now)?]))
    }

    /// That of one line of the terminal.
    pub(crate) fn of_line(&self, now: Timestamp) -> Pace {
        Pace(vec![Bucket::new(self.devices.per_minute, now)])
    }
}

/// A panic while this is held leaves numbers that are still whole.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
