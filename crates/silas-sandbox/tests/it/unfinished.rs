//! What cannot be carried out to its end: it is refused by name before anything moves, or all of it goes back, and where not
//! even that is possible it is told as it is and can be undone.

use crate::crashes::killed;
use crate::revocation;
use crate::runner::{self, Case, skip};
use crate::world::{World, approve, approve_undo, life, work};
use silas_core::evidence::Evidence;
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_core::work::WorkItem;
use silas_sandbox::{Error, FixedBy, InPart};
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("what_is_held_in_its_place_is_refused_by_name", what_is_held_in_its_place_is_refused_by_name),
    ("a_foreign_file_in_a_sticky_directory_is_refused", a_foreign_file_in_a_sticky_directory_is_refused),
    ("what_cannot_be_finished_is_taken_back", what_cannot_be_finished_is_taken_back),
    ("nothing_comes_later", nothing_comes_later),
    ("what_can_neither_go_on_nor_back_is_told_and_undone", what_can_neither_go_on_nor_back_is_told_and_undone),
    ("an_undo_that_cannot_be_finished_is_taken_back", an_undo_that_cannot_be_finished_is_taken_back),
    (
        "an_undo_that_can_neither_go_on_nor_back_leaves_the_rest",
        an_undo_that_can_neither_go_on_nor_back_leaves_the_rest,
    ),
    ("what_was_revoked_goes_back", what_was_revoked_goes_back),
    ("what_nobody_holds_any_more_is_left_alone", what_nobody_holds_any_more_is_left_alone),
];

fn plan(world: &World) -> WorkItem {
    world.plan(&["echo new > app.txt; echo new > src/lib.txt"], &["grep -q new app.txt"])
}

fn run(world: &World, plan: &WorkItem, evidence: &Evidence) {
    let launcher = world.launcher();
    let mut workshop = launcher.open(evidence).unwrap();
    work(&mut workshop, plan).unwrap();
    workshop.apply().unwrap();
}

/// Protects a file, or takes that off; false where that is not for this user or this file system to do.
fn protect(world: &World, how: &str, path: &str) -> bool {
    let done = Command::new("chattr").arg(how).arg(world.project.join(path)).output();
    done.is_ok_and(|done| done.status.success())
}

/// Whether a file can be held in its place here, and what it was is left.
fn can_protect(world: &World) -> bool {
    let can = protect(world, "+i", "app.txt");
    protect(world, "-i", "app.txt");
    if !can {
        skip("a file can be protected against change by root only, on a file system that knows it");
    }
    can
}

fn what_is_held_in_its_place_is_refused_by_name() {
    for (on, off, held, by) in [
        ("+i", "-i", "src/lib.txt", FixedBy::Immutable),
        ("+a", "-a", "src/lib.txt", FixedBy::AppendOnly),
        ("+a", "-a", "src", FixedBy::AppendOnly),
    ] {
        let world = World::new();
        if !can_protect(&world) {
            return;
        }
        let old = world.tree();
        let plan = plan(&world);
        let evidence = approve(&plan);
        let launcher = world.launcher();
        let mut workshop = launcher.open(&evidence).unwrap();
        // A layer would not let the work change it either.
        work(&mut workshop, &plan).unwrap();
        assert!(protect(&world, on, held));
        let told = crate::files::told(&launcher, &world);
        assert!(told.contains(&("src/lib.txt".to_owned(), by)), "it is known before anybody is asked: {told:?}");
        match workshop.apply() {
            Err(Error::Unsupported { path, .. }) => assert_eq!(path, "src/lib.txt"),
            other => panic!("{other:?}"),
        }
        assert!(protect(&world, off, held));
        assert_eq!((world.tree(), world.stages().len()), (old, 0));
        drop(workshop);
    }
}

fn a_foreign_file_in_a_sticky_directory_is_refused() {
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can give a file to somebody else");
    }
    let world = World::new();
    let home = world.project.parent().unwrap();
    std::fs::create_dir(world.project.join("shared")).unwrap();
    world.write("shared/z.txt", "z\n");
    let ordinary = runner::ordinary_id();
    let chowned = Command::new("chown").arg("-R").arg(format!("{ordinary}:{ordinary}")).arg(home).status().unwrap();
    assert!(chowned.success());
    for path in ["shared", "shared/z.txt"] {
        std::os::unix::fs::chown(world.project.join(path), Some(0), Some(0)).unwrap();
    }
    world.set_mode("shared", 0o1777);
    world.set_mode("shared/z.txt", 0o666);
    let old = world.tree();
    let ended = life(None, || {
        runner::become_ordinary();
        let launcher = world.launcher();
        let told = crate::files::told(&launcher, &world);
        assert_eq!(told, [("shared/z.txt".to_owned(), FixedBy::Sticky)]);
        let plan = world.plan(&["echo new > app.txt; echo y > shared/z.txt"], &["grep -q new app.txt"]);
        let mut workshop = launcher.open(&approve(&plan)).unwrap();
        match work(&mut workshop, &plan).map(drop).and_then(|()| workshop.apply().map(drop)) {
            Err(Error::Unsupported { path, .. }) => assert_eq!(path, "shared/z.txt"),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(ended, 0);
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
}

fn what_cannot_be_finished_is_taken_back() {
    for point in [FailPoint::ApplyCommitted, FailPoint::ApplyHalfway] {
        let world = World::new();
        let old = world.tree();
        let plan = plan(&world);
        let evidence = approve(&plan);
        killed(life(Some(point), || run(&world, &plan, &evidence)));
        let held = Held::take(&world, "src/lib.txt");
        let recovered = world.launcher().recover().unwrap().remove(0);
        assert_eq!((recovered.state, recovered.is_open), (ExecutionState::Running, false), "{recovered:?}");
        assert!(matches!(recovered.taken_back, Some(Error::PutBack { .. })), "{recovered:?}");
        drop(held);
        assert_eq!((world.tree(), world.stages().len()), (old.clone(), 0), "{point:?}");
    }
}

fn nothing_comes_later() {
    let world = World::new();
    let old = world.tree();
    let plan = plan(&world);
    let evidence = approve(&plan);
    killed(life(Some(FailPoint::ApplyHalfway), || run(&world, &plan, &evidence)));
    let held = Held::take(&world, "src/lib.txt");
    drop(world.launcher().recover());
    drop(held);
    let launcher = world.launcher();
    let recovered = launcher.recover().unwrap().remove(0);
    assert_eq!((recovered.state, recovered.taken_back, recovered.problem), (ExecutionState::Running, None, None));
    assert_eq!(world.tree(), old);
}

fn what_can_neither_go_on_nor_back_is_told_and_undone() {
    let world = World::new();
    if !can_protect(&world) {
        return;
    }
    let old = world.tree();
    let plan = plan(&world);
    let evidence = approve(&plan);
    killed(life(Some(FailPoint::ApplyHalfway), || run(&world, &plan, &evidence)));
    assert!(protect(&world, "+i", "src/lib.txt") && protect(&world, "+i", "app.txt"));
    let told = world.launcher().recover().unwrap().remove(0);
    assert!(protect(&world, "-i", "src/lib.txt") && protect(&world, "-i", "app.txt"));
    assert_eq!((told.state, told.files, told.is_open, &told.problem), (ExecutionState::Applied, 1, false, &None));
    let Some(InPart { new, old: not, .. }) = &told.in_part else { panic!("{told:?}") };
    assert_eq!(
        (new.as_slice(), not.as_slice()),
        (["app.txt".to_owned()].as_slice(), ["src/lib.txt".to_owned()].as_slice())
    );
    let launcher = world.launcher();
    assert_eq!(launcher.recover().unwrap().remove(0), told, "and nothing comes later");
    assert_eq!((world.read("app.txt").as_str(), world.read("src/lib.txt").as_str()), ("new\n", "library\n"));
    let undone = launcher.undo(&approve_undo(&evidence.execution, told.changeset.unwrap())).unwrap();
    assert_eq!(undone.files, 1);
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
}

fn an_undo_that_cannot_be_finished_is_taken_back() {
    for point in [FailPoint::UndoCommitted, FailPoint::UndoHalfway] {
        let world = World::new();
        let old = world.tree();
        let plan = plan(&world);
        let evidence = approve(&plan);
        run(&world, &plan, &evidence);
        let new = world.tree();
        let changeset = world.launcher().recover().unwrap().remove(0).changeset.unwrap();
        let undo = approve_undo(&evidence.execution, changeset);
        killed(life(Some(point), || drop(world.launcher().undo(&undo))));
        // The last file is the first to be put back.
        let held = Held::take(&world, "app.txt");
        let told = world.launcher().recover().unwrap().remove(0);
        drop(held);
        assert_eq!((told.state, told.is_open), (ExecutionState::Applied, false), "{told:?}");
        assert!(matches!(told.taken_back, Some(Error::PutBack { .. })), "{told:?}");
        assert_eq!(world.tree(), new);
        let launcher = world.launcher();
        assert_eq!(launcher.recover().unwrap().remove(0).state, ExecutionState::Applied, "nothing comes later");
        launcher.undo(&undo).unwrap();
        assert_eq!((world.tree(), world.stages().len()), (old, 0));
    }
}

fn an_undo_that_can_neither_go_on_nor_back_leaves_the_rest() {
    let world = World::new();
    if !can_protect(&world) {
        return;
    }
    let old = world.tree();
    let plan = plan(&world);
    let evidence = approve(&plan);
    run(&world, &plan, &evidence);
    let changeset = world.launcher().recover().unwrap().remove(0).changeset.unwrap();
    let undo = approve_undo(&evidence.execution, changeset);
    killed(life(Some(FailPoint::UndoHalfway), || drop(world.launcher().undo(&undo))));
    assert!(protect(&world, "+i", "src/lib.txt") && protect(&world, "+i", "app.txt"));
    let told = world.launcher().recover().unwrap().remove(0);
    assert!(protect(&world, "-i", "src/lib.txt") && protect(&world, "-i", "app.txt"));
    assert_eq!((told.state, told.files, told.is_open), (ExecutionState::Applied, 1, false), "{told:?}");
    assert!(
        matches!(&told.taken_back, Some(Error::UndoneInPart { back, left, .. })
        if back == &["src/lib.txt"] && left == &["app.txt"]),
        "{told:?}"
    );
    assert_eq!((world.read("app.txt").as_str(), world.read("src/lib.txt").as_str()), ("new\n", "library\n"));
    let launcher = world.launcher();
    launcher.undo(&undo).unwrap();
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
}

/// The device that approved it was lost in between: what is half in place is not carried on for it.
fn what_was_revoked_goes_back() {
    let world = World::new();
    let old = world.tree();
    let plan = plan(&world);
    let evidence = approve(&plan);
    killed(life(Some(FailPoint::ApplyHalfway), || run(&world, &plan, &evidence)));
    let launcher = world.launcher();
    revocation::take_back(&launcher, revocation::device()).unwrap();
    let told = launcher.recover().unwrap().remove(0);
    assert_eq!((told.state, told.is_open), (ExecutionState::Running, false), "{told:?}");
    assert!(matches!(told.taken_back, Some(Error::PutBack { .. })), "{told:?}");
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
}

/// Whoever asks was told that it had ended.
fn what_nobody_holds_any_more_is_left_alone() {
    let world = World::new();
    let plan = plan(&world);
    let evidence = approve(&plan);
    killed(life(Some(FailPoint::ApplyHalfway), || run(&world, &plan, &evidence)));
    let mixed = world.tree();
    let launcher = world.launcher();
    let told = launcher.recover_held(Vec::new()).unwrap().remove(0);
    assert_eq!((told.state, told.is_open), (ExecutionState::Running, true), "{told:?}");
    assert_eq!(world.tree(), mixed);
    let told = launcher.recover_held(vec![evidence.execution.clone()]).unwrap().remove(0);
    assert_eq!((told.state, told.is_open), (ExecutionState::Applied, false), "{told:?}");
}

/// A file that nobody can move until this is dropped: protected by root, in a read-only directory for anybody else.
struct Held<'w> {
    world: &'w World,
    path: &'static str,
    is_protected: bool,
}

impl<'w> Held<'w> {
    fn take(world: &'w World, path: &'static str) -> Self {
        let is_protected = protect(world, "+i", path);
        let held = Held { world, path, is_protected };
        if !is_protected {
            held.set_mode(0o555);
        }
        held
    }

    fn set_mode(&self, mode: u32) {
        let dir = std::path::Path::new(self.path).parent().and_then(|dir| dir.to_str()).unwrap();
        self.world.set_mode(dir, mode);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.is_protected {
            assert!(protect(self.world, "-i", self.path));
        } else {
            self.set_mode(0o755);
        }
    }
}
