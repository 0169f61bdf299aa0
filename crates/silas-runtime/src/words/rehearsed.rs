//! The card of a result that waits: what was found, what would change, and three answers.

use super::{ResultFacts, Words, approve, ask_for_a_change, caveats, claim, count, decline, duration, fact};
use silas_core::canonical;
use silas_core::card::{CardKind, Detail, EvidenceBlock, FACT_CHARS_MAX, Face, Press, Risk};
use silas_core::changeset::FileDiff;
use silas_core::check::Outcome;
use silas_core::hidden;
use silas_core::number::grouped;
use silas_core::rehearsal::{ApplyOrder, Findings, KEPT_FOR};

impl Words {
    /// It was carried out in a private copy; may that be applied?
    pub fn rehearsed(&self, result: &ResultFacts<'_>, files: u32, undo_secs: u64) -> Face {
        let n = files as usize;
        let name = result.name();
        let intent = format!("Apply {} to {name}", count(n, "changed file"));
        let mut face = result.face(CardKind::Rehearsed, "Rehearsed, not applied", intent);
        let unproven = if result.outcome == Outcome::Proved { "" } else { ", unproven" };
        // Without any check the block says so; a promise never looks like a proof.
        face.evidence = Some(EvidenceBlock {
            outcome: result.outcome,
            claim: claim(result.outcome, result.before, result.after),
            caveats: caveats(result.outcome, result.before, result.after),
            before: result.before.to_vec(),
            after: result.after.to_vec(),
        });
        let unseen = unseen(result.diffs, n);
        let is_calm = result.outcome == Outcome::Proved && result.undeclared.is_empty() && unseen.is_none();
        face.risk = Some(if is_calm { Risk::Low } else { Risk::Medium });
        face.facts = vec![
            fact(CHANGES, &changes(result.diffs, n)),
            fact("Undo", &format!("One tap, for {}", duration(undo_secs))),
        ];
        super::exits::add_undeclared(&mut face, result.undeclared);
        face.details.splice(0..0, unseen.clone());
        let kept = duration(KEPT_FOR.as_secs());
        face.details.push(Detail {
            title: "Until you decide".to_owned(),
            lines: vec![format!("The copy is kept for {kept}, then discarded. Your files are as they were.")],
        });
        face.ctas = vec![
            approve(
                &format!("Apply {}{unproven}", count(n, "file")),
                &consequence(n, &name, unproven, unseen.as_ref()),
            ),
            ask_for_a_change(),
            decline("Discard the copy"),
        ];
        face
    }
}

fn consequence(n: usize, name: &str, unproven: &str, unseen: Option<&Detail>) -> String {
    let changes = format!("Changes {} in {name}{unproven}.", count(n, "file"));
    if unseen.is_none() { changes } else { format!("{changes} Part of it is not on this card.") }
}

/// "parse.py, report.py +5 −2", as far as that fits; all of it is in the details.
fn changes(diffs: &[FileDiff], files: usize) -> String {
    let n_listed = n_listed(diffs);
    if n_listed < files {
        return format!("{} files, {} listed", grouped(files), grouped(n_listed));
    }
    if unseen(diffs, files).is_some() {
        return format!("{}, not all shown", count(files, "file"));
    }
    let added: u32 = diffs.iter().map(|diff| diff.added).sum();
    let removed: u32 = diffs.iter().map(|diff| diff.removed).sum();
    let lines = format!("+{} −{}", grouped(added), grouped(removed));
    let last = |diff: &FileDiff| {
        let path = hidden::name(&diff.path.to_string());
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let names = diffs.iter().map(last).collect::<Vec<_>>().join(", ");
    let named = format!("{names} {lines}");
    let fits = diffs.len() == files && named.chars().count() <= FACT_CHARS_MAX;
    if fits { named } else { format!("{}, listed below", count(files, "file")) }
}

fn n_listed(diffs: &[FileDiff]) -> usize {
    diffs.iter().map(FileDiff::n_paths).sum()
}

/// What would be applied and cannot be read on this card. Whoever signs it knows that at least.
fn unseen(diffs: &[FileDiff], files: usize) -> Option<Detail> {
    let mut lines = Vec::new();
    if n_listed(diffs) < files {
        lines.push(format!("{} that are not listed", count(files - n_listed(diffs), "changed file")));
    }
    let is_unseen = |diff: &&FileDiff| diff.is_unread() || diff.n_not_shown() > 0;
    let line = |diff: &FileDiff| {
        let path = hidden::name(&diff.path.to_string());
        match diff.n_not_shown() {
            0 => format!("{path}: not text, or too large to show"),
            n => format!("{path}: {}", count(n as usize, "changed line")),
        }
    };
    let n_files = diffs.iter().filter(is_unseen).count();
    lines.extend(diffs.iter().filter(is_unseen).take(UNSEEN_MAX).map(line));
    if n_files > UNSEEN_MAX {
        lines.push(format!("and {} more, each marked below", grouped(n_files - UNSEEN_MAX)));
    }
    (!lines.is_empty()).then(|| Detail { title: "Not on this card".to_owned(), lines })
}

/// Whoever cannot read this many files of a change does not read the list either; each of them is marked.
const UNSEEN_MAX: usize = 50;

/// How many files the card says it is about.
fn n_files(face: &Face) -> Option<usize> {
    // One that an earlier version worded has no separators.
    face.intent.strip_prefix("Apply ")?.split(' ').next()?.replace(',', "").parse().ok()
}

/// The same findings with what is claimed about them now. An earlier version had cards that did not list all files, and did
/// not say so.
pub(super) fn in_words_of_today(face: &Face) -> Face {
    let mut face = face.clone();
    if let Some(evidence) = &mut face.evidence {
        evidence.claim = claim(evidence.outcome, &evidence.before, &evidence.after);
        evidence.caveats = caveats(evidence.outcome, &evidence.before, &evidence.after);
    }
    let Some(n) = n_files(&face) else { return face };
    let said = changes(&face.diffs, n);
    face.facts.iter_mut().filter(|fact| fact.label == CHANGES).for_each(|fact| fact.text.clone_from(&said));
    if let Some(unseen) = unseen(&face.diffs, n).filter(|unseen| !face.details.contains(unseen)) {
        face.risk = face.risk.max(Some(Risk::Medium));
        for cta in face.ctas.iter_mut().filter(|cta| cta.press == Press::Approve) {
            cta.consequence.push_str(" Part of it is not on this card.");
        }
        face.details.insert(0, unseen);
    }
    face
}

/// Whether what stands on the card is what the order names, as far as the card alone can tell: the rest is compared with
/// the launcher's own finding. A card that does not show everything says so.
pub(super) fn shows_what_it_asks(face: &Face, payload: &str) -> bool {
    let Ok(order) = canonical::read::<ApplyOrder>(payload) else { return false };
    let (Some(evidence), Some(n)) = (&face.evidence, n_files(face)) else { return false };
    let findings = Findings { before: &evidence.before, after: &evidence.after, diffs: &face.diffs }.hash();
    let outcome = Outcome::of(&evidence.before, &evidence.after);
    let unseen = unseen(&face.diffs, n);
    let is_said = unseen.as_ref().is_none_or(|unseen| face.details.contains(unseen));
    findings.is_ok_and(|findings| findings == order.findings)
        && evidence.outcome == outcome
        && evidence.claim == claim(outcome, &evidence.before, &evidence.after)
        && is_said
        && face.facts.contains(&fact(CHANGES, &changes(&face.diffs, n)))
        && (face.risk == Some(Risk::Medium)
            || (face.risk == Some(Risk::Low) && outcome == Outcome::Proved && unseen.is_none()))
}

const CHANGES: &str = "Changes";

#[cfg(test)]
mod tests;
