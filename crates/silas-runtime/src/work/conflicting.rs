//! The end of work that met an edit of the owner's: a card with both versions, and what can be done about them.
//!
//! Bringing both together is a plan of its own whose one step lays exactly what the launcher kept, judged by the checks of the
//! old plan, and its result waits for a decision. Doing it again is the old plan, on the files as they are then.

use super::job::Job;
use crate::Trouble;
use crate::review::kinds::conflict::Ways;
use crate::work_record::WorkRecord;
use silas_approval::{Askable, Rehearsal};
use silas_core::card::{Card, Instead};
use silas_core::changeset::ChangeOrder;
use silas_core::check::Command;
use silas_core::rehearsal::KEPT_FOR;
use silas_core::token::Kind;
use silas_core::wanted::{By, HostFor};
use silas_core::work::{Definition, KEPT_INSIDE, Merging, Step, WorkItem};
use silas_core::{ExecutionId, MessageId, WorkItemId};
use silas_gates::scrub;
use silas_sandbox::{Collision, Workshop};
use silas_store::{ReadTx, executions, tokens, work_items};

const TITLE_CHARS_MAX: usize = 60;
/// Merges of merges; whoever edits that often has it done again.
const MERGES_MAX: usize = 16;

/// The card, and the plan that it would have carried out, with the message behind it all.
pub(super) struct Conflict {
    pub(super) card: Card,
    pub(super) merge: Option<(WorkItem, MessageId)>,
}

/// The plan that is behind a run, whether or not that run only merged.
struct Origin {
    item: WorkItem,
    /// `plan`, or `rehearsal` where the result was to be shown first.
    kind: Kind,
    trace: MessageId,
}

impl Job {
    /// Asks the workshop for both versions while it is still there. Without them there is less to show and nothing to merge.
    pub(super) fn look_at_conflict(
        &mut self,
        shop: &mut Workshop,
        error: silas_sandbox::Error,
    ) -> silas_sandbox::Error {
        if matches!(error, silas_sandbox::Error::Conflict { .. }) {
            match shop.collide() {
                Ok(collision) => self.collision = collision,
                Err(why) => tracing::warn!(code = why.code(), %why, "both versions could not be looked at"),
            }
            // The change can be read and saved, also where nobody has asked for it before this.
            if self.record.diffs.is_empty()
                && let Ok(changes) = shop.changes()
            {
                self.record.diffs = changes.diffs;
            }
        }
        error
    }

    pub(super) fn conflict(&mut self, paths: &[String]) -> Result<Conflict, Trouble> {
        let work = self.work.clone();
        let collision = std::mem::take(&mut self.collision);
        let execution = self.record.view.execution.clone();
        let of = execution.clone();
        let origin = work.house.store.read(move |tx| origin_of(tx, &of)).wait()?;
        let facts = self.record.facts();
        let Some(Origin { item, kind, trace }) = origin else {
            let face = work.house.words.conflict(&facts, &execution, paths, &collision, None);
            let card = work.house.card::<ChangeOrder>(face, "", None, std::time::Duration::ZERO)?;
            return Ok(Conflict { card, merge: None });
        };
        let lasts = lasts(&collision, work.house.clock.now());
        let merge = self.merge_plan(&item, &execution, &collision);
        let ways = Ways { merge: merge.as_ref(), redo: (&item, kind) };
        let face = work.house.words.conflict(&facts, &execution, paths, &collision, Some(ways));
        let shown_first = Rehearsal(item.clone());
        let redo_id = item.id().to_string();
        let Some(merge) = merge else {
            let card = match kind {
                Kind::Plan => work.house.card(face, &redo_id, Some(&item), lasts)?,
                _ => work.house.card(face, &redo_id, Some(&shown_first), lasts)?,
            };
            return Ok(Conflict { card, merge: None });
        };
        let mut card = work.house.card(face, merge.id().as_str(), Some(&Rehearsal(merge.clone())), lasts)?;
        let offer = match kind {
            Kind::Plan => work.house.engine.offer(&redo_id, &item, &card.face, lasts)?,
            _ => work.house.engine.offer(&redo_id, &shown_first, &card.face, lasts)?,
        };
        card.instead = Some(Instead { offer, payload: item.payload()? });
        Ok(Conflict { card, merge: Some((merge, trace)) })
    }

    fn merge_plan(&self, item: &WorkItem, execution: &ExecutionId, collision: &Collision) -> Option<WorkItem> {
        let changeset = collision.merged.as_ref()?.changeset;
        let d = item.definition();
        // What only the old commands reached is not reached again.
        let hosts_for: Vec<HostFor> =
            d.hosts_for.iter().filter(|one| matches!(one.by, By::Check(_))).cloned().collect();
        let needs_network = !hosts_for.is_empty() || d.verify.iter().any(|check| check.network);
        let lay = Command::Argv(vec!["sh".to_owned(), format!("{KEPT_INSIDE}/lay")]);
        let definition = Definition {
            id: WorkItemId::new(self.work.house.random.as_ref()),
            title: scrub::visible_line(&format!("Merge: {}", d.title), TITLE_CHARS_MAX),
            parent: None,
            spawned_by: None,
            follow_up_of: Some(d.id.clone()),
            steps: vec![Step { run: lay, cwd: None }],
            executor: None,
            budget: d.budget.clone().without_models(),
            hosts: if needs_network { d.hosts.clone() } else { Vec::new() },
            hosts_for,
            secrets: Vec::new(),
            callback_port: None,
            commits: false,
            restores: None,
            merges: Some(Merging { execution: execution.clone(), changeset }),
            ..d.clone()
        };
        // A plan that the rules refuse is not offered; doing it again is.
        WorkItem::new(definition).ok()
    }

    /// What was laid over the owner's edit, or met another, is kept no longer than it is of use.
    pub(super) fn drop_laid(&self) {
        let Some(laid) = &self.record.lays else { return };
        if let Err(error) = self.work.house.launcher.drop_merge(laid) {
            tracing::warn!(code = error.code(), %error, "both versions of a merge are left for later");
        }
    }
}

impl WorkRecord {
    /// A merge lays down what an earlier run made: what that had read counts for it, too.
    pub(crate) fn laying(mut self, tx: &ReadTx<'_>, item: &WorkItem) -> Result<Self, silas_store::Error> {
        let Some(Merging { execution, .. }) = &item.definition().merges else { return Ok(self) };
        let earlier = executions::get(tx, execution)?.and_then(|run| run.result);
        if let Some(earlier) = earlier.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok()) {
            self.met = earlier.seen;
            self.seen = self.met.clone();
        }
        self.lays = Some(execution.clone());
        Ok(self)
    }
}

fn origin_of(tx: &ReadTx<'_>, execution: &ExecutionId) -> Result<Option<Origin>, silas_store::Error> {
    let mut execution = execution.clone();
    for _ in 0..MERGES_MAX {
        let Some(run) = executions::get(tx, &execution)? else { return Ok(None) };
        let Some(stored) = work_items::get(tx, &run.work_item)? else { return Ok(None) };
        if let Some(merging) = &stored.item.definition().merges {
            execution = merging.execution.clone();
            continue;
        }
        let Some(token) = tokens::get(tx, &run.token)? else { return Ok(None) };
        let kind = match token.token.body.offer.kind {
            Kind::Plan => Kind::Plan,
            _ => Kind::Rehearsal,
        };
        return Ok(Some(Origin { item: stored.item, kind, trace: stored.trace }));
    }
    Ok(None)
}

/// As long as both versions are kept; a question about nothing but the plan waits as long.
fn lasts(collision: &Collision, now: silas_core::Timestamp) -> std::time::Duration {
    collision.merged.as_ref().map_or(KEPT_FOR, |merged| merged.until.since(now)).min(KEPT_FOR)
}
