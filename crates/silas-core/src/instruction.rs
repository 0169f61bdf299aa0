//! The owner's own signed words as an approval of one exact call: no card, no token, and anybody can check it later.
//!
//! What the words approve is what reflex makes of them. Reflex is pure, and its grammar has a version that is kept with the
//! words, so the same words mean the same call today, after a restart, on another machine, and to a Silas that understands
//! more. How fresh they were and that they came for the first time is not asked here.

use crate::device::Certificate;
use crate::evidence::{Anchor, Refusal};
use crate::message::{OWNER_SCOPE, SignedMessage};
use crate::reflex::{self, Decision, UnknownGrammar};
use crate::revocation::Revocations;
use crate::task::{OperationId, TaskCall};
use crate::{AgentId, MessageId, RunKey, Scope, Timestamp, canonical};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is kept of it: the words as they were signed, who vouches for the key, and the call that was made of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    pub message: MessageId,
    pub signed: SignedMessage,
    pub certificate: Certificate,
    /// The version of the grammar that understood the words. The first is not written, so that what was exported before there
    /// was another reads as it did, and is written as it was.
    #[serde(default = "first_grammar", skip_serializing_if = "is_first_grammar")]
    pub grammar: u32,
    /// Which of the calls it is that the words make, counted from 0. None for those of when a message made at most one, whose
    /// operation follows from the message alone; they are exported as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
    pub call: TaskCall,
}

impl Instruction {
    /// Whether a device of this installation signed words that ask for exactly this call.
    pub fn verifies(&self, anchor: &Anchor) -> Result<bool, UnknownGrammar> {
        let said = reflex::decide_by(self.grammar, &self.signed.body.text)?;
        let Ok(words) = self.signed.body.message() else { return Ok(false) };
        let Ok(operation) = self.operation() else { return Ok(false) };
        // Every sentence of the grammar asks for one call, so words have no second.
        let is_asked_for = self.occurrence.unwrap_or(0) == 0 && self.call.fits(&operation, &said);
        Ok(self.certificate.verifies(&anchor.root, &anchor.installation)
            && self.certificate.vouches_for(words.as_bytes(), &self.signed.signature)
            && self.signed.body.installation == anchor.installation
            && is_asked_for)
    }

    pub fn operation(&self) -> Result<OperationId, canonical::Error> {
        match self.occurrence {
            Some(occurrence) => self.call.operation(&self.run(), occurrence),
            None => Ok(OperationId::derive(&self.message)),
        }
    }

    /// The words as a witness, if a device that still counts signed them and they ask for exactly this call. How fresh they were
    /// and that they came for the first time was decided when the message was taken in.
    pub fn instructs(self, anchor: &Anchor, revocations: &Revocations) -> Result<Option<Instructed>, UnknownGrammar> {
        let counts = self.verifies(anchor)? && !revocations.has_device(&self.certificate.body.key);
        Ok(self.operation().ok().filter(|_| counts).map(|operation| Instructed { operation, call: self.call }))
    }

    /// The run that the words are the cause of. Only the owner's are an approval.
    pub fn run(&self) -> RunKey {
        RunKey::said(&AgentId::of(&self.signed.body.installation, &Scope::Owner), &self.message)
    }
}

/// The witness that the owner asked for exactly this call: whoever carries a call out asks for one. It is made by checking the
/// signed words, and by nothing else:
///
/// ```compile_fail,E0451
/// # use silas_core::instruction::Instructed;
/// # fn forge(operation: silas_core::task::OperationId, call: silas_core::task::TaskCall) -> Instructed {
/// Instructed { operation, call }
/// # }
/// ```
///
/// ```
/// # use silas_core::instruction::Instructed;
/// # fn look(instructed: &Instructed) -> (silas_core::task::OperationId, &silas_core::task::TaskCall) {
/// (instructed.operation(), instructed.call())
/// # }
/// ```
// Not `Clone`: it is handed on once.
#[derive(Debug)]
pub struct Instructed {
    operation: OperationId,
    call: TaskCall,
}

impl Instructed {
    pub fn operation(&self) -> OperationId {
        self.operation
    }

    pub fn call(&self) -> &TaskCall {
        &self.call
    }
}

const FIRST_GRAMMAR: u32 = 1;

fn first_grammar() -> u32 {
    FIRST_GRAMMAR
}

fn is_first_grammar(grammar: &u32) -> bool {
    *grammar == FIRST_GRAMMAR
}

/// The owner's signed words that ask for the sample project, as the launcher is shown them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleOrder {
    pub signed: SignedMessage,
    pub certificate: Certificate,
    /// The version of the grammar that understood the words.
    pub grammar: u32,
}

/// How old an order may be that has something written. An older one may still ask where the sample lies: between the two
/// the owner may have taken a day to allow the directory.
const FRESH: Duration = Duration::from_secs(300);

/// What an order is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Age {
    Fresh,
    /// Nothing is written for it.
    Old,
}

impl SampleOrder {
    /// Whether a device of this installation, itself not revoked, signed words that ask for the sample, and how long ago.
    pub fn verify(&self, anchor: &Anchor, revocations: &Revocations, now: Timestamp) -> Result<Age, Refusal> {
        let body = &self.signed.body;
        self.certificate.check(&anchor.root, &anchor.installation).map_err(Refusal::Certificate)?;
        let words = body.message().map_err(|e| Refusal::Malformed(e.to_string()))?;
        if !self.certificate.vouches_for(words.as_bytes(), &self.signed.signature) {
            return Err(Refusal::Signature);
        }
        if body.installation != anchor.installation || body.scope != OWNER_SCOPE {
            return Err(Refusal::Installation);
        }
        if revocations.has_device(&self.certificate.body.key) {
            return Err(Refusal::RevokedDevice);
        }
        let said = reflex::decide_by(self.grammar, &body.text).map_err(|e| Refusal::Malformed(e.to_string()))?;
        if said != Decision::TrySample {
            return Err(Refusal::Content);
        }
        if body.timestamp.since(now) > FRESH {
            return Err(Refusal::NotYet);
        }
        Ok(if now.since(body.timestamp) > FRESH { Age::Old } else { Age::Fresh })
    }
}
