//! Checking a proof: from the spelling of the file to what the checks come to. Everything that the entries claim is
//! computed again from what they name.
//!
//! [`account`] is the part that needs no checkpoint; the page of the machine itself tells from the same reading what the
//! file will show elsewhere.

use super::decided::{Order, allowed_plan, first_decision, tokens_of};
use super::tale::Tale;
use super::{Bundle, ENTRIES_MAX, FORMAT, Landed, Refusal, VERSION};
use crate::books::{Beside, Books};
use crate::chain::{Broken, Chain, Reason};
use crate::check::{CheckResult, Outcome};
use crate::checkpoint::{Claim, Head, Statement};
use crate::device::Certificate;
use crate::event::{AuditEvent, Effect, Text};
use crate::evidence::{self, Anchor};
use crate::export::{Entry, SaltedText};
use crate::outside::Reach;
use crate::signature::PublicKey;
use crate::token::Kind;
use crate::work::WorkItem;
use crate::{ExecutionId, InstallationId, Timestamp, TokenId, canonical};
use serde_json::error::Category;
use std::collections::BTreeSet;
use std::time::Duration;

/// What a proof shows. Only [`verify`] and [`account`] make one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proven {
    pub plan: WorkItem,
    pub token: TokenId,
    pub execution: ExecutionId,
    /// What kind of decision allowed the work.
    pub allowed: Kind,
    /// Of the device that the decision was signed on.
    pub device: Certificate,
    /// Of the device on which exactly these changes were approved, where the result waited for that.
    pub applied_on: Option<Certificate>,
    /// When it was taken; of standing rules, when they were used.
    pub decided_at: Timestamp,
    pub started_at: Timestamp,
    pub applied_at: Timestamp,
    /// How long the work itself took, without the time that it lay interrupted or waited for the owner.
    pub worked: Duration,
    pub before: Vec<CheckResult>,
    /// The plan's commands that did not exit with 0, by their number, with what they exited with; nothing for one that was
    /// ended.
    pub failed: Vec<(u32, Option<i32>)>,
    pub after: Vec<CheckResult>,
    pub outcome: Outcome,
    /// How many files the entry says were put in place.
    pub files: u32,
    pub landed: Landed,
    pub reach: Reach,
    /// How often it was interrupted and begun again.
    pub n_resumed: u32,
    /// When it was taken back, by another decision.
    pub undone_at: Option<Timestamp>,
    pub first_entry: u64,
    pub last_entry: u64,
    /// Entries in between that this version does not know. They are in their place; what they mean was not checked.
    pub n_unknown: u64,
}

/// Checks the whole file. `root` is the key that the reader trusts; without one the file's own is taken at its word.
pub fn verify(text: &str, root: Option<&PublicKey>) -> Result<(Bundle, Proven), Refusal> {
    let bundle = read(text)?;
    if root.is_some_and(|root| *root != bundle.root) {
        return Err(Refusal::OtherRoot { found: String::from(bundle.root) });
    }
    bundle.server.check(&bundle.root, &bundle.installation).map_err(Refusal::Server)?;
    let head = signed_head(&bundle.checkpoint, &bundle.server.body.public, &bundle.installation)?;
    let plan = bundle.plan.as_deref();
    let proven = account(&bundle.entries, plan, &bundle.execution, &bundle.root, &bundle.installation)?;
    if proven.last_entry != head.seq {
        return Err(Refusal::Uncovered { signed: head.seq, last: proven.last_entry });
    }
    match bundle.entries.last() {
        Some(last) if last.link.hash == head.hash => Ok((bundle, proven)),
        _ => Err(Refusal::OtherEntry(head.seq)),
    }
}

/// A file that was damaged is told from one that never was a proof by how every proof begins, and by the mark in it.
fn read(text: &str) -> Result<Bundle, Refusal> {
    let has_mark = text.starts_with("{\"checkpoint\":{\"body\":") || text.contains(&format!("\"format\":\"{FORMAT}\""));
    let bundle: Bundle = canonical::read(text).map_err(|cause| match cause {
        _ if !has_mark => Refusal::NotAProof,
        canonical::Error::Unreadable(cause) => match cause.classify() {
            Category::Eof => Refusal::NotWhole("it ends in the middle".to_owned()),
            Category::Syntax | Category::Io => Refusal::NotWhole(format!("it is damaged ({cause})")),
            Category::Data => Refusal::Unreadable(cause.to_string()),
        },
        cause @ (canonical::Error::NotJson(_) | canonical::Error::Number) => Refusal::Unreadable(cause.to_string()),
    })?;
    if bundle.format != FORMAT || bundle.v != VERSION {
        return Err(Refusal::NotAProof);
    }
    if bundle.to_text().is_ok_and(|again| again == text) { Ok(bundle) } else { Err(Refusal::Spelling) }
}

fn signed_head(checkpoint: &Statement, server: &PublicKey, installation: &InstallationId) -> Result<Head, Refusal> {
    let is_ours = checkpoint.verifies(server, Claim::Checkpoint) && checkpoint.body.installation == *installation;
    if is_ours { Ok(checkpoint.body.head) } else { Err(Refusal::Checkpoint) }
}

/// Reads the entries of one piece of work, from its decision to its end: the chain, the approval and its spending, the
/// checks, the change. `plan` is there for work under the house rules only.
pub fn account(
    entries: &[Entry],
    plan: Option<&str>,
    execution: &ExecutionId,
    root: &PublicKey,
    installation: &InstallationId,
) -> Result<Proven, Refusal> {
    if entries.len() > ENTRIES_MAX {
        return Err(Refusal::TooLong);
    }
    let read = chained(entries)?;
    let (decided_at, token, decision) = first_decision(&read, execution)?;
    let anchor = Anchor {
        root: *root,
        installation: installation.clone(),
        // A restore begins a new one; the decision names the one it was made in, under its signature.
        epoch: decision.token.body.offer.epoch,
    };
    let allowed = decision.token.body.offer.kind;
    let (text, plan) = allowed_plan(decision, plan, execution, &anchor, decided_at)?;
    let order = Order::find(&read, execution, &text, &anchor)?;
    let mut tokens = tokens_of(&read, &token, execution);
    tokens.extend(order.iter().map(|order| order.token.clone()));
    add_up(&read, &tokens, execution, &anchor)?;
    let mut tale = Tale::of(&read, execution, &plan, order.as_ref())?;
    let (Some(started_at), Some((applied_at, outcome, files, landed))) = (tale.started_at, tale.applied.take()) else {
        return Err(Refusal::NotApplied);
    };
    let worked = tale.worked_until(applied_at);
    Ok(Proven {
        plan,
        token,
        execution: execution.clone(),
        allowed,
        device: decision.certificate.clone(),
        applied_on: order.map(|order| order.certificate.clone()),
        decided_at,
        started_at,
        applied_at,
        worked,
        before: tale.before.unwrap_or_default(),
        after: tale.after.unwrap_or_default(),
        outcome,
        files,
        landed,
        reach: tale.reach,
        n_resumed: tale.n_resumed,
        failed: tale.failed,
        undone_at: tale.undone_at,
        first_entry: read.first().map_or(0, |entry| entry.seq),
        last_entry: read.last().map_or(0, |entry| entry.seq),
        n_unknown: read.iter().filter(|entry| entry.event.is_none()).count() as u64,
    })
}

/// An entry whose place in the chain is known to be right.
pub(super) struct Read<'a> {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    /// `None` for an event of another version.
    pub(super) event: Option<AuditEvent>,
    pub(super) beside: Option<&'a Beside>,
    pub(super) text: Option<&'a str>,
}

fn chained(entries: &[Entry]) -> Result<Vec<Read<'_>>, Refusal> {
    let Some(first) = entries.first() else { return Err(Refusal::NoDecision) };
    let before = Head { seq: first.link.seq.saturating_sub(1), hash: first.link.prev };
    let mut chain = Chain::after(before, Timestamp::EPOCH);
    let mut read = Vec::with_capacity(entries.len());
    for Entry { link, beside, text } in entries {
        let body = chain.extend(link)?;
        let event: Option<AuditEvent> = serde_json::from_value(body).ok();
        let text = text.as_ref().map(|text| named(link.seq, event.as_ref(), text)).transpose()?;
        read.push(Read { seq: link.seq, at: link.at, event, beside: beside.as_ref(), text });
    }
    Ok(read)
}

/// The text, if it is the one that the entry names.
fn named<'a>(seq: u64, event: Option<&AuditEvent>, text: &'a SaltedText) -> Result<&'a str, Refusal> {
    let wanted = event.and_then(AuditEvent::text).ok_or(Refusal::Needless(seq))?;
    let fits = Text::read_salt(&text.salt).is_some_and(|salt| Text::of(&salt, &text.text) == *wanted);
    if fits { Ok(&text.text) } else { Err(Broken { seq, reason: Reason::TextAltered }.into()) }
}

/// Whether an event tells of this work or of the decisions about it.
pub fn concerns(event: &AuditEvent, tokens: &BTreeSet<TokenId>, execution: &ExecutionId) -> bool {
    match event.about().effect {
        // House rules have no card: they were signed long before, and lie beside their use.
        Effect::Decides { card: Some(_), token, .. } | Effect::Spends { token, .. } => tokens.contains(token),
        effect => effect.execution() == Some(execution),
    }
}

/// Holds approvals against their spendings and effects, with the rules of the whole ledger. What is beside an entry must
/// belong there: nothing is carried along that nobody checks.
fn add_up(
    read: &[Read<'_>],
    tokens: &BTreeSet<TokenId>,
    execution: &ExecutionId,
    anchor: &Anchor,
) -> Result<(), Refusal> {
    let mut books = Books::open(anchor.root, anchor.installation.clone());
    for (n, entry) in read.iter().enumerate() {
        let event = entry.event.as_ref().filter(|event| concerns(event, tokens, execution));
        let has_text = entry.text.is_some();
        let needs_text = event.is_some_and(|event| event.about().proves_by_text);
        let needs_decision = match event {
            Some(AuditEvent::DecisionRecorded { .. }) => true,
            // The use of standing rules that the proof begins with.
            Some(AuditEvent::TokenSpent { .. }) => n == 0,
            _ => false,
        };
        if needs_text && !has_text {
            return Err(Refusal::TextMissing(entry.seq));
        }
        if has_text != needs_text || entry.beside.is_some() != needs_decision {
            return Err(Refusal::Needless(entry.seq));
        }
        if let Some(Beside::Decision(decision)) = entry.beside {
            let certificate = &decision.certificate;
            certificate
                .check(&anchor.root, &anchor.installation)
                .map_err(|why| Refusal::Decision(evidence::Refusal::Certificate(why)))?;
            books.knows_device(certificate.body.key.clone());
            if let Some(AuditEvent::TokenSpent { token, .. }) = event {
                books.knows_rules(token.clone(), decision);
            }
        }
        let is_restore = matches!(entry.event, Some(AuditEvent::RestoredFromBackup { .. }));
        let counted = if is_restore { entry.event.as_ref() } else { event };
        if counted.is_some() {
            books.enter(entry.seq, entry.at, counted, entry.beside)?;
        }
    }
    books.close(read.last().map_or(0, |entry| entry.seq))?;
    Ok(())
}
