//! A plan that leaves the work to a model: attempt, check, and again in the same copy, until the checks turn green or
//! something is used up. (RUNTIME §5.2.1)
//!
//! What the model says about its work is kept as its words and reaches no verdict; the checks of the workshop do that. What
//! they say when they are red goes to the next attempt, after three of them with the planner's advice. Answers are kept
//! until the work ends, so that a restart does not pay for them again.

use super::hands::{self, Copy};
use super::job::{Failure, Job};
use super::moves::{Move, Progress, next_move};
use super::planning_again::Wants;
use super::run::{SoFar, WorkRun, call_limits};
use crate::Trouble;
use crate::assignment::Assigned;
use crate::minds::spending::{self, Purse, Refused};
use crate::running::{RunningWork, Stop};
use crate::view::StepState;
use crate::words::{count, date, in_code};
use crate::work_record::CHECK_AGAIN;
use serde_json::{Value, json};
use silas_agents::tools::{Purpose, chain};
use silas_agents::{Asking, Break, Ended, ExecutorAgentOutput, Minds, Reply, Why};
use silas_core::check::{CheckResult, Outcome};
use silas_core::event::{AuditEvent, Phase};
use silas_core::excerpt;
use silas_core::exits::Declared;
use silas_core::hidden;
use silas_core::mandate::Mandate;
use silas_core::model::Role;
use silas_core::seen::{Seen, Sight};
use silas_core::taint::{Origin, Source};
use silas_core::wanted::By;
use silas_core::work::{BudgetUsed, WorkItem};
use silas_gates::calls::CallCounts;
use silas_gates::{injection, scrub};
use silas_sandbox::Workshop;
use silas_store::{Commit, answers};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Of a red check, as much as the next attempt is told.
const FAILURE_CHARS_MAX: usize = 3_000;
/// Of what a command printed, as much as is kept with the work; the ledger has the rest.
const KEPT_CHARS_MAX: usize = 1_000;

/// How an attempt ended, before the checks have spoken.
enum Attempted {
    Finished(ExecutorAgentOutput),
    /// It ended without a word, and another attempt may do better.
    Failed(String),
    /// Nothing more can be asked.
    Exhausted(Trouble),
}

impl Job {
    /// Attempts, each followed by the checks, until there is a verdict or nothing more can be tried.
    ///
    /// Long: one loop, in which every move and what it writes down stand in the order in which they happen.
    pub(super) fn leave_to_model(
        &mut self,
        shop: &mut Workshop,
        item: &WorkItem,
        mandate: &Mandate,
    ) -> Result<(), Failure> {
        let work = self.work.clone();
        let (assigned, asking) = self.executor_of(mandate)?;
        let (so_far, used) = self.recalled()?;
        let budget = &item.definition().budget;
        let rest = self.rest.clone();
        let purse = Purse::of_work(&work.minds, &assigned.model, budget, used).telling(&*rest);
        let so_far = Mutex::new(so_far);
        let seen = Mutex::new(Seen::default());
        let briefing = Sight { taint: Source::Signed.taint(), is_private: false, source: "the plan".to_owned() };
        note_read(&seen, briefing, &item.definition().briefing());
        // What the plan's own commands fetched lies in the copy and looks like any other file there.
        if !item.definition().hosts.is_empty() && !item.definition().steps.is_empty() {
            let source = "what the plan's commands fetched".to_owned();
            note_read(&seen, Sight { taint: Source::Elsewhere.taint(), is_private: false, source }, "");
        }
        let mut progress = Progress {
            attempts: 0,
            attempts_max: budget.max_attempts,
            model_calls: 0,
            model_calls_max: mandate.max_model_calls,
            is_green: false,
            may_consult: self.may_consult(item, 0)?,
            exhausted: None,
        };
        let (mut guidance, mut planner_calls) = (None, 0);
        let counts = CallCounts::new(call_limits(mandate));
        loop {
            match next_move(&progress) {
                Move::Judge => return Ok(()),
                Move::GiveUp(why) => {
                    self.record.gave_up = Some(why);
                    // Without money or a provider another plan fares no better.
                    self.wants_other = progress.exhausted.is_none().then_some(Wants::Way);
                    return Ok(());
                }
                Move::Consult => {
                    guidance = self.consult(item, &progress, &purse)?;
                    planner_calls += 1;
                    progress.may_consult = false;
                    continue;
                }
                Move::Attempt => {}
            }
            if progress.attempts > 0 {
                shop.again()?;
            }
            progress.attempts += 1;
            let step = self.step_of_work(item);
            rest.shown_at(step);
            self.begin_attempt(step, progress.attempts)?;
            self.note_step_begins(item.definition().steps.len(), &By::Model, item)?;
            let run = WorkRun {
                work: &work,
                execution: self.record.view.execution.clone(),
                mandate,
                directories: &item.definition().directories,
                declared: Declared::of(item.definition()),
                assigned: &assigned,
                purse: &purse,
                deadline: self.record.view.started_at.plus(Duration::from_secs(budget.max_wall_time_seconds)),
                rest: &rest,
                step,
                payload: self.payload(item, &progress, guidance.as_deref()),
                so_far: &so_far,
                counts: &counts,
            };
            for result in self.record.after.iter().filter(|result| !result.passed) {
                let source = format!("what the check {} printed", in_code(&result.shown(), 60));
                note_read(&seen, Sight { taint: Source::Elsewhere.taint(), is_private: true, source }, &result.output);
            }
            let attempted = self.attempt(shop, &run, &asking, &seen);
            self.record.seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (tokens, cost_microusd) = purse.used();
            let attempts = progress.attempts;
            let used = BudgetUsed { tokens, cost_microusd, attempts, planner_calls, ..BudgetUsed::default() };
            self.record.note_use(used);
            let attempted = attempted?;
            self.in_flight = None;
            let outputs = {
                let mut so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner);
                progress.model_calls = so_far.n_model_calls;
                std::mem::take(&mut so_far.outputs)
            };
            self.note_outside(Origin::StepOutput, outputs.iter().map(String::as_str))?;
            let (label, state) = self.take_down(attempted, &mut progress, &assigned);
            self.leave(step, label, state, 0);
            self.record.after = self.check(shop, Phase::After, item)?;
            progress.is_green = Outcome::of(&self.record.before, &self.record.after) != Outcome::Failed;
            progress.may_consult = self.may_consult(item, planner_calls)?;
        }
    }

    /// The model that the plan names, if it may still be asked.
    fn executor_of(&self, mandate: &Mandate) -> Result<(Assigned, Asking), Failure> {
        let none =
            || Trouble::new("E_LLM_NONE", "The plan names no model that is set up.", "`silas model add` adds one.");
        let model = mandate.model.as_ref().ok_or_else(none).map_err(Failure::Trouble)?;
        let grants = self.grants()?;
        let assigned = self.work.minds.assigned_exactly(&grants, Role::Executor, model).ok_or_else(none);
        let assigned = assigned.map_err(Failure::Trouble)?;
        let asking = self.work.minds.asking(&assigned).map_err(|error| Failure::Trouble(spending::failed(&error)))?;
        Ok((assigned, asking))
    }

    /// What was answered before, if this work is begun again, and what it had used up.
    fn recalled(&self) -> Result<(SoFar, (u64, u64)), Failure> {
        let execution = self.record.view.execution.clone();
        let kept = self.work.house.store.read(move |tx| answers::of(tx, &execution)).wait()?;
        let used = kept.iter().fold((0, 0), |(tokens, money), a| (a.tokens.max(tokens), a.microusd.max(money)));
        let mut so_far = SoFar::default();
        so_far.n_answers = u32::try_from(kept.len()).unwrap_or(u32::MAX);
        for answer in kept {
            so_far.recalled.push_back(serde_json::from_value::<Reply>(answer.reply).map_err(silas_store::Error::from)?);
        }
        Ok((so_far, used))
    }

    fn step_of_work(&self, item: &WorkItem) -> usize {
        self.record.step_of_command(item.definition().steps.len())
    }

    fn begin_attempt(&mut self, step: usize, attempt: u32) -> Result<(), Failure> {
        if attempt > 1 {
            self.record.relabel(step, &format!("Work on it, attempt {attempt}"));
            if let Some(step) = self.record.step_of_checks(Phase::After) {
                self.record.relabel(step, CHECK_AGAIN);
            }
        }
        self.enter(step)?;
        let execution = self.record.view.execution.clone();
        let noting = self.work.house.store.write_buffered(move |tx| {
            tx.record(&AuditEvent::AttemptBegun { execution: execution.clone(), attempt })?;
            Ok(Commit(()))
        });
        Ok(noting.wait()?)
    }

    /// The dialogue of one attempt. It ends early when the owner stops the work or its time is over.
    fn attempt(
        &mut self,
        shop: &mut Workshop,
        run: &WorkRun<'_>,
        asking: &Asking,
        seen: &Mutex<Seen>,
    ) -> Result<Attempted, Failure> {
        let copy = Copy::new(shop);
        let calls_left = {
            let so_far = run.so_far.lock().unwrap_or_else(PoisonError::into_inner);
            run.mandate.max_model_calls.saturating_sub(so_far.n_model_calls)
        };
        let ended = {
            let tools = chain(
                hands::all(&copy, run.work, run.directories, run.assigned.model.model()),
                Purpose::Work,
                run.mandate.offered(),
            );
            let mut stop = self.work.running.work().get(&run.execution).map(RunningWork::stops);
            tokio::runtime::Handle::current().block_on(async {
                let stopped = async {
                    match &mut stop {
                        // A sender that is gone stops nothing.
                        Some(stop) => drop(stop.wait_for(|stop| *stop != Stop::No).await),
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    () = stopped => Err(Break::Halted(Failure::Stopped)),
                    ended = Minds::execute(asking, &tools, run, seen, run.purse, calls_left) => ended,
                    () = over(run) => Err(Break::Halted(Failure::Hands(silas_sandbox::Error::TimeUp))),
                }
            })
        };
        for (command, mut result) in copy.ran() {
            self.note_asked(&By::Model, &command, &result.metadata.asked)?;
            let shown = scrub::visible(&result.output());
            self.record.outputs.push(excerpt::of(&shown, KEPT_CHARS_MAX));
            result.for_model = result.for_model.map(|content| content.cut(KEPT_CHARS_MAX));
            self.record.results.push(result);
        }
        match ended {
            Ok(Ended::Answer(output)) => Ok(Attempted::Finished(output)),
            Ok(Ended::GaveUp(why)) => Ok(Attempted::Failed(given_up(&why))),
            Err(Break::Halted(failure)) => Err(failure),
            Err(Break::Failed(error)) => Ok(Attempted::Exhausted(spending::failed(&error))),
            Err(Break::Refused(refused)) => Self::refused(refused).map(Attempted::Exhausted),
        }
    }

    /// Why no further question was asked.
    fn refused(refused: Refused) -> Result<Trouble, Failure> {
        Ok(match refused {
            Refused::Cap(exceeded) => spending::no_more_allowed(&exceeded),
            Refused::Plan(what) => spending::plan_used_up(what),
            Refused::Rate { per_minute } => spending::too_fast(per_minute),
            Refused::Turn => spending::plan_used_up("tokens"),
            Refused::Store(trouble) => return Err(Failure::Trouble(trouble)),
        })
    }

    /// Keeps the model's own words, and says in a line how the attempt went.
    fn take_down(&mut self, attempted: Attempted, progress: &mut Progress, assigned: &Assigned) -> (String, StepState) {
        let n = progress.attempts;
        let calls = count(progress.model_calls as usize, "question");
        match attempted {
            Attempted::Finished(output) => {
                let says = format!("The model says: “{}”", scrub::visible(&output.summary).replace('”', "'"));
                let nexts = output
                    .next_steps
                    .iter()
                    .map(|step| format!("It would go on with: {}", hidden::quotation(&scrub::visible_line(step, 300))));
                self.record.outputs.extend([says].into_iter().chain(nexts));
                self.record.said = Some(scrub::visible(&output.summary));
                (format!("Worked on it with {}, attempt {n}, {calls}", assigned.model.model()), StepState::Done)
            }
            Attempted::Failed(why) => {
                (format!("Attempt {n} ended early: {}", scrub::visible_line(&why, 100)), StepState::Failed)
            }
            Attempted::Exhausted(trouble) => {
                let line = format!("Attempt {n} ended early: {}", scrub::visible_line(&trouble.to_string(), 100));
                progress.exhausted = Some(trouble.to_string());
                (line, StepState::Failed)
            }
        }
    }

    /// What the model is told at the beginning of an attempt.
    fn payload(&self, item: &WorkItem, progress: &Progress, guidance: Option<&str>) -> Value {
        let d = item.definition();
        let checks: Vec<Value> =
            d.verify.iter().map(|check| json!({ "name": check.name, "run": check.run.words() })).collect();
        let directories: Vec<&str> = d.directories.iter().map(|directory| directory.path.as_str()).collect();
        let failures = if progress.attempts > 1 { self.failures() } else { Vec::new() };
        json!({
            "date": date(self.work.house.clock.now()),
            "briefing": d.briefing(),
            "is_research": false,
            "directories": directories,
            "checks": checks,
            "attempt": progress.attempts,
            "attempts_max": progress.attempts_max,
            "failures": failures,
            "guidance": guidance,
        })
    }
}

/// Comes back when the plan's time is over. While the work waits for somebody, that moment moves away.
async fn over(run: &WorkRun<'_>) {
    loop {
        match run.time_left() {
            left if left.is_zero() => return,
            left => tokio::time::sleep(left).await,
        }
    }
}

fn note_read(seen: &Mutex<Seen>, sight: Sight, text: &str) {
    seen.lock().unwrap_or_else(PoisonError::into_inner).add(sight, text);
}

/// A red check as a model hears of it: what it printed is from outside and stays as it is, because it quotes the files.
pub(super) fn failure(result: &CheckResult) -> Value {
    let output = excerpt::of(&result.output, FAILURE_CHARS_MAX);
    json!({
        "name": result.name,
        "reason": scrub::visible_line(&result.reason, 300),
        "output": injection::verbatim(&output),
    })
}

fn given_up(why: &Why) -> String {
    match why {
        Why::Form(problem) => format!("executor_structured_output_invalid: {problem}"),
        Why::Mistakes(last) => format!("too many calls that could not be made; the last: {last}"),
        Why::Calls(n) => format!("it was asked {n} times without an end"),
    }
}
