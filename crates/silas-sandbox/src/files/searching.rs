//! Lines that a regular expression matches, below a directory or in one file.

use super::listing::{Walk, matcher};
use super::{Answered, FileAnswer, done, named, refused};
use regex::bytes::{Regex, RegexBuilder};
use silas_core::file_order::SHOWN_CHARS_MAX;
use silas_core::number::grouped;
use silas_core::relpath::escape;
use silas_core::replacing::lines;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Lines that are shown.
const MATCHES_MAX: usize = 200;
/// Of one line, around what matched.
const LINE_CHARS_MAX: usize = 300;
const FILE_BYTES_MAX: u64 = 8 << 20;
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Files of a very large tree may not all be looked through; then it is said.
const LOOKS_FOR: Duration = Duration::from_secs(20);

pub(super) fn search(pattern: &str, path: &str, name: Option<&str>) -> Answered {
    let regex = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build();
    let regex = regex.map_err(|e| refused(format!("Not searched: the regular expression cannot be used: {e}")))?;
    let is_named = matcher(name)?;
    let meta =
        fs::metadata(path).map_err(|e| refused(format!("Not searched: {}: {}.", named(path), super::why(&e))))?;
    let until = Instant::now() + LOOKS_FOR;
    let mut found = Search {
        regex,
        shown: String::new(),
        n_shown: 0,
        n_lines: 0,
        n_files: 0,
        n_skipped_large: 0,
        is_full: false,
        is_late: false,
    };
    if meta.is_file() {
        found.file(Path::new(path), path.as_bytes());
        found.n_skipped_large = u32::from(meta.len() > FILE_BYTES_MAX);
    }
    let mut walk = Walk::new(Path::new(path), u64::MAX);
    while meta.is_dir()
        && let Some(entry) = walk.next()
    {
        if Instant::now() > until {
            found.is_late = true;
            break;
        }
        if entry.kind != 'f' || !is_named(&entry.below) {
            continue;
        }
        if entry.size > FILE_BYTES_MAX {
            found.n_skipped_large += 1;
            continue;
        }
        let shown = if path == "." {
            entry.below.clone()
        } else {
            [path.trim_end_matches('/').as_bytes(), b"/", &entry.below].concat()
        };
        found.file(&entry.path, &shown);
    }
    let said = found.said(walk.passed_over());
    Ok(FileAnswer { shown: found.shown, ..done(said) })
}

struct Search {
    regex: Regex,
    shown: String,
    n_shown: usize,
    n_lines: usize,
    n_files: usize,
    n_skipped_large: u32,
    is_full: bool,
    is_late: bool,
}

impl Search {
    fn file(&mut self, path: &Path, name: &[u8]) {
        let Ok(bytes) = fs::read(path) else { return };
        // What is no text has no lines.
        if bytes[..bytes.len().min(8 << 10)].contains(&0) || !self.regex.is_match(&bytes) {
            return;
        }
        let before = self.n_lines;
        for (n, line) in lines(&bytes).into_iter().enumerate() {
            let Some(at) = self.regex.find(line) else { continue };
            self.n_lines += 1;
            let text = format!("{}:{}:{}\n", escape(name), n + 1, around(line, at.start()));
            self.is_full |=
                self.n_shown >= MATCHES_MAX || self.shown.chars().count() + text.chars().count() > SHOWN_CHARS_MAX;
            if !self.is_full {
                self.n_shown += 1;
                self.shown.push_str(&text);
            }
        }
        self.n_files += usize::from(self.n_lines > before);
    }

    fn said(&self, passed_over: Option<String>) -> String {
        let mut said = Vec::new();
        if self.n_lines == 0 {
            said.push("Nothing matches.".to_owned());
        } else if self.is_full {
            said.push(format!(
                "{} lines match, in {} files; the first {} are shown. A narrower pattern, path or name shows the others.",
                grouped(self.n_lines),
                grouped(self.n_files),
                grouped(self.n_shown)
            ));
        }
        if self.is_late {
            said.push(format!(
                "Not everything was looked through within {} s: name a smaller path.",
                LOOKS_FOR.as_secs()
            ));
        }
        if self.n_skipped_large > 0 {
            said.push(format!("{} files of more than 8 MB were left out.", grouped(self.n_skipped_large)));
        }
        said.extend(passed_over);
        said.join(" ")
    }
}

fn around(line: &[u8], at: usize) -> String {
    let from = at.saturating_sub(LINE_CHARS_MAX / 2);
    let text = String::from_utf8_lossy(&line[from..]);
    let mut shown: String = text.chars().take(LINE_CHARS_MAX).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if text.chars().nth(LINE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
