//! What the scrubber shows.

use super::*;

#[track_caller]
fn check(text: &str, expect: &str) {
    assert_eq!(visible(text), expect);
}

#[test]
fn ordinary_text_stays() {
    check("Grüße, 世界\n\tindented", "Grüße, 世界\n\tindented");
}

#[test]
fn terminal_escapes_are_shown() {
    check("\x1b[2Jcleared", "⟨U+001B⟩[2Jcleared");
    check("bell\x07", "bell⟨U+0007⟩");
}

#[test]
fn reordering_and_hidden_characters_are_shown() {
    check("safe\u{202E}txt.exe", "safe⟨U+202E⟩txt.exe");
    check("zero\u{200B}width", "zero⟨U+200B⟩width");
    check("tag\u{E0041}", "tag⟨U+E0041⟩");
}

#[test]
fn no_end_of_a_line_goes_unseen() {
    check("# a comment\rimport os", "# a comment⟨U+000D⟩import os");
    check("dos\r\nends", "dos⟨U+000D⟩\nends");
    for c in ['\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'] {
        check(&format!("a{c}b"), &format!("a⟨U+{:04X}⟩b", u32::from(c)));
    }
}

#[test]
fn a_flood_is_bounded_and_says_so() {
    let shown = visible(&"x".repeat(SHOWN_CHARS_MAX * 2));
    assert!(shown.ends_with("… the rest is not shown"));
    assert!(shown.chars().count() < SHOWN_CHARS_MAX + 40);
}

#[test]
fn a_line_is_one_line_and_says_when_it_was_cut() {
    assert_eq!(visible_line("  two\nlines ", 20), "two lines");
    assert_eq!(visible_line("abcdefghij", 5), "abcd…");
}

#[test]
fn joiners_stay_where_writing_needs_them_and_show_where_they_hide() {
    check("👩\u{200D}👩\u{200D}👧", "👩\u{200D}👩\u{200D}👧");
    check("می\u{200C}خواهم", "می\u{200C}خواهم");
    check("pass\u{200D}word", "pass⟨U+200D⟩word");
    check("\u{200D}start", "⟨U+200D⟩start");
}

#[test]
fn an_emoji_keeps_its_one_selector_and_nothing_else_has_any() {
    check("❤\u{FE0F}\u{200D}🔥", "❤\u{FE0F}\u{200D}🔥");
    check("❤\u{FE0F}\u{FE0F}", "❤\u{FE0F}⟨U+FE0F⟩");
    check("a\u{FE0F}\u{200D}b", "a⟨U+FE0F⟩⟨U+200D⟩b");
    check("x\u{E0100}\u{E01EF}\u{3164}\u{2800}\u{34F}y", "x⟨U+E0100⟩⟨U+E01EF⟩⟨U+3164⟩⟨U+2800⟩⟨U+034F⟩y");
}
