//! Checking a proof: from the spelling of the file to what the checks come to. Everything that the entries claim is
//! computed again from what they name.
//!
//! [`account`] is the part that needs no checkpoint; the page of the machine itself tells from the same reading what the
//! file will show elsewhere.

use super::{Bundle, ENTRIES_MAX, FORMAT, Landed, Refusal, VERSION};
use crate::books::{Beside, Books, Decision};
use crate::chain::{Broken, Chain, Reason};
use crate::changeset::{Changeset, FileDiff};
use crate::check::{Check, CheckResult, Expectation, Outcome};
use crate::checkpoint::{Claim, Head, Statement};
use crate::device::Certificate;
use crate::event::{AuditEvent, Phase, Text};
use crate::evidence::{self, Anchor, Evidence, When};
use crate::export::{Entry, SaltedText};
use crate::outside::Reach;
use crate::rehearsal::{ApplyOrder, Findings};
use crate::revocation::Revocations;
use crate::signature::PublicKey;
use crate::token::Kind;
use crate::work::WorkItem;
use crate::{ExecutionId, InstallationId, Timestamp, TokenId, canonical};
use std::collections::BTreeSet;

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
    pub before: Vec<CheckResult>,
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
        return Err(Refusal::OtherRoot { found: bundle.root.id().to_string() });
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
    let bundle: Bundle = canonical::read(text).map_err(|cause| match has_mark {
        true => Refusal::Unreadable(cause.to_string()),
        false => Refusal::NotAProof,
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
    let tale = Tale::of(&read, execution, &plan, order.as_ref())?;
    let (Some(started_at), Some((applied_at, outcome, files, landed))) = (tale.started_at, tale.applied) else {
        return Err(Refusal::NotApplied);
    };
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
        before: tale.before.unwrap_or_default(),
        after: tale.after.unwrap_or_default(),
        outcome,
        files,
        landed,
        reach: tale.reach,
        n_resumed: tale.n_resumed,
        undone_at: tale.undone_at,
        first_entry: read.first().map_or(0, |entry| entry.seq),
        last_entry: read.last().map_or(0, |entry| entry.seq),
        n_unknown: read.iter().filter(|entry| entry.event.is_none()).count() as u64,
    })
}

/// An entry whose place in the chain is known to be right.
struct Read<'a> {
    seq: u64,
    at: Timestamp,
    /// `None` for an event of another version.
    event: Option<AuditEvent>,
    beside: Option<&'a Beside>,
    text: Option<&'a str>,
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

/// A decision about the plan begins the proof when it is recorded. House rules were signed long before; with them it
/// begins when they are used for this work, and they lie beside that.
fn first_decision<'a>(
    read: &[Read<'a>],
    execution: &ExecutionId,
) -> Result<(Timestamp, TokenId, &'a Decision), Refusal> {
    let Some(first) = read.first() else { return Err(Refusal::NoDecision) };
    let Some(Beside::Decision(decision)) = first.beside else { return Err(Refusal::NoDecision) };
    let is_standing = decision.token.body.offer.kind == Kind::HouseRules;
    match &first.event {
        Some(AuditEvent::DecisionRecorded { token, .. }) if !is_standing => {
            Ok((first.at, token.clone(), decision.as_ref()))
        }
        Some(AuditEvent::TokenSpent { token, execution: of, .. }) if is_standing && of == execution => {
            let is_the_one = decision.token.id().is_ok_and(|id| id == *token) && decision.card.is_none();
            if is_the_one { Ok((first.at, token.clone(), decision.as_ref())) } else { Err(Refusal::NoDecision) }
        }
        _ => Err(Refusal::NoDecision),
    }
}

/// The plan that the decision lets be carried out, and its canonical text. It was taken at its time; what was revoked
/// later does not make that untrue.
fn allowed_plan(
    decision: &Decision,
    plan: Option<&str>,
    execution: &ExecutionId,
    anchor: &Anchor,
    at: Timestamp,
) -> Result<(String, WorkItem), Refusal> {
    let none = Revocations::default();
    let kind = decision.token.body.offer.kind;
    let evidence = evidence_of(decision, execution.clone(), plan);
    if kind == Kind::HouseRules {
        let allowed = evidence::verify_rehearsal(&evidence, anchor, &none, When::At(at));
        let (_, item, _) = allowed.map_err(Refusal::Decision)?;
        return Ok((plan.unwrap_or_default().to_owned(), item));
    }
    if plan.is_some() {
        return Err(Refusal::Plan("there are two".to_owned()));
    }
    let asked = if kind == Kind::Rehearsal { Kind::Rehearsal } else { Kind::Plan };
    evidence::verify(&evidence, asked, anchor, &none, When::At(at)).map_err(Refusal::Decision)?;
    let item = WorkItem::from_canonical(&decision.payload).map_err(Refusal::Plan)?;
    Ok((decision.payload.clone(), item))
}

fn evidence_of(decision: &Decision, execution: ExecutionId, plan: Option<&str>) -> Evidence {
    Evidence {
        token: decision.token.clone(),
        certificate: decision.certificate.clone(),
        payload: decision.payload.clone(),
        execution,
        roots: Vec::new(),
        plan: plan.map(str::to_owned),
    }
}

/// The decision to put in place what waited.
struct Order<'a> {
    token: TokenId,
    certificate: &'a Certificate,
    what: ApplyOrder,
}

impl<'a> Order<'a> {
    /// The last one about this work that the proof brings along, checked against the plan that was carried out. There may
    /// have been others before it, which came to nothing.
    fn find(read: &[Read<'a>], execution: &ExecutionId, plan: &str, anchor: &Anchor) -> Result<Option<Self>, Refusal> {
        let brought = read.iter().rev().find_map(|entry| match (&entry.event, entry.beside) {
            (Some(AuditEvent::DecisionRecorded { token, kind: Kind::Apply, .. }), Some(Beside::Decision(decision))) => {
                Some((entry.at, token.clone(), decision.as_ref()))
            }
            _ => None,
        });
        let Some((at, token, decision)) = brought else { return Ok(None) };
        let evidence = evidence_of(decision, ExecutionId::derive(&token, 0), Some(plan));
        let checked = evidence::verify_apply(&evidence, anchor, &Revocations::default(), When::At(at));
        let (_, what, _) = checked.map_err(Refusal::Decision)?;
        if what.execution != *execution {
            return Err(Refusal::Decision(evidence::Refusal::Execution));
        }
        Ok(Some(Order { token, certificate: &decision.certificate, what }))
    }
}

/// The decision that allowed the work, and the one that took it back if one did.
fn tokens_of(read: &[Read<'_>], token: &TokenId, execution: &ExecutionId) -> BTreeSet<TokenId> {
    let undone = read.iter().filter_map(|entry| match &entry.event {
        Some(AuditEvent::WorkUndone { execution: of, token, .. }) if of == execution => Some(token.clone()),
        _ => None,
    });
    undone.chain([token.clone()]).collect()
}

/// Whether an event tells of this work or of the decisions about it.
pub fn concerns(event: &AuditEvent, tokens: &BTreeSet<TokenId>, execution: &ExecutionId) -> bool {
    match event {
        AuditEvent::DecisionRecorded { token, .. } | AuditEvent::TokenSpent { token, .. } => tokens.contains(token),
        AuditEvent::WorkStarted { execution: of, .. }
        | AuditEvent::ExecutionResumed { execution: of }
        | AuditEvent::ChecksRun { execution: of, .. }
        | AuditEvent::StepBegun { execution: of, .. }
        | AuditEvent::StepRun { execution: of, .. }
        | AuditEvent::AttemptBegun { execution: of, .. }
        | AuditEvent::ToolCalled { execution: Some(of), .. }
        | AuditEvent::ToolReturned { execution: Some(of), .. }
        | AuditEvent::ToolRefused { execution: Some(of), .. }
        | AuditEvent::ConnectionMade { execution: of, .. }
        | AuditEvent::ConnectionRefused { execution: of, .. }
        | AuditEvent::CredentialUsed { execution: of, .. }
        | AuditEvent::CredentialRefused { execution: of, .. }
        | AuditEvent::WorkRehearsed { execution: of, .. }
        | AuditEvent::WorkApplied { execution: of, .. }
        | AuditEvent::WorkEnded { execution: of, .. }
        | AuditEvent::EffectUnknown { execution: of, .. }
        | AuditEvent::ApplyConflicted { execution: of, .. }
        | AuditEvent::WorkUndone { execution: of, .. }
        | AuditEvent::UndoWindowClosed { execution: of } => of == execution,
        _ => false,
    }
}

impl AuditEvent {
    /// Whether a proof needs the text of this event. What commands printed is not part of one; what checks showed is.
    pub fn proves_by_text(&self) -> bool {
        matches!(
            self,
            AuditEvent::ChecksRun { .. }
                | AuditEvent::WorkApplied { .. }
                | AuditEvent::ConnectionMade { .. }
                | AuditEvent::ConnectionRefused { .. }
                | AuditEvent::CredentialUsed { .. }
                | AuditEvent::CredentialRefused { .. }
        )
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
        let needs_text = event.is_some_and(AuditEvent::proves_by_text);
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

/// What the entries tell, read in order.
#[derive(Default)]
struct Tale {
    started_at: Option<Timestamp>,
    before: Option<Vec<CheckResult>>,
    /// The plan's commands that have run, each once and in order.
    n_steps: u32,
    after: Option<Vec<CheckResult>>,
    /// The checks as they were when the result was laid aside.
    rehearsed: Option<(Vec<CheckResult>, Vec<CheckResult>)>,
    /// The entry of the decision to put it in place.
    ordered: Option<u64>,
    applied: Option<(Timestamp, Outcome, u32, Landed)>,
    reach: Reach,
    n_resumed: u32,
    undone_at: Option<Timestamp>,
}

impl Tale {
    fn of(
        read: &[Read<'_>],
        execution: &ExecutionId,
        plan: &WorkItem,
        order: Option<&Order<'_>>,
    ) -> Result<Self, Refusal> {
        let mut tale = Tale::default();
        let mut ends_at = 0;
        for entry in read {
            let text = || entry.text.ok_or(Refusal::TextMissing(entry.seq));
            match &entry.event {
                Some(AuditEvent::WorkStarted { execution: of, .. }) if of == execution => {
                    tale.started_at = Some(entry.at);
                }
                // A fresh copy, a fresh story.
                Some(AuditEvent::ExecutionResumed { execution: of }) if of == execution => {
                    (tale.before, tale.n_steps, tale.after, tale.rehearsed) = (None, 0, None, None);
                    tale.n_resumed += 1;
                }
                Some(AuditEvent::ChecksRun { execution: of, when, passed, failed, .. }) if of == execution => {
                    let results = results(entry.seq, text()?, (*passed, *failed), &plan.definition().verify)?;
                    tale.checked(entry.seq, *when, results)?;
                }
                Some(AuditEvent::StepRun { execution: of, step, .. }) if of == execution => {
                    tale.ran(entry.seq, *step)?;
                }
                Some(AuditEvent::ConnectionMade { execution: of, .. }) if of == execution => {
                    // The grant, and where that led.
                    let host = text()?.split(" at ").next().unwrap_or_default();
                    *tale.reach.hosts.entry(host.to_owned()).or_default() += 1;
                }
                Some(AuditEvent::ConnectionRefused { execution: of, .. }) if of == execution => {
                    tale.reach.refused += 1;
                }
                Some(AuditEvent::CredentialUsed { execution: of, .. }) if of == execution => {
                    *tale.reach.secrets.entry(text()?.to_owned()).or_default() += 1;
                }
                Some(AuditEvent::WorkRehearsed { execution: of, changeset, outcome, .. }) if of == execution => {
                    tale.judged(entry.seq, *outcome, plan)?;
                    if order.is_some_and(|order| order.what.changeset != *changeset) {
                        return Err(Refusal::Changeset(entry.seq));
                    }
                    tale.rehearsed = tale.before.clone().zip(tale.after.clone());
                }
                Some(AuditEvent::DecisionRecorded { token, .. })
                    if order.is_some_and(|order| order.token == *token) =>
                {
                    // Nobody can decide about a result that is not there yet.
                    if tale.rehearsed.is_none() {
                        return Err(Refusal::Order(entry.seq));
                    }
                    tale.ordered = Some(entry.seq);
                }
                Some(AuditEvent::WorkApplied { execution: of, changeset, files, outcome, .. }) if of == execution => {
                    let landed: Landed = canonical::read(text()?).map_err(|_| Refusal::Content(entry.seq))?;
                    tale.judged(entry.seq, *outcome, plan)?;
                    if landed.changeset.hash().ok() != Some(*changeset) {
                        return Err(Refusal::Changeset(entry.seq));
                    }
                    shows_what_changed(&landed, plan)?;
                    if let Some(order) = order {
                        tale.is_what_was_decided(entry.seq, &order.what, &landed)?;
                    }
                    tale.applied = Some((entry.at, *outcome, *files, landed));
                    ends_at = entry.seq;
                }
                Some(AuditEvent::WorkUndone { execution: of, .. }) if of == execution => {
                    tale.undone_at = Some(entry.at);
                    ends_at = entry.seq;
                }
                _ => {}
            }
        }
        // What comes after the end could be anything, and nobody asked for it.
        match read.last() {
            Some(last) if last.seq > ends_at && tale.applied.is_some() => Err(Refusal::Beyond(ends_at + 1)),
            _ => Ok(tale),
        }
    }

    fn checked(&mut self, seq: u64, when: Phase, results: Vec<CheckResult>) -> Result<(), Refusal> {
        match when {
            Phase::Before if self.before.is_none() => self.before = Some(results),
            // More than once if the owner changed something meanwhile: the last time counts.
            Phase::After if self.before.is_some() && self.applied.is_none() => self.after = Some(results),
            Phase::Before | Phase::After => return Err(Refusal::Order(seq)),
        }
        Ok(())
    }

    fn ran(&mut self, seq: u64, step: u32) -> Result<(), Refusal> {
        if self.before.is_none() || self.after.is_some() || step != self.n_steps {
            return Err(Refusal::Order(seq));
        }
        self.n_steps += 1;
        Ok(())
    }

    /// What was on the card when its changes were approved is what the ledger has of them.
    fn is_what_was_decided(&self, seq: u64, order: &ApplyOrder, landed: &Landed) -> Result<(), Refusal> {
        let (Some((before, after)), Some(ordered)) = (&self.rehearsed, self.ordered) else {
            return Err(Refusal::Order(seq));
        };
        let findings = Findings { before, after, diffs: &landed.diffs };
        if findings.hash().ok() == Some(order.findings) { Ok(()) } else { Err(Refusal::Findings(ordered)) }
    }

    /// What the two runs come to, computed again. All of the plan's commands ran between them.
    fn judged(&self, seq: u64, recorded: Outcome, plan: &WorkItem) -> Result<(), Refusal> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Err(Refusal::Order(seq)) };
        if self.n_steps as usize != plan.definition().steps.len() {
            return Err(Refusal::Steps { ran: self.n_steps, planned: plan.definition().steps.len() });
        }
        let computed = Outcome::of(before, after);
        if computed == recorded { Ok(()) } else { Err(Refusal::Outcome { seq, recorded, computed }) }
    }
}

/// The results of one run: of exactly the plan's checks, as many as the entry counts, none green that its own numbers
/// show to be red.
fn results(seq: u64, text: &str, counted: (u32, u32), checks: &[Check]) -> Result<Vec<CheckResult>, Refusal> {
    let results: Vec<CheckResult> = serde_json::from_str(text).map_err(|_| Refusal::Content(seq))?;
    let wrong = |what| Err(Refusal::Checks { seq, what });
    let same = results.len() == checks.len() && results.iter().zip(checks).all(|(r, check)| r.name == check.name);
    if !same {
        return wrong("they are of other checks");
    }
    let n_passed = results.iter().filter(|result| result.passed).count();
    if (n_passed, results.len() - n_passed) != (counted.0 as usize, counted.1 as usize) {
        return wrong("they are not as many as it counts");
    }
    for (result, check) in results.iter().zip(checks) {
        if result.protected != check.protected {
            return wrong("the plan says otherwise who could change a check");
        }
        let is_contradicted = match (&check.expect, result.exit_code) {
            (Expectation::ExitCode(wanted), code) => code != Some(*wanted),
            (_, code) => code.is_none(),
        };
        if result.passed && is_contradicted {
            return wrong("one is green whose exit code is not");
        }
        let shows_nothing = |failed: u32, ran: u32| ran == 0 || failed > 0 && result.exit_code == Some(0);
        let is_hollow = result.tests.as_ref().is_some_and(|t| shows_nothing(t.failed, t.passed + t.failed));
        if result.passed && is_hollow {
            return wrong("one is green whose tests are not");
        }
    }
    Ok(results)
}

/// What is shown of a change must be of a file that changed, under the name that it has there.
fn shows_what_changed(landed: &Landed, plan: &WorkItem) -> Result<(), Refusal> {
    let directories = &plan.definition().directories;
    let is_of = |diff: &FileDiff, changeset: &Changeset| {
        changeset.changes.iter().any(|change| {
            let place = directories.get(change.directory as usize).map_or("", |directory| directory.path.as_str());
            change.path == diff.path && (diff.directory.is_empty() || diff.directory == place)
        })
    };
    match landed.diffs.iter().find(|diff| !is_of(diff, &landed.changeset)) {
        Some(stray) => Err(Refusal::Diff(stray.path.to_string())),
        None => Ok(()),
    }
}
