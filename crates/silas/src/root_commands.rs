//! `silas root`: the directories in which plans may work. Each is a grant like any other; here they are by themselves.
//!
//! Allowing one is a card, the same that a wish for it would make, signed with the terminal's key. It lets plans be offered
//! there; what a plan may do is still each plan's own question.

use crate::exit::{BadInput, Unreadable};
use crate::grant_commands::{all, withdraw};
use crate::home::Home;
use crate::terminal::{self, CardArgs, Line, Named, Output, name_of, print_json, with_name};
use crate::wall_clock::day;
use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use silas_core::card::{Card, Press};
use silas_core::revocation::Withdrawn;
use silas_runtime::view::GrantView;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum RootCommand {
    /// List the directories in which plans may work, each with its name.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Allow plans in a directory: shows what that means, asks you at a terminal, and signs. Nothing changes there without your yes.
    Add {
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
        #[arg(long, help = terminal::YES)]
        yes: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Take a directory back, at once. What was done in it stays; work under way in it ends.
    Remove {
        /// The directory, its name in `silas root list`, five letters, or its token.
        #[arg(value_name = "DIRECTORY|NAME")]
        root: String,
    },
}

const ROOT: Named = Named { noun: "directory", list: "silas root list" };

pub(crate) fn run(home: &Home, command: RootCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    match command {
        RootCommand::List { output } => list(&roots(&mut line)?, output),
        RootCommand::Add { directory, yes, output } => add(&mut line, &directory, CardArgs::found(yes, output)),
        RootCommand::Remove { root } => remove(&mut line, &root),
    }
}

fn roots(line: &mut Line<'_>) -> Result<Vec<GrantView>> {
    Ok(all(line)?.into_iter().filter(|grant| grant.directory.is_some()).collect())
}

fn path(grant: &GrantView) -> &str {
    grant.directory.as_deref().unwrap_or_default()
}

fn list(roots: &[GrantView], output: Output) -> Result<ExitCode> {
    if output.json {
        print_json(&roots.iter().map(|grant| with_name(grant, grant.token.as_str())).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if roots.is_empty() {
        println!(
            "Plans may work in no directory yet. `silas root add DIRECTORY` allows one; a wish for one asks, too."
        );
    }
    for grant in roots {
        println!("{}  {}  (since {})", name_of(grant.token.as_str()), path(grant), day(grant.since));
    }
    Ok(ExitCode::SUCCESS)
}

fn add(line: &mut Line<'_>, directory: &Path, args: CardArgs) -> Result<ExitCode> {
    // The server was started elsewhere, so a relative name means something else to it.
    let whole = std::path::absolute(directory).map_err(|cause| Unreadable::new(directory, &cause))?;
    let whole = whole.to_str().ok_or_else(|| BadInput("The name of the directory is not valid text.".to_owned()))?;
    line.send(&json!({ "type": "root_add", "path": whole }))?;
    let answer = line.wait_for(|message| message["type"] == "asked")?;
    let card: Card = serde_json::from_value(answer["card"].clone())?;
    terminal::answer_found(line, card, Press::Approve, &args)
}

fn remove(line: &mut Line<'_>, said: &str) -> Result<ExitCode> {
    let roots = roots(line)?;
    // A directory is its own name, also one that is gone from the disk.
    let typed = std::path::absolute(said).ok();
    let real = typed.as_ref().and_then(|typed| typed.canonicalize().ok());
    let is_it = |grant: &&GrantView| [&typed, &real].into_iter().flatten().any(|meant| meant == Path::new(path(grant)));
    let grant = match roots.iter().find(is_it) {
        Some(grant) => grant,
        None => ROOT.find(&roots, |grant| grant.token.as_str(), said)?,
    };
    println!("Revoking: {}. {}", grant.title, grant.text);
    withdraw(line, Withdrawn::Grant(grant.token.clone()))
}
