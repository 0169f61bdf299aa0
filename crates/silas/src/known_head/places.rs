//! Which line of an installation was seen where.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// More directories of one installation than anybody has; the one that was not seen for the longest time goes first.
const PLACES_MAX: usize = 64;

/// The one that was seen last stands last.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Places(Vec<Place>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    path: PathBuf,
    epoch: u64,
}

impl Places {
    pub(super) fn read(file: &Path) -> Result<Self> {
        if !file.exists() {
            return Ok(Places::default());
        }
        let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read.", file.display()))?;
        // What was known must not be taken for unknown.
        serde_json::from_str(&text).with_context(|| format!("{} is damaged.", file.display()))
    }

    pub(super) fn epoch_at(&self, path: &Path) -> Option<u64> {
        self.0.iter().find(|place| place.path == path).map(|place| place.epoch)
    }

    /// Whether this was news.
    pub(super) fn put(&mut self, path: &Path, epoch: u64) -> bool {
        if self.0.last().is_some_and(|last| last.path == path && last.epoch == epoch) {
            return false;
        }
        self.0.retain(|place| place.path != path);
        self.0.push(Place { path: path.to_owned(), epoch });
        let n_over = self.0.len().saturating_sub(PLACES_MAX);
        self.0.drain(..n_over);
        true
    }
}

#[cfg(test)]
mod tests {
    //! The last word about a place counts, and the list is bounded.

    use super::{PLACES_MAX, Places};
    use std::path::PathBuf;

    #[test]
    fn places_are_remembered() {
        let mut places = Places::default();
        let at = |n: usize| PathBuf::from(format!("/data/{n}"));
        assert!(places.put(&at(1), 1) && !places.put(&at(1), 1) && places.put(&at(1), 7));
        assert_eq!((places.epoch_at(&at(1)), places.epoch_at(&at(2))), (Some(7), None));
        for n in 2..=PLACES_MAX + 1 {
            assert!(places.put(&at(n), 1));
        }
        assert_eq!((places.epoch_at(&at(1)), places.epoch_at(&at(2))), (None, Some(1)));
    }
}
