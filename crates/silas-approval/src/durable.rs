//! Small files that must be whole: written beside, synced, then put in place in one step. Readable by their owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A crash leaves the whole file or none, never an existing one replaced.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path, bytes)?;
    fs::hard_link(&beside, path)?;
    fs::remove_file(&beside)
}

/// A crash leaves the old file or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::rename(beside(path, bytes)?, path)?;
    sync_dir(path)
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_dir(to)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_dir(path)
}

pub(crate) fn is_open_to_others(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

fn beside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    // The whole name, so that two files with one stem do not meet.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    if beside.exists() {
        fs::remove_file(&beside)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(beside)
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
