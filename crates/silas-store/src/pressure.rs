//! How far the store is behind: changes that wait for a writer, and looks that wait for a connection, against how many may.
//!
//! Only numbers in memory are looked at, so that asking is possible while nothing else is.

use crate::Store;
use crate::lanes::LANE_JOBS_MAX;

/// So many wait, of so many that may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub n: usize,
    pub max: usize,
}

/// The longer of the two files' queues counts: whoever meets it is told to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// Changes, with their ledger entries, that are not on disk yet.
    pub writes: Waiting,
    pub reads: Waiting,
}

impl Store {
    pub fn pressure(&self) -> Pressure {
        let (agent, human) = (self.agent_waiting(), self.human().waiting());
        let waiting = |one: usize, other: usize| Waiting { n: one.max(other), max: LANE_JOBS_MAX };
        Pressure { writes: waiting(agent.0, human.0), reads: waiting(agent.1, human.1) }
    }
}
