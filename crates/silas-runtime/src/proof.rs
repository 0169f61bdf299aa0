//! The proof of a finished piece of work: what happened, in order, each line backed by the ledger.

use crate::view::{ProofStep, ProofView};
use crate::words::{caveats, claim, count, duration, took, turned};
use crate::work::WorkRecord;
use crate::{Stream, Trouble};
use silas_core::ExecutionId;
use silas_core::check::{CheckResult, Outcome};
use silas_core::token::Kind;
use silas_store::work_items::Stored;
use silas_store::{executions, tokens, work_items};

impl Stream {
    pub async fn proof(&self, execution: &ExecutionId) -> Result<ProofView, Trouble> {
        let id = execution.clone();
        let found = self.store.read(move |tx| {
            let Some(execution) = executions::get(tx, &id)? else { return Ok(None) };
            let decision = tokens::get(tx, &execution.token)?;
            let record = execution.result.clone().and_then(|r| serde_json::from_value::<WorkRecord>(r).ok());
            let by = record.and_then(|record| record.applied_by);
            let applied = by.map(|token| tokens::get(tx, &token)).transpose()?.flatten();
            let item = work_items::get(tx, &execution.work_item)?;
            Ok(execution.result.zip(decision).zip(item).map(|found| (found, applied)))
        });
        let none = || Trouble::new("E_WORK_UNKNOWN", "There is no such work.", "Reload the page.");
        let (((result, decision), item), applied) = found.await?.ok_or_else(none)?;
        let record: WorkRecord = serde_json::from_value(result).map_err(|_| none())?;
        let outcome = record.view.outcome.unwrap_or(Outcome::Failed);
        let signed_on = |stored: &tokens::Stored| {
            format!("Signed on {}", silas_gates::scrub::visible_line(&stored.certificate.body.name, 60))
        };
        let allowed = match decision.token.body.offer.kind {
            Kind::HouseRules => "Your house rules allowed to try it out",
            Kind::Rehearsal => "You had this plan tried out first",
            _ => "You approved exactly this plan",
        };
        let allowed = ProofStep { title: allowed.to_owned(), note: signed_on(&decision) };
        let title = "You approved exactly these changes".to_owned();
        let decided = applied.map(|stored| ProofStep { title, note: signed_on(&stored) });
        Ok(ProofView {
            execution: execution.clone(),
            title: record.view.title.clone(),
            outcome,
            claim: claim(outcome, &record.before, &record.after),
            caveats: caveats(outcome, &record.before, &record.after),
            steps: steps(&record, allowed, decided, &item),
            before: record.before,
            after: record.after,
            diffs: record.diffs,
        })
    }
}

fn steps(record: &WorkRecord, allowed: ProofStep, decided: Option<ProofStep>, item: &Stored) -> Vec<ProofStep> {
    let step = |title: &str, note: String| ProofStep { title: title.to_owned(), note };
    let added: u32 = record.diffs.iter().map(|diff| diff.added).sum();
    let removed: u32 = record.diffs.iter().map(|diff| diff.removed).sum();
    let mut steps = vec![
        step("You asked", record.asked.clone()),
        allowed,
        step("Checks ran on the untouched copy", red_and_green(&record.before)),
        step(
            &format!("Silas changed {}", count(record.diffs.len(), "file")),
            format!("+{added} −{removed} lines, in the private copy only"),
        ),
        step("The same checks ran again", format!("{}{}", turned(&record.before, &record.after), guarded(record))),
    ];
    if !record.flags.is_empty() {
        steps.push(step("Look at this twice", record.flags.join("; ")));
    }
    let used = took(item.state.budget_used.wall_time_micros / 1000);
    let limit = duration(item.item.definition().budget.max_wall_time_seconds);
    steps.push(step(
        "It kept to its limits",
        format!("{used} of {limit}{}", if item.item.definition().hosts.is_empty() { ", no network" } else { "" }),
    ));
    steps.extend(reached(record));
    steps.extend(decided);
    if record.view.has_proof {
        steps.push(step(
            &format!("{} applied, all or none", count(record.diffs.len(), "file")),
            "What landed is what was checked".to_owned(),
        ));
    }
    steps.push(step("Written to the log", format!("Entries {} to {}", record.first_entry, record.last_entry)));
    steps
}

/// What the commands reached beyond their directory, if they reached for anything.
fn reached(record: &WorkRecord) -> Vec<ProofStep> {
    let times = |(name, n): (&String, &u32)| if *n == 1 { name.clone() } else { format!("{name} {n} times") };
    let list =
        |counted: &std::collections::BTreeMap<String, u32>| counted.iter().map(times).collect::<Vec<_>>().join(", ");
    let reach = &record.reach;
    let mut steps = Vec::new();
    if !reach.hosts.is_empty() {
        steps.push(ProofStep { title: "It reached".to_owned(), note: list(&reach.hosts) });
    }
    if reach.refused > 0 {
        let note = count(reach.refused as usize, "connection");
        steps.push(ProofStep { title: "It could not reach".to_owned(), note: format!("{note}, listed in Activity") });
    }
    if !reach.secrets.is_empty() {
        steps.push(ProofStep { title: "It used the secrets".to_owned(), note: list(&reach.secrets) });
    }
    steps
}

/// Out of whose reach the checks were, and what ran in them.
fn guarded(record: &WorkRecord) -> String {
    if record.after.is_empty() {
        return String::new();
    }
    let tests: Vec<String> = record
        .after
        .iter()
        .filter_map(|r| r.tests.as_ref())
        .map(|t| format!("{}: {}", t.runner.name(), t.words()))
        .collect();
    let counted = if tests.is_empty() { String::new() } else { format!(". {}", tests.join("; ")) };
    let seen = match record.unseen.len() {
        0 => String::new(),
        n => format!(" {} that the work changed too: {}.", count(n, "file"), record.unseen.join(", ")),
    };
    match record.after.iter().any(|result| !result.protected) {
        true => format!("{counted}. The commands could change their own checks."),
        false => format!("{counted}. They saw what judges as you approved it.{seen}"),
    }
}

fn red_and_green(results: &[CheckResult]) -> String {
    let red = results.iter().filter(|result| !result.passed).count();
    match (red, results.len() - red) {
        (0, green) => format!("{green} green"),
        (red, 0) => format!("{red} red"),
        (red, green) => format!("{red} red, {green} green"),
    }
}
