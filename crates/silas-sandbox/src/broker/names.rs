//! What the granted names stand for: asked once, in a process that may wait, and kept until the run is over.

use super::{Resolver, socket};
use crate::process::{self, Child};
use std::io::{self, PipeReader, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// For a name server to answer.
pub(super) const ASK_MAX: Duration = Duration::from_secs(20);
/// Addresses of one name that are looked at.
const ADDRESSES_MAX: usize = 16;
/// More than that many addresses take as text.
const ANSWER_BYTES_MAX: usize = 4096;

pub(super) struct Names<'a> {
    resolver: Resolver<'a>,
    pinned: Vec<(String, Vec<IpAddr>)>,
    asking: Vec<Asking>,
}

struct Asking {
    name: String,
    child: Child,
    pipe: PipeReader,
    answer: Vec<u8>,
    is_done: bool,
}

impl<'a> Names<'a> {
    pub(super) fn new(resolver: Resolver<'a>) -> Self {
        Names { resolver, pinned: Vec::new(), asking: Vec::new() }
    }

    /// The addresses to which this name is pinned. Names without any are asked for again.
    pub(super) fn known(&self, name: &str) -> Option<Vec<IpAddr>> {
        self.pinned.iter().find(|(pinned, _)| pinned == name).map(|(_, addresses)| addresses.clone())
    }

    pub(super) fn ask(&mut self, name: &str) -> io::Result<()> {
        if self.asking.iter().any(|asking| asking.name == name) {
            return Ok(());
        }
        let (pipe, mut answer_to) = io::pipe()?;
        let child = process::fork(&[answer_to.as_raw_fd()], || {
            socket::end_after(u32::try_from(ASK_MAX.as_secs()).unwrap_or(u32::MAX));
            let found = (self.resolver)(name).unwrap_or_default();
            let lines: String = found.iter().take(ADDRESSES_MAX).map(|address| format!("{address}\n")).collect();
            i32::from(answer_to.write_all(lines.as_bytes()).is_err())
        })?;
        self.asking.push(Asking { name: name.to_owned(), child, pipe, answer: Vec::new(), is_done: false });
        Ok(())
    }

    pub(super) fn waits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.asking.iter().map(|asking| asking.pipe.as_fd())
    }

    /// Takes what has arrived for one of the names that are waited for.
    pub(super) fn read(&mut self, n: usize) {
        let Some(asking) = self.asking.get_mut(n) else { return };
        let mut some = [0; 1024];
        match asking.pipe.read(&mut some) {
            Ok(0) => asking.is_done = true,
            Ok(n) if asking.answer.len() + n <= ANSWER_BYTES_MAX => asking.answer.extend_from_slice(&some[..n]),
            Ok(_) => asking.is_done = true,
            Err(e) => asking.is_done = e.kind() != io::ErrorKind::Interrupted,
        }
    }

    /// Names that were answered since the last time. What was found is pinned.
    pub(super) fn answered(&mut self) -> Vec<String> {
        let (done, asking) = std::mem::take(&mut self.asking).into_iter().partition(|asking| asking.is_done);
        self.asking = asking;
        let done: Vec<Asking> = done;
        let mut names = Vec::new();
        for asking in done {
            drop(asking.pipe);
            asking.child.wait();
            let text = String::from_utf8_lossy(&asking.answer);
            let addresses: Vec<IpAddr> = text.lines().filter_map(|line| line.parse().ok()).collect();
            if !addresses.is_empty() {
                self.pinned.push((asking.name.clone(), addresses));
            }
            names.push(asking.name);
        }
        names
    }
}
