//! What may be asked of the key helper, the process that holds a private key for the length of one request.
//!
//! The launcher decides whether a request is allowed; the helper does exactly one thing and exits.

use crate::checkpoint::{ServerCertificate, ServerCertificateBody};
use crate::device::{Certificate, CertificateBody};
use crate::message::MessageBody;
use crate::revocation::{RevocationBody, RevocationList, WithdrawalBody};
use crate::signature::{PublicKey, Signature};
use crate::token::TokenBody;
use crate::{InstallationId, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum KeyRequest {
    /// Makes the root and terminal keys if there are none, and tells their public halves. Existing keys stay.
    Init { at: Timestamp, terminal_name: String },
    /// Signs a device's certificate with the root key. Allowed only with a proof of the pairing code.
    Certify { body: CertificateBody },
    /// Signs the server key's certificate with the root key. Allowed only before the first door is opened.
    CertifyServer { body: ServerCertificateBody },
    /// Signs the next revocation list with the root key. Allowed only with a device's signed withdrawal.
    Revoke { body: RevocationBody },
    /// Signs with the terminal key. Allowed only for a terminal of the owner.
    Sign { body: SignBody },
}

/// The three things that a terminal may sign. Anything else cannot be expressed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignBody {
    Token(TokenBody),
    Message(MessageBody),
    Withdrawal(WithdrawalBody),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case", deny_unknown_fields)]
pub enum KeyReply {
    Ready { installation: InstallationId, root: PublicKey, terminal: Certificate, is_new: bool },
    Certified { certificate: Certificate },
    ServerCertified { certificate: ServerCertificate },
    Revoked { list: RevocationList },
    Signed { signature: Signature },
    Refused { reason: String },
}

/// The helper itself: the directory of keys, one request, one reply. It lives in the trust kernel; the launcher gets it
/// as a plain function and calls it in a child process.
pub type KeyHelper = fn(&std::path::Path, &KeyRequest) -> KeyReply;
