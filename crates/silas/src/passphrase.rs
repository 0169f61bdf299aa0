//! What nobody else should see on the screen, in the process list or in a file: passphrases and the values of secrets.
//!
//! From a terminal they are typed without being shown. From a pipe a passphrase is one line of the input, and the value of
//! a secret is all of it. Never an argument and never a variable: both can be read by others.

use anyhow::{Context, Result, bail};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use silas_approval::lock::{PASSPHRASE_BYTES_MAX, PASSPHRASE_CHARS_MIN};
use silas_core::secret::{SECRET_BYTES_MAX, Secret};
use std::cell::OnceCell;
use std::io::{self, BufRead, IsTerminal, Read, Write};

/// One passphrase for the length of one command, asked for when it is first needed.
#[derive(Default)]
pub(crate) struct Asked(OnceCell<Secret>);

impl Asked {
    /// `None` if nobody typed anything.
    pub(crate) fn get(&self) -> Option<Secret> {
        if self.0.get().is_none() {
            let said = ask("Passphrase: ").ok().filter(|said| !said.expose().is_empty())?;
            let _first = self.0.set(said);
        }
        self.0.get().cloned()
    }
}

/// Asks once.
pub(crate) fn ask(prompt: &str) -> Result<Secret> {
    hidden_line(prompt, PASSPHRASE_BYTES_MAX)
}

/// Asks for a new one: twice on a terminal, where a slip of the finger cannot be seen.
pub(crate) fn ask_new() -> Result<Secret> {
    let first = ask("New passphrase: ")?;
    let n_chars = String::from_utf8_lossy(first.expose()).chars().count();
    if n_chars < PASSPHRASE_CHARS_MIN {
        bail!("A passphrase needs at least {PASSPHRASE_CHARS_MIN} characters. Nothing was changed.");
    }
    if std::str::from_utf8(first.expose()).is_err() {
        bail!("A passphrase must be plain text. Nothing was changed.");
    }
    if io::stdin().is_terminal() && ask("The same again: ")? != first {
        bail!("The two were not the same. Nothing was changed.");
    }
    Ok(first)
}

/// The value of a secret: a hidden line, or everything that comes through a pipe, without the line end behind it.
pub(crate) fn ask_value(prompt: &str) -> Result<Secret> {
    if io::stdin().is_terminal() {
        return hidden_line(prompt, SECRET_BYTES_MAX);
    }
    hide_memory()?;
    let mut value = Vec::new();
    io::stdin().lock().take(SECRET_BYTES_MAX as u64 + 3).read_to_end(&mut value)?;
    bounded(without_line_end(value), SECRET_BYTES_MAX)
}

fn hidden_line(prompt: &str, bytes_max: usize) -> Result<Secret> {
    hide_memory()?;
    let stdin = io::stdin();
    let hidden = if stdin.is_terminal() {
        // Hidden before it is asked for: what is typed as soon as the question stands there is neither shown nor lost.
        let hidden = Hidden::new().context("The terminal cannot hide what you type. Nothing was read.")?;
        eprint!("{prompt}");
        io::stderr().flush()?;
        Some(hidden)
    } else {
        None
    };
    let mut line = Vec::new();
    stdin.lock().take(bytes_max as u64 + 3).read_until(b'\n', &mut line)?;
    if hidden.is_some() {
        drop(hidden);
        eprintln!();
    }
    bounded(without_line_end(line), bytes_max)
}

fn bounded(value: Secret, bytes_max: usize) -> Result<Secret> {
    if value.expose().len() > bytes_max {
        bail!("That is too long: {bytes_max} bytes at most. Nothing was changed.");
    }
    Ok(value)
}

fn without_line_end(mut value: Vec<u8>) -> Secret {
    if value.last() == Some(&b'\n') {
        value.pop();
        if value.last() == Some(&b'\r') {
            value.pop();
        }
    }
    Secret::new(value)
}

/// From here on nothing of what is typed is shown, where somebody types; for a reader that reads the line itself.
pub(crate) fn hide() -> Result<Option<Hidden>> {
    hide_memory()?;
    let hide = || Hidden::new().context("The terminal cannot hide what you type. Nothing was asked.");
    io::stdin().is_terminal().then(hide).transpose()
}

fn hide_memory() -> Result<()> {
    Ok(silas_sandbox::hide_memory()?)
}

/// While this lives, the terminal shows nothing of what is typed.
pub(crate) struct Hidden {
    before: rustix::termios::Termios,
}

impl Hidden {
    fn new() -> Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Hidden { before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that has gone away needs no putting back.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
