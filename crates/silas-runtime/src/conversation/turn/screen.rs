//! Steps 1 and 8: what may come in, and what may go out, asked of the gates. Their results can be made nowhere else.

use super::route::Route;
use crate::Trouble;
use crate::questions::Proposal;
use silas_core::Tainted;
use silas_core::event::AuditEvent;
use silas_core::message::{CameOf, HeardMessage};
use silas_gates::runner::Blocked;
use silas_gates::talk;

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
    let asked = talk::of_a_turn().message_in(&message.body.text);
    asked.map_err(|Blocked { code, why, todo }| Trouble::new(code, &why, todo))?;
    Ok(Screened { message })
}

/// A reply that may be sent.
pub(super) struct Cleared {
    say: Tainted<String>,
    is_quoted: bool,
    came_of: CameOf,
    proposal: Option<Proposal>,
    noted: Vec<AuditEvent>,
    warning: String,
}

impl Cleared {
    /// Whether the sentence is a model's, word for word.
    pub(super) fn is_quoted(&self) -> bool {
        self.is_quoted
    }

    pub(super) fn came_of(&self) -> CameOf {
        self.came_of
    }

    /// What is said besides about a plan.
    pub(super) fn warning(&self) -> &str {
        &self.warning
    }

    pub(super) fn into_parts(self) -> (Tainted<String>, Option<Proposal>, Vec<AuditEvent>) {
        (self.say, self.proposal, self.noted)
    }
}

pub(super) fn output(route: Route) -> Cleared {
    let Route { say, is_quoted, came_of, proposal, noted, warning } = route;
    let (say, warning) = (say.map(reply), reply(warning));
    Cleared { say: say.map(|say| say + &warning), is_quoted, came_of, proposal, noted, warning }
}

/// A reply, or a sentence of one that is shown while the rest is made. In place of one that does not pass stands why.
pub(super) fn reply(text: String) -> String {
    talk::of_a_turn().reply_out(text).unwrap_or_else(|blocked| blocked.why)
}
