//! What the exit codes mean, so that a script can tell "no" from "not now", and how an error reads: as sentences for
//! people, as one object for programs.

mod sentences;

pub(crate) use sentences::{in_words, sentences};

use crate::config::ConfigError;
use crate::terminal::Paint;
use serde_json::json;
use std::process::ExitCode;

/// The table of `silas --help`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  done
  1  not done: refused, declined, failed, or nothing there to do it with
  2  the command line, the configuration or a file that was named is wrong
  3  Silas does not run, or has never run on this data directory
  4  done, but not everything could be shown (`silas work diff`)

With --json an error is one object, {\"error\": {\"code\", \"message\", \"exit\"}}; \"code\" is null where there is none.";

/// How a server that is in the way is ended.
pub(crate) const STOP_FIRST: &str = "Stop Silas first: `silas stop --server`, or Ctrl-C where it runs, or \
                                     `systemctl --user stop silas`.";

/// A command that talks to the server found none.
#[derive(Debug, thiserror::Error)]
#[error("Silas does not run. Start it with `silas`.")]
pub(crate) struct NotRunning;

/// There is no data directory, so Silas has never run on it.
#[derive(Debug, thiserror::Error)]
#[error("There is no Silas data at {0}. Start it once with `silas`.")]
pub(crate) struct NeverRun(pub(crate) String);

/// Something that was named on the command line cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadInput(pub(crate) String);

impl BadInput {
    /// A file that was named and cannot be read.
    pub(crate) fn file(path: &std::path::Path, cause: &std::io::Error) -> Self {
        BadInput(format!("{} cannot be read: {}.", path.display(), in_words(cause)))
    }
}

const NOT_DONE: u8 = 1;
const BAD_INPUT: u8 = 2;
const NOT_RUNNING: u8 = 3;

fn number(cause: &anyhow::Error) -> u8 {
    if cause.is::<NotRunning>() || cause.is::<NeverRun>() {
        NOT_RUNNING
    } else if cause.chain().any(|cause| cause.is::<BadInput>() || cause.is::<ConfigError>()) {
        BAD_INPUT
    } else {
        NOT_DONE
    }
}

pub(crate) fn code(result: anyhow::Result<ExitCode>) -> ExitCode {
    let cause = match result {
        Ok(code) => return code,
        Err(cause) => cause,
    };
    let exit = number(&cause);
    let text = sentences(&cause);
    let (message, code) = sentences::apart(&text);
    if wants_json() {
        let error = json!({ "error": { "code": code, "message": message, "exit": exit } });
        println!("{error:#}");
    } else {
        match code {
            Some(code) => eprintln!("{message} {}", Paint::of_stderr().quiet(&format!("({code})"))),
            None => eprintln!("{message}"),
        }
    }
    ExitCode::from(exit)
}

/// Each command has its own `--json`; after `--` come words.
fn wants_json() -> bool {
    std::env::args().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}
