//! The plug is pulled at every instant that has a name, and again inside the recovery. What is found afterwards is old or
//! new, byte for byte, and an undo is exact.

use crate::runner::Case;
use crate::world::{World, approve, approve_undo, life, work};
use silas_core::evidence::Evidence;
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_core::work::WorkItem;
use silas_sandbox::Error;

pub(crate) const CASES: &[Case] = &[
    ("before_the_commit_everything_is_old", before_the_commit_everything_is_old),
    ("after_the_commit_everything_is_new", after_the_commit_everything_is_new),
    ("an_undo_is_all_or_nothing", an_undo_is_all_or_nothing),
    ("committed_journals_must_be_approved", committed_journals_must_be_approved),
];

const UNCOMMITTED: [FailPoint; 6] = [
    FailPoint::ExecutionAdmitted,
    FailPoint::CopyMade,
    FailPoint::CheckedBefore,
    FailPoint::StepsRun,
    FailPoint::CheckedAfter,
    FailPoint::ApplyStaged,
];
const COMMITTED: [FailPoint; 3] = [FailPoint::ApplyCommitted, FailPoint::ApplyHalfway, FailPoint::ApplyDone];
const UNDO: [FailPoint; 3] = [FailPoint::UndoCommitted, FailPoint::UndoHalfway, FailPoint::UndoDone];

fn run(world: &World, plan: &WorkItem, evidence: &Evidence) {
    let launcher = world.launcher();
    let mut workshop = launcher.open(evidence).unwrap();
    work(&mut workshop, plan).unwrap();
    workshop.apply().unwrap();
}

pub(crate) fn killed(status: i32) {
    assert_eq!(status, -libc::SIGKILL, "the plug was not pulled");
}

pub(crate) fn before_the_commit_everything_is_old() {
    for point in UNCOMMITTED {
        let world = World::new();
        let old = world.tree();
        let plan = world.every_kind();
        let evidence = approve(&plan);
        killed(life(Some(point), || run(&world, &plan, &evidence)));
        assert_eq!(world.tree(), old, "{point:?}");
        let launcher = world.launcher();
        let recovered = launcher.recover().unwrap();
        assert_eq!((recovered.len(), recovered[0].state), (1, ExecutionState::Running), "{point:?}");
        assert_eq!(recovered[0].problem, None);
        assert_eq!((world.tree(), world.stages().len(), world.works()), (old.clone(), 0, 0), "{point:?}");
        // The same execution goes on, from a fresh copy, without a new approval.
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        let applied = workshop.apply().unwrap();
        assert_eq!(world.read("app.txt"), "new\n");
        launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
        assert_eq!(world.tree(), old, "{point:?}");
    }
}

pub(crate) fn after_the_commit_everything_is_new() {
    for (is_small, again) in [
        (false, None),
        (false, Some(FailPoint::ApplyHalfway)),
        (false, Some(FailPoint::ApplyDone)),
        (true, None),
        (true, Some(FailPoint::ApplyHalfway)),
    ] {
        for point in COMMITTED {
            let world = World::new();
            let old = world.tree();
            let plan = if is_small { world.one_change() } else { world.every_kind() };
            let evidence = approve(&plan);
            let new = finished_tree(is_small);
            killed(life(Some(point), || run(&world, &plan, &evidence)));
            if let Some(again) = again.filter(|_| point != FailPoint::ApplyDone) {
                killed(life(Some(again), || drop(world.launcher().recover())));
            }
            let launcher = world.launcher();
            let recovered = launcher.recover().unwrap().remove(0);
            assert_eq!((recovered.state, &recovered.problem), (ExecutionState::Applied, &None), "{point:?}");
            assert_eq!(world.tree(), new, "{point:?} {again:?}");
            assert_eq!((recovered.conflicts.len(), world.works()), (0, 0));
            assert_eq!(launcher.recover().unwrap().remove(0), recovered, "recovering twice changes nothing");
            assert_eq!(launcher.open(&evidence).map(drop), Err(Error::AlreadySpent));
            let undo = approve_undo(&evidence.execution, recovered.changeset.unwrap());
            launcher.undo(&undo).unwrap();
            assert_eq!((world.tree(), world.stages().len()), (old, 0), "{point:?} {again:?}");
        }
    }
}

/// What an undisturbed run leaves, in a world of its own.
fn finished_tree(is_small: bool) -> crate::world::Tree {
    let world = World::new();
    let plan = if is_small { world.one_change() } else { world.every_kind() };
    run(&world, &plan, &approve(&plan));
    world.tree()
}

pub(crate) fn an_undo_is_all_or_nothing() {
    for (is_small, again) in [
        (false, None),
        (false, Some(FailPoint::UndoHalfway)),
        (false, Some(FailPoint::UndoDone)),
        (true, Some(FailPoint::UndoHalfway)),
    ] {
        for point in UNDO {
            let world = World::new();
            let old = world.tree();
            let plan = if is_small { world.one_change() } else { world.every_kind() };
            let evidence = approve(&plan);
            run(&world, &plan, &evidence);
            let launcher = world.launcher();
            let changeset = launcher.recover().unwrap().remove(0).changeset.unwrap();
            drop(launcher);
            let undo = approve_undo(&evidence.execution, changeset);
            killed(life(Some(point), || drop(world.launcher().undo(&undo))));
            if let Some(again) = again.filter(|_| point != FailPoint::UndoDone) {
                killed(life(Some(again), || drop(world.launcher().recover())));
            }
            let launcher = world.launcher();
            let recovered = launcher.recover().unwrap().remove(0);
            assert_eq!((recovered.state, &recovered.problem), (ExecutionState::Undone, &None), "{point:?}");
            assert_eq!((world.tree(), world.stages().len()), (old, 0), "{point:?} {again:?}");
            assert_eq!(launcher.undo(&undo), Err(Error::AlreadySpent));
            assert_eq!(std::fs::read_dir(world.data.join("launcher/journals")).unwrap().count(), 0);
        }
    }
}

/// Whoever plants a journal has nothing finished: it carries its evidence, and that is checked.
fn committed_journals_must_be_approved() {
    let world = World::new();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    killed(life(Some(FailPoint::ApplyCommitted), || run(&world, &plan, &evidence)));
    let old = world.tree();
    let path = world.data.join(format!("launcher/journals/{}.json", evidence.execution));
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [("Make it new", "Make it mine"), ("\"approved\"", "\"declined\""), ("inst-here", "inst-there")] {
        std::fs::write(&path, good.replace(from, to)).unwrap();
        let recovered = world.launcher().recover().unwrap().remove(0);
        assert!(matches!(recovered.problem, Some(Error::Refused(_))), "{recovered:?}");
        assert_eq!(recovered.state, ExecutionState::Running);
        assert_eq!(world.tree(), old);
    }
    std::fs::write(&path, good).unwrap();
    assert_eq!(world.launcher().recover().unwrap().remove(0).state, ExecutionState::Applied);
}
