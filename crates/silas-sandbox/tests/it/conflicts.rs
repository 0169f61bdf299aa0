//! The owner works on the same files, before, during and after. No text of theirs is ever lost.

use crate::runner::Case;
use crate::world::{World, approve, approve_undo, life, work};
use silas_core::changeset::DiffLine;
use silas_core::event::Phase;
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_sandbox::{Error, Recovered, Workshop};
use std::io::Write;

pub(crate) const CASES: &[Case] = &[
    ("an_edit_meanwhile_stops_the_apply", an_edit_meanwhile_stops_the_apply),
    ("an_edit_elsewhere_is_checked_together_with_the_work", an_edit_elsewhere_is_checked_together_with_the_work),
    ("what_is_red_together_is_not_applied", what_is_red_together_is_not_applied),
    ("somebody_who_never_stops_gets_an_answer", somebody_who_never_stops_gets_an_answer),
    ("what_a_step_sees_of_an_edit", what_a_step_sees_of_an_edit),
    ("an_edit_that_was_taken_back_counts_where_it_was_seen", an_edit_that_was_taken_back_counts_where_it_was_seen),
    ("a_directory_swapped_meanwhile_stops_the_apply", a_directory_swapped_meanwhile_stops_the_apply),
    ("a_later_edit_stops_the_undo", a_later_edit_stops_the_undo),
    (
        "a_later_edit_is_shown_against_what_the_undo_would_put_there",
        a_later_edit_is_shown_against_what_the_undo_would_put_there,
    ),
    ("an_edit_in_the_last_moment_is_kept", an_edit_in_the_last_moment_is_kept),
    ("a_symlink_in_the_last_moment_leads_nowhere", a_symlink_in_the_last_moment_leads_nowhere),
    ("an_edit_in_the_last_moment_of_an_undo_is_kept", an_edit_in_the_last_moment_of_an_undo_is_kept),
    ("what_a_slow_writer_writes_is_kept", what_a_slow_writer_writes_is_kept),
    ("two_works_do_not_overwrite_each_other", two_works_do_not_overwrite_each_other),
];

fn an_edit_meanwhile_stops_the_apply() {
    for edit in [
        (|w: &World| w.save("app.txt", "mine\n")) as fn(&World),
        |w| std::fs::remove_file(w.project.join("gone.txt")).unwrap(),
        |w| w.set_mode("run.sh", 0o600),
        |w| w.write("fresh", "mine\n"),
        |w| std::fs::create_dir(w.project.join("fresh")).unwrap(),
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

/// The owner's changes elsewhere stay, and the checks run again on both together before anything is put in place.
fn an_edit_elsewhere_is_checked_together_with_the_work() {
    for edit in [
        (|w: &World| w.save("src/lib.txt", "mine\n")) as fn(&World),
        |w| w.write("src/lib.txt", "mine\n"),
        |w| w.write("unrelated.txt", "mine\n"),
        |w| std::fs::remove_file(w.project.join("src/deep/same.txt")).unwrap(),
        |w| w.set_mode("src/deep/same.txt", 0o600),
        |w| {
            std::fs::remove_dir_all(w.project.join("src/deep")).unwrap();
            std::fs::create_dir(w.project.join("other")).unwrap();
            w.write("other/new.txt", "mine\n");
            std::os::unix::fs::symlink("new.txt", w.project.join("other/link")).unwrap();
        },
    ] {
        let world = World::new();
        let launcher = world.launcher();
        let plan = world.every_kind();
        let evidence = approve(&plan);
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        edit(&world);
        let edited = world.tree();
        assert!(matches!(workshop.apply(), Err(Error::MovedOn { .. })));
        assert_eq!((world.tree(), world.stages().len()), (edited.clone(), 0));
        assert!(matches!(workshop.apply(), Err(Error::Order(_))), "the old results are void");
        check_again(&mut workshop);
        let applied = workshop.apply().unwrap();
        assert_eq!((applied.files, world.read("app.txt").as_str()), (6, "new\n"));
        launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
        assert_eq!(world.tree(), edited);
    }
}

fn check_again(workshop: &mut Workshop) -> Vec<bool> {
    workshop.checks(Phase::After).unwrap().iter().map(|result| result.passed).collect()
}

fn what_is_red_together_is_not_applied() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.plan(&["echo new > app.txt"], &["grep -q new app.txt && grep -q library src/lib.txt"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    world.save("src/lib.txt", "mine\n");
    let edited = world.tree();
    assert_eq!(workshop.apply(), Err(Error::MovedOn { paths: vec!["src/lib.txt".to_owned()] }));
    assert_eq!(check_again(&mut workshop), [false]);
    assert_eq!(workshop.apply(), Err(Error::NotVerified));
    assert_eq!(world.tree(), edited);
}

fn somebody_who_never_stops_gets_an_answer() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    for n in 0.. {
        world.save("src/lib.txt", &format!("edit {n}\n"));
        match workshop.apply() {
            Err(Error::MovedOn { .. }) => assert_eq!(check_again(&mut workshop), [true]),
            Err(Error::Conflict { paths }) => return assert_eq!(paths, ["src/lib.txt"]),
            other => panic!("{other:?}"),
        }
        assert!(n < 10);
    }
}

/// A layer is no snapshot: a step sees what the owner saved before it began, unless the work has changed that file. A
/// whole copy is one. Either way the checks decide about what will be there.
fn what_a_step_sees_of_an_edit() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.plan(
        &["echo work >> app.txt", "cp src/lib.txt seen.txt; cp app.txt own.txt"],
        &["test -f seen.txt && test -f own.txt"],
    );
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let is_layered = workshop.copy().unwrap().layered > 0;
    workshop.checks(Phase::Before).unwrap();
    workshop.step(0).unwrap();
    world.save("src/lib.txt", "mine\n");
    world.save("app.txt", "mine too\n");
    workshop.step(1).unwrap();
    // What it was cannot be shown to a check any more.
    let conflict = Error::Conflict { paths: vec!["app.txt".to_owned()] };
    assert_eq!(workshop.checks(Phase::After).unwrap_err(), conflict);
    let changes = workshop.changes().unwrap();
    let text = |path: &str| {
        let diff = changes.diffs.iter().find(|diff| diff.path.to_string() == path).unwrap();
        diff.lines.clone().unwrap()
    };
    let seen = if is_layered { "mine" } else { "library" };
    assert_eq!(text("seen.txt"), [DiffLine::Added(seen.to_owned())]);
    assert_eq!(text("own.txt"), ["old", "work"].map(|line| DiffLine::Added(line.to_owned())));
    assert!(matches!(workshop.apply(), Err(Error::Order(_))));
    assert_eq!(world.read("app.txt"), "mine too\n");
}

/// Back to the old content before anybody looks: through a layer a check may have seen what was there in between.
fn an_edit_that_was_taken_back_counts_where_it_was_seen() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let is_layered = workshop.copy().unwrap().layered > 0;
    workshop.checks(Phase::Before).unwrap();
    workshop.step(0).unwrap();
    workshop.checks(Phase::After).unwrap();
    world.save("src/lib.txt", "mine\n");
    world.save("src/lib.txt", "library\n");
    match workshop.apply() {
        Err(Error::MovedOn { .. }) if is_layered => {
            check_again(&mut workshop);
            workshop.apply().unwrap();
        }
        applied => assert!(applied.is_ok() && !is_layered, "{applied:?}"),
    }
    assert_eq!(world.read("app.txt"), "new\n");
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
        assert_eq!(launcher.later_edits(&evidence.execution), Ok(Vec::new()), "nobody has changed anything yet");
        edit(&world);
        let edited = world.tree();
        let found = launcher.later_edits(&evidence.execution).unwrap();
        assert_eq!(found.iter().map(|diff| diff.path.to_string()).collect::<Vec<_>>(), [named]);
        let undo = approve_undo(&evidence.execution, applied.changeset);
        assert_eq!(launcher.undo(&undo), Err(Error::LaterEdit { paths: vec![named.to_owned()] }));
        assert_eq!(world.tree(), edited);
    }
}

/// What is there now is what an undo would take away, what was there before is what it would bring.
fn a_later_edit_is_shown_against_what_the_undo_would_put_there() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let closed = launcher.later_edits(&evidence.execution).unwrap_err();
    assert!(matches!(closed, Error::UndoClosed(_)), "it is not applied yet: {closed:?}");
    let applied = workshop.apply().unwrap();
    let was = world.read("app.txt");
    // In place, so that everything but the text is as it was.
    world.write("app.txt", "later\n");
    let found = launcher.later_edits(&evidence.execution).unwrap();
    let lines = found[0].lines.clone().unwrap();
    assert!(lines.contains(&DiffLine::Removed("later".to_owned())), "{lines:?}");
    assert!(lines.contains(&DiffLine::Added("old".to_owned())), "{lines:?}");
    world.write("app.txt", &was);
    let undo = approve_undo(&evidence.execution, applied.changeset);
    launcher.undo(&undo).unwrap();
    assert!(matches!(launcher.later_edits(&evidence.execution), Err(Error::UndoClosed(_))), "it is undone");
}

/// Stops right after the commit, edits, and lets recovery go on: the edit is where no comparison saw it.
fn edited_after_commit(world: &World, edit: impl FnOnce()) -> Recovered {
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
    let edited = world.tree();
    let recovered = world.launcher().recover().unwrap().remove(0);
    assert_eq!((recovered.state, &recovered.problem), (ExecutionState::Running, &None));
    assert_eq!((world.tree(), world.stages().len()), (edited, 0), "nothing of the work is there");
    recovered
}

fn an_edit_in_the_last_moment_is_kept() {
    let world = World::new();
    let recovered = edited_after_commit(&world, || {
        world.save("app.txt", "mine\n");
        world.save("gone.txt", "mine too\n");
        std::fs::create_dir_all(world.project.join("made/deep")).unwrap();
        world.write("made/deep/file.txt", "mine as well\n");
        std::fs::remove_file(world.project.join("run.sh")).unwrap();
    });
    let Some(Error::Conflict { paths }) = &recovered.taken_back else { panic!("{recovered:?}") };
    assert_eq!(paths, &["app.txt", "gone.txt", "made/deep/file.txt", "run.sh"]);
}

fn a_symlink_in_the_last_moment_leads_nowhere() {
    let world = World::new();
    let outside = world.project.with_file_name("outside");
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    let recovered = edited_after_commit(&world, || {
        std::os::unix::fs::symlink(&outside, world.project.join("made")).unwrap();
    });
    assert_eq!(std::fs::read_dir(outside.join("deep")).unwrap().count(), 0);
    let conflict = Error::Conflict { paths: vec!["made/deep/file.txt".to_owned()] };
    assert_eq!(recovered.taken_back, Some(conflict));
}

/// Nothing is undone then, so that the undo can be asked for again.
fn an_edit_in_the_last_moment_of_an_undo_is_kept() {
    let world = World::new();
    let old = world.tree();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let applied = {
        let launcher = world.launcher();
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        workshop.apply().unwrap()
    };
    let ours = world.read("app.txt");
    let died = life(Some(FailPoint::UndoCommitted), || {
        let _ = world.launcher().undo(&approve_undo(&evidence.execution, applied.changeset));
    });
    assert_eq!(died, -libc::SIGKILL);
    world.write("app.txt", "mine\n");
    world.write("gone.txt", "mine too\n");
    let edited = world.tree();
    let launcher = world.launcher();
    let recovered = launcher.recover().unwrap().remove(0);
    assert_eq!((recovered.state, &recovered.problem), (ExecutionState::Applied, &None));
    let Some(Error::LaterEdit { paths }) = &recovered.taken_back else { panic!("{recovered:?}") };
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert_eq!(world.tree(), edited);
    world.write("app.txt", &ours);
    std::fs::remove_file(world.project.join("gone.txt")).unwrap();
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
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
