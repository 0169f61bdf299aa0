//! What a look shows is whole lines with their numbers, and says how to read on.

use super::*;

fn looked(text: &str, is_cut: bool) -> Looked {
    Looked { text: text.to_owned(), fixed: Vec::new(), is_cut, passed_over: None }
}

#[test]
fn lines_are_numbered_and_what_is_missing_is_said() {
    let check = |text: &str, is_cut, from, told: &str, remark: Option<&str>| {
        let (is, said) = numbered(&looked(text, is_cut), from);
        assert_eq!((is.as_str(), said.as_deref()), (told, remark));
    };
    check("a\nb\n", false, 1, "1\ta\n2\tb\n", None);
    check("a\nb", false, 9, "9\ta\n10\tb\n", None);
    check("a\nb\nhal", true, 1, "1\ta\n2\tb\n", Some("Lines 1 to 2. There are more: go on with from_line 3."));
    check("", false, 1, "", Some("The file is empty."));
    check("", false, 7, "", Some("There is no line 7."));
    let (long, remark) = numbered(&looked(&"x".repeat(5_000), true), 1);
    assert!(long.contains("… (the line goes on)") && long.chars().count() < 1_100, "{remark:?}");
    let many: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let (told, remark) = numbered(&looked(&many, false), 1);
    let n = told.lines().count();
    assert!(told.chars().count() <= TEXT_CHARS_MAX && n > 500);
    assert_eq!(remark, Some(format!("Lines 1 to {n}. There are more: go on with from_line {}.", n + 1)));
    let (told, remark) = whole_lines(&looked(&many, false), "");
    assert!(told.ends_with(char::is_numeric) && many.contains(&format!("{told}\n")));
    assert_eq!(remark.as_deref(), Some("There is more than is shown: ask about less."));
}
