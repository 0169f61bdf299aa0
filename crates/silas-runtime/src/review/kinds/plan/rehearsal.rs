//! The card that asks for a rehearsal instead of the plan itself: what a parked plan becomes if its owner wants to see first.

use super::shown_first;
use crate::words::{Words, approve, count, decline, outside, whole_name_of_changed};
use silas_core::card::Face;
use silas_core::work::WorkItem;

impl Words {
    /// May this plan be rehearsed? Everything that it may reach and use is as on the plan's own card; only nothing is
    /// applied.
    pub fn rehearsal(&self, item: &WorkItem) -> Face {
        let d = item.definition();
        let name = whole_name_of_changed(&d.directories);
        Face {
            state: "Rehearsal".to_owned(),
            intent: match (&d.executor, d.steps.len()) {
                (None, n) => format!("Rehearse {} in {name}", count(n, "command")),
                (Some(_), _) => format!("Have a model rehearse in {name}"),
            },
            ctas: vec![approve("Rehearse it, show me", &shown_first(d)), decline(outside::declined(d))],
            ..self.plan(item)
        }
    }
}
