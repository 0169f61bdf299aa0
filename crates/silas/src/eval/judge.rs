//! Whether a task was solved, whatever anybody says about it: what judges is put back as it was shipped, and the check is
//! run as a model's commands are, in the sandbox. What a model wrote is never run outside of it.

use super::task::Task;
use crate::home::Home;
use crate::throwaway;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Stdio;

/// Longer than any shipped check takes on a slow machine.
const CHECK_LIMIT: &str = "time=120s";
/// `silas sandbox` says with this code that it could not run the command, or not tell what came of it.
const NO_RESULT: i32 = 125;

pub(super) fn is_solved(task: &Task, repository: &Path, home: &Home) -> Result<bool> {
    if !task.restore(repository)? {
        return Ok(false);
    }
    let output = throwaway::command(home)?
        .args(["sandbox", "--no-tools", "--limit", CHECK_LIMIT, "--write"])
        .arg(repository)
        .args(["--", "/bin/sh", "-c", &task.check])
        .stdin(Stdio::null())
        .output()?;
    if output.status.code() == Some(NO_RESULT) {
        bail!("The check of {} has no result: {}", task.name, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.status.success())
}
