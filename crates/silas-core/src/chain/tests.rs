//! What follows and what does not.

use super::*;
use std::time::Duration;

fn at(secs: u64) -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(secs))
}

fn link(seq: u64, secs: u64, prev: Digest) -> Link {
    let body = format!(r#"{{"event":"stream_started","version":"{seq}"}}"#);
    let hash = hash(seq, at(secs), &body, &prev).unwrap();
    Link { seq, at: at(secs), event: "stream_started".to_owned(), body, prev, hash }
}

fn three() -> Vec<Link> {
    let mut links = vec![link(1, 10, first_prev())];
    for seq in 2..=3 {
        links.push(link(seq, 10 * seq, links[links.len() - 1].hash));
    }
    links
}

/// Reads the links and says where it stops.
fn read(mut chain: Chain, links: &[Link]) -> Result<u64, Broken> {
    links.iter().try_for_each(|link| chain.extend(link).map(drop))?;
    Ok(chain.entries())
}

#[test]
fn what_was_written_follows() {
    let links = three();
    assert_eq!(read(Chain::start(), &links), Ok(3));
    let known = Head { seq: 1, hash: links[0].hash };
    assert_eq!(read(Chain::after(known, Timestamp::EPOCH), &links[1..]), Ok(3));
}

#[test]
fn a_head_that_was_seen_is_not_extended_by_another_history() {
    let links = three();
    let other = Head { seq: 1, hash: Digest::of(b"seen elsewhere") };
    assert_eq!(
        read(Chain::after(other, Timestamp::EPOCH), &links[1..]),
        Err(Broken { seq: 2, reason: Reason::Unbound })
    );
}

#[test]
fn every_way_to_be_wrong_has_its_reason() {
    type Change = fn(&mut Vec<Link>);
    let cases: [(Change, u64, Reason); 8] = [
        (|links| drop(links.remove(1)), 2, Reason::Missing),
        (|links| links[1].seq = 1, 2, Reason::Unreadable),
        (|links| links.swap(0, 1), 1, Reason::Missing),
        (|links| links[1].prev = Digest::of(b"x"), 2, Reason::Unbound),
        (|links| links[1].body.push(' '), 2, Reason::Altered),
        (|links| links[1].hash = Digest::of(b"x"), 2, Reason::Altered),
        (|links| links[1].event = "stream_stopped".to_owned(), 2, Reason::Misnamed),
        (|links| links[2] = link(3, 1, links[1].hash), 3, Reason::BackInTime),
    ];
    for (n, (change, seq, reason)) in cases.into_iter().enumerate() {
        let mut links = three();
        change(&mut links);
        assert_eq!(read(Chain::start(), &links), Err(Broken { seq, reason }), "case {n}");
    }
}
