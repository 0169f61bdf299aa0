//! The launcher's own clock: given to it when its process begins, the same for everything that it forks. The front's is not
//! asked, and nothing that comes over a socket or from the environment can set it.

use silas_core::{Clock, Timestamp};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Time as it really is.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads as 1970; every approval then looks dated in the future and is refused.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
        Timestamp::from_micros(i64::try_from(since).unwrap_or(i64::MAX))
    }
}

static CLOCK: OnceLock<Arc<dyn Clock>> = OnceLock::new();

/// In the first lines of the launcher's process. What was given first stays.
pub(crate) fn keep(clock: Arc<dyn Clock>) {
    let _kept_already = CLOCK.set(clock);
}

pub(crate) fn now() -> Timestamp {
    CLOCK.get().map_or_else(|| SystemClock.now(), |clock| clock.now())
}
