//! The card says what was found, in the words of the contract, and no other card passes for it.

use super::*;
use crate::words::chooser::Chooser;
use silas_core::changeset::{DiffLine, FileMode};
use silas_core::check::{Basis, CheckResult, CountedBy};
use silas_core::exits::{Exit, Lack, Undeclared};
use silas_core::relpath::RelPath;
use silas_core::taint::Taint;
use silas_core::token::Kind;
use silas_core::{Digest, ExecutionId, TokenId};

fn result(passed: bool) -> CheckResult {
    CheckResult {
        name: "Clock-change tests".to_owned(),
        run: "pytest -q tests/clock.py".to_owned(),
        passed,
        reason: "Exit code".to_owned(),
        output: String::new(),
        exit_code: Some(i32::from(!passed)),
        took_ms: 10,
        protected: true,
        tests: None,
        asked: Vec::new(),
        basis: None,
    }
}

fn diff(path: &str, added: u32, removed: u32) -> FileDiff {
    let path = RelPath::from_bytes(path.as_bytes()).unwrap();
    let (renamed_from, mode_before, mode_after) = (None, None, None);
    let (directory, lines, is_verbatim) = (String::new(), None, false);
    FileDiff { directory, path, renamed_from, mode_before, mode_after, added, removed, lines, is_verbatim }
}

fn face(before: &[CheckResult], after: &[CheckResult], diffs: &[FileDiff]) -> Face {
    face_with(before, after, diffs, &[])
}

fn face_with(before: &[CheckResult], after: &[CheckResult], diffs: &[FileDiff], undeclared: &[Undeclared]) -> Face {
    let facts = ResultFacts {
        asked: Some("Tide times are an hour off"),
        directory: "tidepool",
        commands: &[],
        ended: &[],
        chooser: Some(&Chooser::Owner),
        outcome: Outcome::of(before, after),
        before,
        after,
        diffs,
        flags: &[],
        unseen: &[],
        outputs: &[],
        taint: Taint::External,
        orders_found: 0,
        last_moment: &[],
        is_in_two_steps: false,
        in_part: None,
        left_out: &[],
        moved_on: &[],
        undeclared,
        wanted: &[],
        took_ms: 0,
        cost_microusd: 0,
    };
    Words::new(None).rehearsed(&facts, u32::try_from(diffs.len()).unwrap(), 300)
}

fn order(before: &[CheckResult], after: &[CheckResult], diffs: &[FileDiff]) -> String {
    let order = ApplyOrder {
        kind: Kind::Apply,
        execution: ExecutionId::derive(&TokenId::of(&Digest::of(b"token")), 0),
        plan_hash: Digest::of(b"plan"),
        changeset: Digest::of(b"changes"),
        findings: Findings { before, after, diffs }.hash().unwrap(),
    };
    canonical::text(&order).unwrap()
}

#[test]
fn the_words_of_the_contract() {
    let diffs = [diff("tides/parse.py", 4, 1), diff("tides/report.py", 1, 1)];
    let face = face(&[result(false)], &[result(true)], &diffs);
    assert_eq!(
        (face.state.as_str(), face.intent.as_str()),
        ("Rehearsed, not applied", "Apply 2 changed files to tidepool")
    );
    let facts: Vec<(&str, &str)> = face.facts.iter().map(|f| (f.label.as_str(), f.text.as_str())).collect();
    let expected = [("Changes", "parse.py, report.py +5 −2"), ("Undo", "One tap, for 5 minutes")];
    assert_eq!(facts, expected);
    let labels: Vec<&str> = face.ctas.iter().map(|cta| cta.label.as_str()).collect();
    assert_eq!(labels, ["Apply 2 files", "Ask for a change", "Discard the copy"]);
    assert_eq!((face.risk, face.details_title.as_str()), (Some(Risk::Low), "Read the 2 changes"));
}

#[test]
fn what_the_plan_does_not_name_stands_first_with_its_source() {
    let undeclared = |value: &str, lacks, from: &[&str]| Undeclared {
        exit: Exit::Apply,
        value: value.to_owned(),
        lacks,
        from: from.iter().map(|what| (*what).to_owned()).collect(),
    };
    let unnamed = [
        undeclared(".github/ci.yml", Lack::Value, &["what `cat README` printed"]),
        undeclared("report\u{202e}.md", Lack::FlowFromWeb, &["the search for tides"]),
        undeclared("x", Lack::Value, &[]),
    ];
    let diffs = [diff(".github/ci.yml", 4, 0)];
    let (before, after) = ([result(false)], [result(true)]);
    let face = face_with(&before, &after, &diffs, &unnamed);
    assert_eq!((face.details[0].title.as_str(), face.risk), ("Not named in the plan", Some(Risk::Medium)));
    assert_eq!(
        face.details[0].lines,
        [
            ".github/ci.yml: after reading what `cat README` printed",
            "report⟨U+202E⟩.md: may hold text from the web. Read: the search for tides",
            "x: after reading text from outside",
        ]
    );
    assert_eq!((face.facts[0].label.as_str(), face.facts[0].text.as_str()), ("Wanted", "3 not named, listed below"));
    assert!(shows_what_it_asks(&face, &order(&before, &after, &diffs)), "more caution is no lie");
    let many: Vec<Undeclared> = (0..60).map(|n| undeclared(&format!("f{n}"), Lack::Value, &["a"])).collect();
    let face = face_with(&before, &after, &diffs, &many);
    assert_eq!(face.details[0].lines.last().unwrap(), "and 10 more, each named in the changes below");
}

#[test]
fn without_a_check_the_button_says_so() {
    let face = face(&[], &[], &[diff("a-file-with-a-name-that-does-not-fit.txt", 1, 0)]);
    assert_eq!(face.ctas[0].label, "Apply 1 file, unproven");
    assert_eq!(face.evidence.as_ref().unwrap().claim, "Unproven: there was no check");
    assert_eq!((face.risk, face.facts[0].text.as_str()), (Some(Risk::Medium), "1 file, listed below"));
}

#[test]
fn what_stayed_green_is_one_tap_by_judges_that_the_work_did_not_change() {
    let (green, diffs) = ([result(true)], [diff("a", 1, 0)]);
    let face = face(&green, &green, &diffs);
    assert_eq!((face.ctas[0].label.as_str(), face.risk), ("Apply 1 file, stayed green", Some(Risk::Low)));
    assert!(shows_what_it_asks(&face, &order(&green, &green, &diffs)));
    assert!(face.evidence.unwrap().claim.starts_with("Stayed green"));
    let mut by_changed = result(true);
    let basis = Basis { stayed_green: true, changed: vec!["check.sh".to_owned()], ..Basis::new(CountedBy::ExitCode) };
    by_changed.basis = Some(basis);
    let open = CheckResult { protected: false, ..result(true) };
    for (after, claim) in [(by_changed, "Stayed green, judges changed"), (open, "Stayed green, checks not protected")] {
        let mut face = self::face(&green, std::slice::from_ref(&after), &diffs);
        assert_eq!((face.evidence.as_ref().unwrap().claim.as_str(), face.risk), (claim, Some(Risk::Medium)));
        face.risk = Some(Risk::Low);
        assert!(!shows_what_it_asks(&face, &order(&green, &[after], &diffs)), "a smaller risk is a lie");
    }
}

#[test]
fn a_card_that_tells_another_story_is_noticed() {
    let (before, after, diffs) = ([result(false)], [result(true)], [diff("a", 1, 0)]);
    let payload = order(&before, &after, &diffs);
    let honest = face(&before, &after, &diffs);
    assert!(shows_what_it_asks(&honest, &payload));
    // Green instead of nothing at all, other changes, another outcome, another claim, a smaller risk.
    assert!(!shows_what_it_asks(&honest, &order(&[], &[], &diffs)));
    assert!(!shows_what_it_asks(&face(&before, &after, &[diff("b", 1, 0)]), &payload));
    let mut lie = face(&[result(true)], &after, &diffs);
    assert!(!shows_what_it_asks(&lie, &payload));
    let unproven = order(&[], &[], &diffs);
    lie = face(&[], &[], &diffs);
    assert!(shows_what_it_asks(&lie, &unproven));
    lie.evidence.as_mut().unwrap().outcome = Outcome::Proved;
    assert!(!shows_what_it_asks(&lie, &unproven));
    lie = face(&[], &[], &diffs);
    lie.evidence.as_mut().unwrap().claim = "Proved: red before, green after".to_owned();
    assert!(!shows_what_it_asks(&lie, &unproven));
    let open = [CheckResult { protected: false, ..result(true) }];
    lie = face(&before, &open, &diffs);
    assert!(shows_what_it_asks(&lie, &order(&before, &open, &diffs)));
    lie.evidence.as_mut().unwrap().claim = "Proved: red before, green after".to_owned();
    assert!(
        !shows_what_it_asks(&lie, &order(&before, &open, &diffs)),
        "that the checks were open is part of the claim"
    );
    lie = face(&[], &[], &diffs);
    lie.risk = Some(Risk::Low);
    assert!(!shows_what_it_asks(&lie, &unproven));
    assert!(!shows_what_it_asks(&honest, "{}"));
}

fn long(path: &str, n_added: u32, shown: Vec<DiffLine>) -> FileDiff {
    FileDiff { lines: Some(shown), mode_after: Some(FileMode::File(0o644)), ..diff(path, n_added, 0) }
}

/// Lines that nobody could read, a file that is no text: the card says so wherever it says how much there is, and is never
/// the easy tap that a proof makes it otherwise.
#[test]
fn what_is_not_shown_is_said_and_is_no_low_risk() {
    let (before, after) = ([result(false)], [result(true)]);
    let picture = FileDiff { mode_after: Some(FileMode::File(0o644)), ..diff("logo.png", 0, 0) };
    let some = vec![DiffLine::Added("a".to_owned()), DiffLine::NotShown(51)];
    let diffs = [long("big.py", 52, some), picture];
    let honest = face(&before, &after, &diffs);
    assert_eq!((honest.risk, honest.facts[0].text.as_str()), (Some(Risk::Medium), "2 files, not all shown"));
    assert_eq!(honest.details[0].title, "Not on this card");
    assert_eq!(honest.details[0].lines, ["big.py: 51 changed lines", "logo.png: not text, or too large to show"]);
    assert!(honest.ctas[0].consequence.ends_with("Part of it is not on this card."), "{:?}", honest.ctas);
    let payload = order(&before, &after, &diffs);
    assert!(shows_what_it_asks(&honest, &payload));
    let without = |change: &dyn Fn(&mut Face)| {
        let mut face = honest.clone();
        change(&mut face);
        shows_what_it_asks(&face, &payload)
    };
    assert!(!without(&|face| face.risk = Some(Risk::Low)));
    assert!(!without(&|face| drop(face.details.remove(0))));
    assert!(!without(&|face| face.facts[0].text = "2 files, listed below".to_owned()));
    assert!(!without(&|face| drop(face.facts.remove(0))));
}

/// A card of an earlier version: fifty files are listed and more are meant, and its hidden lines are called unchanged.
#[test]
fn a_card_that_an_earlier_version_left_things_out_of_says_so_now() {
    let (before, after) = ([result(false)], [result(true)]);
    let shown = || vec![DiffLine::Added("a".to_owned()), DiffLine::Gap(51)];
    let diffs = [long("a.py", 52, shown()), long("b.py", 1, vec![DiffLine::Added("b".to_owned())])];
    let payload = order(&before, &after, &diffs);
    let mut earlier = face(&before, &after, &diffs);
    earlier.intent = "Apply 84 changed files to tidepool".to_owned();
    (earlier.risk, earlier.facts[0].text) = (Some(Risk::Low), "84 files, listed below".to_owned());
    earlier.details.remove(0);
    earlier.ctas[0].consequence = "Changes 84 files in tidepool.".to_owned();
    assert!(!shows_what_it_asks(&earlier, &payload));
    let now = in_words_of_today(&earlier);
    assert!(shows_what_it_asks(&now, &payload));
    assert_eq!(in_words_of_today(&now), now);
    assert_eq!((now.risk, now.facts[0].text.as_str()), (Some(Risk::Medium), "84 files, 2 listed"));
    assert_eq!(now.details[0].lines, ["82 changed files that are not listed", "a.py: 51 changed lines"]);
    assert_eq!(now.breaches(), Vec::<String>::new());
}

#[test]
fn what_is_gone_or_only_moved_has_nothing_to_show() {
    let gone = FileDiff { mode_before: Some(FileMode::File(0o644)), ..diff("old.png", 0, 0) };
    let face = face(&[result(false)], &[result(true)], &[gone]);
    assert_eq!((face.risk, face.facts[0].text.as_str()), (Some(Risk::Low), "old.png +0 −0"));
}

#[test]
fn many_files_are_counted_with_separators_and_read_back() {
    let diffs: Vec<FileDiff> = (0..1_200).map(|n| diff(&format!("{n}.txt"), 1_000, 0)).collect();
    let many = face(&[result(false)], &[result(true)], &diffs);
    assert_eq!(many.intent, "Apply 1,200 changed files to tidepool");
    assert_eq!(many.ctas[0].label, "Apply 1,200 files");
    assert_eq!(n_files(&many), Some(1_200));
    let earlier = Face { intent: "Apply 1200 changed files to tidepool".to_owned(), ..many };
    assert_eq!(n_files(&earlier), Some(1_200), "as an earlier version worded it");
    let one = face(&[result(false)], &[result(true)], &[diff("a.txt", 1_000, 12)]);
    assert!(one.facts.iter().any(|fact| fact.text.ends_with("+1,000 −12")) || one.facts[0].text.contains("not all"));
}

#[test]
fn a_file_that_becomes_writable_for_anybody_is_named_and_of_high_risk() {
    let mut opened = diff("run.sh", 0, 0);
    (opened.mode_before, opened.mode_after) = (Some(FileMode::File(0o755)), Some(FileMode::File(0o777)));
    let (before, after, diffs) = ([result(false)], [result(true)], [opened]);
    let face = face(&before, &after, &diffs);
    assert_eq!((face.risk, face.details[0].lines.as_slice()), (Some(Risk::High), &["run.sh".to_owned()][..]));
    let order = order(&before, &after, &diffs);
    assert!(shows_what_it_asks(&face, &order));
    assert!(!shows_what_it_asks(&Face { risk: Some(Risk::Low), ..face.clone() }, &order));
    assert!(!shows_what_it_asks(&Face { details: Vec::new(), ..face }, &order));
}
