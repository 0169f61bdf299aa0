//! `silas run -- COMMAND`: the sentence "run COMMAND in DIRECTORY", said and followed to its end. What the command printed goes
//! where it would have gone, its exit code is passed on, and what it changed waits in its private copy.
//!
//! What was typed here is the order, so the terminal signs on the spot what leads to a private copy and nothing else, as
//! `silas sandbox` does. Whether plans may work in the directory at all is asked.

use super::line::{Line, came_of};
use super::{CardArgs, Output, YES, answer_found, name_of, print_json};
use crate::exit::BadInput;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use silas_core::canonical;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::check::Command;
use silas_core::message::CameOf;
use silas_core::number::grouped;
use silas_core::reflex::{self, Decision};
use silas_core::roots::RootGrant;
use silas_core::work::WorkItem;
use silas_runtime::view::RanView;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Another directory than the current one.
    #[arg(long = "in", value_name = "DIR")]
    directory: Option<PathBuf>,
    #[arg(long, help = YES)]
    yes: bool,
    #[command(flatten)]
    output: Output,
    /// The command and its arguments; one word with blanks in it is given to a shell.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// It did not run, as `silas sandbox` and `env` say it.
const NOT_RUN: u8 = 125;

pub(super) fn run(line: &mut Line<'_>, args: &RunArgs) -> Result<ExitCode> {
    let (said, directory) = sentence(args)?;
    let known: Vec<String> = line.cards.iter().map(|card| card.id.to_string()).collect();
    let answer = line.ask(&said, |_| {})?;
    let message = answer["answers"]["message"].clone();
    if let Some(code) = told(&answer) {
        return Ok(code);
    }
    let (mut is_root_asked, mut is_plan_asked) = (false, false);
    let work = loop {
        if let Some(work) = line.work_of(&message) {
            let item = work["work_item"].as_str().unwrap_or_default().to_owned();
            break line.follow(&item, |_| {}, |_| {})?;
        }
        let asked = line.all_cards()?;
        if let Some(card) = asked.iter().find(|card| !is_root_asked && is_about(card, &directory)).cloned() {
            is_root_asked = true;
            if let Some(code) = allow(line, card, args)? {
                return Ok(code);
            }
            continue;
        }
        let is_ours = |card: &&Card| !known.contains(&card.id.to_string()) && is_plan_of(card, &said);
        if let Some(card) = asked.iter().find(|card| !is_plan_asked && is_ours(card)) {
            is_plan_asked = true;
            let press = if card.show_first.is_some() { Press::Rehearse } else { Press::Approve };
            let (recorded, message) = line.decide(card, press)?;
            if !recorded {
                bail!("{message}");
            }
            continue;
        }
        let heard = line.wait_for(|heard| matches!(heard["type"].as_str(), Some("work" | "cards" | "message")))?;
        if heard["type"] == "message"
            && heard["entry"]["answers"]["message"] == message
            && let Some(code) = told(&heard["entry"])
        {
            return Ok(code);
        }
    };
    tell(line, &work, args)
}

/// What is said, and where that is.
fn sentence(args: &RunArgs) -> Result<(String, String)> {
    let here = || std::env::current_dir().context("The current directory cannot be told.");
    let directory = match &args.directory {
        Some(directory) => here()?.join(directory),
        None => here()?,
    };
    let directory = std::fs::canonicalize(&directory)
        .map_err(|cause| BadInput(format!("{}: {}.", directory.display(), crate::exit::in_words(&cause))))?;
    let Some(directory) = directory.to_str().map(str::to_owned) else {
        bail!(BadInput("The name of this directory is not text, so it cannot be said.".to_owned()));
    };
    let command = match args.command.as_slice() {
        [script] => script.clone(),
        words => Command::Argv(words.to_vec()).words(),
    };
    let said = format!("run {} in {}", reflex::quote(&command), reflex::quote(&directory));
    let reads_back = matches!(
        reflex::decide(&said),
        Decision::Run { run, directories, .. } if run == command && directories == [directory.as_str()]
    );
    if !reads_back {
        bail!(BadInput("This command cannot be said in one sentence. Put it into a script and run that.".to_owned()));
    }
    Ok((said, directory))
}

/// Why nothing runs, if that was the answer.
fn told(entry: &Value) -> Option<ExitCode> {
    (came_of(entry) == CameOf::Refused).then(|| {
        eprintln!("{}", silas_core::hidden::strict(entry["text"].as_str().unwrap_or_default()));
        ExitCode::from(NOT_RUN)
    })
}

/// Whether plans may work there is the owner's to say; a pipe is told how, and leaves nothing behind that waits.
fn allow(line: &mut Line<'_>, card: Card, args: &RunArgs) -> Result<Option<ExitCode>> {
    let is_watched = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_watched || args.yes {
        answer_found(line, card.clone(), Press::Approve, &CardArgs::found(args.yes, Output::default()))?;
        if !line.all_cards()?.iter().any(|open| open.id == card.id && open.state == CardState::Open) {
            return Ok(None);
        }
    }
    line.decide(&card, Press::Decline)?;
    eprintln!("Plans may not work in this directory. `silas root add .` allows it; nothing ran.");
    Ok(Some(ExitCode::from(NOT_RUN)))
}

fn is_about(card: &Card, directory: &str) -> bool {
    let grant = card.payload.as_deref().and_then(|payload| canonical::read::<RootGrant>(payload).ok());
    let is_it = grant.is_some_and(|grant| silas_core::roots::contains(&grant.place.path, directory));
    card.face.kind == CardKind::Root && card.state == CardState::Open && is_it
}

fn is_plan_of(card: &Card, said: &str) -> bool {
    let plan = card.payload.as_deref().filter(|_| card.face.kind == CardKind::Plan);
    let item = plan.and_then(|plan| WorkItem::from_canonical(plan).ok());
    card.state == CardState::Open && item.is_some_and(|item| item.definition().body.trim() == said)
}

/// What it printed, what it changed, and its exit code.
fn tell(line: &mut Line<'_>, work: &Value, args: &RunArgs) -> Result<ExitCode> {
    let execution = work["execution"].clone();
    line.send(&json!({ "type": "proof", "execution": execution }))?;
    let answer = line.wait_for(|m| m["type"] == "proof" && m["proof"]["execution"] == execution)?;
    let proof = &answer["proof"];
    let ran: Vec<RanView> = serde_json::from_value(proof["ran"].clone()).unwrap_or_default();
    let called = name_of(execution.as_str().unwrap_or_default());
    let n_changed = proof["diffs"].as_array().map_or(0, Vec::len);
    let code = ran.first().map_or(NOT_RUN, |ran| u8::try_from(ran.exit_code & 0xff).unwrap_or(NOT_RUN));
    if args.output.json {
        print_json(&json!({ "work": work, "ran": ran.first(), "exit": code, "diffs": proof["diffs"] }))?;
        return Ok(ExitCode::from(code));
    }
    let Some(ran) = ran.first() else {
        let report = line.report()?.map_or_else(|| "It did not run.".to_owned(), |card| card.face.intent);
        eprintln!("{report}. `silas work show {called}` tells more.");
        return Ok(ExitCode::from(code));
    };
    // As it was printed, apart from characters that could mislead a terminal.
    let mut out = std::io::stdout().lock();
    let _gone = out.write_all(ran.stdout.as_bytes()).and_then(|()| out.flush());
    eprint!("{}", ran.stderr);
    if ran.is_cut {
        eprintln!("silas: more was printed than is kept");
    }
    if work["place"] == "Rehearsed" {
        let files = if n_changed == 1 { "1 file".to_owned() } else { format!("{} files", grouped(n_changed)) };
        eprintln!(
            "silas: it changed {files} in a private copy; yours are as they were. Look: silas work diff {called}. Put in \
             place: silas work apply {called}"
        );
    } else if let Some(failed) = &ran.failed {
        eprintln!("silas: {failed}");
    }
    Ok(ExitCode::from(code))
}
