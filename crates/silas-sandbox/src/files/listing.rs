//! Names below a directory, in order, and the walk that finds them. Links are named and not followed.

use super::{Answered, FileAnswer, done, named, refused, why};
use silas_core::exits::Glob;
use silas_core::file_order::SHOWN_CHARS_MAX;
use silas_core::number::grouped;
use silas_core::relpath::escape;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names that are shown.
const NAMES_MAX: usize = 500;
/// Names that are gone through.
const WALKED_MAX: usize = 200_000;
/// Made by tools, large, and hardly ever meant. They are looked into if they are named.
const GENERATED: [&[u8]; 6] = [b"node_modules", b"target", b"__pycache__", b".venv", b"venv", b".tox"];

pub(super) fn list(path: &str, depth: u64, name: Option<&str>) -> Answered {
    let is_named = matcher(name)?;
    let meta = fs::metadata(path).map_err(|e| refused(format!("{} cannot be listed: {}.", named(path), why(&e))))?;
    if !meta.is_dir() {
        return Err(refused(format!("{} is no directory.", named(path))));
    }
    let mut walk = Walk::new(Path::new(path), depth);
    let (mut shown, mut n_shown, mut n_all) = (String::new(), 0, 0);
    let mut chars = 0;
    while let Some(entry) = walk.next() {
        if !is_named(&entry.below) {
            continue;
        }
        n_all += 1;
        let line = format!("{} {:>9} {}\n", entry.kind, entry.size, escape(&entry.below));
        chars += line.chars().count();
        if n_shown < NAMES_MAX && chars <= SHOWN_CHARS_MAX {
            n_shown += 1;
            shown.push_str(&line);
        }
    }
    let mut said = Vec::new();
    match (n_all, name) {
        (0, Some(_)) => said.push("No name matches.".to_owned()),
        (0, None) => said.push(format!("{} is empty.", named(path))),
        (n, _) if n > n_shown => said.push(format!(
            "{} names, of which the first {} are shown. A smaller depth, a directory below or a name shows others.",
            grouped(n),
            grouped(n_shown)
        )),
        _ => {}
    }
    said.extend(walk.passed_over());
    Ok(FileAnswer { shown, ..done(said.join(" ")) })
}

/// Whether a name is meant: the last part of a path, or the path where the pattern has parts of its own.
pub(super) fn matcher(name: Option<&str>) -> Result<impl Fn(&[u8]) -> bool, FileAnswer> {
    let glob = name.map(|name| {
        let glob = if name.contains('/') { Glob::parse(name) } else { Glob::parse(&format!("**/{name}")) };
        glob.map_err(|e| refused(format!("The name cannot be used: {e}.")))
    });
    let glob = glob.transpose()?;
    Ok(move |path: &[u8]| glob.as_ref().is_none_or(|glob| glob.matches_path(&String::from_utf8_lossy(path))))
}

pub(super) struct Entry {
    /// `f`, `d`, `l` or `s`, as a person would list it.
    pub(super) kind: char,
    pub(super) size: u64,
    pub(super) path: PathBuf,
    /// Below where the walk began.
    pub(super) below: Vec<u8>,
}

/// Everything below a directory, each directory before what is in it.
pub(super) struct Walk {
    depth: u64,
    /// What is still to be told, last first.
    stack: Vec<(PathBuf, Vec<u8>, u64)>,
    n_walked: usize,
    passed_over: Vec<Vec<u8>>,
    is_cut: bool,
}

impl Walk {
    pub(super) fn new(top: &Path, depth: u64) -> Walk {
        let mut walk = Walk { depth, stack: Vec::new(), n_walked: 0, passed_over: Vec::new(), is_cut: false };
        walk.enter(top, b"", 1);
        walk
    }

    fn enter(&mut self, dir: &Path, below: &[u8], level: u64) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        let room = WALKED_MAX.saturating_sub(self.n_walked + self.stack.len());
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).take(room + 1).collect();
        self.is_cut |= names.len() > room;
        names.truncate(room);
        names.sort();
        for name in names.into_iter().rev() {
            let below =
                if below.is_empty() { name.as_bytes().to_vec() } else { [below, b"/", name.as_bytes()].concat() };
            self.stack.push((dir.join(&name), below, level));
        }
    }

    pub(super) fn next(&mut self) -> Option<Entry> {
        loop {
            let (path, below, level) = self.stack.pop()?;
            self.n_walked += 1;
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let name = path.file_name().unwrap_or(OsStr::new("")).as_bytes();
            if name == b".git" {
                continue;
            }
            let kind = match meta.file_type() {
                kind if kind.is_dir() => 'd',
                kind if kind.is_file() => 'f',
                kind if kind.is_symlink() => 'l',
                _ => 's',
            };
            if kind == 'd' && level < self.depth {
                if GENERATED.contains(&name) {
                    self.passed_over.push(below.clone());
                } else {
                    self.enter(&path, &below, level + 1);
                }
            }
            return Some(Entry { kind, size: meta.len(), path, below });
        }
    }

    /// What was not gone into, in a sentence.
    pub(super) fn passed_over(&self) -> Option<String> {
        let names: Vec<String> = self.passed_over.iter().take(5).map(|name| named(OsStr::from_bytes(name))).collect();
        let over = (!names.is_empty()).then(|| {
            format!("Not looked into, because tools make it: {}. Name it as path to look there.", names.join(", "))
        });
        let cut = self.is_cut.then(|| format!("Only the first {} names were gone through.", grouped(WALKED_MAX)));
        let both: Vec<String> = over.into_iter().chain(cut).collect();
        (!both.is_empty()).then(|| both.join(" "))
    }
}
