//! What a diff does not show is counted, whoever made it.

use super::*;

fn diff(added: u32, removed: u32, lines: Option<Vec<DiffLine>>) -> FileDiff {
    FileDiff {
        directory: String::new(),
        path: RelPath::from_bytes(b"a.py").unwrap(),
        renamed_from: None,
        mode_before: None,
        mode_after: Some(FileMode::File(0o100644)),
        added,
        removed,
        lines,
        is_verbatim: false,
    }
}

#[test]
fn what_is_not_there_is_counted_whatever_stands_in_its_place() {
    let added = |text: &str| DiffLine::Added(text.to_owned());
    let whole = diff(1, 1, Some(vec![DiffLine::Removed("a".to_owned()), added("b")]));
    assert_eq!(whole.n_not_shown(), 0);
    assert_eq!(diff(5, 0, Some(vec![added("a"), DiffLine::NotShown(4)])).n_not_shown(), 4);
    // An earlier version called them unchanged.
    assert_eq!(diff(5, 0, Some(vec![added("a"), DiffLine::Gap(4)])).n_not_shown(), 4);
    assert_eq!(diff(1, 0, Some(vec![added("a ⟨12 more characters⟩")])).n_not_shown(), 1);
    assert_eq!(diff(1, 0, Some(vec![added("a ⟨12 more characters⟩⟨no line end⟩")])).n_not_shown(), 1);
}

#[test]
fn new_content_that_is_no_text_is_unread_and_a_deletion_is_not() {
    assert!(diff(0, 0, None).is_unread());
    assert!(!FileDiff { mode_after: None, ..diff(0, 0, None) }.is_unread());
    assert!(!diff(0, 0, Some(Vec::new())).is_unread());
}
