//! Something that must not be done in this process, done in a child: what it opens, starts or reads is gone with it. Only
//! its answer comes back.

use crate::error::Doing;
use crate::process;
use crate::{Error, frame, syscall};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Gives what `body` gave, if it did so in time. Only for a process with one thread.
pub fn apart<T: Serialize + DeserializeOwned>(patience: Duration, body: impl FnOnce() -> T) -> Result<T, Error> {
    let doing = || "Starting a helper process".to_owned();
    if !process::is_single_threaded().doing(doing)? {
        return Err(Error::NotAvailable("This must be done before any thread is started.".to_owned()));
    }
    let (mut ours, theirs) = UnixStream::pair().doing(doing)?;
    let child = process::fork(&[theirs.as_raw_fd()], || {
        let mut theirs = theirs;
        let answered = hide_memory().and_then(|()| frame::send(&mut theirs, &body()));
        i32::from(answered.is_err())
    })
    .doing(doing)?;
    let events = syscall::poll(&[(ours.as_fd(), libc::POLLIN)], Some(patience)).doing(doing)?;
    let answer = if events[0] == 0 { Ok(None) } else { frame::receive(&mut ours) };
    if !matches!(answer, Ok(Some(_))) {
        child.kill();
    }
    child.wait();
    answer?.ok_or(Error::Lost)
}

/// Nobody else of this user can read this process's memory from here on, and a crash leaves no core.
pub fn hide_memory() -> Result<(), Error> {
    syscall::hide_memory().doing(|| "Protecting the keys".to_owned())
}
