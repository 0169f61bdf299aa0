//! The events of a few names in a stretch of the ledger, for whoever counts them.
//!
//! Most of a ledger is something else, and reading an event costs far more than reading its name; so only what was asked
//! for is read. Nothing is verified here.

use super::to_column;
use crate::{Error, ReadTx, params};
use silas_core::event::AuditEvent;
use silas_core::{Timestamp, canonical};

/// What happened under one of these names, with its time, oldest first: of the entries after `after` up to `through`.
/// An event of another version is left out, as nobody here understands it. The caller bounds the stretch.
pub fn named(tx: &ReadTx<'_>, after: u64, through: u64, names: &[&str]) -> Result<Vec<(Timestamp, AuditEvent)>, Error> {
    let sql = "SELECT at, event, body FROM ledger WHERE seq > ?1 AND seq <= ?2 ORDER BY seq";
    let found = tx.query(sql, params![to_column(after), to_column(through)], |row| {
        let is_of = |name: &str| names.contains(&name);
        if !row.get_ref(1)?.as_str().is_ok_and(is_of) {
            return Ok(None);
        }
        let at = Timestamp::from_micros(row.get(0)?);
        Ok(row.get_ref(2)?.as_str().ok().and_then(|body| canonical::read(body).ok()).map(|event| (at, event)))
    })?;
    Ok(found.into_iter().flatten().collect())
}
