//! Reading within the directories that the owner allowed: the one thing that may be asked for without an approval of its
//! own. It can express nothing but a look at files, at names, or at what git remembers, below a directory whose decision is
//! shown and still holds.
//!
//! Links are not followed, not even inside: what lies elsewhere was not allowed, and what lies inside has another name.
//! Paths below the directory are spelled as they are listed: what cannot be shown as it is, a line break for one, is `\xNN`.

use crate::dir::{Dir, Kind};
use crate::error::Doing;
use crate::ground::Ground;
use crate::permit::Granted;
use crate::{Error, FixedFile, fitting};
use serde::{Deserialize, Serialize};
use silas_core::evidence::{Allowance, Refusal};
use silas_core::relpath::{self, RelPath};
use silas_core::roots::{Access, Place, contains};
use silas_core::work::Directory;
use std::io::{self, BufRead, BufReader, Read};

mod history;
mod search;

pub use history::History;

/// What somebody wants to see.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Look {
    /// Lines of a text, counted from 1.
    File { from_line: u64, lines: u64 },
    /// Names below a directory.
    Names { depth: u32 },
    /// Files below a directory whose names match, as `*.rs` or `src/**/test_*`. What git ignores is passed over.
    Matching { names: String },
    /// Lines that a regular expression finds, in a file or in all files below a directory, or in those whose names match.
    /// What git ignores is passed over.
    Lines { of: String, names: Option<String> },
    /// What git tells of a file or a directory.
    History(History),
    /// Whether work could be done in a directory; if so, which files in it no work can change, as far as they could be looked
    /// for.
    Fit,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    pub text: String,
    /// Of a directory that fits.
    pub fixed: Vec<FixedFile>,
    /// Whether there is more.
    pub is_cut: bool,
    /// What was not looked at, in a sentence.
    pub passed_over: Option<String>,
}

impl Looked {
    fn text(text: String, is_cut: bool) -> Self {
        Looked { text, fixed: Vec::new(), is_cut, passed_over: None }
    }
}

/// Of a file, as much as is gone through to find the lines.
const SCANNED_BYTES_MAX: u64 = 256 << 20;
/// Of what is found, as much as is given back.
const TEXT_BYTES_MAX: usize = 48 << 10;
const NAMES_MAX: usize = 500;
const DEPTH_MAX: u32 = 8;

pub(crate) fn look(ground: &Ground, allowance: &Allowance, path: &str, look: Look) -> Result<Looked, Error> {
    let revocations = ground.memory.revocations(&ground.anchor)?;
    let grant = allowance.verify(&ground.anchor, &revocations)?;
    if !contains(&grant.place.path, path) {
        return Err(Refusal::Root(path.to_owned()).into());
    }
    let below = path[grant.place.path.len()..].trim_matches('/').to_owned();
    let root = Granted::pinned(&Directory::pinned(grant.place, Access::Read), &ground.own)?;
    let doing = || format!("Reading {path}");
    let odd = || Error::Place { path: path.to_owned(), problem: "it is not the name of a file".to_owned() };
    // The directory itself has no path below it.
    let below = match below.as_str() {
        "" | "." => None,
        below => Some(RelPath::try_from(below.to_owned()).map_err(|_| odd())?),
    };
    let bytes = below.as_ref().map_or(b"".as_slice(), RelPath::as_bytes);
    match look {
        Look::File { from_line, lines } => {
            let below = below.as_ref().ok_or_else(odd)?;
            let (parent, name) = root.dir.parent_of(below).doing(doing)?;
            let file = parent.read(name).doing(doing)?;
            let not_text = || Error::NotAvailable(format!("{path} is not UTF-8 text."));
            let scanned = BufReader::with_capacity(1 << 16, file).take(SCANNED_BYTES_MAX);
            lines_of(scanned, from_line, lines).doing(doing)?.ok_or_else(not_text)
        }
        Look::Fit => {
            let dir = root.dir.below(bytes).doing(doing)?;
            let stat = dir.own_stat().doing(doing)?;
            let place = Place { path: path.to_owned(), device: stat.device.to_string(), inode: stat.inode.to_string() };
            let mut fixed = fitting::fits(ground, Granted { place, dir })?;
            let is_cut = fixed.len() > NAMES_MAX;
            fixed.truncate(NAMES_MAX);
            Ok(Looked { fixed, ..Looked::text(String::new(), is_cut) })
        }
        Look::Names { depth } => {
            let dir = root.dir.below(bytes).doing(doing)?;
            let mut names = Vec::new();
            list(&dir, "", depth.clamp(1, DEPTH_MAX), &mut names).doing(doing)?;
            let is_cut = names.len() > NAMES_MAX;
            names.truncate(NAMES_MAX);
            Ok(Looked::text(names.join("\n"), is_cut))
        }
        Look::Matching { names } => search::names(&root, below.as_ref(), &names),
        Look::Lines { of, names } => search::lines(&root, below.as_ref(), &of, names.as_deref()),
        Look::History(history) => history::tell(ground, &root, below.as_ref(), &history),
    }
}

/// The lines exactly as they are; `None` if they are not UTF-8. A cut falls between two characters.
fn lines_of(mut text: impl BufRead, from_line: u64, lines: u64) -> io::Result<Option<Looked>> {
    let mut n_skipped = 1;
    while n_skipped < from_line && text.skip_until(b'\n')? > 0 {
        n_skipped += 1;
    }
    let mut found = Vec::new();
    let mut n_read = 0;
    while n_read < lines && found.len() <= TEXT_BYTES_MAX {
        let room = (TEXT_BYTES_MAX + 1 - found.len()) as u64;
        if text.by_ref().take(room).read_until(b'\n', &mut found)? == 0 {
            break;
        }
        n_read += 1;
    }
    let is_cut = found.len() > TEXT_BYTES_MAX || !text.fill_buf()?.is_empty();
    found.truncate(TEXT_BYTES_MAX);
    match std::str::from_utf8(&found) {
        Err(e) if is_cut && e.error_len().is_none() => found.truncate(e.valid_up_to()),
        Ok(_) | Err(_) => {}
    }
    Ok(String::from_utf8(found).ok().map(|text| Looked::text(text, is_cut)))
}

/// Kind, size and path, as a person would list them; one more than fit, so that it is known that there are more.
fn list(dir: &Dir, prefix: &str, depth: u32, names: &mut Vec<String>) -> std::io::Result<()> {
    for name in dir.names(NAMES_MAX + 1)? {
        if names.len() > NAMES_MAX {
            return Ok(());
        }
        let Some(stat) = dir.stat(&name)? else { continue };
        let path = format!("{prefix}{}", relpath::escape(&name));
        let kind = match stat.kind {
            Kind::Directory => 'd',
            Kind::File => 'f',
            Kind::Link => 'l',
            Kind::Special(_) => 's',
        };
        names.push(format!("{kind} {:>9} {path}", stat.size));
        let is_own = name == b".git" || name.starts_with(b".silas-");
        if stat.kind == Kind::Directory && depth > 1 && !is_own {
            list(&dir.below(&name)?, &format!("{path}/"), depth - 1, names)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(bytes: &[u8], from: u64, n: u64) -> Option<Looked> {
        super::lines_of(bytes, from, n).unwrap()
    }

    #[test]
    fn lines_are_counted_from_one_and_cut() {
        let check = |bytes: &[u8], from, n, text: &str, is_cut| {
            assert_eq!(lines_of(bytes, from, n), Some(Looked::text(text.to_owned(), is_cut)));
        };
        check(b"a\nb\nc\n", 1, 2, "a\nb\n", true);
        check(b"a\nb\nc", 2, 9, "b\nc", false);
        check(b"a\n", 5, 1, "", false);
        check(b"a\0\r\n\xef\xbb\xbf", 1, 9, "a\0\r\n\u{feff}", false);
        assert_eq!(lines_of(b"\xffa", 1, 1), None);
        assert_eq!(lines_of(b"\xe2\x82", 1, 1), None, "a character that the file itself cuts");
        assert!(lines_of(&vec![b'x'; 60 << 10], 1, 1).unwrap().is_cut);
        let wide = lines_of("€".repeat(20 << 10).as_bytes(), 1, 1).unwrap();
        assert!(wide.is_cut && wide.text.chars().all(|c| c == '€'));
    }
}
