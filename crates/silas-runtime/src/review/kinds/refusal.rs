//! The card of a refusal: commands asked for hosts that their plan does not name for them, and nothing came of the work.
//! It offers the smallest plan that would have been enough. (DESIGN §5.3)
//!
//! What is asked for is computed from that plan alone and stands first; what happened before follows it. The names come
//! from commands and not from Silas, which the card says.

use super::{Answered, Asked, Declined, Rules, plan};
use crate::review::{Granted, Review};
use crate::words::{ResultFacts, Words, approve, count, decline, duration, fact, outside};
use silas_approval::{Recorded, Refusal};
use silas_core::card::Card;
use silas_core::card::contract::NEEDS_CHARS_MAX;
use silas_core::card::{CardKind, Cta, Detail, FACT_CHARS_MAX, FACTS_MAX, Face, INTENT_CHARS_MAX, Press};
use silas_core::hidden;
use silas_core::host::HostGrant;
use silas_core::risk;
use silas_core::token::Kind;
use silas_core::token::Verdict;
use silas_core::wanted::{By, HostFor, Wanted};
use silas_core::work::{Definition, WorkItem};
use silas_gates::scrub;
use silas_store::{ReadTx, Tx};

pub(super) struct RefusalCard;

impl Rules for RefusalCard {
    /// What its plan says, and behind it what happened before, which is known to nobody any more and so cannot be told
    /// again: everything that would be allowed stands on the card as its plan says it, the rest is a story.
    fn worded(&self, words: &Words, card: &Card) -> Option<Face> {
        let kind = card.offer.as_ref()?.kind;
        words.refusal_in_words_of_today(&card.face, card.payload.as_deref()?, kind)
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

    fn decline(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, verdict: Verdict) -> Answered {
        match verdict {
            Verdict::EditRequested => Ok(review.work.go_on_without(tx, asked.card)?.map(Granted::Without)),
            Verdict::Conditional => Ok(Ok(Granted::ChangeWanted)),
            Verdict::Approved | Verdict::Declined => Ok(Ok(Granted::Declined)),
        }
    }

    fn declined(&self) -> Declined {
        Declined {
            told: Some("Stopped. What was asked for is not reached, and nothing was applied."),
            answer: "Stopped. What was refused is not reached, and your files are untouched.",
        }
    }
}

/// What fits on a button.
const BUTTON_CHARS_MAX: usize = 40;
/// Facts of the plan that are repeated: what it may touch besides.
const TOUCHES: [&str; 3] = ["May change", "May use", "Uses"];

const REFUSED: &str = "Refused";

/// What stood in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// It was tried out before anybody was asked, and that never has a network.
    Rehearsal,
    NoHost,
    OtherHosts,
}

impl Rule {
    const ALL: [Rule; 3] = [Rule::Rehearsal, Rule::NoHost, Rule::OtherHosts];

    fn words(self) -> &'static str {
        match self {
            Rule::Rehearsal => "Rehearsals have no network",
            Rule::NoHost => "The plan names no host",
            Rule::OtherHosts => "Not named in the plan",
        }
    }
}

/// What a refusal card is about.
pub(crate) struct Refused<'a> {
    /// The plan that would have been enough.
    pub(crate) plan: &'a WorkItem,
    pub(crate) rule: Rule,
    /// Which kind of decision is asked for: what was to be shown first is not applied now either.
    pub(crate) kind: Kind,
    /// How it ended, and why, as a report says it.
    pub(crate) intent: &'a str,
    pub(crate) reason: &'a str,
    /// The model's own words about its work, if there are any.
    pub(crate) said: Option<&'a str>,
}

impl Words {
    /// It ended with nothing to apply, and hosts were wanted: may they be reached?
    pub(crate) fn refusal(&self, result: &ResultFacts<'_>, refused: &Refused<'_>) -> Face {
        let mut face = self.smallest_grant(refused.plan, refused.rule, refused.kind);
        face.details.push(Detail { title: "How it ended".to_owned(), lines: vec![refused.intent.to_owned()] });
        if let Some(said) = refused.said {
            let said = scrub::visible(said);
            face.details
                .push(Detail { title: "In the model's words".to_owned(), lines: vec![format!("“{said}”")] });
        }
        // What was wanted stands above already.
        let report = self.report(&ResultFacts { wanted: &[], ..*result }, refused.intent, refused.reason);
        let line = |check: &silas_core::check::CheckResult| {
            format!("{}: {}", hidden::name(&check.shown()), scrub::visible(&check.reason))
        };
        let checks: Vec<String> = result.after.iter().map(line).collect();
        if !checks.is_empty() {
            face.details.push(Detail { title: "Checks after the work".to_owned(), lines: checks });
        }
        face.details.extend(report.details);
        face.diffs = report.diffs;
        face
    }

    /// The part of the card that is signed for: what the plan would be allowed, and who asked for it.
    fn smallest_grant(&self, item: &WorkItem, rule: Rule, kind: Kind) -> Face {
        let d = item.definition();
        let hosts = hosts(d);
        let plan = self.plan(item);
        let time = duration(d.budget.max_wall_time_seconds);
        let n_hosts = count(hosts.len(), "host");
        let only = match hosts.as_slice() {
            [one] => Some(outside::named(one)),
            _ => None,
        };
        // A name that does not fit is counted here and listed whole below.
        let fitting = |max: usize, text: &dyn Fn(&str) -> String| {
            only.as_deref().map(text).filter(|text| text.chars().count() <= max)
        };
        let wanted = fitting(FACT_CHARS_MAX, &|host| format!("{host}, by {}", whoever(d)));
        let needs = fitting(NEEDS_CHARS_MAX, &|host| format!("{host}, this task, {time}"));
        let label = fitting(BUTTON_CHARS_MAX, &|host| format!("Allow {host}, {time}"));
        let intent = fitting(INTENT_CHARS_MAX, &|host| format!("Let this task reach {host}"));
        let then = match kind {
            Kind::Rehearsal => "You see the result before anything is applied.".to_owned(),
            _ => super::plan::what_lands(d, &crate::words::changed_name(&d.directories)),
        };
        let mut facts = vec![
            fact("Wanted", &wanted.unwrap_or_else(|| format!("{n_hosts}, listed below"))),
            fact(REFUSED, rule.words()),
            fact("Needs only", &needs.unwrap_or_else(|| format!("{n_hosts}, this task, {time}"))),
        ];
        facts.extend(plan.facts.into_iter().filter(|fact| TOUCHES.contains(&fact.label.as_str())));
        facts.truncate(FACTS_MAX);
        let mut details = vec![Detail {
            title: "Wanted, and by which command".to_owned(),
            lines: d.hosts_for.iter().map(|only| line(d, only)).collect(),
        }];
        details.push(Detail { title: "About these names".to_owned(), lines: warnings(d) });
        details.extend(plan.details);
        let mut ctas = vec![approve(
            &label.unwrap_or_else(|| format!("Allow {n_hosts}, {time}")),
            &format!("{}Runs it again. {then}", outside::first_said(d, outside::STAYS_SENT)),
        )];
        if d.executor.is_some() {
            let label = if hosts.len() == 1 { "Go on without it" } else { "Go on without them" };
            ctas.push(Cta { press: Press::Change, label: label.to_owned(), consequence: String::new() });
        }
        ctas.push(decline("Stop the task"));
        Face {
            kind: CardKind::Refusal,
            risk: Some(risk::of_plan(d)),
            // What the plan did name may have been reached.
            state: if rule == Rule::OtherHosts { "Refused" } else { "Refused, nothing sent" }.to_owned(),
            intent: intent.unwrap_or_else(|| format!("Let this task reach {n_hosts}")),
            facts,
            evidence: None,
            versions: None,
            rationale: plan.rationale,
            asked: plan.asked,
            quote: plan.quote,
            details_title: "What happened before".to_owned(),
            details,
            diffs: Vec::new(),
            ctas,
        }
    }

    /// The same card as it is worded now: what its plan says, and behind it what happened before, which is known to nobody
    /// any more and so cannot be told again.
    pub(crate) fn refusal_in_words_of_today(&self, face: &Face, payload: &str, kind: Kind) -> Option<Face> {
        let item = WorkItem::from_canonical(payload).ok()?;
        let refused = face.facts.iter().find(|fact| fact.label == REFUSED)?;
        let rule = Rule::ALL.into_iter().find(|rule| rule.words() == refused.text)?;
        let mut today = self.smallest_grant(&item, rule, kind);
        let story = face.details.iter().skip(today.details.len()).cloned();
        today.details.extend(story);
        Some(Face { diffs: face.diffs.clone(), ..today })
    }
}

/// Hosts that are named for single commands, each once.
fn hosts(d: &Definition) -> Vec<&HostGrant> {
    d.hosts.iter().filter(|host| d.hosts_for.iter().any(|only| only.host == **host)).collect()
}

/// Who wants it, in few words.
fn whoever(d: &Definition) -> String {
    match d.hosts_for.as_slice() {
        [HostFor { by: By::Step(n), .. }] => format!("step {}", n.saturating_add(1)),
        [HostFor { by: By::Check(_), .. }] => "a check".to_owned(),
        [HostFor { by: By::Model, .. }] => "the model".to_owned(),
        several => count(several.len(), "command"),
    }
}

fn line(d: &Definition, only: &HostFor) -> String {
    let who = match &only.by {
        By::Step(n) => {
            let step = usize::try_from(*n).ok().and_then(|n| d.steps.get(n));
            let words = step.map_or_else(String::new, |step| hidden::strict(&step.run.words()));
            format!("step {}: {words}", n.saturating_add(1))
        }
        By::Check(name) => {
            let check = d.verify.iter().find(|check| check.name == *name);
            format!("a check: {}", check.map_or_else(String::new, |check| hidden::strict(&check.run.words())))
        }
        By::Model => "whatever the model runs".to_owned(),
    };
    format!("{}, for {who}", outside::words(&only.host))
}

fn warnings(d: &Definition) -> Vec<String> {
    let is_address = |only: &HostFor| only.host.address().is_some();
    let mut lines = vec!["A command asked for it. Silas has not looked it up, and nothing was sent there.".to_owned()];
    if d.hosts_for.iter().any(|only| only.by != By::Model && only.host.address().is_none()) {
        lines.push("The port is what the command says beside the name, or 443.".to_owned());
    }
    if d.hosts_for.iter().any(is_address) {
        lines.push("An address has no name: nobody can say from it alone who is there.".to_owned());
    }
    let steered = |only: &HostFor| d.executor.is_some() && !matches!(only.by, By::Step(_));
    if d.hosts_for.iter().any(steered) {
        lines.push(
            "A model has chosen this command or changed what it runs. Whatever it has read, in your files or elsewhere, \
             could go there."
                .to_owned(),
        );
    }
    lines
}

/// What was wanted and refused, as results list it.
pub(crate) fn wanted(wanted: &[Wanted]) -> Vec<String> {
    let line = |one: &Wanted| {
        let by = match &one.by {
            By::Step(n) => format!("step {}", n.saturating_add(1)),
            By::Check(_) => "a check".to_owned(),
            By::Model => "the model".to_owned(),
        };
        let command = scrub::visible_line(&one.command, 200);
        format!("{}, by {by}: {command}. Nothing was sent there.", scrub::visible(&one.host))
    };
    wanted.iter().map(line).collect()
}

#[cfg(test)]
pub(crate) mod tests;
