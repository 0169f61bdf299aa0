//! The owner works on the same files, before, during and after. No text of theirs is ever lost.

use crate::runner::Case;
use crate::world::{World, approve, approve_undo, life, work};
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_sandbox::{Error, KeptText, Launcher, Recovered};
use std::io::Write;

pub(crate) const CASES: &[Case] = &[
    ("an_edit_meanwhile_stops_the_apply", an_edit_meanwhile_stops_the_apply),
    ("a_directory_swapped_meanwhile_stops_the_apply", a_directory_swapped_meanwhile_stops_the_apply),
    ("a_later_edit_stops_the_undo", a_later_edit_stops_the_undo),
    ("an_edit_in_the_last_moment_is_kept", an_edit_in_the_last_moment_is_kept),
    ("a_symlink_in_the_last_moment_leads_nowhere", a_symlink_in_the_last_moment_leads_nowhere),
    ("an_edit_in_the_last_moment_of_an_undo_is_kept", an_edit_in_the_last_moment_of_an_undo_is_kept),
    ("what_a_slow_writer_writes_is_kept", what_a_slow_writer_writes_is_kept),
    ("two_works_do_not_overwrite_each_other", two_works_do_not_overwrite_each_other),
];

fn an_edit_meanwhile_stops_the_apply() {
    for edit in [
        (|w: &World| w.save("app.txt", "mine\n")) as fn(&World),
        |w| w.write("src/lib.txt", "mine\n"),
        |w| w.write("unrelated.txt", "mine\n"),
        |w| std::fs::remove_file(w.project.join("gone.txt")).unwrap(),
        |w| w.set_mode("src/deep/same.txt", 0o600),
    ] {
        let world = World::new();
        let launcher = world.launcher();
        let plan = world.every_kind();
        let mut workshop = launcher.open(&approve(&plan)).unwrap();
        work(&mut workshop, &plan).unwrap();
        edit(&world);
        let edited = world.tree();
        match workshop.apply() {
            Err(Error::Conflict { paths }) => assert_eq!(paths.len(), 1),
            other => panic!("{other:?}"),
        }
        assert_eq!(world.tree(), edited);
        assert_eq!(world.stages(), [""; 0]);
    }
}

fn a_directory_swapped_meanwhile_stops_the_apply() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    let elsewhere = world.project.with_file_name("elsewhere");
    std::fs::rename(&world.project, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &world.project).unwrap();
    assert!(matches!(workshop.apply(), Err(Error::Place { .. })));
    assert_eq!(world.read("app.txt"), "old\n");
}

fn a_later_edit_stops_the_undo() {
    for (edit, named) in [
        ((|w: &World| w.save("app.txt", "later\n")) as fn(&World), "app.txt"),
        (|w| w.write("gone.txt", "again\n"), "gone.txt"),
        (|w| std::fs::remove_file(w.project.join("made/deep/file.txt")).unwrap(), "made/deep/file.txt"),
        (|w| w.set_mode("run.sh", 0o700), "run.sh"),
    ] {
        let world = World::new();
        let launcher = world.launcher();
        let plan = world.every_kind();
        let evidence = approve(&plan);
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        let applied = workshop.apply().unwrap();
        edit(&world);
        let edited = world.tree();
        let undo = approve_undo(&evidence.execution, applied.changeset);
        assert_eq!(launcher.undo(&undo), Err(Error::LaterEdit { paths: vec![named.to_owned()] }));
        assert_eq!(world.tree(), edited);
    }
}

/// Stops right after the commit, edits, and lets recovery go on: the edit is where no comparison saw it.
fn edited_after_commit(world: &World, edit: impl FnOnce()) -> (Launcher, Recovered) {
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let died = life(Some(FailPoint::ApplyCommitted), || {
        let launcher = world.launcher();
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        let _ = workshop.apply();
    });
    assert_eq!(died, -libc::SIGKILL);
    edit();
    let launcher = world.launcher();
    let recovered = launcher.recover().unwrap().remove(0);
    assert_eq!((recovered.state, &recovered.problem), (ExecutionState::Applied, &None));
    (launcher, recovered)
}

fn kept(world: &World, recovered: &Recovered, path: &str) -> String {
    let found = recovered.conflicts.iter().find(|kept| kept.path == path);
    let KeptText { kept_at, .. } = found.unwrap_or_else(|| panic!("{path} is not in {recovered:?}"));
    world.read(kept_at)
}

fn an_edit_in_the_last_moment_is_kept() {
    let world = World::new();
    let (launcher, recovered) = edited_after_commit(&world, || {
        world.save("app.txt", "mine\n");
        world.save("gone.txt", "mine too\n");
        std::fs::create_dir_all(world.project.join("made/deep")).unwrap();
        world.write("made/deep/file.txt", "mine as well\n");
        std::fs::remove_file(world.project.join("run.sh")).unwrap();
    });
    assert_eq!(recovered.conflicts.len(), 4);
    assert_eq!((world.read("app.txt").as_str(), kept(&world, &recovered, "app.txt").as_str()), ("new\n", "mine\n"));
    assert!(!world.project.join("gone.txt").exists());
    assert_eq!(kept(&world, &recovered, "gone.txt"), "mine too\n");
    assert_eq!(world.read("made/deep/file.txt"), "mine as well\n");
    assert_eq!(kept(&world, &recovered, "made/deep/file.txt"), "made\n");
    assert!(!world.project.join("run.sh").exists());
    assert_eq!(kept(&world, &recovered, "run.sh"), "echo run\n");
    // Undoing brings back what the owner had, not what Silas had compared with.
    launcher.undo(&approve_undo(&recovered.execution, recovered.changeset.unwrap())).unwrap();
    assert_eq!(world.read("app.txt"), "mine\n");
    assert_eq!(world.read("gone.txt"), "mine too\n");
    assert_eq!(world.read("made/deep/file.txt"), "mine as well\n");
    assert!(!world.project.join("run.sh").exists());
    assert_eq!(world.stages(), [""; 0]);
}

fn a_symlink_in_the_last_moment_leads_nowhere() {
    let world = World::new();
    let outside = world.project.with_file_name("outside");
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    let (_launcher, recovered) = edited_after_commit(&world, || {
        std::os::unix::fs::symlink(&outside, world.project.join("made")).unwrap();
    });
    assert_eq!(std::fs::read_dir(outside.join("deep")).unwrap().count(), 0);
    assert_eq!(recovered.conflicts.len(), 1);
    assert_eq!(kept(&world, &recovered, "made/deep/file.txt"), "made\n");
}

fn an_edit_in_the_last_moment_of_an_undo_is_kept() {
    let world = World::new();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let applied = {
        let launcher = world.launcher();
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        workshop.apply().unwrap()
    };
    let died = life(Some(FailPoint::UndoCommitted), || {
        let _ = world.launcher().undo(&approve_undo(&evidence.execution, applied.changeset));
    });
    assert_eq!(died, -libc::SIGKILL);
    world.save("app.txt", "mine\n");
    world.write("gone.txt", "mine too\n");
    let launcher = world.launcher();
    let recovered = launcher.recover().unwrap().remove(0);
    assert_eq!((recovered.state, &recovered.problem), (ExecutionState::Undone, &None));
    assert_eq!(recovered.conflicts.len(), 2);
    assert_eq!((world.read("app.txt").as_str(), kept(&world, &recovered, "app.txt").as_str()), ("old\n", "mine\n"));
    assert_eq!(world.read("gone.txt"), "mine too\n");
    assert_eq!(kept(&world, &recovered, "gone.txt"), "to be deleted\n");
}

fn what_a_slow_writer_writes_is_kept() {
    let mut world = World::new();
    world.undo_window_secs = 0;
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let mut slow = std::fs::OpenOptions::new().append(true).open(world.project.join("app.txt")).unwrap();
    let applied = workshop.apply().unwrap();
    assert_eq!((applied.files, applied.conflicts.len()), (1, 0));
    assert_eq!(world.read("app.txt"), "new\n");
    slow.write_all(b"written late\n").unwrap();
    launcher.forget(&evidence.execution).unwrap();
    assert_eq!(world.read(&format!(".silas-{}/0", evidence.execution)), "old\nwritten late\n");
}

fn two_works_do_not_overwrite_each_other() {
    let world = World::new();
    let launcher = world.launcher();
    let (first, second) = (world.one_change(), world.plan(&["echo newer > app.txt"], &["grep -q newer app.txt"]));
    let mut one = launcher.open(&approve(&first)).unwrap();
    let mut two = launcher.open(&approve(&second)).unwrap();
    work(&mut one, &first).unwrap();
    work(&mut two, &second).unwrap();
    one.apply().unwrap();
    assert_eq!(two.apply(), Err(Error::Conflict { paths: vec!["app.txt".to_owned()] }));
    assert_eq!(world.read("app.txt"), "new\n");
}
