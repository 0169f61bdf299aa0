//! The proxy's answer: at once, or after looking something up: in the directories that the owner allowed, in the record of
//! earlier work, and in the web where a search server is set up. (RUNTIME §7.1, §19.3, §19.8)
//!
//! It can read, search and say a sentence to the owner meanwhile, and nothing else. What it searches the web for is judged like
//! every exit (`minds/exits.rs`); what it read makes its answer external.

use super::Turn;
use crate::Trouble;
use crate::assignment::Assigned;
use crate::conversation::Conversation;
use crate::hub::TellUser;
use crate::minds::earlier_work::{EarlierWork, Shown};
use crate::minds::eyes::{self, Roots};
use crate::minds::reading::{Reading, call_limits};
use crate::minds::search::WebSearch;
use crate::minds::spending::{Purse, Refused};
use serde_json::{Value, json};
use silas_agents::tools::{Purpose, Tool, chain};
use silas_agents::{Asking, Break, Ended, Minds, Outcome, RouteDecision, Said, Stop, Why};
use silas_core::boundary::Projected;
use silas_core::exits::Exits;
use silas_core::model::Role;
use silas_core::seen::Seen;
use silas_gates::calls::CallCounts;
use std::sync::{Arc, Mutex};

/// Calls for one answer. More is work, and work has a plan.
const TOOL_CALLS_MAX: u32 = 20;

/// A question to the proxy.
pub(super) struct Asked<'a> {
    pub(super) turn: &'a Turn,
    pub(super) assigned: &'a Assigned,
    pub(super) asking: &'a Asking,
    /// What it is told where it has no tools.
    pub(super) projected: &'a Projected,
    pub(super) purse: &'a Purse<'a>,
}

type Ending = Result<Ended<RouteDecision>, Break<Refused, Trouble>>;

impl Conversation {
    /// `seen` is what it was told at the beginning, and afterwards all that it has read; `shown` the work that it was told of.
    pub(super) async fn proxys_answer(
        self: &Arc<Self>,
        asked: &Asked<'_>,
        (seen, shown): (&Mutex<Seen>, &Shown),
        hear: &mut (dyn FnMut(Said) + Send),
    ) -> Ending {
        let Asked { turn, assigned, asking, projected, purse } = *asked;
        let roots = self.minds.roots().await.map_err(Break::Halted)?;
        let has_search = self.minds.search().is_some();
        let has_worked = self.minds.has_worked().await.map_err(Break::Halted)?;
        if roots.is_empty() && !has_search && !has_worked {
            return match Minds::route(asking, projected, purse, hear).await {
                Ok(Outcome::Usable(decision)) => Ok(Ended::Answer(decision)),
                Ok(Outcome::Unusable { why }) => Ok(Ended::GaveUp(Why::Form(why))),
                Err(Stop::Refused(refused)) => Err(Break::Refused(refused)),
                Err(Stop::Failed(error)) => Err(Break::Failed(error)),
            };
        }
        let mut payload = projected.payload().clone();
        payload["has_search"] = Value::Bool(has_search);
        payload["directories"] = roots.iter().map(|(grant, _)| json!(grant.place.path)).collect();
        let exits = Exits::of_words(&turn.message.text);
        let run = Reading {
            minds: &self.minds,
            message: turn.message.id.clone(),
            role: Role::Proxy,
            assigned,
            payload,
            roots: &roots,
            exits: &exits,
            counts: CallCounts::new(call_limits(TOOL_CALLS_MAX)),
        };
        let shown = has_worked.then_some(shown);
        let tools = tools(self, &roots, shown, assigned.model.model());
        let names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let tools = chain(tools, Purpose::Answer, names);
        Minds::route_with(asking, projected, (&tools, seen), &run, purse, hear).await
    }
}

fn tools<'a>(
    conversation: &'a Arc<Conversation>,
    roots: &'a Roots,
    shown: Option<&'a Shown>,
    model: &str,
) -> Vec<Box<dyn Tool<Trouble> + 'a>> {
    let minds = &conversation.minds;
    let mut tools = if roots.is_empty() { Vec::new() } else { eyes::all(minds, roots) };
    if let Some(shown) = shown {
        tools.push(Box::new(EarlierWork::new(minds, shown)));
    }
    if let Some(search) = minds.search() {
        tools.push(Box::new(WebSearch::new(search)));
    }
    tools.push(Box::new(TellUser::new(&conversation.hub, model)));
    tools
}

#[cfg(test)]
mod tests;
