//! What the exit codes mean, so that a script can tell "no" from "not now".

use std::process::ExitCode;

/// The table of `silas --help`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  done
  1  not done: refused, declined, failed, or nothing there to do it with
  2  the command line or a file that was named is wrong
  3  Silas does not run";

/// A command that talks to the server found none.
#[derive(Debug, thiserror::Error)]
#[error("Silas does not run. Start it with `silas`.")]
pub(crate) struct NotRunning;

pub(crate) fn code(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(cause) => {
            eprintln!("{cause:#}");
            if cause.is::<NotRunning>() { ExitCode::from(3) } else { ExitCode::FAILURE }
        }
    }
}
