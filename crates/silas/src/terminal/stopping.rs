//! `silas stop --server`: ends the server itself, as Ctrl-C where it runs would, and waits until it is gone.
//!
//! Whom to end is what the kernel says about the other side of the control socket; the signal goes to that very process and
//! to no number that another may have by then.

use crate::exit::NotRunning;
use crate::home::Home;
use crate::same_silas;
use anyhow::{Context, Result, bail};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{File, TryLockError};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Longer than any `backpressure.shutdown_grace_seconds` that makes sense.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn server(home: &Home) -> Result<ExitCode> {
    let socket = UnixStream::connect(silas_web::control::path(&home.path)).map_err(|_| NotRunning)?;
    let peer = rustix::net::sockopt::socket_peercred(&socket).context("The server could not be found.")?;
    let process = pidfd_open(peer.pid, PidfdFlags::empty()).context("The server could not be found.")?;
    // Held open while the process is taken hold of, and it still listens: so it was that one.
    UnixStream::connect(silas_web::control::path(&home.path)).map_err(|_| NotRunning)?;
    pidfd_send_signal(&process, Signal::TERM).context("The server could not be ended.")?;
    drop(socket);
    let until = Instant::now() + PATIENCE;
    let lock = File::open(home.path.join("lock")).context("The data directory cannot be looked at.")?;
    loop {
        match lock.try_lock_shared() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Err(TryLockError::WouldBlock) => bail!("Silas was asked to end and still runs. Look at its log."),
            Err(TryLockError::Error(cause)) => return Err(cause).context("The data directory cannot be looked at."),
        }
    }
    println!("Silas has ended. Start it again with `{}`.", same_silas::start());
    Ok(ExitCode::SUCCESS)
}
