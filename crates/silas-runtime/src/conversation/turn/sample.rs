//! "Try it on a sample project": the whole road on a project that Silas brings along, for whoever has none at hand yet.
//!
//! The launcher lays it out. From there on it is a wish like any other: the directory is the owner's to allow, the plan has
//! one command and three checks, and nothing is applied without a yes.

use super::route::{Route, cannot_plan, in_review};
use crate::Trouble;
use crate::conversation::Conversation;
use silas_core::check::{Check, Command, Expectation};
use silas_core::event::AuditEvent;
use silas_core::exits::Glob;
use silas_core::instruction::SampleOrder;
use silas_core::message::Message;
use silas_core::roots::Access;
use silas_core::sample::{self, SampleCheck};
use silas_core::work::{Definition, Directory, Step, WorkItem};
use silas_sandbox::LaidOut;
use silas_store::instructions;

impl Conversation {
    pub(super) async fn try_sample(&self, message: &Message) -> Result<Route, Trouble> {
        let LaidOut { path, number, is_new } = self.lay_out_sample(message).await?;
        let laid_out = AuditEvent::SampleLaidOut { message: message.id.clone(), number };
        let directories = match self.directories(vec![(path.clone(), Access::Write)]).await? {
            Ok(found) => found.directories,
            Err(question) => {
                let say = format!(
                    "A small project lies in {} now: a tide table that is an hour off in summer, with tests that say so. \
                     First: may plans work there? The answer is in Review.",
                    self.house.words.path(&path)
                );
                return Ok(Route { say: question.say.map(|_| say), ..question }.noting(laid_out));
            }
        };
        let route = in_review(self.sample_plan(message, directories)?);
        Ok(if is_new { route.noting(laid_out) } else { route })
    }

    /// The launcher is shown the owner's words as they were signed, and judges them itself.
    async fn lay_out_sample(&self, message: &Message) -> Result<LaidOut, Trouble> {
        let (launcher, id) = (self.house.launcher.clone(), message.id.clone());
        let Some(said) = self.house.store.read(move |tx| instructions::get(tx, &id)).await? else {
            let what = "The words that asked for the sample are not kept as they were signed.";
            return Err(Trouble::new("E_APPROVAL_REFUSED", what, "Say it again."));
        };
        let order = SampleOrder { signed: said.signed, certificate: said.certificate, grammar: said.grammar };
        match tokio::task::spawn_blocking(move || launcher.lay_out_sample(order)).await {
            Ok(Ok(laid_out)) => Ok(laid_out),
            Ok(Err(error @ silas_sandbox::Error::Refused(_))) => {
                Err(Trouble::new(error.code(), &error.to_string(), "Say it again."))
            }
            Ok(Err(error)) => Err(Trouble::new(error.code(), &error.to_string(), "")),
            Err(_) => Err(Trouble::new("E_SANDBOX_LOST", "Laying out the sample was interrupted.", "Say it again.")),
        }
    }

    /// Tools of the owner's home are of no use to it, so it gets none.
    fn sample_plan(&self, message: &Message, directories: Vec<Directory>) -> Result<WorkItem, Trouble> {
        let check = |SampleCheck { name, run }: SampleCheck| Check {
            name: name.to_owned(),
            run: Command::Shell(run.to_owned()),
            expect: Expectation::ExitCode(0),
            timeout: self.house.options.work_secs,
            network: false,
            protected: true,
        };
        let definition = Definition {
            steps: vec![Step { run: Command::Shell(sample::FIX.to_owned()), cwd: None }],
            verify: sample::CHECKS.map(check).to_vec(),
            changes: Glob::parse(sample::CHANGES).into_iter().collect(),
            directories,
            ..self.own_plan(sample::TITLE.to_owned(), &message.text)
        };
        WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))
    }
}
