//! What a sandbox's brokers tell whoever keeps the ledger, and ask of whoever keeps the secrets.
//!
//! The sandbox knows neither a ledger nor a vault; it knows this one small trait. Values of secrets pass through it and
//! are kept by nobody on the way.

use crate::host::{HostGrant, NotThere};
use crate::secret::{Secret, SecretRef};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What the commands of one piece of work have reached, for its proof. The ledger has every single time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reach {
    /// Hosts, and how often.
    pub hosts: BTreeMap<String, u32>,
    pub refused: u32,
    /// Names of secrets, and how often they were given.
    pub secrets: BTreeMap<String, u32>,
}

impl Reach {
    /// Connections that were made. None means that nothing was sent: bytes go only over what was counted here.
    pub fn n_connections(&self) -> u64 {
        self.hosts.values().copied().map(u64::from).sum()
    }
}

/// One connection that a program made, or tried to make.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// The grant that the program used.
    pub to: HostGrant,
    /// Where the stream really went; `None` if it went nowhere.
    pub address: Option<IpAddr>,
    pub outcome: Reached,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    Opened,
    /// The name stands for an address that the grant does not cover.
    Refused(NotThere),
    /// Nobody knows an address of that name.
    Unresolved,
    /// There is an address, and nobody answers there.
    Unanswered,
    /// A program of this machine called the port that was granted.
    Called,
    /// The run has made as many connections as one may.
    TooMany,
}

impl Reached {
    /// The stable word for a log.
    pub fn code(self) -> &'static str {
        match self {
            Reached::Opened => "opened",
            Reached::Refused(NotThere::NotPublic) => "not_public",
            Reached::Refused(NotThere::NotThisMachine) => "not_this_machine",
            Reached::Refused(NotThere::OtherAddress) => "other_address",
            Reached::Refused(NotThere::Silas) => "silas",
            Reached::Unresolved => "unresolved",
            Reached::Unanswered => "unanswered",
            Reached::Called => "called",
            Reached::TooMany => "too_many",
        }
    }
}

/// A piece of what a command prints while it runs: to be looked at, and for nothing else. Nothing is decided by it, it is
/// kept nowhere, and no model is given it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Piece {
    /// Whose it is, if it is a check's; several run side by side.
    pub check: Option<String>,
    /// The first of its command: what an earlier one printed is over.
    pub is_first: bool,
    /// Characters before it that were left out, because more came than anybody reads.
    pub n_left_out: u64,
    pub text: String,
}

/// It could not be written down, so it may not go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("what the sandbox reached could not be written down")]
pub struct NotRecorded;

/// The far side of the brokers.
pub trait Outside {
    /// A connection was made or refused. An error ends the run: nothing is reached that is not written down.
    fn connected(&mut self, connection: &Connection) -> Result<(), NotRecorded>;

    /// What a program writes, as it comes; called with nothing now and then, so that what was held back can be shown.
    fn wrote(&mut self, _bytes: &[u8]) {}

    /// How far the private copy is that is being made, now and then.
    fn copying(&mut self, _files: u64, _bytes: u64) {}

    /// What a program writes, where somebody looks on.
    fn printed(&mut self, _piece: Piece) {}

    /// The value of a secret that the plan names. `None` if there is no such secret; an error ends the run.
    fn secret(&mut self, reference: &SecretRef) -> Result<Option<Secret>, NotRecorded>;
}

/// Nobody is there: nothing can be written down and no secret is known.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Outside for Nobody {
    fn connected(&mut self, _: &Connection) -> Result<(), NotRecorded> {
        Err(NotRecorded)
    }

    fn secret(&mut self, _: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        Err(NotRecorded)
    }
}
