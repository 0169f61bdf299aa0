//! An approved plan from the opening to the undo, as it should be.

use crate::runner::Case;
use crate::world::{World, approve, approve_undo, key_helper, work};
use silas_core::changeset::DiffLine;
use silas_core::check::{Ended, Expectation};
use silas_core::event::Phase;
use silas_core::execution::ExecutionState;
use silas_core::roots::Access;
use silas_core::work::WorkItem;
use silas_sandbox::cell::LimitsInForce;
use silas_sandbox::{CellLimits, Error, Launcher, Seal};

pub(crate) const CASES: &[Case] = &[
    ("every_kind_of_change_is_applied_and_undone", every_kind_of_change_is_applied_and_undone),
    ("the_diff_says_what_changed", the_diff_says_what_changed),
    ("checks_change_nothing", checks_change_nothing),
    ("checks_are_judged_by_what_they_expect", checks_are_judged_by_what_they_expect),
    ("missing_programs_are_red", missing_programs_are_red),
    ("running_out_of_memory_is_red_and_says_so", running_out_of_memory_is_red_and_says_so),
    ("directories_to_read_can_be_read_only", directories_to_read_can_be_read_only),
    ("the_repository_can_be_read_only", the_repository_can_be_read_only),
    ("what_was_replaced_is_kept_until_forgotten", what_was_replaced_is_kept_until_forgotten),
];

fn every_kind_of_change_is_applied_and_undone() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    let (before, after) = work(&mut workshop, &plan).unwrap();
    assert_eq!(before.iter().map(|r| r.passed).collect::<Vec<_>>(), [false, true]);
    assert_eq!(after.iter().map(|r| r.passed).collect::<Vec<_>>(), [true, true]);
    assert_eq!(world.tree(), old, "nothing moves before the apply");
    let changes = workshop.changes().unwrap();
    let paths: Vec<String> = changes.changeset.changes.iter().map(|c| c.path.to_string()).collect();
    assert_eq!(paths, ["app.txt", "fresh", "gone.txt", "link", "made/deep/file.txt", "run.sh"]);
    let applied = workshop.apply().unwrap();
    assert_eq!((applied.changeset, applied.files), (changes.changeset.hash().unwrap(), 6));
    assert_eq!(applied.conflicts, []);
    let new = world.tree();
    assert_eq!(new[b"app.txt".as_slice()], (old[b"app.txt".as_slice()].0.clone(), b"new\n".to_vec()));
    assert_eq!(new[b"made/deep/file.txt".as_slice()].1, b"made\n");
    assert_eq!(new[b"link".as_slice()].1, b"src/lib.txt");
    assert_eq!(new[b"fresh".as_slice()].1, b"app.txt");
    assert!(new[b"run.sh".as_slice()].0.starts_with("100755 "));
    assert!(!new.contains_key(b"gone.txt".as_slice()));
    assert_eq!(world.stages(), [format!(".silas-{}", evidence.execution)]);

    let undo = approve_undo(&evidence.execution, applied.changeset);
    let undone = launcher.undo(&undo).unwrap();
    assert_eq!((&undone.execution, undone.files), (&evidence.execution, 6));
    assert_eq!(world.tree(), old);
    assert_eq!(world.stages(), [""; 0]);
    assert_eq!(launcher.undo(&undo), Err(Error::AlreadySpent));
    assert_eq!(launcher.recover().unwrap()[0].state, ExecutionState::Undone);
}

fn the_diff_says_what_changed() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.every_kind();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    let diffs = workshop.changes().unwrap().diffs;
    let app = diffs.iter().find(|diff| diff.path.to_string() == "app.txt").unwrap();
    let lines = vec![DiffLine::Removed("old".to_owned()), DiffLine::Added("new".to_owned())];
    assert_eq!((app.added, app.removed, &app.lines), (1, 1, &Some(lines)));
    let link = diffs.iter().find(|diff| diff.path.to_string() == "link").unwrap();
    assert_eq!((link.added, link.removed), (1, 1));
}

fn checks_change_nothing() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.plan(
        &["echo new > app.txt"],
        &["echo from-check > app.txt; echo x > made-by-check", "test ! -e made-by-check && grep -q new app.txt"],
    );
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let (before, after) = work(&mut workshop, &plan).unwrap();
    assert!(!before[1].passed && after[1].passed);
    assert_eq!(workshop.changes().unwrap().changeset.changes.len(), 1);
    workshop.apply().unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
    assert!(!world.project.join("made-by-check").exists());
}

fn checks_are_judged_by_what_they_expect() {
    let world = World::new();
    std::os::unix::fs::symlink("/etc", world.project.join("out")).unwrap();
    let launcher = world.launcher();
    let project = world.project.to_str().unwrap().to_owned();
    let cases: Vec<(&str, serde_json::Value, bool)> = vec![
        ("echo hello", serde_json::json!({"equals": "hello\n"}), true),
        ("echo hello", serde_json::json!({"contains": "ell"}), true),
        ("echo 3", serde_json::json!({"output_lt": "4"}), true),
        ("echo 5", serde_json::json!({"output_lt": "4"}), false),
        ("true", serde_json::json!({"not_empty": true}), false),
        ("echo x > made", serde_json::json!({"file_exists": "made"}), true),
        ("true", serde_json::json!({"file_exists": "made"}), false),
        ("true", serde_json::json!({"file_exists": format!("{project}/src/lib.txt")}), true),
        ("true", serde_json::json!({"file_exists": "out/passwd"}), false),
        ("true", serde_json::json!({"file_exists": "/etc/passwd"}), false),
        ("sleep 30", serde_json::json!({"exit_code": 0}), false),
        ("head -c 3000000 /dev/zero", serde_json::json!({"equals": "x"}), false),
        (
            "pwd; echo $HOME; touch $HOME/f && ls $HOME",
            serde_json::json!({"equals": format!("{project}\n/tmp/home\nf\n")}),
            true,
        ),
    ];
    let mut definition = world.definition(&[], &vec!["x"; cases.len()]);
    for (check, (script, expect, _)) in definition.verify.iter_mut().zip(&cases) {
        check.run = silas_core::check::Command::Shell((*script).to_owned());
        check.expect = serde_json::from_value::<Expectation>(expect.clone()).unwrap();
        check.timeout = if *script == "sleep 30" { 1 } else { 60 };
    }
    let plan = WorkItem::new(definition).unwrap();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    let results = workshop.checks(Phase::Before).unwrap();
    assert_eq!(results.len(), cases.len(), "side by side, and answered in their order");
    for (result, (script, expect, is_green)) in results.iter().zip(&cases) {
        assert_eq!(result.passed, *is_green, "{script} {expect}: {result:?}");
        // So much of it, and a line that says how much is left out.
        let mark = "\n[… 2,998,000 characters are left out here …]\n".chars().count();
        assert!(result.output.chars().count() <= silas_core::check::OUTPUT_CHARS_KEPT + mark, "{script}");
    }
}

fn missing_programs_are_red() {
    let world = World::new();
    let launcher = world.launcher();
    let mut definition = world.definition(&["true"], &["true"]);
    definition.verify[0].run = silas_core::check::Command::Argv(vec!["no-such-program".to_owned()]);
    definition.steps[0].run = silas_core::check::Command::Argv(vec!["no-such-program".to_owned()]);
    let plan = WorkItem::new(definition).unwrap();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    let check = workshop.checks(Phase::Before).unwrap().remove(0);
    assert!(!check.passed && check.reason.contains("no-such-program"), "{check:?}");
    let step = workshop.step(0).unwrap();
    assert_eq!(step.metadata.ended, Ended::Exited(127));
    workshop.checks(Phase::After).unwrap();
    assert_eq!(workshop.apply(), Err(Error::NotVerified));
}

fn directories_to_read_can_be_read_only() {
    let world = World::new();
    let beside = world.project.parent().unwrap().join("beside");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("note.txt"), "read me\n").unwrap();
    let launcher = world.launcher();
    let script = format!("cat {0}/note.txt > app.txt; echo spoilt > {0}/note.txt; true", beside.display());
    let mut definition = world.definition(&[&script], &["grep -q 'read me' app.txt"]);
    definition.directories.push(world.directory(&beside, Access::Read));
    let plan = WorkItem::new(definition).unwrap();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    assert_eq!(world.read("app.txt"), "read me\n");
    assert_eq!(std::fs::read_to_string(beside.join("note.txt")).unwrap(), "read me\n");
}

fn the_repository_can_be_read_only() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let script = "cp .git/HEAD app.txt; echo spoilt > .git/HEAD; echo hook > .git/hook; rm -rf .git; true";
    let plan = world.plan(&[script], &["grep -q refs app.txt"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    assert_eq!(workshop.changes().unwrap().changeset.changes.len(), 1);
    workshop.apply().unwrap();
    let new = world.tree();
    assert_eq!(new[b".git/HEAD".as_slice()], old[b".git/HEAD".as_slice()]);
    assert_eq!(new.len(), old.len());
}

fn what_was_replaced_is_kept_until_forgotten() {
    let mut world = World::new();
    let open_end = {
        let launcher = world.launcher();
        let plan = world.one_change();
        let evidence = approve(&plan);
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        workshop.apply().unwrap();
        assert_eq!(launcher.forget(&evidence.execution), Err(Error::UndoOpen));
        evidence.execution
    };
    assert_eq!(world.stages().len(), 1);
    world.undo_window_secs = 0;
    let launcher = world.launcher();
    let plan = world.plan(&["echo newer > app.txt"], &["grep -q newer app.txt"]);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    let undo = approve_undo(&evidence.execution, applied.changeset);
    assert!(matches!(launcher.undo(&undo), Err(Error::UndoClosed(_))));
    launcher.forget(&evidence.execution).unwrap();
    launcher.forget(&evidence.execution).unwrap();
    assert_eq!(world.stages(), [format!(".silas-{open_end}")]);
    assert_eq!(world.read("app.txt"), "newer\n");
    assert!(matches!(launcher.undo(&undo), Err(Error::UndoClosed(_))));
}

fn running_out_of_memory_is_red_and_says_so() {
    let world = World::new();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let limits = CellLimits { memory_bytes_max: 100 << 20, ..CellLimits::default() };
    let sealed = launcher.seal(Seal { limits, ..world.seal() }).unwrap();
    // Scratch space is memory too. Whoever comes after hides the failure, but not from the workshop.
    let greedy = "head -c 200000000 /dev/zero > /tmp/big; exit 0";
    let plan = world.plan(&[greedy], &[greedy, "true"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    let results = workshop.checks(Phase::Before).unwrap();
    let greedy = &results[0];
    assert!(results[1].passed, "each has all of it");
    let step = workshop.step(0).unwrap();
    match sealed.limits {
        LimitsInForce::Cgroup2 | LimitsInForce::Cgroup1 => {
            let reason = "Out of memory (limit 100 MB)";
            assert_eq!((greedy.passed, greedy.reason.as_str(), greedy.exit_code), (false, reason, None));
            assert_eq!(
                (step.metadata.ended.clone(), step.output().lines().next()),
                (Ended::Signalled(libc::SIGKILL), Some(reason))
            );
        }
        // Nothing bounds them together, and nothing claims to.
        LimitsInForce::PerProcess => {
            assert!(greedy.passed && sealed.limits.to_string().contains("each process alone"));
            assert_eq!(step.metadata.ended, Ended::Exited(0));
        }
    }
}
