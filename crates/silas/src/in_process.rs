//! A whole Silas in the process of whoever starts it, by their clock: the same parts as `silas start` puts together, without
//! what only a process of its own can have. The caller brings the launcher, because this process may have threads.
//!
//! Deliberately absent: the confinement of the front, the greeting, the log, and the system's keyring. For tests; nothing in
//! the program comes here.

use crate::config::Config;
use crate::wire::Up;
use crate::{home, soundness, start};
use anyhow::{Context, Result};
use silas_approval::{Vault, vault};
use silas_core::{Clock, Random};
use silas_sandbox::Launcher;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Ends when it is dropped, as if somebody had pulled the plug; what was acknowledged is found by the next one.
pub struct InProcess {
    up: Option<Up>,
    runtime: Option<Runtime>,
    _lock: File,
}

impl InProcess {
    /// Waits until its doors are open. `settings` are named as in the environment (`SILAS__UNDO__WINDOW_SECONDS`).
    pub fn start(
        launcher: Launcher,
        data_dir: &Path,
        settings: &[(String, String)],
        start_dir: Option<PathBuf>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<InProcess> {
        let config = Config::load(None, settings.iter().cloned(), &[])?.config;
        let home = home::prepare(data_dir)?;
        let lock = home.lock()?;
        soundness::check(&home)?;
        let open_vault = |ready: &start::Ready| {
            let dir = ready.home.vault();
            Vault::open(&dir, || vault::key(&dir, &mut || None).ok()).context("The vault could not be opened")
        };
        let laid = start::lay_ground(launcher, home, config, clock.as_ref(), open_vault)?;
        let front = crate::wire::Front { start_dir, ..laid.front };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let up = runtime.block_on(Up::start(front, laid.listeners, clock, random))?;
        Ok(InProcess { up: Some(up), runtime: Some(runtime), _lock: lock })
    }

    /// Looks at everything that time changes, now: a clock that was moved is noticed without waiting for the next second.
    pub fn tick(&self) -> Result<()> {
        if let (Some(up), Some(runtime)) = (&self.up, &self.runtime) {
            runtime.block_on(up.stream.tick())?;
        }
        Ok(())
    }

    /// As after a signal.
    pub fn stop(mut self, grace: Duration) -> Result<()> {
        match (self.up.take(), &self.runtime) {
            (Some(up), Some(runtime)) => runtime.block_on(up.leave(grace)),
            _ => Ok(()),
        }
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Whoever waits for a launcher that is gone notices, and writes nothing any more.
            runtime.shutdown_timeout(Duration::from_secs(10));
        }
    }
}
