//! Times in sentences, as the clock on the owner's wall shows them.
//!
//! Which zone that is, is told from outside: this room reads neither the environment nor the machine's settings. Whoever
//! was told nothing says UTC, and that it is that.

use super::Words;
use silas_core::Timestamp;
use std::time::Duration;

/// Within this, hours and minutes say which instant is meant.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// What a clock on the wall shows at some instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnTheWall {
    /// "2026-11-16".
    pub day: String,
    /// "10:07", with its offset in an hour that comes twice.
    pub time: String,
    /// Whether the clock shows UTC. Few people live by that, so it is said; everybody else knows their own zone.
    pub is_utc: bool,
}

/// Where times become words.
pub type WallClock = fn(Timestamp) -> OnTheWall;

/// For whoever was not told the owner's zone.
pub(super) fn utc(at: Timestamp) -> OnTheWall {
    let text = at.to_string();
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().to_owned();
    OnTheWall { day: part(0..10), time: part(11..16), is_utc: true }
}

impl Words {
    /// "20:10 to 04:10", with the days where it is longer than one.
    pub(crate) fn span(&self, from: Timestamp, to: Timestamp) -> String {
        let (first, last) = ((self.wall)(from), (self.wall)(to));
        let zone = if last.is_utc { " UTC" } else { "" };
        if to.since(from) < A_DAY {
            format!("{} to {}{zone}", first.time, last.time)
        } else {
            format!("{} {} to {} {}{zone}", first.day, first.time, last.day, last.time)
        }
    }

    /// "2026-11-16 04:10", whenever it was.
    pub(crate) fn moment(&self, at: Timestamp) -> String {
        let OnTheWall { day, time, is_utc } = (self.wall)(at);
        format!("{day} {time}{}", if is_utc { " UTC" } else { "" })
    }

    /// "04:10", with the day where that could be another one's.
    pub(crate) fn time(&self, at: Timestamp, now: Timestamp) -> String {
        let OnTheWall { day, time, .. } = (self.wall)(at);
        if now.since(at) < A_DAY { time } else { format!("{day} {time}") }
    }
}

/// The day in UTC.
pub(crate) fn date(now: silas_core::Timestamp) -> String {
    now.to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests;
