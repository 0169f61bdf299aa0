//! Step 7: what to make of a message. Reflex answers what it is sure of; the rest is for a model.

use super::Turn;
use super::help;
use super::linked::Found;
use crate::Trouble;
use crate::conversation::Conversation;
use crate::hub::ToldRow;
use crate::places::NO_DIRECTORY;
use crate::post::Wish;
use crate::questions::Proposal;
use crate::words::changed_name;
use silas_core::check::{Check, Command, Expectation};
use silas_core::event::AuditEvent;
use silas_core::host::HostGrant;
use silas_core::input::WantedBy;
use silas_core::message::{CameOf, Message};
use silas_core::plan;
use silas_core::reflex::{self, Asked, Decision};
use silas_core::roots::{self, Access, RootGrant, RootKind};
use silas_core::taint::{Lineage, Source};
use silas_core::toolchain::Toolchain;
use silas_core::work::{Definition, Directory, Replacing, RuleBroken, Step, WorkItem};
use silas_core::{Taint, Tainted, WorkItemId};
use silas_gates::{injection, scrub};
use silas_sandbox::{Error, Look, Looked};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is made of a message now.
pub(super) enum Routed {
    Answer(Box<Route>),
    /// Somebody else goes on with it; the ledger knows why.
    HandedOn(Wish, Vec<AuditEvent>),
}

impl From<Route> for Routed {
    fn from(route: Route) -> Self {
        Routed::Answer(Box::new(route))
    }
}

/// A sentence, what it comes to, and perhaps a question.
pub(super) struct Route {
    pub(super) say: Tainted<String>,
    pub(super) came_of: CameOf,
    /// Whether the sentence is a model's, word for word.
    pub(super) is_quoted: bool,
    pub(super) proposal: Option<Proposal>,
    /// What the ledger should know about how it came to this; written with the answer.
    pub(super) noted: Vec<AuditEvent>,
    /// What is said besides about a plan, whether it is tried out or asked about.
    pub(super) warning: String,
}

impl Route {
    /// Silas's own words, with at most the owner's in them.
    pub(super) fn say(text: impl Into<String>) -> Route {
        Route::tell(Tainted::new(text.into(), Source::Own.taint()))
    }

    pub(super) fn tell(say: Tainted<String>) -> Route {
        Route {
            say,
            came_of: CameOf::Answered,
            is_quoted: false,
            proposal: None,
            noted: Vec::new(),
            warning: String::new(),
        }
    }

    /// Silas's own words about why nothing is made of it.
    pub(super) fn refuse(text: impl Into<String>) -> Route {
        Route::say(text).coming_to(CameOf::Refused)
    }

    /// What a model says, as its own words.
    pub(super) fn quote(say: Tainted<String>) -> Route {
        Route { is_quoted: true, ..Route::tell(say) }
    }

    /// A name on disk is what somebody called it: a sentence with one in it is no better than that.
    pub(super) fn propose(text: impl Into<String>, proposal: Proposal) -> Route {
        let say = Tainted::new(text.into(), Source::Elsewhere.taint());
        Route { proposal: Some(proposal), ..Route::tell(say).coming_to(CameOf::Asked) }
    }

    /// Silas's own words, and a question that follows from nothing but them.
    pub(super) fn asking(text: impl Into<String>, proposal: Proposal) -> Route {
        Route { proposal: Some(proposal), ..Route::say(text).coming_to(CameOf::Asked) }
    }

    pub(super) fn coming_to(self, came_of: CameOf) -> Route {
        Route { came_of, ..self }
    }

    /// The same, with something for the ledger.
    pub(super) fn noting(mut self, event: AuditEvent) -> Route {
        self.noted.push(event);
        self
    }

    /// The same, with something to say besides.
    pub(super) fn warning(self, warning: String) -> Route {
        Route { warning, ..self }
    }

    /// The same plan, which may commit.
    fn with_commits(self) -> Result<Route, Trouble> {
        let proposal = match self.proposal {
            Some(Proposal::Plan(item)) => {
                let definition = Definition { commits: true, ..item.definition().clone() };
                Some(Proposal::Plan(Box::new(WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))?)))
            }
            other => other,
        };
        Ok(Route { proposal, ..self })
    }
}

pub(super) fn cannot_plan(broken: &RuleBroken) -> Trouble {
    Trouble::new("E_WORK_PLAN", &format!("That cannot be planned: {broken}."), "Say it again with that changed.")
}

/// Longest name of a check or title; the command itself stands in full in the details.
const NAME_CHARS_MAX: usize = 60;
/// Rows of Activity that are told in one reply.
const TOLD_MAX: usize = 12;

pub(super) fn in_review(item: WorkItem) -> Route {
    let name = changed_name(&item.definition().directories);
    let say = format!("A plan for {name} is in Review. Nothing runs before you approve it.");
    Route::propose(say, Proposal::Plan(Box::new(item)))
}

/// The same after what a model said about it, marked as that: what follows is Silas's own sentence.
pub(super) fn in_review_saying(message: &str, item: WorkItem) -> Route {
    let route = in_review(item);
    // On one line and with no other closing mark, so that the quotation ends where it ends.
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ").replace('”', "\"");
    let quoted = if words.is_empty() { words } else { format!("In the model's words: “{words}”\n\n") };
    Route { say: route.say.map(|say| format!("{quoted}{say}")), ..route }
}

/// What "run … and check with …" names besides its directory.
struct TypedWish {
    run: String,
    hosts: Vec<HostGrant>,
    /// With whether it is kept from the command. What is only run has none.
    check: Option<(String, bool)>,
}

fn hosts_of(typed: &[String]) -> Result<Vec<HostGrant>, Trouble> {
    let hosts: Result<Vec<_>, _> = typed.iter().map(|host| HostGrant::parse(host)).collect();
    hosts.map_err(|bad| {
        let what = scrub::visible(&format!("{bad}."));
        Trouble::new("E_WORK_HOST", &what, "Say it again with that changed; nothing was planned.")
    })
}

impl Conversation {
    /// Trouble on this road is an answer to the owner, not a failure of the turn.
    pub(super) async fn route(self: &Arc<Self>, turn: &Turn) -> Routed {
        // What went wrong may quote a name on disk.
        let refused = |trouble: Trouble| {
            let say = Tainted::new(trouble.to_string(), Source::Elsewhere.taint());
            Route::tell(say).coming_to(CameOf::Refused).into()
        };
        self.try_route(turn).await.unwrap_or_else(refused)
    }

    async fn try_route(self: &Arc<Self>, turn: &Turn) -> Result<Routed, Trouble> {
        let message = &turn.message;
        if !message.taint.may_ask() {
            return Ok(Route::refuse(
                "This message was not freshly signed by one of your devices, so nothing was made of it. Send it again.",
            )
            .into());
        }
        match (&message.handed, &turn.planned) {
            (Some(handed), Some(planned)) => return self.make_of_plan(turn, handed, planned).await.map(Routed::from),
            (Some(handed), None) => return self.plan(turn, handed).await,
            (None, _) => {}
        }
        match reflex::decide(&message.text) {
            Decision::NotUnderstood => self.ask_model(turn).await,
            understood => self.obey(message, understood).await.map(Routed::from),
        }
    }

    /// What reflex is sure of.
    async fn obey(self: &Arc<Self>, message: &Message, understood: Decision) -> Result<Route, Trouble> {
        match understood {
            Decision::RunAndCheck { run, directories, reads, commits, hosts, check, protected } => {
                let wish = TypedWish { run, hosts: hosts_of(&hosts)?, check: Some((check, protected)) };
                let plan = self.run_and_check(message, wish, (directories, reads)).await?;
                Ok(if commits { plan.with_commits()? } else { plan })
            }
            Decision::Run { run, directories, reads, hosts } => {
                let wish = TypedWish { run, hosts: hosts_of(&hosts)?, check: None };
                self.run_and_check(message, wish, (directories, reads)).await
            }
            Decision::Plan => self.take_plan(message).await,
            Decision::PutBack => self.put_back(message).await,
            Decision::WhatHappened { when } => self.what_happened(when).await.map(Route::tell),
            Decision::AddTask { .. } | Decision::CompleteTask { .. } | Decision::ReopenTask { .. } => {
                let (say, came_of) = self.tasks.change_task(message, 0).await?;
                Ok(Route::say(say).coming_to(came_of))
            }
            Decision::ListTasks => self.tasks.tell_tasks().await.map(Route::say),
            Decision::AddModel => Ok(Route::asking(
                "Choose one in Review. Nothing is sent anywhere before you agree.",
                Proposal::ModelChoice,
            )),
            Decision::TrySample => self.try_sample(message).await,
            Decision::Help => Ok(Route::say(self.help().await)),
            // Left to a model before this is asked.
            Decision::NotUnderstood => Ok(Route::refuse(self.help().await)),
        }
    }

    async fn run_and_check(
        &self,
        message: &Message,
        wish: TypedWish,
        (written, read): (Vec<String>, Vec<String>),
    ) -> Result<Route, Trouble> {
        let is_named = !written.is_empty();
        let written = match written.as_slice() {
            // With no name at all, the first allowed directory is meant, or where Silas was started.
            [] => {
                let started_in = || self.start_dir().to_string_lossy().into_owned();
                vec![self.house.roots().await?.first().map_or_else(started_in, |root| root.path.clone())]
            }
            _ => written,
        };
        let wanted = written.into_iter().map(|typed| (typed, Access::Write));
        let wanted = wanted.chain(read.into_iter().map(|typed| (typed, Access::Read)));
        let found = match self.directories(wanted.collect()).await {
            Ok(Ok(found)) => found,
            Ok(Err(question)) => return Ok(question),
            Err(trouble) if !is_named && trouble.code == NO_DIRECTORY => {
                let check = wish.check.as_ref().map(|(check, _)| check.as_str());
                return Err(help::without_directory(&trouble, &wish.run, check));
            }
            Err(trouble) => return Err(trouble),
        };
        if let Some(trouble) = found.refusal_to_run(&wish.run) {
            return Err(trouble);
        }
        let (warning, directories) = (found.warning(&wish.run), found.directories);
        let toolchains = self.toolchains(&directories).await?;
        let item = self.plan_of_words(message, wish, directories, toolchains)?;
        Ok(in_review(item).warning(warning))
    }

    /// A whole plan that the owner wrote. Where it is to work is looked up now, and its tools are found now.
    async fn take_plan(&self, message: &Message) -> Result<Route, Trouble> {
        let written = plan::parse(message.text.trim_start().as_bytes()).map_err(|bad| {
            let what = scrub::visible(&format!("The plan cannot be read. {bad}."));
            Trouble::new("E_WORK_PLAN", &what, "Mend it there and send it again; nothing was planned.")
        })?;
        let written = match self.with_executor(written, &self.minds.model_grants().await?)? {
            Ok(written) => written,
            Err(route) => return Ok(route),
        };
        let d = written.definition();
        if d.planned.is_some() {
            return Err(Trouble::new(
                "E_WORK_PLAN",
                "The plan says under `planned` what you asked and what a model wrote, and only Silas can know that.",
                "Leave `planned` out and send it again; nothing was planned.",
            ));
        }
        let wanted = d.directories.iter().map(|directory| (directory.path.clone(), directory.access)).collect();
        let found = match self.directories(wanted).await? {
            Ok(found) => found,
            Err(question) => return Ok(question),
        };
        if let Some(trouble) = found.refusal(d) {
            return Err(trouble);
        }
        let (warning, directories) = (found.warning(""), found.directories);
        if let Some(question) = self.secret_first(d, &directories)? {
            return Ok(question);
        }
        let definition = Definition {
            // The same file may be sent twice; each time it is a plan of its own.
            id: WorkItemId::new(self.house.random.as_ref()),
            toolchains: self.toolchains(&directories).await?,
            directories,
            ..d.clone()
        };
        Ok(in_review(WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))?).warning(warning))
    }

    fn start_dir(&self) -> PathBuf {
        self.house.options.start_dir.clone().unwrap_or_else(|| PathBuf::from("/"))
    }

    /// The directories as they are on disk, or the question whether plans may work in one of them.
    pub(super) async fn directories(&self, wanted: Vec<(String, Access)>) -> Result<Result<Found, Route>, Trouble> {
        let granted = self.house.roots().await?;
        // A relative name means the same before and after its directory was allowed: it is seen from where Silas was
        // started.
        let start_dir = self.start_dir();
        let mut found = Found::default();
        for (typed, access) in wanted {
            let place = self.house.places.resolve(&typed, &start_dir)?;
            let is_written = access == Access::Write;
            if !granted.iter().any(|root| roots::contains(&root.path, &place.path)) {
                let path = self.house.words.path(&place.path);
                let say = format!("First: may plans work in {path}? The answer is in Review.");
                return Ok(Err(Route::propose(say, Proposal::Root(RootGrant { kind: RootKind::Root, place }))));
            }
            let looked = if is_written { self.fits(&place.path).await? } else { None };
            let is_in_two_steps = silas_sandbox::replaces_in_two_steps(Path::new(&place.path));
            let replaces = (is_written && is_in_two_steps).then_some(Replacing::TwoSteps);
            found.add(Directory { replaces, ..Directory::pinned(place, access) }, looked);
        }
        Ok(Ok(found))
    }

    /// Why no work could be done in an allowed directory, before anybody is asked to approve it; else, where somebody could
    /// look, which files cannot be changed there.
    async fn fits(&self, path: &str) -> Result<Option<Looked>, Trouble> {
        let (engine, launcher, path) = (self.house.engine.clone(), self.house.launcher.clone(), path.to_owned());
        let allowed = self.house.store.read(move |tx| Ok(engine.roots(tx)?)).await?;
        let innermost = allowed.into_iter().filter(|(grant, _)| roots::contains(&grant.place.path, &path));
        let Some((_, allowance)) = innermost.max_by_key(|(grant, _)| grant.place.path.len()) else { return Ok(None) };
        let looking = tokio::task::spawn_blocking(move || launcher.look(&allowance, &path, Look::Fit)).await;
        match looking {
            Ok(Ok(looked)) => Ok(Some(looked)),
            // Whatever else is in the way is met, and told, where it always was.
            Ok(Err(error @ (Error::TooLarge(_) | Error::Unsupported { .. }))) => {
                let todo = "Nothing was planned.";
                Err(Trouble::new(error.code(), &error.to_string(), todo))
            }
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    /// The question for a secret that a plan names and the vault lacks. The wish waits for the answer.
    pub(super) fn secret_first(&self, d: &Definition, directories: &[Directory]) -> Result<Option<Route>, Trouble> {
        let Some(reference) = self.trust.missing_secret(d)? else { return Ok(None) };
        let say =
            format!("First: the plan uses the secret {reference}, which the vault does not have. Review asks for it.");
        let wanted_by = WantedBy::Plan { name: changed_name(directories) };
        Ok(Some(Route::propose(say, Proposal::Secret(reference, wanted_by))))
    }

    /// Found by the launcher, which can look into a home; named on the card and pinned in the plan.
    pub(super) async fn toolchains(&self, directories: &[Directory]) -> Result<Vec<Toolchain>, Trouble> {
        let launcher = self.house.launcher.clone();
        let project = directories.first().map(|directory| PathBuf::from(&directory.path));
        match tokio::task::spawn_blocking(move || launcher.toolchains(project.as_deref())).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(Trouble::new(error.code(), &error.to_string(), "Say it again.")),
            Err(_) => Err(Trouble::new("E_SANDBOX_LOST", "Looking for tools was interrupted.", "Say it again.")),
        }
    }

    /// What is the same in every plan that Silas makes without a model.
    pub(super) fn own_plan(&self, title: String, words: &str) -> Definition {
        let id = WorkItemId::new(self.house.random.as_ref());
        Definition::without_model(id, title, words.to_owned(), self.house.options.work_secs)
    }

    fn plan_of_words(
        &self,
        message: &Message,
        wish: TypedWish,
        directories: Vec<Directory>,
        toolchains: Vec<Toolchain>,
    ) -> Result<WorkItem, Trouble> {
        let TypedWish { run, hosts, check } = wish;
        let title = scrub::visible_line(&format!("Run {run}"), NAME_CHARS_MAX);
        let timeout = self.house.options.work_secs;
        let verify = |(check, protected): (String, bool)| Check {
            name: scrub::visible_line(&check, NAME_CHARS_MAX),
            run: Command::Shell(check),
            expect: Expectation::ExitCode(0),
            timeout,
            network: false,
            protected,
        };
        let definition = Definition {
            steps: vec![Step { run: Command::Shell(run), cwd: None }],
            verify: check.map(verify).into_iter().collect(),
            directories,
            hosts,
            toolchains,
            on_stuck: "consult_planner".to_owned(),
            ..self.own_plan(title, &message.text)
        };
        WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))
    }

    /// What the ledger tells, with words from outside marked as such.
    async fn what_happened(&self, when: Asked) -> Result<Tainted<String>, Trouble> {
        let (summary, told) = self.hub.tell_period(when, TOLD_MAX).await?;
        let mut lineage: Lineage = [Source::Own.taint()].into_iter().collect();
        let (mut text, now) = (summary, self.house.clock.now());
        for ToldRow { row, taint, .. } in told {
            lineage.add(taint);
            let note = if taint == Taint::External { injection::fenced(&row.note) } else { row.note };
            text.push_str(&format!("\n• {} {}. {note}", self.house.words.time(row.at, now), row.text));
        }
        Ok(Tainted::new(text, lineage.taint()))
    }
}
