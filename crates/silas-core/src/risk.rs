//! How much a plan puts at stake, computed from what it may touch. The card, the engine, the launcher and the books ask
//! the same question; nobody who proposes has a say.

use crate::card::Risk;
use crate::changeset::{Change, Changeset, FileMode};
use crate::wanted::By;
use crate::work::Definition;

/// Files can be put back; what left the machine cannot. With a secret of the owner's at a host, a plan acts there in
/// their name, and no undo reaches it. What is inside a private network, behind a secret or at a port for a login is high;
/// so is a host for what a model runs or has changed, because whatever the model has read could go there.
pub fn of_plan(d: &Definition) -> Risk {
    let is_steered = |by: &By| match by {
        // Steps run before the model, as the plan has them.
        By::Step(_) => false,
        By::Check(_) | By::Model => d.executor.is_some(),
    };
    let reaches_steered = d.hosts_for.iter().any(|only| is_steered(&only.by));
    let reaches_inside = d.hosts.iter().any(|host| host.inside().is_some());
    if !d.secrets.is_empty() && !d.hosts.is_empty() {
        Risk::Irreversible
    } else if reaches_inside || reaches_steered || !d.secrets.is_empty() || d.callback_port.is_some() {
        Risk::High
    } else {
        Risk::Medium
    }
}

/// Bits with which anybody on the machine may change a file, or it runs as somebody else.
const OPENING: u32 = 0o6002;

/// Whether a file is open to others after a change that was not before.
pub fn opens(before: Option<FileMode>, after: Option<FileMode>) -> bool {
    let bits = |mode: Option<FileMode>| match mode {
        Some(FileMode::File(mode)) => mode & OPENING,
        Some(FileMode::Link) | None => 0,
    };
    bits(after) & !bits(before) != 0
}

/// The changes after which anybody on the machine may write to a file, or it runs as somebody else: no work of a low risk,
/// whatever its checks say.
pub fn opened(changeset: &Changeset) -> Vec<&Change> {
    let mode = |state: &Option<crate::changeset::FileState>| state.as_ref().map(|state| state.mode());
    changeset.changes.iter().filter(|change| opens(mode(&change.before), mode(&change.after))).collect()
}

#[cfg(test)]
mod tests;
