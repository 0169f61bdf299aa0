//! Summer, winter, and the night in which two o'clock comes twice.

use super::{shown, spelled};
use jiff::tz::TimeZone;
use silas_core::Timestamp;

#[track_caller]
fn check(utc: &str, expect: &str) {
    // Vienna, as POSIX writes it: no data base of zones is needed here.
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    assert_eq!(spelled(Timestamp::parse(utc).unwrap(), "%Y-%m-%d %H:%M", &zone), expect);
}

#[test]
fn times_of_the_wall() {
    check("2026-01-15T10:00:00.000000Z", "2026-01-15 11:00");
    check("2026-07-15T22:30:00.000000Z", "2026-07-16 00:30");
    check("2026-10-25T00:30:00.000000Z", "2026-10-25 02:30 +02:00");
    check("2026-10-25T01:30:00.000000Z", "2026-10-25 02:30 +01:00");
    check("2026-10-25T02:30:00.000000Z", "2026-10-25 03:30");
}

#[test]
fn a_wall_that_shows_utc_is_named() {
    let at = Timestamp::parse("2026-01-15T23:30:00.000000Z").unwrap();
    let in_zone = |posix: &str| {
        let on_the_wall = shown(at, &TimeZone::posix(posix).unwrap());
        (on_the_wall.day, on_the_wall.time, on_the_wall.is_utc)
    };
    let expect = |day: &str, time: &str, is_utc| (day.to_owned(), time.to_owned(), is_utc);
    assert_eq!(in_zone("CET-1CEST,M3.5.0,M10.5.0/3"), expect("2026-01-16", "00:30", false));
    assert_eq!(in_zone("GMT0BST,M3.5.0/1,M10.5.0"), expect("2026-01-15", "23:30", false));
    assert_eq!(in_zone("UTC0"), expect("2026-01-15", "23:30", true));
    assert!(shown(at, &TimeZone::UTC).is_utc && shown(at, &TimeZone::unknown()).is_utc);
}
