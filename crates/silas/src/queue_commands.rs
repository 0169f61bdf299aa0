//! `silas queue`: messages that were put aside after too many attempts, and trying one again.

use crate::home::Home;
use crate::terminal::Line;
use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::json;
use silas_runtime::view::DeadLetterView;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum QueueCommand {
    /// List what could not be done and was put aside, numbered.
    List,
    /// Have one of them tried again.
    Revive {
        /// Its number in `silas queue list`, or its id.
        #[arg(value_name = "NUMBER|ID")]
        message: String,
    },
}

pub(crate) fn run(home: &Home, command: QueueCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    let letters = dead_letters(&mut line)?;
    match command {
        QueueCommand::List => list(&letters),
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
    for (n, letter) in letters.iter().enumerate() {
        println!("{:>3}  {}  ({} attempts, {})", n + 1, letter.text, letter.attempts, letter.message);
    }
}

fn revive(line: &mut Line<'_>, letters: &[DeadLetterView], said: &str) -> Result<()> {
    let letter = match said.parse::<usize>() {
        Ok(n) => letters
            .get(n.wrapping_sub(1))
            .with_context(|| format!("There is no message {n} on the list. `silas queue list` shows the numbers."))?,
        Err(_) => letters
            .iter()
            .find(|letter| letter.message.as_str() == said)
            .with_context(|| format!("No message with the id {said} was put aside. `silas queue list` shows them."))?,
    };
    line.send(&json!({ "type": "revive", "message": letter.message }))?;
    let answer = line.wait_for(|message| message["type"] == "done")?;
    println!("{}: {}", letter.text, answer["message"].as_str().unwrap_or_default());
    Ok(())
}
