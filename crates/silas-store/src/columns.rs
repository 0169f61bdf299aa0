//! How values of the vocabulary lie in columns: ids and enum words as TEXT, instants as microseconds, the rest as JSON.
//!
//! Whatever does not read back is [`Error::Damaged`]: nobody but Silas writes here, and a guess would hide that.

use crate::Error;
use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use silas_core::Timestamp;
use std::fmt::Display;

pub(crate) fn time(row: &Row<'_>, column: &str) -> Result<Timestamp, Error> {
    Ok(Timestamp::from_micros(row.get(column)?))
}

pub(crate) fn optional_time(row: &Row<'_>, column: &str) -> Result<Option<Timestamp>, Error> {
    let micros: Option<i64> = row.get(column)?;
    Ok(micros.map(Timestamp::from_micros))
}

/// An id or a hash: TEXT that is checked on reading.
pub(crate) fn id<T>(row: &Row<'_>, column: &'static str) -> Result<T, Error>
where
    T: TryFrom<String, Error: Display>,
{
    checked(row.get(column)?, column)
}

pub(crate) fn optional_id<T>(row: &Row<'_>, column: &'static str) -> Result<Option<T>, Error>
where
    T: TryFrom<String, Error: Display>,
{
    let text: Option<String> = row.get(column)?;
    text.map(|text| checked(text, column)).transpose()
}

fn checked<T>(text: String, what: &'static str) -> Result<T, Error>
where
    T: TryFrom<String, Error: Display>,
{
    T::try_from(text).map_err(|error| Error::Damaged { what, reason: error.to_string() })
}

/// An enum without fields, as the word that it has on the wire.
pub(crate) fn word<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<T, Error> {
    let word: String = row.get(column)?;
    serde_json::from_value(Value::String(word)).map_err(|error| damaged(column, &error))
}

pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<T, Error> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| damaged(column, &error))
}

pub(crate) fn to_word<T: Serialize>(value: &T) -> Result<String, Error> {
    Ok(serde_json::from_value(serde_json::to_value(value)?)?)
}

pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    Ok(serde_json::to_string(value)?)
}

fn damaged(what: &'static str, error: &serde_json::Error) -> Error {
    Error::Damaged { what, reason: error.to_string() }
}
