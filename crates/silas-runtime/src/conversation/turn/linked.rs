//! Files of a directory that no work can change: those with another name outside of it (hard links), which would be two files
//! that were one, and those of which something could not be kept. Changing one is refused: before the work where the plan or
//! the owner's command names such a file as one that changes, otherwise when it is known. A command that only reads it, or of
//! which nobody can say, is work like any other. What would be refused is said when the plan is made.

use crate::Trouble;
use crate::words::count;
use silas_core::check::Command;
use silas_core::exits::{self, Glob};
use silas_core::roots::Access;
use silas_core::work::{Definition, Directory};
use silas_core::written;
use silas_gates::scrub;
use silas_sandbox::{FixedBy, Looked};
use std::collections::BTreeMap;

/// The directories of a plan as they are on disk.
#[derive(Default)]
pub(super) struct Found {
    pub(super) directories: Vec<Directory>,
    fixed: Vec<Fixed>,
    /// Whether there are more of them than were told.
    has_more: bool,
}

/// A file that cannot be changed.
struct Fixed {
    /// As a plan may spell it, the shortest first.
    spelled: Vec<String>,
    by: FixedBy,
}

/// Names in a sentence.
const NAMED_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 120;

impl Found {
    /// A directory that may be worked in, with what was seen of it.
    pub(super) fn add(&mut self, directory: Directory, looked: Option<Looked>) {
        let is_first = !self.directories.iter().any(|known| known.access == Access::Write);
        if let Some(looked) = looked {
            for file in looked.fixed {
                let whole = format!("{}/{}", directory.path.trim_end_matches('/'), file.path);
                let spelled = is_first.then_some(file.path).into_iter().chain([whole]).collect();
                self.fixed.push(Fixed { spelled, by: file.by });
            }
            self.has_more |= looked.is_cut;
        }
        self.directories.push(directory);
    }

    /// Why the plan is not made: it is about a file that cannot be changed.
    pub(super) fn refusal(&self, d: &Definition) -> Option<Trouble> {
        let declared = d.changes.iter().chain(&d.exits.paths).chain(d.flows.iter().map(|flow| &flow.to));
        let names: Vec<&str> = declared.filter(|glob| !glob.is_pattern()).map(Glob::as_str).collect();
        self.refuse(|spelled| names.contains(&spelled))
    }

    /// The same for a command that the owner typed, where it can be read off that it writes to such a file.
    pub(super) fn refusal_to_run(&self, run: &str) -> Option<Trouble> {
        let command = Command::Shell(run.to_owned());
        self.refuse(|spelled| written::is_written(&command, spelled))
    }

    fn refuse(&self, is_named: impl Fn(&str) -> bool) -> Option<Trouble> {
        let named = self.fixed.iter().find(|file| file.spelled.iter().any(|spelled| is_named(spelled)))?;
        let name = scrub::visible_line(named.spelled.first()?, NAME_CHARS_MAX);
        let change_it = "Change it yourself, or have the work leave it as it is; nothing was planned.";
        let (what, todo) = match &named.by {
            FixedBy::NameElsewhere => (
                "has another name elsewhere (a hard link), and changed here it would be two files that were one"
                    .to_owned(),
                "Make it a file of its own first (copy it, and put the copy in its place), or work in a directory that \
                 holds all of its names; nothing was planned.",
            ),
            FixedBy::SetId => (
                "is a program that runs as somebody else (a set-id bit), and changed it would not any more".to_owned(),
                change_it,
            ),
            FixedBy::Immutable => ("is protected against every change (the attribute `i`)".to_owned(), change_it),
            FixedBy::AppendOnly => ("is protected so that it can only grow (the attribute `a`)".to_owned(), change_it),
            FixedBy::Sticky => {
                ("is somebody else's, in a directory with the sticky bit, and cannot be replaced".to_owned(), change_it)
            }
            FixedBy::Attribute(attribute) => {
                let attribute = scrub::visible_line(attribute, NAME_CHARS_MAX);
                (format!("has the attribute {attribute}, which a changed file could not have"), change_it)
            }
        };
        Some(Trouble::new("E_SANDBOX_UNSUPPORTED", &format!("{name} {what}."), todo))
    }

    /// What is said with a plan that may or may not come upon one, those first that the command names; nothing if there is
    /// none.
    pub(super) fn warning(&self, run: &str) -> String {
        let names_it = |file: &Fixed| file.spelled.iter().any(|spelled| exits::stands_in(run, spelled));
        let mut kinds: BTreeMap<&str, Vec<&Fixed>> = BTreeMap::new();
        for file in &self.fixed {
            let kind = match file.by {
                FixedBy::NameElsewhere => "with another name elsewhere (hard links)",
                FixedBy::SetId => "with a set-id bit",
                FixedBy::Immutable | FixedBy::AppendOnly => "that are protected against change",
                FixedBy::Sticky => "of somebody else, in a directory with the sticky bit,",
                FixedBy::Attribute(_) => "with attributes that a changed file could not have",
            };
            kinds.entry(kind).or_default().push(file);
        }
        let sentence = |(kind, mut files): (&str, Vec<&Fixed>)| {
            files.sort_by_key(|file| !names_it(file));
            let named = files.iter().take(NAMED_MAX).filter_map(|file| file.spelled.first());
            let named: Vec<String> = named.map(|name| scrub::visible_line(name, NAME_CHARS_MAX)).collect();
            let at_least = if self.has_more { "At least " } else { "" };
            let more = if self.has_more || files.len() > NAMED_MAX { " and more" } else { "" };
            let files = count(files.len(), "file");
            format!("{at_least}{files} there {kind} cannot be changed: {}{more}. ", named.join(", "))
        };
        let sentences: String = kinds.into_iter().map(sentence).collect();
        if sentences.is_empty() { sentences } else { format!("\n\n{sentences}Work that does is refused.") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use silas_core::roots::Place;
    use silas_sandbox::FixedFile;

    fn found(fixed: &[(&str, FixedBy)], is_cut: bool) -> Found {
        let fixed = fixed.iter().map(|(path, by)| FixedFile { path: (*path).to_owned(), by: by.clone() }).collect();
        let place = Place { path: "/p".to_owned(), device: "1".to_owned(), inode: "2".to_owned() };
        let mut found = Found::default();
        found.add(
            Directory::pinned(place, Access::Write),
            Some(Looked { text: String::new(), fixed, is_cut, passed_over: None }),
        );
        found
    }

    #[test]
    fn what_cannot_be_changed_is_said_by_its_reason() {
        let capability = || FixedBy::Attribute("security.capability".to_owned());
        let said = |found: &Found, run: &str| found.refusal_to_run(run).map(|trouble| trouble.message);
        let all = found(&[("a", FixedBy::NameElsewhere), ("b/c", FixedBy::SetId), ("d", capability())], false);
        let says = |run: &str, what: Option<&str>| assert_eq!(said(&all, run).as_deref(), what, "{run}");
        says("cat a b/c d > e", None);
        says(
            "echo x > /p/b/c",
            Some("b/c is a program that runs as somebody else (a set-id bit), and changed it would not any more."),
        );
        says("mv x d", Some("d has the attribute security.capability, which a changed file could not have."));
        assert_eq!(
            all.warning("sh fix.sh"),
            "\n\n1 file there with a set-id bit cannot be changed: b/c. 1 file there with another name elsewhere (hard links) \
             cannot be changed: a. 1 file there with attributes that a changed file could not have cannot be changed: d. Work \
             that does is refused."
        );
        assert_eq!(found(&[], false).warning("sh fix.sh"), "");
        let many = found(&["a", "b", "c", "d"].map(|path| (path, FixedBy::NameElsewhere)), true);
        assert_eq!(
            many.warning("sh fix.sh d"),
            "\n\nAt least 4 files there with another name elsewhere (hard links) cannot be changed: d, a, b and more. Work that \
             does is refused."
        );
    }
}
