//! The card of a conflict: the owner edited what the work changed too. Nothing was applied, the owner's version stands, and
//! both can be looked at. Three answers at most: bring both together, do it again on the owner's version, or drop it.
//!
//! Whatever is pressed, nothing is applied by it but through the checks of the plan.

use super::{Answered, Asked, Declined, Late, Rules, plan};
use crate::review::Review;
use crate::words::{ResultFacts, Words, approve, count, decline, duration, outside, turned, were_changed};
use silas_approval::{Recorded, Refusal};
use silas_core::ExecutionId;
use silas_core::card::CardState;
use silas_core::card::{
    Card, CardKind, Compared, Cta, Detail, Face, Press, Risk, VERSION_LINES_MAX, Version, Versions,
};
use silas_core::changeset::DiffLine;
use silas_core::hidden;
use silas_core::rehearsal::KEPT_FOR;
use silas_core::risk;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_gates::scrub;
use silas_sandbox::{Case, Collided, Collision};
use silas_store::{ReadTx, Tx};

pub(super) struct Conflict;

impl Rules for Conflict {
    /// What a card offers instead is not in the ledger, so nobody could say whether it is what was asked.
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        in_words_of_today(card).filter(|_| card.instead.is_none())
    }

    fn shows_what_it_asks(&self, _: &Words, card: &Card) -> bool {
        shows_what_it_asks(card)
    }

    fn lacks(
        &self,
        review: &Review,
        tx: &ReadTx<'_>,
        asked: &Asked<'_>,
    ) -> Result<Option<Refusal>, silas_approval::Error> {
        plan::lacks(review, tx, asked)
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        plan::admit(review, tx, asked, by)
    }

    fn declined(&self) -> Declined {
        let say = "Dropped. Your version stays as it is.";
        Declined { told: Some(say), answer: say }
    }

    /// One that was answered is about to be merged or done again.
    fn may_be_put_away(&self, state: CardState) -> bool {
        matches!(state, CardState::Open | CardState::Parked)
    }

    /// What was kept for the card goes with its time; the question that is left does not need it.
    fn late(&self, review: &Review, _: &mut Tx<'_>, card: Card, _subject: &str) -> Result<Late, silas_store::Error> {
        let card = review.work.without_merge(&card).unwrap_or(card);
        Ok(Late { card: Card { state: CardState::Parked, ..card }, dropped: None, posted: None })
    }
}

/// Of a line on the card itself; the details have all of it.
const LINE_CHARS_MAX: usize = 80;
/// Of a path in the sentence.
const PATH_CHARS_MAX: usize = 32;
/// Of both versions of one file, and files of which both are shown.
const COMPARED_LINES_MAX: usize = 200;
const COMPARED_FILES_MAX: usize = 5;

const MERGE: &str = "Merge both, check again";
const REDO: &str = "Redo on my version";
const DROP: &str = "Drop Silas's change";
const LAYS: &str = "Lays both together in a private copy and runs the checks. Nothing is applied yet.";
const IF_YOU_MERGE: &str = "If you merge";

/// What can be done about a conflict, and under which kind of approval.
#[derive(Clone, Copy)]
pub(crate) struct Ways<'a> {
    /// The plan that brings both together, where they go together.
    pub(crate) merge: Option<&'a WorkItem>,
    /// The plan that was carried out, and whether it applies what is green or shows it first.
    pub(crate) redo: (&'a WorkItem, Kind),
}

impl Words {
    /// Somebody changed something meanwhile, the owner or other work of Silas's; nothing was applied and that version stands. `None` for the ways where
    /// the plan is no longer known.
    pub(crate) fn conflict(
        &self,
        result: &ResultFacts<'_>,
        execution: &ExecutionId,
        paths: &[String],
        collision: &Collision,
        ways: Option<Ways<'_>>,
    ) -> Face {
        let n = collision.n_files as usize;
        let intent = match n {
            0 => format!("{} meanwhile", were_changed(paths.len(), "")),
            1 => "The same file was changed meanwhile".to_owned(),
            n => format!("{n} of the same files were changed meanwhile"),
        };
        let mut face = result.face(CardKind::Conflict, "Nothing applied", intent);
        (face.evidence, face.facts) = (None, Vec::new());
        face.versions = Some(versions(execution, collision));
        face.details_title = match n {
            0 => face.details_title,
            1 => "Compare the whole file".to_owned(),
            _ => "Compare the whole files".to_owned(),
        };
        let (mut details, mut again) = (Vec::new(), Vec::new());
        if n != 1 || face.versions.as_ref().is_none_or(|versions| versions.compare.is_empty()) {
            let lines = paths.iter().map(|path| hidden::name(path)).collect();
            details.push(Detail { title: "Changed while Silas worked".to_owned(), lines });
        }
        let n_compared = face.versions.as_ref().map_or(0, |versions| versions.compare.len());
        if n > n_compared && n_compared > 0 {
            let lines = vec![format!(
                "Both versions of {}",
                count(n - n_compared, "more file").replace("more files", "files more")
            )];
            details.push(Detail { title: "Not on this card".to_owned(), lines });
        }
        if !result.after.is_empty() {
            let title = "What the checks said of Silas's version".to_owned();
            details.push(Detail { title, lines: vec![turned(result.before, result.after)] });
        }
        if let Some(ways) = ways {
            if ways.merge.is_some() {
                let kept = duration(KEPT_FOR.as_secs());
                let lines = vec![
                    "Both are laid together in a fresh private copy of your files as they are then, and every check runs before and after.".to_owned(),
                    format!("The result waits for you. Both versions are kept for {kept}."),
                ];
                details.push(Detail { title: IF_YOU_MERGE.to_owned(), lines });
            }
            face.risk = Some(risk_of(ways));
            face.ctas = ctas(ways, &result.name());
            // Doing it again is signed about the whole plan, so the whole plan is here.
            again.extend(self.plan(ways.redo.0).details);
        } else {
            face.ctas = vec![Cta { press: Press::Dismiss, label: DROP.to_owned(), consequence: String::new() }];
        }
        details.append(&mut face.details);
        for detail in again {
            let title = format!("If you redo it: {}", detail.title);
            details.push(Detail { title, ..detail });
        }
        face.details = details;
        face
    }

    /// The same card once both versions are no longer kept: what is left is to do it again, or to drop it.
    pub(crate) fn conflict_without_merge(&self, face: &Face, redo: (&WorkItem, Kind)) -> Face {
        let mut face = face.clone();
        let ways = Ways { merge: None, redo };
        face.risk = Some(risk_of(ways));
        face.ctas = ctas(ways, &crate::words::changed_name(&redo.0.definition().directories));
        face.details.retain(|detail| detail.title != IF_YOU_MERGE);
        face
    }
}

/// Whether the buttons of a conflict are about what the card asks for. What it shows of two versions decides nothing: what
/// comes of it is shown, checked and asked about again, or is a plan whose checks decide.
pub(crate) fn shows_what_it_asks(card: &Card) -> bool {
    if card.asked_by(Press::Approve).is_none() {
        return card.instead.is_none();
    }
    in_words_of_today(card).is_some_and(|today| today == card.face)
}

/// The same card with its buttons as they are worded now; nothing where they are not about what it asks for.
pub(crate) fn in_words_of_today(card: &Card) -> Option<Face> {
    let (offer, payload) = card.asked_by(Press::Approve)?;
    let first = WorkItem::from_canonical(payload).ok()?;
    let other = card.instead.as_ref().map(|instead| (WorkItem::from_canonical(&instead.payload), instead.offer.kind));
    let ways = match (&first.definition().merges, &other) {
        (None, None) => Ways { merge: None, redo: (&first, offer.kind) },
        (Some(_), Some((Ok(redo), kind))) if offer.kind == Kind::Rehearsal => {
            Ways { merge: Some(&first), redo: (redo, *kind) }
        }
        _ => return None,
    };
    let (redo, kind) = ways.redo;
    let name = crate::words::changed_name(&redo.definition().directories);
    let is_what_it_asks = matches!(kind, Kind::Plan | Kind::Rehearsal)
        && redo.definition().merges.is_none()
        && card.face.risk == Some(risk_of(ways));
    is_what_it_asks.then(|| Face { ctas: ctas(ways, &name), ..card.face.clone() })
}

fn risk_of(ways: Ways<'_>) -> Risk {
    let redo = risk::of_plan(ways.redo.0.definition());
    ways.merge.map_or(redo, |merge| redo.max(risk::of_plan(merge.definition())))
}

fn ctas(ways: Ways<'_>, name: &str) -> Vec<Cta> {
    let (item, kind) = ways.redo;
    let sends = outside::first_said(item.definition(), "What it sends, it sends again.");
    let then = match kind {
        Kind::Plan => super::plan::what_lands(item.definition(), name),
        _ => "Nothing is applied before you have seen it.".to_owned(),
    };
    let redo = approve(REDO, &format!("{sends}Runs the plan again on your version. {then}"));
    match ways.merge {
        Some(merge) => vec![
            approve(MERGE, &format!("{}{LAYS}", outside::first_said(merge.definition(), outside::STAYS_SENT))),
            Cta { press: Press::Redo, ..redo },
            decline(DROP),
        ],
        None => vec![redo, decline(DROP)],
    }
}

fn versions(execution: &ExecutionId, collision: &Collision) -> Versions {
    let is_apart = |file: &&Collided| matches!(file.case, Case::Apart | Case::Alike);
    // What stands in the way comes first.
    let told = collision.files.iter().find(|file| !is_apart(file)).or(collision.files.first());
    let Some(file) = told else {
        let says = "What you saved did not hold still long enough to be checked together with the work. Yours is in \
                    place and safe."
            .to_owned();
        return Versions { says, execution: execution.clone(), shown: Vec::new(), compare: Vec::new() };
    };
    let shown = if file.line == 0 {
        Vec::new()
    } else {
        vec![
            version("You", file.at, &file.yours, file.n_lines, &file.kept.yours),
            version("Silas, in the copy", None, &file.silas, file.n_silas, &file.kept.silas),
        ]
    };
    let compare = collision.files.iter().filter(|file| !file.compare.is_empty()).take(COMPARED_FILES_MAX);
    let compare = compare.map(compared).collect();
    Versions { says: sentence(file), execution: execution.clone(), shown, compare }
}

fn sentence(file: &Collided) -> String {
    let path = format!("`{}`", shortened(&file.path));
    let safe = "Yours is in place and safe.";
    match file.case {
        Case::Apart => format!("Your lines and Silas's in {path} do not touch. {safe}"),
        Case::Alike => format!("Your {path} is what Silas made of it, too. {safe}"),
        Case::Overlap if file.line == 0 => format!("{path} has two new versions. {safe}"),
        Case::Overlap => match file.n_lines {
            0 | 1 => format!("Line {} of {path} has two new versions. {safe}", file.line),
            n => format!("Lines {} to {} of {path} have two new versions. {safe}", file.line, file.line + n - 1),
        },
        Case::NotText => format!("Both versions of {path} are new, and not text to compare. {safe}"),
        Case::YouDeleted => format!("You deleted {path}, and Silas changed it. It stays deleted."),
        Case::SilasDeleted => format!("Silas would delete {path}, which you edited. {safe}"),
    }
}

fn version(whose: &str, at: Option<silas_core::Timestamp>, lines: &[String], n_lines: u32, kept: &[u32]) -> Version {
    let shown: Vec<String> =
        lines.iter().take(VERSION_LINES_MAX).map(|line| scrub::visible_line(line, LINE_CHARS_MAX)).collect();
    let more = n_lines.saturating_sub(u32::try_from(shown.len()).unwrap_or(u32::MAX));
    let kept = first(kept, shown.len());
    Version { whose: whose.to_owned(), at, lines: shown, kept, more }
}

/// Of places in lines, those in the first `n`.
fn first(places: &[u32], n: usize) -> Vec<u32> {
    places.iter().copied().filter(|at| (*at as usize) < n).collect()
}

/// A path that fits into a sentence: its end, from the name of a directory on.
fn shortened(path: &str) -> String {
    let path = hidden::name(path);
    if path.chars().count() <= PATH_CHARS_MAX {
        return path;
    }
    let fits = |at: usize| path[at..].chars().count() < PATH_CHARS_MAX;
    let end = path.match_indices('/').map(|(at, _)| at).find(|at| fits(*at));
    match end {
        Some(at) => format!("…{}", &path[at..]),
        None => scrub::visible_line(path.rsplit('/').next().unwrap_or(&path), PATH_CHARS_MAX),
    }
}

/// Both versions of a file. What does not fit is counted.
fn compared(file: &Collided) -> Compared {
    let (shown, left_out) = file.compare.split_at(file.compare.len().min(COMPARED_LINES_MAX));
    let mut lines: Vec<DiffLine> = shown
        .iter()
        .map(|line| match line {
            DiffLine::Same(text) => DiffLine::Same(hidden::strict(text)),
            DiffLine::Removed(text) => DiffLine::Removed(hidden::strict(text)),
            DiffLine::Added(text) => DiffLine::Added(hidden::strict(text)),
            DiffLine::Gap(n) => DiffLine::Gap(*n),
            DiffLine::NotShown(n) => DiffLine::NotShown(*n),
        })
        .collect();
    let (mut n_alike, mut n_apart) = (0u32, 0u32);
    for line in left_out {
        let (count, n) = match line {
            DiffLine::Same(_) => (&mut n_alike, 1),
            DiffLine::Gap(n) => (&mut n_alike, *n),
            DiffLine::Removed(_) | DiffLine::Added(_) => (&mut n_apart, 1),
            DiffLine::NotShown(n) => (&mut n_apart, *n),
        };
        *count = count.saturating_add(n);
    }
    lines.extend((n_apart > 0).then_some(DiffLine::NotShown(n_apart)));
    lines.extend((n_alike > 0).then_some(DiffLine::Gap(n_alike)));
    Compared { path: hidden::name(&file.path), lines, kept: first(&file.kept.compare, shown.len()) }
}

#[cfg(test)]
mod tests;
