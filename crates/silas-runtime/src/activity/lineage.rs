//! How far the words of a row can be trusted. Every event is named, so that whoever adds one says whose words it carries.

use crate::work::NOT_GRANTED;
use silas_core::Taint;
use silas_core::event::AuditEvent;
use silas_core::taint::Source;

/// What a row about this event is made of. Names that browsers give themselves, what commands print and what strangers
/// say is from outside; what the owner signed is not.
pub(super) fn of(event: &AuditEvent) -> Taint {
    match event {
        AuditEvent::MessageReceived { taint, .. } => *taint,
        AuditEvent::DevicePaired { .. } | AuditEvent::PasskeyRegistered { .. } | AuditEvent::WorkEnded { .. } => {
            Source::Elsewhere.taint()
        }
        // The name is whatever a command asked for.
        AuditEvent::ConnectionRefused { reason, .. } if reason == NOT_GRANTED => Source::Elsewhere.taint(),
        // Its words are a model's, made of what the model had read.
        AuditEvent::QuestionAsked { taint, .. } => taint.join(Source::Own.taint()),
        AuditEvent::ConnectionRefused { .. }
        | AuditEvent::InstallationCreated { .. }
        | AuditEvent::RestoredFromBackup { .. }
        | AuditEvent::StreamStarted { .. }
        | AuditEvent::StreamStopped { .. }
        | AuditEvent::StepBegun { .. }
        | AuditEvent::ChecksBegun { .. }
        | AuditEvent::EffectUnknown { .. }
        | AuditEvent::DeviceRevoked { .. }
        | AuditEvent::GrantRevoked { .. }
        | AuditEvent::WithdrawalRefused { .. }
        | AuditEvent::HouseRulesSigned { .. }
        | AuditEvent::MessageReplayed { .. }
        | AuditEvent::ExternalTextScrubbed { .. }
        | AuditEvent::ReplySent { .. }
        | AuditEvent::CardOffered { .. }
        | AuditEvent::CardParked { .. }
        | AuditEvent::CardRenewed { .. }
        | AuditEvent::DecisionRecorded { .. }
        | AuditEvent::DecisionRefused { .. }
        | AuditEvent::RootGranted { .. }
        | AuditEvent::SampleLaidOut { .. }
        | AuditEvent::ModelAllowed { .. }
        | AuditEvent::BudgetExtended { .. }
        | AuditEvent::ModelCalled { .. }
        | AuditEvent::ModelAnswered { .. }
        | AuditEvent::ModelRefused { .. }
        | AuditEvent::TurnRouted { .. }
        | AuditEvent::TokenSpent { .. }
        | AuditEvent::ExecutionBlockedNoApproval { .. }
        | AuditEvent::ExecutionResumed { .. }
        | AuditEvent::WorkStarted { .. }
        | AuditEvent::ChecksRun { .. }
        | AuditEvent::StepRun { .. }
        | AuditEvent::ToolCalled { .. }
        | AuditEvent::ToolReturned { .. }
        | AuditEvent::ToolRefused { .. }
        | AuditEvent::AttemptBegun { .. }
        | AuditEvent::ConnectionMade { .. }
        | AuditEvent::CredentialUsed { .. }
        | AuditEvent::CredentialRefused { .. }
        | AuditEvent::WorkRehearsed { .. }
        | AuditEvent::WorkApplied { .. }
        | AuditEvent::WorkUndone { .. }
        | AuditEvent::UndoWindowClosed { .. }
        | AuditEvent::ApplyConflicted { .. }
        | AuditEvent::InstructionTaken { .. }
        | AuditEvent::InstructionRefused { .. }
        | AuditEvent::TaskAdded { .. }
        | AuditEvent::TaskCompleted { .. }
        | AuditEvent::TaskReopened { .. }
        | AuditEvent::QuestionAnswered { .. }
        | AuditEvent::SecretRequested { .. }
        | AuditEvent::SecretStored { .. }
        | AuditEvent::SecretRemoved { .. }
        | AuditEvent::VaultUnlocked {}
        | AuditEvent::VaultLocked {}
        | AuditEvent::TerminalCertified { .. }
        | AuditEvent::ServerKeyRotated { .. }
        | AuditEvent::VaultKeyRotated { .. }
        | AuditEvent::RootHandedOver { .. }
        | AuditEvent::MessageDeadLettered { .. }
        | AuditEvent::DeadLetterRevived { .. }
        | AuditEvent::TextForgotten { .. }
        | AuditEvent::RecordsExpired { .. }
        | AuditEvent::TextsExpired { .. } => Source::Own.taint(),
    }
}
