//! The witness that the owner asked for exactly this call. It can be made here only, by checking the signed words again.
//!
//! There is no card and no token: the device's signature over the message is the approval, and what it approves is what
//! reflex made of the text when it was taken in. Reflex is pure and its grammar has a version, so the same words mean the same
//! call today, after a restart, and to anybody who checks later. What cannot be taken back is never a call of this kind.

use silas_core::MessageId;
use silas_core::evidence::Anchor;
use silas_core::instruction::Instruction;
use silas_core::reflex::UnknownGrammar;
use silas_core::revocation::Revocations;
use silas_core::task::{OperationId, TaskCall};
use silas_store::instructions;

/// The owner's words as they were kept, with a call that they may ask for.
pub(super) fn words(
    message: &MessageId,
    kept: &instructions::Instruction,
    occurrence: Option<u32>,
    call: &TaskCall,
) -> Instruction {
    Instruction {
        message: message.clone(),
        signed: kept.signed.clone(),
        certificate: kept.certificate.clone(),
        grammar: kept.grammar,
        occurrence,
        call: call.clone(),
    }
}

/// Not `Clone`: it is handed on once.
pub(super) struct Instructed {
    operation: OperationId,
    call: TaskCall,
}

impl Instructed {
    /// Whether a device of this installation signed words that ask for exactly this call. How fresh they were and that
    /// they came for the first time was decided when the message was taken in.
    pub(super) fn verified(
        words: Instruction,
        anchor: &Anchor,
        revocations: &Revocations,
    ) -> Result<Option<Instructed>, UnknownGrammar> {
        let counts = words.verifies(anchor)? && !revocations.has_device(&words.certificate.body.key);
        Ok(words.operation().ok().filter(|_| counts).map(|operation| Instructed { operation, call: words.call }))
    }

    pub(super) fn operation(&self) -> OperationId {
        self.operation
    }

    pub(super) fn into_parts(self) -> (OperationId, TaskCall) {
        (self.operation, self.call)
    }
}
