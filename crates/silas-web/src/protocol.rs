//! The messages of the WebSocket, in the order in which a page meets them. `web/protocol.js` mirrors this file.
//!
//! A connection is a challenge, an answer signed by a paired device, and then a snapshot; after a reconnect the same
//! three, so nothing has to be resumed message by message.

use serde::{Deserialize, Serialize};
use silas_core::card::Face;
use silas_core::device::Certificate;
use silas_core::message::SignedMessage;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Offer, Token};
use silas_core::{CardId, ExecutionId, InstallationId, KeyId, Nonce};
use silas_runtime::view::{LedgerReport, ProofView, Snapshot, TaskView, Update};

/// From the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClientMessage {
    /// Must be first, within five seconds. The signature covers [`SessionProof`].
    Auth {
        key: KeyId,
        signature: Signature,
    },
    /// What the owner said.
    Message {
        message: SignedMessage,
    },
    /// A decision: the card's own offer, answered and signed.
    ApprovalResponse {
        request_id: CardId,
        token: Token,
    },
    /// A parked card asks again.
    Renew {
        request_id: CardId,
    },
    /// A card that asks nothing is put away.
    Dismiss {
        request_id: CardId,
    },
    Proof {
        execution: ExecutionId,
    },
    /// Ends all running work. Needs no signature: it can only take away.
    Stop {},
    /// Checks the whole ledger.
    Verify {},
    /// Asks for the owner's tasks; changing them is a `message`.
    Tasks {},
}

/// To the page.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    /// First word of every WebSocket.
    Challenge {
        challenge: Nonce,
        installation: InstallationId,
    },
    Welcome {
        device: String,
        snapshot: Box<Snapshot>,
    },
    /// The answer to `approval_response`, `renew` and `dismiss`.
    Decided {
        request_id: CardId,
        recorded: bool,
        message: String,
    },
    Proof {
        proof: Box<ProofView>,
    },
    Verified {
        report: LedgerReport,
    },
    Tasks {
        tasks: Vec<TaskView>,
    },
    /// Three parts: what happened, what it means or what to do, and a stable code.
    Error {
        code: String,
        message: String,
        todo: String,
    },
    /// Something changed; the update names its own type.
    #[serde(untagged)]
    Update(Update),
}

/// What a device signs to open a session: canonical JSON of this.
#[derive(Debug, Serialize)]
pub struct SessionProof<'a> {
    pub kind: &'static str,
    pub challenge: &'a Nonce,
    pub installation: &'a InstallationId,
    pub key: &'a KeyId,
}

/// `GET /pair`: what the pairing screen shows and what its tap signs.
#[derive(Debug, Serialize)]
pub struct PairingScreen {
    pub installation: InstallationId,
    /// Absent once an earlier device has signed them.
    pub house_rules: Option<HouseRules>,
}

#[derive(Debug, Serialize)]
pub struct HouseRules {
    pub face: Face,
    pub offer: Offer,
    pub payload: String,
}

/// `POST /pair`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    pub public: PublicKey,
    pub name: String,
    /// HMAC-SHA256 under the code of the fragment, over `silas-pair ` and the public key in base64url; base64url.
    pub proof: String,
    /// The house rules, approved and signed with the new key.
    pub house_rules: Option<Token>,
}

#[derive(Debug, Serialize)]
pub struct Paired {
    pub installation: InstallationId,
    pub certificate: Certificate,
}
