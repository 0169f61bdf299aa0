//! The owner's devices, each with the certificate by which the root key vouches for it.
//!
//! A certificate in this table is data; whoever relies on one verifies it.

use crate::columns::{json, to_json, to_word, word};
use crate::{Error, ReadTx, Tx, params};
use silas_core::KeyId;
use silas_core::device::{Certificate, DeviceKind};

/// Devices that are listed; nobody has more, and of those who were paired ever the newest are.
pub const DEVICES_MAX: u32 = 1000;

/// Fails if a device with this key is there already.
pub fn insert(tx: &mut Tx<'_>, certificate: &Certificate) -> Result<(), Error> {
    let body = &certificate.body;
    tx.execute(
        "INSERT INTO devices (key_id, kind, name, issued_at, certificate) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![body.key.as_str(), to_word(&body.kind)?, body.name, body.issued_at.micros(), to_json(certificate)?],
    )?;
    Ok(())
}

pub fn get(tx: &ReadTx<'_>, key: &KeyId) -> Result<Option<Certificate>, Error> {
    tx.query_one("SELECT certificate FROM devices WHERE key_id = ?1", params![key.as_str()], |row| {
        json(row, "certificate")
    })
}

pub fn kind(tx: &ReadTx<'_>, key: &KeyId) -> Result<Option<DeviceKind>, Error> {
    tx.query_one("SELECT kind FROM devices WHERE key_id = ?1", params![key.as_str()], |row| word(row, "kind"))
}

/// Oldest first.
pub fn list(tx: &ReadTx<'_>) -> Result<Vec<Certificate>, Error> {
    let sql = "SELECT certificate FROM devices ORDER BY issued_at DESC, key_id DESC LIMIT ?1";
    let mut newest = tx.query(sql, params![DEVICES_MAX], |row| json(row, "certificate"))?;
    newest.reverse();
    Ok(newest)
}
