//! "Go on without it": what was refused stays refused, and a model tries again, told so.
//!
//! The plan is the one before, with a sentence more. It is tried out again where the house rules allow that, like any
//! wish; otherwise it asks.

use crate::work::{Beginning, Work};
use silas_approval::Refusal;
use silas_core::WorkItemId;
use silas_core::card::Card;
use silas_core::work::{Definition, WorkItem};
use silas_store::{Abort, Tx, work_items};

/// What follows.
pub(crate) enum Without {
    Begun(Box<Beginning>),
    /// The plan asks for itself, in Review.
    Asked,
}

impl Work {
    /// Part of the transaction that has recorded the answer.
    pub(crate) fn go_on_without(&self, tx: &mut Tx<'_>, card: &Card) -> Result<Result<Without, Refusal>, Abort> {
        let unreadable = || Refusal::Evidence(silas_core::evidence::Refusal::Content);
        let Ok(offered) = WorkItem::from_canonical(card.payload.as_deref().unwrap_or_default()) else {
            return Ok(Err(unreadable()));
        };
        let Some(before) = offered.definition().follow_up_of.as_ref() else { return Ok(Err(unreadable())) };
        let Some(before) = work_items::get(tx, before)? else { return Ok(Err(unreadable())) };
        let id = WorkItemId::new(self.house.random.as_ref());
        let Ok(item) = WorkItem::new(told(before.item.definition(), offered.definition(), id)) else {
            return Ok(Err(unreadable()));
        };
        if self.would_rehearse(&item)
            && let Some(beginning) = self.begin_rehearsal(tx, &item, &before.trace)?
        {
            return Ok(Ok(Without::Begun(Box::new(beginning))));
        }
        let Ok(question) = self.questions.plan_question(item, &before.trace) else { return Ok(Err(unreadable())) };
        question.ask(tx)?;
        Ok(Ok(Without::Asked))
    }
}

/// The plan before, with what came of it.
fn told(before: &Definition, offered: &Definition, id: WorkItemId) -> Definition {
    let mut names: Vec<&str> = offered.hosts_for.iter().map(|only| only.host.host()).collect();
    names.dedup();
    // Names that commands asked for are nobody's words, least of all the owner's.
    let failed = format!("Commands asked for {}, which may not be reached. Do it without.", names.join(", "));
    Definition { id, follow_up_of: Some(before.id.clone()), failure_context: Some(failed), ..before.clone() }
}
