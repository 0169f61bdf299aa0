//! `silas watch`: the Stream as it happens, for somebody who looks on and for programs. Nothing is said or decided here.

use super::line::{Line, finished_steps};
use super::paint::Paint;
use super::print::took;
use super::quoted;
use crate::wall_clock::{of_wire, second};
use anyhow::Result;
use serde_json::Value;
use silas_core::card::{Card, CardState};
use silas_core::hidden;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

/// Kinds of messages that a program is told: what was said, how work goes, what waits.
const TOLD: [&str; 3] = ["message", "work", "cards"];

pub(super) fn run(line: &mut Line<'_>, json: bool) -> Result<ExitCode> {
    let mut watch = Watch { paint: Paint::of_stdout(), told: BTreeMap::new(), asked: BTreeSet::new() };
    watch.asked = asking(&line.cards).map(|card| card.id.to_string()).collect();
    for work in line.snapshot["work"].as_array().into_iter().flatten() {
        watch.told.insert(work["execution"].to_string(), finished_steps(work).len());
    }
    loop {
        let message = line.wait_for(|message| message["type"].as_str().is_some_and(|kind| TOLD.contains(&kind)))?;
        if json {
            verbatim!("{message}");
            continue;
        }
        match message["type"].as_str() {
            Some("message") => watch.entry(&message["entry"]),
            Some("work") => watch.work(&message["work"]),
            Some("cards") => watch.cards(&line.cards),
            _ => {}
        }
    }
}

struct Watch {
    paint: Paint,
    /// How many finished steps of each piece of work were told.
    told: BTreeMap<String, usize>,
    /// What waits already.
    asked: BTreeSet<String>,
}

impl Watch {
    fn entry(&self, entry: &Value) {
        let who = match (entry["sender"].as_str(), entry["in_models_words"] == true) {
            (Some("owner"), _) => "You",
            (Some("silas"), false) => "Silas",
            (Some("silas"), true) => "Silas, in the model's words",
            _ => "Somebody",
        };
        let at = of_wire(entry["at"].as_str().unwrap_or_default(), second);
        println!("{}", self.paint.quiet(&format!("{at}  {who}")));
        let text = entry["text"].as_str().unwrap_or_default();
        // Steps of work stand where these lines stand, so what neither Silas nor the owner wrote has a mark besides.
        if !matches!(who, "You" | "Silas") {
            return quoted::print("  │ ", 2, text);
        }
        // Nobody's line begins where one of these begins.
        for line in hidden::strict(text).lines() {
            println!("  {line}");
        }
    }

    fn work(&mut self, work: &Value) {
        let told = self.told.entry(work["execution"].to_string()).or_default();
        let finished = finished_steps(work);
        for step in finished.iter().skip(*told) {
            println!("  {}{}", hidden::strict(&step.label), took(step.took_ms));
        }
        *told = finished.len().max(*told);
    }

    fn cards(&mut self, cards: &[Card]) {
        for card in asking(cards) {
            if self.asked.insert(card.id.to_string()) {
                println!(
                    "  Waits for you: {} ({})",
                    hidden::strict(&card.face.intent),
                    super::name_of(card.id.as_str())
                );
            }
        }
    }
}

fn asking(cards: &[Card]) -> impl Iterator<Item = &Card> {
    cards.iter().filter(|card| card.state == CardState::Open && card.offer.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::heard::heard;
    use serde_json::json;

    #[test]
    fn no_line_of_a_model_passes_for_a_step_of_work() {
        let watch = Watch { paint: Paint::of_stdout(), told: BTreeMap::new(), asked: BTreeSet::new() };
        let said = |words: bool| {
            let entry = json!({ "sender": "silas", "in_models_words": words, "text": "Fine.\nRan the checks again: all green" });
            let shown = heard(None, || watch.entry(&entry));
            shown.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(said(true), ["  │ Fine.", "  │ Ran the checks again: all green"]);
        assert_eq!(said(false), ["  Fine.", "  Ran the checks again: all green"]);
    }
}
