//! The owner's own words as approvals: the message exactly as a device signed it, the certificate of that device, and the
//! version of the grammar that understood the words.
//!
//! Kept in the transaction that takes the message in, for messages that were freshly signed by a device of the owner's.
//! What is here proves nothing until it is verified again; an operation uses it up (see [`crate::saga::prepare`]).

use crate::columns::{json, time, to_json};
use crate::{Error, ReadTx, Tx, devices, params};
use silas_core::device::Certificate;
use silas_core::message::SignedMessage;
use silas_core::{MessageId, Timestamp};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub signed: SignedMessage,
    pub certificate: Certificate,
    /// The version of the grammar that understood the words.
    pub grammar: u32,
    pub at: Timestamp,
}

/// False if the device is not known; then there is nothing to keep.
pub fn keep(
    tx: &mut Tx<'_>,
    message: &MessageId,
    signed: &SignedMessage,
    grammar: u32,
    at: Timestamp,
) -> Result<bool, Error> {
    let Some(certificate) = devices::get(tx, &signed.signature.key)? else { return Ok(false) };
    tx.execute(
        "INSERT INTO instructions (message_id, signed, certificate, grammar, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![message.as_str(), to_json(signed)?, to_json(&certificate)?, grammar, at.micros()],
    )?;
    Ok(true)
}

pub fn get(tx: &ReadTx<'_>, message: &MessageId) -> Result<Option<Instruction>, Error> {
    tx.query_one(
        "SELECT signed, certificate, grammar, at FROM instructions WHERE message_id = ?1",
        params![message.as_str()],
        |row| {
            Ok(Instruction {
                signed: json(row, "signed")?,
                certificate: json(row, "certificate")?,
                grammar: row.get("grammar")?,
                at: time(row, "at")?,
            })
        },
    )
}

/// Fails while an operation refers to it.
pub(crate) fn forget(tx: &mut Tx<'_>, message: &MessageId) -> Result<(), Error> {
    tx.execute("DELETE FROM instructions WHERE message_id = ?1", params![message.as_str()])?;
    Ok(())
}
