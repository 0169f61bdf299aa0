//! A model that is stuck gets advice: the planner is told what was tried and why it failed, and says what to do
//! differently. (RUNTIME §5.2.1 e, §19.5.3)
//!
//! Advice changes nothing that was approved: the plan, its checks and its limits stay. A plan that comes with it is not
//! looked at.

use super::executing::failure;
use super::job::{Failure, Job};
use super::moves::Progress;
use crate::minds::spending::Purse;
use crate::running::{RunningWork, Stop};
use crate::words::date;
use serde_json::{Value, json};
use silas_agents::{AgentResponse, Minds, Outcome};
use silas_core::boundary::{self, Call, Policy};
use silas_core::fail::{self, FailPoint};
use silas_core::model::{ModelGrant, Role};
use silas_core::taint::Source;
use silas_core::work::WorkItem;
use silas_gates::injection;
use std::time::Duration;

/// How long advice may take.
const ADVICE_TIME_MAX: Duration = Duration::from_secs(90);
/// Red checks that are told of.
const FAILURES_MAX: usize = 5;
/// Of what the model said about its own work.
const SAID_CHARS_MAX: usize = 1_000;
/// The value of `on_stuck` that asks for this.
const CONSULT: &str = "consult_planner";

/// What a plan could be made with, where one is wanted.
#[derive(Clone, Copy)]
pub(super) enum Offering {
    Nothing,
    Executor { searches: bool },
}

impl Job {
    pub(super) fn may_consult(&self, item: &WorkItem, so_far: u32) -> Result<bool, Failure> {
        let d = item.definition();
        if so_far >= d.budget.max_planner_calls {
            return Ok(false);
        }
        self.has_planner(item)
    }

    /// Whether the plan wants the planner to be asked when it does not succeed, and somebody could be.
    pub(super) fn has_planner(&self, item: &WorkItem) -> Result<bool, Failure> {
        if item.definition().on_stuck != CONSULT {
            return Ok(false);
        }
        let grants = self.grants()?;
        let planner = self.work.minds.assigned(&grants, Role::Planner);
        Ok(planner.is_some_and(|planner| planner.is_agreed && self.work.minds.has_key(&planner.key)))
    }

    /// The checks that are red, as a model may be told of them.
    pub(super) fn failures(&self) -> Vec<Value> {
        self.record.after.iter().filter(|result| !result.passed).take(FAILURES_MAX).map(failure).collect()
    }

    /// What the planner advises; nothing if it cannot be asked or says nothing that can be used.
    pub(super) fn consult(
        &self,
        item: &WorkItem,
        progress: &Progress,
        purse: &Purse<'_>,
    ) -> Result<Option<String>, Failure> {
        let reason = format!(
            "Whoever works on this is stuck after {} attempts. Say in `message` what to do differently, in a few sentences; \
             `plan_action` is null. {}",
            progress.attempts,
            self.what_failed(),
        );
        let occasion = format!("advice after attempt {}", progress.attempts);
        // Advice is a kindness: without it the next attempt is on its own.
        let heard = self.planners_word(item, (&occasion, &reason), Offering::Nothing, Some(purse))?;
        Ok(heard.map(|response| response.message))
    }

    /// What was said and printed at the end, fenced and cut: all of it may be somebody else's.
    pub(super) fn what_failed(&self) -> String {
        let said: String = self.record.said.as_deref().unwrap_or_default().chars().take(SAID_CHARS_MAX).collect();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let red = self.failures();
        let red = red
            .iter()
            .map(|red| format!("- {}: {}\n{}", text(&red["name"]), text(&red["reason"]), text(&red["output"])));
        format!("Last said: {}\nRed:\n{}", injection::verbatim(&said), red.collect::<Vec<_>>().join("\n"))
    }

    /// One question to the planner about work that does not succeed. `None` if it cannot be asked or is of no use. Work that
    /// was cut short and is begun again comes to the same occasion, and is told what was answered then. What it cost counts
    /// towards the work that goes on with it.
    pub(super) fn planners_word(
        &self,
        item: &WorkItem,
        (occasion, reason): (&str, &str),
        offering: Offering,
        work: Option<&Purse<'_>>,
    ) -> Result<Option<AgentResponse>, Failure> {
        let grants = self.grants()?;
        let Some(planner) = self.work.minds.assigned(&grants, Role::Planner) else { return Ok(None) };
        let d = item.definition();
        let directories: Vec<&str> = d.directories.iter().map(|directory| directory.path.as_str()).collect();
        let (has_executor, has_search) = match offering {
            Offering::Nothing => (false, false),
            Offering::Executor { searches } => (true, searches),
        };
        let payload = json!({
            "date": date(self.work.house.clock.now()),
            "directories": directories,
            "history": [],
            "wish": d.briefing(),
            // Nobody is asked from inside work.
            "answered": [],
            "may_ask": false,
            "reason": reason,
            "continuation_of": d.id.as_str(),
            "can_read": false,
            "has_executor": has_executor,
            "has_search": has_search,
        });
        let call = Call { asker: Source::Signed.taint(), role: Role::Planner, model: &planner.model, payload };
        let minds = &self.work.minds;
        let policy = Policy {
            allowed: std::slice::from_ref(&planner.model),
            local_only: self.work.house.options.models.local_only,
            receipts: &grants,
            has_key: &|| minds.has_key(&planner.key),
        };
        let (Ok(projected), Ok(asking)) = (boundary::admit(call, &policy), self.work.minds.asking(&planner)) else {
            return Ok(None);
        };
        let purse = Purse::of_consulting(&self.work.minds, &planner.model, &self.record.view.execution, occasion);
        let mut stop = self.work.running.work().get(&self.record.view.execution).map(RunningWork::stops);
        let answered = tokio::runtime::Handle::current().block_on(async {
            let stopped = async {
                match &mut stop {
                    Some(stop) => drop(stop.wait_for(|stop| *stop != Stop::No).await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stopped => Err(Failure::Stopped),
                answered = tokio::time::timeout(ADVICE_TIME_MAX, Minds::plan(&asking, &projected, &purse)) => Ok(answered),
            }
        });
        if let Some(work) = work {
            work.also_spent(purse.spent());
        }
        fail::point(FailPoint::PlannerAnswered);
        match answered? {
            Ok(Ok(Outcome::Usable(response))) => Ok(Some(response)),
            Ok(Ok(Outcome::Unusable { .. }) | Err(_)) | Err(_) => Ok(None),
        }
    }

    pub(super) fn grants(&self) -> Result<Vec<ModelGrant>, Failure> {
        let engine = self.work.house.engine.clone();
        Ok(self.work.house.store.read(move |tx| Ok(engine.models(tx)?)).wait()?)
    }
}
