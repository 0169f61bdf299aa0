//! The card of a result that waits: what was found, what would change, and three answers.

use super::{Answered, Asked, Late, Rules, unreadable};
use crate::post;
use crate::review::{Granted, Review};
use crate::words::{
    ResultFacts, Words, approve, ask_for_a_change, basis, caveats, claim, count, decline, duration, fact,
};
use crate::work::Discarded;
use silas_approval::{Apply, Recorded, Refusal};
use silas_core::canonical;
use silas_core::card::{Card, CardState};
use silas_core::card::{CardKind, Detail, EvidenceBlock, FACT_CHARS_MAX, Face, Press, Risk};
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Outcome};
use silas_core::hidden;
use silas_core::number::grouped;
use silas_core::rehearsal::{ApplyOrder, Findings, KEPT_FOR};
use silas_core::risk;
use silas_core::token::Verdict;
use silas_store::{ReadTx, Tx};

pub(super) struct Rehearsed;

impl Rules for Rehearsed {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        Some(in_words_of_today(&card.face))
    }

    fn shows_what_it_asks(&self, _: &Words, card: &Card) -> bool {
        shows_what_it_asks(&card.face, card.payload.as_deref().unwrap_or_default())
    }

    fn lacks(
        &self,
        review: &Review,
        tx: &ReadTx<'_>,
        asked: &Asked<'_>,
    ) -> Result<Option<Refusal>, silas_approval::Error> {
        let Ok(order) = canonical::read::<ApplyOrder>(asked.payload) else { return Ok(None) };
        let Some((plan, _)) = review.work.waiting_work(tx, &order)? else { return Ok(None) };
        review.house.engine.lacks_root(tx, &plan)
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        let Ok(order) = canonical::read::<ApplyOrder>(asked.payload) else { return unreadable() };
        let Some((plan, mut record)) = review.work.waiting_work(tx, &order)? else { return Ok(Err(Refusal::Terminal)) };
        match review.house.engine.authorize(tx, &by.token, Apply { order, plan })? {
            Ok(approved) => {
                record.applied_by = Some(by.token.clone());
                let lease = post::execution(tx, approved.execution(), review.house.clock.now())?;
                Ok(Ok(Granted::Apply(Box::new(approved), Box::new(record), lease)))
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn decline(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, verdict: Verdict) -> Answered {
        let dropped = review.work.drop_result(tx, asked.subject, "You discarded it.")?;
        let is_change = verdict == Verdict::EditRequested;
        Ok(Ok(Granted::Discarded(Discarded { dropped, is_change })))
    }

    fn late(&self, review: &Review, tx: &mut Tx<'_>, card: Card, subject: &str) -> Result<Late, silas_store::Error> {
        let dropped = review.work.drop_result(tx, subject, "Nobody decided about it in time.")?;
        Ok(Late { dropped, ..Late::closed(card) })
    }

    /// What waits does so under decisions of that time; the start throws it away.
    fn after_restore(&self) -> CardState {
        CardState::Closed
    }
}

impl Words {
    /// It was carried out in a private copy; may that be applied?
    pub fn rehearsed(&self, result: &ResultFacts<'_>, files: u32, undo_secs: u64) -> Face {
        let n = files as usize;
        let name = result.name();
        let intent = format!("Apply {} to {name}", count(n, "changed file"));
        let mut face = result.face(CardKind::Rehearsed, "Rehearsed, not applied", intent);
        let unproven = match result.outcome {
            Outcome::Proved => "",
            Outcome::GreenByExitCode => ", by exit code",
            Outcome::Guarded => ", stayed green",
            Outcome::Failed | Outcome::Unproven => ", unproven",
        };
        // Without any check the block says so; a promise never looks like a proof.
        face.evidence = Some(EvidenceBlock {
            outcome: result.outcome,
            claim: claim(result.outcome, result.before, result.after),
            caveats: caveats(result.outcome, result.before, result.after),
            before: result.before.to_vec(),
            after: result.after.to_vec(),
        });
        let unseen = unseen(result.diffs, n);
        let opened = opened(result.diffs);
        let is_calm = is_sound(result.outcome, result.after) && result.undeclared.is_empty() && unseen.is_none();
        face.risk = Some(match (&opened, is_calm) {
            (Some(_), _) => Risk::High,
            (None, true) => Risk::Low,
            (None, false) => Risk::Medium,
        });
        face.facts = vec![fact(CHANGES, &changes(result.diffs, n))];
        face.facts.extend(result.whose_checks());
        face.facts.push(fact("Undo", &format!("One tap, for {}", duration(undo_secs))));
        crate::words::exits::add_undeclared(&mut face, result.undeclared);
        face.details.splice(0..0, opened.into_iter().chain(unseen.clone()));
        face.details.extend(basis::to_be_declared(result.after));
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

/// Files that are open to others afterwards and were not before. Of what is not listed the card says that it is not.
fn opened(diffs: &[FileDiff]) -> Option<Detail> {
    let is_opened = |diff: &&FileDiff| risk::opens(diff.mode_before, diff.mode_after);
    let lines: Vec<String> = diffs.iter().filter(is_opened).map(|diff| hidden::name(&diff.path.to_string())).collect();
    let title = "Anybody on this machine could write to these".to_owned();
    (!lines.is_empty()).then_some(Detail { title, lines })
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
pub(crate) fn in_words_of_today(face: &Face) -> Face {
    let mut face = face.clone();
    if let Some(evidence) = &mut face.evidence {
        evidence.claim = claim(evidence.outcome, &evidence.before, &evidence.after);
        evidence.caveats = caveats(evidence.outcome, &evidence.before, &evidence.after);
    }
    let Some(n) = n_files(&face) else { return face };
    let said = changes(&face.diffs, n);
    face.facts.iter_mut().filter(|fact| fact.label == CHANGES).for_each(|fact| fact.text.clone_from(&said));
    if let Some(opened) = opened(&face.diffs).filter(|opened| !face.details.contains(opened)) {
        face.risk = face.risk.max(Some(Risk::High));
        face.details.insert(0, opened);
    }
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
pub(crate) fn shows_what_it_asks(face: &Face, payload: &str) -> bool {
    let Ok(order) = canonical::read::<ApplyOrder>(payload) else { return false };
    let (Some(evidence), Some(n)) = (&face.evidence, n_files(face)) else { return false };
    let findings = Findings { before: &evidence.before, after: &evidence.after, diffs: &face.diffs }.hash();
    let outcome = Outcome::of(&evidence.before, &evidence.after);
    let unseen = unseen(&face.diffs, n);
    let is_said = unseen.as_ref().is_none_or(|unseen| face.details.contains(unseen));
    findings.is_ok_and(|findings| findings == order.findings)
        && evidence.outcome == outcome
        && evidence.claim == claim(outcome, &evidence.before, &evidence.after)
        && evidence.caveats == caveats(outcome, &evidence.before, &evidence.after)
        && is_said
        && face.facts.contains(&fact(CHANGES, &changes(&face.diffs, n)))
        && match opened(&face.diffs) {
            Some(opened) => face.risk == Some(Risk::High) && face.details.contains(&opened),
            None => {
                face.risk == Some(Risk::Medium)
                    || (face.risk == Some(Risk::Low) && is_sound(outcome, &evidence.after) && unseen.is_none())
            }
        }
}

/// Whether the checks say by judges out of the work's reach that it was mended, or that nothing broke: then one tap is enough.
fn is_sound(outcome: Outcome, after: &[CheckResult]) -> bool {
    match outcome {
        Outcome::Proved => true,
        Outcome::Guarded => after.iter().all(|result| result.protected) && !basis::has_changed_judges(after),
        Outcome::GreenByExitCode | Outcome::Failed | Outcome::Unproven => false,
    }
}

const CHANGES: &str = "Changes";

#[cfg(test)]
mod tests;
