//! A check that is green runs once more with the work, after its run on the directory as it was: what only happened to be
//! green is then seen to be, and so is what was green because of changes that nothing opened.
//!
//! Whether a file is there, what it is called, how long it is and whether it may be run is asked without opening it, and nobody
//! tells. So the changes that a known runner, or a command that was green before, did not open are taken back, and it must be
//! green without them. If it is not, they judged it. What was declared beforehand is left as it is, and what was opened is weighed in `basis.rs`.

use super::Bench;
use super::basis::asked_for;
use super::verify::Went;
use crate::workspace::Commits;
use crate::{Error, commits, tree};
use silas_core::changeset::{Change, FileState};
use silas_core::check::Basis;
use silas_core::exits;
use silas_core::judges::Judges;
use silas_core::runner::Runner;
use std::collections::HashSet;
use std::path::PathBuf;

/// Changes that are each taken back alone, to name only those that judged. Of more all are named.
const APART_MAX: usize = 4;

/// What came of it.
pub(super) enum OnceMore<'c> {
    /// Green, except without these.
    Green { not_without: Vec<&'c Change> },
    /// It was green only once.
    Red { why: String },
}

impl Bench {
    /// `went` was green; `untouched` is its run on the directory as it was, and `unseen` are the changes that it did not see.
    pub(super) fn once_more<'c>(
        &'c self,
        n: usize,
        slot: usize,
        (went, untouched): (&Went, &Went),
        unseen: &[&'c Change],
    ) -> Result<OnceMore<'c>, Error> {
        let stayed_green = untouched.result.passed;
        let unopened = self.unopened(n, went, untouched, unseen);
        // What turned green and is not counted is not proved, however often it runs.
        if if stayed_green { unopened.is_empty() } else { went.log.is_none() } {
            return Ok(OnceMore::Green { not_without: Vec::new() });
        }
        let without = |more: &[&'c Change]| self.run(n, slot, &[unseen, more].concat(), Commits::Shown);
        let first = without(&unopened)?;
        let Err(why) = self.is_still_green(n, &first) else {
            return Ok(OnceMore::Green { not_without: Vec::new() });
        };
        let red =
            |why: String| OnceMore::Red { why: format!("It was green, and when it ran once more it was not: {why}") };
        if unopened.is_empty() {
            return Ok(red(why));
        }
        if let Err(why) = self.is_still_green(n, &without(&[])?) {
            return Ok(red(why));
        }
        let mut alone = Vec::new();
        if (2..=APART_MAX).contains(&unopened.len()) {
            for change in &unopened {
                if self.is_still_green(n, &without(&[*change])?).is_err() {
                    alone.push(*change);
                }
            }
        }
        // None alone, but all of them together.
        let not_without = if alone.is_empty() { unopened } else { alone };
        Ok(OnceMore::Green { not_without })
    }

    fn is_still_green(&self, n: usize, again: &Went) -> Result<(), String> {
        if !again.result.passed {
            return Err(again.result.reason.clone());
        }
        let was_green = self.before.get(n).is_some_and(|before| before.passed);
        let Some(log) = &again.log else {
            return if was_green && !again.is_known { Ok(()) } else { Err("No test ran".to_owned()) };
        };
        let is_protected = self.permit.plan.definition().verify[n].protected;
        let before = self.tests_before.get(n).and_then(Option::as_ref).filter(|_| again.is_known && is_protected);
        before.map_or(Ok(()), |before| log.still_runs(before))
    }

    /// The changes that a known runner, or a command that was green before, opened neither way, and that nobody declared. A link may judge always. So may code that
    /// is gone, if it was found by its name: an interpreter finds it again. A compiler takes it for a second definition, and
    /// what has its place now may not be found beside it.
    fn unopened<'c>(&'c self, n: usize, went: &Went, untouched: &Went, unseen: &[&Change]) -> Vec<&'c Change> {
        let is_asked = went.is_known || untouched.result.passed;
        let (true, Some(now), Some(then)) = (is_asked, &went.opened, &untouched.opened) else {
            return Vec::new();
        };
        let (now, then): (HashSet<&PathBuf>, HashSet<&PathBuf>) =
            (now.files.iter().collect(), then.files.iter().collect());
        let replaced: HashSet<PathBuf> = now.difference(&then).map(|new| asked_for(new)).collect();
        let is_compiled =
            went.result.tests.as_ref().is_some_and(|tests| matches!(tests.runner, Runner::Cargo | Runner::Go));
        let plan = self.permit.plan.definition();
        let changes = self.finished.as_ref().map_or(&[][..], |finished| &finished.changeset.changes);
        let is_unopened = |change: &&Change| {
            let is_link = [&change.before, &change.after].iter().any(|is| matches!(is, Some(FileState::Link { .. })));
            let Some(root) = self.permit.roots.iter().find(|root| root.nth == change.directory) else { return false };
            let Some(path) = self.full(change).map(PathBuf::from) else { return false };
            let is_run = Judges::of(&plan.verify[n], &root.granted.place.path).mentions(&change.path);
            let is_opened = match change.after.is_some() || is_compiled {
                true => now.contains(&path) || then.contains(&path),
                false => then.contains(&path) && replaced.contains(&asked_for(&path)),
            };
            !is_link && !is_opened && exits::declared_by(plan, change, is_run).is_none()
        };
        let files =
            changes.iter().filter(|change| !unseen.contains(change) && !commits::is_in_repository(&change.path));
        files.filter(is_unopened).collect()
    }

    /// Says of these that they judged, and how that was seen.
    pub(super) fn add_unopened(&self, basis: &mut Basis, unopened: &[&Change]) {
        if unopened.is_empty() {
            return;
        }
        let called = |change: &&Change| match (&change.before, &change.after) {
            (None, _) => format!("{} (new)", self.shown(change)),
            (_, None) => format!("{} (gone)", self.shown(change)),
            (Some(_), Some(_)) => self.shown(change),
        };
        let names = tree::shortened(unopened.iter().map(called).collect()).join(", ");
        let why = format!("It is green only with what the work did to {names}, which nothing opens");
        basis.why_not.get_or_insert(why);
        basis.changed.extend(unopened.iter().map(|change| self.shown(change)));
        basis.changed.sort();
        basis.changed.dedup();
    }
}
