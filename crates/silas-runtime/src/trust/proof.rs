//! The proof of a piece of work: what the page shows of it, and the file that shows the same on any machine. Both are made
//! of one reading of the ledger.
//!
//! Work of which the ledger does not tell enough (an earlier version's, or something was forgotten) is told from what was
//! kept with it; then there is no file, and the view says why.

mod story;

pub use story::Story;

use crate::Trouble;
use crate::trust::Trust;
use crate::view::{PatchView, ProofView};
use crate::words::Reader;
use crate::words::chooser::Chooser;
use crate::work_record::WorkRecord;
use silas_core::bundle::{self, Bundle, Proven, Refusal};
use silas_core::changeset::FileDiff;
use silas_core::check::Outcome;
use silas_core::checkpoint::Head;
use silas_core::evidence::Anchor;
use silas_core::execution::ExecutionState;
use silas_core::export::Entry;
use silas_core::token::Kind;
use silas_core::unified::unified;
use silas_core::{ExecutionId, canonical, evidence};
use silas_gates::scrub;
use silas_store::executions::Execution;
use silas_store::work_items::Stored;
use silas_store::{executions, segment, tokens, work_items};
use story::{Allowed, Facts, UNSAID};

/// Everything that is kept of one execution.
struct Known {
    execution: Execution,
    record: WorkRecord,
    decision: tokens::Stored,
    /// The decision that had its result put in place, if it waited for one.
    applied_by: Option<tokens::Stored>,
    item: Stored,
    /// The ledger's part about it, if it is whole.
    entries: Option<Vec<Entry>>,
}

impl Trust {
    pub async fn proof(&self, execution: &ExecutionId) -> Result<ProofView, Trouble> {
        let known = self.known(execution).await?;
        let proven = known.account(self.house.engine.anchor());
        Ok(known.view(proven))
    }

    /// The proof as a file that `silas verify` checks anywhere.
    pub async fn bundle(&self, execution: &ExecutionId) -> Result<String, Trouble> {
        let known = self.known(execution).await?;
        let anchor = self.house.engine.anchor();
        let server = self.options.server_certificate.clone().ok_or_else(uncertified)?;
        known.account(anchor).map_err(|none| none.into_trouble())?;
        let plan = known.plan()?;
        let entries = known.entries.unwrap_or_default();
        let last = entries.last().ok_or_else(unknown)?;
        let head = Head { seq: last.link.seq, hash: last.link.hash };
        let bundle = Bundle {
            format: bundle::FORMAT.to_owned(),
            v: bundle::VERSION,
            installation: anchor.installation.clone(),
            root: anchor.root,
            server,
            execution: execution.clone(),
            plan,
            checkpoint: self.checkpoint_of(head).await?,
            entries,
        };
        let text = bundle.to_text()?;
        // What would be refused elsewhere is not given out.
        bundle::verify(&text, Some(&anchor.root)).map_err(|refusal| NoProof::Refused(refusal).into_trouble())?;
        Ok(text)
    }

    async fn known(&self, execution: &ExecutionId) -> Result<Known, Trouble> {
        let id = execution.clone();
        let looking = self.house.store.read(move |tx| {
            let Some(mut execution) = executions::get(tx, &id)? else { return Ok(None) };
            let decision = tokens::get(tx, &execution.token)?;
            let item = work_items::get(tx, &execution.work_item)?;
            let record = execution.result.take().and_then(|kept| serde_json::from_value::<WorkRecord>(kept).ok());
            let (Some(decision), Some(item), Some(mut record)) = (decision, item, record) else { return Ok(None) };
            (record.first_entry, record.last_entry) = record.entries(tx)?;
            let applied_by = record.applied_by.as_ref().map(|token| tokens::get(tx, token)).transpose()?.flatten();
            let entries = match execution.state {
                ExecutionState::Running | ExecutionState::Rehearsed | ExecutionState::Ended => None,
                ExecutionState::Applied | ExecutionState::Undone => {
                    let wanted = segment::Wanted {
                        token: &execution.token,
                        is_standing: decision.token.body.offer.kind == Kind::HouseRules,
                        applied_by: record.applied_by.as_ref(),
                        execution: &execution.id,
                        started: record.first_entry,
                        is_undone: execution.state == ExecutionState::Undone,
                    };
                    segment::segment(tx, &wanted)?
                }
            };
            Ok(Some(Known { execution, record, decision, applied_by, item, entries }))
        });
        looking.await?.ok_or_else(unknown)
    }
}

/// What `silas work diff` prints and the page saves.
fn patch(diffs: &[FileDiff], files: u32) -> PatchView {
    // A file that moved is two of those that were put in place: one is gone, one is new.
    let n_named = diffs.iter().map(FileDiff::n_paths).sum::<usize>();
    let n_hidden = files.saturating_sub(u32::try_from(n_named).unwrap_or(u32::MAX));
    let whole = unified(diffs);
    PatchView { text: whole.text, left_out: whole.left_out, n_hidden }
}

impl Known {
    /// The plan, where it is not the decision's own text.
    fn plan(&self) -> Result<Option<String>, canonical::Error> {
        let is_standing = self.decision.token.body.offer.kind == Kind::HouseRules;
        is_standing.then(|| self.item.item.canonical()).transpose()
    }

    /// What the ledger proves of it.
    fn account(&self, anchor: &Anchor) -> Result<Proven, NoProof> {
        if !matches!(self.execution.state, ExecutionState::Applied | ExecutionState::Undone) {
            return Err(NoProof::NotApplied);
        }
        if self.decision.payload.is_empty() {
            return Err(NoProof::Forgotten);
        }
        let entries = self.entries.as_ref().ok_or(NoProof::NotWhole)?;
        let plan = self.plan().map_err(|_| NoProof::Forgotten)?;
        let found = bundle::account(entries, plan.as_deref(), &self.execution.id, &anchor.root, &anchor.installation);
        found.map_err(|refusal| match refusal {
            Refusal::TextMissing(seq) => {
                let entry = entries.iter().find(|entry| entry.link.seq == seq);
                // An entry that names no text never had one.
                let was_kept = entry
                    .is_some_and(|entry| entry.link.event != "work_applied" || entry.link.body.contains("\"landed\":"));
                if was_kept { NoProof::Forgotten } else { NoProof::NotKept }
            }
            Refusal::Decision(evidence::Refusal::Content) => NoProof::Forgotten,
            other => NoProof::Refused(other),
        })
    }

    fn view(self, proven: Result<Proven, NoProof>) -> ProofView {
        let ran = self.record.printed();
        let device = scrub::visible_line(&self.decision.certificate.body.name, 60);
        let applied_on = self.applied_by.as_ref().map(|stored| scrub::visible_line(&stored.certificate.body.name, 60));
        let (told, before, after, diffs, outcome, no_bundle) = match proven {
            Ok(proven) => {
                let told = Story::told(&Facts::of(&proven, &device, applied_on.as_deref(), Reader::Owner));
                let Proven { before, after, landed, outcome, .. } = proven;
                (told, before, after, landed.diffs, outcome, None)
            }
            Err(why) => {
                let told = Story::told(&self.facts(&device, applied_on.as_deref()));
                let outcome = self.record.view.outcome.unwrap_or(Outcome::Failed);
                (told, self.record.before, self.record.after, self.record.diffs, outcome, Some(why.to_string()))
            }
        };
        ProofView {
            execution: self.execution.id,
            title: self.record.view.title,
            state: self.execution.state,
            outcome,
            caveats: told.caveats(),
            claim: told.claim,
            steps: told.steps,
            ran,
            before,
            after,
            patch: patch(&diffs, self.record.files),
            diffs,
            no_bundle,
        }
    }

    /// What was kept with the work, where the ledger does not tell enough.
    fn facts<'a>(&'a self, device: &'a str, applied_on: Option<&'a str>) -> Facts<'a> {
        let (record, definition) = (&self.record, self.item.item.definition());
        let is_applied = record.view.has_proof;
        Facts {
            reader: Reader::Owner,
            asked: record.asked().unwrap_or(UNSAID),
            allowed: Allowed::by(self.decision.token.body.offer.kind),
            device,
            applied_on,
            chooser: Chooser::of(definition),
            outcome: record.view.outcome.unwrap_or(Outcome::Failed),
            before: &record.before,
            failed: record.failed(),
            after: &record.after,
            diffs: &record.diffs,
            files: if is_applied { record.files as usize } else { record.diffs.len() },
            flags: &record.flags,
            unseen: &record.unseen,
            reach: &record.reach,
            used_ms: self.item.state.budget_used.wall_time_micros / 1000,
            limit_secs: definition.budget.max_wall_time_seconds,
            has_network: !definition.hosts.is_empty(),
            is_applied,
            n_resumed: 0,
            undone_at: (self.execution.state == ExecutionState::Undone).then_some(self.item.updated_at),
            first_entry: record.first_entry,
            last_entry: record.last_entry,
        }
    }
}

/// Why there is no file of a proof.
#[derive(Debug, thiserror::Error)]
enum NoProof {
    #[error("Nothing was put in place, so there is nothing to prove.")]
    NotApplied,
    #[error("Something that a file of it needs was forgotten.")]
    Forgotten,
    #[error("It changed too many files for one, or was done by an earlier version of Silas.")]
    NotKept,
    #[error("The log does not tell of it from beginning to end.")]
    NotWhole,
    #[error("It does not verify: {0}.")]
    Refused(Refusal),
}

impl NoProof {
    fn into_trouble(self) -> Trouble {
        let (code, todo) = match self {
            NoProof::NotApplied => ("E_PROOF_NOT_APPLIED", "`silas work show` tells what happened."),
            NoProof::Forgotten | NoProof::NotKept | NoProof::NotWhole => {
                ("E_PROOF_GONE", "`silas work show` tells what is left.")
            }
            NoProof::Refused(_) => ("E_PROOF_REFUSED", "Check the ledger with `silas audit verify`."),
        };
        Trouble::new(code, &format!("There is no file of this proof. {self}"), todo)
    }
}

fn uncertified() -> Trouble {
    let todo = "Stop Silas, give `silas key passphrase` the passphrase once more, and start it again.";
    Trouble::new("E_PROOF_UNCERTIFIED", "The root key has not vouched for the key that signs the log.", todo)
}

fn unknown() -> Trouble {
    Trouble::new("E_WORK_UNKNOWN", "There is no such work.", "Reload the page.")
}
