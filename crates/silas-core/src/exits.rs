//! Injection is decided at the exits: where something leaves a run's private copy.
//!
//! A mind that has read what others wrote may want anything. So what leaves is compared with what the owner approved: the
//! values that steer an exit must be declared by the plan or typed by the owner, and text may flow where the plan lets it.
//! Nothing here looks for bad words, and inside the copy nothing is judged at all. What the owner is told is no exit: words
//! of a model are marked as such wherever they show. What a model has no hands for (hosts,
//! messages to others, records, grants) has no exit here either.
//!
//! The rule is pure and monotone: having read more never allows more. The front asks it about the final arguments of each
//! call and before an apply; the workshop asks it again before it applies.

mod declared;
mod glob;
mod may_change;
mod reading;
mod spelled_out;
mod typed;
pub use typed::contains as stands_in;

pub use declared::{BadFlow, ENTRIES_MAX, Exits, Flow, TYPED_BYTES_MAX};
pub use glob::{BadGlob, GLOB_CHARS_MAX, Glob};
pub use may_change::declared_by;
pub use reading::Reading;

use crate::changeset::{Change, Changeset};
use crate::roots::Access;
use crate::seen::Seen;
use crate::work::Definition;
use serde::{Deserialize, Serialize};

/// Where something leaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// A changed file is put in place. It stays on the owner's machine, can be seen before and undone after.
    Apply,
    /// Words go to a search engine, which is a way to send them anywhere.
    Search,
}

impl Exit {
    pub const ALL: [Exit; 2] = [Exit::Apply, Exit::Search];

    /// Whether what leaves here leaves the machine.
    fn leads_away(self) -> bool {
        match self {
            Exit::Apply => false,
            Exit::Search => true,
        }
    }
}

/// One thing that would leave, in all spellings of its control value; the first is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaving {
    pub exit: Exit,
    spellings: Vec<String>,
}

/// What may happen to it. Ordered from most to least allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ruling {
    Pass,
    /// Only if the owner says so about exactly this.
    Ask(Undeclared),
    /// Not in this run: it has read private data and others' text, and keeps only its declared exits.
    Refuse(Undeclared),
}

/// What was not declared, for a card and for the model that wanted it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Undeclared {
    pub exit: Exit,
    /// The control value, as it would be used.
    pub value: String,
    /// What is missing: the value itself, or the flow of what was read to it.
    pub lacks: Lack,
    /// Where the value, or the wish for it, came from, nearest first.
    pub from: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    Value,
    FlowFromWeb,
}

impl Leaving {
    pub fn search(query: &str) -> Self {
        Leaving { exit: Exit::Search, spellings: vec![query.to_owned()] }
    }

    /// A changed file: as seen from the first directory that may be changed, and from the root.
    pub fn file(plan: &Definition, change: &Change) -> Self {
        let relative = change.path.to_string();
        let nth = usize::try_from(change.directory).unwrap_or(usize::MAX);
        let first = plan.directories.iter().position(|directory| directory.access == Access::Write);
        let absolute = plan.directories.get(nth).map(|directory| match directory.path.as_str() {
            "/" => format!("/{relative}"),
            path => format!("{path}/{relative}"),
        });
        let here = (first == Some(nth)).then_some(relative);
        Leaving { exit: Exit::Apply, spellings: here.into_iter().chain(absolute).collect() }
    }

    pub fn value(&self) -> &str {
        self.spellings.first().map_or("", String::as_str)
    }
}

/// What a run may let out without being asked about.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'a> {
    pub exits: &'a Exits,
    pub flows: &'a [Flow],
}

impl<'a> Declared<'a> {
    pub fn of(plan: &'a Definition) -> Self {
        Declared { exits: &plan.exits, flows: &plan.flows }
    }
}

/// Whether this may leave a run that has seen what it has seen.
pub fn judge(declared: Declared<'_>, seen: &Seen, leaving: &Leaving) -> Ruling {
    // Who has read the owner's words only does what the owner said.
    if !seen.has_external() {
        return Ruling::Pass;
    }
    let Some(lacks) = lack(declared, seen, leaving) else { return Ruling::Pass };
    let value = leaving.value().to_owned();
    let from = seen.sources_of(&value);
    let undeclared = Undeclared { exit: leaving.exit, value, lacks, from };
    if leaving.exit.leads_away() && seen.has_private() { Ruling::Refuse(undeclared) } else { Ruling::Ask(undeclared) }
}

/// Everything among the changes that must not be put in place without being asked about.
pub fn undeclared_changes(plan: &Definition, seen: &Seen, changeset: &Changeset) -> Vec<Undeclared> {
    let leaving = changeset.changes.iter().filter(|change| !is_committed(plan, change));
    let rulings = leaving.map(|change| judge(Declared::of(plan), seen, &Leaving::file(plan, change)));
    rulings
        .filter_map(|ruling| match ruling {
            Ruling::Pass => None,
            Ruling::Ask(undeclared) | Ruling::Refuse(undeclared) => Some(undeclared),
        })
        .collect()
}

/// What a plan with commits brings over is chosen by the workshop: refs and objects, no hooks and no settings.
fn is_committed(plan: &Definition, change: &Change) -> bool {
    let path = change.path.as_bytes();
    plan.commits && (path.starts_with(b".git/") || path.windows(6).any(|part| part == b"/.git/"))
}

/// What would have to be declared for this to pass.
fn lack(Declared { exits, flows: all }: Declared<'_>, seen: &Seen, leaving: &Leaving) -> Option<Lack> {
    let spelled = |matches: &dyn Fn(&str) -> bool| leaving.spellings.iter().any(|value| matches(value));
    let flows = |from: Reading| {
        let mut ends = all.iter().filter(|flow| flow.from == from).map(|flow| &flow.to);
        ends.any(|end| spelled(&|value| end.matches_path(value)))
    };
    match leaving.exit {
        Exit::Search => {
            let is_declared = exits.queries.iter().any(|entry| spelled(&|value| entry.matches_text(value)));
            let is_typed = spelled(&|value| exits.is_typed(value, false));
            (!is_declared && !is_typed).then_some(Lack::Value)
        }
        Exit::Apply => {
            let is_declared = exits.paths.iter().any(|entry| spelled(&|value| entry.matches_path(value)));
            let is_typed = || spelled(&|value| exits.is_typed(value, true));
            let is_end = || Reading::ALL.into_iter().any(flows);
            if !is_declared && !is_typed() && !is_end() {
                return Some(Lack::Value);
            }
            // A file of a directory is made of that directory's files; what comes from the web must be let in.
            (seen.has_public() && !flows(Reading::Web)).then_some(Lack::FlowFromWeb)
        }
    }
}

#[cfg(test)]
mod tests;
