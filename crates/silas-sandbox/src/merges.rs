//! Two edits of the same files that go together, laid out for a plan that brings them together: of each file the version of
//! the owner's that was met, and what both come to. It lies in the launcher's own directory with the script that lays it over
//! a fresh copy, for a day, and within bounds.
//!
//! The plan names the hash of exactly these changes. What is laid is looked at afterwards like any other work, and is refused
//! if it comes to anything else; so nothing here has to be believed.

use crate::clock;
use crate::dir::{Dir, Move};
use crate::error::Doing;
use crate::ground::Ground;
use crate::kept::quoted;
use crate::memory::{self, Memory};
use crate::permit::{self, Root};
use crate::{Error, Merged, apply, durable, observe, removal, syscall};
use serde::{Deserialize, Serialize};
use silas_core::changeset::{Changeset, FileState};
use silas_core::evidence::Refusal;
use silas_core::fail::{self, FailPoint};
use silas_core::rehearsal::{KEPT_FOR, WAITING_MAX};
use silas_core::roots::Place;
use silas_core::work::{KEPT_INSIDE, Merging};
use silas_core::{ExecutionId, Timestamp};
use std::fs::Permissions;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Of one merge, both versions together. Sources fit many times.
const BYTES_MAX: u64 = 64 << 20;

const NOTE: &str = "note.json";
/// The script that a plan's only step runs.
const LAY: &str = "lay";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    places: Vec<Place>,
    changeset: Changeset,
    until: Timestamp,
}

/// What a plan that merges finds.
pub(crate) struct Laid {
    pub(crate) dir: PathBuf,
    pub(crate) changeset: Changeset,
}

/// Where the content of a version is taken from.
pub(crate) enum Content {
    Text(String),
    /// A file or symlink of this name.
    At(Dir, Vec<u8>),
}

/// What each change is before and after; in the order of the changes, nothing where there is no file.
pub(crate) struct Contents {
    pub(crate) before: Option<Content>,
    pub(crate) after: Option<Content>,
}

/// Keeps a merge. `None` if it is too large to be kept.
pub(crate) fn keep(
    ground: &Ground,
    execution: &ExecutionId,
    roots: &[Root],
    changeset: &Changeset,
    contents: &[Contents],
) -> Result<Option<Merged>, Error> {
    let doing = || "Keeping both versions".to_owned();
    prune(&ground.memory)?;
    let parent = Dir::open(&ground.memory.all_merges()).doing(doing)?;
    let name = execution.as_str().as_bytes();
    if parent.names(usize::MAX).doing(doing)?.len() >= usize::try_from(WAITING_MAX).unwrap_or(usize::MAX) {
        return Ok(None);
    }
    let draft = [name, b".draft"].concat();
    removal::tree(&parent, &draft).doing(doing)?;
    parent.mkdir(&draft, 0o700).doing(doing)?;
    let dir = parent.below(&draft).doing(doing)?;
    let mut bytes = 0;
    for (n, (change, contents)) in changeset.changes.iter().zip(contents).enumerate() {
        let versions =
            [(before_name(n), &change.before, &contents.before), (after_name(n), &change.after, &contents.after)];
        for (name, state, content) in versions {
            let Some(content) = content else { continue };
            bytes += put(&dir, name.as_bytes(), state.as_ref(), content).doing(doing)?;
            // Whoever saves in this very moment has made it another merge; it is not offered.
            let is_it = observe::name_in(&dir, name.as_bytes()).doing(doing)?.is(state);
            if !is_it || bytes > BYTES_MAX {
                removal::tree(&parent, &draft).doing(doing)?;
                return Ok(None);
            }
        }
    }
    let until = clock::now().plus(KEPT_FOR);
    let places = permit::places(roots);
    let script = lay_script(roots, changeset);
    dir.create(LAY.as_bytes()).and_then(|mut file| file.write_all(&script)).doing(doing)?;
    let hash = apply::hash(changeset)?;
    let note = Note { places, changeset: changeset.clone(), until };
    let note = serde_json::to_vec(&note).map_err(|e| Error::Damaged(e.to_string()))?;
    durable::replace(&ground.memory.all_merges().join(format!("{execution}.draft")).join(NOTE), &note).doing(doing)?;
    syscall::sync_file_system(dir.as_fd()).doing(doing)?;
    removal::tree(&parent, name).doing(doing)?;
    parent.rename(&draft, &parent, name, Move::NoReplace).doing(doing)?;
    parent.sync().doing(doing)?;
    fail::point(FailPoint::MergeKept);
    Ok(Some(Merged { changeset: hash, until }))
}

/// What a plan that merges lays, if it is kept, belongs to exactly these directories, and is what the plan names.
pub(crate) fn find(memory: &Memory, merging: &Merging, roots: &[Root]) -> Result<Laid, Error> {
    let gone = || {
        let why = "What this would bring together is no longer kept. Have it done again on your version instead.";
        Error::NotAvailable(why.to_owned())
    };
    let dir = memory.merge(&merging.execution);
    let note: Note = memory::read(&dir.join(NOTE))?.ok_or_else(gone)?;
    if clock::now() >= note.until {
        return Err(gone());
    }
    if note.places != permit::places(roots) || apply::hash(&note.changeset)? != merging.changeset {
        return Err(Refusal::Content.into());
    }
    Ok(Laid { dir, changeset: note.changeset })
}

/// Drops a merge that nobody wants any more. One that is not there is dropped.
pub(crate) fn drop_one(memory: &Memory, execution: &ExecutionId) -> Result<(), Error> {
    let doing = || "Dropping a version that is not wanted".to_owned();
    let parent = Dir::open(&memory.all_merges()).doing(doing)?;
    removal::tree(&parent, execution.as_str().as_bytes()).doing(doing)
}

/// Drops what has waited long enough, and what a crash left half written.
pub(crate) fn prune(memory: &Memory) -> Result<(), Error> {
    let doing = || "Dropping versions that waited long enough".to_owned();
    let parent = Dir::open(&memory.all_merges()).doing(doing)?;
    for name in parent.names(usize::MAX).doing(doing)? {
        let path = memory.all_merges().join(String::from_utf8_lossy(&name).as_ref()).join(NOTE);
        if let Some(execution) = name.strip_suffix(b".draft") {
            let execution = ExecutionId::parse(&String::from_utf8_lossy(execution));
            // Whoever writes it holds the lock.
            if execution.is_ok_and(|execution| memory.lock(&execution).is_ok()) {
                removal::tree(&parent, &name).doing(doing)?;
            }
            continue;
        }
        if memory::read::<Note>(&path)?.is_none_or(|note| clock::now() >= note.until) {
            removal::tree(&parent, &name).doing(doing)?;
        }
    }
    Ok(())
}

impl Laid {
    pub(crate) fn open(&self) -> Result<Dir, Error> {
        Dir::open(&self.dir).doing(|| "Opening both versions".to_owned())
    }

    /// Where the version of a change lies that the owner had, and the one that both come to.
    pub(crate) fn names(n: usize) -> (String, String) {
        (before_name(n), after_name(n))
    }
}

fn before_name(n: usize) -> String {
    format!("{n}.before")
}

fn after_name(n: usize) -> String {
    format!("{n}.after")
}

fn put(dir: &Dir, name: &[u8], state: Option<&FileState>, content: &Content) -> std::io::Result<u64> {
    match content {
        Content::At(from, from_name) => observe::copy_name(from, from_name, dir, name)?,
        Content::Text(text) => {
            let mut file = dir.create(name)?;
            file.write_all(text.as_bytes())?;
            if let Some(FileState::File { mode, .. }) = state {
                file.set_permissions(Permissions::from_mode(*mode))?;
            }
        }
    }
    Ok(dir.stat(name)?.map_or(0, |stat| stat.size))
}

fn lay_script(roots: &[Root], changeset: &Changeset) -> Vec<u8> {
    let mut script = b"set -e\n".to_vec();
    for (n, change) in changeset.changes.iter().enumerate() {
        let Some(root) = roots.iter().find(|root| root.nth == change.directory) else { continue };
        let path = Path::new(&root.granted.place.path);
        let path = quoted(&[path.as_os_str().as_encoded_bytes(), b"/", change.path.as_bytes()].concat());
        script.extend([b"rm -f ", &path[..], b"\n"].concat());
        if let Some(after) = &change.after {
            let kept = format!("{KEPT_INSIDE}/{}", after_name(n));
            script.extend([b"mkdir -p \"$(dirname ", &path[..], b")\"\n"].concat());
            script.extend([b"cp -P ", kept.as_bytes(), b" ", &path[..], b"\n"].concat());
            if let FileState::File { mode, .. } = after {
                script.extend([b"chmod ", format!("{mode:o}").as_bytes(), b" ", &path[..], b"\n"].concat());
            }
        }
    }
    script
}
