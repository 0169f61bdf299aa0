//! What the doors have turned away since the start, by reason, for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why somebody was turned away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turned {
    /// The request was for another host.
    Host,
    /// It came from another page.
    Origin,
    /// It did not show who asks.
    Auth,
    /// All places were taken.
    Places,
    /// Too many in a minute.
    Rate,
    /// It could not be read.
    Unreadable,
    /// Encryption was not agreed on.
    Handshake,
    /// A browser was not paired: a wrong code, one that was void, or another refusal.
    Pairing,
    /// Another user of this machine wanted to pair.
    OtherUser,
    /// A service worker that is not ours asked for its script.
    Worker,
}

impl Turned {
    pub(crate) const ALL: [Turned; 10] = [
        Turned::Host,
        Turned::Origin,
        Turned::Auth,
        Turned::Places,
        Turned::Rate,
        Turned::Unreadable,
        Turned::Handshake,
        Turned::Pairing,
        Turned::OtherUser,
        Turned::Worker,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Turned::Host => "host",
            Turned::Origin => "origin",
            Turned::Auth => "auth",
            Turned::Places => "places",
            Turned::Rate => "rate",
            Turned::Unreadable => "unreadable",
            Turned::Handshake => "handshake",
            Turned::Pairing => "pairing",
            Turned::OtherUser => "other_user",
            Turned::Worker => "worker",
        }
    }
}

/// Lines of the log for one reason, from one start to the next; the numbers go on.
const LINES_MAX: u64 = 100;

#[derive(Debug, Default)]
pub(crate) struct Tallies([AtomicU64; Turned::ALL.len()]);

impl Tallies {
    pub(crate) fn count(&self, why: Turned) {
        self.0[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts it, and says whether the log should tell: whoever is turned away writes no log as long as they like.
    pub(crate) fn count_aloud(&self, why: Turned) -> bool {
        self.0[why as usize].fetch_add(1, Ordering::Relaxed) < LINES_MAX
    }

    pub(crate) fn read(&self, why: Turned) -> u64 {
        self.0[why as usize].load(Ordering::Relaxed)
    }
}
