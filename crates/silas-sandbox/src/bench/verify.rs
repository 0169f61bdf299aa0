//! The verification runner: every check in a cell and on a throwaway copy of its own, side by side, and what it takes for
//! one to be green after the work.
//!
//! Red to green counts only if it is red on the untouched directory still, green with what judges as it was approved, and
//! green as it would be put in place. What it then stands on is found in `basis.rs`. Who wrote the check, and why, plays no
//! part.

use super::once_more::OnceMore;
use super::side_by_side::side_by_side;
use super::{Bench, millis, words};
use crate::cell::{CellOutcome, Opened, Signalled};
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::private_copy::Throwaway;
use crate::relay::Relay;
use crate::tester::Tester;
use crate::tree::Manifest;
use crate::view::Sealed;
use crate::workspace::{Commits, HOME_INSIDE, Ran, Reach, Run, Scene};
use crate::{Error, commits, permit, tree, view};
use serde::{Deserialize, Serialize};
use silas_core::changeset::Change;
use silas_core::check::{Check, CheckResult, CountedBy, Ended, Expectation, OUTPUT_CHARS_KEPT, Observed};
use silas_core::event::Phase;
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use silas_core::roots;
use silas_core::runner::Runner;
use silas_core::testlog::TestLog;
use silas_core::toolchain;
use silas_core::wanted::{By, NAMES_MAX};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How an owner lets work change what judges it.
const OPEN_HINT: &str =
    "If the work is meant to change them, say \"check openly with\", or `protected: false` in a plan.";

/// Tests that are found while others are taken back are taken back too; one round for each way to hide one more. Where that
/// comes to no end, nothing is counted.
const ROUNDS_MAX: usize = 4;

const NO_END: &str = "Each time what judged it was taken back, something else that the work changed judged it";

/// One check as it went.
#[derive(Serialize, Deserialize)]
pub(super) struct Went {
    pub(super) result: CheckResult,
    /// Which tests ran, if they could be counted.
    pub(super) log: Option<TestLog>,
    /// Whether it was a known runner that counted them.
    pub(super) is_known: bool,
    /// What it opened of the directories, if that was watched.
    pub(super) opened: Option<Opened>,
    /// Which of its programs reached for others, if that was watched.
    pub(super) signalled: Option<Signalled>,
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
        let mut results: Vec<CheckResult> = went.iter().map(|went| went.result.clone()).collect();
        if phase == Phase::After {
            excuse_code_under_test(&self.before, &mut results);
        }
        let beside = self.workspace()?.beside(&self.permit.roots);
        let otherwise = self.finished.as_ref().map_or_else(Vec::new, |finished| finished.committed_otherwise.clone());
        for basis in results.iter_mut().filter_map(|result| result.basis.as_mut()) {
            basis.beside.clone_from(&beside);
            basis.committed_otherwise.clone_from(&otherwise);
        }
        match phase {
            Phase::Before => {
                self.before.clone_from(&results);
                self.tests_before = went.iter().map(|went| went.log.clone()).collect();
                self.went_before = went;
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
        if check.protected { self.judging(n, &[]) } else { Ok(Vec::new()) }
    }

    /// The changes of what judges a check: by name, or because a run of its runner collected it.
    pub(super) fn judging(&self, n: usize, logs: &[&TestLog]) -> Result<Vec<&Change>, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let finished = self.finished()?;
        let mut judging = view::judging(check, &finished.changeset, &self.permit.roots, &finished.base);
        let before = self.tests_before.get(n).and_then(Option::as_ref);
        for change in &finished.changeset.changes {
            let is_collected = |log: &&TestLog| self.full(change).is_some_and(|path| log.collected(&path));
            if !judging.contains(&change) && before.iter().chain(logs).any(is_collected) {
                judging.push(change);
            }
        }
        Ok(judging)
    }

    /// Where a changed file lies, in full.
    pub(super) fn full(&self, change: &Change) -> Option<String> {
        let root = self.permit.roots.iter().find(|root| root.nth == change.directory)?;
        Some(String::from_utf8_lossy(&view::full(root, &change.path)).into_owned())
    }

    pub(super) fn shown(&self, change: &Change) -> String {
        let roots = &self.permit.roots;
        let n = roots.iter().position(|root| root.nth == change.directory);
        n.map_or_else(|| change.path.to_string(), |n| permit::shown(roots, n, &change.path))
    }

    /// A check after the work.
    fn judged(&self, n: usize, slot: usize) -> Result<Went, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let all: Vec<&Change> = self.finished()?.changeset.changes.iter().collect();
        let mut unseen = self.unseen_by(n)?;
        let mut went = self.run(n, slot, &unseen, Commits::Shown)?;
        let mut found = self.found_by(n, &went, &unseen)?;
        for _ in 0..ROUNDS_MAX {
            if found.is_empty() {
                break;
            }
            unseen.append(&mut found);
            went = self.run(n, slot, &unseen, Commits::Shown)?;
            found = self.found_by(n, &went, &unseen)?;
        }
        let paths = || tree::shortened(unseen.iter().map(|change| self.shown(change)).collect()).join(", ");
        if !went.result.passed {
            if !unseen.is_empty() {
                let (why, paths) = (&went.result.reason, paths());
                let why = format!("{why}. It saw these as they were before the work, not as changed: {paths}");
                went.fail(&format!("{why}. {OPEN_HINT}"));
            }
            return Ok(went);
        }
        let before = self.tests_before.get(n).and_then(Option::as_ref).filter(|_| went.is_known);
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
                went.fail(&format!(
                    "Green with {} as before the work, but not as they would be put in place: {why}",
                    paths()
                ));
                return Ok(went);
            }
        }
        let was_red = self.before.get(n).is_some_and(|before| !before.passed);
        let mut ran = None;
        if !all.is_empty() && (was_red || self.went_before.get(n).is_none()) {
            let again = self.run(n, slot, &all, Commits::TakenBack)?;
            if was_red && again.result.passed {
                went.fail("It is green on the untouched directory now too, so it was not the work that turned it");
                return Ok(went);
            }
            ran = Some(again);
        }
        // What stayed green is judged by the same files as what turned: its run before the work shows which.
        let untouched = ran.as_ref().or_else(|| self.went_before.get(n).filter(|_| !all.is_empty()));
        let mut unopened = Vec::new();
        if let Some(untouched) = untouched {
            match self.once_more(n, slot, (&went, untouched), &unseen)? {
                OnceMore::Green { not_without } => unopened = not_without,
                OnceMore::Red { why } => {
                    went.fail(&why);
                    return Ok(went);
                }
            }
        }
        let mut basis = self.basis(n, &went, untouched, &unseen)?;
        if let (true, Some(untouched)) = (was_red, untouched) {
            self.weigh_commits(n, slot, untouched, &unseen, &mut basis)?;
        }
        self.add_unopened(&mut basis, &unopened);
        if !found.is_empty() {
            basis.by = CountedBy::ExitCode;
            basis.why_not = Some(NO_END.to_owned());
            basis.changed.extend(found.iter().map(|change| self.shown(change)));
            basis.changed.sort();
            basis.changed.dedup();
        }
        went.result.basis = Some(basis);
        Ok(went)
    }

    /// What a run of a protected check was judged by although the work had changed it, and that is not taken back yet.
    fn found_by(&self, n: usize, went: &Went, unseen: &[&Change]) -> Result<Vec<&Change>, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let Some(log) = went.log.as_ref().filter(|_| check.protected) else { return Ok(Vec::new()) };
        Ok(self.judging(n, &[log])?.into_iter().filter(|change| !unseen.contains(change)).collect())
    }

    /// One run of a check on something fresh, with some changes taken back.
    pub(super) fn run(&self, n: usize, slot: usize, without: &[&Change], commits: Commits) -> Result<Went, Error> {
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
        let toolchains = &self.permit.plan.definition().toolchains;
        let env = toolchain::environment(toolchains, HOME_INSIDE);
        let programs = env.iter().filter(|(name, _)| name == "PATH").flat_map(|(_, path)| path.split(':'));
        let programs: Vec<&Path> = programs.map(Path::new).collect();
        let tester = Tester::of(&check.run, read, &paths, &programs, workspace.home(), slot)?;
        let hosts = self.permit.plan.definition().hosts_of(&By::Check(check.name.clone()));
        let mut relay = Relay::of_check(&self.socket, &check.name, self.turns(workspace.home())?);
        let reach = Reach { hosts: &hosts, ..Reach::default() };
        let watched = self.watched(base, without);
        let plain = Run { reach, ..self.command(&check.run, None, &mut relay) };
        let run = match &tester {
            None => Run { wall: self.wall(Some(check.timeout))?, watched: &watched, signals: true, ..plain },
            Some(tester) => Run {
                command: &tester.command,
                cwd: tester.cwd.as_deref(),
                env: &tester.env,
                mounts: &tester.mounts,
                watched: &watched,
                wall: self.wall(Some(check.timeout))?,
                ..plain
            },
        };
        let mut result = not_run(check);
        let sealing = || "Watching over what judges".to_owned();
        let collected = self.tests_before.get(n).and_then(Option::as_ref);
        let sealed = Sealed::of(check, roots, base, &copies, collected).doing(sealing)?;
        let outcome = match workspace.run_check(run, &scene, &copies)? {
            Ran::Ended(outcome) => *outcome,
            Ran::NotStarted(reason) => return Ok(Went::of(CheckResult { reason, ..result }, tester.is_some(), None)),
        };
        result.asked.clone_from(&outcome.asked);
        let (log, shown) = tester.as_ref().map_or((None, None), |tester| {
            let (log, shown) = tester.read(&outcome);
            (Some(log), shown)
        });
        let outcome = match shown {
            Some(shown) => CellOutcome { stdout: shown, stdout_end: (Vec::new(), 0), ..outcome },
            None => outcome,
        };
        let opened = outcome.opened.clone().map(|opened| self.with_second_names(opened, &copies));
        let signalled = outcome.signalled.clone();
        (result.passed, result.reason) = self.judge(&check.expect, &outcome, &copies);
        result.output = words(&outcome, OUTPUT_CHARS_KEPT);
        result.took_ms = millis(outcome.took);
        result.exit_code = match outcome.ended {
            Ended::Exited(code) => Some(code),
            Ended::Signalled(_) | Ended::TimedOut { .. } => None,
        };
        let mut went = Went { signalled, ..Went::of(result, tester.is_some(), opened) };
        if let (Some(tester), Some(log)) = (&tester, log) {
            went.tested(tester, log);
        } else if !outcome.is_truncated {
            went.counted(&String::from_utf8_lossy(&outcome.stdout));
        }
        let touched = sealed.broken(roots, &copies).doing(sealing)?;
        if !touched.is_empty() && went.result.passed {
            went.fail(&format!("While it ran, something touched what judges: {}", touched.join(", ")));
        }
        Ok(went)
    }

    /// Opened anew by each, because a lock belongs to whoever opened the file.
    fn turns(&self, home: &Path) -> Result<File, Error> {
        File::create(home.join("turns")).doing(|| "Preparing a check".to_owned())
    }

    /// The directories of what a check runs on, as they are called inside.
    fn watched(&self, base: &[Manifest], without: &[&Change]) -> Vec<PathBuf> {
        let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
        let changes = self.finished.as_ref().map_or(&[][..], |finished| &finished.changeset.changes);
        for (root, base) in self.permit.roots.iter().zip(base) {
            let at = PathBuf::from(&root.granted.place.path);
            let inside = |path: &RelPath| at.join(OsStr::from_bytes(path.as_bytes()));
            directories.extend(base.dirs.keys().map(inside));
            let new = changes.iter().filter(|change| change.directory == root.nth && change.after.is_some());
            let new = new.filter(|change| !without.contains(change) && !commits::is_in_repository(&change.path));
            for change in new {
                let path = inside(&change.path);
                directories.extend(path.ancestors().skip(1).take_while(|up| up.starts_with(&at)).map(Path::to_owned));
            }
            directories.insert(at);
        }
        directories.into_iter().collect()
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
        let (passed, reason) =
            expect.judge(&Observed { ended: outcome.ended.clone(), stdout: outcome.stdout.clone(), file_found });
        let why_cut = self.why_cut(outcome).filter(|_| !passed);
        (passed, why_cut.unwrap_or(reason))
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

/// What is said of a check of which nothing is known yet.
fn not_run(check: &Check) -> CheckResult {
    CheckResult {
        name: check.name.clone(),
        run: check.command(),
        passed: false,
        reason: String::new(),
        output: String::new(),
        exit_code: None,
        took_ms: 0,
        protected: check.protected,
        tests: None,
        asked: Vec::new(),
        basis: None,
    }
}

/// What a check that turned green was counted by loaded as code is what the work is about. A command that stayed green may
/// open that too, as a linter does, and is not judged by it.
fn excuse_code_under_test(before: &[CheckResult], after: &mut [CheckResult]) {
    let turned = before.iter().zip(after.iter()).filter(|(before, after)| !before.passed && after.proves());
    let about: BTreeSet<String> =
        turned.filter_map(|(_, after)| after.basis.as_ref()).flat_map(|basis| basis.tested.clone()).collect();
    let bases = after.iter_mut().filter_map(|result| result.basis.as_mut());
    for basis in bases.filter(|basis| basis.stayed_green && basis.by == CountedBy::ExitCode) {
        for files in [&mut basis.changed, &mut basis.new, &mut basis.gone] {
            files.retain(|file| !about.contains(file));
        }
    }
}

impl Went {
    fn of(result: CheckResult, is_known: bool, opened: Option<Opened>) -> Self {
        Went { result, log: None, is_known, opened, signalled: None }
    }

    /// What a command says in the Test Anything Protocol counts if it agrees with how it ended. If a test failed and it
    /// ended well all the same, it is red; otherwise it is a command like any other.
    fn counted(&mut self, stdout: &str) {
        let Some(Ok(log)) = TestLog::from_tap(stdout) else { return };
        let tests = log.summary(Runner::Tap);
        let ended_well = self.result.exit_code == Some(0);
        if ended_well && tests.failed > 0 && self.result.passed {
            let n_ran = tests.passed + tests.failed;
            self.fail(&format!("Exit code 0, but {} of {n_ran} tests failed", tests.failed));
            self.result.tests = Some(tests);
            self.log = Some(log);
        } else if ended_well == (tests.failed == 0) && tests.passed + tests.failed > 0 {
            self.result.reason = format!("{}; {}", self.result.reason, tests.words());
            self.result.tests = Some(tests);
            self.log = Some(log);
        }
    }

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
