//! A card as text: everything on its face, because all of it is signed.
//!
//! The face is taken apart field by field, so that one which is added later cannot be left out here unnoticed. A change that
//! is longer than a screen or two is cut where it is only glanced at; then its length and the way to the rest are said, and
//! whoever approves it must name the card. Whatever somebody else wrote stands on lines of its own kind (`quoted.rs`).

use super::names::name;
use super::paint::Paint;
use super::quoted;
use crate::wall_clock;
use silas_core::card::{Card, Compared, Detail, EvidenceBlock, Face, Fact, Quote, Version, Versions};
use silas_core::changeset::{DiffLine, FileDiff, FileMode};
use silas_core::check::CheckResult;
use silas_core::hidden;
use silas_core::number::grouped;

/// Lines of all changes together that are printed unasked.
const DIFF_LINES_MAX: usize = 400;
/// A label that is longer stands on a line of its own.
const LABEL_WIDTH_MAX: usize = 22;
const LABEL_WIDTH_MIN: usize = 11;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it.
    Whole,
    /// Long changes are cut.
    Glance,
}

/// How many lines of changes whoever glances at it has not seen: those that a glance leaves out, and those that the card
/// itself does not have.
pub(crate) fn n_hidden(card: &Card) -> usize {
    n_cut(&card.face.diffs) + n_not_shown(&card.face.diffs)
}

/// Changed lines that are not on the card at all.
pub(crate) fn n_not_shown(diffs: &[FileDiff]) -> usize {
    diffs.iter().map(|diff| diff.n_not_shown() as usize).sum()
}

fn n_cut(diffs: &[FileDiff]) -> usize {
    n_lines(diffs).saturating_sub(DIFF_LINES_MAX)
}

fn n_lines(diffs: &[FileDiff]) -> usize {
    diffs.iter().map(|diff| diff.lines.as_ref().map_or(0, Vec::len)).sum()
}

/// What is signed is exactly this, with the buttons that whoever calls this shows.
pub(crate) fn print_face(card: &Card, extent: Extent) {
    let Face {
        kind: _,
        risk: _,
        state,
        intent,
        facts,
        evidence,
        versions,
        rationale,
        asked,
        quote,
        details_title,
        details,
        diffs,
        ctas: _,
    } = &card.face;
    let paint = Paint::of_stdout();
    println!("{} · {} · {}", paint.asking(card), visible(state), paint.quiet(&name(&card.id)));
    quoted::print_painted("", 0, intent, |line| paint.strong(line));
    if let Some(evidence) = evidence {
        print_evidence(evidence, paint);
    }
    if let Some(versions) = versions {
        print_versions(versions, paint);
    }
    let said = said(rationale, asked.as_deref(), quote.as_ref());
    print_labelled(facts, details, details_title, &said, paint);
    if !diffs.is_empty() {
        print_diffs(card, diffs, extent, paint);
    }
}

fn print_evidence(evidence: &EvidenceBlock, paint: Paint) {
    let EvidenceBlock { outcome: _, claim, caveats, before, after } = evidence;
    put("  ", claim);
    for caveat in caveats {
        put("  ", caveat);
    }
    let mark = |passed: bool| if passed { paint.good("✓ pass") } else { paint.bad("✗ fail") };
    for n in 0..before.len().max(after.len()) {
        let (before, after) = (before.get(n), after.get(n));
        let marks: Vec<String> = before.into_iter().chain(after).map(|result| mark(result.passed)).collect();
        if let Some(shown) = after.or(before) {
            quoted::print_check(&marks.join(" → "), shown);
        }
        for (when, result) in [("before", before), ("after", after)] {
            if let Some(result) = result {
                print_result(when, result, paint);
            }
        }
    }
}

fn print_result(when: &str, result: &CheckResult, paint: Paint) {
    put(&format!("    {when}: "), &result.reason);
    quoted::print_output(&result.output, usize::MAX, |line| paint.quiet(line));
}

/// Both versions of the same lines, and whole files one line after the other.
fn print_versions(versions: &Versions, paint: Paint) {
    let Versions { says, execution: _, shown, compare } = versions;
    put("  ", says);
    for Version { whose, at, lines, kept, more } in shown {
        let at = at.map_or_else(String::new, |at| format!(", {}", wall_clock::minute(at)));
        println!("  {}", paint.quiet(&format!("{}{at}", visible(whose))));
        for (line, n) in lines.iter().zip(0..) {
            match kept.contains(&n) {
                true => quoted::print_painted("    ", 4, line, |line| paint.quiet(line)),
                false => quoted::print_painted("  + ", 4, line, |line| paint.good(line)),
            }
        }
        match (lines.len(), more) {
            (0, 0) => println!("    (these lines are gone)"),
            (_, 0) => {}
            (_, n) => println!("    … {} more", grouped(n)),
        }
    }
    for Compared { path, lines, kept } in compare {
        println!("  {}", paint.quiet(&format!("{}: yours, and Silas's", quoted::file(&path.to_string()))));
        for (line, n) in lines.iter().zip(0..) {
            match line {
                DiffLine::Same(text) => put("    Both  | ", text),
                DiffLine::Removed(text) | DiffLine::Added(text) if kept.contains(&n) => put("    Before| ", text),
                DiffLine::Removed(text) => put("    You   | ", text),
                DiffLine::Added(text) => put("    Silas | ", text),
                DiffLine::Gap(n) => println!("           … {} lines alike", grouped(n)),
                DiffLine::NotShown(n) => println!("           … {} lines that differ, not shown", grouped(n)),
            }
        }
    }
}

/// Why, in computed words, in the owner's, and in somebody else's; each marked as whose it is.
fn said(rationale: &str, asked: Option<&str>, quote: Option<&Quote>) -> Vec<(String, String)> {
    let mut said = Vec::new();
    if !rationale.is_empty() {
        said.push(("Why".to_owned(), rationale.to_owned()));
    }
    said.extend(asked.map(|asked| ("You asked".to_owned(), format!("“{asked}”"))));
    if let Some(Quote { who, text }) = quote {
        said.push(("In words of".to_owned(), format!("{who}:")));
        said.push((String::new(), format!("“{text}”")));
    }
    said
}

fn print_labelled(facts: &[Fact], details: &[Detail], title: &str, said: &[(String, String)], paint: Paint) {
    let labels = facts.iter().map(|fact| &fact.label).chain(details.iter().map(|detail| &detail.title));
    let fitting = labels.map(|label| label.chars().count()).filter(|width| *width <= LABEL_WIDTH_MAX);
    let width = fitting.max().unwrap_or_default().max(LABEL_WIDTH_MIN);
    let row = |label: &str, text: &str| {
        let label = visible(label);
        // Two spaces before it and one after.
        let columns = width + 3;
        if label.chars().count() > width {
            println!("  {}", paint.quiet(&label));
            quoted::print(&" ".repeat(columns), columns, text);
        } else {
            quoted::print(&format!("  {} ", paint.quiet(&format!("{label:<width$}"))), columns, text);
        }
    };
    facts.iter().for_each(|fact| row(&fact.label, &fact.text));
    said.iter().for_each(|(label, line)| row(label, line));
    if !title.is_empty() {
        println!("  {}", paint.quiet(&visible(title)));
    }
    for Detail { title, lines } in details {
        if lines.is_empty() {
            row(title, "");
        }
        // A command may be among them, so what does not stand beside its label is told from what Silas says.
        let is_beside = lines.len() == 1 && visible(title).chars().count() <= width;
        let mark = if is_beside { "" } else { "• " };
        for (n, line) in lines.iter().enumerate() {
            row(if n == 0 { title } else { "" }, &format!("{mark}{line}"));
        }
    }
}

/// Names and lines are somebody's words, so what could mislead is made visible.
fn print_diffs(card: &Card, diffs: &[FileDiff], extent: Extent, paint: Paint) {
    let n_all = n_lines(diffs);
    let mut n_left = if extent == Extent::Whole { n_all } else { DIFF_LINES_MAX };
    for diff in diffs {
        println!("\n  {}", heading(diff));
        let Some(lines) = &diff.lines else {
            println!("    (not text, or too large to show)");
            continue;
        };
        for line in lines.iter().take(n_left) {
            match line {
                DiffLine::Same(text) => put("  | ", text),
                DiffLine::Added(text) => quoted::print_painted("  + ", 4, text, |line| paint.good(line)),
                DiffLine::Removed(text) => quoted::print_painted("  − ", 4, text, |line| paint.bad(line)),
                // What an earlier version left out it called unchanged.
                DiffLine::Gap(n) if diff.n_not_shown() > 0 => println!("    … {} lines", grouped(n)),
                DiffLine::Gap(n) => println!("    … {} lines unchanged", grouped(n)),
                DiffLine::NotShown(_) => {}
            }
        }
        if diff.n_not_shown() > 0 {
            println!(
                "    {}",
                paint.bad(&format!("… {} changed lines are not on this card", grouped(diff.n_not_shown())))
            );
        }
        n_left = n_left.saturating_sub(lines.len());
    }
    if extent == Extent::Glance && n_cut(diffs) > 0 {
        let shown = n_all - n_cut(diffs);
        let (shown, all, called) = (grouped(shown), grouped(n_all), name(&card.id));
        println!("\n  {shown} of {all} lines of this change are above. `silas show {called}` prints all.");
    }
    println!();
}

fn heading(diff: &FileDiff) -> String {
    let place = if diff.directory.is_empty() { String::new() } else { format!("{}: ", visible(&diff.directory)) };
    let from =
        diff.renamed_from.as_ref().map_or_else(String::new, |from| format!("{} → ", quoted::file(&from.to_string())));
    let path = format!("{from}{}", quoted::file(&diff.path.to_string()));
    let mode = match (diff.mode_before, diff.mode_after) {
        (Some(before), Some(after)) if before != after => format!("  ({} → {})", mode(before), mode(after)),
        (None, Some(after)) => format!("  (new, {})", mode(after)),
        (Some(_), None) => "  (deleted)".to_owned(),
        _ => String::new(),
    };
    let counts = if diff.lines.is_some() {
        format!("  +{} −{}", grouped(diff.added), grouped(diff.removed))
    } else {
        String::new()
    };
    format!("{place}{path}{counts}{mode}")
}

fn mode(mode: FileMode) -> String {
    match mode {
        FileMode::File(bits) => format!("file {:o}", bits & 0o7777),
        FileMode::Link => "symlink".to_owned(),
    }
}

/// A text after words of ours.
fn put(lead: &str, text: &str) {
    quoted::print(lead, lead.chars().count(), text);
}

/// What has one line.
fn visible(text: &str) -> String {
    hidden::name(text)
}
