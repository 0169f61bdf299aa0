//! Whether rows are where the owner sees them. No entry of the ledger tells of anybody else's, so a row of another scope was
//! moved out of the owner's sight by hand.

use super::Altered;
use crate::{Error, ReadTx, params};
use silas_core::Scope;

const TABLES: [(&str, &str); 3] = [
    ("chronicle", "SELECT id FROM chronicle WHERE id > '' AND scope <> ?1 ORDER BY id LIMIT 1"),
    ("executions", "SELECT id FROM executions WHERE id > '' AND scope <> ?1 ORDER BY id LIMIT 1"),
    ("cards", "SELECT id FROM cards WHERE id > '' AND scope <> ?1 ORDER BY id LIMIT 1"),
];

pub(super) fn first_foreign(tx: &ReadTx<'_>) -> Result<Option<Altered>, Error> {
    for (table, sql) in TABLES {
        let found: Option<String> = tx.query_one(sql, params![Scope::Owner.to_string()], |row| Ok(row.get("id")?))?;
        if let Some(id) = found {
            return Ok(Some(Altered::Foreign { table, id }));
        }
    }
    Ok(None)
}
