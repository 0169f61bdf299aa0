//! Steps 1 and 8: what may come in, and what may go out. Their results can be made nowhere else.

use super::route::Route;
use crate::Trouble;
use crate::review::Proposal;
use silas_core::Tainted;
use silas_core::event::AuditEvent;
use silas_core::message::{CameOf, HeardMessage, MESSAGE_BYTES_MAX};
use silas_gates::scrub;

/// A message that may be taken in.
pub(super) struct Screened {
    message: HeardMessage,
}

impl Screened {
    pub(super) fn into_message(self) -> HeardMessage {
        self.message
    }
}

pub(super) fn input(message: HeardMessage) -> Result<Screened, Trouble> {
    let text = &message.body.text;
    if text.trim().is_empty() {
        return Err(Trouble::new("E_CHANNEL_EMPTY", "The message is empty.", "Write what you want done."));
    }
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(Trouble::new(
            "E_CHANNEL_SIZE",
            "The message is longer than 32 KiB.",
            "Put long texts into a file and name the file.",
        ));
    }
    Ok(Screened { message })
}

/// A reply that may be sent.
pub(super) struct Cleared {
    say: Tainted<String>,
    is_quoted: bool,
    came_of: CameOf,
    proposal: Option<Proposal>,
    noted: Vec<AuditEvent>,
}

impl Cleared {
    /// Whether the sentence is a model's, word for word.
    pub(super) fn is_quoted(&self) -> bool {
        self.is_quoted
    }

    pub(super) fn came_of(&self) -> CameOf {
        self.came_of
    }

    pub(super) fn into_parts(self) -> (Tainted<String>, Option<Proposal>, Vec<AuditEvent>) {
        (self.say, self.proposal, self.noted)
    }
}

pub(super) fn output(route: Route) -> Cleared {
    let Route { say, is_quoted, came_of, proposal, noted } = route;
    Cleared { say: say.map(|say| scrub::visible(&say)), is_quoted, came_of, proposal, noted }
}
