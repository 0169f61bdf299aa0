//! What a hand does for one decision, by the risk on its card: the ladder of `web/cards/dock.js`, counted.
//!
//! The ledger does not record how often somebody pressed Back, or looked at the details first; this is the shortest way.

use crate::words::count;
use silas_core::card::Risk;
use silas_core::device::DeviceKind;
use silas_core::token::{Kind, Verdict};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Moves {
    taps: usize,
    slides: usize,
    /// A finger, a face or a PIN.
    passkeys: usize,
    /// Decisions in the terminal, where nothing is tapped.
    commands: usize,
}

const TAP: Moves = Moves { taps: 1, slides: 0, passkeys: 0, commands: 0 };
const TWO_TAPS: Moves = Moves { taps: 2, ..TAP };

impl Moves {
    pub(super) fn of(kind: Kind, verdict: Verdict, risk: Option<Risk>, by: Option<DeviceKind>) -> Moves {
        if by == Some(DeviceKind::Terminal) {
            return Moves { commands: 1, ..Moves::default() };
        }
        match (verdict, risk) {
            // A no asks nothing back, and of a card that is gone nobody knows more than that it was answered.
            (Verdict::Declined, _) | (_, None) => TAP,
            // "Choose another" is the whole answer; other changes are chosen next.
            (Verdict::EditRequested | Verdict::Conditional, Some(_)) if kind == Kind::Model => TAP,
            (Verdict::EditRequested | Verdict::Conditional, Some(_)) => TWO_TAPS,
            (Verdict::Approved, Some(Risk::Low)) => TAP,
            (Verdict::Approved, Some(Risk::Medium)) => TWO_TAPS,
            (Verdict::Approved, Some(Risk::High)) if by != Some(DeviceKind::Passkey) => Moves { slides: 1, ..TAP },
            // The last step has a passkey, or a button for whoever has none.
            (Verdict::Approved, Some(Risk::High | Risk::Irreversible)) => match by {
                Some(DeviceKind::Passkey) => Moves { slides: 1, passkeys: 1, ..TAP },
                Some(DeviceKind::Browser | DeviceKind::Terminal) | None => Moves { slides: 1, ..TWO_TAPS },
            },
        }
    }

    pub(super) fn add(&mut self, other: Moves) {
        self.taps += other.taps;
        self.slides += other.slides;
        self.passkeys += other.passkeys;
        self.commands += other.commands;
    }

    pub(super) fn total(self) -> usize {
        self.taps + self.slides + self.passkeys + self.commands
    }

    /// "4 taps, 1 slide": each by its own name, and only what there was.
    pub(super) fn in_words(self) -> String {
        let all = [(self.taps, "tap"), (self.slides, "slide"), (self.passkeys, "passkey"), (self.commands, "command")];
        let named: Vec<String> = all.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| count(*n, noun)).collect();
        if named.is_empty() { "nothing".to_owned() } else { named.join(", ") }
    }
}

#[cfg(test)]
mod tests;
