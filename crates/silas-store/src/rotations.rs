//! Keys that were exchanged while no server ran: each is written down by the next one, once.
//!
//! The files decide which key it is; the ledger only tells. So a crash between the two loses nothing.

use crate::{Error, ReadTx, Tx, settings};
use silas_core::KeyId;
use silas_core::event::AuditEvent;

/// The settings that remember what was told last.
const SERVER: &str = "server_keys_told";
const VAULT: &str = "vault_keys_told";

/// Each server key in its order, oldest first. What the ledger told of before must be among them: otherwise gives false,
/// and nothing is written.
pub fn note_server_keys(tx: &mut Tx<'_>, keys: &[KeyId]) -> Result<bool, Error> {
    let told: Vec<KeyId> = settings::get(tx, SERVER)?.unwrap_or_default();
    if !keys.starts_with(&told) {
        return Ok(false);
    }
    if keys.len() > told.len() {
        for pair in keys.windows(2).skip(told.len().saturating_sub(1)) {
            tx.record(&AuditEvent::ServerKeyRotated { from: pair[0].clone(), to: pair[1].clone() })?;
        }
        settings::set(tx, SERVER, keys)?;
    }
    Ok(true)
}

/// The server keys of which the ledger has told, oldest first.
pub fn server_keys_told(tx: &ReadTx<'_>) -> Result<Vec<KeyId>, Error> {
    Ok(settings::get(tx, SERVER)?.unwrap_or_default())
}

/// The vault's keys by their number. A vault of a restored backup may have had fewer.
pub fn note_vault_key(tx: &mut Tx<'_>, number: u64) -> Result<(), Error> {
    let told: u64 = settings::get(tx, VAULT)?.unwrap_or(1);
    if number > told {
        tx.record(&AuditEvent::VaultKeyRotated { number })?;
    }
    if number != told {
        settings::set(tx, VAULT, &number)?;
    }
    Ok(())
}
