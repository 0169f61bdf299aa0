//! Whether devices are what their certificates say, and the root key signed those.

use super::{Altered, first_in, readable, unreadable};
use crate::audit::Keeper;
use crate::columns::{json, time, word};
use crate::{Error, ReadTx, params};
use silas_core::Timestamp;
use silas_core::device::{Certificate, DeviceKind};

/// The first device that is not what its certificate says, or whose certificate the root key did not sign.
pub(super) fn first_otherwise(tx: &ReadTx<'_>, keeper: &Keeper) -> Result<Option<Altered>, Error> {
    let sql = "SELECT key_id AS id FROM devices WHERE key_id > ?1 ORDER BY key_id LIMIT ?2";
    let is_other = |key: &String| -> Result<bool, Error> {
        type Kept = (Certificate, DeviceKind, String, Timestamp);
        let kept = tx.query_one(
            "SELECT certificate, kind, name, issued_at FROM devices WHERE key_id = ?1",
            params![key],
            |row| -> Result<Kept, Error> {
                Ok((json(row, "certificate")?, word(row, "kind")?, row.get("name")?, time(row, "issued_at")?))
            },
        );
        let Some(Some((certificate, kind, name, issued_at))) = readable(kept)? else { return Ok(true) };
        let body = &certificate.body;
        let is_it = body.key.as_str() == key && (body.kind, &body.name, body.issued_at) == (kind, &name, issued_at);
        Ok(!is_it || certificate.check(&keeper.root, &keeper.installation).is_err())
    };
    let found = first_in(tx, sql, |row| Ok(row.get::<_, String>("id")?), is_other)?;
    Ok(found.map(|found| found.map_or(unreadable("devices"), Altered::Device)))
}
