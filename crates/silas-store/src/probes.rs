//! What `silas doctor` asks of the store: whether its files are sound, the ledger verifies, and nothing is stuck.
//!
//! Everything is looked at from outside, beside a running server or without one; nothing is repaired here.

use crate::audit::{self, Extent, Keeper};
use crate::store::{AGENT_FILE, HUMAN_FILE};
use crate::{Error, Reader, Store, channel_outbox, connect, queue, saga, upgrade};
use serde::{Deserialize, Serialize};
use silas_core::number::grouped;
use silas_core::probe::Probe;
use silas_core::{MessageId, Timestamp};
use std::path::Path;
use std::time::Duration;

/// An operation that is older than this should have been finished or refused.
const OPERATION_SECS_MAX: u64 = 60;
/// A page that is connected has taken in and acknowledged what it was sent by then.
const DELIVERY_SECS_MAX: i64 = 60;
/// Dead letters that are named in one line.
const DEAD_NAMED_MAX: usize = 5;
const RESTORE: &str = "Keep the data directory as it is, and restore a backup with `silas restore`.";

/// Bytes on disk, the logs beside the files included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    pub agent_bytes: u64,
    pub human_bytes: u64,
}

pub fn sizes(dir: &Path) -> Sizes {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let with_log = |name: &str| bytes(&dir.join(name)) + bytes(&connect::log_path(&dir.join(name)));
    Sizes { agent_bytes: with_log(AGENT_FILE), human_bytes: with_log(HUMAN_FILE) }
}

pub fn probes(dir: &Path, keeper: &Keeper, now: Timestamp) -> Vec<Probe> {
    let mut found = vec![integrity(dir)];
    match Store::open_read_only(dir) {
        Ok(reader) => found.extend([
            ledger(&reader, keeper),
            operations(&reader, now),
            dead_letters(&reader),
            replies(&reader, now),
        ]),
        Err(error) => found.push(Probe::bad("Ledger", error.to_string(), RESTORE)),
    }
    found
}

fn integrity(dir: &Path) -> Probe {
    let check = |name| upgrade::self_check(&connect::for_reading(&dir.join(name))?);
    match check(AGENT_FILE).and_then(|()| check(HUMAN_FILE)) {
        Ok(()) => Probe::good("Databases", "Both files are sound."),
        Err(error) => Probe::bad("Databases", error.to_string(), RESTORE),
    }
}

fn ledger(reader: &Reader, keeper: &Keeper) -> Probe {
    let keeper = keeper.clone();
    match reader.read(move |tx| audit::audit(tx, &keeper, Extent::Everything)).wait() {
        Err(error) => Probe::bad("Ledger", error.to_string(), RESTORE),
        Ok(found) => match found.problem() {
            Some(problem) => Probe::bad("Ledger", format!("{problem}."), RESTORE),
            None => Probe::good("Ledger", format!("{} entries, unbroken.", grouped(found.chain.entries))),
        },
    }
}

fn operations(reader: &Reader, now: Timestamp) -> Probe {
    const NAME: &str = "Changes under way";
    let open = match reader.read(saga::sagas_open).wait() {
        Ok(open) => open,
        Err(error) => return unreadable(NAME, &error),
    };
    let is_stuck = |open: &&saga::Saga| now.since(open.created_at) > Duration::from_secs(OPERATION_SECS_MAX);
    let n_stuck = open.iter().filter(is_stuck).count();
    if n_stuck == 0 {
        return Probe::good(NAME, "None is half done.");
    }
    let why = open.iter().find_map(|open| open.last_error.clone()).unwrap_or_else(|| "no reason is known".to_owned());
    let fix = "Start Silas; it finishes them. If it runs, its log says why it could not.";
    Probe::warning(NAME, format!("{n_stuck} of your task changes are not finished: {why}."), fix)
}

fn dead_letters(reader: &Reader) -> Probe {
    const NAME: &str = "Messages";
    let dead = match reader.read(queue::dead_ids).wait() {
        Ok(dead) if dead.is_empty() => return Probe::good(NAME, "None was put aside."),
        Ok(dead) => dead,
        Err(error) => return unreadable(NAME, &error),
    };
    let names: Vec<String> = dead.iter().rev().take(DEAD_NAMED_MAX).map(MessageId::to_string).collect();
    let more = if dead.len() > names.len() { " and more" } else { "" };
    Probe::warning(
        NAME,
        format!("{} could not be dealt with and were put aside: {}{more}.", dead.len(), names.join(", ")),
        "`silas queue list` says what they were, `silas queue revive NAME` has one tried again.",
    )
}

fn replies(reader: &Reader, now: Timestamp) -> Probe {
    const NAME: &str = "Replies";
    let late = Timestamp::from_micros(now.micros() - DELIVERY_SECS_MAX * 1_000_000);
    match reader.read(move |tx| channel_outbox::stuck(tx, late)).wait() {
        Ok(stuck) if stuck.is_empty() => Probe::good(NAME, "Whoever is connected has them."),
        Ok(stuck) => {
            let names: Vec<String> = stuck.into_iter().map(|(_, title)| title).collect();
            let sentence = format!("Connected, but does not take them in: {}.", names.join(", "));
            Probe::warning(NAME, sentence, "Reload the page there. Nothing is lost; what is missing comes with it.")
        }
        Err(error) => unreadable(NAME, &error),
    }
}

fn unreadable(name: &'static str, error: &Error) -> Probe {
    Probe::bad(name, error.to_string(), RESTORE)
}
