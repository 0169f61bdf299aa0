//! `silas audit forget`: has the text of one ledger entry forgotten, for good.
//!
//! It shows what would go first. Only with `--yes` the exact words are signed with the terminal's key and handed in.

use crate::arguments;
use crate::home::Home;
use crate::terminal::{Line, quoted};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use silas_core::message::OWNER_SCOPE;
use silas_runtime::view::LedgerTextView;
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct ForgetArgs {
    /// The number of the entry, as `silas audit list` shows it.
    #[arg(value_name = "NUMBER", value_parser = arguments::entry)]
    seq: u64,
    /// Forget it. Without this it is only shown; it cannot be taken back.
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(home: &Home, args: &ForgetArgs) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    line.send(&json!({ "type": "ledger_text", "seq": args.seq }))?;
    let answer = line.wait_for(|message| message["type"] == "ledger_text")?;
    let entry: LedgerTextView = serde_json::from_value(answer["entry"].clone())?;
    let Some(text) = &entry.text else {
        println!("Entry {} ({}) has no text, or it is forgotten already.", entry.seq, entry.event);
        return Ok(ExitCode::FAILURE);
    };
    println!("Entry {}, {}, {}:\n", entry.seq, entry.event, entry.at);
    quoted::marked(text).iter().for_each(|line| println!("{line}"));
    println!();
    if !args.yes {
        println!("`silas audit forget {} --yes` has this forgotten, with the copies in what was said,", entry.seq);
        println!("planned and shown. It cannot be taken back. Tasks, backups and the pages of browsers that are");
        println!("open keep what they have.");
        return Ok(ExitCode::SUCCESS);
    }
    let message = line.signed(&silas_runtime::forget_words(args.seq), OWNER_SCOPE)?;
    line.send(&json!({ "type": "forget", "seq": args.seq, "message": message }))?;
    let answer = line.wait_for(|message| message["type"] == "done")?;
    println!("{}", answer["message"].as_str().unwrap_or_default());
    Ok(ExitCode::SUCCESS)
}
