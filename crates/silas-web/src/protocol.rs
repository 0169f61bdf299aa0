//! The messages of the WebSocket, in the order in which a page meets them. `web/protocol.js` mirrors this file.
//!
//! A connection is a challenge, an answer signed by a paired device, and then a welcome with a snapshot. What is said
//! comes numbered, in order, and is acknowledged; a page that reconnects names the last number that it has, and is given
//! exactly the rest.

use serde::{Deserialize, Serialize};
use silas_core::card::{Card, Face};
use silas_core::changeset::FileDiff;
use silas_core::command_run::CommandRun;
use silas_core::device::Certificate;
use silas_core::input::KeyWanted;
use silas_core::message::{HeardMessage, SignedMessage};
use silas_core::model::{ModelGrant, Price, Role};
use silas_core::passkey::Site;
use silas_core::revocation::Withdrawal;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Offer, Token};
use silas_core::{CardId, Digest, ExecutionId, InstallationId, KeyId, MessageId, Nonce, SessionId, Timestamp};
use silas_runtime::Resume;
use silas_runtime::view::{
    ActivityPage, CardsPage, DeadLetterView, DeliveryView, EvidenceView, GrantsPage, LedgerPart, LedgerReport,
    LedgerTextView, MeasureView, ModelsView, ProofView, SessionView, SinceView, Snapshot, TaskView, Update,
    WorkListPage, WorkView,
};
use std::borrow::Cow;

/// From the page.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClientMessage {
    /// Must be first, within five seconds. The signature covers [`SessionProof`].
    Auth {
        key: KeyId,
        signature: Signature,
        /// What a page that lost its connection already has.
        resume: Option<Resume>,
        /// The access token; needed at the network door, unless it came as the subprotocol `silas.token.…`.
        #[serde(default)]
        token: Option<String>,
    },
    /// Everything up to this number was shown.
    Ack {
        seq: u64,
    },
    /// What the owner said.
    Message {
        message: HeardMessage,
    },
    /// A decision: the card's own offer, answered and signed.
    ApprovalResponse {
        request_id: CardId,
        token: Token,
    },
    /// A parked card asks again; with `rehearse`, whether to rehearse what it asked for.
    Renew {
        request_id: CardId,
        #[serde(default)]
        rehearse: bool,
    },
    /// A card that asks nothing is put away.
    Dismiss {
        request_id: CardId,
    },
    /// A device or a grant is taken back, signed by the device that wants it.
    Withdraw {
        withdrawal: Withdrawal,
    },
    /// Asks for the house rules again, in a card.
    HouseRules {},
    /// Asks for a card about a directory that plans may work in. Nothing is allowed before that card is approved.
    RootAdd {
        /// Its whole path.
        path: String,
    },
    Proof {
        execution: ExecutionId,
    },
    /// Asks for the proof as a file that can be checked elsewhere.
    Bundle {
        execution: ExecutionId,
    },
    /// Asks whether somebody has changed since what an undo would put back.
    LaterEdits {
        execution: ExecutionId,
    },
    /// Asks for a plan that puts back what work changed whose time for undoing is over. It runs nothing before its card is
    /// approved.
    WayBack {
        execution: ExecutionId,
    },
    /// Asks for the work that was approved, from this one on, counted from 0 with the newest.
    WorkList {
        #[serde(default)]
        from: u32,
    },
    /// Ends everything: running work, the answer being given and what waits to be begun. Or one piece of work. Needs no
    /// signature: it can only take away.
    Stop {
        #[serde(default)]
        execution: Option<ExecutionId>,
    },
    /// Ends what a model is saying. Needs no signature either.
    Interrupt {},
    /// Asks for a card about a passkey that was made in the page. It decides nothing before that card is approved.
    PasskeyAdd {
        name: String,
        public: PublicKey,
        site: Site,
    },
    /// Asks which models serve whom, and what was spent.
    Models {},
    /// Asks for a card about a model. Nothing is used or sent before that card is approved.
    ModelAdd {
        grant: ModelGrant,
    },
    /// One small question to the model of a role.
    ModelCheck {
        role: Role,
    },
    /// Answers a card that asks which model; the next card asks for its key or for the agreement.
    ModelChoose {
        request_id: CardId,
        /// As for `silas model add`: `PROVIDER:MODEL`, or `PROVIDER:MODEL@URL`.
        model: String,
        key: KeyWanted,
        /// What a million tokens cost, where the owner says so.
        #[serde(default)]
        price: Option<Price>,
    },
    /// Answers a card on which a model asks something: one of its options or other words, signed as a message for the scope
    /// `answer:` and the card's id.
    DecisionResponse {
        request_id: CardId,
        message: HeardMessage,
    },
    /// Answers a card that tells of a test that failed: the same question to the same model.
    ModelAgain {
        request_id: CardId,
    },
    /// Answers the same card: asks for another model, filled in with what was tried.
    ModelAnother {
        request_id: CardId,
    },
    /// Checks the whole ledger.
    Verify {},
    /// Asks for the owner's tasks; changing them is a `message`.
    Tasks {},
    /// Asks for the cards from this one on, counted from 0.
    Cards {
        from: usize,
    },
    /// Asks for the grants from this one on, counted from 0.
    Grants {
        from: usize,
    },
    /// Asks for what happened before this entry of the ledger.
    Activity {
        before: u64,
    },
    /// Asks what stands behind a row of Activity, by the number of its entry.
    Evidence {
        seq: u64,
    },
    /// Asks who follows the Stream.
    Sessions {},
    /// Asks for what was put aside.
    DeadLetters {},
    /// Asks how deciding goes.
    Measures {},
    /// Has a message that was put aside tried again.
    Revive {
        message: MessageId,
    },
    /// Asks for the text of a ledger entry.
    LedgerText {
        seq: u64,
    },
    /// Has it forgotten. The message says exactly that, signed by the terminal.
    Forget {
        seq: u64,
        message: SignedMessage,
    },
    /// Has a command of `silas sandbox` written to the ledger, as the terminal signed it. Nothing is run. Over the terminal's
    /// own door only.
    CommandRun {
        run: Box<CommandRun>,
    },
    /// Asks for the entries after the last one that this device knows.
    Ledger {
        after: u64,
    },
}

/// To the page.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    /// First word of every WebSocket.
    Challenge {
        challenge: Nonce,
        installation: InstallationId,
    },
    Welcome {
        device: String,
        session: SessionId,
        /// The page has everything up to this number; what comes after it is delivered now.
        seq: u64,
        /// The last number there is. The page is up to date when it has got there.
        head: u64,
        /// Whether the page goes on from what it has; the snapshot then has no entries.
        resumed: bool,
        /// What came while this device was away.
        since: Option<SinceView>,
        snapshot: Box<Snapshot>,
    },
    /// A new entry of the Stream, or a new version of one with the same id.
    Message {
        #[serde(flatten)]
        delivery: DeliveryView,
    },
    /// The answer to `approval_response`, `renew`, `dismiss`, `decision_response`, `model_choose`, `model_again` and
    /// `model_another`.
    Decided {
        request_id: CardId,
        recorded: bool,
        message: String,
        /// Of what was in the way, if something was.
        code: Option<String>,
    },
    /// The answer to `stop`: so many were running, and each was told to end; and these models are not waited for any more.
    Stopped {
        n_works: usize,
        models: Vec<String>,
    },
    /// The line is alive. A page that hears nothing for longer than three of these has lost it.
    Beat {},
    /// The answer to `withdraw` and `house_rules`.
    Withdrawn {
        done: bool,
        message: String,
    },
    Proof {
        proof: Box<ProofView>,
    },
    /// The text of the file, exactly.
    Bundle {
        execution: ExecutionId,
        bundle: String,
    },
    /// What is there now against what the undo would put there; empty if nothing was changed.
    LaterEdits {
        execution: ExecutionId,
        edits: Vec<FileDiff>,
    },
    /// Newest first.
    WorkList {
        from: u32,
        #[serde(flatten)]
        page: WorkListPage,
    },
    Verified {
        report: LedgerReport,
    },
    Tasks {
        tasks: Vec<TaskView>,
    },
    CardsPage {
        from: usize,
        #[serde(flatten)]
        page: CardsPage,
    },
    GrantsPage {
        from: usize,
        #[serde(flatten)]
        page: GrantsPage,
    },
    ActivityPage {
        before: u64,
        #[serde(flatten)]
        page: ActivityPage,
    },
    Evidence {
        evidence: Box<EvidenceView>,
    },
    Sessions {
        sessions: Vec<SessionView>,
    },
    DeadLetters {
        dead_letters: Vec<DeadLetterView>,
    },
    Measures {
        measures: Vec<MeasureView>,
    },
    LedgerText {
        entry: LedgerTextView,
    },
    Models {
        models: ModelsView,
    },
    /// The card that `root_add`, `model_add`, `passkey_add` or `way_back` asked for.
    Asked {
        card: Box<Card>,
    },
    /// The answer to `revive`, `forget`, `command_run` and `model_check`.
    Done {
        message: String,
    },
    Ledger {
        part: LedgerPart,
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
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct SessionProof<'a> {
    pub kind: &'static str,
    pub challenge: &'a Nonce,
    pub installation: &'a InstallationId,
    pub key: &'a KeyId,
}

/// `Authorization: Silas …` of a request that reads: this, as JSON in base64url. The signature covers [`ReadProof`].
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    pub key: KeyId,
    pub timestamp: Timestamp,
    pub nonce: Nonce,
    pub signature: Signature,
    /// The access token; needed at the network door.
    #[serde(default)]
    pub token: Option<String>,
}

/// What a device signs to read over HTTP: canonical JSON of this. It is good once, and for a few minutes.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ReadProof<'a> {
    pub kind: &'static str,
    /// Path and query, as they are sent.
    pub path: &'a str,
    pub installation: &'a InstallationId,
    pub key: &'a KeyId,
    pub timestamp: Timestamp,
    pub nonce: &'a Nonce,
}

/// What a device signs to hand something in over HTTP: canonical JSON of this. It is good once, and for a few minutes.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct WriteProof<'a> {
    pub kind: &'static str,
    pub method: &'a str,
    /// Path and query, as they are sent.
    pub path: &'a str,
    /// SHA-256 of the body, as it is sent.
    pub body: Digest,
    pub installation: &'a InstallationId,
    pub key: &'a KeyId,
    pub timestamp: Timestamp,
    pub nonce: &'a Nonce,
}

/// `POST /secrets/{ref_id}`. Deliberately not `Debug`: nothing here can be printed.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretValue<'a> {
    #[serde(borrow)]
    pub value: Cow<'a, str>,
}

/// The answer to it, taken from the vault's own record.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct SecretGiven {
    pub stored: bool,
}

/// `GET /api/work`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct WorkPage {
    /// Running and recent work, oldest first.
    pub work: Vec<WorkView>,
}

/// A request that was not answered: what happened, what to do, and a stable code.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Refused {
    pub code: String,
    pub message: String,
    pub todo: String,
}

/// `GET /pair`: what the pairing screen shows and what its tap signs.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct PairingScreen {
    pub installation: InstallationId,
    /// What a withdrawal of an old key names.
    pub epoch: u64,
    /// Absent once an earlier device has signed them.
    pub house_rules: Option<HouseRules>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct HouseRules {
    pub face: Face,
    pub offer: Offer,
    pub payload: String,
}

/// `POST /pair`.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    pub public: PublicKey,
    pub name: String,
    /// HMAC-SHA256 under the code of the fragment, over `silas-pair ` and the public key in base64url; base64url.
    pub proof: String,
    /// The house rules, approved and signed with the new key.
    pub house_rules: Option<Token>,
    /// A browser that was paired before withdraws its old key, signed with that one.
    #[serde(default)]
    pub replaces: Option<Withdrawal>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Paired {
    pub installation: InstallationId,
    pub certificate: Certificate,
    /// At the network door: what this device has to show there from now on.
    pub access: Option<String>,
}
