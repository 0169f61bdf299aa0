//! The owner's own signed words as an approval of one exact call: no card, no token, and anybody can check it later.
//!
//! What the words approve is what reflex makes of them. Reflex is pure, so the same words mean the same call today,
//! after a restart, and on another machine. How fresh they were and that they came for the first time is not asked here.

use crate::device::Certificate;
use crate::evidence::Anchor;
use crate::message::SignedMessage;
use crate::task::{OperationId, TaskCall};
use crate::{MessageId, reflex};
use serde::{Deserialize, Serialize};

/// What is kept of it: the words as they were signed, who vouches for the key, and the call that was made of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    pub message: MessageId,
    pub signed: SignedMessage,
    pub certificate: Certificate,
    pub call: TaskCall,
}

impl Instruction {
    /// Whether a device of this installation signed words that ask for exactly this call.
    pub fn verifies(&self, anchor: &Anchor) -> bool {
        let Ok(words) = self.signed.body.message() else { return false };
        self.certificate.verifies(&anchor.root, &anchor.installation)
            && self.certificate.vouches_for(words.as_bytes(), &self.signed.signature)
            && self.signed.body.installation == anchor.installation
            && self.call.fits(&self.operation(), &reflex::decide(&self.signed.body.text))
    }

    pub fn operation(&self) -> OperationId {
        OperationId::derive(&self.message)
    }
}
