//! "Try it on a sample project": the whole road on a project that Silas brings along, for whoever has none at hand yet.
//!
//! The launcher lays it out. From there on it is a wish like any other: the directory is the owner's to allow, the plan has
//! one command and three checks, and nothing is applied without a yes.

use super::route::{Route, cannot_plan, in_review};
use crate::listeners::Posted;
use crate::work::WorkRecord;
use crate::{Stream, Trouble};
use silas_core::check::{Check, Command, Expectation};
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::message::Message;
use silas_core::reflex::{self, Decision};
use silas_core::roots::Access;
use silas_core::sample::{self, SampleCheck};
use silas_core::taint::Source;
use silas_core::work::{Definition, Directory, Step, WorkItem};
use silas_core::{ExecutionId, Tainted};
use silas_sandbox::LaidOut;
use silas_store::{Tx, executions};

/// Said when the sample was put back or put away. It ends with a sentence that the page can put into the composer.
const NEXT: &str = "That was the whole road: a private copy, checks before and after, your yes, and the way back. Now one of \
                    your own: run `COMMAND` in `DIRECTORY` and check with `COMMAND`";

/// What follows when work that this was asked for has come to its end.
pub(crate) fn next_after(asked: &str) -> Option<&'static str> {
    (reflex::decide(asked) == Decision::TrySample).then_some(NEXT)
}

impl Stream {
    pub(super) async fn try_sample(&self, message: &Message) -> Result<Route, Trouble> {
        let LaidOut { path, number, is_new } = self.lay_out_sample().await?;
        let laid_out = AuditEvent::SampleLaidOut { message: message.id.clone(), number };
        let directories = match self.directories(vec![(path.clone(), Access::Write)]).await? {
            Ok(directories) => directories,
            Err(question) => {
                let say = format!(
                    "A small project lies in {} now: a tide table that is an hour off in summer, with tests that say so. \
                     First: may plans work there? The answer is in Review.",
                    self.words.path(&path)
                );
                return Ok(Route { say: question.say.map(|_| say), ..question }.noting(laid_out));
            }
        };
        let route = in_review(self.sample_plan(message, directories)?);
        Ok(if is_new { route.noting(laid_out) } else { route })
    }

    async fn lay_out_sample(&self) -> Result<LaidOut, Trouble> {
        let launcher = self.launcher.clone();
        match tokio::task::spawn_blocking(move || launcher.lay_out_sample()).await {
            Ok(Ok(laid_out)) => Ok(laid_out),
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
            timeout: self.options.work_secs,
            network: false,
            protected: true,
        };
        let definition = Definition {
            steps: vec![Step { run: Command::Shell(sample::FIX.to_owned()), cwd: None }],
            verify: sample::CHECKS.map(check).to_vec(),
            directories,
            ..self.own_plan(sample::TITLE.to_owned(), &message.text)
        };
        WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))
    }

    /// Whoever keeps the mended sample, instead of taking it back, is told what follows as well. `subject` is what the card of
    /// the result was about.
    pub(crate) fn offer_next(&self, tx: &mut Tx<'_>, subject: &str) -> Result<Option<Posted>, silas_store::Error> {
        let Ok(execution) = ExecutionId::parse(subject) else { return Ok(None) };
        let Some(run) = executions::get(tx, &execution)?.filter(|run| run.state == ExecutionState::Applied) else {
            return Ok(None);
        };
        let record = run.result.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok());
        match record.and_then(|record| next_after(record.asked().unwrap_or_default())) {
            Some(next) => self.tell_in(tx, &Tainted::new(next.to_owned(), Source::Own.taint())).map(Some),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
