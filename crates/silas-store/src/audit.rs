//! The whole question "is the ledger what was written, and does it add up?": the chain, its texts, its checkpoints, what
//! was verified before, and the books: that every approval it tells of holds, every effect had one, and what people are
//! shown from other tables is what it tells.
//!
//! Reading a million entries again at every start would take long, so whoever has verified a prefix says so, signed by
//! the server key, and the next one may go on from there. That saves work and proves little: whoever can write the
//! database and read the server key can forge it. Reading everything is always possible.

use crate::checkpoints::{self, Fault};
use crate::ledger::{self, Verification};
use crate::rows::Rows;
use crate::{Error, ReadTx, Tx, books, settings};
use silas_core::InstallationId;
use silas_core::books::{Books, Summary};
use silas_core::checkpoint::{Claim, Head, Statement};
use silas_core::handover::Handovers;
use silas_core::server_keys::ServerKeys;
use silas_core::signature::PublicKey;

/// The setting that holds what was verified last.
const VERIFIED_PREFIX: &str = "verified_prefix";

/// Whose ledger it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keeper {
    pub root: PublicKey,
    /// How the root key came to be this one.
    pub handovers: Handovers,
    pub servers: ServerKeys,
    pub installation: InstallationId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    Everything,
    /// Only what came after the last verification, if there was one. The books need all of it and stay closed.
    New,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audit {
    pub chain: Verification,
    /// Entries up to this one were not read again.
    pub verified_before: u64,
    pub n_checkpoints: u64,
    pub fault: Option<Fault>,
    /// `None` where they were not looked at.
    pub books: Option<Result<Summary, books::Wrong>>,
    /// How far what people are shown was compared with the ledger. `None` where it was not looked at, or something is wrong.
    pub rows: Option<Compared>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// All of them, but for so many cards of which the ledger was told nothing: earlier versions laid them down.
    Rows { n_untold: u64 },
    /// Entries of another version may tell of rows what is not known here.
    Nothing,
}

impl Audit {
    /// What is wrong, in a sentence without its full stop. What is wrong with the chain comes first.
    pub fn problem(&self) -> Option<String> {
        let broken = self.chain.broken.as_ref().map(ToString::to_string);
        let broken = broken.or_else(|| self.fault.map(|fault| fault.to_string()));
        broken.or_else(|| self.books.as_ref()?.as_ref().err().map(ToString::to_string))
    }

    /// The last entry, if nothing is wrong.
    pub fn sound_head(&self) -> Option<Head> {
        self.chain.head.filter(|_| self.problem().is_none()).map(|(seq, hash)| Head { seq, hash })
    }
}

pub fn audit(tx: &ReadTx<'_>, keeper: &Keeper, extent: Extent) -> Result<Audit, Error> {
    let known = verified(tx, keeper)?;
    let from = known.filter(|_| extent == Extent::New);
    let (chain, books, rows) = match from {
        Some(head) => (ledger::verify_after(tx, head)?, None, None),
        None => whole(tx, keeper)?,
    };
    let verified_before = from.map_or(0, |head| head.seq);
    let (n_checkpoints, fault) = checkpoints::verify(tx, &keeper.servers, &keeper.installation, verified_before)?;
    // What was verified once must still be there, also where everything is read. The first place counts.
    let gone = match known {
        Some(head) => checkpoints::fault(tx, head)?.map(|reason| Fault { seq: head.seq, reason }),
        None => None,
    };
    // The same for what the root key signed when a server key was replaced.
    let pinned = keeper.servers.pinned().map(|head| {
        let fault = checkpoints::fault(tx, head)?;
        Ok(fault.map(|reason| Fault { seq: head.seq, reason }))
    });
    let pinned = pinned.collect::<Result<Vec<_>, Error>>()?;
    let fault = fault.into_iter().chain(gone).chain(pinned.into_iter().flatten()).min_by_key(|fault| fault.seq);
    Ok(Audit { chain, verified_before, n_checkpoints, fault, books, rows })
}

type Looked = (Verification, Option<Result<Summary, books::Wrong>>, Option<Compared>);

/// Chain and books in one reading. The books close at the first thing that is wrong; the chain is read to its end.
fn whole(tx: &ReadTx<'_>, keeper: &Keeper) -> Result<Looked, Error> {
    let mut read = Ok(Books::open(keeper.root, keeper.installation.clone()).after(keeper.handovers.clone()));
    let (mut rows, mut altered) = (Rows::default(), None);
    let chain = ledger::verify_and(tx, |link, event| {
        let entered = event.map(|event| rows.enter(tx, link.at, event)).transpose()?;
        if let Some(Err(found)) = entered {
            altered.get_or_insert(found);
        }
        let Ok(books) = &mut read else { return Ok(()) };
        let beside = event.map_or(Ok(None), |event| books::beside(tx, event))?;
        if let Err(fault) = books.enter(link.seq, link.at, event, beside.as_ref()) {
            read = Err(books::Wrong::Entry(fault));
        }
        Ok(())
    })?;
    let mut compared = None;
    let books = match read {
        Ok(read) if chain.broken.is_none() => {
            let has_unknown = read.has_unknown();
            let closed = books::close(tx, read, chain.entries)?;
            let altered = match altered {
                Some(altered) => Err(altered),
                // What another version told of rows is not known here.
                None if has_unknown => Ok(Compared::Nothing),
                None => rows.close(tx, keeper)?.map(|n_untold| Compared::Rows { n_untold }),
            };
            compared = altered.as_ref().ok().copied();
            Some(closed.and_then(|summary| altered.map(|_| summary).map_err(Into::into)))
        }
        // Half a ledger cannot add up, and what broke it is said already.
        Ok(_) => None,
        Err(wrong) => Some(Err(wrong)),
    };
    Ok((chain, books, compared))
}

/// Remembers that everything up to a head was verified.
pub fn keep_verified(tx: &mut Tx<'_>, statement: &Statement) -> Result<(), Error> {
    settings::set(tx, VERIFIED_PREFIX, statement)
}

/// A statement that is not the server's own counts as none.
fn verified(tx: &ReadTx<'_>, keeper: &Keeper) -> Result<Option<Head>, Error> {
    let said: Option<Statement> = settings::get(tx, VERIFIED_PREFIX)?;
    let is_ours = |said: &Statement| keeper.servers.judge(said, Claim::VerifiedPrefix, &keeper.installation).is_ok();
    Ok(said.filter(is_ours).map(|said| said.body.head))
}
