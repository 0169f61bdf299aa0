//! How the browser is led to the page at the start: by a file that only the owner can read and that sends it on.
//!
//! Every user of a machine sees the arguments of every program, so the pairing code is in none: `xdg-open` and the browser
//! are given a path. Where browsers come as snaps, which may not read hidden directories, they are given the plain address,
//! and the page says where the code is to be had. Deliberately absent: any claim about the browser's own memory of where it
//! has been; the code in there is spent.

use anyhow::{Context, Result};
use silas_web::Door;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const FILE: &str = "open.html";
/// As long as the code itself.
const VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// Where there is such a directory, programs may come as snaps.
const SNAPS: &str = "/snap/bin";

/// The file, while there is one; it goes with this.
#[derive(Debug)]
pub(crate) struct Opening(PathBuf);

impl Opening {
    /// A file in `run`, a directory of the owner's alone, that leads to this address.
    fn write(run: &Path, address: &str) -> Result<Self> {
        sweep(run)?;
        let path = run.join(FILE);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let opening = Opening(path);
        // An address of ours: digits, letters, `-` and `_` besides what every address has.
        write!(
            file,
            "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>Silas</title>\n\
             <p><a href=\"{address}\">To Silas</a>\n"
        )?;
        Ok(opening)
    }

    /// Kept until the code was used or has run out.
    pub(crate) async fn keep(self, door: &Door) {
        let mut paired = door.paired();
        let _used_or_late = tokio::time::timeout(VALID_FOR, paired.changed()).await;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        // A code that is left behind is void by the time that anybody could notice.
        let _leftover = fs::remove_file(&self.0);
    }
}

/// What a server that was killed left behind.
pub(crate) fn sweep(run: &Path) -> Result<()> {
    match fs::remove_file(run.join(FILE)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause).context("run/open.html cannot be removed."),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Opens the page where there is a desktop; the browser waits until the server, a moment later, answers.
pub(crate) fn browser(run: &Path, page: &str, pairing: Option<&str>) -> Option<Opening> {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !has_desktop || !std::io::stdout().is_terminal() {
        return None;
    }
    let opening = leading(run, pairing, Path::new(SNAPS));
    let target = opening.as_ref().map_or(Path::new(page), |opening| &opening.0);
    let opened =
        Command::new("xdg-open").arg(target).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    // No browser to open is fine: the address is on the screen.
    drop(opened);
    opening
}

/// The file that leads there, if a browser can read it. Without one the page opens all the same.
fn leading(run: &Path, pairing: Option<&str>, snaps: &Path) -> Option<Opening> {
    pairing.filter(|_| !snaps.exists()).and_then(|address| Opening::write(run, address).ok())
}

#[cfg(test)]
mod tests;
