//! The part of the ledger that tells of one piece of work: every entry from its decision, or from the use of the house
//! rules for it, to its end, with what a proof needs beside them. What it is worth is [`silas_core::bundle`]'s matter.

use crate::{Error, ReadTx, books, ledger, tokens};
use silas_core::books::{Beside, Decision};
use silas_core::bundle::{ENTRIES_MAX, concerns};
use silas_core::event::AuditEvent;
use silas_core::export::Entry;
use silas_core::{ExecutionId, TokenId};
use std::collections::BTreeSet;

/// Entries held in memory at a time besides those that are kept.
const BATCH: u32 = 500;
/// A decision is recorded, spent and begun in one transaction, so few entries lie between.
const BACK: u64 = 16;

/// Whose entries are wanted, and where to look.
pub struct Wanted<'a> {
    pub token: &'a TokenId,
    /// Whether that is a standing one: then the part begins with its use.
    pub is_standing: bool,
    /// The decision that had its result put in place, if it waited for one.
    pub applied_by: Option<&'a TokenId>,
    pub execution: &'a ExecutionId,
    /// The entry that says that the work began.
    pub started: u64,
    /// Whether it was taken back since: then that is its end.
    pub is_undone: bool,
}

/// `None` where the ledger does not tell of it whole, or only over more entries than a proof may have.
pub fn segment(tx: &ReadTx<'_>, wanted: &Wanted<'_>) -> Result<Option<Vec<Entry>>, Error> {
    let Some(found) = gather(tx, wanted)? else { return Ok(None) };
    let undone = found.iter().filter_map(|entry| match &entry.event {
        Some(AuditEvent::WorkUndone { execution, token, .. }) if execution == wanted.execution => Some(token.clone()),
        _ => None,
    });
    let decided = [wanted.token].into_iter().chain(wanted.applied_by).cloned();
    let tokens: BTreeSet<TokenId> = undone.chain(decided).collect();
    let first = found.first().map_or(0, |entry| entry.seq);
    let with_what_it_needs = |entry: ledger::Entry| {
        let event = entry.event.as_ref().filter(|event| concerns(event, &tokens, wanted.execution));
        let beside = match event {
            Some(event @ AuditEvent::DecisionRecorded { .. }) => books::beside(tx, event)?,
            // House rules were signed long before: they lie beside their use.
            Some(AuditEvent::TokenSpent { token, use_number, .. }) if entry.seq == first => {
                rules_as_used(tx, token, *use_number)?
            }
            _ => None,
        };
        let named = event.map(AuditEvent::about).filter(|about| about.proves_by_text).and_then(|about| about.text);
        let text = named.map_or(Ok(None), |text| ledger::salted_text(tx, text))?;
        Ok(Entry { link: entry.into_link(), beside, text })
    };
    found.into_iter().map(with_what_it_needs).collect::<Result<Vec<_>, Error>>().map(Some)
}

/// As they were when they were used: what was done under them since is another matter.
fn rules_as_used(tx: &ReadTx<'_>, token: &TokenId, use_number: u32) -> Result<Option<Beside>, Error> {
    let Some(stored) = tokens::get(tx, token)? else { return Ok(None) };
    Ok(Some(Beside::Decision(Box::new(Decision {
        token: stored.token,
        certificate: stored.certificate,
        payload: stored.payload,
        card: None,
        executions_used: use_number,
    }))))
}

fn gather(tx: &ReadTx<'_>, wanted: &Wanted<'_>) -> Result<Option<Vec<ledger::Entry>>, Error> {
    let mut found: Vec<ledger::Entry> = Vec::new();
    let mut next = wanted.started.saturating_sub(BACK).max(1);
    while found.len() <= ENTRIES_MAX {
        let batch = ledger::entries(tx, next, BATCH)?;
        let Some(last) = batch.last() else { return Ok(None) };
        next = last.seq + 1;
        for entry in batch {
            let begins = match &entry.event {
                Some(AuditEvent::DecisionRecorded { token, .. }) => token == wanted.token && !wanted.is_standing,
                Some(AuditEvent::TokenSpent { execution, .. }) => execution == wanted.execution && wanted.is_standing,
                _ => false,
            };
            if found.is_empty() && !begins {
                continue;
            }
            let ends = match &entry.event {
                Some(AuditEvent::WorkApplied { execution, .. }) => execution == wanted.execution && !wanted.is_undone,
                Some(AuditEvent::WorkUndone { execution, .. }) => execution == wanted.execution,
                _ => false,
            };
            found.push(entry);
            if ends {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}
