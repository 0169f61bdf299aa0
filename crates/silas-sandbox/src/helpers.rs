//! The launcher's children: everything that takes time or touches something is done by one, which answers over the channel
//! that came with the request, and ends. The launcher itself only starts them and notices that they are gone.

use crate::error::Doing;
use crate::process::{self, Child};
use crate::{Error, frame};
use serde::Serialize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// What a child is for. Each has places of its own, so that none takes another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A request of the front that may take long: a look, an undo, a recovery.
    Errand,
    /// Something is taken back.
    Revocation,
    /// A terminal has something signed.
    Signature,
    /// Work in a private copy, or one command.
    Workshop,
}

impl Work {
    /// Each may use a whole machine, and there is one owner.
    const MAX: usize = 16;
}

/// Whether the answer is there or a child gives it.
pub(crate) enum Answer {
    Now(Vec<u8>),
    Later,
}

#[derive(Default)]
pub(crate) struct Helpers(Vec<Helper>);

struct Helper {
    work: Work,
    child: Child,
    /// Becomes readable when it has ended.
    ended: OwnedFd,
}

impl Helpers {
    /// The child answers once over the channel and ends. It keeps nothing of what is open here but that and what is named.
    pub(crate) fn answer<T: Serialize>(
        &mut self,
        work: Work,
        channel: &UnixStream,
        keep: &[RawFd],
        body: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Answer, Error> {
        let keep = [keep, &[channel.as_raw_fd()]].concat();
        self.start(work, &keep, || reply(channel, &body()))
    }

    /// The child does whatever `body` does.
    pub(crate) fn start(&mut self, work: Work, keep: &[RawFd], body: impl FnOnce() -> i32) -> Result<Answer, Error> {
        if self.0.iter().filter(|helper| helper.work == work).count() >= Work::MAX {
            return Err(Error::Busy);
        }
        self.watch(work, process::fork(keep, body).doing(starting)?)
    }

    /// Takes over a child that somebody else has started.
    pub(crate) fn watch(&mut self, work: Work, child: Child) -> Result<Answer, Error> {
        let ended = child.watch().doing(starting)?;
        self.0.push(Helper { work, child, ended });
        Ok(Answer::Later)
    }

    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|helper| helper.ended.as_fd())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The n-th has ended; this does not wait.
    pub(crate) fn take_leave(&mut self, n: usize) -> Work {
        let helper = self.0.remove(n);
        helper.child.wait();
        helper.work
    }
}

/// In a child: the exit code says only whether the answer could be given.
pub(crate) fn reply<T: Serialize>(mut channel: &UnixStream, answer: &Result<T, Error>) -> i32 {
    let bytes = frame::encode(answer).or_else(|e| frame::encode(&Err::<(), Error>(e)));
    i32::from(bytes.and_then(|bytes| frame::send_bytes(&mut channel, &bytes)).is_err())
}

fn starting() -> String {
    "Starting a helper process".to_owned()
}
