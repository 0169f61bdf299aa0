//! "Put back the last change", when its time for undoing is over: a plan like any other, made from what the launcher kept
//! of the old files. No model is asked, and nothing is touched before the plan was approved and its check is green.

use super::route::{Route, cannot_plan};
use crate::Trouble;
use crate::conversation::Conversation;
use crate::questions::Proposal;
use crate::words::changed_name;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::check::{Check, Command, Expectation};
use silas_core::execution::ExecutionState;
use silas_core::message::{CameOf, Message};
use silas_core::work::{Definition, KEPT_INSIDE, RuleBroken, Step, WorkItem};
use silas_core::{ExecutionId, Scope};
use silas_gates::scrub;
use silas_store::executions::Execution;
use silas_store::{Commit, cards, executions, work_items};

/// Far enough back for "the last change" to mean something.
const LOOKED_AT_MAX: u32 = 50;
const TITLE_CHARS_MAX: usize = 60;

impl Conversation {
    pub(super) async fn put_back(&self, message: &Message) -> Result<Route, Trouble> {
        let found = self.house.store.read(move |tx| {
            let recent = executions::recent(tx, &Scope::Owner, LOOKED_AT_MAX)?;
            let Some(last) = recent.into_iter().find(|execution| execution.state == ExecutionState::Applied) else {
                return Ok(None);
            };
            let item = work_items::get(tx, &last.work_item)?;
            Ok(item.map(|stored| (last, stored.item)))
        });
        let Some((last, item)) = found.await? else {
            return Ok(Route::refuse("Nothing of what I did is in place, so there is nothing to put back."));
        };
        if last.undo_until.is_some_and(|until| self.house.clock.now() < until) {
            self.show_again(&last.id).await?;
            let say = "The last change can still be undone with one tap. Its card is in Review.";
            return Ok(Route::say(say).coming_to(CameOf::Asked));
        }
        let item = self.restoring(&last, &item, &message.text).map_err(|broken| cannot_plan(&broken))?;
        let name = changed_name(&item.definition().directories);
        let say = format!(
            "A plan that puts back the last change in {name} is in Review. Nothing runs before you approve it."
        );
        Ok(Route::propose(say, Proposal::Plan(Box::new(item))))
    }

    /// The same for one piece of work, asked for from its card or its proof. Gives the card that asks, which is the one of
    /// the work itself while that can be undone; nothing runs before it is approved.
    pub async fn plan_way_back(&self, execution: &ExecutionId) -> Result<Card, Trouble> {
        let id = execution.clone();
        let found = self.house.store.read(move |tx| {
            let Some(applied) = executions::get(tx, &id)? else { return Ok(None) };
            let asked = cards::list_open(tx, &Scope::Owner)?.into_iter().find(|card| puts_back(card, &id));
            Ok(work_items::get(tx, &applied.work_item)?.map(|stored| (applied, stored, asked)))
        });
        let applied = found.await?.filter(|(applied, ..)| applied.state == ExecutionState::Applied);
        let Some((applied, stored, asked)) = applied else {
            let what = "Nothing of this work is in place, so there is nothing to put back.";
            return Err(Trouble::new("E_SANDBOX_UNDO_CLOSED", what, "Its proof says what became of it."));
        };
        if applied.undo_until.is_some_and(|until| self.house.clock.now() < until) {
            let what = "This is in its time for undoing, and its card was answered already.";
            let todo = "Review and Activity say what came of it.";
            return self.show_again(execution).await?.ok_or_else(|| Trouble::new("E_SANDBOX_UNDO_OPEN", what, todo));
        }
        if let Some(asked) = asked {
            return Ok(asked);
        }
        let wish = format!("Put back what was changed by: {}", stored.item.definition().title);
        let item = self.restoring(&applied, &stored.item, &wish).map_err(|broken| cannot_be_planned(&broken))?;
        let question = self.questions.plan_question(item, &stored.trace)?;
        let asking = self.house.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
        let card = asking.await?;
        self.hub.publish_cards().await;
        self.hub.publish_activity().await;
        Ok(card)
    }

    fn restoring(&self, applied: &Execution, item: &WorkItem, wish: &str) -> Result<WorkItem, RuleBroken> {
        let earlier = item.definition();
        let script = |name: &str| Command::Argv(vec!["sh".to_owned(), format!("{KEPT_INSIDE}/{name}")]);
        let title = scrub::visible_line(&format!("Put back: {}", earlier.title), TITLE_CHARS_MAX);
        let definition = Definition {
            parent: earlier.parent.clone(),
            spawned_by: earlier.spawned_by.clone(),
            follow_up_of: Some(item.id().clone()),
            domain: earlier.domain.clone(),
            interaction_mode: earlier.interaction_mode,
            steps: vec![Step { run: script("restore"), cwd: None }],
            verify: vec![Check {
                name: "everything is as it was before".to_owned(),
                run: script("check"),
                expect: Expectation::ExitCode(0),
                timeout: self.house.options.work_secs,
                network: false,
                // It compares every file, with a script that lies out of the work's reach, and putting back tests is
                // what may be wanted.
                protected: false,
            }],
            directories: earlier.directories.clone(),
            toolchains: earlier.toolchains.clone(),
            restores: Some(applied.id.clone()),
            on_failure: earlier.on_failure.clone(),
            on_stuck: earlier.on_stuck.clone(),
            failure_context: earlier.failure_context.clone(),
            ..self.own_plan(title, wish)
        };
        WorkItem::new(definition)
    }

    /// The card with which the work can be undone, also if it was put away.
    async fn show_again(&self, execution: &ExecutionId) -> Result<Option<Card>, Trouble> {
        let subject = execution.as_str().to_owned();
        let showing = self.house.store.write(move |tx| {
            let about = cards::find_by_subject(tx, &Scope::Owner, &subject)?;
            let mut done = about.into_iter().rfind(may_undo);
            if let Some(card) = done.as_mut().filter(|card| card.state == CardState::Closed) {
                card.state = CardState::Open;
                cards::update(tx, card)?;
            }
            Ok(Commit(done))
        });
        let done = showing.await?;
        self.hub.publish_cards().await;
        Ok(done)
    }
}

/// Whether a card undoes with one tap, and was not used for that.
fn may_undo(card: &Card) -> bool {
    let is_unused = matches!(card.state, CardState::Open | CardState::Closed);
    card.face.kind == CardKind::Done && card.offer.is_some() && is_unused
}

/// Whether a card asks to put back what this execution changed.
fn puts_back(card: &Card, execution: &ExecutionId) -> bool {
    let plan = card.payload.as_deref().filter(|_| card.face.kind == CardKind::Plan);
    let item = plan.and_then(|plan| WorkItem::from_canonical(plan).ok());
    item.is_some_and(|item| item.definition().restores.as_ref() == Some(execution))
}

fn cannot_be_planned(broken: &RuleBroken) -> Trouble {
    Trouble::new("E_WORK_PLAN", &format!("No plan can be made of this: {broken}."), "Nothing was changed.")
}
