//! The owner's tasks: from the owner's own signed words into the human's file, and back in words.
//!
//! A change crosses both files and is a saga: worked out and written down here, carried out there, finished here. What a
//! crash leaves open is finished at the next start, or by the clock. Deliberately absent: any change of a task that the
//! owner did not ask for in a signed sentence which reflex is sure of ([`Instructed`]).

mod tools;

use crate::Trouble;
use crate::house::House;
use crate::hub::Hub;
use crate::view::TaskView;
use silas_agents::ToolCall;
use silas_agents::tools::{self as calling, Call, Purpose, Returned, chain};
use silas_core::event::AuditEvent;
use silas_core::instruction::{Instructed, Instruction};
use silas_core::message::{CameOf, Message};
use silas_core::number::grouped;
use silas_core::reflex::{self, Decision};
use silas_core::revocation::Revocations;
use silas_core::task::{self, Ending, Refusal, TITLE_CHARS_MAX, TaskCall};
use silas_core::{AgentId, MessageId, RunKey, Scope, canonical};
use silas_gates::scrub;
use silas_store::saga::Place;
use silas_store::tasks::Task;
use silas_store::{Commit, instructions, saga, tasks};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tools::{Halt, OwnersWords};

/// Tasks that are told in one reply; the terminal lists them all.
const TOLD_MAX: usize = 30;
/// Tasks that are offered to whoever named none.
const OFFERED_MAX: usize = 5;
/// Longest title in a sentence.
const TITLE_SHOWN_MAX: usize = 80;
/// The clock leaves an operation alone for this long: a turn is at it, or the last attempt has just failed.
pub(crate) const OPERATION_REST: Duration = Duration::from_secs(10);

/// The owner's list.
pub struct Tasks {
    house: Arc<House>,
    hub: Arc<Hub>,
}

impl Tasks {
    pub(crate) fn new(house: Arc<House>, hub: Arc<Hub>) -> Self {
        Tasks { house, hub }
    }

    /// Carries out one call that the owner's message asks of the tasks, the first being 0, and says how it went. Asked twice it
    /// happens once.
    pub(crate) async fn change_task(&self, message: &Message, occurrence: u32) -> Result<(String, CameOf), Trouble> {
        let agent = AgentId::of(self.house.installation(), &Scope::Owner);
        let place = Place::said(RunKey::said(&agent, &message.id), message.id.clone(), occurrence);
        let looking = place.clone();
        let known = self.house.store.read(move |tx| saga::find(tx, &looking)).await?;
        let asked = match known {
            Some(saga::Saga { call, ending: Some(ending), .. }) => return Ok(ended(&call, &ending)),
            // What was worked out before a crash stands, whatever the list looks like by now, and keeps its name.
            Some(prepared) => Asked { is_of_before: prepared.run.is_none(), call: prepared.call, place },
            None => match self.work_out(&message.text, &place).await? {
                Ok(call) => Asked { place, call, is_of_before: false },
                Err(say) => return Ok((say, CameOf::Refused)),
            },
        };
        let call = &asked.call;
        let run = OwnersWords::new(self, &message.id, &asked);
        let tools = chain(run.tools(), Purpose::Work, vec![call.tool().to_owned()]);
        let written = ToolCall::new(call.tool(), call.arguments().to_string());
        let seen = Mutex::default();
        match calling::call(&tools, &run, Call { written: &written, seen: &seen }).await {
            Ok(Returned::Done { text, is_success: true }) => Ok((text, CameOf::Done)),
            Ok(Returned::Done { text, is_success: false }) => Ok((text, CameOf::Refused)),
            Ok(Returned::Refused { .. }) | Err(Halt::NotApproved) => {
                Ok(ended(call, &Ending::Refused { why: Refusal::NotApproved }))
            }
            Err(Halt::Unfinished(cause)) => {
                tracing::error!(%cause, "an operation waits for its next attempt");
                let say =
                    "Noted, but your task list could not be written yet. Silas goes on trying; do not say it again.";
                Ok((say.to_owned(), CameOf::Begun))
            }
            Err(Halt::Trouble(trouble)) => Err(trouble),
        }
    }

    /// The exact call, or a sentence that says why there is none.
    async fn work_out(&self, text: &str, place: &Place) -> Result<Result<TaskCall, String>, Trouble> {
        let (said, is_done) = match reflex::decide(text) {
            Decision::AddTask { title } if title.chars().count() > TITLE_CHARS_MAX => {
                return Ok(Err("A task can have 1,000 characters and this has more. Nothing was added.".to_owned()));
            }
            Decision::AddTask { title } => {
                return Ok(Ok(TaskCall::add(&place.run, title, place.occurrence).map_err(silas_store::Error::from)?));
            }
            Decision::CompleteTask { task } => (task, false),
            Decision::ReopenTask { task } => (task, true),
            Decision::RunAndCheck { .. }
            | Decision::Run { .. }
            | Decision::Plan
            | Decision::PutBack
            | Decision::WhatHappened { .. }
            | Decision::ListTasks
            | Decision::AddModel
            | Decision::TrySample
            | Decision::Help
            | Decision::NotUnderstood => {
                return Ok(Err("That is not about a task.".to_owned()));
            }
        };
        let listing =
            self.house.store.human().read(move |tx| if is_done { tasks::list_done(tx) } else { tasks::list_open(tx) });
        let mut meant: Vec<Task> = listing.await?;
        meant.retain(|known| task::is_named(&said, &known.id, &known.title));
        let state = if is_done { "finished" } else { "open" };
        let name = shown(&said);
        Ok(match (meant.len(), meant.pop()) {
            (1, Some(Task { id, title, version, .. })) => Ok(match is_done {
                false => TaskCall::CompleteTask { task: id, title, version },
                true => TaskCall::ReopenTask { task: id, title, version },
            }),
            (0, _) => {
                let none = format!("No {state} task is called “{name}”. Nothing was changed.");
                Err(self.which_task(is_done, &none).await?)
            }
            (n, _) => Err(format!(
                "{n} {state} tasks are called “{name}”, so none was changed. In the terminal, `silas task list` names \
                 each and `silas task done NAME` finishes one."
            )),
        })
    }

    /// A sentence without its task: the whole sentence with each that could be meant, for somebody to say.
    pub(crate) async fn which_task(&self, is_done: bool, why: &str) -> Result<String, Trouble> {
        let listing =
            self.house.store.human().read(move |tx| if is_done { tasks::list_done(tx) } else { tasks::list_open(tx) });
        let could_be = listing.await?;
        let (verb, none) = match is_done {
            true => ("reopen", "No task is finished."),
            false => ("done with", "No task is open."),
        };
        if could_be.is_empty() {
            return Ok(format!("{why} {none}"));
        }
        let said = |task: &Task| {
            let bare = format!("{verb} {}", task.title);
            let quoted = format!("{verb} {}", reflex::quote(&task.title));
            if reflex::decide(&bare) == reflex::decide(&quoted) { bare } else { quoted }
        };
        let lines = could_be.iter().take(OFFERED_MAX).map(|task| format!("\n• {}", scrub::visible(&said(task))));
        Ok(format!("{why} Which one?{}", lines.collect::<String>()))
    }

    /// Phase 1: verifies the owner's words again and uses them up, on disk before anything else happens. `None` if they
    /// do not verify.
    async fn prepare(&self, message: &MessageId, asked: &Asked) -> Result<Option<Instructed>, Trouble> {
        let (message, anchor, now) = (message.clone(), self.house.engine.anchor().clone(), self.house.clock.now());
        let asked = asked.clone();
        let revocations = self.house.engine.revocations();
        let preparing = self.house.store.write(move |tx| {
            let Some(instruction) = instructions::get(tx, &message)? else { return Ok(Commit(None)) };
            let words = asked.words(&message, &instruction);
            let Some(instructed) = words.instructs(&anchor, &revocations)? else {
                return Ok(Commit(None));
            };
            if saga::prepare(tx, &asked.place, &asked.call, now)? {
                tx.record(&AuditEvent::InstructionTaken {
                    message: message.clone(),
                    operation: instructed.operation(),
                    key: instruction.signed.signature.key.clone(),
                    call: canonical::digest(&asked.call)?,
                })?;
            }
            Ok(Commit(Some(instructed)))
        });
        Ok(preparing.await?)
    }

    /// Phases 2 and 3. Only what the owner instructed gets here.
    async fn settle(&self, instructed: Instructed) -> Result<Ending, silas_store::Error> {
        self.house.store.settle(instructed, self.house.clock.now()).await
    }

    /// Finishes what a crash or a failing disk left open and nobody touched for `rest`: carries it out if the owner's
    /// words still verify, calls it off if they do not. Failures wait for the next time, and so do words that only another
    /// version can read.
    pub(crate) async fn finish_operations(&self, rest: Duration) {
        if let Err(cause) = self.try_finish_operations(rest).await {
            tracing::error!(%cause, "what is open between the two files could not be finished");
        }
    }

    async fn try_finish_operations(&self, rest: Duration) -> Result<(), silas_store::Error> {
        let now = self.house.clock.now();
        let mut n_finished = self.house.store.drain_outbox(now).await?;
        let open = self.house.store.read(saga::sagas_open).await?;
        for saga in open.into_iter().filter(|saga| now.since(saga.updated_at) >= rest) {
            let operation = saga.operation;
            match self.finish_one(saga).await {
                Ok(_) => n_finished += 1,
                Err(cause) => {
                    let error = cause.to_string();
                    tracing::error!(%operation, %error, "an operation waits for its next attempt");
                    let noting = self.house.store.write_buffered(move |tx| {
                        saga::note_error(tx, &operation, &error, now)?;
                        Ok(Commit(()))
                    });
                    noting.await?;
                }
            }
        }
        if n_finished > 0 {
            self.hub.publish_activity().await;
        }
        Ok(())
    }

    async fn finish_one(&self, saga: saga::Saga) -> Result<Ending, silas_store::Error> {
        let anchor = self.house.engine.anchor().clone();
        let checking = self.house.store.read(move |tx| {
            // What no words asked for has none that could be checked.
            let Some(message) = &saga.message else { return Ok(None) };
            let Some(kept) = instructions::get(tx, message)? else { return Ok(None) };
            let words = words_for(message, &kept, saga.run.map(|_| saga.occurrence), &saga.call);
            // Prepared is committed: whoever was revoked since, the second half follows the first.
            let revocations = Revocations::default();
            Ok(words.instructs(&anchor, &revocations)?)
        });
        match checking.await? {
            Some(instructed) => self.settle(instructed).await,
            None => self.house.store.call_off(saga.operation, Refusal::NotApproved, self.house.clock.now()).await,
        }
    }

    /// The list for a door: open ones first, oldest on top, then what was finished, newest on top.
    pub async fn tasks(&self) -> Result<Vec<TaskView>, Trouble> {
        let listing = self.house.store.human().read(|tx| Ok([tasks::list_open(tx)?, tasks::list_done(tx)?].concat()));
        Ok(listing.await?.into_iter().map(view).collect())
    }

    /// The open tasks as an answer in the Stream.
    pub(crate) async fn tell_tasks(&self) -> Result<String, Trouble> {
        let open = self.house.store.human().read(tasks::list_open).await?;
        let mut text = match open.len() {
            0 => "No open tasks. Say: add task buy milk".to_owned(),
            1 => "1 open task:".to_owned(),
            n => format!("{} open tasks:", grouped(n)),
        };
        for (n, task) in open.iter().take(TOLD_MAX).enumerate() {
            text.push_str(&format!("\n{}. {}", n + 1, shown(&task.title)));
        }
        if open.len() > TOLD_MAX {
            text.push_str(&format!("\nand {} more. `silas task list` shows them all.", open.len() - TOLD_MAX));
        }
        Ok(text)
    }
}

/// One exact call, and the place in its run at which it is made.
#[derive(Clone)]
struct Asked {
    place: Place,
    call: TaskCall,
    /// Whether it was worked out when a message made at most one call, and is called by its message.
    is_of_before: bool,
}

impl Asked {
    fn words(&self, message: &MessageId, kept: &instructions::Instruction) -> Instruction {
        let occurrence = (!self.is_of_before).then_some(self.place.occurrence);
        words_for(message, kept, occurrence, &self.call)
    }
}

/// The owner's words as they were kept, with a call that they may ask for.
fn words_for(
    message: &MessageId,
    kept: &instructions::Instruction,
    occurrence: Option<u32>,
    call: &TaskCall,
) -> Instruction {
    Instruction {
        message: message.clone(),
        signed: kept.signed.clone(),
        certificate: kept.certificate.clone(),
        grammar: kept.grammar,
        occurrence,
        call: call.clone(),
    }
}

fn view(task: Task) -> TaskView {
    TaskView {
        id: task.id,
        title: scrub::visible(&task.title),
        state: task.state,
        version: task.version,
        created_at: task.created_at,
        done_at: task.done_at,
    }
}

fn shown(title: &str) -> String {
    scrub::visible_line(title, TITLE_SHOWN_MAX)
}

/// How it went, as a sentence.
fn ended(call: &TaskCall, ending: &Ending) -> (String, CameOf) {
    let came_of = match ending {
        Ending::Done {} => CameOf::Done,
        Ending::Refused { .. } => CameOf::Refused,
    };
    (told(call, ending), came_of)
}

fn told(call: &TaskCall, ending: &Ending) -> String {
    let title = shown(call.title());
    let why = match ending {
        Ending::Done {} => {
            return match call {
                TaskCall::AddTask { .. } => format!("Added to your tasks: {title}"),
                TaskCall::CompleteTask { .. } => format!("Done: {title}"),
                TaskCall::ReopenTask { .. } => format!("Open again: {title}"),
            };
        }
        Ending::Refused { why } => why,
    };
    match (why, call) {
        (Refusal::AlreadySo, TaskCall::ReopenTask { .. }) => format!("“{title}” is open already."),
        (Refusal::AlreadySo, _) => format!("“{title}” is done already."),
        (Refusal::Missing, _) => format!("“{title}” is not on your list any more. Nothing was changed."),
        (Refusal::Changed, _) => {
            format!("“{title}” was changed meanwhile and left as it is. Say `tasks` to see it, then say it again.")
        }
        (Refusal::TooMany, _) => {
            "You have 1,000 open tasks, and that is the most. Nothing was added; finish some first.".to_owned()
        }
        (Refusal::NotApproved, _) => {
            "That message could not be verified as yours, so nothing was changed. Send it again.".to_owned()
        }
    }
}
