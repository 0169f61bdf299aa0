//! Work at which a model has failed for good is planned again: the planner is told what was tried and what failed, and what
//! it writes becomes a card of its own, in the transaction that ends the work. (RUNTIME §19.4.2, §19.5.3)
//!
//! The new plan is the old one done differently. It is judged by the same checks, works in no other directory and reaches
//! nothing more; it begins with a fresh copy, and only after a decision of its own. Deliberately absent: any second question
//! to the planner. What is of no use is told, and the owner has the word.
//!
//! Checks that a model chose, and that passed before anything changed and where nothing did, have shown nothing. Then the
//! planner is asked for another check, and where there is none the owner is asked how it would be seen.

use super::consulting::Offering;
use super::ending::Ending;
use super::job::{Failure, Job};
use crate::Trouble;
use crate::minds::search::WEB_SEARCH;
use crate::question::Question;
use silas_core::check::CheckResult;
use silas_core::exits::{Exits, stands_in};
use silas_core::hidden;
use silas_core::host::HostGrant;
use silas_core::mandate::Mandate;
use silas_core::model::{ModelName, Role};
use silas_core::plan;
use silas_core::planned::Planned;
use silas_core::roots::Access;
use silas_core::wanted::{By, HostFor};
use silas_core::work::{Budget, Definition, WorkItem};
use silas_core::{MessageId, WorkItemId};
use silas_gates::scrub;
use silas_store::work_items;

/// What another plan has to have that this one lacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wants {
    /// Its attempts are used up, and its checks are red.
    Way,
    /// Its checks, which a model chose, were green with nothing done.
    Check,
}

/// What became of planning it again.
pub(super) enum Again {
    NotAsked,
    /// A plan, and the message with which it all began.
    Planned(Box<WorkItem>, MessageId),
    /// The same plan once more, because it may not go on under the approval that it had.
    Asked(Box<WorkItem>, MessageId),
    /// The planner has no other way, or none that can be offered.
    NoOther,
    /// Nobody knows a check that would show it.
    NoCheck,
    /// It was planned again this often already.
    Often(u32),
}

/// Of what the planner says instead of a plan.
const WORDS_CHARS_MAX: usize = 400;

impl Again {
    /// What follows the sentence about the end.
    pub(super) fn words(&self) -> String {
        match self {
            Again::NotAsked => String::new(),
            Again::Planned(..) => " Another plan is in Review. Nothing runs before you approve it.".to_owned(),
            Again::Asked(..) => " Whether to do it again is asked in Review.".to_owned(),
            Again::NoOther => {
                " The planner was asked for another way and has none to offer; what now is for you to say.".to_owned()
            }
            Again::NoCheck => {
                " How would you see that it is done? Say it again with a command that shows it.".to_owned()
            }
            Again::Often(n) => {
                let times = if *n == 1 { "once".to_owned() } else { format!("{n} times") };
                format!(" It was planned again {times} already; what now is for you to say.")
            }
        }
    }
}

impl Job {
    /// The ending, and perhaps another plan with it.
    pub(super) fn plan_again(&mut self, item: &WorkItem, ending: Ending) -> Result<Ending, Failure> {
        let Ending::Untouched { intent, reason } = ending else { return Ok(ending) };
        let max = self.work.house.options.models.replans_max;
        let Some(wants) = self.wants_other else { return Ok(Ending::Untouched { intent, reason }) };
        let none = match wants {
            Wants::Way => Again::NoOther,
            Wants::Check => Again::NoCheck,
        };
        if max == 0 || !self.has_planner(item)? {
            self.again = if wants == Wants::Check { none } else { Again::NotAsked };
            return Ok(Ending::Untouched { intent, reason });
        }
        let (depth, trace) = self.origin(item, max)?;
        if depth >= max {
            self.again = if wants == Wants::Check { none } else { Again::Often(depth) };
            return Ok(Ending::Untouched { intent, reason });
        }
        let (again, why) = match self.other_plan(item, wants)? {
            Ok(other) => (Again::Planned(Box::new(other), trace), String::new()),
            Err(why) => (none, format!("\nAnother plan was asked for. {why}")),
        };
        self.again = again;
        Ok(Ending::Untouched { intent, reason: format!("{reason}{why}") })
    }

    /// The card that is asked instead, if there is another plan.
    pub(super) fn question_instead(&self) -> Result<Option<Question>, Trouble> {
        match &self.again {
            Again::Planned(item, trace) | Again::Asked(item, trace) => {
                Ok(Some(self.work.questions.plan_question(item.as_ref().clone(), trace)?))
            }
            Again::NotAsked | Again::NoOther | Again::NoCheck | Again::Often(_) => Ok(None),
        }
    }

    /// How many plans before this one were given up for the next, as far as it matters, and the message behind them all.
    fn origin(&self, item: &WorkItem, max: u32) -> Result<(u32, MessageId), Failure> {
        let id = item.id().clone();
        let given_up = |d: &Definition| d.spawned_by.clone().or_else(|| d.follow_up_of.clone());
        let mut before = given_up(item.definition());
        let looking = self.work.house.store.read(move |tx| {
            let trace = work_items::get(tx, &id)?.map(|stored| stored.trace);
            let mut depth = 0;
            while let Some(id) = before.take().filter(|_| depth < max) {
                depth += 1;
                before = work_items::get(tx, &id)?.and_then(|stored| given_up(stored.item.definition()));
            }
            Ok((depth, trace))
        });
        let (depth, trace) = looking.wait()?;
        Ok((depth, trace.ok_or_else(super::lost)?))
    }

    /// What the planner writes instead; else why there is nothing, for the owner.
    fn other_plan(&self, item: &WorkItem, wants: Wants) -> Result<Result<WorkItem, String>, Failure> {
        let d = item.definition();
        let gave_up = self.record.gave_up.as_deref().unwrap_or_default();
        let reason = match wants {
            Wants::Way => format!(
                "The plan in these words was carried out and failed: {gave_up} Write a revised plan with a different \
                 approach; `action` is revise. Directories and checks stay as they are, and nobody can look for you this \
                 time. If there is no other way, `plan_action` is null and `message` says why. {}",
                self.what_failed(),
            ),
            Wants::Check => ASKS_FOR_A_CHECK.to_owned(),
        };
        let searches = self.work.minds.search().is_some() && d.executor.as_ref().is_some_and(|old| old.has(WEB_SEARCH));
        let offering = match (wants, &d.executor) {
            (Wants::Check, None) => Offering::Nothing,
            (Wants::Way, _) | (Wants::Check, Some(_)) => Offering::Executor { searches },
        };
        let asked = match wants {
            Wants::Way => ("another plan", reason.as_str()),
            Wants::Check => ("another check", reason.as_str()),
        };
        let Some(response) = self.planners_word(item, asked, offering, None)? else {
            return Ok(Err("The planner could not be asked, or said nothing that can be used.".to_owned()));
        };
        let Some(markdown) = response.plan() else {
            let said = hidden::quotation(&scrub::visible_line(&response.message, WORDS_CHARS_MAX));
            return Ok(Err(format!("The planner says: {said}")));
        };
        let red: Vec<String> =
            self.record.after.iter().filter(|result| !result.passed).map(CheckResult::shown).collect();
        let failed = match wants {
            Wants::Way => format!("{gave_up} Red: {}.", scrub::visible_line(&red.join(", "), WORDS_CHARS_MAX)),
            Wants::Check => "Its checks passed before it began, and it changed nothing.".to_owned(),
        };
        let id = WorkItemId::new(self.work.house.random.as_ref());
        let Some(planner) = self.work.minds.assigned(&self.grants()?, Role::Planner).map(|assigned| assigned.model)
        else {
            return Ok(Err("No model is set up for planning any more.".to_owned()));
        };
        Ok(plan::parse(markdown.trim_start().as_bytes())
            .map_err(|bad| format!("What it wrote cannot be read: {bad}."))
            .and_then(|written| revised(d, written.definition(), (id, planner), &failed, wants)))
    }
}

/// What the planner is told where a check showed nothing. It has read nothing that the checks printed.
const ASKS_FOR_A_CHECK: &str = "The plan in these words was carried out: its checks passed before anything was done, and nothing was changed. So they do \
     not show whether the wish is fulfilled. Write a revised plan with a check that fails as long as it is not; `action` is \
     revise. Directories stay as they are, and nobody can look for you this time. If no command can show it, `plan_action` \
     is null and `message` asks how it would be seen.";

/// The old plan done as the new one says, or why it is not offered.
fn revised(
    old: &Definition,
    new: &Definition,
    (id, planner): (WorkItemId, ModelName),
    failed: &str,
    wants: Wants,
) -> Result<WorkItem, String> {
    // Whoever wrote it was told what checks and commands printed.
    let new =
        &new.spelled_out(&|name| old.exits.typed.as_deref().is_some_and(|words| stands_in(words, name)), Some(old));
    let may = |path: &str, access: Access| {
        old.directories.iter().any(|o| o.path == path && (o.access == access || o.access == Access::Write))
    };
    if new.directories.iter().any(|directory| !may(&directory.path, directory.access)) {
        return Err("What it wrote works in other directories, so it is not offered.".to_owned());
    }
    let reaches_more = new.hosts.iter().any(|host| !old.hosts.contains(host))
        || new.secrets.iter().any(|secret| !old.secrets.contains(secret))
        || (new.callback_port.is_some() && new.callback_port != old.callback_port)
        || (has_search(new) && !has_search(old));
    if reaches_more {
        return Err("What it wrote reaches more than the plan before, so it is not offered.".to_owned());
    }
    let prose = new.body.trim();
    let same_tools = old.executor.as_ref().map(|m| &m.tools) == new.executor.as_ref().map(|m| &m.tools);
    if wants == Wants::Check && new.verify.iter().all(|check| old.verify.iter().any(|old| old.run == check.run)) {
        return Err("What it wrote has no other check.".to_owned());
    }
    if wants == Wants::Way && new.steps == old.steps && same_tools && old.body.trim() == prose {
        return Err("What it wrote is the same plan again.".to_owned());
    }
    // The same model as before: it was agreed to for this, and the owner sees it on the card.
    let model = old.executor.as_ref().and_then(|mandate| mandate.model.clone());
    let executor = new.executor.clone().map(|mandate| Mandate { model, ..mandate });
    // What was named for a step was named for that step as it was.
    let stays = |only: &&HostFor| match only.by {
        By::Step(_) => false,
        By::Check(_) => wants == Wants::Way,
        By::Model => executor.is_some(),
    };
    let hosts_for: Vec<HostFor> = old.hosts_for.iter().filter(stays).cloned().collect();
    let is_free = |host: &&HostGrant| !old.hosts_for.iter().any(|only| only.host == **host);
    let mut hosts: Vec<HostGrant> = new.hosts.iter().filter(is_free).cloned().collect();
    for only in &hosts_for {
        if !hosts.contains(&only.host) {
            hosts.push(only.host.clone());
        }
    }
    let typed = old.exits.typed.as_deref();
    let asked = old.owners_words().or(typed).unwrap_or(&old.title).to_owned();
    let definition = Definition {
        id,
        parent: None,
        // One that was spawned has the checks of the plan before.
        spawned_by: (wants == Wants::Way).then(|| old.id.clone()),
        follow_up_of: (wants == Wants::Check).then(|| old.id.clone()),
        verify: if wants == Wants::Check { new.verify.clone() } else { old.verify.clone() },
        body: prose.to_owned(),
        planned: Some(Planned { by: planner, asked }),
        // Of what was printed nothing is in it.
        failure_context: Some(failed.to_owned()),
        steps: new.steps.clone(),
        executor,
        hosts,
        hosts_for,
        secrets: new.secrets.clone(),
        callback_port: new.callback_port,
        flows: new.flows.clone(),
        exits: Exits { typed: old.exits.typed.clone(), ..new.exits.clone() },
        budget: match new.executor {
            Some(_) => no_more_than(&old.budget, &new.budget),
            None => no_more_than(&old.budget, &new.budget).without_models(),
        },
        ..old.clone()
    };
    WorkItem::new(definition).map_err(|broken| format!("What it wrote cannot be carried out: {broken}."))
}

fn has_search(d: &Definition) -> bool {
    d.executor.as_ref().is_some_and(|mandate| mandate.has(WEB_SEARCH))
}

fn no_more_than(old: &Budget, new: &Budget) -> Budget {
    Budget {
        max_tokens: new.max_tokens.min(old.max_tokens),
        max_cost_microusd: new.max_cost_microusd.min(old.max_cost_microusd),
        max_wall_time_seconds: old.max_wall_time_seconds,
        max_attempts: new.max_attempts.min(old.max_attempts),
        max_planner_calls: new.max_planner_calls.min(old.max_planner_calls),
    }
}

#[cfg(test)]
mod tests;
