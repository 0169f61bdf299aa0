//! What a card or the first run changed: one JSON value for each key. Configuration files are not here.

use crate::columns::{json, to_json};
use crate::{Error, ReadTx, Tx, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub fn get<T: DeserializeOwned>(tx: &ReadTx<'_>, key: &str) -> Result<Option<T>, Error> {
    tx.query_one("SELECT value FROM settings WHERE key = ?1", params![key], |row| json(row, "value"))
}

pub fn set<T: Serialize + ?Sized>(tx: &mut Tx<'_>, key: &str, value: &T) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO settings (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        params![key, to_json(value)?],
    )?;
    Ok(())
}
