//! Writing a ledger out, line by line, for whoever wants to check it without this database. The format is
//! [`silas_core::export`]'s; where the lines go is the caller's matter.
//!
//! What lies here is written as it lies here, sound or not: saying which is the reader's work.

use crate::audit::Keeper;
use crate::{Error, ReadTx, books, checkpoints, ledger};
use silas_core::Timestamp;
use silas_core::checkpoint::ServerCertificate;
use silas_core::export::{End, Entry, FORMAT, Header, Line, VERSION};

/// Entries held in memory at a time.
const BATCH: u32 = 500;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// Only digests: the export says what happened, not what was said.
    Without,
    /// With every text that was not erased.
    With,
}

/// Gives every line in its order. One look at the database sees one state, so what is written meanwhile is not in it.
pub fn export(
    tx: &ReadTx<'_>,
    keeper: &Keeper,
    certificates: &[ServerCertificate],
    epoch: u64,
    at: Timestamp,
    words: Words,
    mut put: impl FnMut(&Line) -> Result<(), Error>,
) -> Result<End, Error> {
    put(&Line::Header(Header {
        format: FORMAT.to_owned(),
        v: VERSION,
        installation: keeper.installation.clone(),
        epoch,
        root: keeper.root,
        server: keeper.servers.current(),
        servers: certificates.to_vec(),
        handovers: keeper.handovers.list().to_vec(),
        exported_at: at,
    }))?;
    let mut end = End { entries: 0, checkpoints: 0 };
    let mut after = 0;
    loop {
        let batch = checkpoints::after(tx, after, BATCH)?;
        let Some((last, _)) = batch.last() else { break };
        after = *last;
        for (_, statement) in batch {
            end.checkpoints += 1;
            put(&Line::Checkpoint(statement))?;
        }
    }
    loop {
        let batch = ledger::entries(tx, end.entries + 1, BATCH)?;
        if batch.is_empty() {
            break;
        }
        for entry in batch {
            end.entries = entry.seq;
            let beside = entry.event.as_ref().map_or(Ok(None), |event| books::beside(tx, event))?;
            let named = entry.event.as_ref().and_then(|event| event.text()).filter(|_| words == Words::With);
            let text = named.map_or(Ok(None), |text| ledger::salted_text(tx, text))?;
            put(&Line::Entry(Box::new(Entry { link: entry.into_link(), beside, text })))?;
        }
    }
    put(&Line::End(end))?;
    Ok(end)
}
