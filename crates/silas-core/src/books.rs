//! The books of the ledger: whether everything that it says was done had been allowed, as often and as long as it was.
//!
//! Reads the events in order, each with the decision or the instruction that it names, and believes neither: signature,
//! hash, count and expiry of every approval are held against the events that spent it, and every effect must name an
//! approval that was spent for it. Deliberately absent: the chain ([`crate::chain`]), files, and any clock; time is what
//! the entries say.

mod account;
mod approvals;
mod effects;
mod fault;

pub use fault::{Fault, Reason};

use crate::device::Certificate;
use crate::event::{AuditEvent, Effect};
use crate::evidence::Anchor;
use crate::handover::Handovers;
use crate::instruction::Instruction;
use crate::signature::PublicKey;
use crate::task::{OperationId, TaskId};
use crate::token::{Kind, Token};
use crate::{CardId, Digest, ExecutionId, InstallationId, KeyId, MessageId, Timestamp, TokenId};
use account::{Account, Claimed, Gone, Spent, Stage, Terms};
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
    /// What a message said, for this operation: a message may have made several.
    Instruction(&'a MessageId, &'a OperationId),
}

/// The first mention of a decision or an instruction is the one that must bring it along.
pub fn wanted(event: &AuditEvent) -> Option<Wanted<'_>> {
    match event.about().effect {
        Effect::Decides { token, .. } => Some(Wanted::Decision(token)),
        Effect::Instructs { message, operation, .. } => Some(Wanted::Instruction(message, operation)),
        _ => None,
    }
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
        match event.about().effect {
            Effect::Tells => Ok(()),
            Effect::Installs { installation, root } => {
                let first = self.handovers.first(&self.anchor.root);
                let is_ours = *installation == self.anchor.installation && *root == first;
                if is_ours { Ok(()) } else { Err(Reason::OtherInstallation) }
            }
            Effect::Restores { epoch } => {
                self.restored_at = Some(at);
                self.begin_epoch(epoch)
            }
            Effect::HandsOverRoot { number, from, to } => self.hand_over(number, from, to),
            Effect::Pairs(key) => {
                self.devices.insert(key.clone());
                Ok(())
            }
            Effect::RegistersPasskey { key, token } => {
                token.map_or(Ok(()), |token| self.granted(token, Kind::Device))?;
                self.devices.insert(key.clone());
                self.passkeys.insert(key.clone());
                Ok(())
            }
            // Whatever it decides later is not the owner's.
            Effect::RevokesDevice(key) => {
                self.devices.remove(key);
                self.passkeys.remove(key);
                self.revoked.insert(key.clone());
                Ok(())
            }
            Effect::Decides { card, token, kind, verdict, key } => {
                self.decide(seq, at, &Claimed { token, key, kind, verdict, card }, beside)
            }
            Effect::Spends { token, execution, plan_hash, use_number } => {
                self.spend(at, token, execution, plan_hash, use_number)
            }
            Effect::Grants { token, kind } => self.granted(token, kind),
            Effect::Starts { work_item, execution } => self.start(work_item, execution),
            Effect::During(execution) => self.plan(execution).map(drop),
            Effect::Rehearses(execution) => self.end(execution, Stage::Rehearsed),
            Effect::Applies { execution, changeset } => self.apply(execution, changeset),
            Effect::Ends(execution) => self.end(execution, Stage::Ended),
            Effect::Undoes { execution, changeset, token } => self.undo(execution, changeset, token),
            Effect::ClosesUndo(execution) => {
                let stage = self.plan(execution)?.stage;
                if matches!(stage, Stage::Applied | Stage::Undone) { Ok(()) } else { Err(Reason::OtherChange) }
            }
            Effect::Instructs { message, operation, key, call } => {
                let beside = match beside {
                    Some(Beside::Instruction(kept)) => Some(kept.as_ref()),
                    _ => {
                        self.gone.push(Gone { seq, at, reason: Reason::NoInstruction, expires: true });
                        None
                    }
                };
                self.instruct(message, operation, key, call, beside)
            }
            Effect::ChangesTask { task, operation, tool } => self.task(operation, tool, task),
            Effect::Forgets => {
                self.forgotten_at = seq;
                Ok(())
            }
            Effect::Expires { before } => {
                self.expired_before = self.expired_before.max(before);
                Ok(())
            }
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

#[cfg(test)]
mod tests;
