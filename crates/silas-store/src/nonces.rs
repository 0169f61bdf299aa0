//! Nonces that were used, so that nothing signed is accepted twice.

use crate::{Error, Tx, params};
use silas_core::Timestamp;

/// Nonces that one call forgets at most, so that upkeep never holds up the writer.
pub const PRUNED_MAX: u32 = 1000;

/// Uses the nonce up. False if it was used before; domains do not know each other's nonces.
pub fn use_once(tx: &mut Tx<'_>, domain: &str, nonce: &str, at: Timestamp) -> Result<bool, Error> {
    let n_new = tx.execute(
        "INSERT INTO nonces (domain, nonce, at) VALUES (?1, ?2, ?3) ON CONFLICT (domain, nonce) DO NOTHING",
        params![domain, nonce, at.micros()],
    )?;
    Ok(n_new == 1)
}

/// Forgets nonces that were used before this instant, at most [`PRUNED_MAX`]. Says how many. Safe only for those whose
/// signed bodies are refused by their age.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM nonces WHERE (domain, nonce) IN (SELECT domain, nonce FROM nonces WHERE at < ?1 LIMIT ?2)",
        params![before.micros(), PRUNED_MAX],
    )
}
