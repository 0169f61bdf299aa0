//! What the texts of a directory were when its private copy was made, kept as long as the copy: two edits of one file can be
//! brought together only by somebody who knows what both began with, and through a layer the owner's edit replaces it.
//!
//! One file, written once in one go, and within bounds. It is no backup: what is too large, too much or no text is left out,
//! and then nothing is merged.

use crate::dir::Dir;
use crate::error::Doing;
use crate::permit::Root;
use crate::private_copy::PrivateCopy;
use crate::{Error, durable, memory};
use serde::{Deserialize, Serialize};
use silas_core::Digest;
use silas_core::changeset::{Change, Changeset, FileState};
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Larger files are not text that two people edit line by line.
pub(crate) const TEXT_BYTES_MAX: u64 = 256 << 10;
/// Of all texts together. Where there are more, none is kept: a large directory is not copied, for this either.
const BYTES_MAX: u64 = 4 << 20;

const PACK: &str = "originals";
const INDEX: &str = "originals.json";

/// Where each text lies in the pack.
#[derive(Default)]
pub(crate) struct Originals {
    pack: Option<File>,
    places: BTreeMap<(u32, RelPath), Span>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    from: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    directory: u32,
    path: RelPath,
    span: Span,
}

impl Originals {
    /// Reads what the copies were made of once more. A file that is already another is left out: its hash says so.
    pub(crate) fn note(home: &Path, copies: &[PrivateCopy], roots: &[Root]) -> io::Result<Self> {
        let sizes =
            copies.iter().flat_map(|copy| copy.original.files.keys().filter_map(|path| copy.original.size_of(path)));
        if sizes.filter(|size| *size <= TEXT_BYTES_MAX).sum::<u64>() > BYTES_MAX {
            return Ok(Originals::default());
        }
        let mut pack = create(&home.join(PACK))?;
        let (mut places, mut from) = (BTreeMap::new(), 0);
        for (copy, root) in copies.iter().zip(roots) {
            for (path, state) in &copy.original.files {
                let FileState::File { hash, .. } = state else { continue };
                if copy.original.size_of(path).is_none_or(|size| size > TEXT_BYTES_MAX) {
                    continue;
                }
                let Some(bytes) = read_text(&root.granted.dir, path).filter(|bytes| Digest::of(bytes) == *hash) else {
                    continue;
                };
                let span = Span { from, bytes: bytes.len() as u64 };
                pack.write_all(&bytes)?;
                from += span.bytes;
                places.insert((copy.nth, path.clone()), span);
            }
        }
        Ok(Originals { pack: Some(pack), places })
    }

    /// Leaves only the originals of what changed, and notes where they lie; for a copy that is kept.
    pub(crate) fn narrow(&mut self, home: &Path, changeset: &Changeset) -> Result<u64, Error> {
        let doing = || "Keeping what the texts were".to_owned();
        let mut entries = Vec::new();
        let draft = home.join(format!("{PACK}.draft"));
        let mut pack = create(&draft).doing(doing)?;
        let mut from = 0;
        for change in &changeset.changes {
            let Some(bytes) = self.get(change.directory, &change.path) else { continue };
            pack.write_all(&bytes).doing(doing)?;
            let span = Span { from, bytes: bytes.len() as u64 };
            from += span.bytes;
            entries.push(Entry { directory: change.directory, path: change.path.clone(), span });
        }
        let index = serde_json::to_vec(&entries).map_err(|e| Error::Damaged(e.to_string()))?;
        std::fs::rename(&draft, home.join(PACK)).doing(doing)?;
        durable::replace(&home.join(INDEX), &index).doing(doing)?;
        let places = entries.into_iter().map(|entry| ((entry.directory, entry.path), entry.span)).collect();
        *self = Originals { pack: Some(pack), places };
        Ok(from)
    }

    /// Of a copy that was kept; nothing of one that an earlier version kept.
    pub(crate) fn open(home: &Path) -> Result<Self, Error> {
        let Some(entries) = memory::read::<Vec<Entry>>(&home.join(INDEX))? else { return Ok(Originals::default()) };
        let pack = File::open(home.join(PACK)).doing(|| "Opening what the texts were".to_owned())?;
        let places = entries.into_iter().map(|entry| ((entry.directory, entry.path), entry.span)).collect();
        Ok(Originals { pack: Some(pack), places })
    }

    pub(crate) fn get(&self, directory: u32, path: &RelPath) -> Option<Vec<u8>> {
        let span = self.places.get(&(directory, path.clone())).filter(|span| span.bytes <= TEXT_BYTES_MAX)?;
        let mut bytes = vec![0; usize::try_from(span.bytes).ok()?];
        // What cannot be read is as if it had not been kept; whoever merges compares the hash.
        self.pack.as_ref()?.read_exact_at(&mut bytes, span.from).ok()?;
        Some(bytes)
    }
}

impl Originals {
    /// What a changed file was, if that is kept and is what the change says.
    pub(crate) fn text(&self, change: &Change) -> Option<String> {
        let Some(FileState::File { hash, .. }) = &change.before else { return None };
        let bytes = self.get(change.directory, &change.path).filter(|bytes| Digest::of(bytes) == *hash)?;
        String::from_utf8(bytes).ok()
    }
}

/// A small text below a directory; nothing if it is not that, or not there.
pub(crate) fn read_text(dir: &Dir, path: &RelPath) -> Option<Vec<u8>> {
    let (parent, name) = dir.parent_of(path).ok()?;
    read_text_in(&parent, name)
}

pub(crate) fn read_text_in(dir: &Dir, name: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    dir.read(name).ok()?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    let is_text = bytes.len() as u64 <= TEXT_BYTES_MAX && !bytes.contains(&0);
    is_text.then_some(bytes)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)
}
