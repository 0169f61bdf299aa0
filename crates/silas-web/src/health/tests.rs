//! When something counts as filling and as full, and what anybody is told of it.

use super::*;

#[test]
fn half_is_filling_and_the_limit_is_full() {
    let level = |n, max| Level::of(Waiting { n, max });
    let levels: Vec<Level> = [0, 127, 128, 255, 256, 300].map(|n| level(n, 256)).to_vec();
    assert_eq!(levels, [Level::Free, Level::Free, Level::Filling, Level::Filling, Level::Full, Level::Full]);
    assert_eq!([level(0, 1), level(1, 1)], [Level::Free, Level::Full]);
    // Where nothing may wait, nobody can be taken.
    assert_eq!(level(0, 0), Level::Full);
}

#[test]
fn one_full_thing_is_an_overload_and_nothing_is_counted_out() {
    let easy = Backpressure { turns: Level::Free, writes: Level::Filling, reads: Level::Free, sockets: Level::Filling };
    assert_eq!(easy.status(), Status::Ok);
    for full in [
        Backpressure { turns: Level::Full, ..easy },
        Backpressure { writes: Level::Full, ..easy },
        Backpressure { reads: Level::Full, ..easy },
        Backpressure { sockets: Level::Full, ..easy },
    ] {
        assert_eq!(full.status(), Status::Overloaded);
    }
    let said = serde_json::to_string(&Health { status: easy.status(), connections: 2, backpressure: easy }).unwrap();
    assert_eq!(
        said,
        r#"{"status":"ok","connections":2,"backpressure":{"turns":"free","writes":"filling","reads":"free","sockets":"filling"}}"#
    );
}

#[test]
fn a_look_serves_everybody_for_a_moment() {
    let pulse = Pulse::default();
    assert_eq!(pulse.recent(), None);
    assert_eq!(pulse.note(Level::Filling), Level::Filling);
    *pulse.0.lock().unwrap() = Some((Instant::now() + LOOK_SERVES, Level::Filling));
    assert_eq!(pulse.recent(), Some(Level::Filling));
    let Some(long_ago) = Instant::now().checked_sub(LOOK_SERVES) else { return };
    *pulse.0.lock().unwrap() = Some((long_ago, Level::Full));
    assert_eq!(pulse.recent(), None);
}
