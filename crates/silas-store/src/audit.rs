//! The whole question "is the ledger what was written?": the chain, its texts, its checkpoints, and what was verified
//! before.
//!
//! Reading a million entries again at every start would take long, so whoever has verified a prefix says so, signed by
//! the server key, and the next one may go on from there. That saves work and proves little: whoever can write the
//! database and read the server key can forge it. Reading everything is always possible.

use crate::checkpoints::{self, Fault};
use crate::ledger::{self, Verification};
use crate::{Error, ReadTx, Tx, settings};
use silas_core::InstallationId;
use silas_core::checkpoint::{Claim, Head, Statement};
use silas_core::signature::PublicKey;

/// The setting that holds what was verified last.
const VERIFIED_PREFIX: &str = "verified_prefix";

/// Whose ledger it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keeper {
    pub server: PublicKey,
    pub installation: InstallationId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    Everything,
    /// Only what came after the last verification, if there was one.
    New,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audit {
    pub chain: Verification,
    /// Entries up to this one were not read again.
    pub verified_before: u64,
    pub n_checkpoints: u64,
    pub fault: Option<Fault>,
}

impl Audit {
    /// What is wrong, in a sentence without its full stop.
    pub fn problem(&self) -> Option<String> {
        let broken = self.chain.broken.as_ref().map(ToString::to_string);
        broken.or_else(|| self.fault.map(|fault| fault.to_string()))
    }

    /// The last entry, if nothing is wrong.
    pub fn sound_head(&self) -> Option<Head> {
        self.chain.head.filter(|_| self.problem().is_none()).map(|(seq, hash)| Head { seq, hash })
    }
}

pub fn audit(tx: &ReadTx<'_>, keeper: &Keeper, extent: Extent) -> Result<Audit, Error> {
    let known = verified(tx, keeper)?;
    let from = known.filter(|_| extent == Extent::New);
    let chain = match from {
        Some(head) => ledger::verify_after(tx, head)?,
        None => ledger::verify(tx)?,
    };
    let verified_before = from.map_or(0, |head| head.seq);
    let (n_checkpoints, fault) = checkpoints::verify(tx, &keeper.server, &keeper.installation, verified_before)?;
    // What was verified once must still be there, also where everything is read.
    let fault = match (fault, known) {
        (None, Some(head)) => checkpoints::fault(tx, head)?.map(|reason| Fault { seq: head.seq, reason }),
        (fault, _) => fault,
    };
    Ok(Audit { chain, verified_before, n_checkpoints, fault })
}

/// Remembers that everything up to a head was verified.
pub fn keep_verified(tx: &mut Tx<'_>, statement: &Statement) -> Result<(), Error> {
    settings::set(tx, VERIFIED_PREFIX, statement)
}

/// A statement that is not the server's own counts as none.
fn verified(tx: &ReadTx<'_>, keeper: &Keeper) -> Result<Option<Head>, Error> {
    let said: Option<Statement> = settings::get(tx, VERIFIED_PREFIX)?;
    let is_ours = |said: &Statement| {
        said.verifies(&keeper.server, Claim::VerifiedPrefix) && said.body.installation == keeper.installation
    };
    Ok(said.filter(is_ours).map(|said| said.body.head))
}
