//! Which files a program opened or ran in the directories that are watched, as the kernel tells it to whoever stands outside.
//!
//! The child watches the directories as they are mounted for it, before any of the program's code runs, and hands the
//! watches over; the process that watches the cell reads them. Nothing inside can reach them. Whatever would leave something
//! out (a directory that cannot be watched, a queue that ran over, too many names) makes it no list at all. What is only
//! asked about, not opened (whether a file is there, how large it is), the kernel does not tell.
//!
//! Of temporary files it is told which came to be twice under one name: a script may keep there what it says, and a program
//! may put something else in its place. In directories that are made meanwhile that is seen from the moment on in which whoever
//! stands outside has heard of them. Of what comes to be in the watched directories it is told by its name, links apart: they
//! come to be without being opened. What lies in a directory that is made meanwhile is not seen, only the directory.

use super::prepared::Prepared;
use super::sys;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories of one run. The kernel lets a cell have twice as many watches, and its program may want some too.
const DIRECTORIES_MAX: usize = 16_384;
/// Files of one run; who opens more is not described by a list.
const FILES_MAX: usize = 50_000;
/// Directories of temporary files in one run.
const TEMPORARY_MAX: usize = 4096;
const SCRATCH: &CStr = c"/tmp";
/// As [`crate::workspace::HOME_INSIDE`] has it.
const HOME: &CStr = c"/tmp/home";
/// As much as is read at once, and how often before something else gets its turn.
const CHUNK_BYTES: usize = 64 << 10;
const AT_ONCE_MAX: usize = 16;
/// Before the name in an event: the watch, what happened, a cookie, and how long the name is.
const EVENT_BYTES: usize = 16;

/// What a run did to the files of the watched directories.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Opened {
    /// Opened or run, in the order in which that happened first.
    pub files: Vec<PathBuf>,
    /// Written to, put in place, moved or taken away.
    pub written: BTreeSet<PathBuf>,
    /// Names of temporary files that came to be more than once in one place. Only the last part: what lies above it is often
    /// another one in each run.
    pub again: BTreeSet<String>,
    /// What came to be, files and directories.
    pub made: BTreeSet<PathBuf>,
    pub made_dirs: BTreeSet<PathBuf>,
    /// What came to be by its name alone: links, sockets and pipes. Nobody opened it to make it.
    pub linked: BTreeSet<PathBuf>,
    /// Names that came to be in the home directory.
    pub at_home: BTreeSet<String>,
}

/// What the child hands over.
pub(super) struct Watched {
    pub(super) events: OwnedFd,
    /// The place of temporary files.
    pub(super) scratch: OwnedFd,
}

/// Read where the cell is watched.
pub(super) struct Openings {
    events: File,
    directories: Vec<PathBuf>,
    known: BTreeSet<PathBuf>,
    /// In the order in which they were opened first.
    opened: Vec<PathBuf>,
    written: BTreeSet<PathBuf>,
    scratch: OwnedFd,
    /// Where temporary files are, by the number of the watch and as seen from `scratch`.
    temporary: BTreeMap<i32, PathBuf>,
    arrived: BTreeSet<PathBuf>,
    again: BTreeSet<String>,
    made: BTreeSet<PathBuf>,
    made_dirs: BTreeSet<PathBuf>,
    linked: BTreeSet<PathBuf>,
    /// Made, and not opened yet: if it stays so, it is no file.
    unopened: BTreeSet<PathBuf>,
    /// The watch on the home directory.
    home: i32,
    at_home: BTreeSet<String>,
    is_complete: bool,
}

/// In the child, when its root is its own. Every directory, or none: then nobody can say what was opened.
pub(super) fn watch(cell: &Prepared<'_>) -> Option<Watched> {
    if cell.watched.is_empty() || cell.watched.len() > DIRECTORIES_MAX {
        return None;
    }
    let watches = sys::new_watches().ok()?;
    for (n, directory) in cell.watched.iter().enumerate() {
        // Numbers are handed out in order, so the caller knows which is which. Two names of one directory have one number.
        let number = sys::watch_openings(&watches, directory).ok()?;
        if usize::try_from(number) != Ok(n + 1) {
            return None;
        }
    }
    let number = sys::watch_arrivals(&watches, SCRATCH).ok()?;
    if usize::try_from(number) != Ok(cell.watched.len() + 1) {
        return None;
    }
    let number = sys::watch_arrivals(&watches, HOME).ok()?;
    if usize::try_from(number) != Ok(cell.watched.len() + 2) {
        return None;
    }
    let scratch = sys::open_real(SCRATCH).ok()?;
    Some(Watched { events: watches, scratch })
}

impl Openings {
    pub(super) fn new(watched: Watched, directories: &[PathBuf]) -> Self {
        let number = i32::try_from(directories.len() + 1).unwrap_or(i32::MAX);
        Openings {
            events: File::from(watched.events),
            directories: directories.to_vec(),
            scratch: watched.scratch,
            temporary: BTreeMap::from([(number, PathBuf::new())]),
            arrived: BTreeSet::new(),
            again: BTreeSet::new(),
            made: BTreeSet::new(),
            made_dirs: BTreeSet::new(),
            linked: BTreeSet::new(),
            unopened: BTreeSet::new(),
            home: number.saturating_add(1),
            at_home: BTreeSet::new(),
            known: BTreeSet::new(),
            opened: Vec::new(),
            written: BTreeSet::new(),
            is_complete: true,
        }
    }

    pub(super) fn events(&self) -> &File {
        &self.events
    }

    /// Takes what has happened so far. Whether there may be more.
    pub(super) fn take(&mut self) -> bool {
        let mut chunk = [0; CHUNK_BYTES];
        for _ in 0..AT_ONCE_MAX {
            match self.events.read(&mut chunk) {
                Ok(n) if n > 0 => self.note_all(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
                Ok(_) | Err(_) => {
                    self.is_complete = false;
                    return false;
                }
            }
        }
        true
    }

    /// Nobody is left who could open anything.
    pub(super) fn finish(mut self) -> Option<Opened> {
        while self.take() {}
        self.is_complete.then_some(Opened {
            files: self.opened,
            written: self.written,
            again: self.again,
            made: self.made,
            made_dirs: self.made_dirs,
            linked: self.linked.into_iter().chain(self.unopened).collect(),
            at_home: self.at_home,
        })
    }

    fn note_all(&mut self, mut events: &[u8]) {
        while let Some((head, rest)) = events.split_first_chunk::<EVENT_BYTES>() {
            let number = |at: usize| i32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let length = usize::try_from(number(12)).unwrap_or(usize::MAX);
            let Some((name, rest)) = rest.split_at_checked(length) else { break };
            events = rest;
            self.note(number(0), number(4).cast_unsigned(), name);
        }
    }

    fn note(&mut self, watch: i32, what: u32, name: &[u8]) {
        if what & libc::IN_Q_OVERFLOW != 0 {
            self.is_complete = false;
        }
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if let Some(place) = self.temporary.get(&watch).filter(|_| !name.is_empty()) {
            let path = place.join(OsStr::from_bytes(name));
            return self.note_arrival(path, what & libc::IN_ISDIR != 0);
        }
        let is_file = what & libc::IN_ISDIR == 0;
        if watch == self.home && !name.is_empty() && self.at_home.len() < FILES_MAX {
            self.at_home.insert(String::from_utf8_lossy(name).into_owned());
        }
        let directory = usize::try_from(watch).ok().and_then(|n| self.directories.get(n.checked_sub(1)?));
        let Some(directory) = directory.filter(|_| !name.is_empty()) else { return };
        let path = Path::new(directory).join(OsStr::from_bytes(name));
        if self.known.len() + self.written.len() + self.made.len() + self.made_dirs.len() >= FILES_MAX {
            self.is_complete = false;
            return;
        }
        self.note_made(&path, what, is_file);
        if !is_file {
            return;
        }
        const WRITTEN: u32 =
            libc::IN_MODIFY | libc::IN_CLOSE_WRITE | libc::IN_MOVED_FROM | libc::IN_MOVED_TO | libc::IN_DELETE;
        if what & WRITTEN != 0 {
            self.written.insert(path.clone());
        }
        if what & (libc::IN_OPEN | libc::IN_MOVED_FROM) != 0 && self.known.insert(path.clone()) {
            self.opened.push(path);
        }
    }
}

impl Openings {
    /// Something in a watched directory came to be, or is opened, which shows that it is a file.
    fn note_made(&mut self, path: &Path, what: u32, is_file: bool) {
        if what & (libc::IN_CREATE | libc::IN_MOVED_TO) != 0 {
            let made = if is_file { &mut self.made } else { &mut self.made_dirs };
            made.insert(path.to_owned());
        }
        // One that is filled before it is opened was there under another name.
        if what & libc::IN_CREATE != 0 && is_file {
            self.unopened.insert(path.to_owned());
        } else if self.unopened.contains(path) && what & (libc::IN_OPEN | libc::IN_MODIFY) != 0 {
            self.unopened.remove(path);
            if what & libc::IN_MODIFY != 0 {
                self.linked.insert(path.to_owned());
            }
        }
    }

    /// A temporary file or directory came to be.
    fn note_arrival(&mut self, path: PathBuf, is_dir: bool) {
        if self.arrived.len() >= FILES_MAX || self.temporary.len() > TEMPORARY_MAX {
            self.is_complete = false;
            return;
        }
        if is_dir {
            // Only right below: on a longer way a link could lead out of the cell.
            if path.components().count() > 1 {
                return;
            }
            let fd = self.scratch.as_raw_fd();
            let seen_from_here = Path::new("/proc/self/fd").join(fd.to_string()).join(&path);
            let Ok(place) = CString::new(seen_from_here.as_os_str().as_bytes()) else { return };
            // One that is gone again can hold nothing.
            if let Ok(number) = sys::watch_arrivals(&self.events, &place) {
                self.temporary.insert(i32::try_from(number).unwrap_or(-1), path);
            }
        } else if !self.arrived.insert(path.clone()) {
            self.again.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
}

#[cfg(test)]
mod tests;
