//! What the exit codes mean, so that a script can tell "no" from "not now", and how an error reads: as sentences for
//! people, as one object for programs.

mod sentences;

pub(crate) use sentences::{in_words, sentences};

use crate::config::ConfigError;
use crate::same_silas;
use crate::terminal::Paint;
use serde_json::json;
use silas_runtime::Trouble;
use std::process::ExitCode;

pub(crate) const NOT_DONE: u8 = 1;
pub(crate) const BAD_INPUT: u8 = 2;
const NOT_RUNNING: u8 = 3;
/// Something of a change is not in its patch.
pub(crate) const NOT_WHOLE: u8 = 4;
/// A proof agrees with itself, and there was no key to verify it with.
pub(crate) const ONLY_CONSISTENT: u8 = 5;
/// What a shell calls the end by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// What each of them means, whichever command ends with it. `silas sandbox` ends with those of the command that it runs.
const MEANINGS: [(u8, &str); 7] = [
    (0, "done"),
    (NOT_DONE, "not done: refused, declined, failed, nothing there to do it with, or something bad was found"),
    (BAD_INPUT, "the command line, the configuration or a file that was named is wrong"),
    (NOT_RUNNING, "Silas does not run, or has never run on this data directory"),
    (NOT_WHOLE, "done, but not everything could be shown (`silas work diff`)"),
    (ONLY_CONSISTENT, "the file agrees with itself, but no key was given to verify it with (`silas verify`)"),
    (INTERRUPTED, "ended by Ctrl-C"),
];

/// The table of `silas --help`.
pub(crate) fn table() -> String {
    let rows: Vec<String> = MEANINGS.iter().map(|(code, meaning)| format!("  {code:<3}  {meaning}")).collect();
    format!(
        "Exit codes:\n{}\n`silas sandbox` ends with the code of its command, or with 124 if its time was up, 125 if it could \
         not be\nrun, or ran and what it changed cannot be told, 126 if it is no program, 127 if there is no such \
         program.\n\nWith --json an error is one object, \
         {{\"error\": {{\"code\", \"message\", \"exit\"}}}}; \"code\" is null where there is none.",
        rows.join("\n")
    )
}

/// How a server that is in the way is ended.
pub(crate) const STOP_FIRST: &str = "Stop Silas first: `silas stop --server`, or Ctrl-C where it runs, or \
                                     `systemctl --user stop silas`.";

/// A command that talks to the server found none.
#[derive(Debug, thiserror::Error)]
#[error("Silas does not run. Start it with `{}`.", same_silas::start())]
pub(crate) struct NotRunning;

/// There is no data directory, so Silas has never run on it.
#[derive(Debug, thiserror::Error)]
#[error("There is no Silas data at {0}. Start it once with `{start}`.", start = same_silas::start())]
pub(crate) struct NeverRun(pub(crate) String);

/// Something that was named on the command line cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadInput(pub(crate) String);

/// A file that was named and cannot be read. Its name stays as it was typed, also at the beginning of a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{file} cannot be read: {why}.")]
pub(crate) struct Unreadable {
    file: String,
    why: String,
}

impl Unreadable {
    pub(crate) fn new(path: &std::path::Path, cause: &std::io::Error) -> Self {
        Unreadable { file: path.display().to_string(), why: in_words(cause) }
    }
}

fn number(cause: &anyhow::Error) -> u8 {
    if cause.is::<NotRunning>() || cause.is::<NeverRun>() {
        NOT_RUNNING
    } else if cause.chain().any(is_input) {
        BAD_INPUT
    } else {
        NOT_DONE
    }
}

fn is_input(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<BadInput>() || cause.is::<Unreadable>() || cause.is::<ConfigError>()
}

/// The code of what went wrong, where its own words do not end with it.
fn code_of(cause: &anyhow::Error) -> Option<&str> {
    let code = cause.chain().find_map(|cause| {
        let trouble = cause.downcast_ref::<Trouble>().map(|trouble| trouble.code.as_str());
        trouble.or_else(|| cause.downcast_ref::<silas_store::Error>().map(silas_store::Error::code))
    });
    code.filter(|code| sentences::is_code(code))
}

pub(crate) fn code(result: anyhow::Result<ExitCode>) -> ExitCode {
    let cause = match result {
        Ok(code) => return code,
        Err(cause) => cause,
    };
    let exit = number(&cause);
    let text = sentences(&cause);
    let (message, code) = sentences::apart(&text);
    let code = code.or_else(|| code_of(&cause));
    if wants_json() {
        let error = json!({ "error": { "code": code, "message": message, "exit": exit } });
        verbatim!("{error:#}");
    } else {
        match code {
            Some(code) => eprintln!("{message} {}", Paint::of_stderr().quiet(&format!("({code})"))),
            None => eprintln!("{message}"),
        }
    }
    ExitCode::from(exit)
}

/// What the reader of the command line says: help that was asked for, or what is wrong.
pub(crate) fn usage(said: &clap::Error) -> ExitCode {
    if said.use_stderr() && wants_json() {
        let text = said.to_string();
        let message = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        let error = json!({ "error": { "code": null, "message": message, "exit": BAD_INPUT } });
        verbatim!("{error:#}");
        return ExitCode::from(BAD_INPUT);
    }
    let painted = said.render();
    let text = |paint: Paint| if paint.is_on() { painted.ansi().to_string() } else { painted.to_string() };
    if said.use_stderr() {
        eprint!("{}", text(Paint::of_stderr()));
        return ExitCode::from(BAD_INPUT);
    }
    prompt!("{}", text(Paint::of_stdout()));
    ExitCode::SUCCESS
}

/// Each command has its own `--json`; after `--` come words.
fn wants_json() -> bool {
    std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

#[cfg(test)]
mod tests {
    //! One number has one meaning.

    use super::{MEANINGS, table};
    use std::collections::BTreeSet;

    #[test]
    fn each_code_is_in_the_table_once() {
        let codes: BTreeSet<u8> = MEANINGS.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes.len(), MEANINGS.len());
        let table = table();
        for (code, meaning) in MEANINGS {
            assert_eq!(table.matches(&format!("\n  {code:<3}  {meaning}\n")).count(), 1, "{code}");
        }
        assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    }
}
