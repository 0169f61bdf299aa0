//! Commands that a model chose, where the plan leaves the work to one.
//!
//! They run in the copy like a step, but without the plan's secrets and port, and reach only what the plan names for the
//! model: the rest was approved for commands that somebody has read. How many there may be, how long they take together and how often the checks may be asked is said by
//! the plan, and counted here.

use super::Bench;
use crate::Error;
use crate::flood;
use crate::relay::Relay;
use crate::workspace::{Reach, Run};
use silas_core::check::{Command, Outcome};
use silas_core::envelope::{ExecutionResult, Executor};
use silas_core::mandate::Mandate;
use silas_core::wanted::By;
use silas_core::work::WORK_COMMAND_BYTES_MAX;

impl Bench {
    pub(super) fn work(&mut self, command: &Command, timeout_secs: u64) -> Result<ExecutionResult, Error> {
        let plan = self.permit.plan.definition();
        let mandate = self.mandate()?;
        self.must(self.before.len() == plan.verify.len(), "every check runs before the work first")?;
        self.must(self.n_steps_run == plan.steps.len(), "all steps run first")?;
        self.must(self.finished.is_none(), "the work is over")?;
        self.must(self.n_worked < mandate.max_tool_calls, "the plan allows no further command")?;
        let words = command.argv();
        let is_command = words.first().is_some_and(|program| !program.is_empty())
            && words.iter().map(String::len).sum::<usize>() <= WORK_COMMAND_BYTES_MAX
            && !words.iter().any(|word| word.contains('\0'));
        self.must(is_command, "a command has a program and at most 64 KiB")?;
        let mut relay = Relay::new(&self.socket);
        let wall = self.wall(Some(timeout_secs.max(1)))?;
        let hosts = plan.hosts_of(&By::Model);
        let reach = Reach { hosts: &hosts, ..Reach::default() };
        let run = Run { wall, reach, ..self.command(command, None, &mut relay) };
        let ran = self.workspace()?.run_step(run)?;
        let is_flooded = flood::is_discarded(&ran, &self.ground.memory.work(&self.permit.execution));
        let index = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX).saturating_add(self.n_worked);
        let result = self.told(ran, index, Executor::of(command), &relay);
        self.is_flooded |= is_flooded;
        self.n_worked += 1;
        Ok(result)
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

    fn mandate(&self) -> Result<&Mandate, Error> {
        let mandate = self.permit.plan.definition().executor.as_ref();
        mandate.ok_or_else(|| Error::Order("this plan leaves nothing to a model".to_owned()))
    }
}
