//! What each kind of entry says about what stands behind it. What an entry only names is looked up in [`super::lookup`].

use super::lookup::{answer, came_to, grant, purpose, suspicion};
use super::*;
use crate::commands;
use silas_core::hidden;
use silas_core::number::grouped;
use silas_core::taint::Origin;

/// Checks that are named; a plan has a handful.
const CHECKS_MAX: usize = 20;

impl Behind<'_, '_> {
    /// Long: a catalogue, with an arm for each event that has something behind its row.
    pub(super) fn tell(&mut self, event: &AuditEvent) -> Result<(), Error> {
        match event {
            AuditEvent::DecisionRecorded { card, token, verdict, .. } => {
                self.asked(card, Some(token))?;
                self.fact("Answer", answer(*verdict));
                self.signed(token)?;
            }
            AuditEvent::HouseRulesSigned { token, .. } => {
                self.fact("Asked", "Whether the house rules shall hold");
                self.fact("Answer", answer(Verdict::Approved));
                self.signed(token)?;
            }
            AuditEvent::RootGranted { token, place } => {
                let place = self.words.path(&self.text(place));
                self.fact("Allows", &format!("Plans to work in {place}; nothing changes without your yes"));
                self.signed(token)?;
            }
            AuditEvent::ModelAllowed { token, model } => {
                self.fact("Allows", &format!("To ask {model}"));
                self.signed(token)?;
            }
            AuditEvent::BudgetExtended { token, period, microusd } => {
                self.fact("Allows", &format!("{} more for models, for {period}", dollars(*microusd)));
                self.signed(token)?;
            }
            AuditEvent::DevicePaired { key, name } => {
                self.texts("Device", name);
                self.code("Key", key.as_str());
            }
            AuditEvent::PasskeyRegistered { key, name, token } => {
                self.texts("Passkey", name);
                self.code("Key", key.as_str());
                if let Some(token) = token {
                    self.signed(token)?;
                }
            }
            AuditEvent::DeviceRevoked { key, by, number } => {
                self.device("Device", key);
                self.code("Key", key.as_str());
                self.taken_back(by.as_ref(), *number);
            }
            AuditEvent::GrantRevoked { token, by, number } => {
                if let Some(kept) = tokens::get(self.tx, token)? {
                    let kind = kept.token.body.offer.kind;
                    match crate::hub::grants::said(kind, &kept.payload, self.words) {
                        Some(said) => {
                            self.fact("Grant", &said.title);
                            self.fact("Allowed", &said.text);
                        }
                        None => self.fact("Grant", grant(kind)),
                    }
                    if let Some(card) = &kept.card {
                        self.asked(card, Some(token))?;
                    }
                }
                self.taken_back(by.as_ref(), *number);
            }
            AuditEvent::WithdrawalRefused { key, reason } => {
                self.refused("To take something back", reason);
                self.device("Signed on", key);
            }
            AuditEvent::DecisionRefused { card, reason } => {
                self.asked(card, None)?;
                self.fact("Refused", &format!("{reason}. Nothing ran."));
            }
            AuditEvent::MessageReceived { taint, text, .. } => {
                let who = if *taint == Taint::Owner { "You" } else { "Somebody who did not sign it" };
                let text = self.text(text);
                self.quote(who, &text);
            }
            AuditEvent::MessageReplayed { message, key, is_stale } => {
                let rule = if *is_stale { "Its date is too old or too new" } else { "It was heard before" };
                self.refused("To be taken as yours", rule);
                self.device("Signed on", key);
                self.message(message, "The message");
            }
            AuditEvent::ExternalTextScrubbed { origin, found, of } => {
                for (what, n) in found {
                    self.fact("Found", &format!("{}, {}", suspicion(*what), count(*n as usize, "time")));
                }
                let done = match origin {
                    Origin::Message => "Taken out before anything read it",
                    Origin::StepOutput | Origin::CheckOutput | Origin::FileName | Origin::FileContent => {
                        "Left as it is; it decides nothing about what leaves the copy"
                    }
                };
                self.fact("Done", done);
                if let Ok(execution) = ExecutionId::parse(of) {
                    self.task(&execution)?;
                }
            }
            AuditEvent::ModelAnswered { call, outcome, input_tokens, output_tokens, microusd } => {
                self.question(call);
                self.fact("Cost", &dollars(*microusd));
                self.fact("Tokens", &format!("{} read, {} written", grouped(input_tokens), grouped(output_tokens)));
                if outcome != "answered" {
                    self.fact("Ended", outcome);
                }
            }
            AuditEvent::ModelCalled { call, .. } => self.question(call),
            AuditEvent::ModelRefused { role, code } => {
                self.fact("Wanted", &format!("To ask a model {}", purpose(*role)));
                self.rule(unasked(code), code);
            }
            AuditEvent::ToolCalled { execution, message, tool, arguments, .. } => {
                self.fact("Tool", tool);
                self.task_of(execution.as_ref())?;
                if let Some(message) = message {
                    self.message(message, "You asked");
                }
                let arguments = self.text(arguments);
                self.quote("The model’s call", &arguments);
            }
            AuditEvent::ToolReturned { execution, outcome, output, .. } => {
                self.fact("Ended", outcome);
                self.task_of(execution.as_ref())?;
                let output = self.text(output);
                self.quote("What the tool said", &output);
            }
            AuditEvent::ToolRefused { execution, tool, code } => {
                let tool = self.text(tool);
                self.fact("Wanted", &format!("A model's call of {}", hidden::named(&tool)));
                self.rule(not_called(code), code);
                self.task_of(execution.as_ref())?;
            }
            AuditEvent::ExecutionBlockedNoApproval { work_item, reason } => {
                self.item(work_item)?;
                self.fact("Refused", &format!("Nothing runs without your approval: {reason}"));
            }
            AuditEvent::ChecksRun { execution, results, .. } => {
                // A text that was forgotten names no checks; the row has the numbers.
                let results: Vec<CheckResult> = serde_json::from_str(&self.text(results)).unwrap_or_default();
                for check in results.iter().take(CHECKS_MAX) {
                    let label = if check.passed { "Green" } else { "Red" };
                    // It may be a model's, and whatever follows it is Silas's.
                    let command = in_code(&hidden::name(&check.shown()), COMMAND_CHARS_MAX);
                    self.fact(label, &format!("{command}, in {}. {}", took(check.took_ms), check.reason));
                }
                if results.len() > CHECKS_MAX {
                    self.fact("Besides", &count(results.len() - CHECKS_MAX, "more check"));
                }
                self.task(execution)?;
            }
            AuditEvent::StepRun { execution, step, exit_code, output } => {
                self.fact("Command", &format!("Number {}", step + 1));
                self.fact(
                    "Ended",
                    &exit_code.map_or_else(|| "by force".to_owned(), |code| format!("with code {code}")),
                );
                self.task(execution)?;
                let output = self.text(output);
                self.quote("What it printed", &output);
            }
            AuditEvent::CommandRun { key, outcome, command, envelope, .. } => {
                let kept = self.text(command);
                self.device("Signed on", key);
                self.fact("Ended", &commands::ended(outcome));
                self.fact("Signed", &envelope.to_string());
                self.quote("The command", commands::words_of(&kept));
            }
            AuditEvent::ConnectionMade { execution, to } => {
                self.texts("Reached", to);
                self.fact("Allowed", "The plan names this host");
                self.task(execution)?;
            }
            AuditEvent::ConnectionRefused { execution, to, reason } => {
                let to = self.text(to);
                self.fact("Wanted", &format!("To reach {to}"));
                let rule = if reason == NOT_GRANTED { "The plan does not name it" } else { unreached(reason) };
                self.fact("Refused", &format!("{rule}. Nothing was sent."));
                self.task(execution)?;
            }
            AuditEvent::CredentialUsed { execution, reference } => {
                self.texts("Secret", reference);
                self.fact("Allowed", "The plan names it");
                self.task(execution)?;
            }
            AuditEvent::CredentialRefused { execution, reference, reason } => {
                let reference = self.text(reference);
                self.refused(&format!("The secret {reference}"), crate::words::credential::refusal_words(reason));
                self.task(execution)?;
            }
            AuditEvent::QuestionAsked { card, question, .. } => {
                self.texts("Question", question);
                self.fact("Whose words", "The model's");
                self.code("Card", card.as_str());
            }
            AuditEvent::QuestionAnswered { card, message, is_chosen, wish } => {
                self.fact("Words", if *is_chosen { "Proposed by the model" } else { "Your own" });
                self.fact("Allows", "Nothing: the plan asked you");
                self.code("Card", card.as_str());
                self.code("Message", message.as_str());
                if let Some(wish) = wish {
                    self.code("Wish", wish.as_str());
                }
            }
            AuditEvent::SecretRequested { reference, .. }
            | AuditEvent::SecretStored { reference }
            | AuditEvent::SecretRemoved { reference } => {
                self.texts("Secret", reference);
                self.fact("Value", "In the vault only, never in the log");
            }
            AuditEvent::WorkRehearsed { execution, changeset, files, outcome } => {
                self.fact("Changes", &count(*files as usize, "file"));
                self.fact("Checks", came_to(*outcome));
                self.code("Content", &changeset.to_string());
                self.task(execution)?;
            }
            AuditEvent::WorkApplied { execution, changeset, files, outcome, .. } => {
                self.fact("Changes", &format!("{}, all or none", count(*files as usize, "file")));
                self.fact("Checks", came_to(*outcome));
                self.code("Content", &changeset.to_string());
                self.task(execution)?;
            }
            AuditEvent::WorkUndone { execution, files, token, .. } => {
                self.fact("Put back", &format!("{}, exactly as before", count(*files as usize, "file")));
                self.signed(token)?;
                self.task(execution)?;
            }
            AuditEvent::WorkEnded { execution, reason, .. } => {
                self.fact("Your files", "Untouched");
                self.task(execution)?;
                let reason = self.text(reason);
                self.quote("How it ended", &reason);
            }
            AuditEvent::UndoneInPart { execution, files, paths } => {
                let paths = self.text(paths);
                self.refused(
                    &format!("To put more than {} back", count(*files as usize, "file")),
                    &format!("These are old again, and the others stay as they were applied: {paths}"),
                );
                self.task(execution)?;
            }
            AuditEvent::ApplyConflicted { execution, files, paths } => {
                let paths = self.text(paths);
                self.refused(
                    &format!("To put {} in place", count(*files as usize, "file")),
                    &format!("Somebody changed {paths} meanwhile, and that version stays"),
                );
                self.task(execution)?;
            }
            AuditEvent::TokenSpent { token, execution, use_number, .. } => {
                self.fact("Use", &format!("Number {}", use_number + 1));
                self.signed(token)?;
                self.task(execution)?;
            }
            AuditEvent::TaskAdded { title, .. }
            | AuditEvent::TaskCompleted { title, .. }
            | AuditEvent::TaskReopened { title, .. } => self.texts("Task", title),
            AuditEvent::InstructionRefused { reason, .. } => self.refused("To change your tasks", reason),
            AuditEvent::MessageDeadLettered { message, attempts, reason } => {
                self.fact("Tried", &count(*attempts as usize, "time"));
                self.message(message, "You asked");
                let reason = self.text(reason);
                self.quote("How it ended", &reason);
            }
            AuditEvent::DeadLetterRevived { message } | AuditEvent::SampleLaidOut { message, .. } => {
                self.message(message, "You asked");
            }
            AuditEvent::TextForgotten { entry, key } => {
                self.fact("Forgotten", &format!("The text of entry {entry}"));
                self.device("Signed on", key);
            }
            AuditEvent::TextsExpired { through, texts } => {
                self.fact("Forgotten", &format!("{} up to entry {through}", count(*texts as usize, "text")));
            }
            AuditEvent::CardOffered { intent, .. } => self.texts("Asked", intent),
            AuditEvent::ReplySent { text, .. } => {
                let text = self.text(text);
                self.quote("Silas", &text);
            }
            // An event without facts of its own names the work that it is a part of, as the catalogue has it, or nothing. A
            // new event needs no line here until it has more to say.
            _ => self.task_of(event.about().effect.execution())?,
        }
        Ok(())
    }
}
