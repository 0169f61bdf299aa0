//! The merge by example, and the rules that hold for every three texts.

use super::*;
use proptest::prelude::*;

fn check(base: &str, yours: &str, theirs: &str, merged: Option<&str>) {
    assert_eq!(merge(base, yours, theirs).ok().as_deref(), merged, "{base:?} {yours:?} {theirs:?}");
}

#[test]
fn edits_apart_are_merged_and_edits_together_are_not() {
    let base = "a\nb\nc\nd\ne\n";
    check(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", Some("A\nb\nc\nd\nE\n"));
    check(base, "a\nb\nc\nd\ne\nf\n", "0\na\nb\nc\nd\ne\n", Some("0\na\nb\nc\nd\ne\nf\n"));
    check(base, "b\nc\nd\ne\n", "a\nb\nc\nd\n", Some("b\nc\nd\n"));
    // The same line, and lines side by side.
    check(base, "a\nb\nX\nd\ne\n", "a\nb\nY\nd\ne\n", None);
    check(base, "a\nB\nc\nd\ne\n", "a\nb\nC\nd\ne\n", None);
    // One removes what the other changes.
    check(base, "a\nb\nd\ne\n", "a\nb\nX\nd\ne\n", None);
    // Two additions at one place have no order.
    check(base, "a\nb\nmine\nc\nd\ne\n", "a\nb\nyours\nc\nd\ne\n", None);
    // The same edit twice is one edit.
    check(base, "a\nb\nX\nd\ne\n", "a\nb\nX\nd\ne\n", Some("a\nb\nX\nd\ne\n"));
    check("", "mine\n", "yours\n", None);
    check("", "", "", Some(""));
}

#[test]
fn a_missing_line_end_is_an_edit() {
    check("a\nb\nc\n", "a\nb\nc", "A\nb\nc\n", Some("A\nb\nc"));
    check("a\nb", "a\nb\nc\n", "A\nb", None);
    check("a\n-\nb", "a\n-\nb\nc\n", "A\n-\nb", Some("A\n-\nb\nc\n"));
}

#[test]
fn where_both_wrote_is_told_in_the_lines_of_each() {
    let found = stretches("a\nb\nc\nd\n", "new\na\nX\nc\nd\n", "a\nY\nZ\nc\nD\n");
    assert_eq!(
        found,
        [
            Stretch { base: 0..0, yours: 0..1, theirs: 0..0, by: By::You },
            Stretch { base: 1..2, yours: 2..3, theirs: 1..3, by: By::Both },
            Stretch { base: 3..4, yours: 4..5, theirs: 4..5, by: By::Them },
        ]
    );
}

#[test]
fn texts_with_nothing_in_common_end_soon_and_are_not_merged() {
    let all = |word: &str| (0..20_000).map(|n| format!("{word} {n}\n")).collect::<String>();
    let (base, yours, theirs) = (all("base"), all("mine"), all("theirs"));
    assert_eq!(merge(&base, &yours, &theirs).unwrap_err().len(), 1);
    assert_eq!(merge(&base, &base, &theirs).unwrap(), theirs);
}

#[test]
fn texts_of_a_few_lines_in_another_order_end_soon() {
    let shuffled = |step: usize| (0..20_000).map(|n| format!("{}\n", n * step % 20_011 % 7)).collect::<String>();
    let (base, yours, theirs) = (shuffled(3), shuffled(5), shuffled(11));
    assert_eq!(merge(&base, &base, &theirs).unwrap(), theirs);
    assert!(merge(&base, &yours, &theirs).is_err());
}

/// Few different lines, so that many are in common and some more than once.
fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof!["[a-e]\n", "[a-e]{2}\n"];
    (prop::collection::vec(line, 0..14), prop::option::of("[a-e]"))
        .prop_map(|(lines, last)| lines.concat() + &last.unwrap_or_default())
}

/// A text and two edits of it that each write lines nobody else does.
fn any_edits() -> impl Strategy<Value = (String, String, String)> {
    let edits = || prop::collection::vec((0..40usize, 0..3u8), 0..4);
    (prop::collection::vec("[a-z]{1,3}\n", 0..40), edits(), edits()).prop_map(|(base, mine, theirs)| {
        (base.concat(), edited(&base, &mine, "mine"), edited(&base, &theirs, "theirs"))
    })
}

fn edited(base: &[String], edits: &[(usize, u8)], by: &str) -> String {
    let mut out = String::new();
    for (n, line) in base.iter().enumerate() {
        match edits.iter().find(|(at, _)| *at == n).map(|(_, how)| how) {
            Some(0) => {}
            Some(1) => out.push_str(&format!("{by} {n}\n")),
            Some(_) => out.push_str(&format!("{line}{by} {n}\n")),
            None => out.push_str(line),
        }
    }
    out
}

proptest! {
    #[test]
    fn an_unchanged_side_gives_the_other(base in any_text(), other in any_text()) {
        prop_assert_eq!(merge(&base, &base, &other), Ok(other.clone()));
        prop_assert_eq!(merge(&base, &other, &base), Ok(other.clone()));
        prop_assert_eq!(merge(&base, &other, &other), Ok(other));
    }

    #[test]
    fn it_does_not_matter_who_is_who(base in any_text(), yours in any_text(), theirs in any_text()) {
        let (one, other) = (merge(&base, &yours, &theirs), merge(&base, &theirs, &yours));
        prop_assert_eq!(one.is_ok(), other.is_ok());
        if let (Ok(one), Ok(other)) = (one, other) {
            prop_assert_eq!(one, other);
        }
        let swapped: Vec<Stretch> = stretches(&base, &theirs, &yours).into_iter().map(|stretch| {
            let by = match stretch.by { By::You => By::Them, By::Them => By::You, same => same };
            Stretch { yours: stretch.theirs, theirs: stretch.yours, by, ..stretch }
        }).collect();
        prop_assert_eq!(stretches(&base, &yours, &theirs), swapped);
    }

    #[test]
    fn a_clean_merge_loses_no_line_and_invents_none(base in any_text(), yours in any_text(), theirs in any_text()) {
        let Ok(merged) = merge(&base, &yours, &theirs) else { return Ok(()) };
        let n_of = |text: &str, line: &str| lines(text).iter().filter(|l| **l == line).count();
        let same: Vec<Stretch> =
            stretches(&base, &yours, &theirs).into_iter().filter(|s| s.by == By::BothAlike).collect();
        for line in lines(&merged).into_iter().chain(lines(&base)).chain(lines(&yours)).chain(lines(&theirs)) {
            // What each added is there, what each removed is not, and what both did alike was done once.
            let alike: isize = same.iter().map(|s| {
                let here = lines(&yours)[s.yours.clone()].iter().filter(|l| **l == line).count() as isize;
                let was = lines(&base)[s.base.clone()].iter().filter(|l| **l == line).count() as isize;
                here - was
            }).sum();
            let [b, y, t, m] = [&base, &yours, &theirs, &merged].map(|text| n_of(text, line) as isize);
            prop_assert_eq!(m, b + (y - b) + (t - b) - alike, "{:?} in {:?}", line, merged);
        }
    }

    #[test]
    fn what_each_wrote_stands_in_its_order((base, yours, theirs) in any_edits()) {
        let Ok(merged) = merge(&base, &yours, &theirs) else { return Ok(()) };
        for (side, by) in [(&yours, "mine "), (&theirs, "theirs ")] {
            let written = |text: &str| lines(text).into_iter().filter(|l| l.starts_with(by)).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(written(side), written(&merged));
        }
    }

    #[test]
    fn lines_in_common_are_the_same_and_in_order(one in any_text(), other in any_text()) {
        let (one, other) = (lines(&one), lines(&other));
        let places = in_common(&one, &other);
        prop_assert_eq!(places.len(), one.len());
        let mut last = None;
        for (n, at) in places.iter().enumerate().filter_map(|(n, at)| Some((n, (*at)?))) {
            prop_assert_eq!(one[n], other[at]);
            prop_assert!(last.is_none_or(|last| last < at));
            last = Some(at);
        }
    }
}
