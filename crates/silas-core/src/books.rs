//! The books of the ledger: whether everything that it says was done had been allowed, as often and as long as it was.
//!
//! Reads the events in order, each with the decision or the instruction that it names, and believes neither: signature,
//! hash, count and expiry of every approval are held against the events that spent it, and every effect must name an
//! approval that was spent for it. Deliberately absent: the chain ([`crate::chain`]), files, and any clock; time is what
//! the entries say.

mod fault;

pub use fault::{Fault, Reason};

use crate::canonical;
use crate::changeset::ChangeOrder;
use crate::device::{Certificate, DeviceKind};
use crate::event::AuditEvent;
use crate::evidence::{self, Anchor, When};
use crate::handover::Handovers;
use crate::house_rules::HouseRules;
use crate::instruction::Instruction;
use crate::passkey;
use crate::rehearsal::ApplyOrder;
use crate::revocation::Revocations;
use crate::signature::PublicKey;
use crate::task::{OperationId, TaskCall, TaskId};
use crate::token::{Kind, Offer, Token, Verdict};
use crate::{CardId, Digest, ExecutionId, InstallationId, KeyId, MessageId, Timestamp, TokenId, WorkItemId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A decision as it lies beside the chain, before anything about it is believed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub token: Token,
    pub certificate: Certificate,
    /// The canonical text whose hash was signed.
    pub payload: String,
    /// The card that was answered; decisions taken while pairing have none.
    pub card: Option<CardId>,
    /// How often it was spent, as the store counts.
    pub executions_used: u32,
}

/// What an event needs beside it to be checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    Decision(Box<Decision>),
    Instruction(Box<Instruction>),
}

/// What of that an event names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted<'a> {
    Decision(&'a TokenId),
    Instruction(&'a MessageId),
}

/// The first mention of a decision or an instruction is the one that must bring it along.
pub fn wanted(event: &AuditEvent) -> Option<Wanted<'_>> {
    match event {
        AuditEvent::DecisionRecorded { token, .. } | AuditEvent::HouseRulesSigned { token, .. } => {
            Some(Wanted::Decision(token))
        }
        AuditEvent::InstructionTaken { message, .. } => Some(Wanted::Instruction(message)),
        _ => None,
    }
}

/// What remains of a decision once it was checked. A ledger of a million entries has perhaps a hundred thousand.
struct Account {
    kind: Kind,
    is_approved: bool,
    n_spent: u32,
    terms: Terms,
}

/// What was signed.
struct Terms {
    plan_hash: Digest,
    epoch: u64,
    expires_at: Timestamp,
    max_executions: u32,
    /// As the store counts; `None` where only a part of the ledger is read, and nobody can say.
    executions_used: Option<u32>,
    subject: String,
    /// What an approved undo is about, unless its text was forgotten.
    order: Option<ChangeOrder>,
    /// What an approved apply is about, likewise.
    apply: Option<ApplyOrder>,
    /// Whether work may be done under it. Of house rules whose text was forgotten nobody can say, and then it may.
    may_work: bool,
}

impl Terms {
    fn of(offer: &Offer, payload: &str, executions_used: Option<u32>) -> Self {
        Terms {
            plan_hash: offer.plan_hash,
            epoch: offer.epoch,
            expires_at: offer.expires_at,
            max_executions: offer.max_executions,
            executions_used,
            subject: offer.work_item_id.clone(),
            order: canonical::read(payload).ok().filter(|_| offer.kind == Kind::Undo),
            apply: canonical::read(payload).ok().filter(|_| offer.kind == Kind::Apply),
            may_work: may_work(offer.kind, payload),
        }
    }
}

/// An entry that needs something which is not there any more. A later entry must say that it was forgotten.
struct Gone {
    seq: u64,
    at: Timestamp,
    reason: Reason,
    /// Whether it goes with its time. Decisions never do; their texts only if the owner has them forgotten.
    expires: bool,
}

/// One spending, and how far it came.
struct Spent {
    kind: Kind,
    may_work: bool,
    subject: Option<String>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Spent,
    Started,
    Rehearsed,
    Applied,
    Ended,
    Undone,
}

/// Everything read so far.
pub struct Books {
    anchor: Anchor,
    /// How the root key came to be the one that holds; the ledger must tell of each.
    handovers: Handovers,
    n_handovers_told: u64,
    /// `false` until an entry has said which epoch this is.
    is_epoch_known: bool,
    devices: BTreeSet<KeyId>,
    revoked: BTreeSet<KeyId>,
    /// Passkeys that are registered and not revoked.
    passkeys: BTreeSet<KeyId>,
    /// The last count of each authenticator.
    counts: BTreeMap<KeyId, u32>,
    accounts: BTreeMap<TokenId, Account>,
    executions: BTreeMap<ExecutionId, Spent>,
    /// Which changes of which run were to be applied.
    applies: BTreeMap<ExecutionId, Digest>,
    /// Decisions to apply something of which it is not known any more what.
    n_applies_forgotten: u64,
    /// What was asked; `None` where the instruction is gone.
    operations: BTreeMap<OperationId, Option<(&'static str, TaskId)>>,
    gone: Vec<Gone>,
    /// The last entry that says that the owner had something forgotten.
    forgotten_at: u64,
    /// Instructions from before this instant may be gone.
    expired_before: Timestamp,
    restored_at: Option<Timestamp>,
    n_unknown: u64,
}

/// What the books come to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub n_decisions: u64,
    pub n_spent: u64,
    pub n_instructions: u64,
    /// Instructions that went with their time, and decisions whose text was forgotten, as the ledger says.
    pub n_forgotten: u64,
    /// When the ledger was last restored from a backup.
    pub restored_at: Option<Timestamp>,
    /// Entries of another version: part of the chain, but what they mean is not known here.
    pub n_unknown: u64,
}

impl Books {
    pub fn open(root: PublicKey, installation: InstallationId) -> Self {
        Books {
            anchor: Anchor { root, installation, epoch: 0 },
            handovers: Handovers::default(),
            n_handovers_told: 0,
            is_epoch_known: false,
            devices: BTreeSet::new(),
            revoked: BTreeSet::new(),
            passkeys: BTreeSet::new(),
            counts: BTreeMap::new(),
            accounts: BTreeMap::new(),
            executions: BTreeMap::new(),
            applies: BTreeMap::new(),
            n_applies_forgotten: 0,
            operations: BTreeMap::new(),
            gone: Vec::new(),
            forgotten_at: 0,
            expired_before: Timestamp::EPOCH,
            restored_at: None,
            n_unknown: 0,
        }
    }

    /// For a ledger whose root key is not its first.
    pub fn after(self, handovers: Handovers) -> Self {
        Books { handovers, ..self }
    }

    /// For a part of a ledger that begins later: a device whose certificate the root key signed was paired before.
    pub fn knows_device(&mut self, key: KeyId) {
        self.devices.insert(key);
    }

    /// The same for standing rules that were signed before: how often they had been used until then is what was kept with
    /// the decision. Whoever calls has checked it.
    pub fn knows_rules(&mut self, token: TokenId, decision: &Decision) {
        let offer = &decision.token.body.offer;
        (self.anchor.epoch, self.is_epoch_known) = (offer.epoch, true);
        let terms = Terms::of(offer, &decision.payload, None);
        let account = Account { kind: offer.kind, is_approved: true, n_spent: decision.executions_used, terms };
        self.accounts.insert(token, account);
    }

    /// Reads the next entry: when it was written, its event if this version knows it, and what lies beside it.
    pub fn enter(
        &mut self,
        seq: u64,
        at: Timestamp,
        event: Option<&AuditEvent>,
        beside: Option<&Beside>,
    ) -> Result<(), Fault> {
        let Some(event) = event else {
            self.n_unknown += 1;
            return Ok(());
        };
        self.read(seq, at, event, beside).map_err(|reason| Fault { seq, reason })
    }

    fn read(&mut self, seq: u64, at: Timestamp, event: &AuditEvent, beside: Option<&Beside>) -> Result<(), Reason> {
        match event {
            AuditEvent::TextForgotten { .. } => {
                self.forgotten_at = seq;
                Ok(())
            }
            AuditEvent::RecordsExpired { before, .. } => {
                self.expired_before = self.expired_before.max(*before);
                Ok(())
            }
            AuditEvent::InstallationCreated { installation, root } => {
                let first = self.handovers.first(&self.anchor.root);
                let is_ours = *installation == self.anchor.installation && *root == first;
                if is_ours { Ok(()) } else { Err(Reason::OtherInstallation) }
            }
            AuditEvent::RootHandedOver { number, from, to } => self.hand_over(*number, from, to),
            AuditEvent::RestoredFromBackup { epoch, .. } => {
                self.restored_at = Some(at);
                self.begin_epoch(*epoch)
            }
            AuditEvent::DevicePaired { key, .. } => {
                self.devices.insert(key.clone());
                Ok(())
            }
            AuditEvent::PasskeyRegistered { key, token, .. } => {
                token.as_ref().map_or(Ok(()), |token| self.granted(token, Kind::Device))?;
                self.devices.insert(key.clone());
                self.passkeys.insert(key.clone());
                Ok(())
            }
            // Whatever it decides later is not the owner's.
            AuditEvent::DeviceRevoked { key, .. } => {
                self.devices.remove(key);
                self.passkeys.remove(key);
                self.revoked.insert(key.clone());
                Ok(())
            }
            AuditEvent::HouseRulesSigned { token, key } => {
                let claimed = Claimed { token, key, kind: Kind::HouseRules, verdict: Verdict::Approved, card: None };
                self.decide(seq, at, &claimed, beside)
            }
            AuditEvent::DecisionRecorded { card, token, kind, verdict, key } => {
                let claimed = Claimed { token, key, kind: *kind, verdict: *verdict, card: Some(card) };
                self.decide(seq, at, &claimed, beside)
            }
            AuditEvent::TokenSpent { token, execution, plan_hash, use_number } => {
                self.spend(at, token, execution, plan_hash, *use_number)
            }
            AuditEvent::RootGranted { token, .. } => self.granted(token, Kind::Root),
            AuditEvent::ModelAllowed { token, .. } => self.granted(token, Kind::Model),
            AuditEvent::BudgetExtended { token, .. } => self.granted(token, Kind::Budget),
            AuditEvent::WorkStarted { work_item, execution, .. } => self.start(work_item, execution),
            AuditEvent::ChecksRun { execution, .. }
            | AuditEvent::StepBegun { execution, .. }
            | AuditEvent::ChecksBegun { execution, .. }
            | AuditEvent::StepRun { execution, .. }
            | AuditEvent::AttemptBegun { execution, .. }
            | AuditEvent::ToolCalled { execution: Some(execution), .. }
            | AuditEvent::ToolReturned { execution: Some(execution), .. }
            | AuditEvent::ToolRefused { execution: Some(execution), .. }
            | AuditEvent::ConnectionMade { execution, .. }
            | AuditEvent::ConnectionRefused { execution, .. }
            | AuditEvent::CredentialUsed { execution, .. }
            | AuditEvent::CredentialRefused { execution, .. }
            | AuditEvent::ExecutionResumed { execution } => self.plan(execution).map(drop),
            AuditEvent::WorkRehearsed { execution, .. } => self.end(execution, Stage::Rehearsed),
            AuditEvent::WorkApplied { execution, changeset, .. } => self.apply(execution, changeset),
            AuditEvent::WorkEnded { execution, .. }
            | AuditEvent::EffectUnknown { execution, .. }
            | AuditEvent::ApplyConflicted { execution, .. } => self.end(execution, Stage::Ended),
            AuditEvent::WorkUndone { execution, changeset, token, .. } => self.undo(execution, changeset, token),
            AuditEvent::UndoWindowClosed { execution } => {
                let stage = self.plan(execution)?.stage;
                if matches!(stage, Stage::Applied | Stage::Undone) { Ok(()) } else { Err(Reason::OtherChange) }
            }
            AuditEvent::InstructionTaken { message, operation, key, call } => {
                let beside = match beside {
                    Some(Beside::Instruction(kept)) => Some(kept.as_ref()),
                    _ => {
                        self.gone.push(Gone { seq, at, reason: Reason::NoInstruction, expires: true });
                        None
                    }
                };
                self.instruct(message, operation, key, call, beside)
            }
            AuditEvent::TaskAdded { task, operation, .. } => self.task(operation, "add_task", task),
            AuditEvent::TaskCompleted { task, operation, .. } => self.task(operation, "complete_task", task),
            AuditEvent::TaskReopened { task, operation, .. } => self.task(operation, "reopen_task", task),
            // The same texts in a directory of their own, whoever asks: it needs no decision and uses none up. Working
            // there does.
            AuditEvent::SampleLaidOut { .. } => Ok(()),
            // These say what was heard, shown or refused; none of them is an effect.
            AuditEvent::StreamStarted { .. }
            | AuditEvent::StreamStopped {}
            | AuditEvent::GrantRevoked { .. }
            | AuditEvent::WithdrawalRefused { .. }
            | AuditEvent::MessageReceived { .. }
            | AuditEvent::MessageReplayed { .. }
            | AuditEvent::ExternalTextScrubbed { .. }
            | AuditEvent::ReplySent { .. }
            | AuditEvent::CardOffered { .. }
            | AuditEvent::CardParked { .. }
            | AuditEvent::CardRenewed { .. }
            | AuditEvent::DecisionRefused { .. }
            | AuditEvent::ToolCalled { execution: None, .. }
            | AuditEvent::ToolReturned { execution: None, .. }
            | AuditEvent::ToolRefused { execution: None, .. }
            | AuditEvent::ModelCalled { .. }
            | AuditEvent::ModelAnswered { .. }
            | AuditEvent::ModelRefused { .. }
            | AuditEvent::TurnRouted { .. }
            | AuditEvent::ExecutionBlockedNoApproval { .. }
            | AuditEvent::InstructionRefused { .. }
            | AuditEvent::SecretRequested { .. }
            | AuditEvent::SecretStored { .. }
            | AuditEvent::SecretRemoved { .. }
            | AuditEvent::VaultUnlocked {}
            | AuditEvent::VaultLocked {}
            | AuditEvent::TerminalCertified { .. }
            | AuditEvent::ServerKeyRotated { .. }
            | AuditEvent::VaultKeyRotated { .. }
            | AuditEvent::MessageDeadLettered { .. }
            | AuditEvent::DeadLetterRevived { .. }
            | AuditEvent::TextsExpired { .. } => Ok(()),
        }
    }

    /// A decision of this kind was spent for it.
    fn granted(&self, token: &TokenId, kind: Kind) -> Result<(), Reason> {
        let account = self.accounts.get(token).filter(|account| account.n_spent > 0).ok_or(Reason::NotSpent)?;
        if account.kind == kind { Ok(()) } else { Err(Reason::OtherKind) }
    }

    /// The two keys signed it, under the next number.
    fn hand_over(&mut self, number: u64, from: &KeyId, to: &KeyId) -> Result<(), Reason> {
        let next = self.handovers.list().iter().find(|handover| handover.body.number == self.n_handovers_told + 1);
        let is_it = next
            .is_some_and(|next| next.body.number == number && next.body.from.id() == *from && next.body.to.id() == *to);
        if !is_it {
            return Err(Reason::Handover);
        }
        self.n_handovers_told += 1;
        Ok(())
    }

    fn begin_epoch(&mut self, epoch: u64) -> Result<(), Reason> {
        if self.is_epoch_known && epoch <= self.anchor.epoch {
            return Err(Reason::EpochBack);
        }
        (self.anchor.epoch, self.is_epoch_known) = (epoch, true);
        Ok(())
    }

    /// A decision is checked when it is recorded: who signed, for whom, what, and whether it came in time.
    fn decide(
        &mut self,
        seq: u64,
        at: Timestamp,
        claimed: &Claimed<'_>,
        beside: Option<&Beside>,
    ) -> Result<(), Reason> {
        // Decisions are kept as long as the ledger: one that is not there was taken away.
        let Some(Beside::Decision(kept)) = beside else { return Err(Reason::NoDecision) };
        let Decision { token, certificate, payload, card, executions_used } = kept.as_ref();
        let offer = &token.body.offer;
        let is_the_one = token.id().is_ok_and(|id| id == *claimed.token)
            && token.body.key == *claimed.key
            && token.body.verdict == claimed.verdict
            && offer.kind == claimed.kind
            && card.as_ref() == claimed.card;
        if !is_the_one {
            return Err(Reason::OtherDecision);
        }
        if self.revoked.contains(claimed.key) {
            return Err(evidence::Refusal::RevokedDevice.into());
        }
        if !self.is_epoch_known {
            (self.anchor.epoch, self.is_epoch_known) = (offer.epoch, true);
        }
        let is_approved = token.body.verdict == Verdict::Approved;
        if is_approved {
            // It was taken at its time; what was revoked later does not make that untrue.
            let none = Revocations::default();
            evidence::verify_token(token, certificate, offer.kind, &self.anchor, &none, When::At(at))?;
        } else {
            evidence::verify_signature(token, certificate, &self.anchor)?;
        }
        if payload.is_empty() {
            self.gone.push(Gone { seq, at, reason: evidence::Refusal::Content.into(), expires: false });
        } else if Digest::of(payload.as_bytes()) != offer.plan_hash {
            return Err(evidence::Refusal::Content.into());
        }
        let signer = certificate.body.kind;
        passkey::may_decide(signer, offer.kind, payload, token.body.verdict, !self.passkeys.is_empty())?;
        if let Some(count) = token.signature.sign_count() {
            let last = self.counts.insert(claimed.key.clone(), count).unwrap_or(0);
            if !passkey::may_follow(last, count) {
                return Err(Reason::Counter);
            }
        }
        // A browser signs the house rules in the moment in which it is paired; everything else comes after.
        let is_pairing = offer.kind == Kind::HouseRules;
        if signer != DeviceKind::Terminal && !is_pairing && !self.devices.contains(claimed.key) {
            return Err(Reason::Unpaired);
        }
        let terms = Terms::of(offer, payload, Some(*executions_used));
        let account = Account { kind: claimed.kind, is_approved, n_spent: 0, terms };
        match self.accounts.insert(claimed.token.clone(), account) {
            None => Ok(()),
            Some(_) => Err(Reason::DecidedTwice),
        }
    }

    /// A spending is checked against what was signed and against every spending before it.
    fn spend(
        &mut self,
        at: Timestamp,
        token: &TokenId,
        execution: &ExecutionId,
        plan_hash: &Digest,
        use_number: u32,
    ) -> Result<(), Reason> {
        let account = self.accounts.get_mut(token).ok_or(Reason::NoDecision)?;
        if !account.is_approved {
            return Err(evidence::Refusal::Verdict.into());
        }
        let terms = &account.terms;
        if terms.epoch != self.anchor.epoch {
            return Err(evidence::Refusal::Epoch.into());
        }
        if at >= terms.expires_at {
            return Err(evidence::Refusal::Expired.into());
        }
        if *plan_hash != terms.plan_hash {
            return Err(evidence::Refusal::Content.into());
        }
        if account.n_spent >= terms.max_executions {
            return Err(Reason::Overspent { max: terms.max_executions });
        }
        if use_number != account.n_spent || *execution != ExecutionId::derive(token, use_number) {
            return Err(evidence::Refusal::Execution.into());
        }
        account.n_spent += 1;
        // House rules are about no item; each rehearsal names its own.
        let subject = Some(account.terms.subject.clone()).filter(|_| account.kind != Kind::HouseRules);
        let spent = Spent { kind: account.kind, may_work: account.terms.may_work, subject, stage: Stage::Spent };
        self.executions.insert(execution.clone(), spent);
        if account.kind == Kind::Apply {
            match &account.terms.apply {
                Some(order) => drop(self.applies.insert(order.execution.clone(), order.changeset)),
                None => self.n_applies_forgotten += 1,
            }
        }
        Ok(())
    }

    /// The spending that lets the work be done which an effect names.
    fn plan(&mut self, execution: &ExecutionId) -> Result<&mut Spent, Reason> {
        let spent = self.executions.get_mut(execution).ok_or(Reason::NotSpent)?;
        if spent.may_work { Ok(spent) } else { Err(Reason::OtherKind) }
    }

    fn start(&mut self, work_item: &WorkItemId, execution: &ExecutionId) -> Result<(), Reason> {
        let spent = self.plan(execution)?;
        if spent.subject.as_deref().is_some_and(|subject| subject != work_item.as_str()) {
            return Err(Reason::OtherWork);
        }
        if spent.stage != Stage::Spent {
            return Err(Reason::Twice);
        }
        spent.stage = Stage::Started;
        Ok(())
    }

    fn end(&mut self, execution: &ExecutionId, stage: Stage) -> Result<(), Reason> {
        let spent = self.plan(execution)?;
        let may_end = spent.stage == Stage::Started || spent.stage == Stage::Rehearsed && stage == Stage::Ended;
        if !may_end {
            return Err(Reason::Twice);
        }
        spent.stage = stage;
        Ok(())
    }

    /// A plan may be applied when its work ends. What waits in a copy needs a decision about exactly its changes, and a
    /// rehearsal is never applied without one.
    fn apply(&mut self, execution: &ExecutionId, changeset: &Digest) -> Result<(), Reason> {
        let (ordered, n_forgotten) = (self.applies.get(execution).copied(), self.n_applies_forgotten);
        let spent = self.plan(execution)?;
        match (spent.stage, ordered) {
            (Stage::Started, _) if spent.kind == Kind::Plan => {}
            (Stage::Started, _) => return Err(Reason::OtherKind),
            (Stage::Rehearsed, Some(ordered)) if ordered == *changeset => {}
            (Stage::Rehearsed, Some(_)) => return Err(Reason::OtherChange),
            (Stage::Rehearsed, None) if n_forgotten > 0 => {}
            (Stage::Rehearsed, None) => return Err(Reason::NotSpent),
            (Stage::Spent | Stage::Applied | Stage::Ended | Stage::Undone, _) => return Err(Reason::Twice),
        }
        spent.stage = Stage::Applied;
        Ok(())
    }

    fn undo(&mut self, execution: &ExecutionId, changeset: &Digest, token: &TokenId) -> Result<(), Reason> {
        let account = self.accounts.get(token).filter(|account| account.n_spent > 0).ok_or(Reason::NotSpent)?;
        if account.kind != Kind::Undo {
            return Err(Reason::OtherKind);
        }
        let order = account.terms.order.as_ref();
        if order.is_some_and(|order| order.execution != *execution || order.changeset != *changeset) {
            return Err(Reason::OtherChange);
        }
        let spent = self.plan(execution)?;
        if spent.stage != Stage::Applied {
            return Err(Reason::Twice);
        }
        spent.stage = Stage::Undone;
        Ok(())
    }

    fn instruct(
        &mut self,
        message: &MessageId,
        operation: &OperationId,
        key: &KeyId,
        call: &Digest,
        kept: Option<&Instruction>,
    ) -> Result<(), Reason> {
        let holds = |kept: &Instruction| {
            kept.message == *message
                && kept.operation() == *operation
                && kept.signed.signature.key == *key
                && canonical::digest(&kept.call).is_ok_and(|digest| digest == *call)
                && kept.verifies(&self.anchor)
        };
        if kept.is_some_and(|kept| !holds(kept)) {
            return Err(Reason::Instruction);
        }
        let asked = kept.map(|kept| match &kept.call {
            TaskCall::AddTask { task, .. } => ("add_task", task.clone()),
            TaskCall::CompleteTask { task, .. } => ("complete_task", task.clone()),
            TaskCall::ReopenTask { task, .. } => ("reopen_task", task.clone()),
        });
        match self.operations.insert(*operation, asked) {
            None => Ok(()),
            Some(_) => Err(Reason::Twice),
        }
    }

    fn task(&mut self, operation: &OperationId, tool: &str, task: &TaskId) -> Result<(), Reason> {
        match self.operations.get(operation).ok_or(Reason::NotInstructed)? {
            Some((asked, about)) if *asked != tool || about != task => Err(Reason::NotInstructed),
            _ => Ok(()),
        }
    }

    /// Whether some entries are of another version. Then what is not known here need not be wrong.
    pub fn has_unknown(&self) -> bool {
        self.n_unknown > 0
    }

    pub fn knows_token(&self, token: &TokenId) -> bool {
        self.accounts.contains_key(token)
    }

    pub fn knows_execution(&self, execution: &ExecutionId) -> bool {
        self.executions.contains_key(execution)
    }

    /// After the last entry: what the store counts must be what the ledger says.
    pub fn close(self, last: u64) -> Result<Summary, Fault> {
        let is_told = |gone: &Gone| gone.expires && gone.at < self.expired_before || gone.seq < self.forgotten_at;
        if let Some(gone) = self.gone.iter().find(|gone| !is_told(gone)) {
            return Err(Fault { seq: gone.seq, reason: gone.reason.clone() });
        }
        let (told, signed) = (self.n_handovers_told, self.handovers.number());
        if self.n_unknown == 0 && told != signed {
            return Err(Fault { seq: last, reason: Reason::HandoverUntold { told, signed } });
        }
        // What another version spent is not known here, so its count cannot be held against anything.
        if self.n_unknown == 0 {
            let kept = |account: &Account| account.terms.executions_used.unwrap_or(account.n_spent);
            if let Some((token, account)) = self.accounts.iter().find(|(_, account)| kept(account) != account.n_spent) {
                let (ledger, kept) = (account.n_spent, kept(account));
                return Err(Fault { seq: last, reason: Reason::Count { token: token.clone(), ledger, kept } });
            }
        }
        Ok(Summary {
            n_decisions: self.accounts.len() as u64,
            n_spent: self.accounts.values().map(|account| u64::from(account.n_spent)).sum(),
            n_instructions: self.operations.len() as u64,
            n_forgotten: self.gone.len() as u64,
            restored_at: self.restored_at,
            n_unknown: self.n_unknown,
        })
    }
}

fn may_work(kind: Kind, payload: &str) -> bool {
    match kind {
        Kind::Plan | Kind::Rehearsal => true,
        Kind::HouseRules if payload.is_empty() => true,
        Kind::HouseRules => canonical::read::<HouseRules>(payload).is_ok_and(|rules| rules.rehearsals().is_some()),
        Kind::Apply | Kind::Undo | Kind::Root | Kind::Device | Kind::Step | Kind::Model | Kind::Budget => false,
    }
}

/// What an entry says of a decision.
struct Claimed<'a> {
    token: &'a TokenId,
    key: &'a KeyId,
    kind: Kind,
    verdict: Verdict,
    card: Option<&'a CardId>,
}

#[cfg(test)]
mod tests;
