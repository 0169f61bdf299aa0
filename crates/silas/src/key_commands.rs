//! `silas key`: how the private keys and the vault are kept, and changing that.
//!
//! This is the owner's own command, in a process that lives for it alone. It needs no running server and disturbs none,
//! except for a new terminal key, which a server would not know of.

use crate::home::Home;
use crate::passphrase;
use crate::root_handover;
use crate::server_key;
use crate::world::SystemClock;
use anyhow::{Context, Result, anyhow, bail};
use clap::Subcommand;
use silas_approval::lock::{Keep, Unopened};
use silas_approval::vault::VaultTrouble;
use silas_approval::{keys, vault};
use silas_core::Clock;
use silas_core::key_service::Protection;
use silas_core::secret::Secret;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Say how the keys and the vault are kept.
    Show,
    /// Print the public root key, by which others can check your proofs. It is no secret.
    Root,
    /// Set or change the passphrase of the keys and the vault. It is typed unseen; from a pipe, the current one (where
    /// there is one) and the new one are a line each.
    Passphrase {
        /// Go back to file permissions only.
        #[arg(long)]
        remove: bool,
    },
    /// Seal the keys and the vault with a key that the system's keyring keeps, instead of a passphrase.
    Keyring,
    /// Exchange a key for a new one. Stop Silas first (`silas stop --server`). Nothing that you allowed is lost, and cut off at any instant the old
    /// key or the new one holds.
    Rotate {
        /// Which one.
        #[command(subcommand)]
        which: Rotate,
    },
}

#[derive(Clone, Copy, Subcommand)]
pub(crate) enum Rotate {
    /// The key that vouches for your devices. Devices, grants and revocations stay; proofs and exports made from now on are
    /// checked with the new public key, those made before with the old one.
    Root,
    /// The key that signs the log's heads. What the old one signed until now stays good; what it signs later does not.
    Server,
    /// The key that seals your secrets. Each is sealed anew, under the same passphrase or keyring.
    Vault,
    /// The key with which this machine's terminal decides. What the old one signed still counts, until you revoke it.
    Terminal,
}

pub(crate) fn run(home: &Home, command: &KeyCommand) -> Result<ExitCode> {
    match command {
        KeyCommand::Show => show(home),
        KeyCommand::Root => {
            println!("{}", String::from(home.root()?));
            Ok(ExitCode::SUCCESS)
        }
        KeyCommand::Passphrase { remove: false } => {
            let current = current(home)?;
            let new = passphrase::ask_new()?;
            change(home, current.as_ref(), &Keep::Passphrase(new))?;
            println!("The terminal asks for it whenever it signs, and `silas unlock` opens the vault after a start.");
            println!(
                "There is no way around a passphrase that is forgotten. Backups that were made before are not sealed."
            );
            Ok(ExitCode::SUCCESS)
        }
        KeyCommand::Passphrase { remove: true } => {
            if protection(home)? != Protection::Passphrase {
                bail!("There is no passphrase. Nothing was changed.");
            }
            let current = current(home)?;
            change(home, current.as_ref(), &Keep::File)
        }
        KeyCommand::Keyring => {
            let current = current(home)?;
            change(home, current.as_ref(), &Keep::Keyring)
        }
        KeyCommand::Rotate { which } => rotate(home, *which),
    }
}

pub(crate) fn protection(home: &Home) -> Result<Protection> {
    keys::protection(&home.keys()).map_err(|e| anyhow!("{e}")).context("The keys cannot be used")
}

fn show(home: &Home) -> Result<ExitCode> {
    println!("Root and terminal key: {}.", protection(home)?);
    println!("Vault of secrets: {}.", vault::protection(&home.vault())?);
    println!("Server key, which signs the ledger's heads and can approve nothing: {}.", Protection::Permissions);
    let known = home.known()?;
    println!("Public root key: {}", String::from(known.root));
    for handover in known.handovers.iter().rev() {
        let (old, at) = (String::from(handover.body.from), crate::wall_clock::minute(handover.body.at));
        println!("Before it, until {at}: {old}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The passphrase that holds until now.
fn current(home: &Home) -> Result<Option<Secret>> {
    let is_locked =
        protection(home)? == Protection::Passphrase || vault::protection(&home.vault())? == Protection::Passphrase;
    Ok(if is_locked { Some(passphrase::ask("Current passphrase: ")?) } else { None })
}

/// The vault first: should this be cut short, the passphrase that is typed the next time is still the keys' own, and the
/// vault knows the new one.
fn change(home: &Home, current: Option<&Secret>, keep: &Keep) -> Result<ExitCode> {
    let new = match keep {
        Keep::Passphrase(new) => Some(new.clone()),
        Keep::File | Keep::Keyring => None,
    };
    let unchanged = "Nothing was changed";
    server_key::certify(home, current).context(unchanged)?;
    let changed = match vault::protect(&home.vault(), &mut || current.cloned(), keep) {
        Err(VaultTrouble::Unopened(Unopened::WrongPassphrase)) if new.is_some() => {
            vault::protect(&home.vault(), &mut || new.clone(), keep)
        }
        other => other,
    };
    changed.context(unchanged)?;
    let protection = keys::protect(&home.keys(), &mut || current.cloned(), keep)
        .map_err(|e| anyhow!("{e}"))
        .context("The vault is changed and the keys are not; run the same command again")?;
    println!("The keys and the vault are {protection} now.");
    Ok(ExitCode::SUCCESS)
}

fn rotate(home: &Home, which: Rotate) -> Result<ExitCode> {
    let _lock = home.lock_for("Nothing was changed.")?;
    // Keys are in this process from here on.
    silas_sandbox::hide_memory()?;
    let asked = passphrase::Asked::default();
    let unchanged = "Nothing was changed";
    match which {
        Rotate::Terminal => {
            let terminal = keys::rotate_terminal(&home.keys(), &mut || asked.get(), SystemClock.now())
                .map_err(|e| anyhow!("{e}"))
                .context(unchanged)?;
            println!("The terminal has a new key, {}.", terminal.body.key);
            println!("What the old one allowed still counts. `silas device revoke` takes the old one out altogether.");
        }
        Rotate::Server => {
            let key = server_key::rotate(home, &mut || asked.get()).context(unchanged)?;
            println!("The log is signed with a new key from the next start on, {key}.");
            println!("What the old one signed until now stays good. What it signs from now on is refused.");
        }
        Rotate::Vault => {
            let n = vault::rotate(&home.vault(), &mut || asked.get()).context(unchanged)?;
            println!("The vault has a new key. Secrets that were sealed anew: {n}.");
            println!(
                "Backups from before hold the old key and the secrets of that time. Values that somebody may have read"
            );
            println!("are not changed by this: set those again with `silas secret set`.");
        }
        Rotate::Root => {
            let (old, new) = root_handover::rotate(home, &mut || asked.get())?;
            println!("The root key is a new one. Your devices, grants and revocations stay as they are.");
            println!("Public root key, for proofs and exports from now on: {}", String::from(new));
            println!("For those from before: {}", String::from(old));
            println!("Make a new backup: earlier ones would bring the old key back, and are refused here.");
        }
    }
    Ok(ExitCode::SUCCESS)
}
