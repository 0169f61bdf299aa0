//! Whether what the work committed judged a check. Git hands out what lies in a repository, so that nobody sees which of it
//! was asked for; instead the check runs once more without.

use super::Bench;
use super::verify::Went;
use crate::workspace::Commits;
use crate::{Error, commits};
use silas_core::changeset::Change;
use silas_core::check::{Basis, CountedBy, Declaration, DeclaredBy};
use silas_core::exits;

impl Bench {
    /// Names the branches and tags that moved as what judged, if a check that would be a proof is none where they have not.
    /// Its owner may have said that they are what the work is about.
    pub(super) fn weigh_commits(
        &self,
        n: usize,
        slot: usize,
        untouched: &Went,
        unseen: &[&Change],
        basis: &mut Basis,
    ) -> Result<(), Error> {
        let moved: Vec<&Change> =
            self.finished()?.changeset.changes.iter().filter(|change| commits::is_ref(&change.path)).collect();
        if moved.is_empty() || basis.by != CountedBy::Tests || !basis.changed.is_empty() {
            return Ok(());
        }
        let without = self.run(n, slot, unseen, Commits::TakenBack)?;
        if self.is_green_too(n, &without, untouched) {
            return Ok(());
        }
        let plan = self.permit.plan.definition();
        let is_declared = |change: &&&Change| exits::declared_by(plan, change, false) == Some(DeclaredBy::Owner);
        let names = |changes: Vec<&&Change>| changes.iter().map(|change| self.shown(change)).collect::<Vec<String>>();
        let (declared, judged) = moved.iter().partition(is_declared);
        basis.changed = names(judged);
        let declared = names(declared);
        if !declared.is_empty() {
            let known = basis.declared.get_or_insert(Declaration { by: DeclaredBy::Owner, files: Vec::new() });
            known.files.extend(declared);
        }
        Ok(())
    }

    /// Whether it is green without the commits as well, with every test that it had before the work.
    fn is_green_too(&self, n: usize, without: &Went, untouched: &Went) -> bool {
        let before = self.tests_before.get(n).and_then(Option::as_ref).or(untouched.log.as_ref());
        let has_all = match (before, &without.log) {
            (Some(before), Some(log)) if without.is_known => log.still_runs(before).is_ok(),
            (Some(before), Some(log)) => log.is_green_with_all_of(before).is_ok(),
            (Some(_), None) => false,
            // It could not even load its tests.
            (None, _) => true,
        };
        without.result.passed && has_all
    }
}
