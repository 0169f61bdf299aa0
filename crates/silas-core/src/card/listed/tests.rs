//! Names are whole or visibly not, and results of one directory are told apart.

use super::*;
use crate::card::Detail;
use crate::changeset::FileDiff;
use crate::house_rules::HouseRules;
use crate::relpath::RelPath;

fn diff(path: &str) -> FileDiff {
    FileDiff {
        directory: String::new(),
        path: RelPath::from_bytes(path.as_bytes()).unwrap(),
        renamed_from: None,
        mode_before: None,
        mode_after: None,
        added: 1,
        removed: 1,
        lines: None,
        is_verbatim: false,
    }
}

fn listed(kind: CardKind, intent: &str, files: &[&str], commands: &[&str]) -> String {
    let mut face = HouseRules::current().card_face();
    (face.kind, face.intent) = (kind, intent.to_owned());
    face.diffs = files.iter().map(|path| diff(path)).collect();
    let lines = commands.iter().map(|command| (*command).to_owned()).collect();
    face.details = vec![Detail { title: WHAT_WAS_RUN.to_owned(), lines }];
    face.listed()
}

#[test]
fn the_last_part_of_a_path_is_whole_or_not_there() {
    let path = "~/code/of-the-northern-coast/tidepool";
    assert_eq!(fitting_path(path, 40).as_deref(), Some(path));
    assert_eq!(fitting_path(path, 36).as_deref(), Some("…/tidepool"));
    assert_eq!(fitting_path(path, 10).as_deref(), Some("…/tidepool"));
    assert_eq!(fitting_path(path, 9), None, "nothing is cut");
    assert_eq!(fitting_path("a-name-of-its-own", 9), None);
    assert_eq!(fitting_path("/x/", 2), None);
}

#[test]
fn results_of_one_directory_are_told_apart() {
    let done = |files: &[&str], commands: &[&str]| listed(CardKind::Done, "4 files changed in repo", files, commands);
    assert_eq!(done(&["app.txt"], &["sh fix.sh"]), "4 files changed in repo: app.txt");
    assert_eq!(done(&["a.txt", "b/c.txt"], &[]), "4 files changed in repo: a.txt, b/c.txt");
    let deep = "crates/of-the-northern-coast/src/harbours/lib.rs";
    assert_eq!(done(&[deep], &[]), "4 files changed in repo: …/lib.rs");
    assert_eq!(done(&[deep, "b.txt"], &["sh fix.sh"]), "4 files changed in repo by ‘sh fix.sh’");
    assert_eq!(done(&[deep, "b.txt"], &["a", "b"]), "4 files changed in repo", "two commands are none");
    assert_eq!(done(&[], &[]), "4 files changed in repo");
    let rehearsed = listed(CardKind::Rehearsed, "Apply 4 changed files to repo", &[], &["sh fix.sh"]);
    assert_eq!(rehearsed, "Apply 4 changed files to repo, made by ‘sh fix.sh’");
    // A report changes nothing, so it is told by what was run.
    let red = listed(CardKind::Report, "The check is still red", &["app.txt"], &["sh\n  fix.sh"]);
    assert_eq!(red, "The check is still red: ‘sh fix.sh’");
    let long = done(&[], &[&"x".repeat(200)]);
    assert!(long.chars().count() <= INTENT_CHARS_MAX && long.contains('…') && long.ends_with('’'), "{long}");
    let full = "x".repeat(INTENT_CHARS_MAX);
    assert_eq!(listed(CardKind::Done, &full, &["a"], &["b"]), full);
    assert_eq!(listed(CardKind::Plan, "Run 1 command in repo", &[], &["sh fix.sh"]), "Run 1 command in repo");
}
