//! Whose words are whose in the terminal: whatever a model can have written is told from what Silas says, on every kind of
//! card that the runtime makes, on a wide screen, a narrow one and in a pipe.

use super::face::Extent;
use super::print::print_card;
use crate::out::heard::heard;
use serde_json::{Value, json};
use silas_core::card::{Card, CardState, Quote};
use silas_core::changeset::DiffLine;
use silas_core::check::CheckResult;
use silas_core::input::Input;
use silas_core::relpath::RelPath;
use silas_core::{Timestamp, hidden};
use std::collections::BTreeMap;

/// What somebody would like to have said by Silas, and a name that looks like its seal.
const BOASTS: [&str; 2] = ["x\n✓ Vouched — as you approved it", "Vouched"];
/// In every boast, and in nothing that Silas says.
const SEAL: &str = "Vouched";
const SCREENS: [Option<usize>; 3] = [None, Some(120), Some(44)];

/// One of each kind and more, as the runtime makes them; a test over there keeps the file true.
fn cards() -> BTreeMap<String, Card> {
    let all: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("../../../../web/tests/real-cards.json")).unwrap();
    let card = |(name, card): (String, Value)| {
        let made = json!({
            "id": "card-1", "state": CardState::Open, "created_at": Timestamp::EPOCH, "face": card["face"], "offer": null,
            "payload": card["payload"], "input": card["input"],
        });
        (name, serde_json::from_value(made).unwrap())
    };
    all.into_iter().map(card).collect()
}

/// The card with the boast wherever somebody else's words can stand on it.
fn boasting(card: &Card, boast: &str) -> Card {
    let mut card = card.clone();
    let face = &mut card.face;
    let said = || boast.to_owned();
    for fact in &mut face.facts {
        fact.text = hidden::name(boast);
    }
    for detail in &mut face.details {
        detail.lines.iter_mut().for_each(|line| *line = said());
    }
    face.asked = face.asked.as_ref().map(|_| said());
    face.quote = Some(Quote { who: "openai:gpt-5-mini".to_owned(), text: said() });
    let path = || RelPath::from_bytes(boast.as_bytes()).unwrap();
    if let Some(evidence) = &mut face.evidence {
        let old = evidence.before.first().map(|check| CheckResult { run: String::new(), ..check.clone() });
        evidence.before.extend(old.clone());
        evidence.after.extend(old);
        for check in evidence.before.iter_mut().chain(&mut evidence.after) {
            (check.name, check.output) = (said(), format!("{boast}\r\n{boast}\n"));
            if !check.run.is_empty() {
                check.run = said();
            }
        }
    }
    if let Some(versions) = &mut face.versions {
        for version in &mut versions.shown {
            version.lines = boast.split('\n').map(str::to_owned).collect();
        }
        for compared in &mut versions.compare {
            compared.path = said();
            compared.lines = vec![DiffLine::Same(said()), DiffLine::Removed(said()), DiffLine::Added(said())];
        }
    }
    for diff in &mut face.diffs {
        diff.renamed_from = diff.renamed_from.as_ref().map(|_| path());
        diff.path = path();
        diff.lines = Some(vec![DiffLine::Same(said()), DiffLine::Removed(said()), DiffLine::Added(said())]);
    }
    if let Some(Input::Inquiry(inquiry)) = &mut card.input {
        inquiry.question = said();
        inquiry.options.iter_mut().for_each(|option| *option = said());
    }
    card
}

/// A line without what can only be read as somebody else's: what follows a mark that Silas puts first, and what stands in a
/// quotation or as code.
fn own(line: &str) -> String {
    let line = line.trim_start();
    for mark in ["│ ", "┊ ", "| ", "+ ", "− ", "• "] {
        if line.starts_with(mark) {
            return String::new();
        }
    }
    for (lead, mark) in [("✓", "  $ "), ("✗", "  $ "), ("You ", "| "), ("Silas ", "| "), ("Both ", "| ")] {
        if let Some((lead, _)) = line.split_once(mark).filter(|_| line.starts_with(lead)) {
            return lead.to_owned();
        }
    }
    let mut out = String::new();
    let mut ends = None;
    for c in line.chars() {
        match (ends, c) {
            (Some(end), c) if c == end => ends = None,
            (Some(_), _) => {}
            (None, '“') => ends = Some('”'),
            (None, '‘') => ends = Some('’'),
            (None, '`') => ends = Some('`'),
            (None, c) => out.push(c),
        }
    }
    out
}

#[track_caller]
fn assert_told_apart(name: &str, printed: &str) {
    assert!(printed.contains(SEAL), "{name}: there is something to be told apart");
    for line in printed.lines() {
        assert!(!own(line).contains(SEAL), "{name}: `{line}`\n{printed}");
    }
}

/// A row has a label, which is Silas's, in the column before what stands beside it.
fn without_rows(card: &Card, printed: &str) -> String {
    let face = &card.face;
    let labels = face.facts.iter().map(|fact| &fact.label).chain(face.details.iter().map(|detail| &detail.title));
    let labels: Vec<&str> = labels.map(String::as_str).chain(["You asked"]).collect();
    let is_row = |line: &&str| {
        let line = line.strip_prefix("  ").unwrap_or_default();
        !labels.iter().any(|label| line.strip_prefix(label).is_some_and(|rest| rest.starts_with(' ')))
    };
    printed.lines().filter(is_row).collect::<Vec<_>>().join("\n")
}

#[test]
fn on_no_card_does_a_line_of_silas_hold_what_a_model_wrote() {
    for (name, card) in cards() {
        assert!(!serde_json::to_string(&card).unwrap().contains(SEAL), "{name}");
        for boast in BOASTS {
            let card = boasting(&card, boast);
            for columns in SCREENS {
                let printed = heard(columns, || print_card(&card, Extent::Whole));
                assert_told_apart(&format!("{name}, {columns:?}"), &without_rows(&card, &printed));
            }
        }
    }
}
