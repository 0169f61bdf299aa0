//! What may be asked of the key helper, the process that holds a private key for the length of one request.
//!
//! The launcher decides whether a request is allowed; the helper does exactly one thing and exits.

use crate::checkpoint::{ServerCertificate, ServerCertificateBody};
use crate::device::{Certificate, CertificateBody};
use crate::message::MessageBody;
use crate::revocation::{RevocationBody, RevocationList, WithdrawalBody};
use crate::secret::Secret;
use crate::signature::{PublicKey, Signature};
use crate::token::TokenBody;
use crate::{InstallationId, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum KeyRequest {
    /// Makes the root and terminal keys if there are none, and tells their public halves. Existing keys stay.
    Init {
        at: Timestamp,
        terminal_name: String,
        /// Whether new keys may be sealed with a key in the system's keyring, where there is one.
        keyring: bool,
    },
    /// Opens what protects the keys, and does nothing else.
    Check,
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
    Ready {
        installation: InstallationId,
        root: PublicKey,
        terminal: Certificate,
        is_new: bool,
        protection: Protection,
    },
    Checked,
    Certified {
        certificate: Certificate,
    },
    ServerCertified {
        certificate: ServerCertificate,
    },
    Revoked {
        list: RevocationList,
    },
    Signed {
        signature: Signature,
    },
    /// A passphrase is needed, and there was nobody to ask for it.
    Locked,
    Refused {
        reason: String,
    },
}

/// What stands between a private key and whoever has its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    Permissions,
    Keyring,
    Passphrase,
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protection::Permissions => "protected by file permissions only",
            Protection::Keyring => "sealed with a key in the system's keyring",
            Protection::Passphrase => "sealed with your passphrase",
        })
    }
}

/// Asks whoever is there for the passphrase; `None` if nobody is.
pub type Ask<'a> = &'a mut dyn FnMut() -> Option<Secret>;

/// The helper itself: the directory of keys, one request, whom to ask for a passphrase, one reply. It lives in the trust
/// kernel; the launcher gets it as a plain function and calls it in a child process.
pub type KeyHelper = fn(&std::path::Path, &KeyRequest, Ask<'_>) -> KeyReply;
