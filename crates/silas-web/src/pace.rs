//! How often each device may ask, over however many sockets it holds, and whether or not it comes again.
//!
//! It does not count the terminal: whoever is there has the owner's account, and each of its lines has a pace of its own,
//! so that a script is not told to wait for what other commands have asked. It does not count by address either: behind
//! one may be all of the owner's devices, and whoever has not shown which device it is cannot ask anything.

use crate::limiter::Limiter;
use silas_core::{KeyId, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Devices whose pace is kept. More that ask within the same minute than any owner has are sent away.
const DEVICES_MAX: usize = 1024;

/// What is left of one minute's messages.
#[derive(Clone)]
pub(crate) struct Pace(Arc<Mutex<Limiter>>);

impl Pace {
    pub(crate) fn new(per_minute: u32, now: Timestamp) -> Self {
        Pace(Arc::new(Mutex::new(Limiter::per_minute(per_minute, now))))
    }

    pub(crate) fn allows(&self, now: Timestamp) -> bool {
        held(&self.0).allows(now)
    }

    /// Nobody holds it, and whoever comes next would find it as new.
    fn is_idle(&self, now: Timestamp) -> bool {
        Arc::strong_count(&self.0) == 1 && held(&self.0).is_full(now)
    }
}

pub(crate) struct Paces {
    per_minute: u32,
    devices: Mutex<BTreeMap<KeyId, Pace>>,
}

impl Paces {
    pub(crate) fn new(per_minute: u32) -> Self {
        Paces { per_minute, devices: Mutex::default() }
    }

    /// That of a device, the same for all its sockets; none if there are too many devices.
    pub(crate) fn of_device(&self, key: &KeyId, now: Timestamp) -> Option<Pace> {
        let mut devices = held(&self.devices);
        if let Some(pace) = devices.get(key) {
            return Some(pace.clone());
        }
        if devices.len() >= DEVICES_MAX {
            devices.retain(|_, pace| !pace.is_idle(now));
        }
        (devices.len() < DEVICES_MAX).then(|| devices.entry(key.clone()).or_insert(self.of_line(now)).clone())
    }

    /// That of one line of the terminal.
    pub(crate) fn of_line(&self, now: Timestamp) -> Pace {
        Pace::new(self.per_minute, now)
    }
}

/// A panic while this is held leaves numbers that are still whole.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
