//! `silas service`: a unit for systemd, so that Silas runs from login to logout.
//!
//! What systemd could shut off around Silas and does not is deliberate: the sandbox makes its own namespaces and mounts,
//! and a service that may not make any could isolate nothing.

use crate::own;
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum ServiceCommand {
    /// Print the unit.
    Print,
    /// Write it to ~/.config/systemd/user/silas.service and say how to start it.
    Install {
        /// Replace a unit that is there and says something else.
        #[arg(long)]
        replace: bool,
    },
}

pub(crate) fn run(command: &ServiceCommand, data_dir: Option<PathBuf>, config: Option<PathBuf>) -> Result<ExitCode> {
    let program = std::env::current_exe().context("This program's own path is not known.")?;
    let unit = unit(&program, data_dir.as_deref(), config.as_deref())?;
    match command {
        ServiceCommand::Print => print!("{unit}"),
        ServiceCommand::Install { replace } => install(&unit, *replace)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn install(unit: &str, replace: bool) -> Result<()> {
    let dir = own::config_base().context("HOME is not set. Use `silas service print`.")?.join("systemd/user");
    let path = dir.join("silas.service");
    match fs::read_to_string(&path) {
        Ok(there) if there != unit && !replace => bail!(
            "{} is there already and says something else. Look at it, then install with `--replace`.",
            path.display()
        ),
        _ => {}
    }
    fs::create_dir_all(&dir).with_context(|| format!("{} cannot be made.", dir.display()))?;
    fs::write(&path, unit).with_context(|| format!("{} cannot be written.", path.display()))?;
    println!("Written: {}\n", path.display());
    println!(
        "Start it now and at every login:\n\n  systemctl --user daemon-reload\n  systemctl --user enable --now silas\n"
    );
    println!("Its log:           journalctl --user -u silas");
    println!("Pair a browser:    silas pair");
    println!("Without a login:   loginctl enable-linger");
    Ok(())
}

fn unit(program: &Path, data_dir: Option<&Path>, config: Option<&Path>) -> Result<String> {
    let mut command = vec![word(program)?];
    for (name, path) in [("--data-dir", data_dir), ("--config", config)] {
        if let Some(path) = path {
            let real = path.canonicalize().with_context(|| format!("{} does not exist.", path.display()))?;
            command.extend([name.to_owned(), word(&real)?]);
        }
    }
    let command = command.join(" ");
    Ok(format!(
        "\
# Made by `silas service`.
[Unit]
Description=Silas, an assistant that can be trusted
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart={command} start --quiet --log json
# For `${{SILAS_AUTH_TOKEN}}` and the like in the configuration; keep it readable by you alone.
EnvironmentFile=-%E/silas/environment
Restart=on-failure
RestartSec=2
# Silas stops its own work first; what is left after that is ended.
KillMode=mixed
TimeoutStopSec=60
# So that the memory and the processes of a whole piece of work can be bounded.
Delegate=memory pids
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native
# Not set on purpose: RestrictNamespaces, PrivateUsers, ProtectSystem, ProtectHome, PrivateTmp, MemoryDenyWriteExecute.
# The sandbox makes namespaces and mounts of its own, on the directories that you approve, and its programs may compile
# as they run. The front confines itself with Landlock and seccomp.

[Install]
WantedBy=default.target
"
    ))
}

/// A path as one word of a command line of systemd.
fn word(path: &Path) -> Result<String> {
    let text = path.to_str().filter(|text| !text.contains(['\n', '\r'])).with_context(|| {
        format!("{} cannot be written into a unit. Move it to a path in plain letters.", path.display())
    })?;
    // Specifiers and variables would otherwise be replaced.
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    Ok(format!("\"{text}\""))
}

#[cfg(test)]
mod tests;
