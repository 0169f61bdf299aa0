//! Each rung of the ladder, each way to answer.

use super::*;

#[test]
fn a_hand_does_what_the_risk_asks_for() {
    use DeviceKind::{Browser, Passkey, Terminal};
    use Risk::{High, Irreversible, Low, Medium};
    use Verdict::{Approved, Declined, EditRequested};
    let check = |verdict, risk, by, expect: &str| {
        assert_eq!(Moves::of(Kind::Plan, verdict, risk, Some(by)).in_words(), expect, "{verdict:?} {risk:?} {by:?}");
    };
    check(Approved, Some(Low), Browser, "1 tap");
    check(Approved, Some(Medium), Browser, "2 taps");
    check(Approved, Some(High), Browser, "1 tap, 1 slide");
    check(Approved, Some(Irreversible), Passkey, "1 tap, 1 slide, 1 passkey");
    check(Approved, Some(Irreversible), Browser, "2 taps, 1 slide");
    check(Approved, Some(High), Passkey, "1 tap, 1 slide, 1 passkey");
    check(Approved, None, Browser, "1 tap");
    check(EditRequested, Some(Medium), Browser, "2 taps");
    check(EditRequested, None, Browser, "1 tap");
    for risk in [Some(Low), Some(Medium), Some(High), Some(Irreversible), None] {
        check(Declined, risk, Browser, "1 tap");
        check(Approved, risk, Terminal, "1 command");
    }
    assert_eq!(Moves::of(Kind::Model, EditRequested, Some(Medium), Some(Browser)), TAP);
    // A device that nobody knows any more had a page.
    assert_eq!(Moves::of(Kind::Plan, Approved, Some(Medium), None), TWO_TAPS);
}

#[test]
fn what_was_done_is_added_up_and_named() {
    let mut moves = Moves::default();
    assert_eq!((moves.total(), moves.in_words().as_str()), (0, "nothing"));
    moves.add(TWO_TAPS);
    moves.add(Moves { slides: 1, passkeys: 1, ..TAP });
    assert_eq!((moves.total(), moves.in_words().as_str()), (5, "3 taps, 1 slide, 1 passkey"));
}
