//! Processes come and go together: nobody outlives their purpose.

use crate::runner::{Case, wait};
use crate::world::{World, approve, approve_undo, key_helper, life, work};
use silas_core::event::Phase;
use silas_sandbox::confine::{FrontRules, confine_front};
use silas_sandbox::{Error, Launcher};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("nobody_is_left_when_the_front_is_killed", nobody_is_left_when_the_front_is_killed),
    ("a_confined_front_works_through_the_launcher", a_confined_front_works_through_the_launcher),
    ("a_cancelled_step_ends", a_cancelled_step_ends),
    ("a_dropped_workshop_can_be_opened_again", a_dropped_workshop_can_be_opened_again),
    ("many_threads_share_one_launcher", many_threads_share_one_launcher),
    ("a_launcher_is_not_forked_from_threads", a_launcher_is_not_forked_from_threads),
    ("a_dead_launcher_is_an_answer", a_dead_launcher_is_an_answer),
];

fn nobody_is_left_when_the_front_is_killed() {
    let world = World::new();
    // Orphans become ours, so that they can be counted.
    // SAFETY: sets one flag of this process.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }, 0);
    let old = world.tree();
    let plan = world.plan(&["sleep 1000"], &["false"]);
    let evidence = approve(&plan);
    let (mut told, tell) = std::io::pipe().unwrap();
    // SAFETY: this process has one thread.
    let front = unsafe { libc::fork() };
    if front == 0 {
        let launcher = world.launcher();
        let mut workshop = launcher.open(&evidence).unwrap();
        workshop.copy().unwrap();
        workshop.checks(Phase::Before).unwrap();
        std::io::Write::write_all(&mut &tell, b"x").unwrap();
        let _ = workshop.step(0);
        // SAFETY: ends this child at once.
        unsafe { libc::_exit(0) };
    }
    drop(tell);
    told.read_exact(&mut [0]).unwrap();
    // SAFETY: our own child.
    unsafe { libc::kill(front, libc::SIGKILL) };
    assert_eq!(wait(front), -libc::SIGKILL);
    let mut status = 0;
    // Returns only when launcher, workshop and cell are all gone; the case's alarm bounds it.
    // SAFETY: `status` outlives the calls.
    while unsafe { libc::waitpid(-1, &raw mut status, 0) } > 0 {}
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ECHILD));
    assert_eq!((world.tree(), world.works()), (old, 0));
    let launcher = world.launcher();
    launcher.recover().unwrap();
    launcher.open(&evidence).unwrap().copy().unwrap();
}

fn a_confined_front_works_through_the_launcher() {
    let world = World::new();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let front = life(None, || {
        let launcher = world.launcher();
        let own = world.data.join("front");
        std::fs::create_dir(&own).unwrap();
        let rules = FrontRules { writable: &[own], readable: &[] };
        confine_front(&rules).unwrap();
        let record = world.data.join(format!("launcher/spent/{}.json", evidence.execution));
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        for hidden in [world.project.join("app.txt"), record, world.data.join("launcher/work")] {
            let refused = std::fs::metadata(&hidden).and_then(|_| std::fs::File::open(&hidden));
            assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied, "{hidden:?}");
        }
        let applied = workshop.apply().unwrap();
        let undo = approve_undo(&evidence.execution, applied.changeset);
        launcher.undo(&undo).unwrap();
        assert!(matches!(silas_sandbox::terminal_pairing_code(&world.data), Err(Error::Terminal(_))));
    });
    assert_eq!(front, 0);
    assert_eq!(world.read("app.txt"), "old\n");
}

fn a_cancelled_step_ends() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.plan(&["echo new > app.txt; echo > begun; sleep 1000"], &["false"]);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Phase::Before).unwrap();
    let (canceller, works) = (workshop.canceller(), world.data.join("launcher/work"));
    let thread = std::thread::spawn(move || {
        while !has_file(&works, "begun") {
            std::thread::sleep(Duration::from_millis(10));
        }
        canceller.cancel();
    });
    assert_eq!(workshop.step(0), Err(Error::Cancelled));
    assert_eq!(workshop.apply(), Err(Error::Cancelled));
    thread.join().unwrap();
    drop(workshop);
    launcher.recover().unwrap();
    assert_eq!((world.tree(), world.works()), (old, 0));
}

/// Whether a file of this name lies anywhere below a directory; what cannot be looked into has none.
fn has_file(dir: &Path, name: &str) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.ends_with(name) || !path.is_symlink() && has_file(&path, name))
}

fn a_dropped_workshop_can_be_opened_again() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    workshop.copy().unwrap();
    let canceller = workshop.canceller();
    drop(workshop);
    canceller.cancel();
    launcher.recover().unwrap();
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
}

fn many_threads_share_one_launcher() {
    let world = World::new();
    let launcher = world.launcher();
    let plans: Vec<_> = (0..4).map(|n| world.plan(&["true"], &[&format!("test {n} = {n}")])).collect();
    std::thread::scope(|scope| {
        for plan in &plans {
            scope.spawn(|| {
                let mut workshop = launcher.open(&approve(plan)).unwrap();
                let (before, after) = work(&mut workshop, plan).unwrap();
                assert!(before[0].passed && after[0].passed);
                assert_eq!(workshop.apply(), Err(Error::NotVerified));
                workshop.discard();
            });
        }
    });
    assert_eq!(world.works(), 0);
}

fn a_launcher_is_not_forked_from_threads() {
    let status = life(None, || {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv());
        assert!(matches!(Launcher::fork(key_helper, crate::world::clock()), Err(Error::NotAvailable(_))));
        drop(go);
        let _ = thread.join();
    });
    assert_eq!(status, 0);
}

fn a_dead_launcher_is_an_answer() {
    let world = World::new();
    let launcher = world.launcher();
    let children = format!("/proc/self/task/{}/children", std::process::id());
    let launcher_pid: i32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    // SAFETY: our own child.
    unsafe { libc::kill(launcher_pid, libc::SIGKILL) };
    assert_eq!(launcher.open(&approve(&world.one_change())).map(drop), Err(Error::Lost));
    assert_eq!(launcher.recover(), Err(Error::Lost));
}
