//! May this plan be carried out? The words of that card, computed from the plan.

use super::parts::listed_directories;
use super::result::UNSAID;
use super::{
    Words, approve, ask_for_a_change, checks, count, decline, duration, executor, exits, fact, outside, uses,
    whole_name_of_changed,
};
use silas_core::card::{CardKind, Cta, Detail, Face, Press, Quote, Risk};
use silas_core::hidden;
use silas_core::risk;
use silas_core::roots::Access;
use silas_core::work::{Definition, Replacing, Step, WorkItem};
use silas_gates::scrub;

impl Words {
    /// May this plan be carried out?
    pub fn plan(&self, item: &WorkItem) -> Face {
        let d = item.definition();
        let name = whole_name_of_changed(&d.directories);
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
            details: vec![
                Detail {
                    title: "Steps".to_owned(),
                    // All of each: a command is bounded by the plan.
                    lines: d.steps.iter().map(|s| hidden::strict(&s.run.words())).collect(),
                },
                Detail { title: "Checks".to_owned(), lines: d.verify.iter().map(checks::line).collect() },
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
            ],
            diffs: Vec::new(),
            ctas: vec![
                approve("Do it, apply when green", &format!("Changes files in {name} when the checks turn green.")),
                if d.commits || risk::of_plan(d) == Risk::Irreversible { ask_for_a_change() } else { show_me_first(d) },
                decline(outside::declined(d)),
            ],
        };
        let elsewhere = |(n, step): (usize, &Step)| {
            step.cwd.as_deref().map(|cwd| format!("Step {} in {}", n + 1, hidden::name(cwd)))
        };
        let elsewhere: Vec<String> = d.steps.iter().enumerate().filter_map(elsewhere).collect();
        if !elsewhere.is_empty() {
            face.details.insert(1, Detail { title: "Where they run".to_owned(), lines: elsewhere });
        }
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
        let remark = if d.commits { ", and commit" } else { ", not .git" };
        let written = d.directories.iter().filter(|d| d.access == Access::Write);
        let paths: Vec<String> = written.map(|d| self.path(&d.path)).collect();
        listed_directories(&mut face, "May change", &paths, remark);
        if d.directories.iter().any(|directory| directory.replaces == Some(Replacing::TwoSteps)) {
            let lines = vec!["The file system may be unable to exchange two files in one step. Each file that is replaced is then missing for an instant.".to_owned()];
            face.details.push(Detail { title: "How files are put in place".to_owned(), lines });
        }
        outside::add_to(&mut face, d);
        uses::add_to(&mut face, d, self);
        exits::add_to(&mut face, d);
        let check = d.verify.first().map_or_else(String::new, |c| scrub::visible_line(&c.run.words(), 200));
        let n_open = d.verify.iter().filter(|check| !check.protected).count();
        let when_done = match (d.verify.len(), n_open) {
            (0, _) => "No check, you decide".to_owned(),
            // A line end would read as a space there.
            (1, 0) if check.chars().count() <= 20 && !d.verify[0].run.words().contains(['\n', '\t']) => {
                format!("{check} passes")
            }
            (1, 0) => "1 check, listed below".to_owned(),
            (1, _) => "1 check, not protected".to_owned(),
            (n, 0) => format!("{n} checks, listed below"),
            (n, open) => format!("{n} checks, {open} not protected"),
        };
        face.facts.push(fact("Done when", &when_done));
        face.facts.push(match risk::of_plan(d) {
            // How long it may take is in the limits as well; this is not.
            Risk::Irreversible => fact("Undo", "None for what it sends"),
            Risk::Low | Risk::Medium | Risk::High => fact("Stops at", &duration(d.budget.max_wall_time_seconds)),
        });
        face
    }
}

/// Why a plan is proposed, if not for what the owner said.
pub(super) fn without_words(d: &Definition) -> String {
    if d.owners_words().is_some() { String::new() } else { UNSAID.to_owned() }
}

/// What the model that planned wrote about it, as its own words.
pub(super) fn quote(d: &Definition) -> Option<Quote> {
    let (who, text) = d.models_words()?;
    Some(Quote { who: who.to_string(), text: scrub::visible(text) })
}

/// Not for commits: what they were made of cannot wait. Nor for what cannot be undone: running it is what sends it.
fn show_me_first(d: &Definition) -> Cta {
    let sends = if d.hosts.is_empty() { "" } else { ", and what it sends is sent" };
    let consequence = format!("Runs it in a private copy{sends}. Nothing is applied before you have seen it.");
    Cta { press: Press::Rehearse, label: "Do it, show me first".to_owned(), consequence }
}
