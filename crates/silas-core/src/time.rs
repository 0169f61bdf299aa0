//! Instants: UTC microseconds inside, `2026-11-15T20:42:25.000000Z` on the wire.
//!
//! There is exactly one spelling of an instant. A signature covers the string that was signed, so a second spelling
//! would be a second document; parsing refuses it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Where "now" comes from. The product reads the system's clock, tests hold their own.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// Microseconds since 1970, UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(i64);

const MICROS_PER_SEC: i64 = 1_000_000;
const SECS_PER_DAY: i64 = 86_400;
/// 9999-12-31T23:59:59.999999Z; four digits of a year are part of the one spelling.
const LAST: i64 = 253_402_300_799_999_999;

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a time of the form 2026-11-15T20:42:25.000000Z")]
pub struct BadTime(String);

impl Timestamp {
    pub const EPOCH: Timestamp = Timestamp(0);

    /// Clamped to the years 1970 to 9999, which is all that the wire form can say.
    pub fn from_micros(micros: i64) -> Self {
        Timestamp(micros.clamp(0, LAST))
    }

    pub fn micros(self) -> i64 {
        self.0
    }

    pub fn plus(self, span: Duration) -> Self {
        let micros = i64::try_from(span.as_micros()).unwrap_or(LAST);
        Timestamp::from_micros(self.0.saturating_add(micros))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    pub fn parse(text: &str) -> Result<Self, BadTime> {
        let bad = || BadTime(text.chars().take(40).collect());
        let bytes = text.as_bytes();
        let shape = b"dddd-dd-ddTdd:dd:dd.ddddddZ";
        let fits = bytes.len() == shape.len()
            && bytes.iter().zip(shape).all(|(b, s)| if *s == b'd' { b.is_ascii_digit() } else { b == s });
        if !fits {
            return Err(bad());
        }
        let number = |from: usize, to: usize| bytes[from..to].iter().fold(0i64, |n, b| n * 10 + i64::from(b - b'0'));
        let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
        let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
        if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
            return Err(bad());
        }
        let days = days_from_civil(year, month, day);
        if civil_from_days(days) != (year, month, day) {
            return Err(bad());
        }
        let secs = days * SECS_PER_DAY + hour * 3600 + minute * 60 + second;
        let micros = secs * MICROS_PER_SEC + number(20, 26);
        if micros < 0 { Err(bad()) } else { Ok(Timestamp(micros)) }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.0.div_euclid(MICROS_PER_SEC);
        let (year, month, day) = civil_from_days(secs.div_euclid(SECS_PER_DAY));
        let rest = secs.rem_euclid(SECS_PER_DAY);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        let micros = self.0.rem_euclid(MICROS_PER_SEC);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> String {
        at.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = BadTime;
    fn try_from(text: String) -> Result<Self, BadTime> {
        Timestamp::parse(&text)
    }
}

/// Days since 1970-01-01 of a proleptic Gregorian date; the year starts in March so that leap days come last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests;
