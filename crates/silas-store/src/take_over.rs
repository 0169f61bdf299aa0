//! A new root key takes over in the database: its certificates stand where the old key's stood.
//!
//! A certificate here is data, and whoever relies on one verifies it; so exchanging them allows nothing by itself. Bodies
//! stay as they are: the same devices, under the same names and keys.

use crate::columns::{json, to_json};
use crate::{Error, ReadTx, Tx, params, settings};
use silas_core::device::Certificate;
use silas_core::event::AuditEvent;
use silas_core::handover::Handover;

/// The setting that counts the hand-overs which this database knows of.
const HANDOVERS: &str = "root_handovers";
/// Different certificates that may lie here: a device has one, and there are at most a thousand devices.
const CERTIFICATES_MAX: u32 = 2000;

/// Every certificate that a device, a decision or an instruction names, once each.
pub fn certificates(tx: &ReadTx<'_>) -> Result<Vec<Certificate>, Error> {
    tx.query(
        "SELECT certificate FROM devices UNION SELECT certificate FROM tokens UNION SELECT certificate FROM instructions
         LIMIT ?1",
        params![CERTIFICATES_MAX],
        |row| json(row, "certificate"),
    )
}

/// Puts the new certificates in the places of the old ones, with the entry that says so. Once: again, it does nothing.
pub fn take_over(tx: &mut Tx<'_>, handover: &Handover, signed: &[Certificate]) -> Result<(), Error> {
    let number = handover.body.number;
    if settings::get::<u64>(tx, HANDOVERS)?.is_some_and(|known| known >= number) {
        return Ok(());
    }
    for old in certificates(tx)? {
        let Some(new) = signed.iter().find(|new| new.body == old.body) else { continue };
        let (old, new) = (to_json(&old)?, to_json(new)?);
        for update in [
            "UPDATE devices SET certificate = ?2 WHERE certificate = ?1",
            "UPDATE tokens SET certificate = ?2 WHERE certificate = ?1",
            "UPDATE instructions SET certificate = ?2 WHERE certificate = ?1",
        ] {
            tx.execute(update, params![old, new])?;
        }
    }
    settings::set(tx, HANDOVERS, &number)?;
    let (from, to) = (handover.body.from.id(), handover.body.to.id());
    tx.record(&AuditEvent::RootHandedOver { number, from, to })?;
    Ok(())
}
