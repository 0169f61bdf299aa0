//! `silas say`: a sentence from the command line or from a pipe, its answer, and with `--wait` what came of it.

use super::line::{Line, came_of};
use super::progress::Progress;
use super::quoted;
use super::{Output, print_cards, print_json};
use crate::exit::BadInput;
use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};
use silas_core::card::{CardKind, CardState};
use silas_core::message::{CameOf, MESSAGE_BYTES_MAX};
use silas_core::number::grouped;
use std::cell::RefCell;
use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct SayArgs {
    /// What to say; several words need no quotes. `-` at the end stands for what comes by standard input, and so does nothing.
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Wait until what it leads to is done or needs no more of you, and exit with 1 if it was refused, declined or failed.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    output: Output,
}

impl SayArgs {
    /// For a command that has the words already.
    pub(crate) fn of(text: String) -> Self {
        SayArgs { words: vec![text], wait: false, output: Output::default() }
    }

    fn text(&self) -> Result<String> {
        let (last, before) = match self.words.split_last() {
            Some((last, before)) if last == "-" => (None, before),
            Some(_) => (Some(()), self.words.as_slice()),
            None if std::io::stdin().is_terminal() => {
                bail!(BadInput("Say what? As in: silas say add task buy milk".to_owned()))
            }
            None => (None, &[][..]),
        };
        let said = before.join(" ");
        if last.is_some() {
            return Ok(said);
        }
        let mut piped = Vec::new();
        std::io::stdin().lock().take(MESSAGE_BYTES_MAX as u64 + 1).read_to_end(&mut piped)?;
        if piped.len() > MESSAGE_BYTES_MAX {
            bail!(BadInput(format!(
                "What came by standard input is longer than a message may be, {} bytes. Nothing was said.",
                grouped(MESSAGE_BYTES_MAX)
            )));
        }
        let Ok(piped) = String::from_utf8(piped) else {
            bail!(BadInput("What came by standard input is not text. Nothing was said.".to_owned()));
        };
        let piped = piped.trim_end();
        if said.is_empty() && piped.trim().is_empty() {
            bail!(BadInput("Nothing came by standard input, so nothing was said.".to_owned()));
        }
        Ok(if said.is_empty() { piped.to_owned() } else { format!("{said}\n\n{piped}") })
    }
}

pub(super) fn run(line: &mut Line<'_>, args: &SayArgs) -> Result<ExitCode> {
    let (text, output) = (args.text()?, args.output);
    let n_known = line.cards.len();
    let before: Vec<String> = line.cards.iter().map(|card| card.id.to_string()).collect();
    line.interrupt_on_ctrl_c()?;
    let mut shown = Shown::default();
    let answer = line.ask(&text, |message| {
        if message["type"] == "draft" && !output.json {
            if message["draft"]["is_second"] == true && message["draft"]["text"] == "" {
                print!("{}", shown.spoken.end());
                println!("{ASKED_AGAIN}");
            }
            shown.draft(message["draft"]["text"].as_str().unwrap_or_default());
        }
    })?;
    let is_refused = came_of(&answer) == CameOf::Refused;
    if !output.json {
        let is_quoted = answer["in_models_words"] == true;
        shown.whole(answer["text"].as_str().unwrap_or_default(), is_quoted);
        if line.cards.len() > n_known {
            println!();
            print_cards(&line.cards);
        }
    }
    let result = if args.wait { result_of(line, &answer, &before, output)? } else { None };
    let is_done = match &result {
        Some(result) => result.is_good,
        None => !is_refused,
    };
    if output.json {
        let mut said = json!({ "entry": answer, "cards": line.cards, "refused": is_refused });
        if let Some(work) = result.and_then(|result| result.work) {
            said["work"] = work;
        }
        print_json(&said)?;
    }
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a sentence has led to.
struct Led {
    is_good: bool,
    work: Option<Value>,
}

/// How long work may take to begin once the card that asked about it is gone.
const BEGINS_WITHIN: Duration = Duration::from_secs(5);

/// Follows what this answer announces to its end. `None` where the answer was all there is.
fn result_of(line: &mut Line<'_>, answer: &Value, before: &[String], output: Output) -> Result<Option<Led>> {
    let said = answer["answers"]["message"].clone();
    let mut came_of = came_of(answer);
    if matches!(came_of, CameOf::Answered | CameOf::Done | CameOf::Refused) {
        return Ok(None);
    }
    let progress = RefCell::new(Progress::new(!output.json));
    let mut was_asked = line.cards.iter().any(|card| is_asking(card, before));
    loop {
        if let Some(work) = line.work_of(&said) {
            let item = work["work_item"].as_str().unwrap_or_default().to_owned();
            let printed = |output: &_| progress.borrow_mut().printed(output);
            let work = line.follow(&item, |step| progress.borrow_mut().step(step), printed)?;
            progress.borrow().end();
            let is_good = work["place"] == "Applied" || work["place"] == "Rehearsed" || work["outcome"] == "guarded";
            if !output.json {
                println!("{}", work["footer"].as_str().unwrap_or_default());
            }
            return Ok(Some(Led { is_good, work: Some(work) }));
        }
        let is_asked = line.cards.iter().any(|card| is_asking(card, before));
        // Whoever said no to the plan ends it; what only stood in the way is followed by an answer of its own.
        line.wait_at_most(if was_asked && !is_asked { BEGINS_WITHIN } else { PATIENCE })?;
        was_asked |= is_asked;
        let heard = line.wait_for(|message| matches!(message["type"].as_str(), Some("work" | "cards" | "message")));
        let message = match heard {
            Ok(message) => message,
            Err(cause) if is_late(&cause) && was_asked && !is_asked => {
                return Ok(Some(Led { is_good: false, work: None }));
            }
            // Nothing is said for hours while somebody thinks about a card.
            Err(cause) if is_late(&cause) => continue,
            Err(cause) => return Err(cause),
        };
        let entry = &message["entry"];
        if message["type"] == "message" && entry["answers"]["message"] == said {
            came_of = super::came_of(entry);
            if !output.json {
                let is_quoted = entry["in_models_words"] == true;
                Shown::default().whole(entry["text"].as_str().unwrap_or_default(), is_quoted);
            }
            if came_of == CameOf::Refused {
                return Ok(Some(Led { is_good: false, work: None }));
            }
            was_asked = false;
        }
    }
}

/// The longest that this waits in one go.
const PATIENCE: Duration = Duration::from_secs(3600);

fn is_late(cause: &anyhow::Error) -> bool {
    let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(kind, Some(std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut))
}

/// A question that was not there before.
fn is_asking(card: &silas_core::card::Card, before: &[String]) -> bool {
    let is_new = !before.contains(&card.id.to_string());
    is_new && card.state == CardState::Open && card.offer.is_some() && card.face.kind == CardKind::Plan
}

/// Said where sentences were shown that turned out to be no answer.
pub(crate) const ASKED_AGAIN: &str = "(That could not be used as an answer. The model is asked once more.)";

/// An answer on its way to the screen, sentence by sentence. A model's words are marked line by line, so that none of them
/// can be taken for Silas's own.
#[derive(Default)]
struct Shown {
    text: String,
    spoken: quoted::Spoken,
}

impl Shown {
    /// All that the model said so far; what goes on is added, what begins again begins on a new line.
    fn draft(&mut self, text: &str) {
        match text.strip_prefix(self.text.as_str()) {
            Some(more) => print!("{}", self.spoken.more(more)),
            None => print!("{}{}", self.spoken.end(), self.spoken.more(text)),
        }
        self.text = text.to_owned();
        // A reader that is gone is noticed at the next line.
        let _flushed = std::io::stdout().flush();
    }

    /// The answer as it stands; only what is not there yet is written.
    fn whole(&mut self, text: &str, is_quoted: bool) {
        if is_quoted || !self.text.is_empty() {
            self.draft(text);
            print!("{}", self.spoken.end());
        } else {
            println!("{}", silas_core::hidden::strict(text));
        }
    }
}
