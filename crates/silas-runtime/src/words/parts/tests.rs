//! Names are whole or visibly not, and results of one directory are told apart.

use super::*;

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
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
    let apart = |files: &[&str], commands: &[&str], by: Joint| {
        told_apart("4 files changed in repo".to_owned(), &texts(files), &texts(commands), by)
    };
    assert_eq!(apart(&["app.txt"], &["sh fix.sh"], Joint::By), "4 files changed in repo: app.txt");
    assert_eq!(apart(&["a.txt", "b/c.txt"], &[], Joint::By), "4 files changed in repo: a.txt, b/c.txt");
    let deep = "crates/of-the-northern-coast/src/harbours/lib.rs";
    assert_eq!(apart(&[deep], &[], Joint::By), "4 files changed in repo: …/lib.rs");
    assert_eq!(apart(&[deep, "b.txt"], &["sh fix.sh"], Joint::By), "4 files changed in repo by ‘sh fix.sh’");
    assert_eq!(apart(&[], &["sh fix.sh"], Joint::MadeBy), "4 files changed in repo, made by ‘sh fix.sh’");
    assert_eq!(apart(&[], &["a", "b"], Joint::By), "4 files changed in repo", "two commands are none");
    assert_eq!(apart(&[], &[], Joint::Colon), "4 files changed in repo");
    let long = apart(&[], &[&"x".repeat(200)], Joint::Colon);
    assert!(long.chars().count() <= INTENT_CHARS_MAX && long.contains('…') && long.ends_with('’'), "{long}");
    let full = "x".repeat(INTENT_CHARS_MAX);
    assert_eq!(told_apart(full.clone(), &texts(&["a"]), &texts(&["b"]), Joint::Colon), full);
}
