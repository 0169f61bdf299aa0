//! What was done: every effect must name an approval that was spent for it, and come in its order.

use super::account::{Spent, Stage};
use super::{Books, Reason};
use crate::canonical;
use crate::instruction::Instruction;
use crate::task::{OperationId, TaskCall, TaskId};
use crate::token::Kind;
use crate::{Digest, ExecutionId, KeyId, MessageId, TokenId, WorkItemId};

impl Books {
    /// The spending that lets the work be done which an effect names.
    pub(super) fn plan(&mut self, execution: &ExecutionId) -> Result<&mut Spent, Reason> {
        let spent = self.executions.get_mut(execution).ok_or(Reason::NotSpent)?;
        if spent.may_work { Ok(spent) } else { Err(Reason::OtherKind) }
    }

    pub(super) fn start(&mut self, work_item: &WorkItemId, execution: &ExecutionId) -> Result<(), Reason> {
        let spent = self.plan(execution)?;
        if spent.subject.as_deref().is_some_and(|subject| subject != work_item.as_str()) {
            return Err(Reason::OtherWork);
        }
        if spent.stage != Stage::Spent {
            return Err(Reason::Twice);
        }
        spent.stage = Stage::Started;
        Ok(())
    }

    pub(super) fn end(&mut self, execution: &ExecutionId, stage: Stage) -> Result<(), Reason> {
        let spent = self.plan(execution)?;
        let may_end = spent.stage == Stage::Started || spent.stage == Stage::Rehearsed && stage == Stage::Ended;
        if !may_end {
            return Err(Reason::Twice);
        }
        spent.stage = stage;
        Ok(())
    }

    /// A plan may be applied when its work ends. What waits in a copy needs a decision about exactly its changes, and a
    /// rehearsal is never applied without one.
    pub(super) fn apply(&mut self, execution: &ExecutionId, changeset: &Digest) -> Result<(), Reason> {
        let (ordered, n_forgotten) = (self.applies.get(execution).copied(), self.n_applies_forgotten);
        let spent = self.plan(execution)?;
        match (spent.stage, ordered) {
            (Stage::Started, _) if spent.kind == Kind::Plan => {}
            (Stage::Started, _) => return Err(Reason::OtherKind),
            (Stage::Rehearsed, Some(ordered)) if ordered == *changeset => {}
            (Stage::Rehearsed, Some(_)) => return Err(Reason::OtherChange),
            (Stage::Rehearsed, None) if n_forgotten > 0 => {}
            (Stage::Rehearsed, None) => return Err(Reason::NotSpent),
            (Stage::Spent | Stage::Applied | Stage::Ended | Stage::Undone, _) => return Err(Reason::Twice),
        }
        spent.stage = Stage::Applied;
        Ok(())
    }

    pub(super) fn undo(&mut self, execution: &ExecutionId, changeset: &Digest, token: &TokenId) -> Result<(), Reason> {
        let account = self.accounts.get(token).filter(|account| account.n_spent > 0).ok_or(Reason::NotSpent)?;
        if account.kind != Kind::Undo {
            return Err(Reason::OtherKind);
        }
        let order = account.terms.order.as_ref();
        if order.is_some_and(|order| order.execution != *execution || order.changeset != *changeset) {
            return Err(Reason::OtherChange);
        }
        let spent = self.plan(execution)?;
        if spent.stage != Stage::Applied {
            return Err(Reason::Twice);
        }
        spent.stage = Stage::Undone;
        Ok(())
    }

    pub(super) fn instruct(
        &mut self,
        message: &MessageId,
        operation: &OperationId,
        key: &KeyId,
        call: &Digest,
        kept: Option<&Instruction>,
    ) -> Result<(), Reason> {
        let is_named = |kept: &Instruction| {
            kept.message == *message
                && kept.operation().is_ok_and(|of_it| of_it == *operation)
                && kept.signed.signature.key == *key
                && canonical::digest(&kept.call).is_ok_and(|digest| digest == *call)
        };
        if let Some(kept) = kept
            && !(is_named(kept) && kept.verifies(&self.anchor)?)
        {
            return Err(Reason::Instruction);
        }
        let asked = kept.map(|kept| match &kept.call {
            TaskCall::AddTask { task, .. } => ("add_task", task.clone()),
            TaskCall::CompleteTask { task, .. } => ("complete_task", task.clone()),
            TaskCall::ReopenTask { task, .. } => ("reopen_task", task.clone()),
        });
        match self.operations.insert(*operation, asked) {
            None => Ok(()),
            Some(_) => Err(Reason::Twice),
        }
    }

    pub(super) fn task(&mut self, operation: &OperationId, tool: &str, task: &TaskId) -> Result<(), Reason> {
        match self.operations.get(operation).ok_or(Reason::NotInstructed)? {
            Some((asked, about)) if *asked != tool || about != task => Err(Reason::NotInstructed),
            _ => Ok(()),
        }
    }
}
