//! Spending an approval: each kind of decision becomes what it allows, in the transaction that recorded it.
//!
//! Deliberately absent: beginning it; that comes after the commit ([`super::beginning`]).

use super::Granted;
use crate::Stream;
use crate::consumer::post;
use silas_approval::{Admitted, Apply, Recorded, Refusal, Rehearsal};
use silas_core::call_order::CallOrder;
use silas_core::canonical;
use silas_core::changeset::ChangeOrder;
use silas_core::event::AuditEvent;
use silas_core::model::{BudgetGrant, ModelGrant};
use silas_core::passkey::PasskeyGrant;
use silas_core::rehearsal::ApplyOrder;
use silas_core::roots::RootGrant;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_store::{Abort, Tx, model_calls};

impl Stream {
    /// Spends the approval in the transaction that recorded it.
    pub(super) fn grant(
        &self,
        tx: &mut Tx<'_>,
        payload: &str,
        subject: &str,
        recorded: &Recorded,
    ) -> Result<Result<Granted, Refusal>, Abort> {
        let token = &recorded.token;
        let unreadable = || Refusal::Evidence(silas_core::evidence::Refusal::Content);
        match recorded.kind {
            Kind::Root => {
                let Ok(grant) = canonical::read::<RootGrant>(payload) else { return Ok(Err(unreadable())) };
                let place = tx.text(&grant.place.path)?;
                if let Err(refusal) = self.engine.authorize(tx, token, grant)? {
                    return Ok(Err(refusal));
                }
                tx.record(&AuditEvent::RootGranted { token: token.clone(), place })?;
                // The wishes that asked for it are in the queue again; a crash from here on loses none of them.
                let wish = self.call_back(tx, subject, self.clock.now())?;
                Ok(Ok(Granted::Allowed { wish, say: "Allowed. Each plan still asks you." }))
            }
            Kind::Device => {
                let Ok(grant) = canonical::read::<PasskeyGrant>(payload) else { return Ok(Err(unreadable())) };
                let approved = self.engine.authorize(tx, token, grant)?;
                Ok(approved.map(|approved| Granted::Passkey(Box::new(approved))))
            }
            Kind::Model => {
                let Ok(grant) = canonical::read::<ModelGrant>(payload) else { return Ok(Err(unreadable())) };
                let model = grant.model.to_string();
                if let Err(refusal) = self.engine.authorize(tx, token, grant)? {
                    return Ok(Err(refusal));
                }
                tx.record(&AuditEvent::ModelAllowed { token: token.clone(), model })?;
                let wish = self.call_back(tx, subject, self.clock.now())?;
                Ok(Ok(Granted::Allowed { wish, say: "Agreed. Revoke it any time with `silas grant revoke`." }))
            }
            Kind::Budget => {
                let Ok(grant) = canonical::read::<BudgetGrant>(payload) else { return Ok(Err(unreadable())) };
                if let Err(refusal) = self.engine.authorize(tx, token, grant.clone())? {
                    return Ok(Err(refusal));
                }
                model_calls::extend(tx, token, &grant)?;
                let BudgetGrant { period, microusd, .. } = grant;
                tx.record(&AuditEvent::BudgetExtended { token: token.clone(), period, microusd })?;
                let wish = self.call_back(tx, subject, self.clock.now())?;
                Ok(Ok(Granted::Allowed { wish, say: "Added. The cap is as before afterwards." }))
            }
            kind @ (Kind::Plan | Kind::Rehearsal) => {
                let Ok(item) = WorkItem::from_canonical(payload) else { return Ok(Err(unreadable())) };
                let admitted = if kind == Kind::Plan {
                    self.engine.authorize(tx, token, item)?.map(Admitted::Plan)
                } else {
                    self.engine.authorize(tx, token, Rehearsal(item))?.map(Admitted::Rehearsal)
                };
                match admitted {
                    Ok(admitted) => Ok(Ok(Granted::Work(Box::new(self.note_beginning(tx, admitted)?)))),
                    Err(refusal) => Ok(Err(refusal)),
                }
            }
            Kind::Apply => {
                let Ok(order) = canonical::read::<ApplyOrder>(payload) else { return Ok(Err(unreadable())) };
                let Some((plan, mut record)) = self.waiting_work(tx, &order)? else {
                    return Ok(Err(Refusal::Terminal));
                };
                match self.engine.authorize(tx, token, Apply { order, plan })? {
                    Ok(approved) => {
                        record.applied_by = Some(token.clone());
                        let lease = post::execution(tx, approved.execution(), self.clock.now())?;
                        Ok(Ok(Granted::Apply(Box::new(approved), Box::new(record), lease)))
                    }
                    Err(refusal) => Ok(Err(refusal)),
                }
            }
            Kind::Undo => {
                let Ok(order) = canonical::read::<ChangeOrder>(payload) else { return Ok(Err(unreadable())) };
                match self.engine.authorize(tx, token, order)? {
                    Ok(approved) => {
                        let lease = post::execution(tx, approved.execution(), self.clock.now())?;
                        Ok(Ok(Granted::Undo(Box::new(approved), lease)))
                    }
                    Err(refusal) => Ok(Err(refusal)),
                }
            }
            Kind::HouseRules => {
                // Nothing is spent: the decision itself, on record by now, is what counts.
                Ok(Ok(Granted::HouseRules))
            }
            // A command of the terminal is signed and used on the spot; a card asks about a call only.
            Kind::Step => {
                let Ok(order) = canonical::read::<CallOrder>(payload) else { return Ok(Err(unreadable())) };
                Ok(self.engine.authorize(tx, token, order)?.map(|approved| Granted::Call(Box::new(approved))))
            }
        }
    }
}
