//! Commands that a model chose, where the plan leaves the work to one.
//!
//! They run in the copy like a step, but without the plan's secrets and port, and reach only what the plan names for the
//! model: the rest was approved for commands that somebody has read. How many there may be, how long they take together and how often the checks may be asked is said by
//! the plan, and counted here.

use super::Bench;
use crate::cell::CellOutcome;
use crate::frame::FRAME_BYTES_MAX;
use crate::ground::CellLimits;
use crate::relay::Relay;
use crate::workspace::{Ran, Reach, Run};
use crate::{Error, files, flood};
use silas_core::check::{Command, Ended, Outcome};
use silas_core::envelope::{ExecutionResult, Executor};
use silas_core::file_order::{FileAnswer, FileOrder, Sights};
use silas_core::mandate::Mandate;
use silas_core::wanted::By;
use silas_core::work::WORK_COMMAND_BYTES_MAX;

/// However large a tree is that is looked through.
const FILES_SECS: u64 = 60;

impl Bench {
    pub(super) fn work(
        &mut self,
        command: &Command,
        cwd: Option<&str>,
        timeout_secs: u64,
    ) -> Result<ExecutionResult, Error> {
        self.may_work()?;
        let plan = self.permit.plan.definition();
        let words = command.argv();
        let is_command = words.first().is_some_and(|program| !program.is_empty())
            && words.iter().map(String::len).sum::<usize>() <= WORK_COMMAND_BYTES_MAX
            && !words.iter().any(|word| word.contains('\0'));
        self.must(is_command, "a command has a program and at most 64 KiB")?;
        let mut relay = Relay::new(&self.socket);
        let wall = self.wall(Some(timeout_secs.max(1)))?;
        let hosts = plan.hosts_of(&By::Model);
        let reach = Reach { hosts: &hosts, ..Reach::default() };
        let run = Run { wall, reach, ..self.command(command, cwd, &mut relay) };
        let ran = self.workspace()?.run_step(run)?;
        let is_flooded = flood::is_discarded(&ran, &self.ground.memory.work(&self.permit.execution));
        let index = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX).saturating_add(self.n_worked);
        let result = self.told(ran, index, Executor::of(command), &relay);
        self.is_flooded |= is_flooded;
        self.n_worked += 1;
        Ok(result)
    }

    /// An order about files is carried out where a command would run, and reaches nothing.
    pub(super) fn files(&mut self, order: &FileOrder, known: &Sights) -> Result<FileAnswer, Error> {
        self.may_work()?;
        let command = Command::Argv(vec!["silas-files".to_owned()]);
        let mut relay = Relay::new(&self.socket);
        let limits = CellLimits { output_bytes_max: FRAME_BYTES_MAX / 4, ..self.ground.limits.clone() };
        let run =
            Run { wall: self.wall(Some(FILES_SECS))?, limits: &limits, ..self.command(&command, None, &mut relay) };
        let ran = self.workspace()?.run_order(run, &|| files::carry_out(order, known))?;
        let is_flooded = flood::is_discarded(&ran, &self.ground.memory.work(&self.permit.execution));
        self.is_flooded |= is_flooded;
        self.n_worked += 1;
        Ok(match ran {
            Ran::NotStarted(why) => FileAnswer { said: format!("Not done: {why}."), ..FileAnswer::default() },
            Ran::Ended(outcome) => match serde_json::from_slice(&outcome.stdout) {
                Ok(answer) if outcome.ended == Ended::Exited(0) => answer,
                Ok(_) | Err(_) => FileAnswer { said: self.not_answered(&outcome), ..FileAnswer::default() },
            },
        })
    }

    fn not_answered(&self, outcome: &CellOutcome) -> String {
        let why = self.why_killed(outcome).or_else(|| self.why_cut(outcome)).unwrap_or_else(|| match outcome.ended {
            Ended::TimedOut { after_secs } => format!("It took longer than {after_secs} s"),
            Ended::Exited(code) => format!("It broke off with {code}"),
            Ended::Signalled(signal) => format!("It broke off with signal {signal}"),
        });
        format!("Not done. {why}. Look at what is there before you go on.")
    }

    fn may_work(&self) -> Result<(), Error> {
        let plan = self.permit.plan.definition();
        let mandate = self.mandate()?;
        self.must(self.before.len() == plan.verify.len(), "every check runs before the work first")?;
        self.must(self.n_steps_run == plan.steps.len(), "all steps run first")?;
        self.must(self.finished.is_none(), "the work is over")?;
        self.must(self.n_worked < mandate.max_tool_calls, "the plan allows no further command")
    }

    /// Architecture invariant (INV-03): what the checks said of an earlier state of the copy is void from here on.
    pub(super) fn again(&mut self) -> Result<(), Error> {
        self.mandate()?;
        let plan = self.permit.plan.definition();
        let is_checked = !self.after.is_empty() && self.after.len() == plan.verify.len();
        self.must(is_checked, "every check runs before the work goes on")?;
        let is_red = Outcome::of(&self.before, &self.after) == Outcome::Failed;
        self.must(is_red, "only work whose checks are red goes on")?;
        self.must(self.n_attempts < plan.budget.max_attempts, "the plan allows no further attempt")?;
        self.workspace.as_mut().map_or(Ok(()), crate::workspace::Workspace::take_off)?;
        (self.finished, self.diffs) = (None, None);
        self.after.clear();
        self.n_attempts += 1;
        Ok(())
    }

    pub(super) fn mandate(&self) -> Result<&Mandate, Error> {
        let mandate = self.permit.plan.definition().executor.as_ref();
        mandate.ok_or_else(|| Error::Order("this plan leaves nothing to a model".to_owned()))
    }
}
