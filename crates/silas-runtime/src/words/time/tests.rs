//! Which parts of a time are said.

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Nine hours ahead, all year.
fn tokyo(at: Timestamp) -> OnTheWall {
    OnTheWall { is_utc: false, ..utc(at.plus(Duration::from_secs(9 * 3600))) }
}

#[test]
fn the_day_and_the_zone_are_said_where_they_are_not_known() {
    let (evening, morning) = (at("2026-11-15T20:10:42.000000Z"), at("2026-11-16T04:10:07.000000Z"));
    let (there, nowhere) = (Words::new(None).by_the_clock(tokyo), Words::new(None));
    assert_eq!(nowhere.span(evening, morning), "20:10 to 04:10 UTC");
    assert_eq!(there.span(evening, morning), "05:10 to 13:10");
    let week = at("2026-11-22T20:10:42.000000Z");
    assert_eq!(there.span(evening, week), "2026-11-16 05:10 to 2026-11-23 05:10");
    assert_eq!(there.time(evening, morning), "05:10");
    assert_eq!(there.time(evening, week), "2026-11-16 05:10");
    assert_eq!(
        (there.moment(evening), nowhere.moment(evening)),
        ("2026-11-16 05:10".into(), "2026-11-15 20:10 UTC".into())
    );
}
