//! What the verdict of a check stands on: tests that were counted or an exit code, and which files judged it although the
//! work had changed them. Looks at what was found while the check ran; nothing runs here.

use super::Bench;
use super::read_in::last_part;
use super::verify::Went;
use crate::cell::Signalled;
use crate::dir::Dir;
use crate::{Error, commits, permit, view};
use silas_core::changeset::{Change, FileState};
use silas_core::check::{Basis, Command, CountedBy, Declaration, DeclaredBy};
use silas_core::exits;
use silas_core::judges::{self, Judges, Role};
use silas_core::planned::is_mixed;
use silas_core::relpath::RelPath;
use silas_core::runner::Runner;
use silas_core::work::KEPT_INSIDE;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A source that somebody wrote; what is larger is not read, and counts as changed.
const SOURCE_BYTES_MAX: u64 = 1 << 20;

/// What a check opened of the changes, by what it was taken for.
struct Observed<'c> {
    judged: Vec<&'c Change>,
    tested: Vec<String>,
    declared: Option<Declaration>,
}

impl Bench {
    /// Of a check that is green. `untouched` is its run on the directory as it was, if the work changed anything; `unseen` are
    /// the changes that it did not see. Of one that was green before, only what judged it is looked for: how it would have
    /// been counted says nothing.
    pub(super) fn basis(
        &self,
        n: usize,
        went: &Went,
        untouched: Option<&Went>,
        unseen: &[&Change],
    ) -> Result<Basis, Error> {
        let names = |changes: &[&Change]| changes.iter().map(|change| self.shown(change)).collect::<Vec<String>>();
        let was_green = self.before.get(n).is_some_and(|before| before.passed);
        let mut basis =
            Basis { as_approved: names(unseen), stayed_green: was_green, ..Basis::new(CountedBy::ExitCode) };
        if self.is_own_comparison(n) {
            return Ok(Basis { by: CountedBy::Tests, ..basis });
        }
        let check = &self.permit.plan.definition().verify[n];
        let mut changed =
            if check.protected { Vec::new() } else { self.judging(n, &went.log.iter().collect::<Vec<_>>())? };
        if went.is_known {
            match went.result.tests.as_ref().is_some_and(|tests| tests.failed == 0) {
                true => basis.by = CountedBy::Tests,
                false => basis.why_not = Some("Not all of its tests passed".to_owned()),
            }
            let brought = |change: &&Change| {
                let logs = went.log.iter().chain(untouched.and_then(|untouched| untouched.log.as_ref()));
                self.full(change).is_some_and(|path| logs.into_iter().any(|log| log.brought(&path)))
            };
            let files = self.finished()?.changeset.changes.iter().filter(|change| !unseen.contains(change));
            changed.extend(files.filter(brought));
            if went.result.tests.as_ref().is_some_and(|tests| tests.runner == Runner::Cargo) {
                changed.extend(self.changed_inline_tests(unseen)?);
            }
            let before = self.tests_before.get(n).and_then(Option::as_ref);
            let is_whole = |untouched: &Went| {
                went.log.as_ref().map_or(Ok(()), |log| log.skips_none_unheard_of(before))?;
                self.left_alone(went, untouched)
            };
            if let Some(Err(why)) = untouched.filter(|_| !was_green).map(is_whole) {
                (basis.by, basis.why_not) = (CountedBy::ExitCode, Some(why));
            }
        }
        if let Some(untouched) = untouched {
            let Observed { judged, tested, declared } = self.observed(n, went, untouched, unseen);
            changed.extend(judged);
            (basis.tested, basis.declared) = (tested, declared);
        }
        if let (false, false, Some(untouched)) = (went.is_known, was_green, untouched) {
            match self.counts(n, went, untouched) {
                Ok(()) => basis.by = CountedBy::Tests,
                Err(why) => basis.why_not = Some(why),
            }
        }
        changed.sort_by(|a, b| (a.directory, &a.path).cmp(&(b.directory, &b.path)));
        changed.dedup();
        basis.changed = names(&changed);
        basis.new = names(&changed.iter().filter(|change| change.before.is_none()).copied().collect::<Vec<_>>());
        basis.gone = names(&changed.iter().filter(|change| change.after.is_none()).copied().collect::<Vec<_>>());
        basis.changed.extend(self.judges_beside(n, went)?);
        Ok(basis)
    }

    /// The comparison of a plan that puts files back is Silas's own, compares every file, and lies out of the work's reach.
    fn is_own_comparison(&self, n: usize) -> bool {
        let plan = self.permit.plan.definition();
        let own = Command::Argv(vec!["sh".to_owned(), format!("{KEPT_INSIDE}/check")]);
        plan.restores.is_some() && plan.verify[n].run == own
    }

    /// Whether a command that is no known runner was counted, before and after and by the same names.
    fn counts(&self, n: usize, went: &Went, untouched: &Went) -> Result<(), String> {
        let before = self.tests_before.get(n).and_then(Option::as_ref).or(untouched.log.as_ref());
        let (Some(after), Some(before)) = (&went.log, before) else {
            return Err("Its tests cannot be counted".to_owned());
        };
        if !self.speaks_for_its_owner(n) {
            return Err("The model's own command printed the results".to_owned());
        }
        self.left_alone(went, untouched)?;
        let (Some(opened), Some(was_opened)) = (&went.opened, &untouched.opened) else {
            return Err("What it opened could not be watched".to_owned());
        };
        if !opened.again.is_subset(&was_opened.again) {
            return Err("While it ran, something was put in the place of a temporary file".to_owned());
        }
        apart(went.signalled.as_ref(), untouched.signalled.as_ref())?;
        after.is_green_with_all_of(before)
    }

    /// Whether what prints the results is not the model's that chose the command: the command is the owner's, or it runs a file
    /// that was there before and did not change.
    fn speaks_for_its_owner(&self, n: usize) -> bool {
        let plan = self.permit.plan.definition();
        if plan.planned.is_none() && !is_mixed(&plan.body) {
            return true;
        }
        let (Some(root), Some(finished)) = (self.permit.roots.first(), &self.finished) else { return false };
        let files = judges::scripts_run(&plan.verify[n].run, &root.granted.place.path);
        let paths = files.iter().filter_map(|file| RelPath::from_bytes(file.as_bytes()).ok());
        let is_there = |path: &RelPath| {
            let base = finished.base.first().and_then(|base| base.files.get(path));
            matches!(base, Some(FileState::File { .. }))
        };
        let is_changed = |path: &RelPath| {
            finished.changeset.changes.iter().any(|change| change.directory == root.nth && change.path == *path)
        };
        let paths: Vec<RelPath> = paths.collect();
        paths.iter().any(is_there) && !paths.iter().any(is_changed)
    }

    /// What stands beside the change, is not as the owner has it, and judges: by its name, or because the runner collected it
    /// or something in it.
    fn judges_beside(&self, n: usize, went: &Went) -> Result<Vec<String>, Error> {
        let check = &self.permit.plan.definition().verify[n];
        let mut found = Vec::new();
        for (nth, (copy, root)) in self.workspace()?.copies.iter().zip(&self.permit.roots).enumerate() {
            let judges = Judges::of(check, &root.granted.place.path);
            for path in copy.beside() {
                let is_role = match judges.role_of(path, false) {
                    Some(Role::Built) | None => false,
                    Some(Role::Test | Role::Configuration | Role::BuildScript | Role::ImportHook | Role::Named) => true,
                };
                let at = String::from_utf8_lossy(&view::full(root, path)).into_owned();
                let is_collected = went.log.as_ref().is_some_and(|log| log.collected_in(&at));
                if (is_role || is_collected) && !is_same(&root.granted.dir, copy.changed(), path) {
                    found.push(permit::shown(&self.permit.roots, nth, path));
                }
            }
        }
        Ok(found)
    }

    /// The changes that a watched check may have been judged by, and those that were declared. Whether a file is there, how
    /// long it is and where a link leads can be asked without opening it, so every change may judge a command that is no
    /// known runner. A known runner's verdict is its tests'; these open what they test, which is told apart from what they
    /// compare with where somebody declared what the work is about, or where the runner loaded it as code of its own. A link
    /// leads everything behind it elsewhere, so it may judge always.
    fn observed<'c>(&'c self, n: usize, went: &Went, untouched: &Went, unseen: &[&Change]) -> Observed<'c> {
        let plan = self.permit.plan.definition();
        let was_green = self.before.get(n).is_some_and(|before| before.passed);
        let speaks = |went: &Went, path: &Path| match &went.opened {
            Some(opened) => opened.files.iter().any(|opened| opened == path),
            // Nobody watched, so it may have.
            None => went.is_known,
        };
        // What it opens first is what it runs.
        let first = untouched.opened.as_ref().and_then(|opened| opened.files.first());
        let (mut judged, mut tested, mut excused, mut by) = (Vec::new(), Vec::new(), Vec::new(), DeclaredBy::Owner);
        let changes = self.finished.as_ref().map_or(&[][..], |finished| &finished.changeset.changes);
        // What was committed is no file of the directory; a check sees it through git, and runs once more without.
        let files = changes.iter().filter(|change| !commits::is_in_repository(&change.path));
        let (names, read_in) = (self.names_of_one_file(), self.read_in_by(n));
        let paths: Vec<PathBuf> = changes.iter().filter_map(|change| self.full(change).map(PathBuf::from)).collect();
        for change in files.filter(|change| !unseen.contains(change)) {
            let Some(root) = self.permit.roots.iter().find(|root| root.nth == change.directory) else { continue };
            let Some(path) = self.full(change).map(PathBuf::from) else { continue };
            let is_opened = speaks(went, &path) || speaks(untouched, &path);
            // What commits are made of is new by its nature, under names that nobody chooses.
            let is_object =
                change.path.to_string().split('/').collect::<Vec<_>>().windows(2).any(|w| w == [".git", "objects"]);
            let is_link = [&change.before, &change.after].iter().any(|is| matches!(is, Some(FileState::Link { .. })));
            let may_judge = match went.is_known {
                _ if is_link => !is_object,
                true => match plan.changes.is_empty() {
                    true => {
                        let is_changed = |path: &Path| paths.iter().any(|changed| changed == path);
                        let is_code =
                            is_code(went, untouched, change, &path) && !displaces(went, untouched, &path, is_changed);
                        if is_code && is_opened {
                            tested.push(self.shown(change));
                        }
                        !is_code && (is_opened || is_among(untouched, change, &path))
                    }
                    false => is_opened,
                },
                // What stayed green without what it did not open was not judged by that.
                false => is_opened || went.log.is_some() && !is_object && !was_green,
            };
            if !may_judge {
                continue;
            }
            let judges = Judges::of(&plan.verify[n], &root.granted.place.path);
            let is_run = |change: &Change| {
                judges.mentions(&change.path)
                    || first.is_some() && first == self.full(change).map(PathBuf::from).as_ref()
            };
            // Who declares a file declares it under all of its names.
            let names = names.iter().find(|names| names.contains(&change));
            let names = names.map_or_else(|| vec![change], |names| names.clone());
            let is_run = names.iter().any(|change| is_run(change));
            // Who declares what a script reads into itself declares what is tested; what it prints is not believed any more.
            let is_printer = |change: &&Change| read_in.contains(&last_part(&change.path));
            let is_printer = !went.is_known && went.log.is_some() && names.iter().any(is_printer);
            let declared = names.into_iter().find_map(|change| exits::declared_by(plan, change, is_run));
            match declared.filter(|by| !is_printer && (!is_link || *by == DeclaredBy::Owner)) {
                Some(declared) => {
                    excused.push(self.shown(change));
                    by = if declared == DeclaredBy::Owner { by } else { declared };
                }
                None => judged.push(change),
            }
        }
        let declared = (!excused.is_empty()).then_some(Declaration { by, files: excused });
        Observed { judged, tested, declared }
    }

    /// The changes of each file that has several names in a directory, as far as it is one file after them too.
    fn names_of_one_file(&self) -> Vec<Vec<&Change>> {
        let Some(finished) = &self.finished else { return Vec::new() };
        let mut found = Vec::new();
        for (root, base) in self.permit.roots.iter().zip(&finished.base) {
            let here = finished.changeset.changes.iter().filter(|change| change.directory == root.nth);
            let by_path: BTreeMap<&RelPath, &Change> = here.map(|change| (&change.path, change)).collect();
            for names in base.names_of(&by_path.keys().copied().collect()) {
                let changed: Vec<&Change> = names.iter().filter_map(|name| by_path.get(name).copied()).collect();
                let is_one = |change: &&Change| change.after.is_some() && change.after == changed[0].after;
                if changed.iter().all(is_one) {
                    found.push(changed);
                }
            }
        }
        found
    }

    /// Changed sources whose own tests are not what they were.
    fn changed_inline_tests(&self, unseen: &[&Change]) -> Result<Vec<&Change>, Error> {
        let changes = self.finished()?.changeset.changes.iter();
        let sources = changes.filter(|change| change.path.as_bytes().ends_with(b".rs") && !unseen.contains(change));
        Ok(sources.filter(|change| self.has_other_tests(change)).collect())
    }

    fn has_other_tests(&self, change: &Change) -> bool {
        let Some(n) = self.permit.roots.iter().position(|root| root.nth == change.directory) else { return true };
        let read = |state: &Option<FileState>, dir: Option<Dir>| -> Option<String> {
            if state.is_none() {
                return Some(String::new());
            }
            text_of(&dir?, &change.path)
        };
        let real = self.permit.roots[n].granted.dir.below(b"").ok();
        let copy = self.workspace().ok().and_then(|workspace| workspace.source_of(n, &change.path).ok());
        match (read(&change.before, real), read(&change.after, copy)) {
            (Some(before), Some(after)) => judges::rust_tests(&before) != judges::rust_tests(&after),
            _ => true,
        }
    }
}

/// The text of a source, unless it is none or too long to be one.
pub(super) fn text_of(dir: &Dir, path: &RelPath) -> Option<String> {
    let (parent, name) = dir.parent_of(path).ok()?;
    let mut text = String::new();
    let file = parent.read(name).ok()?;
    (file.metadata().ok()?.len() <= SOURCE_BYTES_MAX).then_some(())?;
    file.take(SOURCE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether a known runner loaded a file as code of its own language, wherever it was opened: then it is what the tests are
/// about. Not one that is new to it and is called like something that it would have found elsewhere.
fn is_code(went: &Went, untouched: &Went, change: &Change, path: &Path) -> bool {
    let Some(path) = path.to_str() else { return false };
    let Some(runner) = went.result.tests.as_ref().map(|tests| tests.runner) else { return false };
    let was_opened = |went: &Went| match &went.opened {
        Some(opened) => opened.files.iter().any(|opened| opened.as_os_str() == path),
        None => true,
    };
    let was_loaded = |went: &Went| went.log.as_ref().and_then(|log| log.loaded(path));
    let is_fine = |went: &Went| was_loaded(went).unwrap_or_else(|| runner.runs(path)) || !was_opened(went);
    let is_there = |went: &Went| was_loaded(went).unwrap_or(change.before.is_some());
    let shadows = went.log.as_ref().is_some_and(|log| log.shadows(path)) && !is_there(untouched);
    let is_ever = [went, untouched].iter().any(|went| was_loaded(went).unwrap_or_else(|| runner.runs(path)));
    is_ever && is_fine(went) && (change.before.is_none() || is_fine(untouched)) && !shadows
}

/// Whether a file that is found only now has the name of one that was found before: `wanted.js` beside `wanted.json`, `want.js`
/// for `want/index.json`, a package for a module, or the same name in a directory that is searched earlier. Beside it that is
/// enough, since a stand-in can read what it stands in for; elsewhere only if that is not opened any more. What was moved is
/// not displaced.
fn displaces(went: &Went, untouched: &Went, path: &Path, is_changed: impl Fn(&Path) -> bool) -> bool {
    let (Some(now), Some(then)) = (&went.opened, &untouched.opened) else { return false };
    let is_now = |path: &Path| now.files.iter().any(|opened| opened == path);
    if !is_now(path) || then.files.iter().any(|opened| opened == path) {
        return false;
    }
    let called = asked_for(path);
    let mut others = then.files.iter().filter(|other| asked_for(other).file_name() == called.file_name());
    others.any(|other| !is_changed(other) && (asked_for(other) == called || !is_now(other)))
}

/// As code asks for it: without its ending, and a directory by its own name.
pub(super) fn asked_for(path: &Path) -> PathBuf {
    let path = path.with_extension("");
    let stands_for_all = ["index", "__init__"].iter().any(|name| path.file_name().is_some_and(|last| last == *name));
    path.parent().filter(|_| stands_for_all).map_or_else(|| path.clone(), Path::to_owned)
}

/// Whether a file that is new or gone lies among others of its kind that the tests read: they may have been told which by a
/// pattern.
fn is_among(untouched: &Went, change: &Change, path: &Path) -> bool {
    let Some(opened) = &untouched.opened else { return false };
    if change.before.is_some() && change.after.is_some() || path.extension().is_none() {
        return false;
    }
    let is_loaded = |path: &Path| {
        let (path, log) = (path.to_str(), untouched.log.as_ref());
        path.zip(log).is_none_or(|(path, log)| log.loaded(path).unwrap_or(true) || log.collected(path))
    };
    let is_like = |other: &&PathBuf| other.parent() == path.parent() && other.extension() == path.extension();
    opened.files.iter().filter(is_like).any(|other| !is_loaded(other))
}

/// Whether a file is in the work's copy as the owner has it. Of directories that is not known.
fn is_same(real: &Dir, copy: &Dir, path: &RelPath) -> bool {
    let read = |dir: &Dir| {
        let (parent, name) = dir.parent_of(path).ok()?;
        let file = parent.read(name).ok().filter(|file| file.metadata().is_ok_and(|meta| meta.is_file()))?;
        let mut bytes = Vec::new();
        (file.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()? as u64 <= SOURCE_BYTES_MAX).then_some(bytes)
    };
    read(real).is_some_and(|bytes| Some(bytes) == read(copy))
}

/// Whether who prints was left alone by what it started. Otherwise that may have printed in its place, and ended it before it
/// said anything else. What happened on the directory as it was is how the check works.
fn apart(signalled: Option<&Signalled>, untouched: Option<&Signalled>) -> Result<(), String> {
    let (Some(now), Some(then)) = (signalled, untouched) else {
        return Err("Whether its programs left each other alone could not be watched".to_owned());
    };
    if now.above {
        return Err("While it ran, a program ended or stopped the one that had started it".to_owned());
    }
    if !now.elders.is_subset(&then.elders) {
        return Err("While it ran, a program ended or stopped one that was there before it".to_owned());
    }
    if now.left_behind > then.left_behind {
        return Err("While it ran, a program left another one behind".to_owned());
    }
    Ok(())
}
