//! The witness that the owner asked for exactly this call. It can be made here only, by checking the signed words again.
//!
//! There is no card and no token: the device's signature over the message is the approval, and what it approves is what
//! reflex made of the text when it was taken in. Reflex is pure and its grammar has a version, so the same words mean the same
//! call today, after a restart, and to anybody who checks later. What cannot be taken back is never a call of this kind.

use silas_core::MessageId;
use silas_core::evidence::Anchor;
use silas_core::reflex::UnknownGrammar;
use silas_core::revocation::Revocations;
use silas_core::task::{OperationId, TaskCall};
use silas_store::instructions::Instruction;

/// Not `Clone`: it is handed on once.
pub(super) struct Instructed {
    operation: OperationId,
    call: TaskCall,
}

impl Instructed {
    /// Whether a device of this installation signed words that ask for exactly this call. How fresh they were and that
    /// they came for the first time was decided when the message was taken in.
    pub(super) fn verified(
        message: &MessageId,
        instruction: &Instruction,
        call: &TaskCall,
        anchor: &Anchor,
        revocations: &Revocations,
    ) -> Result<Option<Instructed>, UnknownGrammar> {
        let words = silas_core::instruction::Instruction {
            message: message.clone(),
            signed: instruction.signed.clone(),
            certificate: instruction.certificate.clone(),
            grammar: instruction.grammar,
            call: call.clone(),
        };
        let operation = words.operation();
        let counts = words.verifies(anchor)? && !revocations.has_device(&words.certificate.body.key);
        Ok(counts.then_some(Instructed { operation, call: words.call }))
    }

    pub(super) fn into_parts(self) -> (OperationId, TaskCall) {
        (self.operation, self.call)
    }
}
