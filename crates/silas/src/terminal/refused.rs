//! Whether a wish that was said was taken up, so that a script can tell by the exit code.
//!
//! An answer is prose, and stays it. What shows is what came of the wish: a card, work, or a question that it waits for. Only
//! wishes that reflex reads as work are judged; a talk with a model has no exit code of its own.

use super::line::Line;
use anyhow::Result;
use serde_json::{Value, json};
use silas_core::CardId;
use silas_core::reflex::{self, Decision};

pub(super) struct Wish {
    /// What was there before it was said; `None` for words that ask for no work.
    before: Option<(Vec<CardId>, Value)>,
}

impl Wish {
    pub(super) fn read(line: &mut Line<'_>, text: &str) -> Result<Self> {
        let asks_for_work =
            matches!(reflex::decide(text), Decision::RunAndCheck { .. } | Decision::Plan | Decision::PutBack);
        let before = match asks_for_work {
            true => Some((line.cards.iter().map(|card| card.id.clone()).collect(), newest_work(line)?)),
            false => None,
        };
        Ok(Wish { before })
    }

    /// After the answer has come: cards are told before it, and work is on disk with it.
    pub(super) fn is_refused(&self, line: &mut Line<'_>, answer: &str) -> Result<bool> {
        let Some((cards, newest)) = &self.before else { return Ok(false) };
        let has_card = line.cards.iter().any(|card| !cards.contains(&card.id));
        // A second wish for one directory waits for the card of the first.
        let waits = answer.contains("Review");
        Ok(!has_card && !waits && newest_work(line)? == *newest)
    }
}

/// The execution that was begun last; null if there was none yet.
fn newest_work(line: &mut Line<'_>) -> Result<Value> {
    line.send(&json!({ "type": "work_list", "from": 0 }))?;
    let answer = line.wait_for(|message| message["type"] == "work_list")?;
    Ok(answer["work_list"][0]["execution"].clone())
}
