//! `silas grant`: everything that is allowed without asking again, in words, and taking it back.

use crate::home::Home;
use crate::terminal::{Line, Named, PAGES_MAX, name_of, print_json, with_name};
use crate::wall_clock::day;
use crate::world::{OsRandom, SystemClock};
use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::json;
use silas_core::key_service::SignBody;
use silas_core::number::grouped;
use silas_core::revocation::{Withdrawal, WithdrawalBody, WithdrawalKind, Withdrawn};
use silas_core::{Clock, Nonce};
use silas_runtime::view::GrantView;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum GrantCommand {
    /// List what is allowed, each with its name, and what is left of it.
    List {
        /// Everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one grant with who signed it and when.
    Show {
        /// Its name in `silas grant list`, five letters, or its token.
        #[arg(value_name = "GRANT")]
        grant: String,
    },
    /// Take a grant back, at once.
    Revoke {
        /// Its name in `silas grant list`, five letters, or its token.
        #[arg(value_name = "GRANT")]
        grant: String,
    },
    /// Ask for the house rules again, in a card, when none hold.
    HouseRules,
}

const GRANT: Named = Named { noun: "grant", list: "silas grant list" };

pub(crate) fn run(home: &Home, command: GrantCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    let grants = all(&mut line)?;
    match command {
        GrantCommand::List { json: true } => {
            print_json(&grants.iter().map(|grant| with_name(grant, grant.token.as_str())).collect::<Vec<_>>())?;
        }
        GrantCommand::List { json: false } => {
            if grants.is_empty() {
                println!("Nothing is granted. Everything asks you first.");
            }
            for grant in &grants {
                println!("{}  {}  ({})", name_of(grant.token.as_str()), grant.title, left(grant));
                println!("       {}", grant.text);
            }
        }
        GrantCommand::Show { grant } => {
            let grant = GRANT.find(&grants, |grant| grant.token.as_str(), &grant)?;
            println!("{}\n  {}", grant.title, grant.text);
            println!("  Left        {}", left(grant));
            println!("  Since       {}", day(grant.since));
            println!("  Signed on   {}", grant.signed_on);
            println!("  Token       {}", grant.token);
        }
        GrantCommand::Revoke { grant } => {
            let grant = GRANT.find(&grants, |grant| grant.token.as_str(), &grant)?;
            println!("Revoking: {}. {}", grant.title, grant.text);
            return withdraw(&mut line, Withdrawn::Grant(grant.token.clone()));
        }
        GrantCommand::HouseRules => {
            line.send(&json!({ "type": "house_rules" }))?;
            return answer(&mut line);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// "7 of 10 left · until 2026-11-21", "No limit · since 2026-09-03".
fn left(grant: &GrantView) -> String {
    let uses = grant
        .uses
        .map_or_else(|| "No limit".to_owned(), |uses| format!("{} of {} left", grouped(uses.left), grouped(uses.of)));
    let time = match grant.until {
        Some(until) => format!("until {}", day(until)),
        None => format!("since {}", day(grant.since)),
    };
    format!("{uses} · {time}")
}

/// Every grant, page by page.
pub(crate) fn all(line: &mut Line<'_>) -> Result<Vec<GrantView>> {
    let mut all: Vec<GrantView> = serde_json::from_value(line.snapshot["grants"].clone())?;
    let mut n_more = line.snapshot["n_more_grants"].as_u64().unwrap_or(0);
    for _ in 0..PAGES_MAX {
        if n_more == 0 {
            break;
        }
        let from = json!(all.len());
        line.send(&json!({ "type": "grants", "from": from }))?;
        let page = line.wait_for(|message| message["type"] == "grants_page" && message["from"] == from)?;
        all.extend(serde_json::from_value::<Vec<GrantView>>(page["grants"].clone())?);
        n_more = page["n_more_grants"].as_u64().unwrap_or(0);
    }
    Ok(all)
}

/// Takes back every grant, under one signature: all of them go, or none.
pub(crate) fn revoke_all(line: &mut Line<'_>) -> Result<ExitCode> {
    let grants = all(line)?;
    if grants.is_empty() {
        println!("Nothing is granted. Everything asks you first.");
        return Ok(ExitCode::SUCCESS);
    }
    for grant in &grants {
        println!("Revoking: {}. {}", grant.title, grant.text);
    }
    let tokens = grants.into_iter().map(|grant| grant.token).collect();
    withdraw(line, Withdrawn::Grants(tokens))
        .context("Work is stopped, but nothing is revoked: the grants hold. `silas stop --all --revoke` tries again")
}

/// Signs the withdrawal with the terminal's key and hands it in.
pub(crate) fn withdraw(line: &mut Line<'_>, what: Withdrawn) -> Result<ExitCode> {
    line.open_root_key()?;
    let body = WithdrawalBody {
        kind: WithdrawalKind::Withdrawal,
        installation: line.installation()?,
        epoch: serde_json::from_value(line.snapshot["epoch"].clone())?,
        key: line.key()?,
        what,
        nonce: Nonce::new(&OsRandom),
        timestamp: SystemClock.now(),
    };
    let signature = line.sign(SignBody::Withdrawal(body.clone()))?;
    line.send(&json!({ "type": "withdraw", "withdrawal": Withdrawal { body, signature } }))?;
    answer(line)
}

fn answer(line: &mut Line<'_>) -> Result<ExitCode> {
    let answer = line.wait_for(|message| message["type"] == "withdrawn")?;
    println!("{}", answer["message"].as_str().unwrap_or_default());
    Ok(if answer["done"] == true { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
