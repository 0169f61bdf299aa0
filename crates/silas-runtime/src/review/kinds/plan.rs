//! May this plan be carried out? The words of that card, computed from the plan.

use super::{Answered, Asked, Declined, Rules, unreadable};
use crate::review::{Granted, Review};
use crate::words::chooser::Chooser;
use crate::words::{
    UNSAID, Words, approve, ask_for_a_change, checks, count, decline, duration, executor, exits, fact,
    listed_directories, outside, uses, whole_name_of_changed,
};
use silas_approval::{Admitted, Recorded, Refusal, Rehearsal};
use silas_core::card::Card;
use silas_core::card::{CardKind, Cta, Detail, Face, Press, Quote, Risk};
use silas_core::hidden;
use silas_core::risk;
use silas_core::roots::Access;
use silas_core::token::Kind;
use silas_core::work::{Definition, Replacing, Step, WorkItem};
use silas_gates::scrub;
use silas_store::{ReadTx, Tx};

pub(super) struct Plan;

impl Rules for Plan {
    fn worded(&self, words: &Words, card: &Card) -> Option<Face> {
        let item = WorkItem::from_canonical(card.payload.as_deref()?).ok()?;
        let is_rehearsal = card.offer.as_ref().is_some_and(|offer| offer.kind == Kind::Rehearsal);
        Some(if is_rehearsal { words.rehearsal(&item) } else { words.plan(&item) })
    }

    fn lacks(
        &self,
        review: &Review,
        tx: &ReadTx<'_>,
        asked: &Asked<'_>,
    ) -> Result<Option<Refusal>, silas_approval::Error> {
        lacks(review, tx, asked)
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        admit(review, tx, asked, by)
    }

    fn declined(&self) -> Declined {
        Declined { told: Some("Declined. Nothing ran."), answer: "Declined. Nothing ran." }
    }
}

/// What a plan still needs, for every card that asks for one. What cannot be read is refused where it is read.
pub(super) fn lacks(
    review: &Review,
    tx: &ReadTx<'_>,
    asked: &Asked<'_>,
) -> Result<Option<Refusal>, silas_approval::Error> {
    let Ok(item) = WorkItem::from_canonical(asked.payload) else { return Ok(None) };
    Ok(review.trust.lacks_vault(&item).or(review.house.engine.lacks_root(tx, &item)?))
}

/// Lets the plan begin that was approved, as it is or to be shown first, for every card that asks for one.
pub(super) fn admit(review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
    let Ok(item) = WorkItem::from_canonical(asked.payload) else { return unreadable() };
    let admitted = match by.kind {
        Kind::Plan => review.house.engine.authorize(tx, &by.token, item)?.map(Admitted::Plan),
        Kind::Rehearsal => review.house.engine.authorize(tx, &by.token, Rehearsal(item))?.map(Admitted::Rehearsal),
        _ => return unreadable(),
    };
    match admitted {
        Ok(admitted) => Ok(Ok(Granted::Work(Box::new(review.work.note_beginning(tx, admitted)?)))),
        Err(refusal) => Ok(Err(refusal)),
    }
}

mod rehearsal;

impl Words {
    /// May this plan be carried out?
    pub fn plan(&self, item: &WorkItem) -> Face {
        let d = item.definition();
        let name = whole_name_of_changed(&d.directories);
        let sends = outside::first_said(d, outside::STAYS_SENT);
        let mut face = Face {
            kind: CardKind::Plan,
            risk: Some(risk::of_plan(d)),
            state: "Plan".to_owned(),
            intent: match (&d.executor, d.steps.len()) {
                (None, n) => format!("Run {} in {name}", count(n, "command")),
                (Some(_), 0) => format!("Have a model work in {name}"),
                (Some(_), n) => format!("{}, then a model, in {name}", count(n, "command")),
            },
            facts: Vec::new(),
            evidence: None,
            versions: None,
            rationale: without_words(d),
            asked: d.owners_words().map(scrub::visible),
            quote: quote(d),
            details_title: "Steps, checks and limits".to_owned(),
            details: steps_checks_and_limits(d),
            diffs: Vec::new(),
            ctas: vec![
                approve(&outside::approved(d), &format!("{sends}{}", what_lands(d, &name))),
                if can_be_shown_first(d) { show_me_first(d) } else { ask_for_a_change() },
                decline(outside::declined(d)),
            ],
        };
        if let Some(mandate) = &d.executor {
            face.details.retain(|detail| !detail.lines.is_empty());
            face.details.insert(0, executor::detail(mandate, d));
        }
        if let Some(failed) = d.failed_before() {
            let title = "The plan before this one failed".to_owned();
            face.details.insert(0, Detail { title, lines: vec![scrub::visible(failed)] });
        }
        if d.restores.is_some() {
            let lines = vec!["The files that an earlier plan replaced, unless they were changed since".to_owned()];
            face.details.push(Detail { title: "Puts back".to_owned(), lines });
        }
        if !d.beside.is_empty() {
            let lines = d.beside.iter().map(|path| hidden::name(path)).collect();
            face.details.push(Detail { title: "Stands beside it for checks, not applied".to_owned(), lines });
        }
        if d.include_ignored {
            let lines = vec!["What git ignores there is applied too, as part of the work".to_owned()];
            face.details.push(Detail { title: "Ignored files".to_owned(), lines });
        }
        let remark = if d.commits { ", and commit" } else { ", not .git" };
        let written = d.directories.iter().filter(|d| d.access == Access::Write);
        let paths: Vec<String> = written.map(|d| self.path(&d.path)).collect();
        listed_directories(&mut face, "May change", &paths, remark);
        if d.directories.iter().any(|directory| directory.replaces == Some(Replacing::TwoSteps)) {
            let lines = vec!["The file system may be unable to exchange two files in one step. Each file that is replaced is then missing for an instant.".to_owned()];
            face.details.push(Detail { title: "How files are put in place".to_owned(), lines });
        }
        if d.include_ignored {
            let lines = vec!["Counts as work too: it is shown, checked and applied".to_owned()];
            face.details.push(Detail { title: "What git ignores".to_owned(), lines });
        }
        if !d.beside.is_empty() {
            let paths = d.beside.iter().map(|path| scrub::visible(path)).collect::<Vec<_>>().join(", ");
            let lines = vec![format!("The checks see {paths} as the work leaves it; it is not applied")];
            face.details.push(Detail { title: "Beside the change".to_owned(), lines });
        }
        outside::add_to(&mut face, d);
        uses::add_to(&mut face, d, self);
        exits::add_to(&mut face, d);
        face.facts.push(fact("Done when", &when_done(d)));
        face.facts.push(match risk::of_plan(d) {
            // How long it may take is in the limits as well; this is not.
            Risk::Irreversible => fact("Undo", "None for what it sends"),
            Risk::Low | Risk::Medium | Risk::High => fact("Stops at", &duration(d.budget.max_wall_time_seconds)),
        });
        face
    }
}

fn steps_checks_and_limits(d: &Definition) -> Vec<Detail> {
    let mut details = vec![
        Detail {
            title: "Steps".to_owned(),
            // All of each: a command is bounded by the plan.
            lines: d.steps.iter().map(|s| hidden::strict(&s.run.words())).collect(),
        },
        Detail {
            title: match d.verify.len() {
                0 => "Checks".to_owned(),
                n => Chooser::of(d).title(n),
            },
            lines: d.verify.iter().map(checks::line).collect(),
        },
        Detail {
            title: "Limits".to_owned(),
            lines: vec![
                format!("Stops after {}", duration(d.budget.max_wall_time_seconds)),
                outside::network_limit(d),
                if d.commits {
                    "Commits in a private clone; branches and tags that moved are brought over with the files"
                } else {
                    "Works in a private copy; .git is read-only"
                }
                .to_owned(),
                checks::protection(&d.verify),
            ],
        },
    ];
    let elsewhere =
        |(n, step): (usize, &Step)| step.cwd.as_deref().map(|cwd| format!("Step {} in {}", n + 1, hidden::name(cwd)));
    let elsewhere: Vec<String> = d.steps.iter().enumerate().filter_map(elsewhere).collect();
    if !elsewhere.is_empty() {
        details.insert(1, Detail { title: "Where they run".to_owned(), lines: elsewhere });
    }
    details
}

/// By what one will know that it is done.
fn when_done(d: &Definition) -> String {
    let check = d.verify.first().map_or_else(String::new, |c| scrub::visible_line(&c.run.words(), 200));
    let n_open = d.verify.iter().filter(|check| !check.protected).count();
    match (d.verify.len(), n_open) {
        (0, _) => "No check, you decide".to_owned(),
        // A line end would read as a space there.
        (1, 0) if check.chars().count() <= 20 && !d.verify[0].run.words().contains(['\n', '\t']) => {
            format!("{check} passes")
        }
        (1, 0) => "1 check, listed below".to_owned(),
        (1, _) => "1 check, not protected".to_owned(),
        (n, 0) => format!("{n} checks, listed below"),
        (n, open) => format!("{n} checks, {open} not protected"),
    }
}

/// Why a plan is proposed, if not for what the owner said.
pub(crate) fn without_words(d: &Definition) -> String {
    if d.owners_words().is_some() { String::new() } else { UNSAID.to_owned() }
}

/// What the model that planned wrote about it, as its own words.
pub(crate) fn quote(d: &Definition) -> Option<Quote> {
    let (who, text) = d.models_words()?;
    Some(Quote { who: who.to_string(), text: scrub::visible(text) })
}

/// What follows if it is to be seen before it is applied. Running it is what sends.
pub(crate) fn shown_first(d: &Definition) -> String {
    let sends = outside::first_said(d, outside::STAYS_SENT);
    format!("{sends}Runs it in a private copy. Nothing is applied before you have seen it.")
}

/// What a yes does to the files. Only counted tests that turned green are a proof, and only a proof goes on by itself.
pub(crate) fn what_lands(d: &Definition, name: &str) -> String {
    match (d.verify.is_empty(), d.commits) {
        (false, false) => format!("Changes files in {name} if counted tests turn green; if not, you see it first."),
        (false, true) => format!("Changes files in {name} if counted tests turn green; if not, it keeps nothing."),
        (true, false) => {
            "Runs it in a private copy. No check judges it, so you see it before it is applied.".to_owned()
        }
        (true, true) => "Runs it in a private copy. Commits that no check judges are not brought over.".to_owned(),
    }
}

/// Not for commits: what they were made of cannot wait. Nor for what cannot be undone: running it is what sends it. What no
/// check judges is shown first in any case.
fn can_be_shown_first(d: &Definition) -> bool {
    !d.commits && !d.verify.is_empty() && risk::of_plan(d) != Risk::Irreversible
}

fn show_me_first(d: &Definition) -> Cta {
    let consequence = shown_first(d);
    Cta { press: Press::Rehearse, label: "Do it, show me first".to_owned(), consequence }
}
