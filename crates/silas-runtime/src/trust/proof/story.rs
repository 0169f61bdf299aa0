//! A proof in sentences: what happened, in order, and what may be claimed. The page, `silas work show` and, on another
//! machine, `silas verify` all tell it from here.

use crate::view::ProofStep;
use crate::words::chooser::Chooser;
use crate::words::{
    COMMAND_CHARS_MAX, Reader, basis, claim, count, duration, exit_code, in_code, known, not_ruled_out, took, turned,
};
use silas_core::Timestamp;
use silas_core::bundle::Proven;
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Outcome};
use silas_core::number::grouped;
use silas_core::outside::Reach;
use silas_core::token::Kind;
use silas_gates::scrub;

/// What allowed the work to be done in its private copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// A decision about the plan, to be carried out whole.
    Plan,
    /// A decision about the plan, to be tried out first.
    Rehearsal,
    HouseRules,
}

impl Allowed {
    /// By a decision of this kind. No other lets work be done.
    pub(crate) fn by(kind: Kind) -> Self {
        match kind {
            Kind::HouseRules => Allowed::HouseRules,
            Kind::Rehearsal => Allowed::Rehearsal,
            Kind::Plan
            | Kind::Apply
            | Kind::Undo
            | Kind::Root
            | Kind::Device
            | Kind::Step
            | Kind::Model
            | Kind::Budget => Allowed::Plan,
        }
    }

    fn words(self, reader: Reader) -> &'static str {
        match (self, reader) {
            (Allowed::Plan, Reader::Owner) => "You approved exactly this plan",
            (Allowed::Plan, Reader::Anybody) => "The owner approved exactly this plan",
            (Allowed::Rehearsal, Reader::Owner) => "You had this plan tried out first",
            (Allowed::Rehearsal, Reader::Anybody) => "The owner had this plan tried out first",
            (Allowed::HouseRules, Reader::Owner) => "Your house rules allowed to try it out",
            (Allowed::HouseRules, Reader::Anybody) => "The owner's house rules allowed to try it out",
        }
    }
}

/// Where the owner's words are not known: a plan may come without any.
pub(crate) const UNSAID: &str = "A plan, without a word about why";

/// Commands that failed and are named.
const FAILED_MAX: usize = 5;

/// What a story is told from.
pub(crate) struct Facts<'a> {
    pub(crate) reader: Reader,
    /// The owner's words, never a model's.
    pub(crate) asked: &'a str,
    pub(crate) allowed: Allowed,
    /// The device that this was signed on.
    pub(crate) device: &'a str,
    /// The device on which exactly these changes were approved, if that was a decision of its own.
    pub(crate) applied_on: Option<&'a str>,
    /// Who chose the checks.
    pub(crate) chooser: Chooser,
    pub(crate) outcome: Outcome,
    pub(crate) before: &'a [CheckResult],
    /// The plan's commands that did not succeed, each with how it ended.
    pub(crate) failed: Vec<String>,
    pub(crate) after: &'a [CheckResult],
    pub(crate) diffs: &'a [FileDiff],
    /// How many files changed; the diffs may show fewer.
    pub(crate) files: usize,
    pub(crate) flags: &'a [String],
    pub(crate) unseen: &'a [String],
    pub(crate) reach: &'a Reach,
    pub(crate) used_ms: u64,
    pub(crate) limit_secs: u64,
    pub(crate) has_network: bool,
    pub(crate) is_applied: bool,
    pub(crate) n_resumed: u32,
    pub(crate) undone_at: Option<Timestamp>,
    pub(crate) first_entry: u64,
    pub(crate) last_entry: u64,
}

/// A proof as it is told.
pub struct Story {
    pub claim: String,
    /// What the claim does not rule out, in sentences.
    pub not_ruled_out: Vec<String>,
    /// What is known of the checks besides, in sentences.
    pub known: Vec<String>,
    /// What of the things that the checks name they did not see as it was before the work, in a sentence.
    pub seen_as_changed: Option<String>,
    pub steps: Vec<ProofStep>,
}

impl Story {
    /// Of a proof that was checked, wherever that was.
    pub fn of(proven: &Proven) -> Self {
        let device = scrub::visible_line(&proven.device.body.name, 60);
        let applied_on = proven.applied_on.as_ref().map(|device| scrub::visible_line(&device.body.name, 60));
        Story::told(&Facts::of(proven, &device, applied_on.as_deref(), Reader::Anybody))
    }

    pub(crate) fn told(facts: &Facts<'_>) -> Self {
        Story {
            claim: claim(facts.outcome, facts.before, facts.after),
            not_ruled_out: not_ruled_out(facts.outcome, facts.before, facts.after),
            known: (known(facts.outcome, facts.before, facts.after, facts.reader).into_iter())
                .chain(basis::tested_said(facts.after))
                .collect(),
            seen_as_changed: basis::seen_as_changed(facts.after),
            steps: steps(facts),
        }
    }

    /// Both together, as they stand under the claim.
    pub fn caveats(&self) -> Vec<String> {
        [self.not_ruled_out.clone(), self.known.clone()].concat()
    }
}

impl<'a> Facts<'a> {
    pub(crate) fn of(proven: &'a Proven, device: &'a str, applied_on: Option<&'a str>, reader: Reader) -> Self {
        let definition = proven.plan.definition();
        Facts {
            reader,
            asked: definition.owners_words().unwrap_or(UNSAID),
            allowed: Allowed::by(proven.allowed),
            device,
            applied_on,
            chooser: Chooser::of(definition),
            outcome: proven.outcome,
            before: &proven.before,
            failed: proven
                .failed
                .iter()
                .filter_map(|(n, code)| {
                    let step = definition.steps.get(*n as usize)?;
                    let ended = code.map_or_else(|| "ended by a signal".to_owned(), exit_code);
                    Some(format!("{}: {ended}", in_code(&step.run.words(), COMMAND_CHARS_MAX)))
                })
                .collect(),
            after: &proven.after,
            diffs: &proven.landed.diffs,
            files: proven.files as usize,
            flags: &proven.landed.flags,
            unseen: &proven.landed.unseen,
            reach: &proven.reach,
            used_ms: u64::try_from(proven.worked.as_millis()).unwrap_or(u64::MAX),
            limit_secs: definition.budget.max_wall_time_seconds,
            has_network: !definition.hosts.is_empty(),
            is_applied: true,
            n_resumed: proven.n_resumed,
            undone_at: proven.undone_at,
            first_entry: proven.first_entry,
            last_entry: proven.last_entry,
        }
    }
}

/// Red before and green after may be an exit code and no more; that is said beside the numbers.
fn ran_again(facts: &Facts<'_>) -> String {
    let by = if facts.outcome == Outcome::GreenByExitCode { " by exit code" } else { "" };
    format!("{}{by}{}", turned(facts.before, facts.after), guarded(facts))
}

fn steps(facts: &Facts<'_>) -> Vec<ProofStep> {
    let step = |title: &str, note: String| ProofStep { title: title.to_owned(), note };
    let added: u32 = facts.diffs.iter().map(|diff| diff.added).sum();
    let removed: u32 = facts.diffs.iter().map(|diff| diff.removed).sum();
    let who = match facts.reader {
        Reader::Owner => "You",
        Reader::Anybody => "The owner",
    };
    let mut steps = vec![
        step(&format!("{who} asked"), facts.asked.to_owned()),
        step(facts.allowed.words(facts.reader), format!("Signed on {}", facts.device)),
    ];
    if facts.n_resumed > 0 {
        let times = count(facts.n_resumed as usize, "time");
        steps.push(step("It was interrupted and begun again", format!("{times}, in a fresh private copy")));
    }
    // Work that was ended early is told as far as it got.
    if !facts.before.is_empty() {
        let chosen = facts
            .chooser
            .counted(facts.before.len(), if facts.reader == Reader::Owner { "yours" } else { "the owner's" });
        steps.push(step("Checks ran on the untouched copy", format!("{chosen}: {}", red_and_green(facts.before))));
    }
    if !facts.failed.is_empty() {
        let mut named: Vec<String> = facts.failed.iter().take(FAILED_MAX).cloned().collect();
        named.extend((facts.failed.len() > FAILED_MAX).then(|| format!("{} more", facts.failed.len() - FAILED_MAX)));
        let title = format!("{} did not succeed", count(facts.failed.len(), "command"));
        steps.push(step(&title, named.join("; ")));
    }
    if facts.files > 0 || !facts.after.is_empty() {
        steps.push(step(
            &format!("Silas changed {}", count(facts.files, "file")),
            format!("+{} −{} lines, in the private copy only", grouped(added), grouped(removed)),
        ));
    }
    if !facts.after.is_empty() {
        steps.push(step("The same checks ran again", ran_again(facts)));
    }
    if !facts.flags.is_empty() {
        steps.push(step("Look at this twice", facts.flags.join("; ")));
    }
    let network = if facts.has_network { "" } else { ", no network" };
    let kept_to = format!("{} of {}{network}", took(facts.used_ms), duration(facts.limit_secs));
    if facts.used_ms <= facts.limit_secs.saturating_mul(1000) {
        steps.push(step("It kept to its limits", kept_to));
    }
    steps.extend(reached(facts.reach, facts.reader));
    if let Some(device) = facts.applied_on {
        steps.push(step(&format!("{who} approved exactly these changes"), format!("Signed on {device}")));
    }
    if facts.is_applied {
        let applied = format!("{} applied, all or none", count(facts.files, "file"));
        let landed = match (basis::committed_otherwise(facts.after), basis::beside(facts.after)) {
            _ if facts.after.is_empty() => {
                "What landed is what was in the private copy; no check looked at it".to_owned()
            }
            (Some(other), _) => format!("What landed is not what was checked. {other}"),
            (None, Some(beside)) => format!("The checks saw more than landed. {beside}"),
            (None, None) => "What landed is what was checked".to_owned(),
        };
        steps.push(step(&applied, landed));
    }
    if facts.undone_at.is_some() {
        steps.push(step("It was undone", "By a decision of its own; the old versions were put back".to_owned()));
    }
    let entries = format!("Entries {} to {}", facts.first_entry, facts.last_entry);
    steps.push(step("Written to the log", entries));
    steps
}

/// What the commands reached beyond their directory, if they reached for anything.
fn reached(reach: &Reach, reader: Reader) -> Vec<ProofStep> {
    let times = |(name, n): (&String, &u32)| if *n == 1 { name.clone() } else { format!("{name} {n} times") };
    let list =
        |counted: &std::collections::BTreeMap<String, u32>| counted.iter().map(times).collect::<Vec<_>>().join(", ");
    let mut steps = Vec::new();
    if !reach.hosts.is_empty() {
        steps.push(ProofStep { title: "It reached".to_owned(), note: list(&reach.hosts) });
    }
    if reach.refused > 0 {
        let note = count(reach.refused as usize, "connection");
        let listed = if reader == Reader::Owner { ", listed in Activity" } else { "" };
        steps.push(ProofStep { title: "It could not reach".to_owned(), note: format!("{note}{listed}") });
    }
    if !reach.secrets.is_empty() {
        steps.push(ProofStep { title: "It used the secrets".to_owned(), note: list(&reach.secrets) });
    }
    steps
}

/// Out of whose reach the checks were, and what ran in them.
fn guarded(facts: &Facts<'_>) -> String {
    if facts.after.is_empty() {
        return String::new();
    }
    let tests: Vec<String> = facts
        .after
        .iter()
        .filter_map(|r| r.tests.as_ref())
        .map(|t| format!("{}: {}", t.runner.name(), t.words()))
        .collect();
    let counted = if tests.is_empty() { String::new() } else { format!(". {}", tests.join("; ")) };
    let seen = match facts.unseen.len() {
        0 => String::new(),
        n => format!(" {} of those the work changed, unseen by them: {}.", grouped(n), facts.unseen.join(", ")),
    };
    match facts.after.iter().any(|result| !result.protected) {
        true => format!("{counted}. The commands could change their own checks."),
        false => match basis::changed_judges(facts.after) {
            Some(changed) => format!("{counted}. {changed}"),
            None => format!("{counted}. They used the tests and scripts from before the work.{seen}"),
        },
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
