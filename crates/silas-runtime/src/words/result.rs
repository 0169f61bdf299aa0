//! What came of work: the cards that say so, computed from what the launcher reports.

use super::{Words, approve, caveats, claim, count, duration, fact, name_of, refusal, took, turned};
use silas_core::card::listed::WHAT_WAS_RUN;
use silas_core::card::{CardKind, Cta, Detail, EvidenceBlock, Face, Press, Risk};
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Outcome};
use silas_core::exits::Undeclared;
use silas_core::model::dollars;
use silas_core::taint::Taint;
use silas_core::wanted::Wanted;
use silas_gates::scrub;

/// Lines of output on a card; the ledger keeps more.
const OUTPUT_LINES_MAX: usize = 200;

/// Where nobody has said why.
pub(super) const UNSAID: &str = "The plan came without a word about why.";

impl Words {
    /// It was applied; undo while the window lasts.
    pub fn done(&self, result: &ResultFacts<'_>, files: u32, undo_secs: u64) -> Face {
        let n = files as usize;
        let intent = format!("{} changed in {}", count(n, "file"), result.name());
        let mut face = result.face(CardKind::Done, "Applied", intent);
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
    pub(super) fn name(&self) -> String {
        name_of(self.directory)
    }

    pub(super) fn face(&self, kind: CardKind, state: &str, intent: String) -> Face {
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
            details.push(Detail { title: WHAT_WAS_RUN.to_owned(), lines: self.commands.to_vec() });
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
