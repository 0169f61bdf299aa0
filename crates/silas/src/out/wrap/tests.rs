//! Words are never broken, and a line that goes on stands under what it goes on.

use super::*;

#[track_caller]
fn check(text: &str, columns: usize, expected: &str) {
    assert_eq!(wrapped(text, Some(columns)), expected);
}

#[test]
fn lines_end_between_words() {
    check("Silas runs on and says what it does.", 20, "Silas runs on and\nsays what it does.");
    check("  one two three four five six", 20, "  one two three four\n  five six");
    check("short", 20, "short");
    check("one two three\n\nfour five six seven eight", 20, "one two three\n\nfour five six seven\neight");
    assert_eq!(wrapped(&"word ".repeat(50), None), "word ".repeat(50), "a pipe has no width");
}

#[test]
fn further_lines_stand_under_their_column() {
    check(
        "  Grant     Plans may be offered for a directory",
        30,
        "  Grant     Plans may be\n            offered for a\n            directory",
    );
    check("    12  10:00  Took back a grant of yours", 30, "    12  10:00  Took back a\n        grant of yours");
    // Where that would leave little room, they begin with the line.
    check("✓ Data directory         It is yours alone", 30, "✓ Data directory         It is\n  yours alone");
    check("• run it in a place and check it", 20, "• run it in a place\n  and check it");
}

#[test]
fn what_is_wider_than_the_screen_stays_whole() {
    let path = "/a/path/that/is/wider/than/the/screen";
    check(&format!("Data: {path}. Yes"), 20, &format!("Data:\n{path}.\nYes"));
    check(path, 20, path);
}

#[test]
fn paint_takes_no_room_and_a_moving_cursor_is_left_alone() {
    let painted = "\x1b[1mone two\x1b[0m three \x1b[32mfour\x1b[0m";
    check(painted, 20, painted);
    assert_eq!(width(painted), 18);
    check("\r\x1b[K one two three four five six", 20, "\r\x1b[K one two three four five six");
    assert_eq!(wrapped("一二三四五 一二三四五 六", Some(20)), "一二三四五\n一二三四五 六");
}

#[test]
fn no_line_is_wider_unless_a_word_is() {
    let text = "  a label   and a fairly long text about · what “happened” and → why, with  gaps   in it";
    for columns in COLUMNS_MIN..100 {
        for line in wrapped(text, Some(columns)).lines() {
            assert!(width(line) <= columns, "{columns}: {line}");
        }
    }
}
