//! What the copy is when the last step has run, and what of it would be put in place.

use super::{Bench, no_copy};
use crate::changes::{self, Links};
use crate::diff;
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::moves::{Moves, Trees};
use crate::relay::Relay;
use crate::tree::{self, Manifest};
use crate::workspace::{Commits, Landed, Run, Scene};
use crate::{Error, apply, fixed, flood};
use silas_core::changeset::Changeset;
use silas_core::evidence::Refusal;
use silas_core::relpath::RelPath;

/// The result of the steps, and what the checks of this round see of the owner's directories besides.
pub(super) struct Finished {
    pub(super) trees: Vec<Manifest>,
    pub(super) changeset: Changeset,
    pub(super) base: Vec<Manifest>,
    /// What of it moved; written when it is laid out.
    pub(super) moves: Moves,
    /// What commits hold otherwise than the checks see it.
    pub(super) committed_otherwise: Vec<String>,
    /// How often the owner changed something between the checks and the apply.
    pub(super) n_moved_on: usize,
}

impl Bench {
    /// Writes down what the copy is, once, when the last step has run.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if self.finished.is_some() {
            return Ok(());
        }
        let plan = self.permit.plan.definition();
        self.must(self.before.len() == plan.verify.len(), "every check runs before the steps first")?;
        self.must(self.n_steps_run == plan.steps.len(), "all steps run first")?;
        let (trees, changeset) = self.look_at_copy()?;
        if let Some(merging) = &self.permit.plan.definition().merges
            && apply::hash(&changeset)? != merging.changeset
        {
            return Err(Refusal::Content.into());
        }
        let base = self.workspace()?.seen(&self.permit.roots, Lifeline::of(&self.socket))?;
        changes::have_room(&changeset, &self.permit.roots, &base)?;
        let (moves, committed_otherwise) = (Moves::default(), Vec::new());
        self.land(Finished { trees, changeset, base, moves, committed_otherwise, n_moved_on: 0 })
    }

    /// Lays out what would be put in place: from here on checks see that, and an apply takes it from there.
    pub(super) fn land(&mut self, mut finished: Finished) -> Result<(), Error> {
        finished.moves = self.moves(&finished)?;
        let (roots, lifeline) = (&self.permit.roots, Lifeline::of(&self.socket));
        fixed::must_be_left_alone(&finished.changeset, &finished.moves, roots)?;
        let workspace = self.workspace.as_mut().ok_or_else(no_copy)?;
        let beside: Vec<RelPath> = (self.permit.plan.definition().beside.iter())
            .filter_map(|path| RelPath::from_bytes(path.as_bytes()).ok())
            .collect();
        let Finished { trees, changeset, base, moves, .. } = &finished;
        workspace.land(roots, &Landed { changeset, moves, finished: trees, base }, &beside, lifeline)?;
        let git = silas_core::check::Command::Argv(Vec::new());
        let mut relay = Relay::new(&self.socket);
        let run = Run { wall: self.wall(None)?, ..self.command(&git, None, &mut relay) };
        let (expected, base) = (&finished.trees, &finished.base);
        let scene = Scene { slot: 0, expected, base, without: &[], commits: Commits::Shown };
        finished.committed_otherwise = tree::shortened(self.workspace()?.committed_otherwise(&run, &scene)?);
        self.finished = Some(finished);
        Ok(())
    }

    /// Which of the changes are moves, as somebody who looks at them will read.
    fn moves(&self, finished: &Finished) -> Result<Moves, Error> {
        let workspace = self.workspace()?;
        let moved = diff::moved(&finished.changeset, |change| self.sides(workspace, change));
        let trees = |directory| {
            let n = self.permit.roots.iter().position(|root| root.nth == directory)?;
            Some(Trees { base: finished.base.get(n)?, finished: finished.trees.get(n)? })
        };
        Ok(Moves::new(&finished.changeset.changes, &moved, trees))
    }

    /// What the copies are, and how that differs from what they were made of.
    pub(super) fn look_at_copy(&mut self) -> Result<(Vec<Manifest>, Changeset), Error> {
        let lifeline = Lifeline::of(&self.socket);
        self.workspace()?.copies.iter().try_for_each(|copy| flood::is_readable(copy, lifeline))?;
        let trees = self.workspace()?.now(lifeline)?;
        let roots = &self.permit.roots;
        self.workspace.as_mut().ok_or_else(no_copy)?.read_changed(roots, &trees, lifeline)?;
        let workspace = self.workspace()?;
        let mut each = Vec::with_capacity(trees.len());
        for (n, (copy, finished)) in workspace.copies.iter().zip(&trees).enumerate() {
            let target_of = |path: &RelPath| {
                let found = copy.changed().parent_of(path).and_then(|(parent, name)| parent.read_link(name));
                found.doing(|| format!("Reading {path}"))
            };
            let links = Links { root: &self.permit.roots[n].granted.place.path, target_of: &target_of };
            let mut changes = changes::between(copy.nth, &copy.original, finished, &links)?;
            changes::under_all_names(&mut changes, &copy.original);
            each.push(changes);
        }
        let git = silas_core::check::Command::Argv(Vec::new());
        let mut relay = Relay::new(&self.socket);
        let run = Run { wall: self.wall(None)?, ..self.command(&git, None, &mut relay) };
        for (changes, committed) in each.iter_mut().zip(workspace.committed(&run)?) {
            changes.extend(committed);
            changes.sort_by(|a, b| a.path.cmp(&b.path));
        }
        let changeset = changes::together(each, self.ground.bounds)?;
        Ok((trees, changeset))
    }
}
