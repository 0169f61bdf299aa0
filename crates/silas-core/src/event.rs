//! What the ledger may record: a closed list, with the names that are used everywhere else.
//!
//! Facts are ids, hashes, counts and codes. Words that a person wrote or a program printed are never here; they are kept
//! beside the chain under a salted digest ([`Text`]), so that forgetting them leaves the chain whole. What else is to be known
//! of an event is its row in the catalogue ([`About`]).

mod catalogue;
mod effect;
mod text;
mod topic;

pub use catalogue::About;
pub use effect::Effect;
pub use text::{SALT_BYTES, Text};
pub use topic::Topic;

use crate::check::Outcome;
use crate::checkpoint::Head;
use crate::interaction::{ContextProfile, InteractionRegister};
use crate::model::{Period, Role};
use crate::taint::{Origin, Suspicion};
use crate::task::{OperationId, TaskId};
use crate::token::{Kind, Verdict};
use crate::work::InteractionMode;
use crate::{
    CallId, CardId, Digest, ExecutionId, InstallationId, KeyId, MessageId, Taint, Timestamp, TokenId, WorkItemId,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The reason of a [`AuditEvent::ConnectionRefused`] to a host that no plan named.
pub const NOT_GRANTED: &str = "not_granted";
/// The code of a [`AuditEvent::ModelRefused`] because of the cap.
pub const OVER_CAP: &str = "E_LLM_CAP";

/// `kind` is the name of the event on disk and in exports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum AuditEvent {
    InstallationCreated {
        installation: InstallationId,
        root: KeyId,
    },
    /// The first entry of a new epoch. The chain goes on from `old_head`; what came after it elsewhere is not in it.
    RestoredFromBackup {
        old_head: Option<Head>,
        epoch: u64,
    },
    StreamStarted {
        version: String,
    },
    StreamStopped {},
    DevicePaired {
        key: KeyId,
        name: Text,
    },
    /// The owner registered a passkey. After a crash in between it may not be known any more by which decision.
    PasskeyRegistered {
        key: KeyId,
        name: Text,
        token: Option<TokenId>,
    },
    /// `by` is the device that asked for it, if that is known: after a crash only the list is.
    DeviceRevoked {
        key: KeyId,
        by: Option<KeyId>,
        number: u64,
    },
    GrantRevoked {
        token: TokenId,
        by: Option<KeyId>,
        number: u64,
    },
    WithdrawalRefused {
        key: KeyId,
        reason: String,
    },
    HouseRulesSigned {
        token: TokenId,
        key: KeyId,
    },
    MessageReceived {
        message: MessageId,
        taint: Taint,
        text: Text,
    },
    /// Signed by a device, but heard before, or too old or too new: not taken as the owner's.
    MessageReplayed {
        message: MessageId,
        key: KeyId,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_stale: bool,
    },
    /// A text from outside held something that looks meant for an assistant. `of` is the message or the execution.
    ExternalTextScrubbed {
        origin: Origin,
        of: String,
        found: BTreeMap<Suspicion, u32>,
    },
    ReplySent {
        message: MessageId,
        text: Text,
    },
    CardOffered {
        card: CardId,
        kind: Kind,
        plan_hash: Digest,
        shown: Digest,
        intent: Text,
    },
    /// A card that asks for no decision was laid down, or says something else from here on: reports, forms, offers to undo.
    CardShown {
        card: CardId,
        shown: Digest,
    },
    CardParked {
        card: CardId,
    },
    CardRenewed {
        card: CardId,
    },
    /// The owner put it away without an answer.
    CardPutAway {
        card: CardId,
    },
    DecisionRecorded {
        card: CardId,
        token: TokenId,
        kind: Kind,
        verdict: Verdict,
        key: KeyId,
    },
    DecisionRefused {
        card: CardId,
        reason: String,
    },
    RootGranted {
        token: TokenId,
        place: Text,
    },
    /// The launcher laid out the sample project, or found it as laid out, because this message asked for it. `number` is
    /// that of its directory.
    SampleLaidOut {
        message: MessageId,
        number: u32,
    },
    /// The owner has agreed that what is said goes to this model.
    ModelAllowed {
        token: TokenId,
        model: String,
    },
    BudgetExtended {
        token: TokenId,
        period: Period,
        microusd: u64,
    },
    /// On disk before anything is sent. Without a `model_answered` after it, the whole reserve counts as spent.
    ModelCalled {
        call: CallId,
        message: Option<MessageId>,
        role: Role,
        model: String,
        reserved_microusd: u64,
    },
    /// `outcome` is `answered` or the code of what went wrong.
    ModelAnswered {
        call: CallId,
        outcome: String,
        input_tokens: u64,
        output_tokens: u64,
        microusd: u64,
    },
    /// Nothing was sent. `code` is one of the five of the boundary, or that of a limit.
    ModelRefused {
        role: Role,
        code: String,
    },
    /// What the proxy made of a message.
    TurnRouted {
        message: MessageId,
        route: String,
        interaction_register: InteractionRegister,
        interaction_mode: InteractionMode,
        context_profile: ContextProfile,
    },
    TokenSpent {
        token: TokenId,
        execution: ExecutionId,
        plan_hash: Digest,
        use_number: u32,
    },
    ExecutionBlockedNoApproval {
        work_item: WorkItemId,
        reason: String,
    },
    ExecutionResumed {
        execution: ExecutionId,
    },
    WorkStarted {
        work_item: WorkItemId,
        execution: ExecutionId,
        title: Text,
    },
    ChecksRun {
        execution: ExecutionId,
        when: Phase,
        passed: u32,
        failed: u32,
        results: Text,
    },
    StepRun {
        execution: ExecutionId,
        step: u32,
        exit_code: Option<i32>,
        output: Text,
    },
    /// `silas sandbox` ran one command, which the terminal's key signed for itself, or was kept from it. `outcome` is
    /// `exit_0` and the like, `signal_9`, `timed_out`, each with `-` and a code where it cannot be told what it changed; or
    /// the code of what went wrong. The text is that of [`crate::command_run`].
    CommandRun {
        execution: ExecutionId,
        token: TokenId,
        key: KeyId,
        /// Of the bytes that were signed.
        envelope: Digest,
        outcome: String,
        command: Text,
    },
    /// Before a tool is called with exactly these arguments. `execution` is the work that it belongs to, else `message` the
    /// question that it helps to answer.
    ToolCalled {
        call: CallId,
        execution: Option<ExecutionId>,
        message: Option<MessageId>,
        tool: String,
        arguments: Text,
    },
    /// What came of it. `outcome` is `done`, `failed`, or the code of a refusal.
    ToolReturned {
        call: CallId,
        execution: Option<ExecutionId>,
        outcome: String,
        taint: Taint,
        output: Text,
    },
    /// A call that was not made: unknown, malformed, out of scope, repeated, or beyond a limit.
    ToolRefused {
        execution: Option<ExecutionId>,
        tool: Text,
        code: String,
    },
    /// A model begins to work on a plan, for the first time or again.
    AttemptBegun {
        execution: ExecutionId,
        attempt: u32,
    },
    /// On disk before a command begins that may reach something outside. Without a `step_run` after it, nobody knows
    /// what it did there.
    StepBegun {
        execution: ExecutionId,
        step: u32,
    },
    /// On disk before checks begin that may reach something outside.
    ChecksBegun {
        execution: ExecutionId,
        when: Phase,
    },
    /// It was cut short after such a command or such checks had begun: it is not begun again, and the owner is asked what
    /// is true.
    EffectUnknown {
        execution: ExecutionId,
        /// The command; `None` where checks had begun last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u32>,
    },
    /// A command reached a host that its plan names, or was reached at the port for a login.
    ConnectionMade {
        execution: ExecutionId,
        to: Text,
    },
    ConnectionRefused {
        execution: ExecutionId,
        to: Text,
        reason: String,
    },
    CredentialUsed {
        execution: ExecutionId,
        reference: Text,
    },
    CredentialRefused {
        execution: ExecutionId,
        reference: Text,
        reason: String,
    },
    /// The result waits in its private copy for a decision.
    WorkRehearsed {
        execution: ExecutionId,
        changeset: Digest,
        files: u32,
        outcome: Outcome,
    },
    WorkApplied {
        execution: ExecutionId,
        changeset: Digest,
        files: u32,
        outcome: Outcome,
        /// The list of files whose hash is `changeset`, and how they read: a [`crate::bundle::Landed`]. Entries of
        /// earlier versions have none, and neither has what would be too long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landed: Option<Text>,
    },
    WorkEnded {
        execution: ExecutionId,
        outcome: Outcome,
        reason: Text,
    },
    WorkUndone {
        execution: ExecutionId,
        changeset: Digest,
        files: u32,
        token: TokenId,
    },
    /// What is kept of work that has ended or waits (what was printed, how checks went, what differs) was written down; the
    /// hash is of the row. Work of earlier versions has no such entry.
    ResultKept {
        execution: ExecutionId,
        result: Digest,
    },
    UndoWindowClosed {
        execution: ExecutionId,
    },
    /// An undo could put back only some of the files; the rest is still as it was applied, and can be undone by another.
    UndoneInPart {
        execution: ExecutionId,
        files: u32,
        paths: Text,
    },
    ApplyConflicted {
        execution: ExecutionId,
        files: u32,
        paths: Text,
    },
    /// The owner's own signed words are the approval of `call`; they are used up with this.
    InstructionTaken {
        message: MessageId,
        operation: OperationId,
        key: KeyId,
        call: Digest,
    },
    InstructionRefused {
        operation: OperationId,
        reason: String,
    },
    TaskAdded {
        task: TaskId,
        operation: OperationId,
        title: Text,
    },
    TaskCompleted {
        task: TaskId,
        operation: OperationId,
        version: u64,
        title: Text,
    },
    TaskReopened {
        task: TaskId,
        operation: OperationId,
        version: u64,
        title: Text,
    },
    /// A model asked the owner something before it planned.
    QuestionAsked {
        card: CardId,
        question: Text,
        /// What the model had read when it asked.
        taint: Taint,
    },
    /// The owner answered it; the message is the answer. `is_chosen`: in words that the model had proposed.
    QuestionAnswered {
        card: CardId,
        message: MessageId,
        is_chosen: bool,
        /// The message that the question was about: cards go, and what came of the answer must be found without them.
        /// Entries of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wish: Option<MessageId>,
    },
    /// The owner was asked for the value of a secret. Only its name is told.
    SecretRequested {
        card: CardId,
        reference: Text,
    },
    /// The owner put a secret into the vault, or took one out. Only its name is told.
    SecretStored {
        reference: Text,
    },
    SecretRemoved {
        reference: Text,
    },
    VaultUnlocked {},
    VaultLocked {},
    /// The ledger's heads are signed by another key from here on.
    ServerKeyRotated {
        from: KeyId,
        to: KeyId,
    },
    /// Every secret was sealed anew; `number` counts the vault's keys.
    VaultKeyRotated {
        number: u64,
    },
    /// Devices and lists are vouched for by another key from here on.
    RootHandedOver {
        number: u64,
        from: KeyId,
        to: KeyId,
    },
    /// The root key vouches for a new terminal key. What the old one signed still counts.
    TerminalCertified {
        key: KeyId,
    },
    /// A message was tried often enough and put aside.
    MessageDeadLettered {
        message: MessageId,
        attempts: u32,
        reason: Text,
    },
    /// The owner had it tried again.
    DeadLetterRevived {
        message: MessageId,
    },
    /// The owner had the text of an entry forgotten, by words signed with this key.
    TextForgotten {
        entry: u64,
        key: KeyId,
    },
    /// Settled instructions from before this instant were kept for their time and are gone. Decisions stay.
    RecordsExpired {
        before: Timestamp,
        instructions: u32,
    },
    /// The texts of all entries up to this one were kept for their time and are gone.
    TextsExpired {
        through: u64,
        texts: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Before,
    After,
}
