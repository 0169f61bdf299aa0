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
/// Rows held in memory at a time.
const BATCH: u32 = 500;

/// A table whose rows name the certificate of whoever signed: how it is read from an id on, and changed by its id.
struct Table {
    after: &'static str,
    update: &'static str,
}

const TABLES: [Table; 3] = [
    Table {
        after: "SELECT key_id AS id, certificate FROM devices WHERE key_id > ?1 ORDER BY key_id LIMIT ?2",
        update: "UPDATE devices SET certificate = ?2 WHERE key_id = ?1",
    },
    Table {
        after: "SELECT token_id AS id, certificate FROM tokens WHERE token_id > ?1 ORDER BY token_id LIMIT ?2",
        update: "UPDATE tokens SET certificate = ?2 WHERE token_id = ?1",
    },
    Table {
        after: "SELECT message_id AS id, certificate FROM instructions WHERE message_id > ?1 ORDER BY message_id LIMIT ?2",
        update: "UPDATE instructions SET certificate = ?2 WHERE message_id = ?1",
    },
];

/// Every certificate that a device, a decision or an instruction names, once each.
pub fn certificates(tx: &ReadTx<'_>) -> Result<Vec<Certificate>, Error> {
    let mut found: Vec<Certificate> = Vec::new();
    for table in &TABLES {
        let mut after = String::new();
        while let Some(rows) = batch(tx, table, &mut after)? {
            for (_, certificate) in rows {
                // As many as there are devices, which is few.
                if !found.contains(&certificate) {
                    found.push(certificate);
                }
            }
        }
    }
    Ok(found)
}

/// Puts the new certificates in the places of the old ones, with the entry that says so. Once: again, it does nothing.
pub fn take_over(tx: &mut Tx<'_>, handover: &Handover, signed: &[Certificate]) -> Result<(), Error> {
    let number = handover.body.number;
    if settings::get::<u64>(tx, HANDOVERS)?.is_some_and(|known| known >= number) {
        return Ok(());
    }
    for table in &TABLES {
        let mut after = String::new();
        while let Some(rows) = batch(tx, table, &mut after)? {
            for (id, old) in rows {
                if let Some(new) = signed.iter().find(|new| new.body == old.body) {
                    tx.execute(table.update, params![id, to_json(new)?])?;
                }
            }
        }
    }
    settings::set(tx, HANDOVERS, &number)?;
    let (from, to) = (handover.body.from.id(), handover.body.to.id());
    tx.record(&AuditEvent::RootHandedOver { number, from, to })?;
    Ok(())
}

/// The rows after an id, which moves on; `None` at the end.
fn batch(tx: &ReadTx<'_>, table: &Table, after: &mut String) -> Result<Option<Vec<(String, Certificate)>>, Error> {
    let rows: Vec<(String, Certificate)> =
        tx.query(table.after, params![*after, BATCH], |row| Ok((row.get("id")?, json(row, "certificate")?)))?;
    let Some((last, _)) = rows.last() else { return Ok(None) };
    after.clone_from(last);
    Ok(Some(rows))
}
