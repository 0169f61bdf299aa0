//! The catalogue of events: one row for each, in the order of [`AuditEvent`], with everything that the house must know of
//! an event to keep, check and tell it.
//!
//! No row can leave out whose words it is told in (it begins with that) or what it means for the books (it ends with
//! that). Deliberately absent: the sentence in Activity, which is the runtime's.

use super::{AuditEvent, Effect, NOT_GRANTED, OVER_CAP, Text, Topic};
use crate::taint::Source;
use crate::token::{Kind, Verdict};
use crate::{ExecutionId, Taint};

/// What the catalogue says of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About<'a> {
    /// On disk and in exports.
    pub name: &'static str,
    /// The text beside the chain that the event names.
    pub text: Option<&'a Text>,
    /// Whether a proof needs the text. What commands printed is not part of one; what checks showed is.
    pub proves_by_text: bool,
    /// How far the words of a row about it can be trusted. Names that browsers give themselves, what commands print and
    /// what strangers say is from outside; what the owner signed is not.
    pub taint: Taint,
    /// What a row about it is found under in Activity. A refusal is not said here: Activity tells each with its icon.
    pub topics: &'static [Topic],
    /// Whether equal rows without anything between are one: a download in many connections is one thing.
    pub may_repeat: bool,
    /// Whether the owner did this themselves.
    pub is_owners: bool,
    pub effect: Effect<'a>,
}

const CHANGE: &[Topic] = &[Topic::Change];
const DECISION: &[Topic] = &[Topic::Decision];
const SPENDING: &[Topic] = &[Topic::Spending];
const DECISION_TO_SPEND: &[Topic] = &[Topic::Decision, Topic::Spending];

impl AuditEvent {
    /// The event's name on disk.
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// The text that the event names, if it names one.
    pub fn text(&self) -> Option<&Text> {
        self.about().text
    }

    /// The event's row in the catalogue.
    ///
    /// Long: the catalogue itself, a row for each event.
    pub fn about(&self) -> About<'_> {
        match self {
            AuditEvent::InstallationCreated { installation, root } => {
                own("installation_created").does(Effect::Installs { installation, root })
            }
            AuditEvent::RestoredFromBackup { epoch, .. } => {
                own("restored_from_backup").does(Effect::Restores { epoch: *epoch })
            }
            AuditEvent::StreamStarted { .. } => own("stream_started").tells(),
            AuditEvent::StreamStopped {} => own("stream_stopped").tells(),
            AuditEvent::DevicePaired { key, name } => {
                foreign("device_paired").text(name).topics(DECISION).by_owner().does(Effect::Pairs(key))
            }
            AuditEvent::PasskeyRegistered { key, name, token } => {
                let effect = Effect::RegistersPasskey { key, token: token.as_ref() };
                foreign("passkey_registered").text(name).topics(DECISION).does(effect)
            }
            AuditEvent::DeviceRevoked { key, .. } => {
                own("device_revoked").topics(DECISION).does(Effect::RevokesDevice(key))
            }
            AuditEvent::GrantRevoked { .. } => own("grant_revoked").topics(DECISION).by_owner().tells(),
            AuditEvent::WithdrawalRefused { .. } => own("withdrawal_refused").tells(),
            AuditEvent::HouseRulesSigned { token, key } => {
                let (card, kind, verdict) = (None, Kind::HouseRules, Verdict::Approved);
                let effect = Effect::Decides { card, token, kind, verdict, key };
                own("house_rules_signed").topics(DECISION).by_owner().does(effect)
            }
            AuditEvent::MessageReceived { taint, text, .. } => said(*taint, "message_received").text(text).tells(),
            AuditEvent::MessageReplayed { .. } => own("message_replayed").tells(),
            AuditEvent::ExternalTextScrubbed { .. } => own("external_text_scrubbed").tells(),
            AuditEvent::ReplySent { text, .. } => own("reply_sent").text(text).tells(),
            AuditEvent::CardOffered { intent, .. } => own("card_offered").text(intent).tells(),
            AuditEvent::CardShown { .. } => own("card_shown").tells(),
            AuditEvent::CardParked { .. } => own("card_parked").tells(),
            AuditEvent::CardRenewed { .. } => own("card_renewed").tells(),
            AuditEvent::CardPutAway { .. } => own("card_put_away").tells(),
            AuditEvent::DecisionRecorded { card, token, kind, verdict, key } => {
                let (card, kind, verdict) = (Some(card), *kind, *verdict);
                let topics = if kind == Kind::Budget { DECISION_TO_SPEND } else { DECISION };
                let effect = Effect::Decides { card, token, kind, verdict, key };
                own("decision_recorded").topics(topics).by_owner().does(effect)
            }
            AuditEvent::DecisionRefused { .. } => own("decision_refused").tells(),
            AuditEvent::RootGranted { token, place } => {
                own("root_granted").text(place).topics(DECISION).does(Effect::Grants { token, kind: Kind::Root })
            }
            // The same texts in a directory of their own: the launcher judged the words that asked for it, and nothing is
            // used up. Working there takes a decision.
            AuditEvent::SampleLaidOut { .. } => own("sample_laid_out").tells(),
            AuditEvent::ModelAllowed { token, .. } => {
                own("model_allowed").topics(DECISION).does(Effect::Grants { token, kind: Kind::Model })
            }
            AuditEvent::BudgetExtended { token, .. } => {
                own("budget_extended").topics(DECISION_TO_SPEND).does(Effect::Grants { token, kind: Kind::Budget })
            }
            AuditEvent::ModelCalled { .. } => own("model_called").tells(),
            AuditEvent::ModelAnswered { .. } => own("model_answered").topics(SPENDING).may_repeat().tells(),
            AuditEvent::ModelRefused { code, .. } => {
                own("model_refused").topics(if code == OVER_CAP { SPENDING } else { &[] }).tells()
            }
            AuditEvent::TurnRouted { .. } => own("turn_routed").tells(),
            AuditEvent::TokenSpent { token, execution, plan_hash, use_number } => {
                own("token_spent").does(Effect::Spends { token, execution, plan_hash, use_number: *use_number })
            }
            AuditEvent::ExecutionBlockedNoApproval { .. } => own("execution_blocked_no_approval").tells(),
            AuditEvent::ExecutionResumed { execution } => own("execution_resumed").during(execution),
            AuditEvent::WorkStarted { work_item, execution, title } => {
                own("work_started").text(title).does(Effect::Starts { work_item, execution })
            }
            AuditEvent::ChecksRun { execution, results, .. } => own("checks_run").proof(results).during(execution),
            AuditEvent::StepRun { execution, output, .. } => own("step_run").text(output).during(execution),
            // Signed by the terminal for itself and spent by the launcher of that command; it changes nothing of the
            // owner's.
            AuditEvent::CommandRun { command, .. } => own("command_run").text(command).tells(),
            AuditEvent::ToolCalled { execution, arguments, .. } => {
                own("tool_called").text(arguments).may_repeat().during(execution)
            }
            AuditEvent::ToolReturned { execution, output, .. } => own("tool_returned").text(output).during(execution),
            AuditEvent::ToolRefused { execution, tool, .. } => {
                own("tool_refused").text(tool).may_repeat().during(execution)
            }
            AuditEvent::AttemptBegun { execution, .. } => own("attempt_begun").during(execution),
            AuditEvent::StepBegun { execution, .. } => own("step_begun").during(execution),
            AuditEvent::ChecksBegun { execution, .. } => own("checks_begun").during(execution),
            AuditEvent::EffectUnknown { execution, .. } => own("effect_unknown").does(Effect::Ends(execution)),
            AuditEvent::ConnectionMade { execution, to } => {
                own("connection_made").proof(to).may_repeat().during(execution)
            }
            // A name that no plan has is whatever a command asked for.
            AuditEvent::ConnectionRefused { execution, to, reason } => {
                let source = if reason == NOT_GRANTED { Source::Elsewhere } else { Source::Own };
                said(source.taint(), "connection_refused").proof(to).may_repeat().during(execution)
            }
            AuditEvent::CredentialUsed { execution, reference } => {
                own("credential_used").proof(reference).during(execution)
            }
            AuditEvent::CredentialRefused { execution, reference, .. } => {
                own("credential_refused").proof(reference).during(execution)
            }
            AuditEvent::WorkRehearsed { execution, .. } => {
                own("work_rehearsed").topics(CHANGE).does(Effect::Rehearses(execution))
            }
            AuditEvent::WorkApplied { execution, changeset, landed, .. } => {
                let effect = Effect::Applies { execution, changeset };
                own("work_applied").proof(landed).topics(CHANGE).does(effect)
            }
            AuditEvent::WorkEnded { execution, reason, .. } => {
                foreign("work_ended").text(reason).does(Effect::Ends(execution))
            }
            AuditEvent::WorkUndone { execution, changeset, token, .. } => {
                own("work_undone").topics(CHANGE).does(Effect::Undoes { execution, changeset, token })
            }
            AuditEvent::ResultKept { .. } => own("result_kept").tells(),
            AuditEvent::UndoWindowClosed { execution } => own("undo_window_closed").does(Effect::ClosesUndo(execution)),
            AuditEvent::UndoneInPart { execution, paths, .. } => own("undone_in_part").text(paths).during(execution),
            AuditEvent::ApplyConflicted { execution, paths, .. } => {
                own("apply_conflicted").text(paths).does(Effect::Ends(execution))
            }
            AuditEvent::InstructionTaken { message, operation, key, call } => {
                own("instruction_taken").does(Effect::Instructs { message, operation, key, call })
            }
            AuditEvent::InstructionRefused { .. } => own("instruction_refused").tells(),
            AuditEvent::TaskAdded { task, operation, title } => {
                let effect = Effect::ChangesTask { task, operation, tool: "add_task" };
                own("task_added").text(title).topics(CHANGE).does(effect)
            }
            AuditEvent::TaskCompleted { task, operation, title, .. } => {
                let effect = Effect::ChangesTask { task, operation, tool: "complete_task" };
                own("task_completed").text(title).topics(CHANGE).does(effect)
            }
            AuditEvent::TaskReopened { task, operation, title, .. } => {
                let effect = Effect::ChangesTask { task, operation, tool: "reopen_task" };
                own("task_reopened").text(title).topics(CHANGE).does(effect)
            }
            // Its words are a model's, made of what the model had read.
            AuditEvent::QuestionAsked { question, taint, .. } => {
                said(taint.join(Source::Own.taint()), "question_asked").text(question).tells()
            }
            AuditEvent::QuestionAnswered { .. } => own("question_answered").by_owner().tells(),
            AuditEvent::SecretRequested { reference, .. } => own("secret_requested").text(reference).tells(),
            AuditEvent::SecretStored { reference } => own("secret_stored").text(reference).tells(),
            AuditEvent::SecretRemoved { reference } => own("secret_removed").text(reference).tells(),
            AuditEvent::VaultUnlocked {} => own("vault_unlocked").tells(),
            AuditEvent::VaultLocked {} => own("vault_locked").tells(),
            AuditEvent::ServerKeyRotated { .. } => own("server_key_rotated").tells(),
            AuditEvent::VaultKeyRotated { .. } => own("vault_key_rotated").tells(),
            AuditEvent::RootHandedOver { number, from, to } => {
                own("root_handed_over").does(Effect::HandsOverRoot { number: *number, from, to })
            }
            AuditEvent::TerminalCertified { .. } => own("terminal_certified").tells(),
            AuditEvent::MessageDeadLettered { reason, .. } => own("message_dead_lettered").text(reason).tells(),
            AuditEvent::DeadLetterRevived { .. } => own("dead_letter_revived").topics(DECISION).tells(),
            AuditEvent::TextForgotten { .. } => own("text_forgotten").topics(DECISION).does(Effect::Forgets),
            AuditEvent::RecordsExpired { before, .. } => {
                own("records_expired").does(Effect::Expires { before: *before })
            }
            AuditEvent::TextsExpired { .. } => own("texts_expired").tells(),
        }
    }
}

/// A row that has not said yet what its event means for the books.
struct Row<'a>(About<'a>);

/// An event that is told in Silas's own words, or in the owner's.
fn own<'a>(name: &'static str) -> Row<'a> {
    said(Source::Own.taint(), name)
}

/// An event that is told in words from outside.
fn foreign<'a>(name: &'static str) -> Row<'a> {
    said(Source::Elsewhere.taint(), name)
}

/// An event that is told in words of this taint. What is said in the owner's, the owner said.
fn said<'a>(taint: Taint, name: &'static str) -> Row<'a> {
    let (text, proves_by_text, topics, may_repeat) = (None, false, [].as_slice(), false);
    let is_owners = taint == Taint::Owner;
    Row(About { name, text, proves_by_text, taint, topics, may_repeat, is_owners, effect: Effect::Tells })
}

impl<'a> Row<'a> {
    fn text(self, text: &'a Text) -> Self {
        Row(About { text: Some(text), ..self.0 })
    }

    /// The text, if there is one, and a proof needs it.
    fn proof(self, text: impl Into<Option<&'a Text>>) -> Self {
        Row(About { text: text.into(), proves_by_text: true, ..self.0 })
    }

    fn topics(self, topics: &'static [Topic]) -> Self {
        Row(About { topics, ..self.0 })
    }

    fn may_repeat(self) -> Self {
        Row(About { may_repeat: true, ..self.0 })
    }

    fn by_owner(self) -> Self {
        Row(About { is_owners: true, ..self.0 })
    }

    fn does(self, effect: Effect<'a>) -> About<'a> {
        About { effect, ..self.0 }
    }

    /// What is no part of any work has no effect.
    fn during(self, execution: impl Into<Option<&'a ExecutionId>>) -> About<'a> {
        self.does(execution.into().map_or(Effect::Tells, Effect::During))
    }

    fn tells(self) -> About<'a> {
        self.does(Effect::Tells)
    }
}

#[cfg(test)]
mod tests;
