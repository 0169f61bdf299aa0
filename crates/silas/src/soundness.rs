//! Whether there is a whole installation to start on: looked at before the greeting, while nothing was touched.
//!
//! Only what can be seen without opening a database, because that takes a thread and the front has none yet. What lies
//! deeper is found by the store itself. Deliberately absent: mending.

use crate::home::Home;
use crate::known_head;
use crate::wall_clock::minute;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Both files of the store; the first holds the ledger.
const DATABASES: [&str; 2] = ["agent.sqlite", "db.sqlite"];

pub(crate) fn check(home: &Home) -> Result<()> {
    for name in DATABASES {
        is_database(home, name)?;
    }
    nothing_is_missing(home)
}

/// The one sentence about a database that is none.
pub(crate) fn damaged(home: &Home, name: &str) -> String {
    format!(
        "The database {} is damaged, so Silas does not start on it. Nothing was changed. Keep it, and bring back a backup: \
         `silas restore FILE --replace` moves what is there aside. (E_DB_DAMAGED)",
        home.store().join(name).display()
    )
}

fn is_database(home: &Home, name: &str) -> Result<()> {
    let path = home.store().join(name);
    if !path.exists() {
        return Ok(());
    }
    let mut begin = Vec::new();
    let file = File::open(&path).with_context(|| format!("{} cannot be opened.", path.display()))?;
    file.take(MAGIC.len() as u64)
        .read_to_end(&mut begin)
        .with_context(|| format!("{} cannot be read.", path.display()))?;
    // An empty file is one that SQLite has not written to yet: the start after a cut-off first one finds it so.
    if !begin.is_empty() && begin != MAGIC {
        bail!("{}", damaged(home, name));
    }
    Ok(())
}

/// Keys without databases are a first start that was cut off, or databases that somebody took away. What this account and
/// the launcher remember tells the two apart.
fn nothing_is_missing(home: &Home) -> Result<()> {
    let is_there = |name: &str| home.store().join(name).exists();
    let missing: Vec<&str> = DATABASES.into_iter().filter(|name| !is_there(name)).collect();
    if missing.is_empty() || home.known().is_err() {
        return Ok(());
    }
    let seen = known_head::known_of(home)?;
    // The ledger's file is made first, so the other one alone is what somebody left.
    let has_worked = is_used(&home.path.join(silas_sandbox::restored::SPENT)) || missing == DATABASES[..1];
    let told = match &seen {
        Some(known) => {
            format!("its ledger had {} entries when it was last looked at, {}", known.head.seq, minute(known.seen_at))
        }
        None if has_worked => "it has been used".to_owned(),
        None => return Ok(()),
    };
    bail!(
        "{} missing from {}, though the keys are there and {told}. Starting now would begin as if nothing had ever happened, \
         so Silas does not. Put what is missing back, or bring back a backup with `silas restore FILE --replace`. To begin \
         anew on purpose, move {} away first. (E_DB_MISSING)",
        match missing.as_slice() {
            [one] => format!("{one} is"),
            _ => "The databases are".to_owned(),
        },
        home.store().display(),
        home.path.display()
    )
}

fn is_used(dir: &Path) -> bool {
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}
