//! What the launcher remembers of the root key: every time that it was handed over, where the front cannot write.
//!
//! So keys that are put back from before a hand-over, or a front that names an old key, are refused when the launcher is
//! sealed, and with them every certificate and every list that the old key signs.

use crate::error::Doing;
use crate::ground;
use crate::memory::{self, Memory, REVOCATIONS};
use crate::{Error, durable};
use silas_core::InstallationId;
use silas_core::evidence::Anchor;
use silas_core::handover::{Handover, Handovers};
use silas_core::revocation::RevocationList;
use silas_core::signature::PublicKey;
use std::path::Path;

const HANDOVERS: &str = "handovers.json";

/// At the seal: the root key must be the one to which everything leads that is remembered here. What the keys know
/// besides is remembered too, as after a restored backup.
pub(crate) fn stand_on(memory: &Memory, anchor: &Anchor, told: Vec<Handover>) -> Result<(), Error> {
    let told =
        Handovers::checked(told, &anchor.root, &anchor.installation).map_err(|bad| Error::Root(bad.to_string()))?;
    remember(memory, &told)
}

fn remember(memory: &Memory, told: &Handovers) -> Result<(), Error> {
    let known = known(memory)?;
    if !told.list().starts_with(&known) {
        return Err(Error::Root("it has handed over to another since".to_owned()));
    }
    if told.list().len() > known.len() {
        let bytes = serde_json::to_vec(told).map_err(|e| Error::Damaged(e.to_string()))?;
        durable::replace(&memory.file(HANDOVERS), &bytes).doing(|| "Remembering the root key".to_owned())?;
    }
    Ok(())
}

fn known(memory: &Memory) -> Result<Vec<Handover>, Error> {
    Ok(memory::read(&memory.file(HANDOVERS))?.unwrap_or_default())
}

/// The launcher's part of a hand-over, before any launcher is started on it: the new key, and the list that it signed.
/// Doing it twice is doing it once.
pub fn carry_out(
    data_dir: &Path,
    told: &Handovers,
    root: &PublicKey,
    installation: &InstallationId,
    list: Option<&RevocationList>,
) -> Result<(), Error> {
    let memory = Memory::open(&ground::launcher(data_dir))?;
    let path = memory.file(REVOCATIONS);
    let known: Option<RevocationList> = memory::read(&path)?;
    let number = known.as_ref().map_or(0, |known| known.body.number);
    // What was revoked since the list was signed would come to life again.
    let signed_for = told.list().last().map_or(0, |last| last.body.revocations);
    if number > signed_for {
        return Err(Error::Root(format!("it knows {signed_for} revocation lists, and there are {number}")));
    }
    remember(&memory, told)?;
    if let Some(list) = list {
        list.check(root, installation).map_err(|bad| Error::Root(format!("its list of what is revoked: {bad}")))?;
        let bytes = serde_json::to_vec(list).map_err(|e| Error::Damaged(e.to_string()))?;
        durable::replace(&path, &bytes).doing(|| "Recording what is revoked".to_owned())?;
    }
    Ok(())
}

/// The list that is in force in a data directory on which no launcher runs.
pub fn revocations(data_dir: &Path, anchor: &Anchor) -> Result<Option<RevocationList>, Error> {
    Ok(Memory::open(&ground::launcher(data_dir))?.revocations(anchor)?.list().cloned())
}

/// Whether the data directory `replaced` remembers a hand-over of this installation that `told` does not know of:
/// bringing back old data must not bring back an old key.
pub fn would_go_back(replaced: &Path, told: &[Handover], installation: &InstallationId) -> Result<bool, Error> {
    let known = known(&Memory::open(&ground::launcher(replaced))?)?;
    let is_ours = known.iter().all(|handover| handover.body.installation == *installation);
    Ok(is_ours && !told.starts_with(&known))
}

#[cfg(test)]
mod tests;
