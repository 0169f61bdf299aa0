//! Something that is done by a child of a workshop, so that checks run side by side. The child writes one answer into a
//! pipe and ends.

use crate::error::Doing;
use crate::process::{self, Child};
use crate::{Error, frame};
use serde::Serialize;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

pub(crate) struct Errand<To> {
    /// Who waits for the answer.
    to: To,
    child: Child,
    pipe: PipeReader,
    answer: Vec<u8>,
}

impl<To> Errand<To> {
    /// The child works with what is open here, beside us.
    pub(crate) fn run_beside<T: Serialize>(to: To, body: impl FnOnce() -> Result<T, Error>) -> Result<Self, Error> {
        let (pipe, answer_to) = io::pipe().doing(starting)?;
        let child = process::fork_beside(|| answer(answer_to, body)).doing(starting)?;
        Ok(Errand { to, child, pipe, answer: Vec::new() })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Takes what has arrived. Whether that was all.
    pub(crate) fn read_some(&mut self) -> bool {
        let mut buffer = [0u8; 64 << 10];
        match self.pipe.read(&mut buffer) {
            Ok(0) => true,
            Ok(n) => {
                self.answer.extend_from_slice(&buffer[..n]);
                self.answer.len() > frame::FRAME_BYTES_MAX
            }
            Err(e) => e.kind() != io::ErrorKind::Interrupted,
        }
    }

    /// Who waits, and the answer for them: an encoded `Result`. A child that died without a word is an answer too.
    pub(crate) fn end(self) -> (To, Result<Vec<u8>, Error>) {
        drop(self.pipe);
        self.child.wait();
        let answer =
            if self.answer.is_empty() { frame::encode(&Err::<(), Error>(Error::Lost)) } else { Ok(self.answer) };
        (self.to, answer)
    }
}

fn starting() -> String {
    "Starting a helper process".to_owned()
}

fn answer<T: Serialize>(mut to: PipeWriter, body: impl FnOnce() -> Result<T, Error>) -> i32 {
    let answer = body();
    let bytes = frame::encode(&answer).or_else(|e| frame::encode(&Err::<(), Error>(e)));
    i32::from(bytes.is_ok_and(|bytes| to.write_all(&bytes).is_err()))
}
