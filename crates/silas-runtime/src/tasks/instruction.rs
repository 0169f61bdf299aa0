//! The witness that the owner asked for exactly this call. It can be made here only, by checking the signed words again.
//!
//! There is no card and no token: the device's signature over the message is the approval, and what it approves is what
//! reflex makes of the text. Reflex is pure, so the same words mean the same call today, after a restart, and to anybody
//! who checks later. What cannot be taken back is never a call of this kind.

use silas_core::MessageId;
use silas_core::evidence::Anchor;
use silas_core::reflex;
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
    ) -> Option<Instructed> {
        let Instruction { signed, certificate, .. } = instruction;
        let operation = OperationId::derive(message);
        let words = signed.body.message().ok()?;
        let is_owners = certificate.verifies(&anchor.root, &anchor.installation)
            && certificate.body.public.verifies(words.as_bytes(), &signed.signature)
            && signed.body.installation == anchor.installation;
        let asks_for_it = call.fits(&operation, &reflex::decide(&signed.body.text));
        (is_owners && asks_for_it).then(|| Instructed { operation, call: call.clone() })
    }

    pub(super) fn into_parts(self) -> (OperationId, TaskCall) {
        (self.operation, self.call)
    }
}
