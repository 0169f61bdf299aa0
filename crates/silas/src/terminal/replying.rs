//! `silas answer`: what a model that has a question is told, in one of the answers that it proposes or in other words.
//!
//! Deliberately absent: any confirmation. An answer allows nothing; the plan that comes of it asks.

use super::{Answered, CardArgs, Line};
use super::{answering, line};
use crate::exit::BadInput;
use anyhow::{Result, bail};
use serde_json::json;
use silas_core::card::Card;
use silas_core::input::Input;
use silas_core::inquiry::Inquiry;
use silas_runtime::Words;
use std::process::ExitCode;

pub(super) fn run(line: &mut Line<'_>, said: &str, args: &CardArgs) -> Result<ExitCode> {
    let meant = answering::meant(line, args, "answer \"YOUR WORDS\"", |card| inquiry_of(card).is_some())?;
    let Some(card) = meant.confirmed(None, "answer", args)? else {
        println!("Not confirmed. Nothing was answered.");
        return Ok(ExitCode::FAILURE);
    };
    let Some(inquiry) = inquiry_of(&card) else {
        bail!("This card asks nothing that is answered in words. `silas review` lists what waits.");
    };
    if !Words::new(None).shows_what_it_asks(&card) {
        bail!("This card and what it asks differ. Nothing was answered.");
    }
    line.answer(&card, &words(inquiry, said)?)?;
    let id = json!(card.id);
    let answer = line.wait_for(|m| m["type"] == "decided" && m["request_id"] == id)?;
    let (recorded, message) = line::outcome(&answer);
    Answered { recorded, message, work: None, report: None }.tell(args.output)
}

fn inquiry_of(card: &Card) -> Option<&Inquiry> {
    card.input.as_ref().and_then(Input::inquiry)
}

/// A number stands for the answer that it is before on the card.
fn words(inquiry: &Inquiry, said: &str) -> Result<String> {
    let Ok(place) = said.trim().parse::<usize>() else { return Ok(said.to_owned()) };
    let option = place.checked_sub(1).and_then(|n| inquiry.options.get(n));
    let n = inquiry.options.len();
    let odd = || BadInput(format!("There is no answer {place}. The card has {n}; or write it out in words."));
    Ok(option.ok_or_else(odd)?.clone())
}
