//! Times as the owner's clock on the wall shows them: the system's zone, and the offset where an hour comes twice.
//!
//! For people only. What programs read stays UTC, in the one spelling of `silas_core::Timestamp`.

use crate::world::SystemClock;
use jiff::tz::TimeZone;
use silas_core::{Clock, Timestamp};
use silas_runtime::OnTheWall;

/// "2026-11-16 10:07".
pub(crate) fn minute(at: Timestamp) -> String {
    spelled(at, "%Y-%m-%d %H:%M", &TimeZone::system())
}

/// "10:07", for what is near.
pub(crate) fn hour(at: Timestamp) -> String {
    spelled(at, "%H:%M", &TimeZone::system())
}

/// "2026-11-16 10:07:42".
pub(crate) fn second(at: Timestamp) -> String {
    spelled(at, "%Y-%m-%d %H:%M:%S", &TimeZone::system())
}

/// The day, or within two days the minute.
pub(crate) fn day(at: Timestamp) -> String {
    let now = SystemClock.now();
    let is_near = at.since(now).max(now.since(at)).as_secs() < 2 * 24 * 3600;
    spelled(at, if is_near { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d" }, &TimeZone::system())
}

/// A time as it came over the wire; what is none is shown as it is.
pub(crate) fn of_wire(text: &str, spell: fn(Timestamp) -> String) -> String {
    Timestamp::parse(text).map_or_else(|_| text.to_owned(), spell)
}

/// For the sentences of the Stream, which the server makes on the owner's machine.
pub(crate) fn on_the_wall(at: Timestamp) -> OnTheWall {
    shown(at, &TimeZone::system())
}

fn shown(at: Timestamp, zone: &TimeZone) -> OnTheWall {
    // By its name: winter in London has the same offset, and its clocks show London's time. What is unknown counts as UTC.
    let is_named = |at| zone.to_offset_info(at).abbreviation() == "UTC";
    let is_utc = zone.is_unknown() || jiff::Timestamp::from_microsecond(at.micros()).is_ok_and(is_named);
    OnTheWall { day: spelled(at, "%Y-%m-%d", zone), time: spelled(at, "%H:%M", zone), is_utc }
}

fn spelled(at: Timestamp, format: &str, zone: &TimeZone) -> String {
    let Ok(instant) = jiff::Timestamp::from_microsecond(at.micros()) else { return at.to_string() };
    let local = instant.to_zoned(zone.clone());
    let comes_twice = zone.to_ambiguous_timestamp(local.datetime()).is_ambiguous() && format.contains("%H");
    let text = local.strftime(format);
    if comes_twice { format!("{text} {}", local.strftime("%:z")) } else { text.to_string() }
}

#[cfg(test)]
mod tests;
