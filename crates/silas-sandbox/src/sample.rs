//! Lays out the built-in sample project in the owner's home, for words that ask for it and that the owner's device signed:
//! always the same texts, always into a directory of their own, which is new or lies there exactly so already.
//!
//! Nothing is overwritten and nothing of the owner's is removed, whatever is in the way. It is written under another name and
//! takes its own when it is whole, so that nobody ever finds half of it.

use crate::clock;
use crate::dir::{Dir, Kind, Move};
use crate::ground::Ground;
use crate::{Error, LaidOut, mounted, removal, syscall};
use silas_core::evidence::Refusal;
use silas_core::instruction::{Age, SampleOrder};
use silas_core::roots;
use silas_core::sample::{FILES, SampleFile, directory_name};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// As many as somebody may have changed and kept; then it is asked for room.
const NUMBER_MAX: u32 = 20;
/// What it is called until it is whole.
const DRAFT: &[u8] = b".silas-sample.part";
const SUBDIRECTORY: &str = "tests";
/// More names than the sample has, so that one too many is seen.
const NAMES_MAX: usize = 64;
/// What other projects have.
const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

pub(crate) fn lay_out(ground: &Ground, order: &SampleOrder) -> Result<LaidOut, Error> {
    let revocations = ground.memory.revocations(&ground.anchor)?;
    let age = order.verify(&ground.anchor, &revocations, clock::now())?;
    let home = ground.tools.home.as_deref();
    let home = home.ok_or_else(|| no("HOME is not set, so there is no place for it. Set it and start Silas again."))?;
    let cannot = |cause: io::Error| no(&words(home, &cause));
    // A home may be reached through a link; from here on there is none.
    let real = home.canonicalize().map_err(cannot)?;
    let dir = Dir::open(&real).map_err(cannot)?;
    if syscall::effective_uid() == 0 && dir.own_stat().map_err(cannot)?.uid != 0 {
        let home = home.display();
        return Err(no(&format!(
            "Silas runs as root, and {home} belongs to somebody else. Start it as that user, or with root's own HOME."
        )));
    }
    let _lock = lock(&dir)?;
    for number in 1..=NUMBER_MAX {
        let name = directory_name(number);
        let path = grantable(&real.join(&name), &ground.own)?;
        let is_new = match dir.stat(name.as_bytes()).map_err(cannot)? {
            None if age == Age::Old => return Err(Refusal::Expired.into()),
            None => make(&dir, name.as_bytes(), home)?,
            // What cannot be read is not ours to judge.
            Some(stat) => {
                let is_it = stat.kind == Kind::Directory
                    && stat.uid == syscall::effective_uid()
                    && dir.below(name.as_bytes()).and_then(|found| is_sample(&found, Extent::Whole)).unwrap_or(false);
                if !is_it {
                    continue;
                }
                false
            }
        };
        return Ok(LaidOut { path, number, is_new });
    }
    Err(no(&format!(
        "{} and {} more like it are taken, each with something changed. Move or rename one.",
        real.join(directory_name(1)).display(),
        NUMBER_MAX - 1
    )))
}

/// How much of the sample has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    /// As much as a crash left: nothing but beginnings of its files.
    Begun,
}

fn no(why: &str) -> Error {
    Error::Sample(why.to_owned())
}

fn words(home: &Path, cause: &io::Error) -> String {
    let home = home.display();
    match cause.raw_os_error() {
        Some(libc::ENOENT) => {
            format!("Your home directory {home} does not exist. Make it, or set HOME, and start Silas again.")
        }
        Some(libc::ENOTDIR) => format!("Your home {home} is not a directory. Set HOME and start Silas again."),
        Some(libc::EROFS) => {
            format!("{home} is on a disk that is read-only. Make it writable, or set HOME, and try again.")
        }
        Some(libc::EACCES | libc::EPERM) => {
            format!("You may not write in {home}. Change its permissions, or set HOME, and try again.")
        }
        Some(libc::ENOSPC | libc::EDQUOT) => format!("The disk of {home} is full. Make room and try again."),
        _ => format!("{home} could not be written ({cause}). Try again."),
    }
}

/// Two of us at once must not take each other's draft for what a crash left. Not waited for: whoever holds it is done in a
/// moment, or is not us.
fn lock(home: &Dir) -> Result<Option<File>, Error> {
    let Ok(file) = home.as_fd().try_clone_to_owned().map(File::from) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            Err(no("Another program has locked your home directory. Try again in a moment."))
        }
        // A file system without locks; then two at once are unlikely enough.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// A directory in which no plan could work would be of no use.
fn grantable(path: &Path, own: &[std::path::PathBuf]) -> Result<String, Error> {
    let Some(path) = path.to_str() else {
        return Err(no("The name of your home directory is not valid text. Set HOME and start Silas again."));
    };
    let forbidden =
        |why: roots::Forbidden| no(&format!("It would lie in {path}. {why} Set HOME and start Silas again."));
    mounted::may_grant(path, own).map_err(forbidden)?;
    Ok(path.to_owned())
}

/// Makes it whole under the draft's name, then gives it its own, if that is still free.
fn make(home: &Dir, name: &[u8], shown: &Path) -> Result<bool, Error> {
    let cannot = |cause: io::Error| no(&words(shown, &cause));
    clear_draft(home, shown)?;
    home.mkdir(DRAFT, DIRECTORY_MODE).map_err(cannot)?;
    let made = fill(home).and_then(|()| name_it(home, name)).and_then(|()| home.sync());
    if let Err(cause) = made {
        // If even this fails, the next time begins with it.
        let _left_over = removal::tree(home, DRAFT);
        return Err(cannot(cause));
    }
    Ok(true)
}

/// What a crash left of an earlier time goes; anything else under that name stays.
fn clear_draft(home: &Dir, shown: &Path) -> Result<(), Error> {
    let cannot = |cause: io::Error| no(&words(shown, &cause));
    let Some(stat) = home.stat(DRAFT).map_err(cannot)? else { return Ok(()) };
    let is_ours = stat.kind == Kind::Directory
        && stat.uid == syscall::effective_uid()
        && home.below(DRAFT).and_then(|draft| is_sample(&draft, Extent::Begun)).unwrap_or(false);
    if !is_ours {
        let draft = String::from_utf8_lossy(DRAFT);
        return Err(no(&format!(
            "{} is in the way, and not Silas's. Move or rename it.",
            shown.join(&*draft).display()
        )));
    }
    removal::tree(home, DRAFT).map_err(cannot)
}

fn fill(home: &Dir) -> io::Result<()> {
    let draft = home.below(DRAFT)?;
    draft.mkdir(SUBDIRECTORY.as_bytes(), DIRECTORY_MODE)?;
    let below = draft.below(SUBDIRECTORY.as_bytes())?;
    for (dir, prefix) in [(&draft, ""), (&below, SUBDIRECTORY)] {
        for (name, file) in files_in(prefix) {
            let mut made = dir.create(name.as_bytes())?;
            made.write_all(file.text.as_bytes())?;
            dir.chmod(name.as_bytes(), FILE_MODE)?;
            made.sync_all()?;
        }
        dir.sync()?;
    }
    Ok(())
}

fn name_it(home: &Dir, name: &[u8]) -> io::Result<()> {
    match home.rename(DRAFT, home, name, Move::NoReplace) {
        // A file system that does not know this. An empty directory of our own making can be replaced by any.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            home.mkdir(name, DIRECTORY_MODE)?;
            let renamed = home.rename(DRAFT, home, name, Move::ToFreeName);
            if renamed.is_err() {
                let _in_use = home.rmdir(name);
            }
            renamed
        }
        done => done,
    }
}

/// The sample's files directly in one of its directories, by name.
fn files_in(directory: &str) -> impl Iterator<Item = (&'static str, &'static SampleFile)> {
    FILES.iter().filter_map(move |file| {
        let (parent, name) = file.path.rsplit_once('/').unwrap_or(("", file.path));
        (parent == directory).then_some((name, file))
    })
}

/// Whether a directory holds the sample, or a part of it, and nothing else.
fn is_sample(dir: &Dir, extent: Extent) -> io::Result<bool> {
    let has_rest = match dir.stat(SUBDIRECTORY.as_bytes())? {
        Some(stat) if stat.kind == Kind::Directory => {
            holds(&dir.below(SUBDIRECTORY.as_bytes())?, SUBDIRECTORY, extent)?
        }
        Some(_) => false,
        None => extent == Extent::Begun,
    };
    Ok(has_rest && holds(dir, "", extent)?)
}

fn holds(dir: &Dir, directory: &str, extent: Extent) -> io::Result<bool> {
    let is_known = |name: &[u8]| {
        let is_file = files_in(directory).any(|(known, _)| known.as_bytes() == name);
        // What Silas keeps there for an undo is no change of the owner's.
        let is_kept = extent == Extent::Whole && name.starts_with(b".silas-");
        is_file || (directory.is_empty() && (name == SUBDIRECTORY.as_bytes() || is_kept))
    };
    if !dir.names(NAMES_MAX)?.iter().all(|name| is_known(name)) {
        return Ok(false);
    }
    for (name, file) in files_in(directory) {
        let is_there = match dir.stat(name.as_bytes())? {
            None => extent == Extent::Begun,
            Some(stat) => {
                stat.kind == Kind::File
                    && stat.uid == syscall::effective_uid()
                    && reads(dir, name, file.text.as_bytes(), extent)?
            }
        };
        if !is_there {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Permissions are not looked at: some file systems have none of their own.
fn reads(dir: &Dir, name: &str, text: &[u8], extent: Extent) -> io::Result<bool> {
    let mut found = Vec::new();
    dir.read(name.as_bytes())?.take(text.len() as u64 + 1).read_to_end(&mut found)?;
    Ok(match extent {
        Extent::Whole => found == text,
        Extent::Begun => text.starts_with(&found),
    })
}
