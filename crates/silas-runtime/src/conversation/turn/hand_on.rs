//! A wish goes from one hand to the next: from the proxy to the planner, and what it planned back. What was done is
//! acknowledged and what is to be done enters the queue in one transaction, so after a crash exactly one of them is there.

use super::Turn;
use crate::Trouble;
use crate::conversation::Conversation;
use crate::post::{HOLDER, LEASE, TURN, Wish};
use silas_core::MessageId;
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_store::Commit;
use silas_store::queue::{self, Entered};
use std::sync::Arc;

impl Conversation {
    /// The same wish in the next hands; nothing if somebody else has taken this one up meanwhile.
    pub(super) async fn hand_on(
        self: &Arc<Self>,
        turn: &Turn,
        wish: Wish,
        noted: Vec<AuditEvent>,
    ) -> Result<Option<Turn>, Trouble> {
        let (lease, until) = (turn.hold.lease().clone(), self.house.clock.now().plus(LEASE));
        let next = wish.entering(MessageId::new(self.house.random.as_ref()), &turn.scope, &turn.trace)?;
        let handing = self.house.store.write(move |tx| {
            if !queue::ack(tx, &lease, TURN)? {
                return Ok(Commit(None));
            }
            for event in &noted {
                tx.record(event)?;
            }
            Ok(Commit(Some(queue::enqueue_leased(tx, &next, HOLDER, until)?)))
        });
        let entered = handing.await?;
        fail::point(if wish.planned.is_some() { FailPoint::PlanKept } else { FailPoint::PlanRequested });
        self.hub.publish_activity().await;
        Ok(match entered {
            Some(Entered::Held(lease)) => {
                let hold = self.running.holds.take(lease);
                // A stop that comes between two hands is heard by the second.
                let interrupted = turn.interrupted.clone();
                Some(Turn { interrupted, ..self.turn(turn.scope.clone(), wish, turn.trace.clone(), hold) })
            }
            Some(Entered::Behind | Entered::Known) | None => None,
        })
    }
}
