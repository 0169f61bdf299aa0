//! Texts beside the chain: how an entry names one, and which event names which.

use super::AuditEvent;
use crate::Digest;
use serde::{Deserialize, Serialize};

/// A text kept beside the chain; the entry holds only its salted digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(pub Digest);

/// The salt of a text: enough that equal texts cannot be recognised and short ones cannot be guessed.
pub const SALT_BYTES: usize = 16;

impl Text {
    /// The digest by which an entry names a text. The salt's length is fixed, or its end could pass for the text's
    /// beginning.
    pub fn of(salt: &[u8; SALT_BYTES], text: &str) -> Self {
        Text(Digest::of(&[salt, text.as_bytes()].concat()))
    }

    /// The salt as it is written: hexadecimal digits of exactly its length.
    pub fn read_salt(hex: &str) -> Option<[u8; SALT_BYTES]> {
        if hex.len() != 2 * SALT_BYTES || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut salt = [0u8; SALT_BYTES];
        for (n, byte) in salt.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).ok()?;
        }
        Some(salt)
    }
}

impl AuditEvent {
    /// The text that the event names, if it names one.
    pub fn text(&self) -> Option<&Text> {
        match self {
            AuditEvent::DevicePaired { name: text, .. }
            | AuditEvent::PasskeyRegistered { name: text, .. }
            | AuditEvent::MessageReceived { text, .. }
            | AuditEvent::ReplySent { text, .. }
            | AuditEvent::CardOffered { intent: text, .. }
            | AuditEvent::RootGranted { place: text, .. }
            | AuditEvent::WorkStarted { title: text, .. }
            | AuditEvent::ChecksRun { results: text, .. }
            | AuditEvent::StepRun { output: text, .. }
            | AuditEvent::ToolCalled { arguments: text, .. }
            | AuditEvent::ToolReturned { output: text, .. }
            | AuditEvent::ToolRefused { tool: text, .. }
            | AuditEvent::ConnectionMade { to: text, .. }
            | AuditEvent::ConnectionRefused { to: text, .. }
            | AuditEvent::CredentialUsed { reference: text, .. }
            | AuditEvent::CredentialRefused { reference: text, .. }
            | AuditEvent::QuestionAsked { question: text, .. }
            | AuditEvent::SecretRequested { reference: text, .. }
            | AuditEvent::SecretStored { reference: text }
            | AuditEvent::SecretRemoved { reference: text }
            | AuditEvent::WorkEnded { reason: text, .. }
            | AuditEvent::ApplyConflicted { paths: text, .. }
            | AuditEvent::TaskAdded { title: text, .. }
            | AuditEvent::TaskCompleted { title: text, .. }
            | AuditEvent::TaskReopened { title: text, .. }
            | AuditEvent::MessageDeadLettered { reason: text, .. } => Some(text),
            AuditEvent::WorkApplied { landed, .. } => landed.as_ref(),
            AuditEvent::InstallationCreated { .. }
            | AuditEvent::RestoredFromBackup { .. }
            | AuditEvent::StreamStarted { .. }
            | AuditEvent::StreamStopped { .. }
            | AuditEvent::DeviceRevoked { .. }
            | AuditEvent::GrantRevoked { .. }
            | AuditEvent::WithdrawalRefused { .. }
            | AuditEvent::HouseRulesSigned { .. }
            | AuditEvent::MessageReplayed { .. }
            | AuditEvent::ExternalTextScrubbed { .. }
            | AuditEvent::CardParked { .. }
            | AuditEvent::CardRenewed { .. }
            | AuditEvent::DecisionRecorded { .. }
            | AuditEvent::DecisionRefused { .. }
            | AuditEvent::SampleLaidOut { .. }
            | AuditEvent::ModelAllowed { .. }
            | AuditEvent::BudgetExtended { .. }
            | AuditEvent::ModelCalled { .. }
            | AuditEvent::ModelAnswered { .. }
            | AuditEvent::ModelRefused { .. }
            | AuditEvent::QuestionAnswered { .. }
            | AuditEvent::TurnRouted { .. }
            | AuditEvent::TokenSpent { .. }
            | AuditEvent::ExecutionBlockedNoApproval { .. }
            | AuditEvent::ExecutionResumed { .. }
            | AuditEvent::AttemptBegun { .. }
            | AuditEvent::StepBegun { .. }
            | AuditEvent::ChecksBegun { .. }
            | AuditEvent::EffectUnknown { .. }
            | AuditEvent::WorkRehearsed { .. }
            | AuditEvent::WorkUndone { .. }
            | AuditEvent::UndoWindowClosed { .. }
            | AuditEvent::InstructionTaken { .. }
            | AuditEvent::InstructionRefused { .. }
            | AuditEvent::VaultUnlocked {}
            | AuditEvent::VaultLocked {}
            | AuditEvent::TerminalCertified { .. }
            | AuditEvent::ServerKeyRotated { .. }
            | AuditEvent::VaultKeyRotated { .. }
            | AuditEvent::RootHandedOver { .. }
            | AuditEvent::DeadLetterRevived { .. }
            | AuditEvent::TextForgotten { .. }
            | AuditEvent::RecordsExpired { .. }
            | AuditEvent::TextsExpired { .. } => None,
        }
    }
}
