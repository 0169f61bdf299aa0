//! Step 7: what to make of a message. Reflex answers what it is sure of; the rest is for a model.

use crate::review::Proposal;
use crate::words::name_of;
use crate::{Stream, Trouble};
use silas_agents::Answer;
use silas_core::check::{Check, Command, Expectation};
use silas_core::message::Message;
use silas_core::reflex::{self, Decision};
use silas_core::roots::{self, Access, Place, RootGrant, RootKind};
use silas_core::toolchain::Toolchain;
use silas_core::work::{Budget, Definition, Directory, InteractionMode, Step, WorkItem};
use silas_core::{Taint, Tainted, WorkItemId};
use silas_gates::scrub;
use std::path::PathBuf;

/// A sentence, and perhaps a question.
pub(super) struct Route {
    pub(super) say: String,
    pub(super) proposal: Option<Proposal>,
}

impl Route {
    fn say(text: impl Into<String>) -> Route {
        Route { say: text.into(), proposal: None }
    }

    fn propose(text: impl Into<String>, proposal: Proposal) -> Route {
        Route { say: text.into(), proposal: Some(proposal) }
    }
}

/// Longest name of a check or title; the command itself stands in full in the details.
const NAME_CHARS_MAX: usize = 60;

impl Stream {
    /// Trouble on this road is an answer to the owner, not a failure of the turn.
    pub(super) async fn route(&self, message: &Message) -> Route {
        self.try_route(message).await.unwrap_or_else(|trouble| Route::say(trouble.to_string()))
    }

    async fn try_route(&self, message: &Message) -> Result<Route, Trouble> {
        if message.taint != Taint::Owner {
            return Ok(Route::say(
                "This message was not freshly signed by one of your devices, so nothing was made of it. Send it again.",
            ));
        }
        match reflex::decide(&message.text) {
            Decision::RunAndCheck { run, directory, check } => self.run_and_check(message, run, directory, check).await,
            Decision::WhatHappened => self.what_happened().await.map(Route::say),
            Decision::AddTask { .. } | Decision::CompleteTask { .. } | Decision::ReopenTask { .. } => {
                self.change_tasks(message).await.map(Route::say)
            }
            Decision::ListTasks => self.tell_tasks().await.map(Route::say),
            Decision::NotUnderstood => {
                let wish = Tainted::new(message.text.clone(), message.taint);
                let Answer::NoModel { say } = self.minds.consider(&wish);
                Ok(Route::say(say))
            }
        }
    }

    async fn run_and_check(
        &self,
        message: &Message,
        run: String,
        directory: Option<String>,
        check: String,
    ) -> Result<Route, Trouble> {
        let granted = self.roots().await?;
        // A relative name means the same before and after its directory was allowed: it is seen from where Silas was
        // started. With no name at all, the first allowed directory is meant.
        let start_dir = self.options.start_dir.clone().unwrap_or_else(|| PathBuf::from("/"));
        let place = match (directory, granted.first()) {
            (Some(typed), _) => self.places.resolve(&typed, &start_dir)?,
            (None, Some(root)) => self.places.resolve(&root.path, &start_dir)?,
            (None, None) => self.places.resolve(".", &start_dir)?,
        };
        let is_granted = granted.iter().any(|root| roots::contains(&root.path, &place.path));
        if !is_granted {
            let say = format!("First: may plans work in {}? The answer is in Review.", self.words.path(&place.path));
            return Ok(Route::propose(say, Proposal::Root(RootGrant { kind: RootKind::Root, place })));
        }
        let name = name_of(&place.path);
        let toolchains = self.toolchains(&place).await?;
        let item = self.plan(message, run, place, check, toolchains)?;
        let say = format!("A plan for {name} is in Review. Nothing runs before you approve it.");
        Ok(Route::propose(say, Proposal::Plan(Box::new(item))))
    }

    /// Found by the launcher, which can look into a home; named on the card and pinned in the plan.
    async fn toolchains(&self, place: &Place) -> Result<Vec<Toolchain>, Trouble> {
        let (launcher, project) = (self.launcher.clone(), PathBuf::from(&place.path));
        match tokio::task::spawn_blocking(move || launcher.toolchains(Some(&project))).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(Trouble::new(error.code(), &error.to_string(), "Say it again.")),
            Err(_) => Err(Trouble::new("E_SANDBOX_LOST", "Looking for tools was interrupted.", "Say it again.")),
        }
    }

    fn plan(
        &self,
        message: &Message,
        run: String,
        place: Place,
        check: String,
        toolchains: Vec<Toolchain>,
    ) -> Result<WorkItem, Trouble> {
        let definition = Definition {
            id: WorkItemId::new(self.random.as_ref()),
            title: scrub::visible_line(&format!("Run {run}"), NAME_CHARS_MAX),
            parent: None,
            spawned_by: None,
            follow_up_of: None,
            domain: None,
            budget: Budget { max_wall_time_seconds: self.options.work_secs, ..Budget::default() },
            body: message.text.clone(),
            interaction_mode: InteractionMode::ConfirmOnlyWhenRequired,
            steps: vec![Step { run: Command::Shell(run), cwd: None }],
            verify: vec![Check {
                name: scrub::visible_line(&check, NAME_CHARS_MAX),
                run: Command::Shell(check),
                expect: Expectation::ExitCode(0),
                timeout: self.options.work_secs,
                network: false,
            }],
            directories: vec![Directory::pinned(place, Access::Write)],
            hosts: Vec::new(),
            secrets: Vec::new(),
            callback_port: None,
            toolchains,
            on_failure: "report".to_owned(),
            on_stuck: "consult_planner".to_owned(),
            failure_context: None,
        };
        WorkItem::new(definition).map_err(|broken| {
            Trouble::new(
                "E_WORK_PLAN",
                &format!("That cannot be planned: {broken}."),
                "Say it again with that changed.",
            )
        })
    }

    async fn what_happened(&self) -> Result<String, Trouble> {
        let (activity, _) = self.activity().await?;
        let mut text = activity.summary;
        for row in activity.rows.iter().take(12) {
            text.push_str(&format!("\n• {}. {}", row.text, row.note));
        }
        Ok(text)
    }
}
