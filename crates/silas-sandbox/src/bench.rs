//! The workshop's own process: does exactly what one permit allows, in exactly the order that makes its result worth
//! something. It trusts nobody, least of all whoever asks.
//!
//! Architecture invariant (INV-03): changes leave the copy only through [`Bench::apply`], and that asks the results of
//! checks that this process ran itself, on the very bytes that it then puts in place.

use crate::apply::Work;
use crate::cell::CellOutcome;
use crate::changes::{self, Links};
use crate::error::Doing;
use crate::ground::{self, Ground};
use crate::lifeline::Lifeline;
use crate::permit::Permit;
use crate::protocol::{WorkshopAsk, WorkshopSays};
use crate::relay::Relay;
use crate::tree::{self, Manifest};
use crate::workspace::{self, Ran, Reach, Run, Throwaway, Workspace};
use crate::{Applied, Changes, Copied, Error, diff, frame, step};
use serde::Serialize;
use silas_core::changeset::Changeset;
use silas_core::check::{CheckResult, Ended, Expectation, OUTPUT_CHARS_KEPT, Observed, Outcome};
use silas_core::envelope::{ExecutionResult, Metadata};
use silas_core::event::Phase;
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use silas_core::roots;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub(crate) struct Bench {
    ground: Ground,
    permit: Permit,
    socket: UnixStream,
    /// When the plan's wall-clock budget ends.
    deadline: Instant,
    workspace: Option<Workspace>,
    before: Vec<CheckResult>,
    n_steps_run: usize,
    /// What the copy is once all steps have run. Everything after works with this.
    finished: Option<(Manifest, Changeset)>,
    after: Vec<CheckResult>,
    is_over: bool,
}

impl Bench {
    pub(crate) fn new(ground: Ground, permit: Permit, socket: UnixStream) -> Self {
        let left = permit.record.deadline().since(ground::now());
        Bench {
            ground,
            permit,
            socket,
            deadline: Instant::now() + left,
            workspace: None,
            before: Vec::new(),
            n_steps_run: 0,
            finished: None,
            after: Vec::new(),
            is_over: false,
        }
    }

    /// Answers until the front is done or gone. What is left of the copy is removed either way.
    pub(crate) fn serve(mut self) -> i32 {
        while let Ok(Some(ask)) = frame::receive::<WorkshopAsk>(&mut self.socket) {
            let answered = match ask {
                WorkshopAsk::Copy => self.copy().and_then(|done| reply(&done)),
                WorkshopAsk::Check { phase, n } => self.check(phase, n).and_then(|done| reply(&done)),
                WorkshopAsk::Step { n } => self.step(n).and_then(|done| reply(&done)),
                WorkshopAsk::Changes => self.changes().and_then(|done| reply(&done)),
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
        // Recovery removes what cannot be removed now, and takes the lock when this process has ended at the latest.
        let _ = workspace::remove(&self.ground.memory.work(&self.permit.evidence.execution));
        let _ = self.permit.lock.unlock();
    }

    fn copy(&mut self) -> Result<Copied, Error> {
        self.must(self.workspace.is_none(), "the copy is made once")?;
        let started = Instant::now();
        let home = self.ground.memory.work(&self.permit.evidence.execution);
        let workspace = Workspace::make(&home, &self.permit.work_in, Lifeline::of(&self.socket))?;
        let files = u64::try_from(workspace.original.files.len()).unwrap_or(u64::MAX);
        let copied = Copied { files, bytes: workspace.original.bytes, took_ms: millis(started.elapsed()) };
        self.workspace = Some(workspace);
        fail::point(FailPoint::CopyMade);
        Ok(copied)
    }

    fn check(&mut self, phase: Phase, n: usize) -> Result<CheckResult, Error> {
        let n_checks = self.permit.plan.definition().verify.len();
        let n_steps = self.permit.plan.definition().steps.len();
        let done = match phase {
            Phase::Before => self.before.len(),
            Phase::After => self.after.len(),
        };
        self.must(n == done && n < n_checks, "checks run once each, in their order")?;
        match phase {
            Phase::Before => self.must(self.n_steps_run == 0, "this check runs before the steps")?,
            Phase::After => {
                self.must(self.before.len() == n_checks, "every check runs before the steps too")?;
                self.must(self.n_steps_run == n_steps, "this check runs after the steps")?;
                self.finish()?;
            }
        }
        let result = self.run_check(n)?;
        let (results, point) = match phase {
            Phase::Before => (&mut self.before, FailPoint::CheckedBefore),
            Phase::After => (&mut self.after, FailPoint::CheckedAfter),
        };
        results.push(result.clone());
        if results.len() == n_checks {
            fail::point(point);
        }
        Ok(result)
    }

    fn run_check(&self, n: usize) -> Result<CheckResult, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let workspace = self.workspace()?;
        let expected = self.finished.as_ref().map_or(&workspace.original, |(manifest, _)| manifest);
        let copy = workspace.throwaway(&expected.files, Lifeline::of(&self.socket))?;
        let hosts = if check.network { self.permit.plan.definition().hosts.as_slice() } else { &[] };
        let mut relay = Relay::new(&self.socket);
        let reach = Reach { hosts, ..Reach::default() };
        let run = Run { reach, wall: self.wall(Some(check.timeout))?, ..self.run(&check.run, None, &mut relay) };
        let outcome = match workspace.run_check(run, &copy)? {
            Ran::Ended(outcome) => outcome,
            Ran::NotStarted(reason) => {
                let name = check.name.clone();
                let output = String::new();
                return Ok(CheckResult { name, passed: false, reason, output, exit_code: None, took_ms: 0 });
            }
        };
        let (passed, reason) = self.judge(&check.expect, &outcome, &copy);
        Ok(CheckResult {
            name: check.name.clone(),
            passed,
            reason,
            output: words(&outcome.stdout, &outcome.stderr, OUTPUT_CHARS_KEPT),
            exit_code: match outcome.ended {
                Ended::Exited(code) => Some(code),
                Ended::Signalled(_) | Ended::TimedOut { .. } => None,
            },
            took_ms: millis(outcome.took),
        })
    }

    fn judge(&self, expect: &Expectation, outcome: &CellOutcome, copy: &Throwaway<'_>) -> (bool, String) {
        let needs_all = match expect {
            Expectation::Equals(_) | Expectation::Regex(_) => true,
            Expectation::OutputLt(_) | Expectation::OutputGt(_) => true,
            Expectation::ExitCode(_) | Expectation::Contains(_) => false,
            Expectation::FileExists(_) | Expectation::NotEmpty => false,
        };
        if let Some(why) = self.why_killed(outcome) {
            return (false, why);
        }
        if needs_all && outcome.is_truncated {
            return (false, "The output is too long to be judged".to_owned());
        }
        let file_found = if let Expectation::FileExists(path) = expect { self.file_exists(path, copy) } else { None };
        expect.judge(&Observed { ended: outcome.ended.clone(), stdout: outcome.stdout.clone(), file_found })
    }

    /// What nobody but us can know of the end of a program.
    fn why_killed(&self, outcome: &CellOutcome) -> Option<String> {
        if outcome.is_memory_exceeded {
            return Some(format!("Out of memory (limit {} MB)", self.ground.limits.memory_bytes_max >> 20));
        }
        outcome.is_disk_nearly_full.then(|| "Stopped because the disk was nearly full".to_owned())
    }

    /// In the copy or in a directory that may be read; `None` anywhere else.
    fn file_exists(&self, path: &str, copy: &Throwaway<'_>) -> Option<bool> {
        let below = |dir: &crate::dir::Dir, rest: &str| {
            let rest = rest.trim_matches('/');
            rest.is_empty() || dir.has(rest.as_bytes())
        };
        if !path.starts_with('/') {
            return Some(below(&copy.dir, path));
        }
        let places = std::iter::once((&self.permit.work_in.place, &copy.dir));
        let places = places.chain(self.permit.reads.iter().map(|read| (&read.place, &read.dir)));
        let innermost = places.filter(|(place, _)| roots::contains(&place.path, path));
        innermost.max_by_key(|(place, _)| place.path.len()).map(|(place, dir)| below(dir, &path[place.path.len()..]))
    }

    fn step(&mut self, n: usize) -> Result<ExecutionResult, Error> {
        let plan = self.permit.plan.definition();
        let n_steps = plan.steps.len();
        self.must(self.before.len() == plan.verify.len(), "every check runs before the first step")?;
        self.must(self.finished.is_none(), "the steps are over")?;
        self.must(n == self.n_steps_run && n < n_steps, "steps run once each, in their order")?;
        let envelope = step::of_plan(&self.permit.plan, n, &self.ground.limits);
        let (config, cwd) = (&envelope.sandbox_config, plan.steps[n].cwd.as_deref());
        let workspace = self.workspace()?;
        let mut relay = Relay::new(&self.socket);
        let reach = Reach { hosts: &config.hosts, secrets: &plan.secrets, callback_port: plan.callback_port };
        let run = Run {
            reach,
            toolchains: &config.toolchains,
            wall: self.wall(None)?,
            ..self.run(&envelope.args, cwd, &mut relay)
        };
        let (execution, index) = (self.permit.evidence.execution.clone(), envelope.step_index);
        let result = match workspace.run_step(run)? {
            Ran::Ended(outcome) => {
                let why = self.why_killed(&outcome);
                let [stdout, stderr] = [&outcome.stdout, &outcome.stderr].map(|stream| relay.hide_given(stream));
                let metadata = Metadata {
                    executor: envelope.action,
                    took_ms: millis(outcome.took),
                    is_truncated: outcome.is_truncated,
                    is_memory_exceeded: outcome.is_memory_exceeded,
                    is_disk_nearly_full: outcome.is_disk_nearly_full,
                    ended: outcome.ended,
                };
                let result = ExecutionResult::new(execution, index, metadata, &stdout, &stderr);
                ExecutionResult { error: why.or(result.error), ..result }
            }
            Ran::NotStarted(why) => ExecutionResult::not_started(execution, index, envelope.action, &why),
        };
        self.n_steps_run += 1;
        if self.n_steps_run == n_steps {
            fail::point(FailPoint::StepsRun);
        }
        Ok(result)
    }

    fn changes(&mut self) -> Result<Changes, Error> {
        self.finish()?;
        let workspace = self.workspace()?;
        let changeset = self.finished()?.1.clone();
        let diffs = diff::of(&changeset, &self.permit.work_in.dir, &workspace.copy)?;
        Ok(Changes { changeset, diffs })
    }

    fn apply(&mut self) -> Result<Applied, Error> {
        let n_checks = self.permit.plan.definition().verify.len();
        self.must(self.after.len() == n_checks, "every check runs after the steps first")?;
        self.finish()?;
        match Outcome::of(&self.before, &self.after) {
            Outcome::Proved => {}
            Outcome::Guarded | Outcome::Failed | Outcome::Unproven => return Err(Error::NotVerified),
        }
        self.wall(None)?;
        let workspace = self.workspace()?;
        let (finished, changeset) = self.finished()?;
        let work = Work {
            ground: &self.ground,
            evidence: &self.permit.evidence,
            granted: &self.permit.work_in,
            git: workspace.git,
            original: &workspace.original,
            finished,
            changeset,
            copy: &workspace.copy,
        };
        let applied = work.apply(Lifeline::of(&self.socket));
        self.is_over = matches!(applied, Ok(_) | Err(Error::Unfinished { .. }));
        applied
    }

    /// The execution ends here; it cannot be opened again.
    fn discard(&mut self) -> Result<(), Error> {
        let execution = &self.permit.evidence.execution;
        // What is committed is finished, by recovery if not here.
        self.must(!self.ground.memory.journal(execution).exists(), "what is committed cannot be discarded")?;
        self.is_over = true;
        let mut record = self.permit.record.clone();
        record.state = ExecutionState::Ended;
        self.ground.memory.update(execution, &record)
    }

    /// Writes down what the copy is, once, when the last step has run.
    fn finish(&mut self) -> Result<(), Error> {
        if self.finished.is_some() {
            return Ok(());
        }
        let plan = self.permit.plan.definition();
        self.must(self.before.len() == plan.verify.len(), "every check runs before the steps first")?;
        self.must(self.n_steps_run == plan.steps.len(), "all steps run first")?;
        let workspace = self.workspace()?;
        let manifest = tree::snapshot(&workspace.copy, workspace.git, Lifeline::of(&self.socket))?;
        let target_of = |path: &RelPath| {
            let found = workspace.copy.parent_of(path).and_then(|(parent, name)| parent.read_link(name));
            found.doing(|| format!("Reading {path}"))
        };
        let links = Links { root: &self.permit.work_in.place.path, target_of: &target_of };
        let changeset = changes::between(&workspace.original, &manifest, &links)?;
        self.finished = Some((manifest, changeset));
        Ok(())
    }

    fn finished(&self) -> Result<&(Manifest, Changeset), Error> {
        self.finished.as_ref().ok_or_else(|| Error::Order("all steps run first".to_owned()))
    }

    fn workspace(&self) -> Result<&Workspace, Error> {
        self.workspace.as_ref().ok_or_else(|| Error::Order("the copy is made first".to_owned()))
    }

    fn run<'a>(
        &'a self,
        command: &'a silas_core::check::Command,
        cwd: Option<&'a str>,
        outside: &'a mut Relay<'_>,
    ) -> Run<'a> {
        Run {
            command,
            cwd,
            work_in: &self.permit.work_in,
            reads: &self.permit.reads,
            reach: Reach::default(),
            toolchains: &self.permit.plan.definition().toolchains,
            limits: &self.ground.limits,
            wall: Duration::ZERO,
            lifeline: Lifeline::of(&self.socket),
            outside,
        }
    }

    /// What is left of the plan's time, or less if a check says so.
    fn wall(&self, timeout_secs: Option<u64>) -> Result<Duration, Error> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::TimeUp);
        }
        Ok(timeout_secs.map_or(left, |secs| left.min(Duration::from_secs(secs))))
    }

    fn must(&self, holds: bool, rule: &str) -> Result<(), Error> {
        if holds && !self.is_over { Ok(()) } else { Err(Error::Order(rule.to_owned())) }
    }
}

fn reply<T: Serialize>(done: &T) -> Result<Vec<u8>, Error> {
    frame::encode(&WorkshopSays::Answer(Ok::<&T, Error>(done)))
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// What a program printed, as text, from its beginning.
fn words(stdout: &[u8], stderr: &[u8], chars_max: usize) -> String {
    let stdout = String::from_utf8_lossy(stdout);
    let stderr = String::from_utf8_lossy(stderr);
    stdout.chars().chain(stderr.chars()).take(chars_max).collect()
}
