//! Signed words that ask for a call, for tests that carry calls out.

use ed25519_dalek::{Signer as _, SigningKey};
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::evidence::Anchor;
use silas_core::instruction::{Instructed, Instruction};
use silas_core::message::{MessageBody, SignedMessage};
use silas_core::reflex::{GRAMMAR, quote};
use silas_core::revocation::Revocations;
use silas_core::signature::{PublicKey, Signature};
use silas_core::task::TaskCall;
use silas_core::{InstallationId, MessageId, Nonce, Timestamp, canonical};

fn public(secret: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(secret.verifying_key().to_bytes())
}

fn sign(secret: &SigningKey, message: &str) -> Signature {
    Signature::ed25519(public(secret).id(), secret.sign(message.as_bytes()).to_bytes())
}

/// The witness that somebody asked for this call with this message.
pub(crate) fn instructed(message: &MessageId, call: &TaskCall) -> Instructed {
    instructed_by(message, Some(0), call).expect("the words ask for the call")
}

/// The same for any call of the message, counted as its saga counts it, if words can ask for that.
pub(crate) fn instructed_by(message: &MessageId, occurrence: Option<u32>, call: &TaskCall) -> Option<Instructed> {
    let [root, device] = [1, 2].map(|seed| SigningKey::from_bytes(&[seed; 32]));
    let installation = InstallationId::parse("inst-1").unwrap();
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: installation.clone(),
        name: "Phone".to_owned(),
        key: public(&device).id(),
        public: public(&device),
        issued_at: Timestamp::EPOCH,
        site: None,
    };
    let certificate = Certificate { signature: sign(&root, &canonical::text(&body).unwrap()), body };
    let text = match call {
        TaskCall::AddTask { title, .. } => format!("add task {}", quote(title)),
        TaskCall::CompleteTask { task, .. } => format!("done with {}", quote(task.as_str())),
        TaskCall::ReopenTask { task, .. } => format!("reopen {}", quote(task.as_str())),
    };
    let nonce = Nonce::parse("n-1").unwrap();
    let scope = "owner".to_owned();
    let body = MessageBody { text, timestamp: Timestamp::EPOCH, nonce, installation: installation.clone(), scope };
    let signed = SignedMessage { signature: sign(&device, &body.message().unwrap()), body };
    let (message, call) = (message.clone(), call.clone());
    let words = Instruction { message, signed, certificate, grammar: GRAMMAR, occurrence, call };
    let anchor = Anchor { root: public(&root), installation, epoch: 0 };
    words.instructs(&anchor, &Revocations::default()).unwrap()
}
