//! The card of a result that waits: what was found, what would change, and three answers.

use super::{ResultFacts, Words, approve, ask_for_a_change, caveats, claim, count, decline, duration, fact};
use silas_core::canonical;
use silas_core::card::{CardKind, Detail, EvidenceBlock, FACT_CHARS_MAX, Face, Risk};
use silas_core::changeset::FileDiff;
use silas_core::check::Outcome;
use silas_core::rehearsal::{ApplyOrder, Findings, KEPT_FOR};
use silas_gates::scrub;

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
        let is_calm = result.outcome == Outcome::Proved && result.undeclared.is_empty();
        face.risk = Some(if is_calm { Risk::Low } else { Risk::Medium });
        face.facts = vec![
            fact("Changes", &changes(result.diffs, n)),
            fact("Undo", &format!("One tap, for {}", duration(undo_secs))),
        ];
        super::exits::add_undeclared(&mut face, result.undeclared);
        let kept = duration(KEPT_FOR.as_secs());
        face.details.push(Detail {
            title: "Until you decide".to_owned(),
            lines: vec![format!("The copy is kept for {kept}, then discarded. Your files are as they were.")],
        });
        face.ctas = vec![
            approve(
                &format!("Apply {}{unproven}", count(n, "file")),
                &format!("Changes {} in {name}{unproven}.", count(n, "file")),
            ),
            ask_for_a_change(),
            decline("Discard the copy"),
        ];
        face
    }
}

/// "parse.py, report.py +5 −2", as far as that fits; all of it is in the details.
fn changes(diffs: &[FileDiff], files: usize) -> String {
    let added: u32 = diffs.iter().map(|diff| diff.added).sum();
    let removed: u32 = diffs.iter().map(|diff| diff.removed).sum();
    let lines = format!("+{added} −{removed}");
    let last = |diff: &FileDiff| {
        let path = scrub::visible(&diff.path.to_string());
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let names = diffs.iter().map(last).collect::<Vec<_>>().join(", ");
    let named = format!("{names} {lines}");
    let fits = diffs.len() == files && named.chars().count() <= FACT_CHARS_MAX;
    if fits { named } else { format!("{}, listed below", count(files, "file")) }
}

/// Whether what stands on the card is what the order names, as far as the card alone can tell: the rest is compared with
/// the launcher's own finding.
/// The same findings with what is claimed about them now.
pub(super) fn in_words_of_today(face: &Face) -> Face {
    let mut face = face.clone();
    if let Some(evidence) = &mut face.evidence {
        evidence.claim = claim(evidence.outcome, &evidence.before, &evidence.after);
        evidence.caveats = caveats(evidence.outcome, &evidence.before, &evidence.after);
    }
    face
}

pub(super) fn shows_what_it_asks(face: &Face, payload: &str) -> bool {
    let Ok(order) = canonical::read::<ApplyOrder>(payload) else { return false };
    let Some(evidence) = &face.evidence else { return false };
    let findings = Findings { before: &evidence.before, after: &evidence.after, diffs: &face.diffs }.hash();
    let outcome = Outcome::of(&evidence.before, &evidence.after);
    findings.is_ok_and(|findings| findings == order.findings)
        && evidence.outcome == outcome
        && evidence.claim == claim(outcome, &evidence.before, &evidence.after)
        && (face.risk == Some(Risk::Medium) || (face.risk == Some(Risk::Low) && outcome == Outcome::Proved))
}

#[cfg(test)]
mod tests;
