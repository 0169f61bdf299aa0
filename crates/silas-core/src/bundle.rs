//! A proof that left its machine: one file by which anybody can see what was approved, what was checked and what landed,
//! with nothing but the public root key.
//!
//! It is a part of the ledger: the entries from the decision (of standing rules: from their use) to the end of the work
//! without a gap, in the form of [`crate::export`], and a signed head that is the last of them. Entries that tell of this work bring along what they
//! name: the decision with its plan, the results of the checks, the changed files. Entries of other things are in only as
//! what their hash covers, which is digests. So nothing here is believed that is not signed or hashed into what is signed.
//!
//! Deliberately absent: files, keys that sign, and any claim about what happened after the last entry.

mod decided;
mod refusal;
mod tale;
mod verify;

pub use refusal::Refusal;
pub use verify::{Proven, account, concerns, verify};

use crate::changeset::{Changeset, FileDiff};
use crate::checkpoint::{ServerCertificate, Statement};
use crate::export::Entry;
use crate::signature::PublicKey;
use crate::{ExecutionId, InstallationId, canonical};
use serde::{Deserialize, Serialize};

pub const FORMAT: &str = "silas-proof";
pub const VERSION: u32 = 1;
/// Largest file that is read: a work's part of the ledger with outputs and diffs is far smaller.
pub const BYTES_MAX: usize = 64 << 20;
/// Entries between a decision and the end of its work. A week of a busy machine has fewer.
pub const ENTRIES_MAX: usize = 50_000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub format: String,
    pub v: u32,
    pub installation: InstallationId,
    /// Vouches for device and server. Whoever checks the file must know it from elsewhere.
    pub root: PublicKey,
    /// By which the root key vouches for the key that signed the checkpoint.
    pub server: ServerCertificate,
    /// The work that this is about.
    pub execution: ExecutionId,
    /// The plan of work that was tried out under the house rules: there it is not the decision's own text. The decision
    /// about its result names its hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// From the decision to the end of the work, every one.
    pub entries: Vec<Entry>,
    /// Names the last entry.
    pub checkpoint: Statement,
}

impl Bundle {
    /// The file. There is one spelling of it, so a change of any byte is a change of what it says or is refused.
    pub fn to_text(&self) -> Result<String, canonical::Error> {
        Ok(canonical::text(self)? + "\n")
    }
}

/// What landed: the text beside the entry that says so.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landed {
    /// Every file; its hash is in the entry itself.
    pub changeset: Changeset,
    /// How the first of them read.
    pub diffs: Vec<FileDiff>,
    /// What to look at twice, in sentences.
    pub flags: Vec<String>,
    /// Changed files that the checks saw as they were approved.
    pub unseen: Vec<String>,
}

impl Landed {
    /// Fits it into so many bytes by leaving out how the longest changes read. `None` if the list of files alone is too
    /// long.
    pub fn to_text(&self, bytes_max: usize) -> Result<Option<String>, canonical::Error> {
        let mut shortened = self.clone();
        loop {
            let text = canonical::text(&shortened)?;
            if text.len() <= bytes_max {
                return Ok(Some(text));
            }
            let lines = |diff: &&mut FileDiff| diff.lines.as_ref().map_or(0, Vec::len);
            let Some(longest) = shortened.diffs.iter_mut().max_by_key(lines).filter(|diff| diff.lines.is_some()) else {
                return Ok(None);
            };
            (longest.lines, longest.is_verbatim) = (None, false);
        }
    }
}

#[cfg(test)]
mod tests;
