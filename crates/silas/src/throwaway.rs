//! A Silas of its own for a demo or an eval: a directory that goes when it is done with, and a real server on it with its
//! own data, its own keys and nothing of the owner's.

use crate::home::Home;
use crate::world::OsRandom;
use anyhow::{Context, Result, bail};
use silas_core::Random as _;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the server may take to come up.
const START_SECS: u64 = 20;
/// Between two looks whether it is there.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where it lives: a temporary directory, or the one to keep.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    is_temporary: bool,
}

impl Place {
    pub(crate) fn kept(path: &Path) -> Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("{} cannot be made.", parent.display()))?;
        }
        match fs::symlink_metadata(path) {
            Ok(there) => ours_and_empty(path, &there)?,
            Err(_) => make(path)?,
        }
        Ok(Place { path: path.canonicalize()?, is_temporary: false })
    }

    /// Under a name that nobody can have been waiting for, and new: the directory for temporary files is everybody's, and
    /// one that lies there already may lead wherever its maker likes.
    pub(crate) fn temporary(what: &str) -> Result<Self> {
        let mut bits = [0; 16];
        OsRandom.fill(&mut bits);
        let path = std::env::temp_dir().join(format!("silas-{what}-{:032x}", u128::from_be_bytes(bits)));
        make(&path)?;
        Ok(Place { path: path.canonicalize()?, is_temporary: true })
    }
}

/// A directory that is new and for this user alone.
fn make(path: &Path) -> Result<()> {
    DirBuilder::new().mode(0o700).create(path).with_context(|| format!("{} cannot be made.", path.display()))
}

/// A directory that is there may be used if nobody else can put anything into it.
fn ours_and_empty(path: &Path, there: &fs::Metadata) -> Result<()> {
    let ours = fs::metadata("/proc/self")?.uid();
    if !there.is_dir() || there.uid() != ours || there.mode() & 0o022 != 0 {
        bail!("{} is no directory of yours alone. Name a new directory.", path.display());
    }
    if fs::read_dir(path)?.next().is_some() {
        bail!("{} is not empty. Name a new directory.", path.display());
    }
    Ok(())
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_temporary {
            // Nothing of the owner's is in there; a leftover in the temporary directory hurts nobody.
            let _leftover = fs::remove_dir_all(&self.path);
        }
    }
}

/// This program on that data, with no settings but the defaults and nothing of the owner's within reach: neither their
/// configuration, nor their keyring, nor what their account has seen.
pub(crate) fn command(home: &Home) -> Result<Command> {
    let config = home.path.with_extension("yaml");
    fs::write(&config, "{}\n").with_context(|| format!("{} cannot be written.", config.display()))?;
    let mut command = Command::new(std::env::current_exe()?);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"SILAS__") {
            command.env_remove(name);
        }
    }
    command.arg("--data-dir").arg(&home.path).arg("--config").arg(&config).current_dir("/");
    command.env("SILAS__KEYS__KEYRING", "false").env("XDG_STATE_HOME", home.path.with_extension("state"));
    Ok(command)
}

/// A server that ends with this.
pub(crate) struct Server(Child);

impl Server {
    /// `more` are variables for it; of the owner's own settings it hears nothing else.
    pub(crate) fn start(home: &Home, more: &[(String, String)]) -> Result<Self> {
        let log = home.path.with_extension("log");
        let told = || fs::read_to_string(&log).unwrap_or_default();
        let child = command(home)?
            .args(["start", "--port", "0", "--quiet"])
            .envs(more.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).with_context(|| format!("{} cannot be written.", log.display()))?)
            .spawn()
            .context("Its server cannot be started.")?;
        let mut server = Server(child);
        let socket = silas_web::control::path(&home.path);
        let until = Instant::now() + Duration::from_secs(START_SECS);
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            if let Some(status) = server.0.try_wait()? {
                bail!("Its server ended with {status}. {}", told().trim());
            }
            if Instant::now() > until {
                bail!("Its server did not come up in {START_SECS} seconds. {}", told().trim());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _already_gone = self.0.wait();
    }
}

#[cfg(test)]
mod tests;
