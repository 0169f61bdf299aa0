//! `silas secret`, `silas unlock` and `silas lock`: the vault of service secrets, from the terminal.
//!
//! Values go over a socket of their own to the server, which holds the vault, and never come back. The passphrase stays
//! in this process: what the server gets is the vault's key.

use crate::exit::NotRunning;
use crate::home::Home;
use crate::passphrase::{self, Asked};
use crate::wall_clock::day;
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use silas_approval::vault;
use silas_core::secret::SecretRef;
use silas_runtime::{SecretView, VaultView};
use silas_web::secret_door::{self, SecretAsk, SecretSays};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum SecretCommand {
    /// Set the value of a secret. It is typed unseen; from a pipe, all of the input is the value.
    Set {
        /// What plans call it, such as github or acme:api.
        #[arg(value_name = "NAME", value_parser = reference)]
        reference: SecretRef,
    },
    /// List the names of the secrets and when they were set. Values are never shown.
    List,
    /// Remove a secret from the vault.
    Rm {
        #[arg(value_name = "NAME", value_parser = reference)]
        reference: SecretRef,
    },
}

fn reference(text: &str) -> Result<SecretRef, String> {
    SecretRef::parse(text).map_err(|e| e.to_string())
}

pub(crate) fn run(home: &Home, command: SecretCommand) -> Result<ExitCode> {
    match command {
        SecretCommand::Set { reference } => {
            let prompt = format!("Value of {reference}: ");
            set(home, reference, &prompt)
        }
        SecretCommand::List => list(home),
        SecretCommand::Rm { reference } => tell(home, &SecretAsk::Remove { reference }, &[]),
    }
}

/// Asks for the value of a secret and keeps it.
pub(crate) fn set(home: &Home, reference: SecretRef, prompt: &str) -> Result<ExitCode> {
    // Before anybody types something that cannot be kept.
    if state(home)?.is_locked {
        bail!("The vault is locked. Run `silas unlock` first. (E_VAULT_LOCKED)");
    }
    let value = passphrase::ask_value(prompt)?;
    if value.expose().is_empty() {
        bail!("There was no value. Nothing was changed.");
    }
    let n_bytes = value.expose().len();
    tell(home, &SecretAsk::Set { reference, n_bytes }, value.expose())
}

/// Opens the vault of the running server.
pub(crate) fn unlock(home: &Home) -> Result<ExitCode> {
    if !state(home)?.is_locked {
        println!("The vault is open already.");
        return Ok(ExitCode::SUCCESS);
    }
    let asked = Asked::default();
    let key = vault::key(&home.vault(), &mut || asked.get()).context("The vault stays locked")?;
    tell(home, &SecretAsk::Unlock { n_bytes: key.expose().len() }, key.expose())
}

pub(crate) fn lock(home: &Home) -> Result<ExitCode> {
    tell(home, &SecretAsk::Lock, &[])
}

/// Whether the vault is open, and how much is in it.
pub(crate) fn state(home: &Home) -> Result<VaultView> {
    match ask(home, &SecretAsk::State, &[])? {
        SecretSays::State { vault } => Ok(vault),
        other => bail!("The server answered something else: {other:?}"),
    }
}

/// Whether there is a secret of this name.
pub(crate) fn is_kept(home: &Home, reference: &SecretRef) -> Result<bool> {
    Ok(listed(home)?.iter().any(|secret| secret.reference == *reference))
}

fn listed(home: &Home) -> Result<Vec<SecretView>> {
    match ask(home, &SecretAsk::List, &[])? {
        SecretSays::Listed { secrets } => Ok(secrets),
        other => bail!("The server answered something else: {other:?}"),
    }
}

fn list(home: &Home) -> Result<ExitCode> {
    let secrets = listed(home)?;
    if secrets.is_empty() {
        println!("There are no secrets. `silas secret set NAME` adds one.");
    }
    for secret in secrets {
        println!("{:<32} set {}", secret.reference.as_str(), day(secret.set_at));
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(home: &Home, question: &SecretAsk, value: &[u8]) -> Result<ExitCode> {
    match ask(home, question, value)? {
        SecretSays::Done { message } => {
            println!("{message}");
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("The server answered something else: {other:?}"),
    }
}

fn ask(home: &Home, question: &SecretAsk, value: &[u8]) -> Result<SecretSays> {
    let answer = secret_door::ask(&home.path, question, value).map_err(|_| NotRunning)?;
    match answer {
        SecretSays::Trouble { code, message, todo } => bail!("{message} {todo} ({code})"),
        answer => Ok(answer),
    }
}
