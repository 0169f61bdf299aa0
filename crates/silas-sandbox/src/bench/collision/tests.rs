//! Which lines of two versions are somebody's edit.

use super::*;

fn text(lines: &[&str]) -> Side {
    Side::Text(lines.iter().map(|line| format!("{line}\n")).collect(), 0o100_644)
}

#[test]
fn a_line_that_a_side_did_not_change_is_not_taken_for_its_edit() {
    let base = text(&["a", "b", "c", "d"]);
    let (yours, silas) = (text(&["a", "B", "c", "d"]), text(&["A", "bb", "C", "d"]));
    let told = tell(Case::Overlap, &base, &yours, &silas);
    assert_eq!(
        (told.line, &told.yours[..], &told.silas[..]),
        (1, &["a", "B", "c"].map(String::from)[..], &["A", "bb", "C"].map(String::from)[..])
    );
    assert_eq!(told.kept.yours, [0, 2], "only B is the owner's edit");
    assert!(told.kept.silas.is_empty());
    let named: Vec<&str> = told
        .kept
        .compare
        .iter()
        .map(|at| match &told.compare[*at as usize] {
            DiffLine::Removed(line) | DiffLine::Added(line) => line.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(named, ["a", "c"]);
}

#[test]
fn of_an_unknown_beginning_nothing_is_said() {
    let told = tell(Case::Overlap, &Side::Other, &text(&["a"]), &text(&["b"]));
    assert_eq!(told.kept, crate::protocol::Kept::default());
}
