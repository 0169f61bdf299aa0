//! The sentences of Activity: one for each event that is told. What else there is to know of an event is in the catalogue
//! ([`AuditEvent::about`]).

use super::Beside;
use crate::commands::{self, Whether};
use crate::view::Icon;
use crate::words::{Words, count, in_code, spoken_of, were_changed};
use silas_core::check::{CheckResult, Outcome};
use silas_core::event::{AuditEvent, NOT_GRANTED, OVER_CAP, Phase, Text};
use silas_core::hidden;
use silas_core::model::dollars;
use silas_core::sample;
use silas_core::taint::Origin;
use silas_core::token::{Kind, Verdict};
use silas_core::{CallId, KeyId, Taint};
use silas_gates::scrub;
use std::collections::BTreeMap;

/// How an event is told: its icon, its sentence and a note beside it. Events that are only of use to a machine are not
/// told.
///
/// Long: a catalogue, with a sentence for each event.
pub(super) fn sentence(
    event: &AuditEvent,
    called: &BTreeMap<&CallId, &str>,
    beside: &dyn Beside,
    words: &Words,
) -> Option<(Icon, String, String)> {
    let text = |text: &Text| beside.text(text).unwrap_or_else(|| "(forgotten)".to_owned());
    let line = |t: &Text| scrub::visible_line(&text(t), 80);
    let on =
        |key: &KeyId| format!("Signed on {}", beside.device(key).unwrap_or_else(|| "an unknown device".to_owned()));
    let told = match event {
        AuditEvent::InstallationCreated { .. } => (
            Icon::Shield,
            "Made the keys of this installation".to_owned(),
            "The root key never leaves its helper".to_owned(),
        ),
        AuditEvent::RestoredFromBackup { old_head, .. } => (
            Icon::Shield,
            "Restored from a backup".to_owned(),
            format!(
                "Goes on from entry {}. Approvals from before no longer count",
                old_head.map_or(0, |head| head.seq)
            ),
        ),
        AuditEvent::DevicePaired { name, key } => {
            (Icon::Shield, format!("Paired {}", line(name)), format!("Key {}", &key.as_str()[4..12]))
        }
        AuditEvent::PasskeyRegistered { name, key, .. } => (
            Icon::Shield,
            format!("Registered the passkey {}", line(name)),
            format!("Key {}. It signs what cannot be undone", &key.as_str()[4..12]),
        ),
        AuditEvent::EffectUnknown { .. } => (
            Icon::Cross,
            "Interrupted while it may have acted outside".to_owned(),
            "Not begun again; you are asked what is true".to_owned(),
        ),
        AuditEvent::DeviceRevoked { key, by, .. } => {
            let name = beside.device(key).unwrap_or_else(|| "a device".to_owned());
            (Icon::Shield, format!("Revoked {name}"), by.as_ref().map_or_else(String::new, on))
        }
        AuditEvent::GrantRevoked { token, by, .. } => {
            let named = beside.grant(token, words);
            let note: Vec<String> = named.into_iter().chain(by.as_ref().map(on)).collect();
            (Icon::Shield, "Took back a grant".to_owned(), note.join(". "))
        }
        AuditEvent::WithdrawalRefused { key, reason } => {
            (Icon::Refused, "Refused to revoke something".to_owned(), format!("{}. {}", capitalised(reason), on(key)))
        }
        AuditEvent::HouseRulesSigned { key, .. } => (Icon::Pen, "You signed the house rules".to_owned(), on(key)),
        AuditEvent::MessageReceived { taint: Taint::Owner, .. } => return None,
        AuditEvent::MessageReceived { text, .. } => {
            (Icon::Refused, "Took a message as a stranger's".to_owned(), hidden::quotation(&line(text)))
        }
        AuditEvent::MessageReplayed { key, is_stale, .. } => {
            let what = if *is_stale { "Refused a message with an old date" } else { "Refused a repeated message" };
            (Icon::Refused, what.to_owned(), on(key))
        }
        AuditEvent::ExternalTextScrubbed { origin, found, .. } => {
            let where_ = match origin {
                Origin::Message => "In a message that nobody signed",
                Origin::StepOutput => "In what a command printed",
                Origin::CheckOutput => "In what a check printed",
                Origin::FileName => "In the name of a file",
                Origin::FileContent => "In a changed file",
            };
            let n = found.values().sum::<u32>() as usize;
            (Icon::Refused, format!("Found {} for an assistant", count(n, "hidden order")), where_.to_owned())
        }
        AuditEvent::DecisionRecorded { kind, verdict, key, .. } => (Icon::Pen, decided(*kind, *verdict), on(key)),
        AuditEvent::DecisionRefused { reason, .. } => {
            (Icon::Refused, "Refused a decision".to_owned(), format!("{reason}. Nothing ran."))
        }
        AuditEvent::RootGranted { place, .. } => (
            Icon::Shield,
            format!("Plans may work in {}", words.path(&text(place))),
            "Nothing changes without your yes".to_owned(),
        ),
        AuditEvent::CommandRun { outcome, command, .. } => {
            let kept = text(command);
            let ran = commands::words_of(&kept);
            let shown = in_code(ran, 80);
            let (icon, told) = match Whether::of(outcome) {
                Whether::Ran => (Icon::Tick, format!("Ran {shown} for you")),
                Whether::DidNot => (Icon::Refused, format!("Did not run {shown} for you")),
                Whether::Unknown => (Icon::Refused, format!("Kept nothing of {shown}")),
            };
            (icon, told, format!("`silas sandbox`; {}", commands::ended(outcome)))
        }
        AuditEvent::SampleLaidOut { number, .. } => (
            Icon::Tick,
            "Laid out the sample project".to_owned(),
            format!("In ~/{}, because you asked", sample::directory_name(*number)),
        ),
        AuditEvent::ModelAllowed { model, .. } => {
            (Icon::Shield, format!("May ask {}", spoken_of(model)), "What you say goes there".to_owned())
        }
        AuditEvent::BudgetExtended { period, microusd, .. } => {
            (Icon::Pen, format!("You added {} for models", dollars(*microusd)), format!("For {period}"))
        }
        AuditEvent::ModelAnswered { call, outcome, microusd, .. } => {
            // One that was called long ago is nameless here; its price is not.
            let model = called.get(call).map_or_else(|| "a model".to_owned(), |name| spoken_of(name));
            let (icon, vain) = if outcome == "answered" { (Icon::Tick, "") } else { (Icon::Cross, " in vain") };
            (icon, format!("Asked {model}{vain}"), format!("It cost {}", dollars(*microusd)))
        }
        AuditEvent::ModelRefused { code, .. } => {
            (Icon::Refused, "Did not ask a model".to_owned(), unasked(code).to_owned())
        }
        AuditEvent::AttemptBegun { attempt, .. } => {
            (Icon::Tick, format!("A model began attempt {attempt}"), "In a private copy".to_owned())
        }
        AuditEvent::ToolCalled { tool, execution, .. } => {
            let place = if execution.is_some() { "In a private copy" } else { "To find something out" };
            (Icon::Tick, format!("A model used {}", hidden::named(&scrub::visible_line(tool, 40))), place.to_owned())
        }
        AuditEvent::ToolRefused { code, .. } => {
            (Icon::Refused, "Did not make a model's call".to_owned(), not_called(code).to_owned())
        }
        AuditEvent::ExecutionBlockedNoApproval { reason, .. } => {
            (Icon::Refused, "Refused to run without approval".to_owned(), reason.clone())
        }
        AuditEvent::ExecutionResumed { .. } => {
            (Icon::Tick, "Began interrupted work again".to_owned(), "In a fresh private copy".to_owned())
        }
        AuditEvent::WorkStarted { title, .. } => {
            // A plan may have been named by a model.
            (Icon::Tick, format!("Started {}", hidden::quotation(&line(title))), "In a private copy".to_owned())
        }
        AuditEvent::ChecksRun { when, passed, failed, results, .. } => {
            let icon = if *failed > 0 { Icon::Cross } else { Icon::Tick };
            let when = match when {
                Phase::Before => "on the untouched copy",
                // What they see is made anew of what would be put in place, if there is anything.
                Phase::After => "after the work",
            };
            // A text that was forgotten names no checks; the numbers are in the entry itself.
            let results: Vec<CheckResult> = serde_json::from_str(&text(results)).unwrap_or_default();
            let mut red = results.iter().filter(|result| !result.passed);
            // A command may be a model's. The opened row has all of them.
            let first = red.next().map(|result| in_code(&hidden::name(&result.shown()), 60));
            let others = red.count();
            let what = match (passed, failed) {
                (0, 0) => return None,
                (p, 0) => format!("{} green", count(*p as usize, "check")),
                (0, f) => format!("{} red", count(*f as usize, "check")),
                (p, f) => format!("{f} red, {p} green"),
            };
            let note = match (first, others) {
                (None, _) => when.to_owned(),
                (Some(first), 0) => format!("{when}: {first}"),
                (Some(first), n) => format!("{when}: {first} and {n} more"),
            };
            (icon, what, capitalised(&note))
        }
        AuditEvent::ConnectionMade { to, .. } => {
            (Icon::Tick, format!("Reached {}", line(to)), "The plan names this host".to_owned())
        }
        AuditEvent::ConnectionRefused { to, reason, .. } if reason == NOT_GRANTED => {
            let note = "The plan does not name it. Nothing was sent.".to_owned();
            (Icon::Refused, format!("Refused to reach {}", line(to)), note)
        }
        AuditEvent::ConnectionRefused { to, reason, .. } => {
            (Icon::Refused, format!("Did not reach {}", line(to)), unreached(reason).to_owned())
        }
        AuditEvent::CredentialUsed { reference, .. } => {
            (Icon::Tick, format!("Used the secret {}", line(reference)), "The plan names it".to_owned())
        }
        AuditEvent::WorkRehearsed { files, outcome, .. } => {
            let n = count(*files as usize, "changed file");
            let (icon, what) = match outcome {
                Outcome::Proved => (Icon::Seal, "Proved"),
                Outcome::GreenByExitCode | Outcome::Guarded | Outcome::Failed | Outcome::Unproven => {
                    (Icon::Tick, "Rehearsed")
                }
            };
            let note = capitalised(&format!("{}in a private copy, not applied", worth(*outcome)));
            (icon, format!("{what} {n}"), note)
        }
        AuditEvent::CredentialRefused { reference, reason, .. } => {
            let why = crate::words::credential::refusal_words(reason);
            (Icon::Refused, format!("Did not give the secret {}", line(reference)), why.to_owned())
        }
        AuditEvent::QuestionAsked { question, .. } => {
            // Short, so that no word of it goes on at the left edge of a terminal; the opened row has all of it.
            let begins = scrub::visible_line(&text(question), 30);
            (Icon::Pen, "A model asked before planning".to_owned(), hidden::quotation(&begins))
        }
        AuditEvent::QuestionAnswered { is_chosen, .. } => {
            let how = if *is_chosen { "With an answer that it had proposed" } else { "In your own words" };
            (Icon::Pen, "You answered a model's question".to_owned(), how.to_owned())
        }
        AuditEvent::SecretRequested { reference, .. } => (
            Icon::Shield,
            format!("Asked for the secret {}", line(reference)),
            "Its value is for the vault only".to_owned(),
        ),
        AuditEvent::SecretStored { reference } => {
            (Icon::Tick, format!("Keeps the secret {}", line(reference)), "Its value is in the vault only".to_owned())
        }
        AuditEvent::SecretRemoved { reference } => {
            (Icon::Cross, format!("Removed the secret {}", line(reference)), "From the vault".to_owned())
        }
        AuditEvent::VaultUnlocked {} => {
            (Icon::Tick, "Unlocked the vault".to_owned(), "Until Silas stops or you lock it".to_owned())
        }
        AuditEvent::VaultLocked {} => {
            (Icon::Tick, "Locked the vault".to_owned(), "Plans that use a secret wait".to_owned())
        }
        AuditEvent::ServerKeyRotated { .. } => (
            Icon::Tick,
            "A new key signs the log".to_owned(),
            "What the old one signed until then still counts".to_owned(),
        ),
        AuditEvent::VaultKeyRotated { .. } => {
            (Icon::Tick, "A new key for the vault".to_owned(), "Every secret was sealed anew".to_owned())
        }
        AuditEvent::RootHandedOver { .. } => (
            Icon::Tick,
            "A new root key".to_owned(),
            "Devices and grants stay; the old one counts for nothing any more".to_owned(),
        ),
        AuditEvent::TerminalCertified { .. } => {
            (Icon::Tick, "A new terminal key".to_owned(), "What the old one signed still counts".to_owned())
        }
        AuditEvent::WorkApplied { files, outcome, .. } => {
            let (icon, what) = match outcome {
                Outcome::Proved => (Icon::Seal, "Proved and applied"),
                Outcome::GreenByExitCode | Outcome::Guarded | Outcome::Failed | Outcome::Unproven => {
                    (Icon::Tick, "Applied")
                }
            };
            let note = capitalised(&format!("{}all or none; old versions kept", worth(*outcome)));
            (icon, format!("{what} {}", count(*files as usize, "file")), note)
        }
        AuditEvent::WorkEnded { reason, .. } => {
            (Icon::Cross, "Ended with your files untouched".to_owned(), line(reason))
        }
        AuditEvent::WorkUndone { files, .. } => {
            (Icon::Undo, format!("Put {} back", count(*files as usize, "file")), "Exactly as before".to_owned())
        }
        AuditEvent::UndoWindowClosed { .. } => {
            (Icon::Tick, "The time to undo was over".to_owned(), "A plan may still put it back, for a month".to_owned())
        }
        AuditEvent::UndoneInPart { files, .. } => (
            Icon::Undo,
            format!("Put only {} back", count(*files as usize, "file")),
            "The rest is still as it was applied".to_owned(),
        ),
        AuditEvent::ApplyConflicted { files, .. } => (
            Icon::Refused,
            format!("Did not apply: {} meanwhile", were_changed(*files as usize, "")),
            "What was there stays in place".to_owned(),
        ),
        AuditEvent::TaskAdded { title, .. } => (Icon::Tick, "Added a task".to_owned(), line(title)),
        AuditEvent::TaskCompleted { title, .. } => (Icon::Tick, "Finished a task".to_owned(), line(title)),
        AuditEvent::TaskReopened { title, .. } => (Icon::Tick, "Opened a task again".to_owned(), line(title)),
        AuditEvent::InstructionRefused { reason, .. } => {
            (Icon::Refused, "Did not change your tasks".to_owned(), capitalised(reason))
        }
        AuditEvent::MessageDeadLettered { attempts, reason, .. } => {
            (Icon::Cross, format!("Put a message aside after {attempts} attempts"), line(reason))
        }
        AuditEvent::DeadLetterRevived { .. } => {
            (Icon::Pen, "You had a message tried again".to_owned(), "It had been put aside".to_owned())
        }
        AuditEvent::TextForgotten { entry, key } => {
            (Icon::Pen, format!("You had the text of entry {entry} forgotten"), on(key))
        }
        AuditEvent::TextsExpired { texts, .. } => (
            Icon::Tick,
            format!("Forgot {} whose time was over", count(*texts as usize, "old text")),
            "What happened stays in the ledger".to_owned(),
        ),
        AuditEvent::StreamStarted { .. }
        | AuditEvent::StreamStopped {}
        | AuditEvent::ReplySent { .. }
        | AuditEvent::CardOffered { .. }
        | AuditEvent::CardShown { .. }
        | AuditEvent::CardParked { .. }
        | AuditEvent::CardRenewed { .. }
        | AuditEvent::CardPutAway { .. }
        | AuditEvent::ModelCalled { .. }
        | AuditEvent::TurnRouted { .. }
        | AuditEvent::TokenSpent { .. }
        | AuditEvent::StepBegun { .. }
        | AuditEvent::ChecksBegun { .. }
        | AuditEvent::StepRun { .. }
        | AuditEvent::ToolReturned { .. }
        | AuditEvent::ResultKept { .. }
        | AuditEvent::InstructionTaken { .. }
        | AuditEvent::RecordsExpired { .. } => return None,
    };
    Some(told)
}

/// What was not counted is no proof, and is not passed over in silence either.
fn worth(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::GreenByExitCode => "green by exit code, ",
        Outcome::Guarded => "the checks stayed green, ",
        Outcome::Proved | Outcome::Failed | Outcome::Unproven => "",
    }
}

pub(super) fn not_called(code: &str) -> &'static str {
    match code {
        "E_TOOL_UNKNOWN" => "There is no such tool",
        "E_TOOL_ARGUMENTS" => "It was malformed",
        "E_TOOL_SCOPE" => "It was about something that the plan does not name",
        "E_TOOL_DENIED" | "E_TOOL_DECLINED" => "It was not allowed",
        _ => "A limit stood in the way",
    }
}

pub(super) fn unasked(code: &str) -> &'static str {
    match code {
        "privacy_confirmation_required" => "You had not agreed to it",
        "secret_unavailable" => "Its key was not there",
        "disallowed_provider_model" => "The configuration does not allow it",
        "overshared_payload_blocked" => "The question held more than may be sent",
        OVER_CAP => "The cap would have been exceeded",
        "E_LLM_RATE" => "Too many questions in a minute",
        crate::assignment::SILENT => "It did not pass its test",
        _ => "A limit stood in the way",
    }
}

pub(super) fn unreached(reason: &str) -> &'static str {
    match reason {
        "not_public" => "The name stands for a private address",
        "not_this_machine" => "The name stands for an address outside this machine",
        "other_address" => "That is not the address that was granted",
        "unresolved" => "Nobody knows its address",
        "too_many" => "Too many connections in one run",
        _ => "Nobody answered there",
    }
}

fn decided(kind: Kind, verdict: Verdict) -> String {
    let what = match kind {
        Kind::Plan => "a plan",
        Kind::HouseRules => "the house rules",
        Kind::Rehearsal => "a plan, to be shown first",
        Kind::Apply => "a result",
        Kind::Undo => "an undo",
        Kind::Root => "a directory",
        Kind::Device => "a passkey",
        Kind::Step => "one call",
        Kind::Model => "a model",
        Kind::Budget => "more money for models",
    };
    let did = match verdict {
        Verdict::Approved => "approved",
        Verdict::Declined => "declined",
        Verdict::EditRequested => "asked to change",
        Verdict::Conditional => "narrowed",
    };
    format!("You {did} {what}")
}

pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
