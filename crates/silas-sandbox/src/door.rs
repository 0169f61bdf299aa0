//! The terminal's door: a socket in the data directory over which the owner's own commands have decisions signed.
//!
//! Who may pass: a process of the same user that can still gain privileges. The confined front and everything in a
//! sandbox gave that up irrevocably, so neither can have anything signed, even though they run as the same user.

use crate::dir::Dir;
use crate::error::Doing;
use crate::{Error, syscall};
use std::fs::Permissions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SOCKET: &str = "keys.sock";

/// A client that does not get to the point is dropped; the launcher has one thread.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn open(data_dir: &Path) -> Result<UnixListener, Error> {
    let doing = || "Opening the terminal's socket".to_owned();
    let (_run, path) = socket_path(data_dir)?;
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e).doing(doing),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path).doing(doing)?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).doing(doing)?;
    listener.set_nonblocking(true).doing(doing)?;
    Ok(listener)
}

/// A short name for the socket, because those of sockets are limited to 107 bytes. Valid as long as the directory is held.
pub(crate) fn socket_path(data_dir: &Path) -> Result<(Dir, PathBuf), Error> {
    let doing = || "Opening the data directory".to_owned();
    let data_dir = std::fs::canonicalize(data_dir).doing(doing)?;
    let run = Dir::open(&data_dir.join("run")).doing(doing)?;
    let path = run.proc_path().join(SOCKET);
    Ok((run, path))
}

/// The next client, if it may pass. Whoever may not hears why.
pub(crate) fn accept(listener: &UnixListener) -> Option<UnixStream> {
    let (mut client, _) = listener.accept().ok()?;
    client.set_nonblocking(false).ok()?;
    client.set_read_timeout(Some(PATIENCE)).ok()?;
    client.set_write_timeout(Some(PATIENCE)).ok()?;
    match may_pass(&client) {
        Ok(()) => Some(client),
        Err(why) => {
            // Nobody is owed an answer that cannot be delivered.
            let _ = crate::frame::send(&mut client, &Err::<(), Error>(Error::Terminal(why)));
            None
        }
    }
}

fn may_pass(client: &UnixStream) -> Result<(), String> {
    let (pid, uid) = syscall::peer(client.as_fd()).map_err(|e| e.to_string())?;
    if uid != syscall::effective_uid() || pid <= 0 {
        return Err("it belongs to another user.".to_owned());
    }
    let held = syscall::peer_held(client.as_fd());
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|e| e.to_string())?;
    // If the process had ended, its number could mean another one by now.
    if let Some(held) = held {
        let events = syscall::poll(&[(held.as_fd(), libc::POLLIN)], Some(Duration::ZERO)).map_err(|e| e.to_string())?;
        if events != [0] {
            return Err("it has ended.".to_owned());
        }
    }
    let flag = status.lines().find_map(|line| line.strip_prefix("NoNewPrivs:")).map(str::trim);
    // Also where this process itself gave it up, as under systemd's `NoNewPrivileges`: everything that it or its front ever
    // starts inherits that, so whoever still can comes from elsewhere.
    match flag {
        Some("0") => Ok(()),
        _ if syscall::has_no_new_privs() => {
            Err("Silas and this command both run in a way that no process can be told \
            from a sandboxed one (no_new_privs). Decide in the browser, or run the command in a session without that."
                .to_owned())
        }
        _ => Err("decisions are not signed for a process in a sandbox.".to_owned()),
    }
}
