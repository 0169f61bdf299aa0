//! What a patch looks like, and that hunks begin where their lines are.

use super::*;
use crate::relpath::RelPath;

fn same(line: &str) -> DiffLine {
    DiffLine::Same(line.to_owned())
}

fn added(line: &str) -> DiffLine {
    DiffLine::Added(line.to_owned())
}

fn removed(line: &str) -> DiffLine {
    DiffLine::Removed(line.to_owned())
}

fn diff(path: &str, lines: Vec<DiffLine>) -> FileDiff {
    let count = |wanted: fn(&DiffLine) -> bool| lines.iter().filter(|line| wanted(line)).count() as u32;
    FileDiff {
        directory: String::new(),
        path: RelPath::from_bytes(path.as_bytes()).unwrap(),
        renamed_from: None,
        mode_before: Some(FileMode::File(0o644)),
        mode_after: Some(FileMode::File(0o644)),
        added: count(|line| matches!(line, DiffLine::Added(_))),
        removed: count(|line| matches!(line, DiffLine::Removed(_))),
        lines: Some(lines),
        is_verbatim: true,
    }
}

#[test]
fn hunks_begin_where_their_lines_are() {
    let lines = vec![
        DiffLine::Gap(4),
        same("five"),
        removed("six"),
        added("6"),
        added("6.5"),
        DiffLine::Gap(10),
        removed(&format!("last{NO_LINE_END}")),
        added("last"),
    ];
    let whole = unified(&[diff("a.txt", lines)]);
    assert_eq!(whole.left_out, Vec::<String>::new());
    assert_eq!(
        whole.text,
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -5,2 +5,3 @@\n five\n-six\n+6\n+6.5\n\
         @@ -17,1 +18,1 @@\n-last\n\\ No newline at end of file\n+last\n"
    );
}

#[test]
fn new_deleted_and_moved_files_say_so() {
    let new = FileDiff { mode_before: None, mode_after: Some(FileMode::File(0o755)), ..diff("n", vec![added("x")]) };
    let gone = FileDiff { mode_after: None, ..diff("g", vec![removed("x")]) };
    let moved = FileDiff { renamed_from: Some(RelPath::from_bytes(b"old").unwrap()), ..diff("new", Vec::new()) };
    assert_eq!(
        unified(&[new, gone, moved]).text,
        "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+x\n\
         diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n\
         diff --git a/old b/new\nrename from old\nrename to new\n"
    );
}

#[test]
fn what_is_not_whole_is_named_and_left_out() {
    let cut = FileDiff { is_verbatim: false, ..diff("long.txt", vec![added("x")]) };
    let binary = FileDiff { lines: None, is_verbatim: false, ..diff("b.bin", Vec::new()) };
    let link = FileDiff { mode_after: Some(FileMode::Link), ..diff("l", vec![added("x")]) };
    let elsewhere = FileDiff { directory: "/srv/app".to_owned(), ..diff("a", vec![added("x")]) };
    let whole = unified(&[cut, binary, link, elsewhere]);
    assert_eq!(whole.left_out, ["long.txt", "b.bin", "l"]);
    assert!(whole.text.contains("--- a/srv/app/a\n"), "{}", whole.text);
}
