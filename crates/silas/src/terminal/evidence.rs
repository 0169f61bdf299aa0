//! What stands behind one row of Activity, in the terminal. Everything is the runtime's word; only times are put on the wall
//! clock here.

use super::line::Line;
use super::print::print_json;
use super::quoted;
use crate::wall_clock;
use anyhow::Result;
use serde_json::json;
use silas_runtime::view::EvidenceView;

/// The longest label there is, and a space.
const LABEL_WIDTH: usize = 12;

pub(super) fn print(line: &mut Line<'_>, seq: u64, as_json: bool) -> Result<()> {
    line.send(&json!({ "type": "evidence", "seq": seq }))?;
    let answer = line.wait_for(|message| message["type"] == "evidence" && message["evidence"]["seq"] == seq)?;
    if as_json {
        return print_json(&answer["evidence"]);
    }
    let evidence: EvidenceView = serde_json::from_value(answer["evidence"].clone())?;
    let note = if evidence.note.is_empty() { String::new() } else { format!(" {}", evidence.note) };
    println!("{}.{note}", evidence.text);
    let fact = |label: &str, text: &str| {
        let lead = format!("  {label:<LABEL_WIDTH$}");
        quoted::print(&lead, lead.chars().count(), text);
    };
    for told in &evidence.facts {
        fact(&told.label, &told.text);
    }
    fact("When", &wall_clock::of_wire(&evidence.link.at.to_string(), wall_clock::second));
    for quote in &evidence.quotes {
        println!("  {}:", quote.who);
        quote.text.split('\n').for_each(|line| quoted::print("  | ", 4, line));
    }
    let holds = if evidence.holds { "and fits its content" } else { "AND DOES NOT FIT ITS CONTENT" };
    fact("Entry", &format!("{} of the ledger, {}", evidence.seq, evidence.link.event));
    fact("Hash", &format!("{}, {holds}", evidence.link.hash));
    if let Some(execution) = &evidence.proof {
        println!("The proof of this work: `silas work show {execution}`");
    }
    if !evidence.holds {
        println!("Approve nothing, and check the ledger: `silas audit verify`");
    }
    Ok(())
}
