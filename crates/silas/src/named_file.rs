//! A file that somebody named, on the command line or in the configuration: opened if it is a regular one, and refused
//! otherwise. A FIFO would be waited for without an end, and a device has none. Or made, if it is not there yet.

use crate::exit::in_words;
use anyhow::{Result, anyhow};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening must not wait either; for a regular file the flag means nothing.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()? {
        meta if meta.is_file() => Ok(file),
        meta if meta.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// The whole of it. One that is longer is not even loaded.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= bytes_max {
        true => Ok(bytes),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is longer than {bytes_max} bytes"))),
    }
}

/// A new file that nobody else may read. What is there already is not written over.
pub(crate) fn make(path: &Path) -> Result<File> {
    let made = File::options().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|cause| anyhow!("Nothing was written: {}", why_not(path, &cause)))
}

fn why_not(path: &Path, cause: &io::Error) -> String {
    let (file, dir) = (path.display(), path.parent().unwrap_or(Path::new("")));
    match cause.kind() {
        io::ErrorKind::AlreadyExists => format!("{file} is there already. Name a file that is not there yet."),
        io::ErrorKind::NotFound if !dir.as_os_str().is_empty() && !dir.exists() => {
            format!("there is no directory {}. Make it first, or name a file elsewhere.", dir.display())
        }
        io::ErrorKind::NotADirectory => {
            format!("{} is not a directory. Name a file elsewhere.", dir.display())
        }
        _ => format!("{file} cannot be made: {}. Name a file elsewhere.", in_words(cause)),
    }
}

#[cfg(test)]
mod tests;
