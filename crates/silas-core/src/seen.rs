//! What a run has read so far: how far it can be trusted, whether something private was among it, and where it came from.
//!
//! What leaves a run is judged by this, because whoever read a text may do what it says. It only ever grows.

use crate::Taint;
use crate::taint::Lineage;
use std::collections::BTreeSet;

/// One text that entered a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sight {
    pub taint: Taint,
    /// Whether it is the owner's and nobody else's business: files, what commands made of them, memory.
    pub is_private: bool,
    /// In words for a card: `the file src/app.py`.
    pub source: String,
}

/// Sources that are named. More than a card could show; that there were more is said.
const SOURCES_MAX: usize = 50;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    lineage: Lineage,
    has_private: bool,
    has_external: bool,
    sources: BTreeSet<Sight>,
    n_unnamed: usize,
}

impl Seen {
    pub fn add(&mut self, sight: Sight) {
        self.lineage.add(sight.taint);
        self.has_private |= sight.is_private;
        self.has_external |= sight.taint == Taint::External;
        if self.sources.len() < SOURCES_MAX {
            self.sources.insert(sight);
        } else if !self.sources.contains(&sight) {
            self.n_unnamed += 1;
        }
    }

    /// The join of everything; external if nothing is known.
    pub fn taint(&self) -> Taint {
        self.lineage.taint()
    }

    pub fn has_private(&self) -> bool {
        self.has_private
    }

    pub fn has_external(&self) -> bool {
        self.has_external
    }

    /// The sources that are named, and how many are not.
    pub fn sources(&self) -> (impl Iterator<Item = &Sight>, usize) {
        (self.sources.iter(), self.n_unnamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(taint: Taint, is_private: bool, source: &str) -> Sight {
        Sight { taint, is_private, source: source.to_owned() }
    }

    #[test]
    fn it_only_grows_and_nothing_known_is_external() {
        let mut seen = Seen::default();
        assert_eq!((seen.taint(), seen.has_private(), seen.has_external()), (Taint::External, false, false));
        seen.add(sight(Taint::Owner, false, "what you said"));
        assert_eq!((seen.taint(), seen.has_external()), (Taint::Owner, false));
        seen.add(sight(Taint::External, true, "the file a"));
        seen.add(sight(Taint::Owner, false, "what you said"));
        assert_eq!((seen.taint(), seen.has_private(), seen.has_external()), (Taint::External, true, true));
        assert_eq!(seen.sources().0.count(), 2);
    }

    #[test]
    fn what_is_not_named_is_counted() {
        let mut seen = Seen::default();
        for n in 0..60 {
            seen.add(sight(Taint::External, true, &format!("the file {n}")));
        }
        let (named, unnamed) = seen.sources();
        assert_eq!((named.count(), unnamed), (50, 10));
    }
}
