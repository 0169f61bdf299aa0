//! The hands that read, search and change files for a model: code of our own that runs where a command would, inside a cell,
//! and so sees and can change what a command there can, and nothing else.
//!
//! Nothing is changed by looking, and what is changed is changed as a whole: a file gets its new text or keeps the old one,
//! and of a patch all files do. Deliberately absent: the rules of replacing and patching, which are pure
//! ([`silas_core::replacing`], [`silas_core::patch`]).

mod listing;
mod patching;
mod reading;
mod searching;
mod writing;

use silas_core::file_order::{FileAnswer, FileOrder, SHOWN_CHARS_MAX, Sights};
use silas_core::number::grouped;
use silas_core::replacing::lines;
use silas_core::{Digest, hidden};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The largest file that is read at once; for larger ones there are commands.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Of a name in a sentence.
const NAME_CHARS_MAX: usize = 200;

/// Carries out an order below the directory in which this process is, and writes the answer to its standard output. The
/// exit code says only whether that could be written.
pub(crate) fn carry_out(order: &FileOrder, known: &Sights) -> i32 {
    let Ok(bytes) = serde_json::to_vec(&answer(order, known)) else { return 1 };
    // Past the buffer of the standard library, in which something of the process may stand that this one is a copy of.
    let output = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
    i32::from(output.and_then(|mut output| output.write_all(&bytes)).is_err())
}

pub(crate) fn answer(order: &FileOrder, known: &Sights) -> FileAnswer {
    let answered = match order {
        FileOrder::Read { path, from_line, lines } => reading::read(path, *from_line, *lines, known),
        FileOrder::Write { path, text } => writing::write(path, text, known),
        FileOrder::Edit { path, old, new, all } => writing::edit(path, old, new, *all, known),
        FileOrder::Patch(files) => patching::patch(files, known),
        FileOrder::Search { pattern, path, name } => searching::search(pattern, path, name.as_deref()),
        FileOrder::List { path, depth, name } => listing::list(path, *depth, name.as_deref()),
    };
    answered.unwrap_or_else(|refused| refused)
}

/// Both sides are answers: what went wrong is told to a model like everything else.
type Answered = Result<FileAnswer, FileAnswer>;

fn done(said: String) -> FileAnswer {
    FileAnswer { said, is_done: true, ..FileAnswer::default() }
}

fn refused(said: String) -> FileAnswer {
    FileAnswer { said, ..FileAnswer::default() }
}

/// A name between backquotes, on one line and bounded.
fn named(path: impl AsRef<Path>) -> String {
    let text = path.as_ref().to_string_lossy().replace('`', "'");
    let cut: String = text.chars().take(NAME_CHARS_MAX).collect();
    format!("`{}`", hidden::name(&cut))
}

/// A file as it is now.
struct Found {
    /// Its one name, whatever links lead to it.
    real: PathBuf,
    bytes: Vec<u8>,
}

impl Found {
    fn key(&self) -> String {
        key(&self.real)
    }

    /// Whether somebody else changed it since it was seen.
    fn moved_on(&self, known: &Sights) -> bool {
        known.get(&self.key()).is_some_and(|sight| sight.text != Digest::of(&self.bytes))
    }
}

/// The name by which what was seen of a file is remembered.
fn key(real: &Path) -> String {
    real.to_string_lossy().into_owned()
}

fn find(path: &str) -> Result<Found, FileAnswer> {
    let name = named(path);
    let failed = |e: std::io::Error| refused(format!("{name} cannot be read: {}.", why(&e)));
    let real = fs::canonicalize(path).map_err(failed)?;
    let meta = fs::metadata(&real).map_err(failed)?;
    if meta.is_dir() {
        return Err(refused(format!("{name} is a directory; list_files shows what is in it.")));
    }
    if !meta.is_file() {
        return Err(refused(format!("{name} is no ordinary file and is not opened.")));
    }
    if meta.len() > FILE_BYTES_MAX {
        let mb = grouped(meta.len() >> 20);
        return Err(refused(format!("{name} has {mb} MB, too much for this; shell_exec can look at parts of it.")));
    }
    let bytes = fs::read(&real).map_err(failed)?;
    Ok(Found { real, bytes })
}

fn why(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "that is not allowed here".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "it can be read here, not written".to_owned(),
        _ => error.to_string(),
    }
}

/// Not text in any encoding that could be shown.
fn is_binary(bytes: &[u8]) -> bool {
    if std::str::from_utf8(bytes).is_ok() {
        return false;
    }
    let head = &bytes[..bytes.len().min(8 << 10)];
    let odd = head.iter().filter(|byte| **byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b)).count();
    head.contains(&0) || odd * 10 > head.len()
}

fn binary(path: &str, bytes: &[u8]) -> FileAnswer {
    let n = grouped(bytes.len());
    refused(format!(
        "{} is not text ({n} bytes) and is not shown; shell_exec can look at it and change it.",
        named(path)
    ))
}

/// Lines with their numbers, as long as there is room, and how many of them were shown exactly and whole.
fn numbered(bytes: &[u8], from: u64, to: u64, room: usize) -> (String, u64) {
    let all = lines(bytes);
    let (mut shown, mut room, mut n) = (String::new(), room, 0);
    let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
    for (number, line) in (from..=to).zip(all.iter().skip(skipped)) {
        let is_last_and_open = number as usize == all.len() && !bytes.ends_with(b"\n");
        let end = if is_last_and_open { "" } else { "\n" };
        let text = format!("{number}\t{}{end}", String::from_utf8_lossy(line));
        let chars = text.chars().count();
        if chars > room {
            if n == 0 {
                shown.extend(text.chars().take(room));
            }
            break;
        }
        room -= chars;
        shown.push_str(&text);
        n += 1;
    }
    (shown, n)
}

/// Lines around a place, for an answer that shows where something nearly stood.
fn excerpt(bytes: &[u8], place: Option<(u64, u64)>) -> String {
    place.map_or_else(String::new, |(from, to)| numbered(bytes, from, to.min(from + 40), SHOWN_CHARS_MAX / 2).0)
}

/// The first few numbers of lines, in words.
fn at_lines(lines: &[u64]) -> String {
    let first: Vec<String> = lines.iter().take(8).map(u64::to_string).collect();
    let more = if lines.len() > first.len() { ", …" } else { "" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}{more}", first.join(", "))
}

/// Puts a text where another was or nothing, in place, so that the file stays the same file; the old text is put back if
/// that fails halfway.
fn put(path: &Path, old: Option<&[u8]>, new: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, new).inspect_err(|_| {
        // Nobody can do more if this fails too.
        let _ = match old {
            Some(old) => fs::write(path, old),
            None => fs::remove_file(path),
        };
    })
}

#[cfg(test)]
mod tests;
