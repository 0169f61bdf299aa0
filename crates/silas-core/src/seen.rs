//! What a run has read so far: how far it can be trusted, whether something private was among it, and where it came from.
//!
//! What leaves a run is judged by this, because whoever read a text may do what it says. It only ever grows.

use crate::Taint;
use crate::taint::Lineage;
use serde::{Deserialize, Serialize};

/// One text that entered a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sight {
    pub taint: Taint,
    /// Whether it is the owner's and nobody else's business: files, what commands made of them, memory.
    pub is_private: bool,
    /// In words for a card: `the file src/app.py`.
    pub source: String,
}

/// Sources that are named. More than a card could show; that there were more is said.
const SOURCES_MAX: usize = 50;
/// Longest name of a source.
const SOURCE_CHARS_MAX: usize = 120;
/// How much of each text is looked through for a value.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Sources that are named for one value.
const NAMED_MAX: usize = 4;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    taint: Option<Taint>,
    has_private: bool,
    has_external: bool,
    /// Whether something external was read that is not the owner's: the web.
    has_public: bool,
    sources: Vec<Sight>,
    n_unnamed: usize,
    /// Their beginnings, in the order of `sources`, to say where a value came from; not kept.
    #[serde(skip)]
    texts: Vec<String>,
}

impl Seen {
    /// Something was read. `text` is what it said.
    pub fn add(&mut self, sight: Sight, text: &str) {
        self.taint = Some(self.taint.map_or(sight.taint, |so_far| so_far.join(sight.taint)));
        self.has_private |= sight.is_private;
        self.has_external |= sight.taint == Taint::External;
        self.has_public |= sight.taint == Taint::External && !sight.is_private;
        let calm = |c: char| if c.is_control() { ' ' } else { c };
        let source = sight.source.chars().map(calm).take(SOURCE_CHARS_MAX).collect();
        let sight = Sight { source, ..sight };
        self.texts.resize(self.sources.len(), String::new());
        let text = text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned();
        match self.sources.iter().position(|known| *known == sight) {
            Some(at) => self.texts[at] = text,
            None if self.sources.len() < SOURCES_MAX => {
                self.sources.push(sight);
                self.texts.push(text);
            }
            None => self.n_unnamed += 1,
        }
    }

    /// The join of everything; external if nothing is known.
    pub fn taint(&self) -> Taint {
        self.taint.into_iter().collect::<Lineage>().taint()
    }

    pub fn has_private(&self) -> bool {
        self.has_private
    }

    pub fn has_external(&self) -> bool {
        self.has_external
    }

    /// Whether it has read something that is neither the owner's nor trusted.
    pub fn has_public(&self) -> bool {
        self.has_public
    }

    /// The sources that are named, in the order in which they were read, and how many are not.
    pub fn sources(&self) -> (impl Iterator<Item = &Sight>, usize) {
        (self.sources.iter(), self.n_unnamed)
    }

    /// Where a value came from: what it stands in, otherwise whatever was read from others last.
    pub fn sources_of(&self, value: &str) -> Vec<String> {
        let says = |at: usize| self.texts.get(at).is_some_and(|text| !value.is_empty() && text.contains(value));
        let named = |holds: &dyn Fn(usize) -> bool| -> Vec<String> {
            let others = self.sources.iter().enumerate().rev().filter(|(_, sight)| sight.taint == Taint::External);
            others.filter(|(at, _)| holds(*at)).take(NAMED_MAX).map(|(_, sight)| sight.source.clone()).collect()
        };
        let having = named(&says);
        if having.is_empty() { named(&|_| true) } else { having }
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
        seen.add(sight(Taint::Owner, false, "what you said"), "");
        assert_eq!((seen.taint(), seen.has_external(), seen.has_public()), (Taint::Owner, false, false));
        seen.add(sight(Taint::External, true, "the file a"), "");
        seen.add(sight(Taint::Owner, false, "what you said"), "");
        assert_eq!((seen.taint(), seen.has_private(), seen.has_external()), (Taint::External, true, true));
        assert!(!seen.has_public());
        assert_eq!(seen.sources().0.count(), 2);
        seen.add(sight(Taint::External, false, "a search"), "");
        assert!(seen.has_public());
    }

    #[test]
    fn what_is_not_named_is_counted_and_its_kind_remembered() {
        let mut seen = Seen::default();
        for n in 0..60 {
            let source = format!("the\npage {n} {}", "x".repeat(500));
            seen.add(sight(Taint::External, false, &source), &"é".repeat(100_000));
        }
        let (named, unnamed) = seen.sources();
        assert_eq!((named.count(), unnamed), (50, 10));
        assert!(seen.sources().0.all(|sight| sight.source.chars().count() <= 120 && !sight.source.contains('\n')));
        seen.add(sight(Taint::External, true, "late"), "");
        assert!(seen.has_private());
    }

    #[test]
    fn a_value_comes_from_what_it_stands_in() {
        let mut seen = Seen::default();
        seen.add(sight(Taint::External, true, "the file a"), "then write x.yml for me");
        seen.add(sight(Taint::External, true, "the file b"), "nothing of interest");
        seen.add(sight(Taint::Owner, false, "the plan"), "x.yml");
        assert_eq!(seen.sources_of("x.yml"), ["the file a"]);
        assert_eq!(seen.sources_of("y.yml"), ["the file b", "the file a"]);
        // What was said is not kept, and what was named is.
        let kept: Seen = serde_json::from_value(serde_json::to_value(&seen).unwrap()).unwrap();
        assert_eq!(kept.sources_of("x.yml"), ["the file b", "the file a"]);
        let mut kept = kept;
        kept.add(sight(Taint::External, false, "a search"), "x.yml");
        assert_eq!(kept.sources_of("x.yml"), ["a search"]);
    }
}
