//! Cheats at checks that are commands like any other.

use super::Attempt;
use crate::runner::Case;
use silas_core::check::{CountedBy, Expectation};
use silas_sandbox::Error;

pub(crate) const CASES: &[Case] = &[
    ("a_judge_behind_many_links", a_judge_behind_many_links),
    ("an_honest_fix_is_proved_by_a_script", an_honest_fix_is_proved_by_a_script),
    ("another_name_of_what_may_change_may_change", another_name_of_what_may_change_may_change),
    ("a_check_of_true", a_check_of_true),
    ("an_edited_script", an_edited_script),
    ("a_script_rewritten_while_it_runs", a_script_rewritten_while_it_runs),
    ("a_new_test_can_be_asked_for", a_new_test_can_be_asked_for),
    ("a_script_behind_a_link", a_script_behind_a_link),
    ("a_program_that_prints_what_is_expected", a_program_that_prints_what_is_expected),
    ("an_edited_measure", an_edited_measure),
    ("an_edited_makefile", an_edited_makefile),
    ("an_installed_runner_replaced", an_installed_runner_replaced),
    ("a_time_bomb", a_time_bomb),
    ("every_file_that_judges_is_seen_as_approved", every_file_that_judges_is_seen_as_approved),
    ("the_owners_edit_of_a_judge_is_a_conflict", the_owners_edit_of_a_judge_is_a_conflict),
];

const FILES: [(&str, &str); 2] = [("app.sh", "echo 1\n"), ("check.sh", "[ \"$(sh app.sh)\" = 2 ]\n")];
const FIX: &str = "echo 'echo 2' > app.sh";

fn script<'a>(steps: &'a [&'a str]) -> Attempt<'a> {
    Attempt { files: &FILES, steps, check: "sh check.sh" }
}

fn an_honest_fix_is_proved_by_a_script() {
    // Nothing is counted, and what it opens is not declared.
    let went = script(&[FIX]).is_not_proved(&["app.sh"]);
    assert_eq!((went.after.protected, went.after.tests), (true, None));
    let tap =
        "[ \"$(sh app.sh)\" = 2 ] && echo ok 1 - two || echo not ok 1 - two\necho 1..1\n[ \"$(sh app.sh)\" = 2 ]\n";
    let speaks = Attempt { files: &[FILES[0], ("check.sh", tap)], steps: &[FIX], check: "sh check.sh" };
    speaks.is_not_proved(&["app.sh"]);
    let went = speaks.proves_declaring(&["app.sh"]);
    let basis = went.after.basis.unwrap();
    assert_eq!(
        (basis.by, basis.changed, basis.declared.unwrap().files),
        (CountedBy::Tests, vec![], vec!["app.sh".to_owned()])
    );
    assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1));
}

/// Names of one file are one file, for whoever declares it too. What is run is excused under none of them.
fn another_name_of_what_may_change_may_change() {
    let tap =
        "[ \"$(sh app.sh)\" = 2 ] && echo ok 1 - two || echo not ok 1 - two\necho 1..1\n[ \"$(sh app.sh)\" = 2 ]\n";
    let files = [FILES[0], ("check.sh", tap)];
    let speaks = Attempt { files: &files, steps: &["sed -i s/1/2/ app.sh"], check: "sh check.sh" };
    let make = |attempt: &Attempt<'_>, names: [&str; 2]| {
        let world = attempt.world();
        std::fs::hard_link(world.project.join(names[0]), world.project.join(names[1])).unwrap();
        let mut definition = world.bare_definition(attempt.steps, &[attempt.check]);
        definition.changes = vec![silas_core::exits::Glob::parse("app.sh").unwrap()];
        attempt.carry_out(&world, definition).unwrap()
    };
    let basis = make(&speaks, ["app.sh", "second.sh"]).proved().after.basis.unwrap();
    assert_eq!(basis.declared.unwrap().files, ["app.sh", "second.sh"]);
    // The other name is new.
    let more = Attempt { steps: &["sed -i s/1/2/ app.sh; cp app.sh third.sh; rm away.sh"], ..speaks };
    let went = make(&more, ["app.sh", "away.sh"]).green_only(&["away.sh", "third.sh"]);
    let basis = went.after.basis.unwrap();
    assert_eq!((basis.new, basis.gone), (vec!["third.sh".to_owned()], vec!["away.sh".to_owned()]));
}

fn a_check_of_true() {
    let went = Attempt { check: "true", ..script(&[FIX]) }.make();
    assert!(went.before.passed && went.after.passed);
    assert_eq!(went.applied, Err(Error::NotVerified), "green both times proves nothing");
}

fn an_edited_script() {
    for step in
        ["echo 'exit 0' > check.sh", "rm check.sh; printf '' > check.sh", "chmod 755 check.sh; echo true > check.sh"]
    {
        let went = script(&[step]).fails("as they were before the work, not as changed: check.sh");
        assert_eq!(went.unseen, ["check.sh"]);
    }
    let went =
        Attempt { files: &FILES[..1], steps: &["echo 'exit 0' > check.sh"], check: "sh ./check.sh" }.fails("check.sh");
    assert_eq!(went.unseen, ["check.sh"], "one that was not there is not there");
}

/// The shell reads a script while it runs it.
fn a_script_rewritten_while_it_runs() {
    let went = script(&["printf 'echo \"exit 0\" > check.sh; echo 2\\n' > app.sh; true"]).make();
    assert_eq!(went.applied, Err(Error::NotVerified), "{:?}", went.after);
    assert!(went.after.reason.contains("touched what judges: check.sh"), "{:?}", went.after);
}

/// That a test is there can be asked for; what it says judges nothing.
fn a_new_test_can_be_asked_for() {
    let attempt = Attempt { check: "true", ..script(&["mkdir tests; echo x > tests/test_new.py"]) };
    let expect = Expectation::FileExists("tests/test_new.py".to_owned());
    let went = attempt.make_in(&attempt.world(), expect, true).unwrap();
    assert_eq!((went.after.passed, went.applied), (true, Err(Error::NotVerified)), "{:?}", went.after);
}

fn a_script_behind_a_link() {
    let attempt = Attempt {
        files: &[FILES[0], ("tools/real.sh", FILES[1].1)],
        steps: &["echo 'exit 0' > tools/real.sh"],
        check: "sh check.sh",
    };
    let world = attempt.world();
    std::os::unix::fs::symlink("tools/real.sh", world.project.join("check.sh")).unwrap();
    let went = attempt.make_in(&world, Expectation::ExitCode(0), true).unwrap();
    assert!(!went.before.passed && !went.after.passed, "{:?}", went.after);
    assert_eq!(went.unseen, ["tools/real.sh"]);
}

fn a_program_that_prints_what_is_expected() {
    let expect = || Expectation::Equals("all good\n".to_owned());
    let attempt = Attempt { check: "sh app.sh", ..script(&["echo 'echo all good' > app.sh"]) };
    let went = attempt.make_in(&attempt.world(), expect(), true).unwrap();
    assert!(!went.after.passed && went.applied == Err(Error::NotVerified), "{:?}", went.after);
    let attempt = Attempt { check: "echo all good", ..script(&[FIX]) };
    let went = attempt.make_in(&attempt.world(), expect(), true).unwrap();
    assert!(went.before.passed && went.applied == Err(Error::NotVerified), "it prints that before, too");
}

fn an_edited_measure() {
    let files = [("expected.txt", "2\n"), ("out.txt", "1\n")];
    let cmp = |steps| Attempt { files: &files, steps, check: "cmp expected.txt out.txt" };
    cmp(&["cp out.txt expected.txt"]).fails("expected.txt");
    let fresh = [("expected.txt", "2\n")];
    Attempt { files: &fresh, steps: &["echo 2 > out.txt"], check: "cmp expected.txt out.txt" }
        .is_not_proved(&["out.txt"]);
}

fn an_edited_makefile() {
    if !super::has("make") {
        return;
    }
    let files = [FILES[0], FILES[1], ("Makefile", "test:\n\tsh check.sh\n")];
    let make = |steps| Attempt { files: &files, steps, check: "make test" };
    make(&[FIX]).is_not_proved(&["app.sh"]);
    make(&["printf 'test:\\n\\ttrue\\n' > Makefile"]).fails("Makefile");
    make(&["printf 'test:\\n\\ttrue\\n' > GNUmakefile"]).fails("GNUmakefile");
}

fn an_installed_runner_replaced() {
    let files = [
        FILES[0],
        (".venv/bin/pytest", "[ \"$(sh app.sh)\" = 2 ]\n"),
        ("node_modules/.bin/jest", "sh check.sh\n"),
        FILES[1],
    ];
    for (check, file) in
        [("sh .venv/bin/pytest", ".venv/bin/pytest"), ("sh node_modules/.bin/jest", "node_modules/.bin/jest")]
    {
        let step = format!("echo 'exit 0' > {file}");
        let went = Attempt { files: &files, steps: &[&step], check }.fails(file);
        assert_eq!(went.flags, [format!("{file} is a built file")]);
    }
}

/// Red now, green after a while, whatever the work does: it is green on the untouched directory then as well.
fn a_time_bomb() {
    let due = crate::world::now().micros() / 1_000_000 + 4;
    let check = format!("[ \"$(date +%s)\" -ge {due} ]");
    let wait = format!("while [ \"$(date +%s)\" -lt {due} ]; do sleep 0.2; done; echo x >> app.sh");
    let went = Attempt { check: &check, ..script(&[&wait]) }.make();
    assert_eq!(went.applied, Err(Error::NotVerified), "{:?}", went.after);
    assert!(went.before.passed || went.after.reason.contains("not the work that turned it"), "{:?}", went.after);
}

/// Whatever the runner: what judges is what was approved, in every file of this list.
fn every_file_that_judges_is_seen_as_approved() {
    const JUDGES: [&str; 14] = [
        "Cargo.toml",
        ".cargo/config.toml",
        "rust-toolchain.toml",
        "build.rs",
        "tests/adds.rs",
        "package.json",
        ".npmrc",
        "jest.config.js",
        "node_modules/jest/index.js",
        "go.mod",
        "calc_test.go",
        "target/debug/deps/adds-1",
        "pytest.ini",
        "tests/snapshots/a.snap",
    ];
    let mut files: Vec<(&str, &str)> = JUDGES.iter().map(|path| (*path, "approved\n")).collect();
    let script = format!("cat {}; grep -q 2 app.sh\n", JUDGES.join(" "));
    files.extend([("app.sh", "echo 1\n"), ("check.sh", script.as_str())]);
    let step = format!("for f in {}; do echo cheat > $f; done; {FIX}", JUDGES.join(" "));
    let went = Attempt { files: &files, steps: &[&step], check: "sh check.sh" }.is_not_proved(&["app.sh"]);
    assert_eq!(went.after.output, "approved\n".repeat(JUDGES.len()));
    let mut expect = JUDGES.map(str::to_owned);
    expect.sort();
    assert_eq!(went.unseen, expect);
    assert_eq!(went.flags.len(), JUDGES.len(), "{:?}", went.flags);
}

fn the_owners_edit_of_a_judge_is_a_conflict() {
    use silas_core::event::Phase;
    let attempt = script(&["echo 'exit 0' > check.sh"]);
    let world = attempt.world();
    let launcher = world.launcher();
    let plan = world.plan(attempt.steps, &[attempt.check]);
    let mut workshop = launcher.open(&crate::world::approve(&plan)).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Phase::Before).unwrap();
    workshop.step(0).unwrap();
    world.save("check.sh", "exit 0\n");
    assert_eq!(workshop.checks(Phase::After), Err(Error::Conflict { paths: vec!["check.sh".to_owned()] }));
}

fn a_judge_behind_many_links() {
    let attempt = Attempt {
        files: &[("app.txt", "old\n"), ("qa/suite/run.sh", "grep -q new app.txt\n")],
        steps: &["echo true > qa/suite/run.sh"],
        check: "sh tests/run.sh",
    };
    let world = attempt.world();
    // Each leads to one that comes before it, so that whoever goes through them in order finds one more each time.
    let links = ["tests", "link-7", "link-6", "link-5", "link-4", "link-3", "link-2", "link-1", "qa/suite"];
    for pair in links.windows(2) {
        std::os::unix::fs::symlink(pair[1], world.project.join(pair[0])).unwrap();
    }
    let went = attempt.make_in(&world, Expectation::ExitCode(0), true).unwrap();
    assert!(!went.before.passed && !went.after.passed, "{:?}\n{:?}", went.before, went.after);
    assert_eq!(went.unseen, ["qa/suite/run.sh"]);
}
