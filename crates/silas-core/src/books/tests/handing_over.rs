//! A ledger whose root key was handed over: it begins with the first key, tells of each hand-over, and ends with the last.

use super::*;
use crate::handover::{Handover, HandoverBody};

/// From key 7 to key 1, which vouches for everything in the story.
fn handovers() -> Handovers {
    let body = HandoverBody {
        v: HandoverBody::VERSION,
        installation: installation(),
        number: 1,
        from: public(&secret(7)),
        to: public(&secret(1)),
        revocations: 0,
        at: at(105),
    };
    let message = body.message().unwrap();
    let handover = Handover { signature: sign(&secret(7), &message), accepted: sign(&secret(1), &message), body };
    Handovers::checked(vec![handover], &public(&secret(1)), &installation()).unwrap()
}

fn told(number: u64, from: u8, to: u8) -> Page {
    let (from, to) = (public(&secret(from)).id(), public(&secret(to)).id());
    page(312, AuditEvent::RootHandedOver { number, from, to })
}

fn read_after(handovers: Handovers, first: u8, last: Option<Page>) -> Result<Summary, Fault> {
    let mut books = Books::open(public(&secret(1)), installation()).after(handovers);
    let mut pages = story();
    let root = public(&secret(first)).id();
    pages[0].event = AuditEvent::InstallationCreated { installation: installation(), root };
    pages.extend(last);
    for (n, page) in pages.iter().enumerate() {
        books.enter(n as u64 + 1, page.at, Some(&page.event), page.beside.as_ref())?;
    }
    books.close(pages.len() as u64)
}

#[test]
fn every_hand_over_is_told_and_none_is_made_up() {
    let end = story().len() as u64 + 1;
    let fault = |seq, reason| Err(Fault { seq, reason });
    assert!(read_after(handovers(), 7, Some(told(1, 7, 1))).is_ok());
    assert_eq!(read_after(handovers(), 1, Some(told(1, 7, 1))), fault(1, Reason::OtherInstallation));
    assert_eq!(read_after(handovers(), 7, None), fault(end - 1, Reason::HandoverUntold { told: 0, signed: 1 }));
    for other in [told(2, 7, 1), told(1, 1, 7), told(1, 7, 9), told(1, 9, 1)] {
        assert_eq!(read_after(handovers(), 7, Some(other)), fault(end, Reason::Handover));
    }
    assert_eq!(read_after(Handovers::default(), 1, Some(told(1, 7, 1))), fault(end, Reason::Handover));
    assert_eq!(read_after(Handovers::default(), 7, None), fault(1, Reason::OtherInstallation));
}
