//! Cards as the terminal shows them: the same words as on the page, in lines.

use silas_core::card::{Card, CardKind, CardState, Press, Risk};
use silas_core::changeset::{DiffLine, FileDiff};
use silas_gates::scrub;

/// Lines of all changes together; whoever needs more reads them in the page.
const DIFF_LINES_MAX: usize = 400;

pub(crate) fn print_cards(cards: &[Card]) {
    if cards.is_empty() {
        println!("Nothing to decide.");
    }
    for (n, card) in cards.iter().enumerate() {
        let parked = if card.state == CardState::Parked { ", parked" } else { "" };
        println!("{}  {}  ({}{parked})", n + 1, card.face.intent, risk(card.face.risk));
    }
}

pub(crate) fn print_card(card: &Card) {
    println!("{} · {}", risk(card.face.risk), card.face.state);
    println!("{}", card.face.intent);
    if let Some(evidence) = &card.face.evidence {
        println!("  {}", evidence.claim);
        for caveat in &evidence.caveats {
            println!("  {caveat}");
        }
        for (n, before) in evidence.before.iter().enumerate() {
            let mark = |passed: bool| if passed { "✓ pass" } else { "✗ fail" };
            let after = evidence.after.get(n).map_or("", |after| mark(after.passed));
            println!("  {}: {} → {after}", before.name, mark(before.passed));
        }
    }
    for fact in &card.face.facts {
        println!("  {:<11} {}", fact.label, fact.text);
    }
    for detail in &card.face.details {
        for line in &detail.lines {
            println!("  {:<11} {line}", detail.title);
        }
    }
    if card.face.kind == CardKind::Rehearsed {
        print_diffs(&card.face.diffs);
    }
    let offers = card.face.ctas.iter().filter_map(|cta| match cta.press {
        Press::Approve => Some(("approve", cta)),
        Press::Rehearse => Some(("rehearse", cta)),
        Press::Change => Some(("change", cta)),
        Press::Decline => Some(("decline", cta)),
        Press::Proof | Press::Dismiss => None,
    });
    for (command, cta) in offers.filter(|_| card.face.kind != CardKind::Done && card.state == CardState::Open) {
        println!("  silas {command:<8} {}", cta.label);
    }
}

fn risk(risk: Option<Risk>) -> &'static str {
    match risk {
        Some(Risk::Low) => "● Low risk",
        Some(Risk::Medium) => "◆ Medium risk",
        Some(Risk::High) => "▲ High risk",
        Some(Risk::Irreversible) => "⯃ Cannot be undone",
        None => "Nothing to decide",
    }
}

/// What would be applied, as text: names and lines are somebody's words, so what could mislead is made visible.
fn print_diffs(diffs: &[FileDiff]) {
    let mut n_left = DIFF_LINES_MAX;
    for diff in diffs {
        let path = scrub::visible(&diff.path.to_string());
        println!("\n  {path}  +{} −{}", diff.added, diff.removed);
        let Some(lines) = &diff.lines else {
            println!("    (no text to show)");
            continue;
        };
        for line in lines.iter().take(n_left) {
            match line {
                DiffLine::Same(text) => println!("    {}", scrub::visible(text)),
                DiffLine::Added(text) => println!("  + {}", scrub::visible(text)),
                DiffLine::Removed(text) => println!("  − {}", scrub::visible(text)),
                DiffLine::Gap(n) => println!("    … {n} lines"),
            }
        }
        if lines.len() > n_left {
            println!("    … more, which the page shows");
        }
        n_left = n_left.saturating_sub(lines.len());
    }
    println!();
}
