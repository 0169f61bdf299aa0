//! Rehearsals under the house rules: spent from a standing decision, one use for each, within the budget that was signed.
//!
//! Architecture invariant (INV-01): the witness of a rehearsal is a type of its own, so nothing that applies can be handed
//! one. The launcher checks all of this again and keeps a count of its own.

use super::{Engine, Refusal};
use crate::Error;
use crate::witness::{Admitted, Approved, Rehearsal};
use silas_core::event::AuditEvent;
use silas_core::evidence::{self, Evidence, When};
use silas_core::execution::ExecutionState;
use silas_core::house_rules::RehearsalBudget;
use silas_core::rehearsal::WAITING_MAX;
use silas_core::work::WorkItem;
use silas_core::{Digest, ExecutionId, Scope};
use silas_store::{ReadTx, Tx, executions, tokens, work_items};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Engine {
    /// Spends one use of the house rules on a rehearsal of this item, if the owner signed rules that allow it and their
    /// budget has room. The refusal says why the owner has to be asked instead.
    pub fn rehearse(&self, tx: &mut Tx<'_>, item: &WorkItem) -> Result<Result<Approved<Rehearsal>, Refusal>, Error> {
        let now = self.now(tx)?;
        if executions::count_waiting(tx)? >= WAITING_MAX {
            return Ok(Err(Refusal::TooManyWait));
        }
        let mut refusal = Refusal::NoToken;
        for stored in self.house_rules(tx)? {
            let id = stored.token.id()?;
            let mut evidence = self.rehearsal_evidence(tx, &stored, item, ExecutionId::derive(&id, 0))?;
            let budget = match self.check_rehearsal(&evidence, item, When::At(now)) {
                Ok(budget) => budget,
                Err(refused) => {
                    refusal = refused.into();
                    continue;
                }
            };
            if executions::count_since(tx, &id, now, DAY)? >= budget.per_day {
                refusal = Refusal::Spent;
                continue;
            }
            let Some(use_number) = tokens::spend(tx, &id)? else {
                refusal = Refusal::Spent;
                continue;
            };
            evidence.execution = ExecutionId::derive(&id, use_number);
            let execution = executions::Execution {
                id: evidence.execution.clone(),
                token: id.clone(),
                work_item: item.id().clone(),
                plan_hash: Digest::of(item.canonical()?.as_bytes()),
                state: ExecutionState::Running,
                use_number,
                started_at: now,
                ended_at: None,
                undo_until: None,
                result: None,
                changeset: None,
            };
            executions::insert(tx, &Scope::Owner, &execution)?;
            let plan_hash = evidence.token.body.offer.plan_hash;
            let execution = evidence.execution.clone();
            tx.record_at(&AuditEvent::TokenSpent { token: id, execution, plan_hash, use_number }, now)?;
            return Ok(Ok(Approved::new(Rehearsal(item.clone()), evidence, now)));
        }
        Ok(Err(refusal))
    }

    /// The plan is not in the decision, so it comes from where it was kept, and must be the one that was begun.
    pub(super) fn readmit_rehearsal(
        &self,
        tx: &ReadTx<'_>,
        known: &executions::Execution,
        stored: tokens::Stored,
    ) -> Result<Result<Admitted, Refusal>, Error> {
        let Some(kept) = work_items::get(tx, &known.work_item)? else { return Ok(Err(Refusal::NoToken)) };
        if Digest::of(kept.item.canonical()?.as_bytes()) != known.plan_hash {
            return Ok(Err(evidence::Refusal::Content.into()));
        }
        let evidence = self.rehearsal_evidence(tx, &stored, &kept.item, known.id.clone())?;
        if let Err(refusal) = self.check_rehearsal(&evidence, &kept.item, When::AlreadyCommitted) {
            return Ok(Err(refusal.into()));
        }
        let approved = Approved::new(Rehearsal(kept.item), evidence, known.started_at);
        Ok(Ok(Admitted::Rehearsal(approved)))
    }

    fn rehearsal_evidence(
        &self,
        tx: &ReadTx<'_>,
        stored: &tokens::Stored,
        item: &WorkItem,
        execution: ExecutionId,
    ) -> Result<Evidence, Error> {
        let places: Vec<&str> = item.definition().directories.iter().map(|place| place.path.as_str()).collect();
        Ok(Evidence {
            token: stored.token.clone(),
            certificate: stored.certificate.clone(),
            payload: stored.payload.clone(),
            execution,
            roots: self.allowances(tx, &places)?,
            plan: Some(item.canonical()?),
        })
    }

    fn check_rehearsal(
        &self,
        evidence: &Evidence,
        item: &WorkItem,
        when: When,
    ) -> Result<RehearsalBudget, evidence::Refusal> {
        let revocations = self.revocations();
        let (_, _, budget) = evidence::verify_rehearsal(evidence, self.anchor(), &revocations, when)?;
        let paths = item.definition().directories.iter().map(|place| place.path.as_str());
        evidence::verify_roots(evidence, paths, self.anchor(), &revocations)?;
        Ok(budget)
    }
}
