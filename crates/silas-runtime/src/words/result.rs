//! What the cards about a result have in common, computed from what the launcher reports.

use super::basis;
use super::chooser::Chooser;
use super::{caveats, claim, count, fact, name_of, turned};
use crate::review::kinds::refusal;
use silas_core::card::listed::WHAT_WAS_RUN;
use silas_core::card::{CardKind, Detail, EvidenceBlock, Face, Fact};
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Ended, Outcome};
use silas_core::envelope::ExecutionResult;
use silas_core::exits::Undeclared;
use silas_core::hidden;
use silas_core::taint::Taint;
use silas_core::wanted::Wanted;
use silas_gates::scrub;
use silas_sandbox::InPart;

/// Lines of output on a card; the ledger keeps more.
const OUTPUT_LINES_MAX: usize = 200;

/// Of a command in a sentence.
pub(crate) const COMMAND_CHARS_MAX: usize = 60;

/// Where nobody has said why.
pub(crate) const UNSAID: &str = "The plan came without a word about why.";

/// What a result card is computed from.
#[derive(Clone, Copy)]
pub struct ResultFacts<'a> {
    /// The owner's words, never a model's.
    pub asked: Option<&'a str>,
    /// What was changed, in few words.
    pub directory: &'a str,
    /// The commands of the plan that were begun.
    pub commands: &'a [String],
    /// How these ended, as far as they have.
    pub ended: &'a [ExecutionResult],
    /// Who chose the checks. Records of earlier versions do not say.
    pub(crate) chooser: Option<&'a Chooser>,
    pub outcome: Outcome,
    pub before: &'a [CheckResult],
    pub after: &'a [CheckResult],
    pub diffs: &'a [FileDiff],
    pub flags: &'a [String],
    pub unseen: &'a [String],
    /// What git ignores was left out, in sentences.
    pub left_out: &'a [String],
    pub outputs: &'a [String],
    /// Whose words outputs and changes are.
    pub taint: Taint,
    /// Places in them that read like orders to an assistant.
    pub orders_found: u32,
    pub last_moment: &'a [String],
    /// The file system could not exchange two files.
    pub is_in_two_steps: bool,
    /// Only some of it is in place: then nothing that was checked is there as it was checked.
    pub in_part: Option<&'a InPart>,
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

/// How a command ended that did not succeed.
pub(crate) fn failed(result: &ExecutionResult) -> Option<String> {
    let how = match result.metadata.ended {
        Ended::Exited(0) => return None,
        Ended::Exited(code) => exit_code(code),
        Ended::Signalled(signal) => format!("ended by signal {signal}"),
        Ended::TimedOut { after_secs } => format!("stopped after {after_secs} s"),
    };
    Some(match result.why_killed() {
        Some(why) => format!("{how}: {}", scrub::visible(why.trim_end_matches('.'))),
        None => how,
    })
}

pub(crate) fn exit_code(code: i32) -> String {
    format!("exit code {code}")
}

/// Which files are new and which are old, and why.
fn halves(part: &InPart) -> [Detail; 3] {
    let detail = |title: &str, lines: &[String]| Detail {
        title: title.to_owned(),
        lines: lines.iter().map(|line| scrub::visible(line)).collect(),
    };
    let why = std::slice::from_ref(&part.why);
    [detail("Changed", &part.new), detail("Still as it was", &part.old), detail("Why not all of it", why)]
}

impl ResultFacts<'_> {
    /// Whose checks these are, if they are not the owner's own; how each of them ended stands in the block above.
    pub(crate) fn whose_checks(&self) -> Option<Fact> {
        let chooser = self.chooser.filter(|chooser| **chooser != Chooser::Owner && !self.before.is_empty())?;
        Some(fact("Checks", &chooser.fact()))
    }

    pub(crate) fn name(&self) -> String {
        name_of(self.directory)
    }

    pub(crate) fn face(&self, kind: CardKind, state: &str, intent: String) -> Face {
        // What was ended before its checks ran again has shown nothing, neither way.
        let has_checks = !self.before.is_empty() && !self.after.is_empty() && self.in_part.is_none();
        let details = self.details(has_checks);
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
            let turned = || fact("Checks", &turned(self.before, self.after));
            face.facts.push(self.whose_checks().unwrap_or_else(turned));
        }
        face
    }

    /// What stands behind the face, in the order in which somebody would ask for it.
    fn details(&self, has_checks: bool) -> Vec<Detail> {
        let mut details = Vec::new();
        if !self.before.is_empty() && !has_checks {
            let word = |check: &CheckResult| if check.passed { "green" } else { "red" };
            let lines =
                self.before.iter().map(|check| format!("{}: {}", hidden::name(&check.shown()), word(check))).collect();
            details.push(Detail { title: "The checks before it began".to_owned(), lines });
        }
        if !self.last_moment.is_empty() {
            let lines = self.last_moment.iter().map(|line| scrub::visible(line)).collect();
            details.push(Detail { title: "You changed this in the last moment".to_owned(), lines });
        }
        details.extend(self.in_part.into_iter().flat_map(halves));
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
        for (title, lines) in [
            ("Look at this twice", self.flags),
            ("Changed, but the checks saw it as it was before", self.unseen),
            ("Ignored by git", self.left_out),
        ] {
            if !lines.is_empty() {
                let lines = lines.iter().map(|line| scrub::visible(line)).collect();
                details.push(Detail { title: title.to_owned(), lines });
            }
        }
        details.extend(basis::tested(self.after));
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
            let ended = self.ended.iter().map(Some).chain(std::iter::repeat(None));
            let line = |(command, result): (&String, Option<&ExecutionResult>)| match result.and_then(failed) {
                Some(how) => format!("{command} ({how})"),
                None => command.clone(),
            };
            let lines = self.commands.iter().zip(ended).map(line).collect();
            details.push(Detail { title: WHAT_WAS_RUN.to_owned(), lines });
        }
        if let Some(chooser) = self.chooser.filter(|_| has_checks) {
            let lines = self.after.iter().map(|check| hidden::strict(&check.shown())).collect();
            details.push(Detail { title: chooser.title(self.after.len()), lines });
        }
        let lines = || self.outputs.iter().flat_map(|o| o.lines());
        let mut printed: Vec<String> = lines().map(scrub::visible).take(OUTPUT_LINES_MAX).collect();
        let n_more = lines().count().saturating_sub(OUTPUT_LINES_MAX);
        if n_more > 0 {
            printed.push(format!(
                "… and {}, not shown here",
                count(n_more, "more line").replace("more lines", "lines more")
            ));
        }
        if !printed.is_empty() {
            // A person must see whose words these are before reading them.
            let title = match self.taint {
                Taint::Owner | Taint::Auth => "What the commands printed",
                Taint::External => "What the commands printed, not Silas's words",
            };
            // Who only had something run wants to see that.
            let at = if self.before.is_empty() { 0 } else { details.len() };
            details.insert(at, Detail { title: title.to_owned(), lines: printed });
        }
        details
    }
}
