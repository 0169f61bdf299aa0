//! Moves bytes between the owner's terminal and a command in the sandbox, which never gets the terminal itself: a program
//! that holds a terminal can type into it. One small buffer for each stream, however much is written.
//!
//! A file or a pipe gets the bytes as they are. A terminal obeys some of them instead of showing them, and what Silas says
//! after the command could be hidden, moved or overwritten by those: there they are written out.

use silas_core::hidden::Visible;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write};
use std::thread::JoinHandle;

/// A pipe's usual capacity.
const CHUNK_BYTES: usize = 64 << 10;

pub(super) struct Pump {
    stdout: JoinHandle<Came>,
    stderr: JoinHandle<Came>,
}

/// What became of one stream.
#[derive(Default)]
struct Came {
    dropped: u64,
    is_within_a_line: bool,
}

pub(super) struct Passed {
    /// Bytes that were dropped because they were more than allowed.
    pub(super) dropped: [u64; 2],
    /// The terminal stands in the middle of a line of the command's.
    pub(super) is_within_a_line: bool,
}

impl Pump {
    /// `typed` is the way into the program's input, if it is to have any.
    pub(super) fn start(
        typed: Option<PipeWriter>,
        stdout: PipeReader,
        stderr: PipeReader,
        bytes_max: Option<u64>,
    ) -> Pump {
        if let Some(typed) = typed {
            // Never waited for: it ends with the input, or with this process.
            std::thread::spawn(move || pass(io::stdin(), typed, None, None));
        }
        let shown = |is_terminal: bool| is_terminal.then(Visible::default);
        let (out, err) = (shown(io::stdout().is_terminal()), shown(io::stderr().is_terminal()));
        Pump {
            stdout: std::thread::spawn(move || pass(stdout, io::stdout(), bytes_max, out)),
            stderr: std::thread::spawn(move || pass(stderr, io::stderr(), bytes_max, err)),
        }
    }

    /// When the command has ended: until everything that it wrote has arrived.
    pub(super) fn drain(self) -> Passed {
        let came = [self.stdout, self.stderr].map(|stream| stream.join().unwrap_or_default());
        Passed {
            is_within_a_line: came.iter().any(|stream| stream.is_within_a_line),
            dropped: came.map(|stream| stream.dropped),
        }
    }
}

/// Moves everything, up to so many bytes. `shown` is for a terminal.
fn pass(mut from: impl Read, mut to: impl Write, bytes_max: Option<u64>, mut shown: Option<Visible>) -> Came {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut room, mut dropped) = (bytes_max.unwrap_or(u64::MAX), 0);
    loop {
        let n = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let kept = n.min(usize::try_from(room).unwrap_or(usize::MAX));
        room -= kept as u64;
        dropped += (n - kept) as u64;
        let written = match &mut shown {
            Some(visible) => to.write_all(visible.show(&chunk[..kept]).as_bytes()),
            None => to.write_all(&chunk[..kept]),
        };
        // Nobody reads any more: what is still to come is for nobody, but must be read so that the program can end.
        if written.and_then(|()| to.flush()).is_err() {
            room = 0;
        }
    }
    let Some(mut visible) = shown else { return Came { dropped, is_within_a_line: false } };
    let rest = visible.finish();
    // As above, and there is nothing more to come.
    let _nobody_reads = to.write_all(rest.as_bytes()).and_then(|()| to.flush());
    Came { dropped, is_within_a_line: visible.is_within_a_line() || !rest.is_empty() }
}
