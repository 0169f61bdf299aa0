//! The verification runner: every check in a cell and on a throwaway copy of its own, side by side, and what it takes for
//! one to be green after the work.
//!
//! Red to green counts only if it is red on the untouched directory still, green with what judges as it was approved, and
//! green as it would be put in place. Who wrote the check, and why, plays no part.

use super::side_by_side::side_by_side;
use super::{Bench, millis, words};
use crate::cell::CellOutcome;
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::private_copy::Throwaway;
use crate::relay::Relay;
use crate::tester::Tester;
use crate::view::Sealed;
use crate::workspace::{Commits, Ran, Reach, Run, Scene};
use crate::{Error, permit, tree, view};
use serde::{Deserialize, Serialize};
use silas_core::changeset::Change;
use silas_core::check::{CheckResult, Ended, Expectation, OUTPUT_CHARS_KEPT, Observed};
use silas_core::event::Phase;
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use silas_core::roots;
use silas_core::testlog::TestLog;
use silas_core::wanted::{By, NAMES_MAX};

/// How an owner lets work change what judges it.
const OPEN_HINT: &str =
    "If the work is meant to change them, say \"check openly with\", or `protected: false` in a plan.";

/// One check as it went.
#[derive(Serialize, Deserialize)]
struct Went {
    result: CheckResult,
    log: Option<TestLog>,
}

impl Bench {
    /// All checks, in the plan's order.
    pub(super) fn checks(&mut self, phase: Phase) -> Result<Vec<CheckResult>, Error> {
        let n_checks = self.permit.plan.definition().verify.len();
        let n_steps = self.permit.plan.definition().steps.len();
        self.workspace()?;
        let done = match phase {
            Phase::Before => &self.before,
            Phase::After => &self.after,
        };
        self.must(done.is_empty(), "checks run once before the steps and once after them")?;
        match phase {
            Phase::Before => self.must(self.n_steps_run == 0, "these checks run before the steps")?,
            Phase::After => {
                self.must(self.before.len() == n_checks, "every check runs before the steps too")?;
                self.must(self.n_steps_run == n_steps, "these checks run after the steps")?;
                self.finish()?;
            }
        }
        // What they reach is told over the one line to the front, and two cannot speak at once.
        let plan = self.permit.plan.definition();
        let reaches_out = plan.verify.iter().any(|check| !plan.hosts_of(&By::Check(check.name.clone())).is_empty());
        let at_once = if reaches_out { 1 } else { n_checks };
        let went = side_by_side(n_checks, at_once, |n, slot| match phase {
            Phase::Before => self.run(n, slot, &[], Commits::Shown),
            Phase::After => self.judged(n, slot),
        })?;
        let (results, logs): (Vec<_>, Vec<_>) = went.into_iter().map(|went| (went.result, went.log)).unzip();
        match phase {
            Phase::Before => {
                self.before.clone_from(&results);
                self.tests_before = logs;
                fail::point(FailPoint::CheckedBefore);
            }
            Phase::After => {
                self.after.clone_from(&results);
                fail::point(FailPoint::CheckedAfter);
            }
        }
        Ok(results)
    }

    /// Changed files that some check does not see.
    pub(super) fn unseen(&self) -> Result<Vec<String>, Error> {
        let mut paths: Vec<String> = Vec::new();
        for n in 0..self.permit.plan.definition().verify.len() {
            paths.extend(self.unseen_by(n)?.iter().map(|change| self.shown(change)));
        }
        paths.sort();
        paths.dedup();
        Ok(tree::shortened(paths))
    }

    fn unseen_by(&self, n: usize) -> Result<Vec<&Change>, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let finished = self.finished()?;
        Ok(view::unseen(check, &finished.changeset, &self.permit.roots, &finished.base))
    }

    fn shown(&self, change: &Change) -> String {
        let roots = &self.permit.roots;
        let n = roots.iter().position(|root| root.nth == change.directory);
        n.map_or_else(|| change.path.to_string(), |n| permit::shown(roots, n, &change.path))
    }

    /// A check after the work.
    fn judged(&self, n: usize, slot: usize) -> Result<Went, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let all: Vec<&Change> = self.finished()?.changeset.changes.iter().collect();
        let unseen = self.unseen_by(n)?;
        let mut went = self.run(n, slot, &unseen, Commits::Shown)?;
        let paths = || tree::shortened(unseen.iter().map(|change| self.shown(change)).collect()).join(", ");
        if !went.result.passed {
            if !unseen.is_empty() {
                let why = format!("{}. It saw these as approved, not as changed: {}", went.result.reason, paths());
                went.fail(&format!("{why}. {OPEN_HINT}"));
            }
            return Ok(went);
        }
        let before = self.tests_before.get(n).and_then(Option::as_ref);
        if let (true, Some(before)) = (check.protected, before)
            && let Err(why) =
                went.log.as_ref().map_or_else(|| Err("No test ran".to_owned()), |log| log.still_runs(before))
        {
            went.fail(&why);
            return Ok(went);
        }
        if !unseen.is_empty() {
            let applied = self.run(n, slot, &[], Commits::Shown)?;
            went.asked_too(&applied);
            if !applied.result.passed {
                let why = applied.result.reason;
                went.fail(&format!("Green with {} as approved, but not as they would be put in place: {why}", paths()));
                return Ok(went);
            }
        }
        let was_red = self.before.get(n).is_some_and(|before| !before.passed);
        if was_red && !all.is_empty() && self.run(n, slot, &all, Commits::TakenBack)?.result.passed {
            went.fail("It is green on the untouched directory now too, so it was not the work that turned it");
        }
        Ok(went)
    }

    /// One run of a check on something fresh, with some changes taken back.
    fn run(&self, n: usize, slot: usize, without: &[&Change], commits: Commits) -> Result<Went, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let workspace = self.workspace()?;
        let (roots, lifeline) = (self.permit.roots.as_slice(), Lifeline::of(&self.socket));
        let untouched;
        let (expected, base) = match &self.finished {
            Some(finished) => (&finished.trees, &finished.base),
            None => {
                untouched = (workspace.originals(), workspace.seen(roots, lifeline)?);
                (&untouched.0, &untouched.1)
            }
        };
        let scene = Scene { slot, expected, base, without, commits };
        let copies = workspace.throwaways(roots, &scene, lifeline)?;
        let read = |path: &RelPath| workspace.copies[0].read(&roots[0], &copies[0], path);
        let paths: Vec<&str> = roots.iter().map(|root| root.granted.place.path.as_str()).collect();
        let tester = Tester::of(&check.run, read, &paths, workspace.home(), slot)?;
        let hosts = self.permit.plan.definition().hosts_of(&By::Check(check.name.clone()));
        let mut relay = Relay::new(&self.socket);
        let reach = Reach { hosts: &hosts, ..Reach::default() };
        let plain = Run { reach, ..self.command(&check.run, None, &mut relay) };
        let run = match &tester {
            None => Run { wall: self.wall(Some(check.timeout))?, ..plain },
            Some(tester) => Run {
                command: &tester.command,
                cwd: tester.cwd.as_deref(),
                env: &tester.env,
                mounts: &tester.mounts,
                wall: self.wall(Some(check.timeout))?,
                ..plain
            },
        };
        let mut result = CheckResult {
            name: check.name.clone(),
            passed: false,
            reason: String::new(),
            output: String::new(),
            exit_code: None,
            took_ms: 0,
            protected: check.protected,
            tests: None,
            asked: Vec::new(),
        };
        let sealing = || "Watching over what judges".to_owned();
        let sealed = Sealed::of(check, roots, base, &copies).doing(sealing)?;
        let outcome = match workspace.run_check(run, &scene, &copies)? {
            Ran::Ended(outcome) => outcome,
            Ran::NotStarted(reason) => return Ok(Went { result: CheckResult { reason, ..result }, log: None }),
        };
        result.asked.clone_from(&outcome.asked);
        let (log, shown) = tester.as_ref().map_or((None, None), |tester| {
            let (log, shown) = tester.read(&outcome);
            (Some(log), shown)
        });
        let outcome = CellOutcome { stdout: shown.unwrap_or(outcome.stdout), ..outcome };
        (result.passed, result.reason) = self.judge(&check.expect, &outcome, &copies);
        result.output = words(&outcome.stdout, &outcome.stderr, OUTPUT_CHARS_KEPT);
        result.took_ms = millis(outcome.took);
        result.exit_code = match outcome.ended {
            Ended::Exited(code) => Some(code),
            Ended::Signalled(_) | Ended::TimedOut { .. } => None,
        };
        let mut went = Went { result, log: None };
        if let (Some(tester), Some(log)) = (&tester, log) {
            went.tested(tester, log);
        }
        let touched = sealed.broken(roots, &copies).doing(sealing)?;
        if !touched.is_empty() && went.result.passed {
            went.fail(&format!("While it ran, something touched what judges: {}", touched.join(", ")));
        }
        Ok(went)
    }

    fn judge(&self, expect: &Expectation, outcome: &CellOutcome, copies: &[Throwaway<'_>]) -> (bool, String) {
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
        let file_found = if let Expectation::FileExists(path) = expect { self.file_exists(path, copies) } else { None };
        expect.judge(&Observed { ended: outcome.ended.clone(), stdout: outcome.stdout.clone(), file_found })
    }

    /// In the copies or in a directory that may be read; `None` anywhere else.
    fn file_exists(&self, path: &str, copies: &[Throwaway<'_>]) -> Option<bool> {
        let below = |rest: &str, has: &dyn Fn(&[u8]) -> bool| {
            let rest = rest.trim_matches('/');
            rest.is_empty() || has(rest.as_bytes())
        };
        let private = &self.workspace.as_ref()?.copies;
        let in_copy = |n: usize| move |rest: &[u8]| private[n].has(&self.permit.roots[n], &copies[n], rest);
        if !path.starts_with('/') {
            return Some(below(path, &in_copy(0)));
        }
        let innermost = |place: &&silas_core::roots::Place| roots::contains(&place.path, path);
        let written = self.permit.roots.iter().map(|root| &root.granted.place);
        let read = self.permit.reads.iter().map(|read| &read.place);
        let place = written.chain(read).filter(innermost).max_by_key(|place| place.path.len())?;
        let rest = &path[place.path.len()..];
        match self.permit.roots.iter().position(|root| root.granted.place == *place) {
            Some(n) => Some(below(rest, &in_copy(n))),
            None => {
                let read = self.permit.reads.iter().find(|read| read.place == *place)?;
                Some(below(rest, &|rest| read.dir.has(rest)))
            }
        }
    }
}

impl Went {
    /// Another run of the same check may have asked for other names.
    fn asked_too(&mut self, other: &Went) {
        let asked = &mut self.result.asked;
        for name in &other.result.asked {
            if asked.len() < NAMES_MAX && !asked.contains(name) {
                asked.push(name.clone());
            }
        }
    }

    fn fail(&mut self, why: &str) {
        self.result.passed = false;
        self.result.reason = why.to_owned();
    }

    /// A known runner's verdict needs tests that ran and agree with it.
    fn tested(&mut self, tester: &Tester, log: Result<TestLog, String>) {
        let code = self.result.exit_code.unwrap_or(-1);
        match log {
            Ok(log) => {
                let tests = log.summary(tester.runner());
                match log.agrees_with(code) {
                    Err(why) if self.result.passed => self.fail(&why),
                    Err(_) => {}
                    Ok(()) => self.result.reason = format!("{}; {}", self.result.reason, tests.words()),
                }
                self.result.tests = Some(tests);
                self.log = Some(log);
            }
            Err(why) if self.result.passed => self.fail(&why),
            // It is red as it is; what it printed says why.
            Err(_) => {}
        }
    }
}
