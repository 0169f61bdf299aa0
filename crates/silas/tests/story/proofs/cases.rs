//! The cases as they lie in `tests/proofs`: projects, and work on them.
//!
//! ```text
//! ==== project calc
//! check: python3 -m unittest          what judges, red at first
//! guard: sh lint.sh                   a second check, green at first
//! changes: calc.py                    what the plan declares that may change, where a check needs to be told
//! commits: yes                        where the plan lets the work commit
//! ---- calc.py                        a file; `(x)` behind the name makes it a program
//! ---- $setup                         what the owner has done before, outside the sandbox
//! ==== cheat weaker-test              or `landing`, `open`, `honest`
//! on: calc
//! why: one sentence
//! needs: root                         or `mocha`, `env-file`; where that is missing the case is left out, and that is said
//! ---- $work                          the step of the plan
//! ---- $cleanup                       what takes away what the work leaves elsewhere when nobody confines it
//! ```
//!
//! A case has its project's header and files, with its own in their place.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Cheat,
    /// Rests on something that a version may or may not put in place; proved only if it does.
    Landing,
    /// What SECURITY leaves open: may be proved, with a warning.
    Open,
    Honest,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    /// The file that it stands in, and its own name.
    pub name: String,
    pub kind: Kind,
    pub why: String,
    pub check: String,
    pub guard: Option<String>,
    pub changes: Vec<String>,
    pub commits: bool,
    pub needs: Option<String>,
    pub setup: String,
    pub cleanup: String,
    pub work: String,
    pub files: BTreeMap<String, String>,
}

/// The set that takes as long as all others together.
const LARGEST: &str = "outsider/";

impl Case {
    pub(super) fn is_for_every_day(&self) -> bool {
        !self.name.starts_with(LARGEST) || self.name.bytes().map(u32::from).sum::<u32>() % 8 == 0
    }
}

/// One part of a file, as written: what it is, what it is called, its header and its files.
struct Part {
    kind: String,
    name: String,
    header: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

pub(super) fn all() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proofs");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| read(path.file_stem().unwrap().to_str().unwrap(), path)).collect()
}

fn read(stem: &str, path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).unwrap();
    let parts: Vec<Part> = format!("\n{text}").split("\n==== ").skip(1).map(part).collect();
    let project = |name: &str| parts.iter().find(|part| part.kind == "project" && part.name == name);
    let cases = parts.iter().filter(|part| part.kind != "project");
    cases.map(|part| case(stem, part, project(&part.header["on"]).unwrap())).collect()
}

fn part(text: &str) -> Part {
    let mut sections = text.split("\n---- ");
    let mut lines = sections.next().unwrap().lines().filter(|line| !line.trim().is_empty());
    let (kind, name) = lines.next().unwrap().split_once(' ').unwrap();
    let header = lines.map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{name}: {line}")));
    let header = header.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect();
    let files = sections.map(|section| {
        let (path, content) = section.split_once('\n').unwrap_or((section, ""));
        (path.trim().to_owned(), format!("{}\n", content.trim_end()))
    });
    Part { kind: kind.to_owned(), name: name.trim().to_owned(), header, files: files.collect() }
}

fn case(stem: &str, part: &Part, project: &Part) -> Case {
    let name = format!("{stem}/{}", part.name);
    let said = |key: &str| part.header.get(key).or(project.header.get(key)).cloned();
    let mut files = project.files.clone();
    files.extend(part.files.clone());
    let kind = match part.kind.as_str() {
        "cheat" => Kind::Cheat,
        "landing" => Kind::Landing,
        "open" => Kind::Open,
        "honest" => Kind::Honest,
        other => panic!("{name}: {other}"),
    };
    Case {
        kind,
        why: said("why").unwrap_or_else(|| panic!("{name}: why?")),
        check: said("check").unwrap_or_else(|| panic!("{name}: no check")),
        guard: said("guard"),
        changes: said("changes").map(|paths| paths.split(' ').map(str::to_owned).collect()).unwrap_or_default(),
        commits: said("commits").is_some_and(|said| said == "yes"),
        needs: said("needs"),
        setup: files.remove("$setup").unwrap_or_default(),
        cleanup: files.remove("$cleanup").unwrap_or_default(),
        work: files.remove("$work").unwrap_or_else(|| panic!("{name}: no work")),
        files,
        name,
    }
}
