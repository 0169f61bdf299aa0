//! The calls of a program that wait for the supervisor: what it has watched by `epoll`, counted, and where that is asked for, whom
//! its processes reach for.
//!
//! The kernel counts watches for a user, on the whole machine, and knows no limit of a namespace or a process for them: a
//! program could use up what its owner's editors and servers need. So a filter of its own hands each call that adds a watch to
//! the supervisor, which counts and lets the kernel do it, until there were too many. What is judged is in registers and
//! cannot be changed meanwhile. Not counted: what was closed or taken out again, which the supervisor is not told of.

use super::signals::{self, Signalled};
use super::sys::{self, Listen};
use crate::fd_passing;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Added in one run. Servers of tests add one or two for a connection.
const ADDED_MAX: u64 = 1 << 18;
/// And never more than this part of what the user may have.
const PART_OF_ALL: u64 = 4;
/// Answered before anything else is looked at again.
const AT_ONCE: usize = 64;

/// In the child: such calls wait for the supervisor from now on, which is given the other end of that. Where that is not to be
/// had, because a container watches its own programs in this way, nothing is counted and nobody can say who reached for whom.
pub(super) fn hand_over(to: &UnixStream, listen: Listen) -> io::Result<()> {
    match sys::listen(listen) {
        Ok(listener) => fd_passing::send(to, listener.as_fd()),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EINVAL | libc::ENOSYS)) => Ok(()),
        Err(e) => Err(e),
    }
}

/// The supervisor's side.
pub(super) struct Watches {
    from: Option<UnixStream>,
    listener: Option<OwnedFd>,
    left: u64,
    /// The cell's own first process, and what is noted of the others.
    first: i32,
    signalled: Option<Signalled>,
}

impl Watches {
    pub(super) fn new(from: UnixStream, first: i32) -> Watches {
        let all = std::fs::read_to_string("/proc/sys/fs/epoll/max_user_watches").ok();
        let all = all.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(u64::MAX);
        Watches { from: Some(from), listener: None, left: ADDED_MAX.min(all / PART_OF_ALL), first, signalled: None }
    }

    /// Who reached for whom, if that could be seen from the beginning.
    pub(super) fn finish(self) -> Option<Signalled> {
        self.signalled
    }

    /// To be waited for, unless it is over.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd).or_else(|| self.from.as_ref().map(AsFd::as_fd))
    }

    /// Something has happened there.
    pub(super) fn serve(&mut self, events: libc::c_short) {
        if let Some(from) = self.from.take() {
            // Nothing comes of a program that could not be started, or that is not counted.
            self.listener = fd_passing::receive(&from).ok();
            self.signalled = self.listener.as_ref().map(|_| Signalled::default());
            return;
        }
        if events & libc::POLLIN == 0 {
            self.listener = None;
        }
        let Some(listener) = &self.listener else { return };
        for _ in 0..AT_ONCE {
            let mut more = [libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
            if sys::poll(&mut more, Some(0)).is_err() || more[0].revents & libc::POLLIN == 0 {
                return;
            }
            // One that was killed meanwhile waits no more, and one that was interrupted asks again.
            let Ok(call) = sys::next_call(listener) else { continue };
            let refused = match call.number {
                libc::SYS_epoll_ctl => {
                    let is_allowed = self.left > 0;
                    self.left = self.left.saturating_sub(1);
                    (!is_allowed).then_some(libc::ENOSPC)
                }
                libc::SYS_pidfd_send_signal => Some(libc::ENOSYS),
                // Before it happens, so that whoever is meant can still be found.
                _ => {
                    if let Some(signalled) = &mut self.signalled {
                        signals::note(&call, self.first, signalled);
                    }
                    None
                }
            };
            let _gone = sys::answer_call(listener, call.id, refused);
        }
    }
}
