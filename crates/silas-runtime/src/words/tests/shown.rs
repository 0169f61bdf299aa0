//! Nothing that is signed is missing on a face, whatever a plan says and however it is spelled.

use super::plans::PLAN;
use super::samples::words;
use silas_core::card::Face;
use silas_core::plan;
use silas_core::work::WorkItem;

fn with(steps: &str) -> WorkItem {
    let front = PLAN.replace("  - run: sh fix.sh\n", steps);
    plan::parse(format!("---\n{front}---\n\nFix it.\n").as_bytes()).unwrap()
}

fn lines<'f>(face: &'f Face, title: &str) -> &'f [String] {
    let found = face.details.iter().find(|detail| detail.title == title);
    found.map_or(&[], |detail| detail.lines.as_slice())
}

#[test]
fn where_a_command_runs_is_said() {
    let face = words().plan(&with("  - run: sh fix.sh\n  - { run: sh fix.sh, cwd: \"deploy\\n/prod\" }\n"));
    assert_eq!(lines(&face, "Steps"), ["sh fix.sh", "sh fix.sh"]);
    assert_eq!(lines(&face, "Where they run"), ["Step 2 in deploy⟨U+000A⟩/prod"]);
}

#[test]
fn a_command_is_shown_with_everything_in_it() {
    let hidden = "x=1\u{e0100}\u{3164}\u{2800}\u{34f}\u{fe01}\u{ad}";
    let face = words().plan(&with(&format!("  - run: \"{hidden} # a\\rb\\x85c\"\n")));
    let shown = "x=1⟨U+E0100⟩⟨U+3164⟩⟨U+2800⟩⟨U+034F⟩⟨U+FE01⟩⟨U+00AD⟩ # a⟨U+000D⟩b⟨U+0085⟩c";
    assert_eq!(lines(&face, "Steps"), [shown]);
}

/// A check of two lines would read as one in a fact, whose line ends are spaces.
#[test]
fn a_check_of_two_lines_is_not_a_fact() {
    let front = PLAN.replace("run: sh check.sh", "run: \"true #\\nsh c.sh\"");
    let item = plan::parse(format!("---\n{front}---\n\nFix it.\n").as_bytes()).unwrap();
    let face = words().plan(&item);
    let done = face.facts.iter().find(|fact| fact.label == "Done when").unwrap();
    assert_eq!(done.text, "1 check, listed below");
    assert!(lines(&face, "Your check")[0].starts_with("true #\nsh c.sh: must succeed"), "{face:?}");
}

/// Doing it again is signed about the whole plan.
#[test]
fn a_card_that_asks_for_a_plan_again_shows_the_plan() {
    let item = with("  - { run: sh send.sh, cwd: deploy }\n");
    let (plan, again) = (words().plan(&item), words().unknown_effect(&item));
    let may_change = |face: &Face| face.facts.iter().find(|fact| fact.label == "May change").cloned();
    assert!(may_change(&plan).is_some() && may_change(&plan) == may_change(&again));
    for detail in &plan.details {
        assert!(again.details.contains(detail), "{detail:?}");
    }
    assert_eq!(again.breaches(), Vec::<String>::new());
}

#[test]
fn a_directory_cannot_be_named_like_a_line_of_a_card() {
    let face = words().root(&silas_core::roots::Place {
        path: "/srv/a\n● Low risk · Plan".to_owned(),
        device: "1".to_owned(),
        inode: "2".to_owned(),
    });
    assert_eq!(lines(&face, "Directory")[0], "/srv/a⟨U+000A⟩● Low risk · Plan");
}
