//! What a plan may declare whose planner had read what others wrote. A pattern of such a planner's is a door that somebody
//! else may have wanted open: it says "anything", and nobody can tell from it what. So it declares by full names, or as the
//! owner has typed it. What it does not declare is asked about where it would leave, by its name.

use super::{Exits, Flow, Glob};
use crate::work::Definition;

impl Definition {
    /// The same plan with those declarations only that are spelled out, that the owner typed, or that stood in the plan
    /// `before` it, which was decided about.
    #[must_use]
    pub fn spelled_out(&self, is_typed: &dyn Fn(&str) -> bool, before: Option<&Definition>) -> Definition {
        // Who types a list with stars has not typed a pattern.
        let is_named = |glob: &Glob| glob.as_str().contains(char::is_alphanumeric) && is_typed(glob.as_str());
        let is_plain = |glob: &Glob| !glob.is_pattern() || is_named(glob);
        let kept = |list: &[Glob], known: &dyn Fn(&Definition) -> Vec<Glob>| -> Vec<Glob> {
            let known = before.map_or_else(Vec::new, known);
            list.iter().filter(|glob| is_plain(glob) || known.contains(glob)).cloned().collect()
        };
        let flows = |flow: &&Flow| is_plain(&flow.to) || before.is_some_and(|d| d.flows.contains(flow));
        Definition {
            changes: kept(&self.changes, &|d| d.changes.clone()),
            exits: Exits {
                paths: kept(&self.exits.paths, &|d| d.exits.paths.clone()),
                queries: kept(&self.exits.queries, &|d| d.exits.queries.clone()),
                typed: self.exits.typed.clone(),
            },
            flows: self.flows.iter().filter(flows).cloned().collect(),
            ..self.clone()
        }
    }
}
