//! Conflict cards that were answered, dropped, or that nobody answered in time: what is kept for a merge goes with them.

use crate::work::Work;
use silas_approval::Rehearsal;
use silas_core::ExecutionId;
use silas_core::card::{Card, CardKind, Press};
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use std::sync::Arc;

impl Work {
    /// Throws away what is kept for this card.
    pub(crate) async fn drop_versions(self: &Arc<Self>, card: &Card) {
        let Some(execution) = kept_for(card) else { return };
        let launcher = self.house.launcher.clone();
        let dropping = tokio::task::spawn_blocking(move || launcher.drop_merge(&execution)).await;
        if let Ok(Err(error)) = dropping {
            // They go with their time at the latest.
            tracing::warn!(code = error.code(), %error, "both versions of a merge are left for later");
        }
    }

    /// A card that nobody answered in time: both versions are no longer kept, and what can be asked again is whether to do
    /// it afresh. `None` for a card without anything kept, and for one that cannot be read: that stays, and is refused.
    pub(crate) fn without_merge(&self, card: &Card) -> Option<Card> {
        kept_for(card)?;
        let instead = card.instead.as_ref()?;
        let item = WorkItem::from_canonical(&instead.payload).ok()?;
        let face = self.house.words.conflict_without_merge(&card.face, (&item, instead.offer.kind));
        let (about, lasts) = (item.id().to_string(), self.house.options.plan_timeout);
        let offer = match instead.offer.kind {
            Kind::Plan => self.house.engine.offer(&about, &item, &face, lasts),
            _ => self.house.engine.offer(&about, &Rehearsal(item), &face, lasts),
        };
        let (offer, payload) = (Some(offer.ok()?), Some(instead.payload.clone()));
        Some(Card { face, offer, payload, instead: None, ..card.clone() })
    }
}

/// The run whose change is kept beside the owner's, for this card.
fn kept_for(card: &Card) -> Option<ExecutionId> {
    if card.face.kind != CardKind::Conflict {
        return None;
    }
    let (_, payload) = card.asked_by(Press::Approve)?;
    let item = WorkItem::from_canonical(payload).ok()?;
    item.definition().merges.as_ref().map(|merging| merging.execution.clone())
}
