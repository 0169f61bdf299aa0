//! Which new file is a deleted one that moved: the same content, or nearly so. For people who read the change; what is
//! applied is one file gone and one new all the same.

use silas_core::Digest;
use silas_core::changeset::{Change, FileState};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Of a hundred lines in both texts together, so many must be shared.
const SHARED_PERCENT_MIN: usize = 60;
/// Comparing every new file with every deleted one takes its time; beyond this many pairs only equal content is found.
const PAIRS_MAX: usize = 400;
/// Texts with fewer lines than this share theirs by chance.
const LINES_MIN: usize = 3;

/// For the place of each new file in the list, the place of the deleted one that it was. `text` reads either, if it can be
/// read.
pub(crate) fn find(changes: &[Change], text: impl Fn(&Change) -> Option<String>) -> BTreeMap<usize, usize> {
    let places = |wanted: fn(&Change) -> bool| {
        let found = changes.iter().enumerate().filter(move |(_, change)| wanted(change));
        found.map(|(n, _)| n).collect::<Vec<usize>>()
    };
    let new = places(|change| change.before.is_none() && is_file(change.after.as_ref()));
    let mut gone: BTreeSet<usize> =
        places(|change| change.after.is_none() && is_file(change.before.as_ref())).into_iter().collect();
    let mut moved = BTreeMap::new();
    for &n in &new {
        let is_same = |from: &&usize| {
            let from = &changes[**from];
            from.directory == changes[n].directory
                && content(from.before.as_ref()) == content(changes[n].after.as_ref())
        };
        // Of several with this content the one that kept its name.
        let keeps_name = |from: &&usize| last_part(&changes[**from]) == last_part(&changes[n]);
        let found = gone.iter().filter(is_same).find(keeps_name).or_else(|| gone.iter().find(is_same)).copied();
        if let Some(from) = found {
            gone.remove(&from);
            moved.insert(n, from);
        }
    }
    let rest: Vec<usize> = new.into_iter().filter(|n| !moved.contains_key(n)).collect();
    if rest.len() * gone.len() > PAIRS_MAX {
        return moved;
    }
    let olds: BTreeMap<usize, String> = gone.iter().filter_map(|n| Some((*n, text(&changes[*n])?))).collect();
    for n in rest {
        let Some(after) = text(&changes[n]).filter(|_| !gone.is_empty()) else { continue };
        let candidates = gone.iter().filter(|from| changes[**from].directory == changes[n].directory);
        let alike = candidates.filter_map(|from| Some((shared_percent(olds.get(from)?, &after), *from)));
        let best = alike.filter(|(percent, _)| *percent >= SHARED_PERCENT_MIN);
        // Of equals the first, so that one change always reads alike.
        if let Some((_, from)) = best.max_by_key(|(percent, from)| (*percent, std::cmp::Reverse(*from))) {
            gone.remove(&from);
            moved.insert(n, from);
        }
    }
    moved
}

fn is_file(state: Option<&FileState>) -> bool {
    content(state).is_some_and(|hash| hash != Digest::of(b""))
}

/// Nothing for a link: two that lead to one place are not one that moved.
fn content(state: Option<&FileState>) -> Option<Digest> {
    match state {
        Some(FileState::File { hash, .. }) => Some(*hash),
        Some(FileState::Link { .. }) | None => None,
    }
}

fn last_part(change: &Change) -> &[u8] {
    change.path.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default()
}

/// How many lines of both texts the other has too, each as often as it is there.
fn shared_percent(before: &str, after: &str) -> usize {
    let (n_before, n_after) = (before.lines().count(), after.lines().count());
    if n_before.min(n_after) < LINES_MIN {
        return 0;
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    before.lines().for_each(|line| *left.entry(line).or_default() += 1);
    let mut n_shared = 0;
    for line in after.lines() {
        if let Some(n) = left.get_mut(line).filter(|n| **n > 0) {
            *n -= 1;
            n_shared += 1;
        }
    }
    200 * n_shared / (n_before + n_after)
}

#[cfg(test)]
mod tests;
