//! Patches as models write them, where they go, and where they do not.

use super::*;
use proptest::prelude::*;

fn hunks(lines: &str) -> Vec<Hunk> {
    let text = format!("*** Begin Patch\n*** Update File: a\n{lines}\n*** End Patch");
    match parse(&text).unwrap().remove(0) {
        FilePatch::Update { hunks, .. } => hunks,
        other => panic!("{other:?}"),
    }
}

fn check(text: &str, lines: &str, expected: &str) {
    let made = apply(&hunks(lines), text.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(made).unwrap(), expected);
}

#[test]
fn a_patch_names_files_and_what_becomes_of_them() {
    let text = "*** Begin Patch\n*** Update File: a b.py\n*** Move to: c.py\n@@ def f():\n x\n-y\n+z\n\n*** Add File: n.md\n\
                +one\n+\n*** Delete File: old\n*** End Patch\n";
    let same = |text: &str| Line::Same(text.to_owned());
    let hunk = Hunk {
        below: Some("def f():".to_owned()),
        lines: vec![same("x"), Line::Removed("y".to_owned()), Line::Added("z".to_owned()), same("")],
        is_at_end: false,
    };
    let expected = [
        FilePatch::Update { path: "a b.py".to_owned(), to: Some("c.py".to_owned()), hunks: vec![hunk] },
        FilePatch::Add { path: "n.md".to_owned(), text: "one\n\n".to_owned() },
        FilePatch::Delete { path: "old".to_owned() },
    ];
    assert_eq!(parse(text).unwrap(), expected);
    assert_eq!(expected[0].paths().collect::<Vec<_>>(), ["a b.py", "c.py"]);
}

#[test]
fn what_is_no_patch_is_told_by_its_line() {
    let bad = |text: &str| parse(text).unwrap_err();
    assert!(bad("--- a\n+++ b\n").contains("*** Begin Patch"));
    assert!(bad("*** Begin Patch\n*** Delete File: a\n").contains("*** End Patch"));
    assert_eq!(bad("*** Begin Patch\n*** End Patch"), "it names no file");
    assert!(bad("*** Begin Patch\nhello\n*** End Patch").starts_with("line 2 of the patch is none of"));
    assert!(bad("*** Begin Patch\n*** Update File: a\nxy\n*** End Patch").starts_with("line 3 of the patch begins"));
    assert!(bad("*** Begin Patch\n*** Update File: a\n*** End Patch").contains("nothing to change"));
    assert!(bad("*** Begin Patch\n*** Add File:  \n*** End Patch").contains("names no file"));
}

#[test]
fn a_hunk_goes_where_its_lines_stand() {
    check("a\nb\nc\n", " a\n-b\n+x\n+y\n c", "a\nx\ny\nc\n");
    check("a\nb\nc", " b\n-c\n+d", "a\nb\nd\n");
    check("a\nb", "@@\n-a\n+x", "x\nb");
    check("a\nb", " b\n+c", "a\nb\nc\n");
    check("a\n", "+z", "a\nz\n");
    check("", "+z", "z\n");
    check("a\nb\nc\nd\n", "@@\n-a\n+1\n@@\n-c\n+3", "1\nb\n3\nd\n");
    check("x\ny\nx\n", "-x\n+z\n*** End of File", "x\ny\nz\n");
    check("def a():\n  1\ndef b():\n  1\n", "@@ def b():\n-  1\n+  2", "def a():\n  1\ndef b():\n  2\n");
    check("def a():\n  1\ndef b():\n  1\n", "@@ def b\n def b():\n-  1\n+  2", "def a():\n  1\ndef b():\n  2\n");
    check("def a():\n  1\n", "@@ -1,2 +1,3 @@ def a():\n+  0", "def a():\n  0\n  1\n");
    // What the patch cannot know of is kept.
    check("a \nb\t\nc\n", " a\n-b\n+x\n c", "a \nx\nc\n");
    check("a\r\nb\r\n", " a\n-b\n+x", "a\r\nx\r\n");
}

#[test]
fn a_hunk_that_is_nowhere_or_in_doubt_goes_nowhere() {
    let nowhere = |text: &str, lines: &str| apply(&hunks(lines), text.as_bytes()).unwrap_err();
    assert_eq!(nowhere("x\ny\nx\n", "-x\n+z"), (1, Misplaced::Several { lines: vec![1, 3] }));
    assert_eq!(nowhere("a\n", "@@ def f\n-a\n+z"), (1, Misplaced::NotBelow("def f".to_owned())));
    let (n, why) = nowhere("a\nreturn total\nc\n", "@@\n a\n@@\n-return totals\n+z");
    assert_eq!((n, why), (2, Misplaced::Absent { nearest: Some((1, 3)) }));
    assert_eq!(nowhere("  a\n", "-    a\n+z").0, 1, "another indentation is another line");
    assert!(matches!(nowhere("", "-a\n+z"), (1, Misplaced::Absent { nearest: None })));
}

proptest! {
    #[test]
    fn nothing_but_the_place_is_touched(
        before in prop::collection::vec("[a-c€ \\t\\r]{0,6}", 0..9),
        after in prop::collection::vec("[a-c€ \\t\\r]{0,6}", 0..9),
        new in "[a-z]{1,6}",
        is_open in any::<bool>(),
    ) {
        let whole = |middle: &str| {
            let all: Vec<&str> = before.iter().map(String::as_str).chain([middle]).chain(after.iter().map(String::as_str)).collect();
            let end = if is_open && after.last().is_some_and(|last| !last.is_empty()) { "" } else { "\n" };
            format!("{}{end}", all.join("\n"))
        };
        let text = whole("THE ONE");
        let made = apply(&hunks(&format!("-THE ONE\n+{new}")), text.as_bytes()).unwrap();
        let expected = if has_crlf_only(text.as_bytes()) { whole(&format!("{new}\r")) } else { whole(&new) };
        prop_assert_eq!(String::from_utf8(made).unwrap(), expected);
    }

    #[test]
    fn any_text_can_be_read_as_a_patch(text in "(\\*\\*\\* (Begin Patch|End Patch|Update File: a|Add File: b|End of File)\n|[ +@-]{0,3}[a-z]{0,3}\n){0,12}") {
        let _ = parse(&text);
        let _ = parse(&format!("*** Begin Patch\n{text}*** End Patch"));
    }
}
