//! Small files that are wholly there or not at all, also after a power cut.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Makes a new file; fails if there is one of that name.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = write_draft(path, bytes)?;
    // A hard link is made only if the name is free, and then the whole content has that name at once.
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    linked?;
    sync_parent(path)
}

/// Makes or replaces a file.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = write_draft(path, bytes)?;
    fs::rename(&draft, path)?;
    sync_parent(path)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        done => done?,
    }
    sync_parent(path)
}

/// A directory that only we can enter.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Drafts end in this; what a crash left of them is overwritten by the next.
const DRAFT: &str = "tmp";

fn write_draft(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let draft = path.with_extension(DRAFT);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(draft)
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    File::open(parent)?.sync_all()
}
