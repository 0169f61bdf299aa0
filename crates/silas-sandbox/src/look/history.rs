//! What git remembers of a file or a directory: its log, differences, one commit, or who wrote which line.
//!
//! Git runs in a cell that only reads and has no network, on a repository that is put together there: the owner's objects,
//! branches, tags and index, and nothing else of it. Its settings and hooks are not there, so no filter, no monitor, no
//! program that converts or compares, no pager and no signature check can be named by anybody. (as `commits.rs`)
//! What is asked for is one of a few fixed orders; nobody's words become options.

use super::{Looked, TEXT_BYTES_MAX};
use crate::Error;
use crate::cell::{self, CellSpec, Mount, MountAccess};
use crate::dir::{Dir, Kind};
use crate::error::Doing;
use crate::ground::Ground;
use crate::permit::Granted;
use serde::{Deserialize, Serialize};
use silas_core::check::Ended;
use silas_core::relpath::RelPath;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One of the questions that may be asked. A revision is a name or a number of a commit, as `main`, `HEAD~2` or `a1b2c3d`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum History {
    /// The last commits, one line for each.
    Log { at: Option<String> },
    /// What is not committed yet, or what differs since a revision, or between two: `main..topic`.
    Diff { between: Option<String> },
    /// One commit with what it changed.
    Show { at: Option<String> },
    /// Who wrote each of some lines, and when.
    Blame { at: Option<String>, from_line: u64, lines: u64 },
}

/// Longer than reading a history takes, shorter than anybody waits for an answer.
const WALL: Duration = Duration::from_secs(20);
/// As much of its output as is looked at.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
const COMMITS_MAX: &str = "--max-count=100";
const LINES_MAX: u64 = 2_000;
const REVISION_CHARS_MAX: usize = 120;
const SAID_CHARS_MAX: usize = 300;
const GIT: &[u8] = b".git";
/// Where the repository is put together.
const INSIDE: &str = "/tmp/repository";

/// Without these, git would read what its user has set, ask somebody, or write.
const ENVIRONMENT: [(&str, &str); 14] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/tmp"),
    ("LC_ALL", "C.UTF-8"),
    ("GIT_DIR", INSIDE),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

/// How files look in a cell differs from how git noted them; only size and time are compared.
const SETTINGS: [&str; 10] = [
    "-c",
    "core.checkStat=minimal",
    "-c",
    "core.trustctime=false",
    "-c",
    "diff.autoRefreshIndex=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "core.fsmonitor=false",
];

pub(super) fn tell(
    ground: &Ground,
    root: &Granted,
    below: Option<&RelPath>,
    history: &History,
) -> Result<Looked, Error> {
    let (top, path) = repository_of(root, below)?;
    let argv = argv(history, path.as_deref())?;
    let top_inside = Path::new(&root.place.path).join(&top);
    let (mounts, env) = (mounts(root, &top, &top_inside)?, environment(&top_inside)?);
    root.is_still_there()?;
    let mut limits = ground.limits.within(WALL);
    limits.output_bytes_max = OUTPUT_BYTES_MAX;
    let spec = CellSpec {
        argv,
        env,
        cwd: top_inside,
        mounts,
        hosts: Vec::new(),
        secrets: Vec::new(),
        callback_port: None,
        watched: Vec::new(),
        signals: false,
        limits,
    };
    let outcome = cell::run(&spec, None).map_err(|e| match e {
        cell::Error::Program { .. } => {
            Error::NotAvailable("Reading a history needs git, which is not there.".to_owned())
        }
        e => Error::Isolation { code: e.code().to_owned(), cause: e.to_string() },
    })?;
    if outcome.ended != Ended::Exited(0) && !outcome.is_truncated {
        let said: String = String::from_utf8_lossy(&outcome.stderr).trim().chars().take(SAID_CHARS_MAX).collect();
        let said = if said.is_empty() { "it took too long, or too much".to_owned() } else { said };
        return Err(Error::NotAvailable(format!("Git cannot tell that: {said}")));
    }
    let mut text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let is_long = text.len() > TEXT_BYTES_MAX;
    if is_long || outcome.is_truncated {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        // A line that is not whole says something else than it did.
        text.truncate(text.rfind('\n').map_or(text.len(), |end| end + 1));
    }
    Ok(Looked::text(text, is_long || outcome.is_truncated))
}

/// The nearest repository within what was allowed, as its path there, and the rest of the path.
fn repository_of(root: &Granted, below: Option<&RelPath>) -> Result<(PathBuf, Option<String>), Error> {
    let path = below.map(|path| std::str::from_utf8(path.as_bytes())).transpose();
    let path = path.map_err(|_| Error::NotAvailable("Git is not asked about a name that is no text.".to_owned()))?;
    let path = Path::new(path.unwrap_or_default());
    let doing = || "Looking for the repository".to_owned();
    for top in path.ancestors() {
        let at = top.as_os_str().as_encoded_bytes();
        // The path itself may be a file.
        let Ok(dir) = root.dir.below(at) else { continue };
        match dir.stat(GIT).doing(doing)?.map(|stat| stat.kind) {
            None => {}
            // To git a directory without these is none.
            Some(Kind::Directory) if ["HEAD", "objects", "refs"].iter().any(|part| !has_part(&dir, part)) => {}
            Some(Kind::Directory) => {
                let rest = path.strip_prefix(top).unwrap_or(path).to_string_lossy().into_owned();
                return Ok((top.to_owned(), (!rest.is_empty()).then_some(rest)));
            }
            Some(_) => return Err(part_of_another()),
        }
    }
    Err(Error::NotAvailable("There is no repository of git here, within the directory that was allowed.".to_owned()))
}

fn has_part(dir: &Dir, part: &str) -> bool {
    dir.has(format!(".git/{part}").as_bytes())
}

fn part_of_another() -> Error {
    Error::NotAvailable("This repository is only a part of another one, which is not looked into.".to_owned())
}

/// The working tree where it is, and what of the repository holds no settings.
fn mounts(root: &Granted, top: &Path, top_inside: &Path) -> Result<Vec<Mount>, Error> {
    let doing = || "Reading the repository".to_owned();
    let dir = root.dir.below(top.as_os_str().as_encoded_bytes()).doing(doing)?;
    let git = dir.below(GIT).doing(doing)?;
    for other in ["objects/info/alternates", "commondir"] {
        if git.has(other.as_bytes()) {
            return Err(part_of_another());
        }
    }
    let read_only = |source: PathBuf, target: PathBuf| Mount { source, target, access: MountAccess::ReadOnly };
    let mut mounts = vec![read_only(top_inside.to_owned(), top_inside.to_owned())];
    let kind = |dir: &Dir, name: &str| -> Result<Option<Kind>, Error> {
        Ok(dir.stat(name.as_bytes()).doing(doing)?.map(|stat| stat.kind))
    };
    let parts = [
        ("HEAD", Kind::File),
        ("objects", Kind::Directory),
        ("refs", Kind::Directory),
        ("packed-refs", Kind::File),
        ("index", Kind::File),
        ("shallow", Kind::File),
    ];
    for (name, wanted) in parts {
        match kind(&git, name)? {
            Some(found) if found == wanted => {
                mounts.push(read_only(top_inside.join(".git").join(name), Path::new(INSIDE).join(name)));
            }
            Some(_) => return Err(part_of_another()),
            None => {}
        }
    }
    Ok(mounts)
}

fn environment(top: &Path) -> Result<Vec<(String, String)>, Error> {
    let top = top.to_str().ok_or_else(|| Error::NotAvailable("The name of the directory is no text.".to_owned()))?;
    let fixed = ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Ok(fixed.chain([("GIT_WORK_TREE".to_owned(), top.to_owned())]).collect())
}

/// The order. After `--` come only paths, and no revision begins like an option.
fn argv(history: &History, path: Option<&str>) -> Result<Vec<String>, Error> {
    const PATCH: [&str; 4] = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"];
    let mut words: Vec<String> = ["git", "--no-pager"].into_iter().chain(SETTINGS).map(str::to_owned).collect();
    let mut say = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    let at = |revision: &Option<String>| revision.as_deref().map_or(Ok("HEAD"), one_revision).map(str::to_owned);
    match history {
        History::Log { at: revision } => {
            say(&["log", "--no-color", "--no-show-signature", COMMITS_MAX, "--date=short"]);
            say(&["--format=%h %ad %an: %s", &at(revision)?]);
        }
        History::Diff { between } => {
            say(&["diff"]);
            say(&PATCH);
            match between.as_deref().and_then(|both| both.split_once("..")) {
                Some((from, to)) => say(&[one_revision(from)?, one_revision(to)?]),
                None => say(&[&at(between)?]),
            }
        }
        History::Show { at: revision } => {
            say(&["show", "--no-show-signature", "--date=short"]);
            say(&PATCH);
            say(&["--format=%H%n%ad %an%n%n%B", &at(revision)?]);
        }
        History::Blame { at: revision, from_line, lines } => {
            let lines = (*lines).clamp(1, LINES_MAX);
            say(&["blame", "--no-textconv", "--date=short", &format!("-L{},+{lines}", (*from_line).max(1))]);
            // What is there now, unless a revision is named.
            if let Some(revision) = revision {
                say(&[one_revision(revision)?]);
            }
        }
    }
    say(&["--"]);
    match (path, history) {
        (Some(path), _) => say(&[path]),
        (None, History::Blame { .. }) => {
            return Err(Error::NotAvailable("Who wrote which line is told of a file.".to_owned()));
        }
        (None, History::Log { .. } | History::Diff { .. } | History::Show { .. }) => {}
    }
    Ok(words)
}

/// A revision that can be nothing else.
fn one_revision(text: &str) -> Result<&str, Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._/~^-".contains(c);
    let is_revision = !text.is_empty()
        && text.len() <= REVISION_CHARS_MAX
        && !text.starts_with(['-', '^', '.', '/'])
        && text.chars().all(fits)
        && !text.contains("..");
    let odd = || Error::NotAvailable("A revision is the name or number of a commit, as `main` or `HEAD~2`.".to_owned());
    is_revision.then_some(text).ok_or_else(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(history: &History, path: Option<&str>) -> String {
        argv(history, path).unwrap().join(" ")
    }

    #[test]
    fn nobody_s_words_become_options() {
        let log = |at: &str| argv(&History::Log { at: Some(at.to_owned()) }, None);
        for bad in ["--output=/tmp/x", "-1", "", "a b", "a..b", "HEAD:x", "@{u}", "^main", "main;id", "../x"] {
            assert!(log(bad).is_err(), "{bad}");
        }
        for good in ["main", "HEAD~2", "v1.0^", "feature/a-b", "0a1b2c3"] {
            assert!(log(good).unwrap().contains(&good.to_owned()), "{good}");
        }
        let between = |both: &str| argv(&History::Diff { between: Some(both.to_owned()) }, Some("--x"));
        assert!(between("main..topic").unwrap().ends_with(&["main", "topic", "--", "--x"].map(str::to_owned)));
        for bad in ["main..", "..", "main..--x", "main...topic"] {
            assert!(between(bad).is_err(), "{bad}");
        }
        let blame = |at: Option<&str>| History::Blame { at: at.map(str::to_owned), from_line: 0, lines: u64::MAX };
        assert!(words(&blame(Some("main")), Some("a")).ends_with("-L1,+2000 main -- a"));
        assert!(words(&blame(None), Some("a")).ends_with("-L1,+2000 -- a"));
        assert!(argv(&blame(None), None).is_err());
    }
}
