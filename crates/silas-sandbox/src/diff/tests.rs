//! Diffs as people read them.

use super::*;

fn lines(before: &str, after: &str) -> (u32, u32, Vec<DiffLine>) {
    let diff = compare(before, after, &mut Room::for_one());
    (diff.added, diff.removed, diff.lines)
}

fn same(text: &str) -> DiffLine {
    DiffLine::Same(text.to_owned())
}

#[test]
fn shows_a_change_with_three_lines_around_it_and_counts_the_rest() {
    let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let after = before.replace("10\n", "ten\n");
    let (added, removed, shown) = lines(&before, &after);
    assert_eq!((added, removed), (1, 1));
    let expected = [
        DiffLine::Gap(6),
        same("7"),
        same("8"),
        same("9"),
        DiffLine::Removed("10".to_owned()),
        DiffLine::Added("ten".to_owned()),
        same("11"),
        same("12"),
        same("13"),
        DiffLine::Gap(7),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn nothing_deceives_the_eye() {
    let (_, _, shown) = lines("", "a\u{202e}b\u{1b}[31m\u{200b}\tc\r\n");
    assert_eq!(shown, [DiffLine::Added("a⟨U+202E⟩b⟨U+001B⟩[31m⟨U+200B⟩\tc⟨U+000D⟩".to_owned())]);
    let (_, _, shown) = lines("", "key\u{e0100}\u{3164}\u{2800}\u{34f}\u{fe01}\n");
    assert_eq!(shown, [DiffLine::Added("key⟨U+E0100⟩⟨U+3164⟩⟨U+2800⟩⟨U+034F⟩⟨U+FE01⟩".to_owned())]);
}

#[test]
fn a_missing_line_end_is_said() {
    let (added, removed, shown) = lines("a\n", "a");
    assert_eq!((added, removed), (1, 1));
    assert_eq!(shown, [DiffLine::Removed("a".to_owned()), DiffLine::Added("a⟨no line end⟩".to_owned())]);
}

#[test]
fn long_texts_and_lines_are_cut_and_counted() {
    let after: String = (0..LINES_MAX + 51).map(|n| format!("{n}\n")).collect();
    let (added, _, shown) = lines("", &after);
    assert_eq!(added as usize, LINES_MAX + 51);
    assert_eq!(shown.len(), LINES_MAX + 1);
    assert_eq!(shown.last(), Some(&DiffLine::NotShown(51)), "they are not unchanged");
    let (_, _, shown) = lines("", &"x".repeat(LINE_CHARS_MAX + 7));
    let DiffLine::Added(line) = &shown[0] else { panic!("{shown:?}") };
    assert!(line.ends_with("⟨7 more characters⟩⟨no line end⟩"), "{line}");
}

#[test]
fn it_says_whether_the_lines_are_the_whole_change() {
    let long: String = (0..LINES_MAX + 1).map(|n| format!("{n}\n")).collect();
    for (before, after, expect) in [
        ("a\n", "b\n", true),
        ("a\n", "a", true),
        ("", "tab\tand ü\n", true),
        ("", "hidden \u{200b}\n", false),
        ("", "cr\r\n", false),
        ("", "⟨no line end⟩\n", false),
        ("", long.as_str(), false),
    ] {
        assert_eq!(compare(before, after, &mut Room::for_one()).is_verbatim, expect, "{before:?} {after:?}");
    }
}

#[test]
fn an_unchanged_line_after_what_is_left_out_is_not_shown_as_if_it_followed() {
    let many: String = (0..LINES_MAX).map(|n| format!("{n}\n")).collect();
    let (_, _, shown) = lines("end\n", &format!("{many}end\nlast\n"));
    // The last change comes after a line that did not fit.
    assert_eq!(shown.len(), LINES_MAX + 2);
    assert_eq!(shown[LINES_MAX..], [DiffLine::NotShown(1), DiffLine::Gap(1)]);
}

#[test]
fn every_file_has_its_share_of_the_room() {
    let text: String = (0..40).map(|n| format!("{n}{}\n", "x".repeat(LINE_CHARS_MAX - 10))).collect();
    let n_files = 100;
    let mut room = Room::for_files(n_files);
    for n in 0..n_files - 1 {
        let shown = compare("", &text, &mut room);
        assert_eq!(shown.added, 40, "every line is counted");
        assert!(shown.lines.len() > LINES_MIN, "{n}: {}", shown.lines.len());
    }
    let last = compare("", "import os\n", &mut room);
    assert_eq!(last.lines, [DiffLine::Added("import os".to_owned())], "a small file behind many large ones is shown");
}
