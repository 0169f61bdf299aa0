//! Whether somebody decides too quickly to have read: the median of the last five decisions of medium or higher risk,
//! within eight hours, is under a second.
//!
//! The page remarks upon it by the same rule while it happens (`web/lib/pace.js`), and both are held against one table of
//! cases, `web/tests/pace.json`. The page times what was before somebody's eyes; here it is the time for which the ledger
//! says that a card could be answered. Nothing ever waits for it.

use silas_core::Timestamp;
use silas_core::card::Risk;
use std::collections::VecDeque;
use std::time::Duration;

/// So many decisions make a habit.
pub(super) const RECENT: usize = 5;
/// Less than this, and nobody has read the card.
pub(super) const QUICK: Duration = Duration::from_secs(1);
/// How somebody decided before a night's sleep says nothing of them now.
const AGE_MAX: Duration = Duration::from_secs(8 * 3600);

/// The last few, oldest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Pace {
    recent: VecDeque<(Duration, Timestamp)>,
    is_too_quick: bool,
}

impl Pace {
    /// A decision was taken. Says whether it is the one with which deciding became too quick: as long as it stays so, it
    /// is one time and not many. `took` is `None` where nobody knows since when it could be answered.
    pub(super) fn decided(&mut self, risk: Option<Risk>, took: Option<Duration>, at: Timestamp) -> bool {
        self.recent.retain(|(_, decided)| at.since(*decided) < AGE_MAX);
        if let (Some(Risk::Medium | Risk::High | Risk::Irreversible), Some(took)) = (risk, took) {
            self.recent.push_back((took, at));
        }
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        let was_too_quick = self.is_too_quick;
        let mut times: Vec<Duration> = self.recent.iter().map(|(took, _)| *took).collect();
        times.sort_unstable();
        self.is_too_quick = times.len() == RECENT && times[RECENT / 2] < QUICK;
        self.is_too_quick && !was_too_quick
    }
}

#[cfg(test)]
mod tests;
