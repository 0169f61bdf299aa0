//! Moves bytes between the owner's terminal and a command in the sandbox, which never gets the terminal itself: a program
//! that holds a terminal can type into it. One small buffer for each stream, however much is written.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread::JoinHandle;

/// A pipe's usual capacity.
const CHUNK_BYTES: usize = 64 << 10;

pub(super) struct Pump {
    stdout: JoinHandle<u64>,
    stderr: JoinHandle<u64>,
}

/// Bytes that were dropped because they were more than allowed.
pub(super) struct Passed {
    pub(super) dropped: [u64; 2],
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
            std::thread::spawn(move || pass(io::stdin(), typed, None));
        }
        Pump {
            stdout: std::thread::spawn(move || pass(stdout, io::stdout(), bytes_max)),
            stderr: std::thread::spawn(move || pass(stderr, io::stderr(), bytes_max)),
        }
    }

    /// When the command has ended: until everything that it wrote has arrived.
    pub(super) fn drain(self) -> Passed {
        Passed { dropped: [self.stdout.join().unwrap_or(0), self.stderr.join().unwrap_or(0)] }
    }
}

/// Answers how many bytes were read and not passed on.
fn pass(mut from: impl Read, mut to: impl Write, bytes_max: Option<u64>) -> u64 {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut room, mut dropped) = (bytes_max.unwrap_or(u64::MAX), 0);
    loop {
        let n = match from.read(&mut chunk) {
            Ok(0) => return dropped,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return dropped,
        };
        let kept = n.min(usize::try_from(room).unwrap_or(usize::MAX));
        room -= kept as u64;
        dropped += (n - kept) as u64;
        // Nobody reads any more: what is still to come is for nobody, but must be read so that the program can end.
        if to.write_all(&chunk[..kept]).and_then(|()| to.flush()).is_err() {
            room = 0;
        }
    }
}
