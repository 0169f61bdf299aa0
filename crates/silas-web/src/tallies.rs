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
}

impl Turned {
    pub(crate) const ALL: [Turned; 7] = [
        Turned::Host,
        Turned::Origin,
        Turned::Auth,
        Turned::Places,
        Turned::Rate,
        Turned::Unreadable,
        Turned::Handshake,
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
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tallies([AtomicU64; Turned::ALL.len()]);

impl Tallies {
    pub(crate) fn count(&self, why: Turned) {
        self.0[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, why: Turned) -> u64 {
        self.0[why as usize].load(Ordering::Relaxed)
    }
}
