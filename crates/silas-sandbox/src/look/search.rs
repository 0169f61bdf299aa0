//! Finding files by their names and lines by what is in them. Bounded in every direction: how much is gone through, how much
//! is read and how much is told; what was passed over is said.

use super::{Looked, NAMES_MAX, TEXT_BYTES_MAX};
use crate::Error;
use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::ignoring::Ignoring;
use crate::permit::Granted;
use regex::bytes::{Regex, RegexBuilder};
use silas_core::exits::Glob;
use silas_core::number::grouped;
use silas_core::relpath::{self, RelPath};
use std::io::{self, Read};

/// Names that are looked at, and bytes that are read, for one search.
const ENTRIES_MAX: usize = 200_000;
const READ_BYTES_MAX: u64 = 512 << 20;
/// Of one file. What is larger is seldom written by hand.
const FILE_BYTES_MAX: u64 = 16 << 20;
const LINES_MAX: usize = 200;
/// Of a line that was found.
const LINE_CHARS_MAX: usize = 240;
const DEPTH_MAX: usize = 64;
/// Where a byte of zero tells that a file is no text.
const BINARY_BYTES: usize = 8 << 10;
/// A pattern that needs more memory than this is refused.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Files whose names match.
pub(super) fn names(root: &Granted, below: Option<&RelPath>, pattern: &str) -> Result<Looked, Error> {
    let wanted = Wanted::of(Some(pattern))?;
    let mut found = Vec::new();
    let mut walk = Walk::new(root, below, wanted)?;
    walk.go(&mut |_, _, path, stat| {
        found.push(format!("{:>9} {path}", stat.size));
        Ok(found.len() <= NAMES_MAX)
    })?;
    let is_cut = found.len() > NAMES_MAX || walk.is_over();
    found.truncate(NAMES_MAX);
    Ok(Looked { passed_over: walk.passed_over(0, 0), ..Looked::text(found.join("\n"), is_cut) })
}

/// Lines that a pattern finds, as `path:line: text`.
pub(super) fn lines(
    root: &Granted,
    below: Option<&RelPath>,
    pattern: &str,
    names: Option<&str>,
) -> Result<Looked, Error> {
    let pattern = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX).build();
    let pattern = pattern.map_err(|cause| Error::NotAvailable(format!("This is no regular expression: {cause}")))?;
    let mut search = Search { pattern, found: Vec::new(), n_bytes: 0, n_read: 0, n_binary: 0, n_large: 0 };
    let is_file = below.is_some_and(|path| is_file(root, path));
    if let (Some(path), true) = (below, is_file) {
        let doing = || format!("Reading {path}");
        let (parent, name) = root.dir.parent_of(path).doing(doing)?;
        let name_of = relpath::escape(split(path).1);
        search.file(&parent, name, &name_of, u64::MAX).doing(doing)?;
        let is_cut = search.is_full();
        let passed_over = (search.n_binary > 0).then(|| "It is no text.".to_owned());
        return Ok(Looked { passed_over, ..Looked::text(search.told(), is_cut) });
    }
    let mut walk = Walk::new(root, below, Wanted::of(names)?)?;
    walk.go(&mut |dir, name, path, stat| {
        search.file(dir, name, path, stat.size)?;
        Ok(!search.is_full() && search.n_read < READ_BYTES_MAX)
    })?;
    let is_cut = search.is_full() || search.n_read >= READ_BYTES_MAX || walk.is_over();
    let passed_over = walk.passed_over(search.n_binary, search.n_large);
    Ok(Looked { passed_over, ..Looked::text(search.told(), is_cut) })
}

fn is_file(root: &Granted, path: &RelPath) -> bool {
    let found = root.dir.parent_of(path).and_then(|(parent, name)| parent.stat(name));
    matches!(found, Ok(Some(stat)) if stat.kind == Kind::File)
}

struct Search {
    pattern: Regex,
    found: Vec<String>,
    n_bytes: usize,
    n_read: u64,
    n_binary: u64,
    n_large: u64,
}

impl Search {
    fn is_full(&self) -> bool {
        self.found.len() >= LINES_MAX || self.n_bytes >= TEXT_BYTES_MAX
    }

    fn told(self) -> String {
        self.found.join("\n")
    }

    fn file(&mut self, dir: &Dir, name: &[u8], path: &str, size: u64) -> io::Result<()> {
        if size != u64::MAX && size > FILE_BYTES_MAX {
            self.n_large += 1;
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.n_read += dir.read(name)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)? as u64;
        if bytes[..bytes.len().min(BINARY_BYTES)].contains(&0) {
            self.n_binary += 1;
            return Ok(());
        }
        for (n, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if self.is_full() {
                return Ok(());
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(at) = self.pattern.find(line) {
                let told = format!("{path}:{}: {}", n + 1, around(line, at.start()));
                self.n_bytes += told.len() + 1;
                self.found.push(told);
            }
        }
        Ok(())
    }
}

/// Of a long line, the part in which something was found.
fn around(line: &[u8], at: usize) -> String {
    let text = String::from_utf8_lossy(line);
    if text.chars().count() <= LINE_CHARS_MAX {
        return text.into_owned();
    }
    let n_before = String::from_utf8_lossy(&line[..at]).chars().count();
    let from = n_before.saturating_sub(LINE_CHARS_MAX / 4);
    let part: String = text.chars().skip(from).take(LINE_CHARS_MAX).collect();
    format!("{}{part}…", if from > 0 { "…" } else { "" })
}

/// Which names are wanted.
struct Wanted(Option<Glob>);

impl Wanted {
    fn of(pattern: Option<&str>) -> Result<Self, Error> {
        let Some(pattern) = pattern else { return Ok(Wanted(None)) };
        // Without a directory in it, a name is looked for in all of them.
        let whole = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let bad = |cause| Error::NotAvailable(format!("This is no pattern for names: {cause}."));
        Ok(Wanted(Some(Glob::parse(&whole).map_err(bad)?)))
    }

    fn has(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|glob| glob.matches_path(path))
    }
}

/// Goes through a directory in the order of names.
struct Walk<'a> {
    root: &'a Granted,
    /// Where it begins, below the granted directory.
    start: Vec<u8>,
    /// Nothing where everything counts.
    ignoring: Option<Ignoring>,
    device: u64,
    wanted: Wanted,
    n_entries: usize,
    n_unread: u64,
    has_more: bool,
}

/// Told of each file that is wanted: its directory, its name there, its path from where the walk began. Whether to go on.
type Visit<'v> = &'v mut dyn FnMut(&Dir, &[u8], &str, &Stat) -> io::Result<bool>;

impl<'a> Walk<'a> {
    fn new(root: &'a Granted, below: Option<&RelPath>, wanted: Wanted) -> Result<Self, Error> {
        let start = below.map(|path| path.as_bytes().to_vec()).unwrap_or_default();
        let doing = || format!("Reading {}", relpath::escape(&start));
        let device = root.dir.below(&start).and_then(|dir| dir.own_stat()).doing(doing)?.device;
        let mut ignoring = Ignoring::of(root)?;
        // The rules of the directories above hold below them; whoever names an ignored directory wants to see it.
        let above = start.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(slash, _)| &start[..slash]);
        let above = if start.is_empty() { Vec::new() } else { std::iter::once(&b""[..]).chain(above).collect() };
        let parts = start.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(slash, _)| &start[..slash]);
        let parts: Vec<&[u8]> = parts.chain((!start.is_empty()).then_some(start.as_slice())).collect();
        if let Some(rules) = &ignoring {
            for at in above {
                root.dir.below(at).and_then(|dir| rules.learn(at, &dir)).doing(doing)?;
            }
            if parts.into_iter().any(|part| rules.matches(part, true) && !rules.is_tracked(part, true)) {
                ignoring = None;
            }
        }
        Ok(Walk { root, start, ignoring, device, wanted, n_entries: 0, n_unread: 0, has_more: false })
    }

    fn is_over(&self) -> bool {
        self.has_more || self.n_entries >= ENTRIES_MAX
    }

    fn go(&mut self, visit: Visit<'_>) -> Result<(), Error> {
        let start = self.start.clone();
        let dir = self.root.dir.below(&start).doing(|| format!("Reading {}", relpath::escape(&start)))?;
        self.within(&dir, &start, "", 0, visit);
        Ok(())
    }

    /// Whether to go on. What cannot be read is passed over: others can.
    fn within(&mut self, dir: &Dir, at: &[u8], shown: &str, depth: usize, visit: Visit<'_>) -> bool {
        let learnt = self.ignoring.as_ref().map_or(Ok(()), |rules| rules.learn(at, dir));
        let Ok(names) = learnt.and_then(|()| dir.names(ENTRIES_MAX)) else {
            self.n_unread += 1;
            return true;
        };
        for name in names {
            self.n_entries += 1;
            if self.n_entries >= ENTRIES_MAX {
                return false;
            }
            let Ok(Some(stat)) = dir.stat(&name) else { continue };
            let is_dir = stat.kind == Kind::Directory;
            if name == b".git" || name.starts_with(b".silas-") || !matches!(stat.kind, Kind::Directory | Kind::File) {
                continue;
            }
            let bytes = if at.is_empty() { name.clone() } else { [at, b"/", &name].concat() };
            let is_left = |rules: &Ignoring| rules.matches(&bytes, is_dir) && !rules.is_tracked(&bytes, is_dir);
            if self.ignoring.as_ref().is_some_and(is_left) {
                continue;
            }
            let path = format!("{shown}{}", relpath::escape(&name));
            let goes_on = match is_dir {
                true if depth >= DEPTH_MAX || stat.device != self.device => {
                    self.n_unread += 1;
                    true
                }
                true => match dir.below(&name) {
                    Ok(inside) => self.within(&inside, &bytes, &format!("{path}/"), depth + 1, visit),
                    Err(_) => {
                        self.n_unread += 1;
                        true
                    }
                },
                false if !self.wanted.has(&path) => true,
                false => visit(dir, &name, &path, &stat).unwrap_or_else(|_| {
                    self.n_unread += 1;
                    true
                }),
            };
            if !goes_on {
                self.has_more = true;
                return false;
            }
        }
        true
    }

    fn passed_over(&self, n_binary: u64, n_large: u64) -> Option<String> {
        let some = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", grouped(usize::try_from(n).unwrap_or(0))));
        let parts: Vec<String> = [
            some(n_binary, "that are no text"),
            some(n_large, "that are larger than 16 MB"),
            some(self.n_unread, "that could not be read"),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!parts.is_empty()).then(|| format!("Passed over: {}.", parts.join(", ")))
    }
}
