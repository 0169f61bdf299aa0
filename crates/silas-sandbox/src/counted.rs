//! How many rehearsals were begun under which house rules: a name for each, so that counting those of a day reads nothing of
//! what was ever spent.
//!
//! A name is on disk before the record that it counts. After a crash there may be one too many, never one too few. What an
//! earlier version has spent is found once, in the records themselves.

use crate::error::Doing;
use crate::memory::{CLOCKS_DIFFER, DAY, Memory, Record};
use crate::{Error, durable};
use silas_core::evidence::Refusal;
use silas_core::token::Kind;
use silas_core::{ExecutionId, Timestamp, TokenId};
use std::io;
use std::time::Duration;

/// Says that every record from before is counted too.
const ALL: &str = "all";
/// A clock that is set back makes a name count again, so it stays a day longer than it has to.
const KEPT: Duration = DAY.saturating_add(CLOCKS_DIFFER);

impl Memory {
    /// Called before the record is made.
    pub(crate) fn count(&self, execution: &ExecutionId, record: &Record) -> Result<(), Error> {
        if record.kind != Kind::HouseRules {
            return Ok(());
        }
        // No part of it has a dot inside.
        self.note(&format!("{}.{}.{execution}", record.token, record.first_spent_at.micros()))
    }

    /// Whether the house rules with this token have a rehearsal left for the day before now. The turn to begin must be held.
    pub(crate) fn has_rehearsals_left(&self, rules: &TokenId, per_day: u32, now: Timestamp) -> Result<(), Error> {
        let doing = || "Counting rehearsals".to_owned();
        self.count_earlier(now)?;
        let mut n = 0u32;
        for entry in std::fs::read_dir(self.file(COUNTED)).doing(doing)? {
            let entry = entry.doing(doing)?;
            let name = entry.file_name();
            let Some((token, at)) = name.to_str().and_then(parts) else { continue };
            if now.since(at) > KEPT {
                // It counts for nobody, so it does no harm either.
                let _ = std::fs::remove_file(entry.path());
            } else if token == rules.as_str() && now.since(at) < DAY {
                n += 1;
            }
        }
        if n < per_day {
            return Ok(());
        }
        Err(Refusal::HouseRules(format!("{per_day} rehearsals in one day are used up")).into())
    }

    fn count_earlier(&self, now: Timestamp) -> Result<(), Error> {
        if self.file(COUNTED).join(ALL).exists() {
            return Ok(());
        }
        for (execution, record) in self.all()? {
            if now.since(record.first_spent_at) <= KEPT {
                self.count(&execution, &record)?;
            }
        }
        self.note(ALL)
    }

    fn note(&self, name: &str) -> Result<(), Error> {
        match durable::create(&self.file(COUNTED).join(name), b"") {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done.doing(|| "Counting a rehearsal".to_owned()),
        }
    }
}

/// Where the names lie in the launcher's memory.
pub(crate) const COUNTED: &str = "counted";

fn parts(name: &str) -> Option<(&str, Timestamp)> {
    let mut parts = name.split('.');
    let (token, micros, execution) = (parts.next()?, parts.next()?, parts.next()?);
    ExecutionId::parse(execution).ok()?;
    Some((token, Timestamp::from_micros(micros.parse().ok()?)))
}
