//! "Put back the last change", when its time for undoing is over: a plan like any other, made from what the launcher kept
//! of the old files. No model is asked, and nothing is touched before the plan was approved and its check is green.

use super::route::{Route, cannot_plan};
use crate::review::Proposal;
use crate::words::changed_name;
use crate::{Stream, Trouble};
use silas_core::card::{CardKind, CardState};
use silas_core::check::{Check, Command, Expectation};
use silas_core::execution::ExecutionState;
use silas_core::exits::Exits;
use silas_core::message::Message;
use silas_core::work::{Budget, Definition, KEPT_INSIDE, Step, WorkItem};
use silas_core::{ExecutionId, WorkItemId};
use silas_gates::scrub;
use silas_store::{Commit, cards, executions, work_items};

/// Far enough back for "the last change" to mean something.
const LOOKED_AT_MAX: u32 = 50;
const TITLE_CHARS_MAX: usize = 60;

impl Stream {
    pub(super) async fn put_back(&self, message: &Message) -> Result<Route, Trouble> {
        let found = self.store.read(move |tx| {
            let recent = executions::recent(tx, LOOKED_AT_MAX)?;
            let Some(last) = recent.into_iter().find(|execution| execution.state == ExecutionState::Applied) else {
                return Ok(None);
            };
            let item = work_items::get(tx, &last.work_item)?;
            Ok(item.map(|stored| (last, stored.item)))
        });
        let Some((last, item)) = found.await? else {
            return Ok(Route::say("Nothing of what I did is in place, so there is nothing to put back."));
        };
        if last.undo_until.is_some_and(|until| self.clock.now() < until) {
            self.show_again(&last.id).await?;
            return Ok(Route::say("The last change can still be undone with one tap. Its card is in Review."));
        }
        let earlier = item.definition();
        let script = |name: &str| Command::Argv(vec!["sh".to_owned(), format!("{KEPT_INSIDE}/{name}")]);
        let definition = Definition {
            id: WorkItemId::new(self.random.as_ref()),
            title: scrub::visible_line(&format!("Put back: {}", earlier.title), TITLE_CHARS_MAX),
            follow_up_of: Some(item.id().clone()),
            budget: Budget { max_wall_time_seconds: self.options.work_secs, ..Budget::default() },
            body: message.text.clone(),
            steps: vec![Step { run: script("restore"), cwd: None }],
            verify: vec![Check {
                name: "everything is as it was before".to_owned(),
                run: script("check"),
                expect: Expectation::ExitCode(0),
                timeout: self.options.work_secs,
                network: false,
                // It compares every file, with a script that lies out of the work's reach, and putting back tests is
                // what may be wanted.
                protected: false,
            }],
            hosts: Vec::new(),
            secrets: Vec::new(),
            callback_port: None,
            commits: false,
            flows: Vec::new(),
            exits: Exits::default(),
            executor: None,
            restores: Some(last.id.clone()),
            ..earlier.clone()
        };
        let name = changed_name(&definition.directories);
        let item = WorkItem::new(definition).map_err(|broken| cannot_plan(&broken))?;
        let say = format!(
            "A plan that puts back the last change in {name} is in Review. Nothing runs before you approve it."
        );
        Ok(Route::propose(say, Proposal::Plan(Box::new(item))))
    }

    /// The card with the undo, if it was put away.
    async fn show_again(&self, execution: &ExecutionId) -> Result<(), Trouble> {
        let subject = execution.as_str().to_owned();
        let showing = self.store.write(move |tx| {
            let about = cards::find_by_subject(tx, &subject)?;
            let done =
                about.into_iter().rfind(|card| card.face.kind == CardKind::Done && card.state == CardState::Closed);
            if let Some(mut card) = done {
                card.state = CardState::Open;
                cards::update(tx, &card)?;
            }
            Ok(Commit(()))
        });
        showing.await?;
        self.publish_cards().await;
        Ok(())
    }
}
