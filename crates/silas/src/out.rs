//! What a command prints, where a reader that is gone or a disk that is full is an answer and not a crash.
//!
//! `println!` and its kin panic when nothing more can be written. In this crate they mean these. A reader that is gone has
//! read enough. Deliberately absent: buffering of our own; what is printed is seen at once.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

macro_rules! print {
    ($($words:tt)*) => { $crate::out::words(format_args!($($words)*)) };
}

macro_rules! println {
    () => { $crate::out::line(format_args!("")) };
    ($($words:tt)*) => { $crate::out::line(format_args!($($words)*)) };
}

macro_rules! eprintln {
    () => { $crate::out::aside(format_args!("")) };
    ($($words:tt)*) => { $crate::out::aside(format_args!($($words)*)) };
}

/// To standard output, without an end of line.
pub(crate) fn words(words: Arguments<'_>) {
    written(io::stdout().lock().write_fmt(words));
}

pub(crate) fn line(words: Arguments<'_>) {
    let mut out = io::stdout().lock();
    written(out.write_fmt(words).and_then(|()| out.write_all(b"\n")));
}

/// To standard error, a whole line. There is nobody to tell if that fails.
pub(crate) fn aside(words: Arguments<'_>) {
    let mut err = io::stderr().lock();
    let _nobody = err.write_fmt(words).and_then(|()| err.write_all(b"\n"));
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
