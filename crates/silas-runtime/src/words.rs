//! The words on cards and in sentences about them, computed from the action and nothing else.
//!
//! Verbs first, numbers exact, no jargon. A door shows these texts and adds none.

use silas_approval::house_rules::HouseRules;
use silas_core::call_order::CallOrder;
use silas_core::canonical;
use silas_core::card::{Card, CardKind, Cta, Detail, EvidenceBlock, FACT_CHARS_MAX, Face, Fact, Press, Quote, Risk};
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Expectation, Outcome};
use silas_core::exits::Undeclared;
use silas_core::input::{Input, ModelChoice, SecureInput};
use silas_core::model::{BudgetGrant, ModelGrant, ModelName, dollars};
use silas_core::passkey::PasskeyGrant;
use silas_core::risk;
use silas_core::roots::{Access, Place, RootGrant};
use silas_core::taint::Taint;
use silas_core::token::Kind;
use silas_core::wanted::Wanted;
use silas_core::work::{Definition, Directory, Replacing, WorkItem};
use silas_gates::scrub;

mod budget;
mod checks;
mod claim;
mod conflict;
mod executor;
pub(crate) mod exits;
pub(crate) mod inputs;
mod models;
mod outside;
mod passkey;
pub(crate) mod refusal;
mod rehearsal;
mod rehearsed;
mod step;
mod unknown;
mod uses;
pub(crate) use claim::{caveats, claim};
pub(crate) use conflict::Ways;
pub(crate) use inputs::{for_model, for_plan, model_option};
pub(crate) use models::{cost, key, price};

/// Lines of output on a card; the ledger keeps more.
const OUTPUT_LINES_MAX: usize = 200;
/// Longest name of a directory in an intent.
const NAME_CHARS_MAX: usize = 28;

/// How the owner's home directory is shortened in what is shown.
#[derive(Clone, Debug)]
pub struct Words {
    home: Option<String>,
}

impl Words {
    pub fn new(home: Option<String>) -> Self {
        Words { home: home.filter(|home| home.len() > 1) }
    }

    /// A path as a person writes it.
    pub fn path(&self, path: &str) -> String {
        let short = self.home.as_deref().and_then(|home| {
            let rest = path.strip_prefix(home)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("~{rest}"))
        });
        scrub::visible(&short.unwrap_or_else(|| path.to_owned()))
    }

    /// Whether a card says exactly what its payload asks for. Cards about results are computed from more than their
    /// payload and cannot be recomputed from it; what they ask for is checked against the launcher's own record.
    pub fn shows_what_it_asks(&self, card: &Card) -> bool {
        let payload = card.payload.as_deref().unwrap_or_default();
        match card.face.kind {
            CardKind::Plan
            | CardKind::Root
            | CardKind::Passkey
            | CardKind::UnknownEffect
            | CardKind::Model
            | CardKind::Budget
            | CardKind::HouseRules
            | CardKind::Step
            | CardKind::SecureInput => self.in_words_of_today(card).is_some_and(|face| face == card.face),
            CardKind::Refusal => card
                .offer
                .as_ref()
                .is_some_and(|offer| self.refusal_shows_what_it_asks(&card.face, payload, offer.kind)),
            CardKind::Rehearsed => rehearsed::shows_what_it_asks(&card.face, payload),
            // Nothing on it is decided; what it leads to is a card of its own.
            CardKind::ModelChoice => true,
            CardKind::Conflict => conflict::shows_what_it_asks(card),
            CardKind::Pairing | CardKind::Done | CardKind::Report => true,
        }
    }

    /// What the card would say if it were made now; nothing where that takes more than the card holds.
    pub(crate) fn in_words_of_today(&self, card: &Card) -> Option<Face> {
        let payload = card.payload.as_deref().unwrap_or_default();
        match card.face.kind {
            CardKind::Plan => WorkItem::from_canonical(payload).ok().map(|item| {
                let is_rehearsal = card.offer.as_ref().is_some_and(|offer| offer.kind == Kind::Rehearsal);
                if is_rehearsal { self.rehearsal(&item) } else { self.plan(&item) }
            }),
            CardKind::Root => canonical::read::<RootGrant>(payload).ok().map(|grant| self.root(&grant.place)),
            CardKind::Passkey => canonical::read::<PasskeyGrant>(payload).ok().map(|grant| passkey::passkey(&grant)),
            CardKind::UnknownEffect => WorkItem::from_canonical(payload).ok().map(|item| self.unknown_effect(&item)),
            CardKind::Model => canonical::read::<ModelGrant>(payload).ok().map(|grant| match card.test_call {
                true => models::model_to_test(&grant),
                false => models::model(&grant),
            }),
            CardKind::Budget => canonical::read::<BudgetGrant>(payload).ok().map(|grant| budget::budget(&grant)),
            CardKind::HouseRules => canonical::read::<HouseRules>(payload)
                .ok()
                .filter(|rules| *rules == HouseRules::current())
                .map(|rules| rules.card_face()),
            CardKind::Step => canonical::read::<CallOrder>(payload).ok().map(|order| step::step(&order)),
            CardKind::SecureInput => card.input.as_ref().and_then(Input::secret).map(inputs::secure_input),
            CardKind::Rehearsed => Some(rehearsed::in_words_of_today(&card.face)),
            CardKind::Refusal
            | CardKind::ModelChoice
            | CardKind::Conflict
            | CardKind::Pairing
            | CardKind::Done
            | CardKind::Report => None,
        }
    }

    /// May this passkey decide what cannot be undone?
    pub fn passkey(&self, grant: &PasskeyGrant) -> Face {
        passkey::passkey(grant)
    }

    /// May this model be asked, and may what you say go there?
    pub fn model(&self, grant: &ModelGrant) -> Face {
        models::model(grant)
    }

    /// May this one call be made?
    pub fn step(&self, order: &CallOrder) -> Face {
        step::step(order)
    }

    /// The same as a step of setting it up: a test question follows.
    pub fn model_to_test(&self, grant: &ModelGrant) -> Face {
        models::model_to_test(grant)
    }

    /// May more be spent on models?
    pub fn budget(&self, grant: &BudgetGrant) -> Face {
        budget::budget(grant)
    }

    /// What is the value of this secret?
    pub fn secure_input(&self, wanted: &SecureInput) -> Face {
        inputs::secure_input(wanted)
    }

    /// Which model should be asked?
    pub fn model_choice(&self, choice: &ModelChoice) -> Face {
        inputs::model_choice(choice.choices.len())
    }

    /// What came of the test question to a model; `took` if it was answered.
    pub fn model_tested(&self, model: &ModelName, took: Option<std::time::Duration>, said: &str) -> Face {
        inputs::model_tested(model, took, said)
    }

    /// May plans work in this directory?
    pub fn root(&self, place: &Place) -> Face {
        let name = name_of(&place.path);
        let mut face = Face {
            kind: CardKind::Root,
            risk: Some(Risk::Medium),
            state: "Directory".to_owned(),
            intent: format!("Let plans work in {name}"),
            facts: Vec::new(),
            evidence: None,
            versions: None,
            rationale: "You name the directories once. Every plan still asks you before it changes anything."
                .to_owned(),
            asked: None,
            quote: None,
            details_title: "Exactly which directory".to_owned(),
            details: vec![Detail {
                title: "Directory".to_owned(),
                lines: vec![scrub::visible(&place.path), format!("Device {}, inode {}", place.device, place.inode)],
            }],
            diffs: Vec::new(),
            ctas: vec![
                approve(&format!("Allow plans in {name}"), &format!("Plans may be offered for {name}.")),
                decline("Not now"),
            ],
        };
        // The details name the directory in any case, so a long path only needs to point there.
        let may_change = format!("{}, not .git", self.path(&place.path));
        let fits = may_change.chars().count() <= FACT_CHARS_MAX;
        face.facts.push(fact("May change", if fits { &may_change } else { "1 directory, listed below" }));
        face.facts.push(fact("Needs only", "Your approval, plan by plan"));
        face
    }

    /// May this plan be carried out?
    pub fn plan(&self, item: &WorkItem) -> Face {
        let d = item.definition();
        let name = changed_name(&d.directories);
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
                    lines: d.steps.iter().map(|s| scrub::visible(&s.run.words())).collect(),
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
        let lines: Vec<String> = written.map(|d| format!("{}{remark}", self.path(&d.path))).collect();
        listed(&mut face, "May change", ("directory", "directories"), lines);
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
            (1, 0) if check.chars().count() <= 20 => format!("{check} passes"),
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

    /// It was applied; undo while the window lasts.
    pub fn done(&self, result: &ResultFacts<'_>, files: u32, undo_secs: u64) -> Face {
        let n = files as usize;
        let mut face =
            result.face(CardKind::Done, "Applied", format!("{} changed in {}", count(n, "file"), result.name()));
        face.risk = Some(Risk::Low);
        face.facts.push(fact("Kept", &format!("The old versions, {}", duration(undo_secs))));
        let cost = match result.cost_microusd {
            0 => String::new(),
            microusd => format!(" and {}", dollars(microusd)),
        };
        face.facts.push(fact("Took", &format!("{}{cost}", took(result.took_ms))));
        face.ctas = vec![
            approve(&format!("Undo, put {} back", count(n, "file")), "Puts the old versions back."),
            Cta { press: Press::Proof, label: "See the proof".to_owned(), consequence: String::new() },
            Cta { press: Press::Dismiss, label: "Done".to_owned(), consequence: String::new() },
        ];
        face
    }

    /// It ended without touching anything.
    pub fn report(&self, result: &ResultFacts<'_>, intent: &str, reason: &str) -> Face {
        let mut face = result.face(CardKind::Report, "Nothing applied", intent.to_owned());
        face.facts.push(fact("Stays", "Your files are untouched"));
        if !reason.is_empty() {
            let lines = scrub::visible(reason).lines().map(str::to_owned).collect();
            face.details.insert(0, Detail { title: "What happened".to_owned(), lines });
        }
        face.ctas = vec![Cta { press: Press::Dismiss, label: "Done".to_owned(), consequence: String::new() }];
        face
    }
}

impl Words {
    /// An undo that would have overwritten a later edit: nothing was touched.
    pub fn later_edit(&self, result: &ResultFacts<'_>, paths: &[String]) -> Face {
        let mut face =
            result.face(CardKind::Report, "Not undone", format!("You changed {} since", count(paths.len(), "file")));
        face.facts.push(fact("Stays", "Your version, untouched"));
        let lines = paths.iter().map(|path| scrub::visible(path)).collect();
        face.details.insert(0, Detail { title: "Undo would overwrite".to_owned(), lines });
        face.ctas =
            vec![Cta { press: Press::Dismiss, label: "Keep my version".to_owned(), consequence: String::new() }];
        face
    }
}

/// What a result card is computed from.
#[derive(Clone, Copy)]
pub struct ResultFacts<'a> {
    /// The owner's words, never a model's.
    pub asked: Option<&'a str>,
    /// What was changed, in few words.
    pub directory: &'a str,
    /// The commands that the plan has.
    pub commands: &'a [String],
    pub outcome: Outcome,
    pub before: &'a [CheckResult],
    pub after: &'a [CheckResult],
    pub diffs: &'a [FileDiff],
    pub flags: &'a [String],
    pub unseen: &'a [String],
    pub outputs: &'a [String],
    /// Whose words outputs and changes are.
    pub taint: Taint,
    /// Places in them that read like orders to an assistant.
    pub orders_found: u32,
    pub last_moment: &'a [String],
    /// The file system could not exchange two files.
    pub is_in_two_steps: bool,
    /// What the owner changed elsewhere while the work ran; the checks ran again with it.
    pub moved_on: &'a [String],
    /// What would leave the copy and was not declared.
    pub undeclared: &'a [Undeclared],
    /// Hosts that commands asked for and were refused.
    pub wanted: &'a [Wanted],
    pub took_ms: u64,
    /// What models were paid for it.
    pub cost_microusd: u64,
}

impl ResultFacts<'_> {
    fn name(&self) -> String {
        name_of(self.directory)
    }

    fn face(&self, kind: CardKind, state: &str, intent: String) -> Face {
        // What was ended before its checks ran again has shown nothing, neither way.
        let has_checks = !self.before.is_empty() && !self.after.is_empty();
        let mut details = Vec::new();
        if !self.before.is_empty() && !has_checks {
            let word = |check: &CheckResult| if check.passed { "green" } else { "red" };
            let lines =
                self.before.iter().map(|check| format!("{}: {}", scrub::visible(&check.name), word(check))).collect();
            details.push(Detail { title: "The checks before it began".to_owned(), lines });
        }
        if !self.last_moment.is_empty() {
            let lines = self.last_moment.iter().map(|line| scrub::visible(line)).collect();
            details.push(Detail { title: "You changed this in the last moment".to_owned(), lines });
        }
        if self.is_in_two_steps {
            let lines = vec!["This file system cannot exchange two files in one step, so each file that was replaced was missing for an instant.".to_owned()];
            details.push(Detail { title: "How files were put in place".to_owned(), lines });
        }
        if self.orders_found > 0 {
            let n = count(self.orders_found as usize, "place");
            let lines = vec![format!(
                "{n} in the output or the changed files read like orders to an assistant. Silas follows none."
            )];
            details.push(Detail { title: "Text from outside".to_owned(), lines });
        }
        for (title, lines) in
            [("Look at this twice", self.flags), ("Changed, but the checks saw the approved version", self.unseen)]
        {
            if !lines.is_empty() {
                let lines = lines.iter().map(|line| scrub::visible(line)).collect();
                details.push(Detail { title: title.to_owned(), lines });
            }
        }
        if !self.moved_on.is_empty() {
            let lines = self.moved_on.iter().map(|line| scrub::visible(line)).collect();
            let title = "You changed this meanwhile, and the checks ran again with it".to_owned();
            details.push(Detail { title, lines });
        }
        if !self.wanted.is_empty() {
            let lines = refusal::wanted(self.wanted);
            details.push(Detail { title: "Wanted and refused".to_owned(), lines });
        }
        if !self.commands.is_empty() {
            details.push(Detail { title: "What was run".to_owned(), lines: self.commands.to_vec() });
        }
        let printed: Vec<String> =
            self.outputs.iter().flat_map(|o| o.lines()).map(scrub::visible).take(OUTPUT_LINES_MAX).collect();
        if !printed.is_empty() {
            // A person must see whose words these are before reading them.
            let title = match self.taint {
                Taint::Owner | Taint::Auth => "What the commands printed",
                Taint::External => "What the commands printed, not Silas's words",
            };
            details.push(Detail { title: title.to_owned(), lines: printed });
        }
        let mut face = Face {
            kind,
            risk: None,
            state: state.to_owned(),
            intent,
            facts: Vec::new(),
            evidence: has_checks.then(|| EvidenceBlock {
                outcome: self.outcome,
                claim: claim(self.outcome, self.before, self.after),
                caveats: caveats(self.outcome, self.before, self.after),
                before: self.before.to_vec(),
                after: self.after.to_vec(),
            }),
            versions: None,
            rationale: if self.asked.is_none() { UNSAID.to_owned() } else { String::new() },
            asked: self.asked.map(scrub::visible),
            quote: None,
            details_title: match self.diffs.len() {
                0 => "What happened".to_owned(),
                1 => "Read the change".to_owned(),
                n => format!("Read the {}", count(n, "change")),
            },
            details,
            diffs: self.diffs.to_vec(),
            ctas: Vec::new(),
        };
        if has_checks {
            face.facts.push(fact("Checks", &turned(self.before, self.after)));
        }
        face
    }
}

/// Where nobody has said why.
const UNSAID: &str = "The plan came without a word about why.";

/// Why a plan is proposed, if not for what the owner said.
fn without_words(d: &Definition) -> String {
    if d.owners_words().is_some() { String::new() } else { UNSAID.to_owned() }
}

/// What the model that planned wrote about it, as its own words.
fn quote(d: &Definition) -> Option<Quote> {
    let (who, text) = d.models_words()?;
    Some(Quote { who: who.to_string(), text: scrub::visible(text) })
}

/// One line as it is if it fits, otherwise how many there are; then all of them are in the details.
fn listed(face: &mut Face, label: &str, (one, many): (&str, &str), lines: Vec<String>) {
    match lines.as_slice() {
        [] => {}
        [line] => face.add_fact(label, line, &format!("1 {one}, listed below")),
        more => {
            face.facts.push(fact(label, &format!("{} {many}, listed below", more.len())));
            face.details.push(Detail { title: label.to_owned(), lines });
        }
    }
}

/// "1 red turned green, 2 stayed": short enough for a fact.
pub(crate) fn turned(before: &[CheckResult], after: &[CheckResult]) -> String {
    let pairs = || before.iter().zip(after);
    let turned = pairs().filter(|(b, a)| !b.passed && a.passed).count();
    let stayed = pairs().filter(|(b, a)| b.passed && a.passed).count();
    let red = after.iter().filter(|a| !a.passed).count();
    let mut parts = Vec::new();
    if turned > 0 {
        parts.push(format!("{turned} red turned green"));
    }
    if stayed > 0 {
        parts.push(if turned > 0 { format!("{stayed} stayed") } else { format!("{stayed} stayed green") });
    }
    if red > 0 {
        parts.push(format!("{red} red"));
    }
    parts.join(", ")
}

fn expected(expect: &Expectation) -> String {
    match expect {
        Expectation::ExitCode(0) => "must succeed".to_owned(),
        Expectation::ExitCode(code) => format!("must exit with {code}"),
        Expectation::Equals(text) => format!("must print exactly {text:?}"),
        Expectation::Contains(text) => format!("must print {text:?}"),
        Expectation::Regex(pattern) => format!("must print what matches {:?}", pattern.as_str()),
        Expectation::OutputLt(limit) => format!("must print a number below {limit}"),
        Expectation::OutputGt(limit) => format!("must print a number above {limit}"),
        Expectation::FileExists(path) => format!("{path} must exist"),
        Expectation::NotEmpty => "must print something".to_owned(),
    }
}

/// What a plan changes, in few words: the name of its directory, or how many there are.
pub(crate) fn changed_name(directories: &[Directory]) -> String {
    let mut written = directories.iter().filter(|d| d.access == Access::Write);
    match (written.next(), written.count()) {
        (None, _) => String::new(),
        (Some(only), 0) => name_of(&only.path),
        (Some(_), more) => format!("{} directories", more + 1),
    }
}

/// The last part of a path, clipped at the width of an intent.
pub(crate) fn name_of(path: &str) -> String {
    scrub::visible_line(path.rsplit('/').next().unwrap_or(path), NAME_CHARS_MAX)
}

pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

pub(crate) fn duration(secs: u64) -> String {
    match (secs / 3600, secs % 3600 / 60, secs % 60) {
        (0, 0, s) => count(s as usize, "second"),
        (0, m, 0) => count(m as usize, "minute"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, 0) => count(h as usize, "hour"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

pub(crate) fn took(ms: u64) -> String {
    if ms < 10_000 { format!("{}.{} s", ms / 1000, ms % 1000 / 100) } else { duration(ms / 1000) }
}

fn fact(label: &str, text: &str) -> Fact {
    Fact { label: label.to_owned(), text: text.to_owned() }
}

fn approve(label: &str, consequence: &str) -> Cta {
    Cta { press: Press::Approve, label: label.to_owned(), consequence: consequence.to_owned() }
}

fn ask_for_a_change() -> Cta {
    Cta { press: Press::Change, label: "Ask for a change".to_owned(), consequence: String::new() }
}

/// Not for commits: what they were made of cannot wait. Nor for what cannot be undone: running it is what sends it.
fn show_me_first(d: &Definition) -> Cta {
    let sends = if d.hosts.is_empty() { "" } else { ", and what it sends is sent" };
    let consequence = format!("Runs it in a private copy{sends}. Nothing is applied before you have seen it.");
    Cta { press: Press::Rehearse, label: "Do it, show me first".to_owned(), consequence }
}

fn decline(label: &str) -> Cta {
    Cta { press: Press::Decline, label: label.to_owned(), consequence: String::new() }
}

#[cfg(test)]
mod tests;
