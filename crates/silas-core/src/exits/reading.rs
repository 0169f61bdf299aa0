//! Where a flow can begin: the two kinds of text that a model reads and that are not the owner's words. Those may go
//! anywhere.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Files of granted directories and their names, and what commands and checks printed: the owner's, and of unknown
    /// authors.
    Files,
    /// Whatever came over a network.
    Web,
}

impl Reading {
    pub const ALL: [Reading; 2] = [Reading::Files, Reading::Web];

    pub fn name(self) -> &'static str {
        match self {
            Reading::Files => "files",
            Reading::Web => "web",
        }
    }
}
