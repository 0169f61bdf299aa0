//! An update as it goes to every door that listens, written once.

use super::Update;
use std::sync::{Arc, OnceLock};

/// An update as it goes to every door that listens. It is written as JSON once, however many they are.
#[derive(Debug)]
pub struct Published {
    update: Update,
    text: OnceLock<Option<Arc<str>>>,
}

impl Published {
    pub fn new(update: Update) -> Self {
        Published { update, text: OnceLock::new() }
    }

    pub fn update(&self) -> &Update {
        &self.update
    }

    /// Nothing if it cannot be written, which no update of ours is.
    pub fn text(&self) -> Option<Arc<str>> {
        self.text.get_or_init(|| serde_json::to_string(&self.update).ok().map(Arc::from)).clone()
    }

    /// Whether whoever has `later` needs this one no more: both are the whole state of the same thing.
    pub fn is_outdated_by(&self, later: &Published) -> bool {
        match (&self.update, &later.update) {
            (Update::Cards(_), Update::Cards(_))
            | (Update::Activity { .. }, Update::Activity { .. })
            | (Update::WaitingFor { .. }, Update::WaitingFor { .. })
            | (Update::Looking { .. }, Update::Looking { .. }) => true,
            (Update::Work { work }, Update::Work { work: later }) => work.execution == later.execution,
            (Update::Output { output }, Update::Output { output: later }) => output.execution == later.execution,
            (Update::Draft { draft }, Update::Draft { draft: later }) => draft.reply == later.reply,
            (
                Update::Cards(_)
                | Update::Activity { .. }
                | Update::Work { .. }
                | Update::Output { .. }
                | Update::Answered { .. }
                | Update::Draft { .. }
                | Update::WaitingFor { .. }
                | Update::Looking { .. },
                _,
            ) => false,
        }
    }
}
