//! `silas stop`: ends everything that runs, and with `--server` the server itself, as Ctrl-C where it runs would, and waits
//! until it is gone.
//!
//! The stop is said before anything is read, and nothing that the server has to tell first keeps it from being done. Whom to end is what the kernel says about the other side of the control socket; the signal goes to that very process and
//! to no number that another may have by then.

use super::line::Line;
use crate::exit::NotRunning;
use crate::grant_commands;
use crate::home::Home;
use crate::same_silas;
use anyhow::{Context, Result, bail};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};
use std::fs::{File, TryLockError};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Longer than any `backpressure.shutdown_grace_seconds` may be.
const PATIENCE: Duration = Duration::from_secs(3600 + 60);
/// Whoever waits longer is told why.
const TOLD_AFTER: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(home: &Home, is_server: bool, is_revoke: bool) -> Result<ExitCode> {
    if is_server {
        if is_revoke && grant_commands::revoke_all(&mut Line::open(home)?)? != ExitCode::SUCCESS {
            return Ok(ExitCode::FAILURE);
        }
        return server(home);
    }
    let mut line = Line::open_saying(home, &json!({ "type": "stop" }))?;
    let stopped = heard(&mut line)?;
    tell(&stopped, line.snapshot["leaving"] == true);
    match is_revoke {
        true => grant_commands::revoke_all(&mut line),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// The answer to the stop. Whatever else went wrong meanwhile is said, and is no reason to stop listening for it.
fn heard(line: &mut Line<'_>) -> Result<Value> {
    loop {
        match line.wait_for(|message| message["type"] == "stopped") {
            Ok(stopped) => return Ok(stopped),
            Err(cause) if line.is_lost() => return Err(cause),
            Err(cause) => eprintln!("{cause}"),
        }
    }
}

fn tell(stopped: &Value, is_leaving: bool) {
    let models: Vec<&str> = stopped["models"].as_array().into_iter().flatten().filter_map(|m| m.as_str()).collect();
    let nobody =
        format!("{} {} not waited for any more.", models.join(", "), if models.len() == 1 { "is" } else { "are" });
    let finished = "What was being put in place already is finished; nothing else reaches your files.";
    match (stopped["n_works"].as_u64(), models.is_empty()) {
        (Some(0), true) => println!("Everything is stopped. Nothing was running."),
        (Some(0), false) => println!("Everything is stopped. {nobody} Nothing else was running."),
        (_, true) => println!("Everything is stopped. {finished}"),
        (_, false) => println!("Everything is stopped. {finished} {nobody}"),
    }
    match is_leaving {
        true => println!("Silas itself is stopping too. Start it again with `{}`.", same_silas::start()),
        false => println!("Silas itself runs on, so that you can go on talking; `silas stop --server` ends it."),
    }
}

fn server(home: &Home) -> Result<ExitCode> {
    let socket = UnixStream::connect(silas_web::control::path(&home.path)).map_err(|_| NotRunning)?;
    let peer = rustix::net::sockopt::socket_peercred(&socket).context("The server could not be found.")?;
    let process = pidfd_open(peer.pid, PidfdFlags::empty()).context("The server could not be found.")?;
    // Held open while the process is taken hold of, and it still listens: so it was that one.
    UnixStream::connect(silas_web::control::path(&home.path)).map_err(|_| NotRunning)?;
    pidfd_send_signal(&process, Signal::TERM).context("The server could not be ended.")?;
    drop(socket);
    let (begun, until) = (Instant::now(), Instant::now() + PATIENCE);
    let mut is_told = false;
    let lock = File::open(home.path.join("lock")).context("The data directory cannot be looked at.")?;
    loop {
        match lock.try_lock_shared() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                if !is_told && begun.elapsed() > TOLD_AFTER {
                    println!("Silas is stopping; what is under way may finish first. `silas stop --all` ends that.");
                    is_told = true;
                }
                std::thread::sleep(LOOK_EVERY);
            }
            Err(TryLockError::WouldBlock) => bail!("Silas was asked to end and still runs. Look at its log."),
            Err(TryLockError::Error(cause)) => return Err(cause).context("The data directory cannot be looked at."),
        }
    }
    println!("Silas has ended. Start it again with `{}`.", same_silas::start());
    Ok(ExitCode::SUCCESS)
}
