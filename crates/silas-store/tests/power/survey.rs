//! Holds a store against what was promised about its records, and its rows against its ledger.
//!
//! The number of an entry is the order of commits, so one look at the ledger shows a prefix: what was acknowledged with a
//! number up to the last one is there as it was acknowledged, and nothing durable lies behind the last one.

use crate::records::{COUNTER, put, value_of};
use crate::workload::{Promise, Strength, Survey};
use crate::world::open;
use silas_core::event::AuditEvent;
use silas_store::{ReadTx, Store, ledger, settings};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(crate) fn check(dir: &Path, promises: &[Promise]) -> Result<Survey, String> {
    let store = open(dir, 1).map_err(|error| format!("it does not open: {error}"))?;
    let entries = look(&store, |tx| Ok(read_all(tx)))??;
    let mut survey = Survey { n_kept: 0, n_forgiven: 0, on_disk: Vec::new() };
    for promise in promises {
        if is_kept(promise, &entries)? {
            survey.n_kept += usize::from(promise.strength == Strength::Durable);
            survey.on_disk.push(Promise { strength: Strength::Durable, what: promise.what.clone() });
        } else if promise.strength == Strength::Durable {
            return Err(format!(
                "`{}` was acknowledged and is gone; the last entry is {}",
                promise.what,
                entries.len()
            ));
        } else {
            survey.n_forgiven += 1;
        }
    }
    look(&store, move |tx| Ok(rows_fit(tx, &entries)))??;
    survey.on_disk.push(go_on(&store)?);
    Ok(survey)
}

fn look<T: Send + 'static>(
    store: &Store,
    look: impl FnOnce(&ReadTx<'_>) -> Result<T, silas_store::Error> + Send + 'static,
) -> Result<T, String> {
    store.read(look).wait().map_err(|error| error.to_string())
}

/// The whole ledger, verified, from a database that SQLite finds whole.
fn read_all(tx: &ReadTx<'_>) -> Result<Vec<ledger::Entry>, String> {
    let text = |error: silas_store::Error| error.to_string();
    let health: Vec<String> = tx.query("PRAGMA integrity_check", [], |row| Ok(row.get(0)?)).map_err(text)?;
    if health != ["ok"] {
        return Err(format!("the database is damaged: {health:?}"));
    }
    let verified = ledger::verify(tx).map_err(text)?;
    if let Some(broken) = verified.broken {
        return Err(broken.to_string());
    }
    let mut entries = Vec::new();
    loop {
        let page = ledger::entries(tx, entries.len() as u64 + 1, ledger::ENTRIES_MAX).map_err(text)?;
        if page.is_empty() {
            break;
        }
        entries.extend(page);
    }
    match entries.len() as u64 == verified.entries {
        true => Ok(entries),
        false => Err(format!("{} entries were verified and {} are there", verified.entries, entries.len())),
    }
}

/// False if the ledger ends before it. An error if something else is in its place.
fn is_kept(promise: &Promise, entries: &[ledger::Entry]) -> Result<bool, String> {
    let words: Vec<&str> = promise.what.split(' ').collect();
    let [kind, subject, seq] = words[..] else { return Err(format!("`{}` is no promise", promise.what)) };
    let seq: usize = seq.parse().map_err(|_| format!("`{}` has no number", promise.what))?;
    let Some(entry) = entries.get(seq - 1) else { return Ok(false) };
    let found = match &entry.event {
        Some(AuditEvent::StreamStarted { version }) => ("put", version.as_str()),
        Some(AuditEvent::MessageReceived { message, .. }) => ("message", message.as_str()),
        Some(AuditEvent::TextForgotten { entry, .. }) if entry.to_string() == subject => ("forgot", subject),
        Some(AuditEvent::DecisionRecorded { token, .. }) => ("token", token.as_str()),
        Some(AuditEvent::TokenSpent { execution, .. }) => ("spent", execution.as_str()),
        Some(AuditEvent::WorkApplied { execution, .. }) => ("applied", execution.as_str()),
        other => return Err(format!("entry {seq} is {other:?}")),
    };
    match found == (kind, subject) {
        true => Ok(true),
        false => Err(format!("`{}` was acknowledged, and entry {seq} is {found:?}", promise.what)),
    }
}

/// What the entries say must be there, and nothing else.
#[derive(Default)]
struct Expected {
    keys: BTreeSet<String>,
    messages: BTreeMap<String, String>,
    /// How often each token was spent.
    tokens: BTreeMap<String, u32>,
    /// Token, number of the use, and whether it is over.
    executions: BTreeMap<String, (String, u32, bool)>,
}

fn rows_fit(tx: &ReadTx<'_>, entries: &[ledger::Entry]) -> Result<(), String> {
    let expected = expect(tx, entries)?;
    let text = |error: silas_store::Error| error.to_string();
    let settings_rows: Vec<(String, String)> = tx
        .query("SELECT key, value FROM settings WHERE key <> 'counter'", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(text)?;
    for (key, value) in &settings_rows {
        if *value != format!("\"{}\"", value_of(key)) {
            return Err(format!("the value of {key} is not the one that was written"));
        }
    }
    same("settings", settings_rows.into_iter().map(|(key, _)| key).collect(), expected.keys.clone())?;
    let n_rows: u64 = settings::get(tx, COUNTER).map_err(text)?.unwrap_or(0);
    same("the count of settings", n_rows, expected.keys.len() as u64)?;
    let messages = tx.query("SELECT id, text FROM chronicle", [], |row| Ok((row.get(0)?, row.get(1)?)));
    same("messages", messages.map_err(text)?.into_iter().collect(), expected.messages.clone())?;
    let outbox = tx.query("SELECT message_id, seq FROM channel_outbox ORDER BY seq", [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?))
    });
    let (on_their_way, numbers): (BTreeSet<String>, Vec<u32>) = outbox.map_err(text)?.into_iter().unzip();
    same("what is on its way", on_their_way, expected.messages.into_keys().collect())?;
    same("the numbers of the outbox", numbers.clone(), (1..=numbers.len() as u32).collect())?;
    let tokens = tx.query("SELECT token_id, executions_used, max_executions FROM tokens", [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?, row.get::<_, u32>(2)?))
    });
    let tokens = tokens.map_err(text)?;
    if let Some((token, used, max)) = tokens.iter().find(|(_, used, max)| used > max) {
        return Err(format!("{token} was spent {used} times of {max}"));
    }
    same("tokens", tokens.into_iter().map(|(token, used, _)| (token, used)).collect(), expected.tokens)?;
    let executions = tx.query("SELECT id, token_id, use_number, state FROM executions", [], |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get::<_, String>(3)? == "applied")))
    });
    same("executions", executions.map_err(text)?.into_iter().collect(), expected.executions)
}

fn expect(tx: &ReadTx<'_>, entries: &[ledger::Entry]) -> Result<Expected, String> {
    let mut expected = Expected::default();
    for entry in entries {
        match &entry.event {
            Some(AuditEvent::StreamStarted { version }) => {
                if version.starts_with("never") || !expected.keys.insert(version.clone()) {
                    return Err(format!("{version} must not be there, or not twice"));
                }
            }
            Some(AuditEvent::MessageReceived { message, text, .. }) => {
                // That a text which is gone was forgotten is what verifying the ledger has shown.
                let text = ledger::text_of(tx, text).map_err(|error| error.to_string())?;
                expected.messages.insert(message.to_string(), text.unwrap_or_default());
            }
            Some(AuditEvent::TextForgotten { entry, .. }) => {
                let forgotten = entries.get(*entry as usize - 1).and_then(|entry| entry.event.as_ref());
                let Some(AuditEvent::MessageReceived { message, .. }) = forgotten else {
                    return Err(format!("entry {entry} was forgotten and had no words"));
                };
                same("a forgotten text", expected.messages.get(message.as_str()), Some(&String::new()))?;
            }
            Some(AuditEvent::DecisionRecorded { token, .. }) => {
                expected.tokens.insert(token.to_string(), 0);
            }
            Some(AuditEvent::TokenSpent { token, execution, use_number, .. }) => {
                let used = expected.tokens.get_mut(token.as_str()).ok_or("a token was spent before it was kept")?;
                same("the number of a use", *use_number, *used)?;
                *used += 1;
                expected.executions.insert(execution.to_string(), (token.to_string(), *use_number, false));
            }
            Some(AuditEvent::WorkApplied { execution, .. }) => {
                let running = expected.executions.get_mut(execution.as_str()).ok_or("work ended before it began")?;
                if std::mem::replace(&mut running.2, true) {
                    return Err(format!("{execution} ended twice"));
                }
            }
            other => return Err(format!("nobody recorded {other:?}")),
        }
    }
    Ok(expected)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: the rows say {found:?}, the ledger says {expected:?}")),
    }
}

/// What was recovered can be worked with: one more durable change, and the chain holds it.
fn go_on(store: &Store) -> Result<Promise, String> {
    let key = format!("after-{}-10", store.ledger_head());
    let said =
        store.write(move |tx| put(tx, &key)).wait().map_err(|error| format!("nothing can be written: {error}"))?;
    let verified = look(store, ledger::verify)?;
    match verified.broken {
        None => Ok(Promise { strength: Strength::Durable, what: said.unwrap_or_default() }),
        Some(broken) => Err(format!("after one more change: {broken}")),
    }
}
