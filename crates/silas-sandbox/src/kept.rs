//! What an apply replaced, kept beyond the time for undoing it, so that a later plan can put it back without any model.
//!
//! It lies in the launcher's own directory with two scripts: one that puts everything back, unless somebody has changed it
//! since, and one that tells whether it is back. Both run in cells like the commands of any plan, on a private copy, and
//! what they do is checked and applied like any other work. Kept for a month, and within bounds; what does not fit is
//! dropped with the time for undoing it, as before. What was committed is not kept: git keeps it better.

use crate::clock;
use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::Ground;
use crate::journal::{Fate, Journal, Op};
use crate::memory::Memory;
use crate::permit::{self, Root};
use crate::{Error, commits, observe, removal, stage};
use silas_core::ExecutionId;
use silas_core::changeset::FileState;
use silas_core::execution::ExecutionState;
use silas_core::roots::Place;
use silas_core::work::KEPT_INSIDE;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// After this nobody remembers what was there.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// Of one execution, and of all together. Sources fit many times; what a build made does not, and need not.
const BYTES_MAX: u64 = 64 << 20;
const TOTAL_BYTES_MAX: u64 = 512 << 20;

/// Keeps what an execution replaced, out of its staging directories. Nothing is kept of what is too large, or committed.
pub(crate) fn keep(ground: &Ground, journal: &Journal, roots: &[Option<Dir>]) -> Result<(), Error> {
    let doing = || "Keeping what was replaced".to_owned();
    let ops: Vec<(usize, &Op)> = (journal.ended())
        .enumerate()
        .filter(|(_, (_, fate))| *fate == Fate::InPlace)
        .map(|(n, (op, _))| (n, op))
        .collect();
    let all_there = roots.iter().all(Option::is_some);
    if ops.is_empty() || !all_there || ops.iter().any(|(_, op)| commits::is_in_repository(&op.path)) {
        return Ok(());
    }
    let memory = &ground.memory;
    let (parent, name) = (Dir::open(&memory.all_kept()).doing(doing)?, journal.execution.as_str().as_bytes());
    let draft = [name, b".draft"].concat();
    removal::tree(&parent, &draft).doing(doing)?;
    if parent.stat(name).doing(doing)?.is_some() {
        return Ok(());
    }
    parent.mkdir(&draft, 0o700).doing(doing)?;
    let dir = parent.below(&draft).doing(doing)?;
    let mut bytes = 0;
    for (n, op) in &ops {
        let (Some(there), Some(Some(root))) = (&op.there, roots.get(op.root)) else { continue };
        let staged = root.below(stage::name(&journal.execution).as_bytes()).doing(doing)?;
        let (from, to) = (op.stage.as_bytes(), n.to_string());
        // Something else than what was replaced is somebody's; it stays where it is and nothing is promised about it.
        if observe::name_in(&staged, from).doing(doing)?.state().as_ref() != Some(there) {
            return removal::tree(&parent, &draft).doing(doing);
        }
        bytes += staged.stat(from).doing(doing)?.map_or(0, |stat| stat.size);
        if bytes > BYTES_MAX {
            return removal::tree(&parent, &draft).doing(doing);
        }
        observe::copy_name(&staged, from, &dir, to.as_bytes()).doing(doing)?;
    }
    for (script, text) in [("restore", restore_script(&ops, journal)), ("check", check_script(&ops, journal))] {
        dir.create(script.as_bytes()).and_then(|mut file| file.write_all(&text)).doing(doing)?;
    }
    crate::syscall::sync_file_system(std::os::fd::AsFd::as_fd(&dir)).doing(doing)?;
    parent.rename(&draft, &parent, name, crate::dir::Move::NoReplace).doing(doing)?;
    parent.sync().doing(doing)?;
    prune(memory)
}

/// What a plan that restores finds at its place inside, if it is there and belongs to exactly these directories.
pub(crate) fn find(ground: &Ground, execution: &ExecutionId, roots: &[Root]) -> Result<PathBuf, Error> {
    let gone = || Error::NotAvailable("What this plan would put back is no longer kept.".to_owned());
    let memory = &ground.memory;
    let record = memory.record(execution)?.ok_or_else(gone)?;
    if record.state != ExecutionState::Applied || record.places != permit::places(roots) {
        return Err(gone());
    }
    if record.undo_until.is_some_and(|until| clock::now() < until) {
        return Err(Error::UndoOpen);
    }
    let dir = memory.kept(execution);
    // Without a rule of the house that lets old versions go, they are still where the apply left them.
    if let Some(journal) = Journal::load(&memory.journal(execution))?.filter(|_| !dir.is_dir()) {
        let held: Result<Vec<Option<Dir>>, Error> = roots
            .iter()
            .map(|root| root.granted.dir.below(b"").map(Some).doing(|| "Opening a directory".to_owned()))
            .collect();
        keep(ground, &journal, &held?)?;
    }
    if dir.is_dir() { Ok(dir) } else { Err(gone()) }
}

/// Drops what is too old, and the oldest of what is too much.
fn prune(memory: &Memory) -> Result<(), Error> {
    let doing = || "Dropping what was kept long enough".to_owned();
    let parent = Dir::open(&memory.all_kept()).doing(doing)?;
    let mut kept = Vec::new();
    for name in parent.names(usize::MAX).doing(doing)? {
        if let Some(stat) = parent.stat(&name).doing(doing)? {
            let bytes = size_of_all(&parent.below(&name).doing(doing)?).doing(doing)?;
            kept.push((stat.modified, name, bytes));
        }
    }
    kept.sort();
    let mut total: u64 = kept.iter().map(|(_, _, bytes)| bytes).sum();
    for (since, name, bytes) in kept {
        let age = SystemTime::now().duration_since(since).unwrap_or_default();
        if age > KEPT_FOR || total > TOTAL_BYTES_MAX {
            removal::tree(&parent, &name).doing(doing)?;
            total -= bytes;
        }
    }
    Ok(())
}

fn size_of_all(dir: &Dir) -> io::Result<u64> {
    let mut total = 0;
    for name in dir.names(usize::MAX)? {
        total += dir.stat(&name)?.map_or(0, |stat| stat.size);
    }
    Ok(total)
}

/// Refuses before it changes anything if somebody has changed one of the files since.
fn restore_script(ops: &[(usize, &Op)], journal: &Journal) -> Vec<u8> {
    let mut script = b"changed=0\n".to_vec();
    for (_, op) in ops {
        let path = quoted_path(&journal.places, op);
        let test: Vec<u8> = match &op.staged {
            None => [b"[ ! -e ", &path[..], b" ] && [ ! -L ", &path, b" ]"].concat(),
            Some(FileState::Link { .. }) => [b"[ -L ", &path[..], b" ]"].concat(),
            Some(FileState::File { hash, .. }) => {
                let hex = hash.to_string();
                let hex = hex.rsplit(':').next().unwrap_or_default().to_owned();
                [b"[ \"$(sha256sum < ", &path[..], b" | cut -c1-64)\" = ", hex.as_bytes(), b" ]"].concat()
            }
        };
        let say = [b"printf 'changed since: %s\\n' ", &path[..]].concat();
        script.extend([&test[..], b" || { ", &say, b"; changed=1; }\n"].concat());
    }
    script.extend(b"[ $changed = 0 ] || exit 1\nset -e\n");
    for (n, op) in ops {
        let path = quoted_path(&journal.places, op);
        script.extend([b"rm -f ", &path[..], b"\n"].concat());
        if let Some(there) = &op.there {
            script.extend([b"mkdir -p \"$(dirname ", &path[..], b")\"\n"].concat());
            script.extend([b"cp -P ", kept_name(*n).as_bytes(), b" ", &path[..], b"\n"].concat());
            if let FileState::File { mode, .. } = there {
                script.extend([b"chmod ", format!("{mode:o}").as_bytes(), b" ", &path[..], b"\n"].concat());
            }
        }
    }
    script
}

fn check_script(ops: &[(usize, &Op)], journal: &Journal) -> Vec<u8> {
    let mut script = b"set -e\n".to_vec();
    for (n, op) in ops {
        let (path, kept) = (quoted_path(&journal.places, op), kept_name(*n));
        let kept = kept.as_bytes();
        script.extend(match &op.there {
            None => [b"[ ! -e ", &path[..], b" ] && [ ! -L ", &path, b" ]\n"].concat(),
            Some(FileState::Link { .. }) => {
                [b"[ \"$(readlink ", &path[..], b")\" = \"$(readlink ", kept, b")\" ]\n"].concat()
            }
            Some(FileState::File { mode, .. }) => {
                let mode = format!("{mode:o}");
                let same = [b"cmp -s ", kept, b" ", &path[..], b"\n"].concat();
                [&same[..], b"[ \"$(stat -c %a ", &path, b")\" = ", mode.as_bytes(), b" ]\n"].concat()
            }
        });
    }
    script
}

fn kept_name(n: usize) -> String {
    format!("{KEPT_INSIDE}/{n}")
}

/// A path as `sh` reads it back, whatever bytes are in it.
fn quoted_path(places: &[Place], op: &Op) -> Vec<u8> {
    let root = places.get(op.root).map_or("", |place| place.path.as_str());
    quoted(&[root.as_bytes(), b"/", op.path.as_bytes()].concat())
}

pub(crate) fn quoted(path: &[u8]) -> Vec<u8> {
    let mut quoted = b"'".to_vec();
    for byte in path {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}
