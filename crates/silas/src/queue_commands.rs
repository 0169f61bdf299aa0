//! `silas queue`: messages that were put aside after too many attempts, and trying one again.

use crate::home::Home;
use crate::terminal::{Line, Named, Output, name_of, print_json, with_name};
use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use silas_runtime::view::DeadLetterView;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum QueueCommand {
    /// List what could not be done and was put aside, each with its name.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Have one of them tried again.
    Revive {
        /// Its name in `silas queue list`, five letters, or its id.
        #[arg(value_name = "MESSAGE")]
        message: String,
    },
}

const MESSAGE: Named = Named { noun: "message that was put aside", list: "silas queue list" };

pub(crate) fn run(home: &Home, command: QueueCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    let letters = dead_letters(&mut line)?;
    match command {
        QueueCommand::List { output: Output { json: true } } => {
            print_json(&letters.iter().map(|one| with_name(one, one.message.as_str())).collect::<Vec<_>>())?;
        }
        QueueCommand::List { .. } => list(&letters),
        QueueCommand::Revive { message } => revive(&mut line, &letters, &message)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn dead_letters(line: &mut Line<'_>) -> Result<Vec<DeadLetterView>> {
    line.send(&json!({ "type": "dead_letters" }))?;
    let answer = line.wait_for(|message| message["type"] == "dead_letters")?;
    Ok(serde_json::from_value(answer["dead_letters"].clone())?)
}

fn list(letters: &[DeadLetterView]) {
    if letters.is_empty() {
        println!("Nothing was put aside.");
    }
    for letter in letters {
        println!(
            "{}  {}  ({} attempts, {})",
            name_of(letter.message.as_str()),
            letter.text,
            letter.attempts,
            letter.message
        );
    }
}

fn revive(line: &mut Line<'_>, letters: &[DeadLetterView], said: &str) -> Result<()> {
    let letter = MESSAGE.find(letters, |letter| letter.message.as_str(), said)?;
    line.send(&json!({ "type": "revive", "message": letter.message }))?;
    let answer = line.wait_for(|message| message["type"] == "done")?;
    println!("{}: {}", letter.text, answer["message"].as_str().unwrap_or_default());
    Ok(())
}
