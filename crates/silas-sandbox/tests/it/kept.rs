//! What an apply replaced can be put back after the time for undoing it, by a plan that is checked like any other.

use crate::runner::Case;
use crate::world::{World, approve, now, work};
use silas_core::ExecutionId;
use silas_core::check::Command;
use silas_core::roots::Access;
use silas_core::work::WorkItem;
use silas_sandbox::{Error, Launcher};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("staging_directories_go_with_the_time_for_undoing", staging_directories_go_with_the_time_for_undoing),
    ("a_plan_puts_back_what_was_replaced", a_plan_puts_back_what_was_replaced),
    ("what_was_changed_since_is_not_put_back", what_was_changed_since_is_not_put_back),
    ("what_was_not_forgotten_can_be_put_back", what_was_not_forgotten_can_be_put_back),
    ("only_what_is_kept_can_be_put_back", only_what_is_kept_can_be_put_back),
];

/// Applies, and lets the time for undoing pass.
fn applied_long_ago(world: &World, launcher: &Launcher, plan: &WorkItem) -> ExecutionId {
    let evidence = approve(plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, plan).unwrap();
    workshop.apply().unwrap();
    launcher.forget(&evidence.execution).unwrap();
    assert_eq!(world.stages(), [""; 0]);
    evidence.execution
}

fn put_back(world: &World, execution: &ExecutionId) -> WorkItem {
    let mut definition = world.definition(&["sh /tmp/kept/restore"], &["true"]);
    definition.verify[0].run = Command::Argv(vec!["sh".to_owned(), "/tmp/kept/check".to_owned()]);
    definition.restores = Some(execution.clone());
    WorkItem::new(definition).unwrap()
}

fn a_plan_puts_back_what_was_replaced() {
    let mut world = World::new();
    world.undo_window_secs = 0;
    let names: [&[u8]; 3] = [b"line\nbreak", b"not-utf8-\xff'\"$x", b"- a b"];
    for name in names {
        std::fs::write(world.project.join(OsStr::from_bytes(name)), "old\n").unwrap();
    }
    let old = world.tree();
    let launcher = world.launcher();
    let script = "printf 'new\\n' > app.txt && rm gone.txt && chmod 755 run.sh && mkdir -p made/deep && \
                  echo made > made/deep/file.txt && ln -sfn src/lib.txt link && ln -s app.txt fresh && \
                  for f in line* not* ./-*; do echo new > \"$f\"; done";
    let plan = world.plan(&[script], &["grep -q new app.txt"]);
    let execution = applied_long_ago(&world, &launcher, &plan);
    assert_ne!(world.tree(), old);
    let back = put_back(&world, &execution);
    let mut workshop = launcher.open(&approve(&back)).unwrap();
    let (before, after) = work(&mut workshop, &back).unwrap();
    assert!(!before[0].passed && after[0].passed, "{before:?} {after:?}");
    workshop.apply().unwrap();
    // A directory that became empty stays, as after any apply.
    let mut now = world.tree();
    now.retain(|path, _| !path.starts_with(b"made"));
    assert_eq!(now, old);
}

fn what_was_changed_since_is_not_put_back() {
    let mut world = World::new();
    world.undo_window_secs = 0;
    let launcher = world.launcher();
    let execution = applied_long_ago(&world, &launcher, &world.every_kind());
    world.save("app.txt", "mine\n");
    let edited = world.tree();
    let back = put_back(&world, &execution);
    let mut workshop = launcher.open(&approve(&back)).unwrap();
    workshop.copy().unwrap();
    workshop.checks(silas_core::event::Phase::Before).unwrap();
    let step = workshop.step(0).unwrap();
    assert!(step.output().contains("changed since: ") && step.output().contains("app.txt"), "{step:?}");
    workshop.checks(silas_core::event::Phase::After).unwrap();
    assert_eq!(workshop.apply(), Err(Error::NotVerified));
    assert_eq!(world.tree(), edited);
}

/// Where nobody lets the old versions go, they are still in the staging directory, and serve.
fn what_was_not_forgotten_can_be_put_back() {
    let mut world = World::new();
    let old = world.tree();
    let evidence = {
        let launcher = world.launcher();
        let plan = world.one_change();
        let evidence = approve(&plan);
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        workshop.apply().unwrap();
        let open = launcher.open(&approve(&put_back(&world, &evidence.execution))).map(drop);
        assert_eq!(open, Err(Error::UndoOpen));
        evidence
    };
    world.undo_window_secs = 0;
    let launcher = world.launcher();
    let plan = world.plan(&["echo new > src/lib.txt"], &["grep -q new src/lib.txt"]);
    let second = approve(&plan);
    let mut workshop = launcher.open(&second).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    assert_eq!(world.stages().len(), 2);
    let back = put_back(&world, &second.execution);
    let mut workshop = launcher.open(&approve(&back)).unwrap();
    work(&mut workshop, &back).unwrap();
    workshop.apply().unwrap();
    assert_eq!(world.read("src/lib.txt"), "library\n");
    assert_ne!((world.tree(), evidence.execution), (old, second.execution));
}

fn only_what_is_kept_can_be_put_back() {
    let mut world = World::new();
    world.undo_window_secs = 0;
    let launcher = world.launcher();
    let refused = |plan: &WorkItem| matches!(launcher.open(&approve(plan)).map(drop), Err(Error::NotAvailable(_)));
    assert!(refused(&put_back(&world, &ExecutionId::parse("exec-unknown").unwrap())));
    let execution = applied_long_ago(&world, &launcher, &world.one_change());
    let beside = world.project.with_file_name("beside");
    std::fs::create_dir(&beside).unwrap();
    let mut elsewhere = put_back(&world, &execution).definition().clone();
    elsewhere.directories = vec![world.directory(&beside, Access::Write)];
    assert!(refused(&WorkItem::new(elsewhere).unwrap()));
    // What is too large is not kept.
    world.write("app.txt", &"x".repeat(65 << 20));
    let plan = world.plan(&["echo newer > app.txt"], &["grep -q newer app.txt"]);
    let large = applied_long_ago(&world, &launcher, &plan);
    assert!(refused(&put_back(&world, &large)));
    assert!(!refused(&put_back(&world, &execution)), "the smaller one still is");
}

/// Without a house rule, and whoever is the next to run: a server that starts, or a command where none runs.
fn staging_directories_go_with_the_time_for_undoing() {
    let world = World::new();
    let plan = world.one_change();
    let (evidence, began) = (approve(&plan), now());
    world.set_clock(began);
    let launcher = world.launcher_by_its_clock();
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    drop(workshop);
    assert_eq!(world.stages().len(), 1);
    launcher.recover().unwrap();
    assert_eq!(world.stages().len(), 1, "it can still be undone");
    drop(launcher);
    world.set_clock(began.plus(Duration::from_secs(world.undo_window_secs + 1)));
    let launcher = world.launcher_by_its_clock();
    crate::world::once_free(|| launcher.recover()).unwrap();
    assert_eq!(world.stages(), Vec::<String>::new());
    assert_eq!(world.read("app.txt"), "new\n");
}
