//! What a command prints, where a reader that is gone or a disk that is full is an answer and not a crash.
//!
//! `println!` and its kin panic when nothing more can be written. In this crate they mean these. A reader that is gone has
//! read enough. A line is broken between words where a screen ends (`out/wrap.rs`); what programs read, what is copied and
//! what is drawn is [`verbatim`]. Deliberately absent: buffering of our own; what is printed is seen at once.

#[cfg(test)]
pub(crate) mod heard;
pub(crate) mod wrap;

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

macro_rules! print {
    ($($words:tt)*) => { $crate::out::words(format_args!($($words)*)) };
}

macro_rules! println {
    () => { $crate::out::line(format_args!("")) };
    ($($words:tt)*) => { $crate::out::line(format_args!($($words)*)) };
}

macro_rules! verbatim {
    ($($words:tt)*) => { $crate::out::verbatim(format_args!($($words)*)) };
}

macro_rules! prompt {
    ($($words:tt)*) => { $crate::out::prompt(format_args!($($words)*)) };
}

macro_rules! eprint {
    ($($words:tt)*) => { $crate::out::aside_words(format_args!($($words)*)) };
}

macro_rules! eprintln {
    () => { $crate::out::aside(format_args!("")) };
    ($($words:tt)*) => { $crate::out::aside(format_args!($($words)*)) };
}

/// To standard output, as it is and without an end of line.
pub(crate) fn words(words: Arguments<'_>) {
    #[cfg(test)]
    if heard::take(words, "") {
        return;
    }
    written(io::stdout().lock().write_fmt(words));
}

/// A whole line as it is.
pub(crate) fn verbatim(words: Arguments<'_>) {
    #[cfg(test)]
    if heard::take(words, "\n") {
        return;
    }
    let mut out = io::stdout().lock();
    written(out.write_fmt(words).and_then(|()| out.write_all(b"\n")));
}

/// A whole line of prose.
pub(crate) fn line(words: Arguments<'_>) {
    let columns = wrap::columns(&io::stdout());
    verbatim(format_args!("{}", wrap::wrapped(&words.to_string(), columns)));
}

/// Prose after which something is typed.
pub(crate) fn prompt(asked: Arguments<'_>) {
    let columns = wrap::columns(&io::stdout());
    words(format_args!("{}", wrap::wrapped(&asked.to_string(), columns)));
    // Whoever cannot see the question cannot answer it either.
    let _unseen = io::stdout().flush();
}

/// To standard error, a whole line. There is nobody to tell if that fails.
pub(crate) fn aside(words: Arguments<'_>) {
    aside_words(format_args!("{words}\n"));
}

/// The same without an end of line.
pub(crate) fn aside_words(words: Arguments<'_>) {
    let text = wrap::wrapped(&words.to_string(), wrap::columns(&io::stderr()));
    let _nobody = io::stderr().lock().write_all(text.as_bytes());
}

/// What cannot be written is not the answer that was asked for, so the command has failed, whatever it did before.
fn written(result: io::Result<()>) {
    match result {
        Ok(()) => {}
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => {}
        Err(cause) => {
            let why = crate::exit::in_words(&cause);
            aside(format_args!("The answer could not be written: {why}. What the command did is done. (E_OUTPUT)"));
            std::process::exit(1);
        }
    }
}
