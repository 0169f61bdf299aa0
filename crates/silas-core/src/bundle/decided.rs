//! Which decisions a proof stands on: the one that allowed the work, the one that put its result in place, the one that
//! took it back. Whether they were spent as they may be is for the books.

use super::Refusal;
use super::verify::Read;
use crate::books::{Beside, Decision};
use crate::device::Certificate;
use crate::event::AuditEvent;
use crate::evidence::{self, Anchor, Evidence, When};
use crate::rehearsal::ApplyOrder;
use crate::revocation::Revocations;
use crate::token::Kind;
use crate::work::WorkItem;
use crate::{ExecutionId, Timestamp, TokenId};
use std::collections::BTreeSet;

/// A decision about the plan begins the proof when it is recorded. House rules were signed long before; with them it
/// begins when they are used for this work, and they lie beside that.
pub(super) fn first_decision<'a>(
    read: &[Read<'a>],
    execution: &ExecutionId,
) -> Result<(Timestamp, TokenId, &'a Decision), Refusal> {
    let Some(first) = read.first() else { return Err(Refusal::NoDecision) };
    let Some(Beside::Decision(decision)) = first.beside else { return Err(Refusal::NoDecision) };
    let is_standing = decision.token.body.offer.kind == Kind::HouseRules;
    match &first.event {
        Some(AuditEvent::DecisionRecorded { token, .. }) if !is_standing => {
            Ok((first.at, token.clone(), decision.as_ref()))
        }
        Some(AuditEvent::TokenSpent { token, execution: of, .. }) if is_standing && of == execution => {
            let is_the_one = decision.token.id().is_ok_and(|id| id == *token) && decision.card.is_none();
            if is_the_one { Ok((first.at, token.clone(), decision.as_ref())) } else { Err(Refusal::NoDecision) }
        }
        _ => Err(Refusal::NoDecision),
    }
}

/// The plan that the decision lets be carried out, and its canonical text. It was taken at its time; what was revoked
/// later does not make that untrue.
pub(super) fn allowed_plan(
    decision: &Decision,
    plan: Option<&str>,
    execution: &ExecutionId,
    anchor: &Anchor,
    at: Timestamp,
) -> Result<(String, WorkItem), Refusal> {
    let none = Revocations::default();
    let kind = decision.token.body.offer.kind;
    let evidence = evidence_of(decision, execution.clone(), plan);
    if kind == Kind::HouseRules {
        let allowed = evidence::verify_rehearsal(&evidence, anchor, &none, When::At(at));
        let (_, item, _) = allowed.map_err(Refusal::Decision)?;
        return Ok((plan.unwrap_or_default().to_owned(), item));
    }
    if plan.is_some() {
        return Err(Refusal::Plan("there are two".to_owned()));
    }
    let asked = if kind == Kind::Rehearsal { Kind::Rehearsal } else { Kind::Plan };
    evidence::verify(&evidence, asked, anchor, &none, When::At(at)).map_err(Refusal::Decision)?;
    let item = WorkItem::from_canonical(&decision.payload).map_err(Refusal::Plan)?;
    Ok((decision.payload.clone(), item))
}

fn evidence_of(decision: &Decision, execution: ExecutionId, plan: Option<&str>) -> Evidence {
    Evidence {
        token: decision.token.clone(),
        certificate: decision.certificate.clone(),
        payload: decision.payload.clone(),
        execution,
        roots: Vec::new(),
        plan: plan.map(str::to_owned),
    }
}

/// The decision to put in place what waited.
pub(super) struct Order<'a> {
    pub(super) token: TokenId,
    pub(super) certificate: &'a Certificate,
    pub(super) what: ApplyOrder,
}

impl<'a> Order<'a> {
    /// The last one about this work that the proof brings along, checked against the plan that was carried out. There may
    /// have been others before it, which came to nothing.
    pub(super) fn find(
        read: &[Read<'a>],
        execution: &ExecutionId,
        plan: &str,
        anchor: &Anchor,
    ) -> Result<Option<Self>, Refusal> {
        let brought = read.iter().rev().find_map(|entry| match (&entry.event, entry.beside) {
            (Some(AuditEvent::DecisionRecorded { token, kind: Kind::Apply, .. }), Some(Beside::Decision(decision))) => {
                Some((entry.at, token.clone(), decision.as_ref()))
            }
            _ => None,
        });
        let Some((at, token, decision)) = brought else { return Ok(None) };
        let evidence = evidence_of(decision, ExecutionId::derive(&token, 0), Some(plan));
        let checked = evidence::verify_apply(&evidence, anchor, &Revocations::default(), When::At(at));
        let (_, what, _) = checked.map_err(Refusal::Decision)?;
        if what.execution != *execution {
            return Err(Refusal::Decision(evidence::Refusal::Execution));
        }
        Ok(Some(Order { token, certificate: &decision.certificate, what }))
    }
}

/// The decision that allowed the work, and the one that took it back if one did.
pub(super) fn tokens_of(read: &[Read<'_>], token: &TokenId, execution: &ExecutionId) -> BTreeSet<TokenId> {
    let undone = read.iter().filter_map(|entry| match &entry.event {
        Some(AuditEvent::WorkUndone { execution: of, token, .. }) if of == execution => Some(token.clone()),
        _ => None,
    });
    undone.chain([token.clone()]).collect()
}
