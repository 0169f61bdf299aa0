//! Commands of `silas sandbox`, which needs no server: each is written to the ledger when it is over, by the server where one
//! runs, and by the command itself where none does.

use silas_core::Digest;
use silas_core::command_run::CommandRun;
use silas_core::event::AuditEvent;
use silas_core::evidence::{Anchor, Refusal};
use silas_core::revocation::Revocations;
use silas_store::{Error, Tx};

/// Writes one down, if the terminal of this installation signed it.
pub fn note_command(
    tx: &mut Tx<'_>,
    run: &CommandRun,
    anchor: &Anchor,
    revocations: &Revocations,
) -> Result<Result<(), Refusal>, Error> {
    let (token, execution, kept) = match run.verified(anchor, revocations) {
        Ok(verified) => verified,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let envelope = Digest::of(run.envelope.as_bytes());
    let (key, outcome) = (run.token.body.key.clone(), run.outcome.clone());
    let command = tx.text(&kept)?;
    tx.record(&AuditEvent::CommandRun { execution, token, key, envelope, outcome, command })?;
    Ok(Ok(()))
}

/// The command, from what is kept beside its entry.
pub(crate) fn words_of(kept: &str) -> &str {
    kept.rsplit_once('\n').map_or("a command", |(words, _)| words)
}

/// What can be said of whether it ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whether {
    Ran,
    DidNot,
    /// The code does not tell: something failed before it ran, while it did, or, in entries of earlier versions, when its
    /// result was read.
    Unknown,
}

impl Whether {
    pub(crate) fn of(outcome: &str) -> Self {
        match outcome {
            "E_SANDBOX_UNSUPPORTED"
            | "E_SANDBOX_LIMIT"
            | "E_SANDBOX_FULL"
            | "E_SANDBOX_IO"
            | "E_SANDBOX_LOST"
            | "E_SANDBOX_CANCELLED"
            | "E_SANDBOX_CONFLICT"
            | "E_SANDBOX_SUPERVISE"
            | "E_SANDBOX_UNRECORDED" => Whether::Unknown,
            code if code.starts_with("E_") => Whether::DidNot,
            _ => Whether::Ran,
        }
    }
}

/// How it ended, in the middle of a sentence.
pub(crate) fn ended(outcome: &str) -> String {
    let (how, untold) = CommandRun::untold(outcome);
    let ended = match how.split_once('_') {
        Some(("exit", "0")) => "it ended well".to_owned(),
        Some(("exit", code)) => format!("it ended with exit code {code}"),
        Some(("signal", signal)) => format!("it was ended by signal {signal}"),
        Some(("timed", _)) => "it was ended when its time was up".to_owned(),
        _ if Whether::of(outcome) == Whether::Unknown => {
            format!("it was not run, or what it did could not be read ({outcome})")
        }
        _ => format!("it could not be run ({outcome})"),
    };
    match untold {
        None => ended,
        Some(code) => format!("{ended}, and what it changed could not be told ({code})"),
    }
}

#[cfg(test)]
mod tests;
