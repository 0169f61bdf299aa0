//! What counts as moved and what does not.

use super::*;
use silas_core::relpath::RelPath;

const SONG: &str = "one\ntwo\nthree\nfour\nfive\n";

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Change {
    let state = |text: &str| FileState::File { hash: Digest::of(text.as_bytes()), mode: 0o644 };
    let path = RelPath::from_bytes(path.as_bytes()).unwrap();
    Change { directory: 0, path, before: before.map(state), after: after.map(state) }
}

/// `(path, before, after)` of each change; what moved, as pairs of paths.
#[track_caller]
fn check(changes: &[(&str, Option<&str>, Option<&str>)], expect: &[(&str, &str)]) {
    let list: Vec<Change> = changes.iter().map(|(path, before, after)| change(path, *before, *after)).collect();
    let text = |wanted: &Change| {
        let (_, before, after) = changes.iter().find(|(path, ..)| wanted.path.to_string() == *path)?;
        (*after).or(*before).map(str::to_owned)
    };
    let found: Vec<(&str, &str)> =
        find(&list, text).into_iter().map(|(new, old)| (changes[old].0, changes[new].0)).collect();
    assert_eq!(found, expect);
}

#[test]
fn equal_content_moved() {
    check(&[("a", Some(SONG), None), ("b", None, Some(SONG))], &[("a", "b")]);
    check(&[("a", Some("x"), None), ("b", None, Some("x"))], &[("a", "b")]);
    // The one that kept its name, though another comes first.
    check(&[("a", Some(SONG), None), ("d/c", Some(SONG), None), ("e/c", None, Some(SONG))], &[("d/c", "e/c")]);
}

#[test]
fn nearly_equal_content_moved() {
    let near = SONG.replace("three", "3");
    check(&[("a", Some(SONG), None), ("b", None, Some(&near))], &[("a", "b")]);
    let far = "one\nsomething\nelse\naltogether\nfive\n";
    check(&[("a", Some(SONG), None), ("b", None, Some(far))], &[]);
    // The nearest wins, wherever it is in the list.
    check(&[("a", Some(far), None), ("b", Some(SONG), None), ("c", None, Some(&near))], &[("b", "c")]);
}

#[test]
fn what_is_still_there_or_says_nothing_did_not_move() {
    check(&[("a", Some(SONG), Some("x\n")), ("b", None, Some(SONG))], &[]);
    check(&[("a", Some(""), None), ("b", None, Some(""))], &[]);
    check(&[("a", Some("x\ny\n"), None), ("b", None, Some("x\nz\n"))], &[]);
}

#[test]
fn one_deleted_file_is_one_new_one() {
    check(&[("a", Some(SONG), None), ("b", None, Some(SONG)), ("c", None, Some(SONG))], &[("a", "b")]);
}

#[test]
fn directories_of_a_plan_are_worlds_apart() {
    let gone = change("a", Some(SONG), None);
    let new = Change { directory: 1, ..change("b", None, Some(SONG)) };
    assert!(find(&[gone, new], |_| Some(SONG.to_owned())).is_empty());
}
