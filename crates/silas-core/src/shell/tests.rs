//! What can be read off a script, and what cannot.

use super::*;

fn words(script: &str) -> Option<Vec<String>> {
    let all = commands(&Command::Shell(script.to_owned()))?;
    Some(all.iter().map(|c| c.words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ")).collect())
}

#[track_caller]
fn check(script: &str, expect: &[&str]) {
    let expect: Vec<String> = expect.iter().map(|s| (*s).to_owned()).collect();
    assert_eq!(words(script), Some(expect), "{script}");
}

#[test]
fn lists_of_simple_commands_are_read() {
    check("pytest -q tests", &["pytest -q tests"]);
    check("cd sub && FOO=1 python3 -m pytest 'a b' \"c d\"", &["cd sub", "python3 -m pytest a b c d"]);
    check("test -f a.txt; grep -q x b.txt | wc -l", &["test -f a.txt", "grep -q x b.txt", "wc -l"]);
    check("[ -e a ] || ! test -d b", &["[ -e a ]", "test -d b"]);
    check("echo a\\ b ''", &["echo a b "]);
    check("grep x a >/dev/null 2>&1 < in", &["grep x a /dev/null in"]);
    check("test \"$(cat out.txt)\" = ok", &["cat out.txt", "test \u{fffd} = ok"]);
    check("sh $DIR/check.sh *.txt", &["sh \u{fffd}/check.sh *.txt"]);
    check("", &[]);
}

#[test]
fn the_rest_is_not_guessed_at() {
    for script in [
        "if true; then sh x; fi",
        "for f in *; do sh $f; done",
        "(sh x)",
        "{ sh x; }",
        "f() { true; }",
        "cat <<E\nx\nE",
        "diff <(sh a) b",
        "`sh x`",
        "echo `sh x`",
        "sh x &",
        "$CMD x",
        "A=1; sh $A",
        "echo ${x}",
        "echo 'open",
        "echo \"open",
        "true # sh x",
        "echo $(echo $(echo ')'))",
    ] {
        assert_eq!(words(script), None, "{script}");
    }
}

#[test]
fn a_word_knows_whether_it_is_exactly_that() {
    let all = commands(&Command::Shell("A=$B x '*' * \"$C\" d".to_owned())).unwrap();
    let plain: Vec<bool> = all[0].words.iter().map(|word| word.is_plain).collect();
    assert_eq!(plain, [true, true, false, false, true]);
    assert_eq!((all[0].env[0].0.as_str(), all[0].env[0].1.is_plain), ("A", false));
}

#[test]
fn how_commands_follow_each_other() {
    let joints = |script: &str| -> Vec<Joint> {
        commands(&Command::Shell(script.to_owned())).unwrap().iter().map(|c| c.joint).collect()
    };
    assert_eq!(joints("a && b && c"), [Joint::And, Joint::And, Joint::And]);
    assert_eq!(joints("a || b; c"), [Joint::And, Joint::Other, Joint::Other]);
    assert_eq!(joints("a | b\nc"), [Joint::And, Joint::Other, Joint::Other]);
}
