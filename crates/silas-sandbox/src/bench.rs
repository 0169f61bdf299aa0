//! The workshop's own process: does exactly what one permit allows, in exactly the order that makes its result worth
//! something. It trusts nobody, least of all whoever asks.
//!
//! Architecture invariant (INV-03): changes leave the copy only through [`Bench::apply`], and that asks the results of
//! checks that this process ran itself, on the very bytes that it then puts in place.

use crate::apply::{self, Work};
use crate::cell::CellOutcome;
use crate::clock;
use crate::diff::{self, Sides};
use crate::flood;
use crate::ground::Ground;
use crate::lifeline::Lifeline;
use crate::originals::Originals;
use crate::permit::{self, Permit, Task};
use crate::private_copy::{Ignored, Terms};
use crate::protocol::{WorkshopAsk, WorkshopSays};
use crate::relay::Relay;
use crate::tree::{self, Manifest};
use crate::workspace::{self, Ran, Reach, Run, Wanted, Workspace};
use crate::{Applied, Changes, Copied, Error, frame, rest, step, waiting};
use serde::Serialize;
use silas_core::changeset::{Change, FileDiff};
use silas_core::check::CheckResult;
use silas_core::envelope::{ExecutionResult, Executor, Metadata};
use silas_core::excerpt;
use silas_core::fail::{self, FailPoint};
use silas_core::number::grouped;
use silas_core::testlog::TestLog;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

mod basis;
mod collision;
mod committed;
mod finishing;
mod keep;
mod meanwhile;
mod once_more;
mod printed;
mod read_in;
mod side_by_side;
mod verify;
mod work;

use finishing::Finished;

pub(crate) struct Bench {
    ground: Ground,
    permit: Permit,
    socket: UnixStream,
    /// When the plan's wall-clock budget ends.
    deadline: Instant,
    /// What it had waited by then, which is in that.
    rested_before: Duration,
    workspace: Option<Workspace>,
    /// What the texts were that the copies were made of.
    originals: Originals,
    before: Vec<CheckResult>,
    /// Which tests ran before, for those checks that say so.
    tests_before: Vec<Option<TestLog>>,
    /// How each check ran before the work, if it was this workshop that ran it.
    went_before: Vec<verify::Went>,
    n_steps_run: usize,
    /// Commands of a model so far, and how often it has begun.
    n_worked: u32,
    n_attempts: u32,
    /// What the copies are once all steps have run. Everything after works with this.
    finished: Option<Finished>,
    after: Vec<CheckResult>,
    /// The changes as they were shown, once somebody has looked at them.
    diffs: Option<Vec<FileDiff>>,
    is_over: bool,
    /// A command had filled the disk with the copy, which is gone.
    is_flooded: bool,
    /// Whether the copy stays when this process goes.
    is_kept: bool,
}

/// Somebody who changes files all the time keeps an apply from happening; then it is better to say so.
const ROUNDS_MAX: usize = 4;

impl Bench {
    pub(crate) fn new(ground: Ground, permit: Permit, socket: UnixStream) -> Self {
        let left = permit.deadline.since(clock::now());
        // What cannot be read counts as nothing, here and later.
        let rested_before = rest::total(&ground.memory, &permit.execution).unwrap_or_default();
        let is_kept = matches!(permit.task, Task::Apply(_));
        Bench {
            ground,
            permit,
            socket,
            deadline: Instant::now() + left,
            rested_before,
            workspace: None,
            originals: Originals::default(),
            before: Vec::new(),
            tests_before: Vec::new(),
            went_before: Vec::new(),
            n_steps_run: 0,
            n_worked: 0,
            n_attempts: 1,
            finished: None,
            after: Vec::new(),
            diffs: None,
            is_over: false,
            is_flooded: false,
            is_kept,
        }
    }

    /// Answers until the front is done or gone. What is left of the copy is removed either way, unless it waits.
    pub(crate) fn serve(mut self) -> i32 {
        while let Ok(Some(ask)) = frame::receive::<WorkshopAsk>(&mut self.socket) {
            let answered = match ask {
                WorkshopAsk::Copy => self.copy().and_then(|done| reply(&done)),
                WorkshopAsk::Checks { phase } => self.checks(phase).and_then(|done| reply(&done)),
                WorkshopAsk::Step { n } => self.step(n).and_then(|done| reply(&done)),
                WorkshopAsk::Work { command, cwd, timeout_secs } => {
                    self.work(&command, cwd.as_deref(), timeout_secs).and_then(|done| reply(&done))
                }
                WorkshopAsk::Files { order, known } => self.files(&order, &known).and_then(|done| reply(&done)),
                WorkshopAsk::Again => self.again().and_then(|done| reply(&done)),
                WorkshopAsk::Changes => self.changes().and_then(|done| reply(&done)),
                WorkshopAsk::Collide => self.collide().and_then(|done| reply(&done)),
                WorkshopAsk::Keep => self.keep().and_then(|done| reply(&done)),
                WorkshopAsk::Reopen => self.reopen().and_then(|done| reply(&done)),
                WorkshopAsk::Apply => self.apply().and_then(|done| reply(&done)),
                WorkshopAsk::Discard => self.discard().and_then(|done| reply(&done)),
            };
            if self.is_over {
                // Whoever hears the answer may go on with this execution at once.
                self.leave();
            }
            let bytes = answered.or_else(|e| frame::encode(&WorkshopSays::<()>::Answer(Err(e))));
            let sent = bytes.and_then(|bytes| frame::send_bytes(&mut self.socket, &bytes));
            if sent.is_err() || self.is_over {
                break;
            }
        }
        self.leave();
        0
    }

    /// Removes the copy and lets others at the execution.
    fn leave(&mut self) {
        self.workspace = None;
        if !self.is_kept {
            // Recovery removes what cannot be removed now, and takes the lock when this process has ended at the latest.
            let _ = workspace::remove(&self.ground.memory.work(&self.permit.execution));
        }
        let _ = self.permit.lock.unlock();
    }

    fn copy(&mut self) -> Result<Copied, Error> {
        self.must(!self.is_kept && self.workspace.is_none(), "the copy is made once")?;
        let started = Instant::now();
        let home = self.ground.memory.work(&self.permit.execution);
        let lifeline = Lifeline::of(&self.socket).telling();
        let commits = self.permit.plan.definition().commits;
        let wanted = Wanted { copies: self.ground.copies, commits, terms: self.terms() };
        let workspace = Workspace::make(&home, &self.permit.roots, &wanted, lifeline)?;
        let originals = || workspace.copies.iter().map(|copy| &copy.original);
        let copied = Copied {
            files: originals().map(|original| u64::try_from(original.files.len()).unwrap_or(u64::MAX)).sum(),
            bytes: originals().map(|original| original.bytes).sum(),
            layered: workspace.n_layered(),
            took_ms: millis(started.elapsed()),
        };
        // Without them nothing can be merged, and nothing else is missing.
        self.originals = Originals::note(&home, &workspace.copies, &self.permit.roots).unwrap_or_default();
        self.workspace = Some(workspace);
        fail::point(FailPoint::CopyMade);
        Ok(copied)
    }

    /// What is put back or brought together was a work product before, whatever git says of it now.
    fn terms(&self) -> Terms {
        let plan = self.permit.plan.definition();
        let is_all = plan.include_ignored || plan.restores.is_some() || plan.merges.is_some();
        let ignored = if is_all { Ignored::Included } else { Ignored::LeftOut };
        Terms { ignored, bounds: self.ground.bounds }
    }

    /// What nobody but us can know of the end of a program.
    fn why_killed(&self, outcome: &CellOutcome) -> Option<String> {
        if outcome.is_memory_exceeded {
            return Some(format!("Out of memory (limit {} MB)", self.ground.limits.memory_bytes_max >> 20));
        }
        outcome.is_disk_nearly_full.then(|| "Stopped because the disk was nearly full".to_owned())
    }

    /// The same of one that wrote more to a file than it may.
    fn why_cut(&self, outcome: &CellOutcome) -> Option<String> {
        let mb = usize::try_from(self.ground.limits.file_bytes_max >> 20).unwrap_or(usize::MAX);
        let limit = format!("{} MB, the most that `sandbox.default_file_mb` allows", grouped(mb));
        let is_cut = outcome.ended.is_by_file_size();
        is_cut.then(|| format!("A file would have become larger than {limit}, and was cut there"))
    }

    fn step(&mut self, n: usize) -> Result<ExecutionResult, Error> {
        let plan = self.permit.plan.definition();
        let n_steps = plan.steps.len();
        self.must(self.before.len() == plan.verify.len(), "every check runs before the first step")?;
        self.must(self.finished.is_none(), "the steps are over")?;
        self.must(n == self.n_steps_run && n < n_steps, "steps run once each, in their order")?;
        self.must_be_as_met()?;
        let envelope = step::of_plan(&self.permit.plan, n, &self.ground.limits);
        let (config, cwd) = (&envelope.sandbox_config, plan.steps[n].cwd.as_deref());
        let mut relay = Relay::new(&self.socket);
        let reach = Reach { hosts: &config.hosts, secrets: &plan.secrets, callback_port: plan.callback_port };
        let run = Run {
            reach,
            toolchains: &config.toolchains,
            wall: self.wall(None)?,
            ..self.command(&envelope.args, cwd, &mut relay)
        };
        let ran = self.workspace()?.run_step(run)?;
        let is_flooded = flood::is_discarded(&ran, &self.ground.memory.work(&self.permit.execution));
        let result = self.told(ran, envelope.step_index, envelope.action, &relay);
        self.is_flooded |= is_flooded;
        self.n_steps_run += 1;
        if self.n_steps_run == n_steps {
            fail::point(FailPoint::StepsRun);
        }
        Ok(result)
    }

    /// What is to be brought together was met in a version of the owner's; laid over any other it would overwrite an edit.
    fn must_be_as_met(&self) -> Result<(), Error> {
        let Some(laid) = &self.permit.laid else { return Ok(()) };
        let (copies, roots) = (&self.workspace()?.copies, &self.permit.roots);
        let mut paths = Vec::new();
        for change in &laid.changeset.changes {
            let Some(n) = copies.iter().position(|copy| copy.nth == change.directory) else { continue };
            let original = &copies[n].original;
            let is_taken = change.before.is_none() && original.dirs.contains_key(&change.path);
            if is_taken || original.files.get(&change.path) != change.before.as_ref() {
                paths.push(permit::shown(roots, n, &change.path));
            }
        }
        if paths.is_empty() { Ok(()) } else { Err(Error::Conflict { paths: tree::shortened(paths) }) }
    }

    /// What came of a command, without the values of secrets that it was given.
    fn told(&self, ran: Ran, index: u32, executor: Executor, relay: &Relay<'_>) -> ExecutionResult {
        let execution = self.permit.execution.clone();
        match ran {
            Ran::Ended(outcome) => {
                let why = self.why_killed(&outcome).or_else(|| self.why_cut(&outcome));
                let streams = [(&outcome.stdout, &outcome.stdout_end), (&outcome.stderr, &outcome.stderr_end)];
                let streams = streams.map(|(head, (end, n))| printed::whole(head, end, *n));
                let [(stdout, no_out), (stderr, no_err)] = streams.map(|(stream, n)| (relay.hide_given(&stream), n));
                let metadata = Metadata {
                    executor,
                    took_ms: millis(outcome.took),
                    is_truncated: outcome.is_truncated,
                    is_memory_exceeded: outcome.is_memory_exceeded,
                    is_disk_nearly_full: outcome.is_disk_nearly_full,
                    is_not_text: false,
                    asked: outcome.asked,
                    printed_at: None,
                    ended: outcome.ended,
                };
                let mut result = ExecutionResult::new(execution, index, metadata, (&stdout, no_out), (&stderr, no_err));
                if result.metadata.is_truncated && self.mandate().is_ok() {
                    result.metadata.printed_at = self.keep_printed(index, &stdout, &stderr);
                }
                ExecutionResult { error: why.or(result.error), ..result }
            }
            Ran::NotStarted(why) => ExecutionResult::not_started(execution, index, executor, &why),
        }
    }

    fn changes(&mut self) -> Result<Changes, Error> {
        self.finish()?;
        let workspace = self.workspace()?;
        let changeset = self.finished()?.changeset.clone();
        let sides = |change: &Change| self.sides(workspace, change);
        let diffs = diff::of(&changeset, sides)?;
        let flags = diff::flags(&changeset, sides, Lifeline::of(&self.socket))?;
        let unseen = self.unseen()?;
        self.diffs = Some(diffs.clone());
        let left_out = self.workspace()?.left_out(&self.permit.roots, Lifeline::of(&self.socket))?;
        let beside = self.workspace()?.beside(&self.permit.roots);
        Ok(Changes { diffs, flags, unseen, left_out, beside, changeset })
    }

    /// Where a change can be read, before and after.
    fn sides<'a>(&'a self, workspace: &Workspace, change: &Change) -> Option<Sides<'a>> {
        let roots = &self.permit.roots;
        let n = roots.iter().position(|root| root.nth == change.directory)?;
        Some(Sides {
            real: &roots[n].granted.dir,
            changed: workspace.source_of(n, &change.path).ok()?,
            directory: if roots.len() > 1 { roots[n].granted.place.path.clone() } else { String::new() },
            original: self.originals.text(change),
        })
    }

    fn apply(&mut self) -> Result<Applied, Error> {
        let n_checks = self.permit.plan.definition().verify.len();
        self.must(self.after.len() == n_checks, "every check runs after the steps first")?;
        self.finish()?;
        self.may_apply()?;
        self.wall(None)?;
        let finished = self.finished()?;
        let work = Work {
            ground: &self.ground,
            evidence: &self.permit.evidence,
            execution: &self.permit.execution,
            roots: &self.permit.roots,
            workspace: self.workspace()?,
            base: &finished.base,
            finished: &finished.trees,
            changeset: &finished.changeset,
            moves: &finished.moves,
        };
        match work.apply(Lifeline::of(&self.socket)) {
            Ok(apply::Outcome::Applied(applied)) => {
                (self.is_over, self.is_kept) = (true, false);
                Ok(applied)
            }
            Ok(apply::Outcome::MovedOn(now)) => Err(self.check_again(now)?),
            Err(why) => {
                // What is committed needs its copy no more.
                if matches!(why, Error::Unfinished { .. }) {
                    (self.is_over, self.is_kept) = (true, false);
                }
                Err(why)
            }
        }
    }

    /// The owner changed something that the work did not. What the checks said is void; they run again on both together.
    fn check_again(&mut self, now: Vec<Manifest>) -> Result<Error, Error> {
        let roots = &self.permit.roots;
        let Some(mut finished) = self.finished.take() else {
            return Err(Error::Order("all steps run first".to_owned()));
        };
        let mut paths = Vec::new();
        for (n, (now, base)) in now.iter().zip(&finished.base).enumerate() {
            paths.extend(now.moved_since(base).into_keys().map(|path| permit::shown(roots, n, path)));
        }
        let paths = tree::shortened(paths);
        finished.n_moved_on += 1;
        if finished.n_moved_on >= ROUNDS_MAX {
            self.finished = Some(finished);
            return Ok(Error::Conflict { paths });
        }
        finished.base = now;
        self.after.clear();
        self.land(finished)?;
        Ok(Error::MovedOn { paths })
    }

    /// The execution ends here; it cannot be opened again.
    fn discard(&mut self) -> Result<(), Error> {
        let execution = &self.permit.execution;
        // What is committed is finished, by recovery if not here.
        self.must(!self.ground.memory.journal(execution).exists(), "what is committed cannot be discarded")?;
        (self.is_over, self.is_kept) = (true, false);
        self.workspace = None;
        waiting::end(&self.ground.memory, execution)
    }

    fn finished(&self) -> Result<&Finished, Error> {
        self.finished.as_ref().ok_or_else(|| Error::Order("all steps run first".to_owned()))
    }

    fn workspace(&self) -> Result<&Workspace, Error> {
        if self.is_flooded {
            return Err(Error::Flooded);
        }
        self.workspace.as_ref().ok_or_else(no_copy)
    }

    fn command<'a>(
        &'a self,
        command: &'a silas_core::check::Command,
        cwd: Option<&'a str>,
        outside: &'a mut Relay<'_>,
    ) -> Run<'a> {
        Run {
            command,
            cwd,
            roots: &self.permit.roots,
            reads: &self.permit.reads,
            kept: self.permit.kept.as_deref(),
            reach: Reach::default(),
            toolchains: &self.permit.plan.definition().toolchains,
            env: &[],
            mounts: &[],
            watched: &[],
            signals: false,
            limits: &self.ground.limits,
            wall: Duration::ZERO,
            lifeline: Lifeline::of(&self.socket),
            outside,
        }
    }

    /// What is left of the plan's time, or less if a check says so.
    fn wall(&self, timeout_secs: Option<u64>) -> Result<Duration, Error> {
        let rested = rest::total(&self.ground.memory, &self.permit.execution).unwrap_or_default();
        let deadline = self.deadline + rested.saturating_sub(self.rested_before);
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::TimeUp);
        }
        Ok(timeout_secs.map_or(left, |secs| left.min(Duration::from_secs(secs))))
    }

    fn must(&self, holds: bool, rule: &str) -> Result<(), Error> {
        if holds && !self.is_over { Ok(()) } else { Err(Error::Order(rule.to_owned())) }
    }
}

fn no_copy() -> Error {
    Error::Order("the copy is made first".to_owned())
}

fn reply<T: Serialize>(done: &T) -> Result<Vec<u8>, Error> {
    frame::encode(&WorkshopSays::Answer(Ok::<&T, Error>(done)))
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// What a program printed, as text: all of it, or its beginning and its end.
fn words(outcome: &CellOutcome, chars_max: usize) -> String {
    let CellOutcome { stdout, stdout_end, stderr, stderr_end, .. } = outcome;
    let [out, err] = [(stdout, stdout_end), (stderr, stderr_end)].map(|(head, (end, n))| printed::whole(head, end, *n));
    excerpt::of_longer(&String::from_utf8_lossy(&[out.0, err.0].concat()), out.1 + err.1, chars_max).0
}
