//! What a run has read, by kind and by name. It only grows.

use crate::taint::Taint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What kind of text a mind reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The plan, and the owner's signed words.
    Owner,
    /// Files of granted directories and their names, and what commands and checks printed: the owner's, and of unknown
    /// authors.
    Files,
    /// Whatever came over a network.
    Web,
}

impl Reading {
    /// Where a flow can begin. The owner's words may go anywhere.
    pub const SOURCES: [Reading; 2] = [Reading::Files, Reading::Web];

    pub fn name(self) -> &'static str {
        match self {
            Reading::Owner => "owner",
            Reading::Files => "files",
            Reading::Web => "web",
        }
    }

    pub fn taint(self) -> Taint {
        match self {
            Reading::Owner => Taint::Owner,
            Reading::Files | Reading::Web => Taint::External,
        }
    }

    /// Whether it is nobody else's business.
    pub fn is_private(self) -> bool {
        match self {
            Reading::Files => true,
            Reading::Owner | Reading::Web => false,
        }
    }
}

/// One thing that was read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sight {
    pub reading: Reading,
    /// What it was, for people: "what `cat notes.md` printed".
    pub what: String,
    /// Its beginning, to say where a value came from; not kept.
    #[serde(skip)]
    text: String,
}

/// Things that are remembered by name. Beyond that the kinds are still remembered, and the first are named.
pub const SIGHTS_MAX: usize = 64;
/// How much of each is searched for a value.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest name of a thing.
const WHAT_CHARS_MAX: usize = 120;
/// Sources that are named for one value.
const NAMED_MAX: usize = 4;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    kinds: BTreeSet<Reading>,
    sights: Vec<Sight>,
}

impl Seen {
    pub fn add(&mut self, reading: Reading, what: &str, text: &str) {
        self.kinds.insert(reading);
        let calm = |c: char| if c.is_control() { ' ' } else { c };
        let what: String = what.chars().map(calm).take(WHAT_CHARS_MAX).collect();
        let is_known = |sight: &Sight| sight.reading == reading && sight.what == what;
        let text = text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned();
        if let Some(known) = self.sights.iter_mut().find(|sight| is_known(sight)) {
            known.text = text;
        } else if self.sights.len() < SIGHTS_MAX {
            self.sights.push(Sight { reading, what, text });
        }
    }

    pub fn has(&self, reading: Reading) -> bool {
        self.kinds.contains(&reading)
    }

    pub fn is_external(&self) -> bool {
        self.kinds.iter().any(|reading| reading.taint() == Taint::External)
    }

    pub fn is_private(&self) -> bool {
        self.kinds.iter().any(|reading| reading.is_private())
    }

    pub fn sights(&self) -> &[Sight] {
        &self.sights
    }

    /// Where a value came from: what it stands in, otherwise whatever was read from others last.
    pub fn sources_of(&self, value: &str) -> Vec<String> {
        let external = || self.sights.iter().rev().filter(|sight| sight.reading.taint() == Taint::External);
        let named = |sights: &mut dyn Iterator<Item = &Sight>| -> Vec<String> {
            sights.take(NAMED_MAX).map(|sight| sight.what.clone()).collect()
        };
        let having = named(&mut external().filter(|sight| !value.is_empty() && sight.text.contains(value)));
        if having.is_empty() { named(&mut external()) } else { having }
    }
}
