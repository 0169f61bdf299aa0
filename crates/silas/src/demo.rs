//! `silas demo`: the whole story in the terminal, on a repository of its own.
//!
//! It starts a real server with its own data directory and keys, and talks to it as any terminal would. Nothing is
//! pretended: the bug, the check, the sandbox, the approval, the proof and the undo are real. Only the patch is given,
//! and the screen says so.

use crate::home::Home;
use crate::terminal::{self, Line};
use crate::throwaway::{Place, Server};
use anyhow::{Result, bail};
use clap::Args;
use silas_core::card::{Card, CardKind, Press};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

#[derive(Args, Default)]
pub(crate) struct DemoArgs {
    /// Leave the data directory and the repository behind, for looking at.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// A tide table that adds a fixed hour to UTC, which is right in winter only.
const TABLE: &str = r#"#!/bin/sh
# Prints local high water in Vienna time for a time in UTC.
# usage: tides.sh "2026-07-01 10:00"
date -u -d "$1 UTC + 1 hour" "+high water %H:%M"
"#;

const CHECK: &str = r#"#!/bin/sh
# Winter and summer: 10:00 UTC is 11:00 and 12:00 in Vienna.
winter=$(sh tides.sh "2026-01-15 10:00")
summer=$(sh tides.sh "2026-07-15 10:00")
failed=0
expect() {
  if [ "$3" = "$4" ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; echo "  $3"; failed=1; fi
}
echo 1..2
expect 1 winter "$winter" "high water 11:00"
expect 2 summer "$summer" "high water 12:00"
exit $failed
"#;

const PATCH: &str = r#"--- a/tides.sh
+++ b/tides.sh
@@ -1,4 +1,4 @@
 #!/bin/sh
 # Prints local high water in Vienna time for a time in UTC.
 # usage: tides.sh "2026-07-01 10:00"
-date -u -d "$1 UTC + 1 hour" "+high water %H:%M"
+TZ="CET-1CEST,M3.5.0,M10.5.0/3" date -d "$1 UTC" "+high water %H:%M"
"#;

pub(crate) fn run(args: &DemoArgs) -> Result<ExitCode> {
    let place = match &args.keep {
        Some(path) => Place::kept(path)?,
        None => Place::temporary("demo")?,
    };
    let repository = place.path.join("tidepool");
    write_repository(&repository)?;
    let home = Home { path: place.path.join("data") };
    let server = Server::start(&home, &[])?;
    let outcome = play(&home, &repository);
    drop(server);
    let code = outcome?;
    match &args.keep {
        Some(keep) => println!(
            "\nKept: {}. Check the ledger: silas audit verify --data-dir {}",
            keep.display(),
            home.path.display()
        ),
        None => println!("\nEverything of this demo is gone again. Your own: `silas`."),
    }
    Ok(code)
}

fn play(home: &Home, repository: &Path) -> Result<ExitCode> {
    let started = Instant::now();
    let table = repository.join("tides.sh");
    let original = fs::read(&table)?;
    let apply = patch_command()?;
    println!("A small repository, tidepool, prints tide times one hour off in summer.");
    println!("The patch is given with the demo; a model could have written it. Everything else is real.\n");

    let mut line = Line::open(home)?;
    println!("First the house rules, which pairing a browser would sign: what Silas may do by itself.");
    line.send(&serde_json::json!({ "type": "house_rules" }))?;
    let card = await_card(&mut line, CardKind::HouseRules)?;
    show_and_approve(&mut line, &card)?;
    let wish = format!("run `{apply}` in `{}` and check with `sh check.sh`", repository.display());
    println!("\nYou      run {apply} in ./tidepool and check with sh check.sh");
    line.say(&wish)?;
    let card = await_card(&mut line, CardKind::Root)?;
    show_and_approve(&mut line, &card)?;
    println!("Silas    Trying it out in a private copy. Your files are untouched.");
    let card = await_card(&mut line, CardKind::Rehearsed)?;
    let item = card.offer.as_ref().map_or("", |offer| offer.work_item_id.as_str());
    line.follow(item, |step| println!("         {}{}", step.label, terminal::took(step.took_ms)), |_| {})?;
    if fs::read(&table)? != original {
        bail!("The demo was only rehearsed, but the file is not as it was.");
    }
    show_and_approve(&mut line, &card)?;
    let work = line.follow(item, |step| println!("         {}{}", step.label, terminal::took(step.took_ms)), |_| {})?;
    if work["outcome"] != "proved" {
        bail!("The demo did not end in a proof: {}", work["footer"]);
    }
    let changed = fs::read(&table)?;
    if changed == original {
        bail!("The demo was proved, but the file is as it was.");
    }
    let card = await_card(&mut line, CardKind::Done)?;
    println!("\nSilas    {}", card.face.intent);
    terminal::print_card(&card, terminal::Extent::Glance);
    println!("\nYou      undo (signed by this terminal's key)");
    let (recorded, message) = line.decide(&card, Press::Approve)?;
    println!("Silas    {message}");
    if !recorded || fs::read(&table)? != original {
        bail!("The undo did not bring the file back.");
    }
    line.send(&serde_json::json!({ "type": "verify" }))?;
    let answer = line.wait_for(|m| m["type"] == "verified")?;
    if !answer["report"]["broken"].is_null() {
        bail!("The ledger does not verify: {}", answer["report"]["broken"]);
    }
    println!(
        "Ledger   {} entries, unbroken. {:.1} s in all.",
        answer["report"]["n_entries"],
        started.elapsed().as_secs_f32()
    );
    Ok(ExitCode::SUCCESS)
}

fn await_card(line: &mut Line<'_>, kind: CardKind) -> Result<Card> {
    loop {
        if let Some(card) = line.cards.iter().find(|card| card.face.kind == kind) {
            return Ok(card.clone());
        }
        line.wait_for(|message| message["type"] == "cards")?;
    }
}

fn show_and_approve(line: &mut Line<'_>, card: &Card) -> Result<()> {
    println!();
    terminal::print_card(card, terminal::Extent::Glance);
    let label = card.face.ctas.first().map_or("approve", |cta| cta.label.as_str());
    println!("You      {label} (signed by this terminal's key)");
    let (recorded, message) = line.decide(card, Press::Approve)?;
    if !recorded {
        bail!("{message}");
    }
    println!("Silas    {message}");
    Ok(())
}

/// Debian has `patch` beside every compiler; `git` is the other common one.
fn patch_command() -> Result<String> {
    for (program, command) in
        [("patch", "patch -i fix.patch tides.sh"), ("git", "git apply --include=tides.sh fix.patch")]
    {
        if Path::new("/usr/bin").join(program).exists() {
            return Ok(command.to_owned());
        }
    }
    bail!("The demo needs `patch` or `git` in /usr/bin. Install one of them, for example with `apt-get install patch`.")
}

fn write_repository(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    for (name, text) in [("tides.sh", TABLE), ("check.sh", CHECK), ("fix.patch", PATCH)] {
        fs::write(directory.join(name), text)?;
    }
    Ok(())
}
