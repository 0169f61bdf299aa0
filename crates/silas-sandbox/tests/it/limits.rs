//! Large directories, read-only directories, full disks, and two plans in one directory at once.

use crate::crashes::killed;
use crate::rehearsals;
use crate::runner::{Case, is_soak};
use crate::world::{World, allow, approve, approve_undo, life, work};
use silas_core::event::Phase;
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_core::roots::Access;
use silas_core::work::WorkItem;
use silas_sandbox::{Bounds, CellLimits, Copies, Error, Look, Seal};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(crate) const CASES: &[Case] = &[
    ("what_cannot_be_copied_is_said_before_the_work", what_cannot_be_copied_is_said_before_the_work),
    ("a_large_directory_is_not_copied", a_large_directory_is_not_copied),
    ("a_file_that_became_too_large_is_called_that", a_file_that_became_too_large_is_called_that),
    ("results_that_take_too_much_do_not_wait", results_that_take_too_much_do_not_wait),
    ("read_only_directories_are_refused_before_anything_moves", read_only_directories_are_refused),
    ("a_full_disk_in_the_middle_of_an_apply_changes_nothing", a_full_disk_in_the_middle_of_an_apply_changes_nothing),
    ("a_full_disk_for_the_journal_changes_nothing", a_full_disk_for_the_journal_changes_nothing),
    ("a_plan_that_floods_the_disk_is_thrown_away_unread", a_plan_that_floods_the_disk_is_thrown_away_unread),
    ("a_full_disk_after_the_commit_takes_it_back", a_full_disk_after_the_commit_takes_it_back),
    ("two_plans_in_one_directory_both_hold", two_plans_in_one_directory_both_hold),
];

/// Disk space that a tree takes.
fn blocks(dir: &Path) -> u64 {
    let mut total = 0;
    // What the kernel keeps for itself in a layer may not be looked into; it is empty.
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    for entry in entries {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        total += meta.blocks() * 512;
        if meta.is_dir() {
            total += blocks(&path);
        }
    }
    total
}

fn a_large_directory_is_not_copied() {
    let (n_files, file_bytes) = if is_soak() { (50_000, 21_000) } else { (5_000, 2_000) };
    let world = World::new();
    for n in 0..n_files {
        if n % 100 == 0 {
            fs::create_dir(world.project.join(format!("dir-{}", n / 100))).unwrap();
        }
        let text = format!("{n:010}").repeat(file_bytes / 10);
        world.write(&format!("dir-{}/file-{n}.txt", n / 100), &text);
    }
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.plan(
        &["for f in dir-*/file-*1.txt; do echo new > $f; done; rm dir-7/file-700.txt"],
        &["grep -q new dir-0/file-1.txt", "test -f dir-7/file-702.txt"],
    );
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    let copied = workshop.copy().unwrap();
    assert!(copied.files >= n_files && copied.bytes >= n_files * (file_bytes as u64 - 10));
    if copied.layered == 1 {
        let written = blocks(&world.data.join("launcher/work"));
        assert!(written * 100 < copied.bytes, "{written} of {} bytes", copied.bytes);
        println!("{written} bytes written for {} files with {} bytes", copied.files, copied.bytes);
    } else {
        println!("skipped: copies are whole here");
    }
    workshop.checks(silas_core::event::Phase::Before).unwrap();
    workshop.step(0).unwrap();
    assert!(workshop.checks(silas_core::event::Phase::After).unwrap().iter().all(|result| result.passed));
    let applied = workshop.apply().unwrap();
    assert_eq!(u64::from(applied.files), n_files / 10 + 1);
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

/// A limit that nobody named would look like a fault of the program.
fn a_file_that_became_too_large_is_called_that() {
    let world = World::new();
    let launcher = silas_sandbox::Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
    let limits = CellLimits { file_bytes_max: 1 << 20, ..CellLimits::default() };
    launcher.seal(Seal { limits, ..world.seal() }).unwrap();
    let write = "head -c 3000000 /dev/zero > big";
    let steps = [write, &format!("{write}; exit $?"), "true"];
    let plan = WorkItem::new(world.bare_definition(&steps, &[write])).unwrap();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    let said = "A file would have become larger than 1 MB, the most that `sandbox.default_file_mb` allows";
    let before = workshop.checks(Phase::Before).unwrap();
    assert!(!before[0].passed && before[0].reason.starts_with(said), "{:?}", before[0]);
    for n in 0..2 {
        let result = workshop.step(n).unwrap();
        assert!(result.why_killed().is_some_and(|why| why.starts_with(said)), "{result:?}");
        assert!(result.output().starts_with(said), "{result:?}");
    }
    assert_eq!(workshop.step(2).unwrap().why_killed(), None);
}

fn results_that_take_too_much_do_not_wait() {
    let world = World::new();
    let launcher = silas_sandbox::Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
    let bounds = Bounds { waiting_bytes_max: 1 << 20, ..Bounds::default() };
    launcher.seal(Seal { bounds, ..world.seal() }).unwrap();
    let plan = world.plan(&["head -c 3000000 /dev/zero > big"], &["test -e big"]);
    let refused = rehearsals::rehearse(&launcher, &plan, &rehearsals::rehearsal(&plan)).map(drop).unwrap_err();
    let is_named = |why: &str| why.contains("more than 1 MB, the most that `sandbox.waiting_mb_max` allows");
    assert!(matches!(&refused, Error::NotAvailable(why) if is_named(why)), "{refused:?}");
    let plan = world.plan(&["echo new > app.txt"], &["grep -q new app.txt"]);
    rehearsals::rehearse(&launcher, &plan, &rehearsals::rehearsal(&plan)).unwrap();
}

/// Whoever asks beforehand hears what the work would meet.
fn what_cannot_be_copied_is_said_before_the_work() {
    let is_whole = crate::runner::copies() == Copies::Whole;
    let said = |world: &World, bytes_max: u64| {
        let launcher = silas_sandbox::Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
        let bounds = Bounds { bytes_max, ..Bounds::default() };
        launcher.seal(Seal { bounds, ..world.seal() }).unwrap();
        let directory = world.definition(&[], &[]).directories.into_iter().find(|d| d.access == Access::Write).unwrap();
        let project = world.project.display().to_string();
        let fits = match launcher.look(&allow(&directory), &project, Look::Fit) {
            Ok(_) => true,
            Err(Error::TooLarge(_)) => false,
            Err(other) => panic!("{other:?}"),
        };
        let plan = world.plan(&["echo new > app.txt"], &["grep -q new app.txt"]);
        let mut workshop = launcher.open(&approve(&plan)).unwrap();
        let works = match workshop.copy() {
            Ok(_) => true,
            Err(Error::TooLarge(_)) => false,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(fits, works);
        fits
    };
    let large = |world: &World, path: &str, mb: u64| {
        fs::File::create(world.project.join(path)).unwrap().set_len(mb << 20).unwrap();
    };
    let world = World::new();
    large(&world, "large.bin", 20);
    assert!(said(&world, 32 << 20));
    assert_eq!(said(&world, 16 << 20), !is_whole);
    // Files of others cannot be worked on through a layer.
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        std::os::unix::fs::chown(world.project.join("src/lib.txt"), Some(12345), None).unwrap();
        assert!(said(&world, 32 << 20));
        assert!(!said(&world, 16 << 20));
    }
    // What is ignored takes room in a copy too, beside the rest.
    for tracked in ["a.bin", "z.bin"] {
        let world = World::new();
        world.write(".gitignore", "/target/\n");
        fs::create_dir(world.project.join("target")).unwrap();
        large(&world, tracked, 10);
        large(&world, "target/built", 10);
        assert!(said(&world, 32 << 20));
        assert_eq!(said(&world, 16 << 20), !is_whole, "{tracked}");
    }
}

/// Root may write everywhere; for everybody else nothing is begun that could not be finished.
fn read_only_directories_are_refused() {
    let world = World::new();
    let launcher = world.launcher();
    // The work may change the mode of its own copy; what counts is the directory itself.
    let plan = world.plan(&["chmod 755 src; echo new > src/lib.txt; echo new > app.txt"], &["grep -q new app.txt"]);
    let evidence = approve(&plan);
    world.set_mode("src", 0o555);
    let old = world.tree();
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        assert_eq!(workshop.apply(), Err(Error::ReadOnly { path: "src/lib.txt".to_owned() }));
        assert_eq!((world.tree(), world.stages().len()), (old, 0));
        world.set_mode("src", 0o755);
    }
    let applied = workshop.apply().unwrap();
    assert_eq!((applied.files, world.read("src/lib.txt").as_str()), (2, "new\n"));
    world.set_mode("src", 0o555);
    let undo = approve_undo(&evidence.execution, applied.changeset);
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        assert_eq!(launcher.undo(&undo), Err(Error::ReadOnly { path: "src/lib.txt".to_owned() }));
        assert_eq!(world.read("app.txt"), "new\n");
        world.set_mode("src", 0o755);
    }
    launcher.undo(&undo).unwrap();
    assert_eq!(world.read("app.txt"), "old\n");
}

/// Mounts a file system of this size over a directory, for this process and its children. False if that is not allowed.
pub(crate) fn mount_small(dir: &Path, mb: u32) -> bool {
    mount(dir, 0, &format!("size={mb}m,mode=755"))
}

/// The same with one in which nothing can be written.
pub(crate) fn mount_read_only(dir: &Path) -> bool {
    mount(dir, libc::MS_RDONLY, "mode=755")
}

fn mount(dir: &Path, flags: libc::c_ulong, options: &str) -> bool {
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: an ordinary user cannot mount a small file system here");
        return false;
    }
    let dir = CString::new(dir.as_os_str().as_bytes()).unwrap();
    let options = CString::new(options).unwrap();
    let null = std::ptr::null();
    // SAFETY: all strings outlive the calls; only this process and its children see the mount.
    unsafe {
        assert_eq!(libc::unshare(libc::CLONE_NEWNS), 0);
        assert_eq!(libc::mount(null, c"/".as_ptr(), null, libc::MS_REC | libc::MS_PRIVATE, null.cast()), 0);
        assert_eq!(libc::mount(c"small".as_ptr(), dir.as_ptr(), c"tmpfs".as_ptr(), flags, options.as_ptr().cast()), 0);
    }
    true
}

/// Leaves nothing.
pub(crate) fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    let chunk = [1u8; 4096];
    while std::io::Write::write_all(&mut file, &chunk).is_ok() {}
}

fn a_full_disk_in_the_middle_of_an_apply_changes_nothing() {
    let world = World::new();
    fs::rename(&world.project, world.project.with_file_name("before")).unwrap();
    fs::create_dir(&world.project).unwrap();
    if !mount_small(&world.project, 8) {
        return;
    }
    world.write("app.txt", "old\n");
    world.write("big.bin", &"x".repeat(3 << 20));
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.plan(
        &["echo new > app.txt; head -c 2000000 /dev/zero > a.bin; head -c 2000000 /dev/zero > b.bin"],
        &["grep -q new app.txt"],
    );
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    // The owner fills it up; that alone is a change elsewhere, and the checks run again with it.
    fs::write(world.project.join("filler"), vec![1u8; 3 << 20]).unwrap();
    assert!(matches!(workshop.apply(), Err(Error::MovedOn { .. })));
    workshop.checks(silas_core::event::Phase::After).unwrap();
    assert_eq!(workshop.apply(), Err(Error::Full));
    fs::remove_file(world.project.join("filler")).unwrap();
    assert_eq!((world.tree(), world.stages().len()), (old.clone(), 0));
    assert!(matches!(workshop.apply(), Err(Error::MovedOn { .. })));
    workshop.checks(silas_core::event::Phase::After).unwrap();
    let applied = workshop.apply().unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

fn a_full_disk_for_the_journal_changes_nothing() {
    let world = World::new();
    if !mount_small(&world.data, 8) {
        return;
    }
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.every_kind();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    let filler = world.data.join("filler");
    fill(&filler);
    assert_eq!(workshop.apply(), Err(Error::Full));
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
    fs::remove_file(filler).unwrap();
    assert_eq!(workshop.apply().unwrap().files, 6);
}

/// Room that is taken at once or bit by bit: the copy is gone before anything else happens, and whoever goes on is told why.
fn a_plan_that_floods_the_disk_is_thrown_away_unread() {
    let world = World::new();
    if !mount_small(&world.data, 64) {
        return;
    }
    let old = world.tree();
    let launcher = world.launcher();
    let free = || {
        let dir = CString::new(world.data.as_os_str().as_bytes()).unwrap();
        // SAFETY: zeros are such a structure, and the string and the structure outlive the call.
        let found: libc::statvfs = unsafe {
            let mut found = std::mem::zeroed();
            assert_eq!(libc::statvfs(dir.as_ptr(), &raw mut found), 0);
            found
        };
        found.f_bavail * found.f_frsize
    };
    let before = free();
    let flood = "fallocate -l 60M big || head -c 200000000 /dev/zero > big; sleep 100";
    let plan = world.plan(&[flood, "echo new > app.txt"], &["grep -q new app.txt"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Phase::Before).unwrap();
    let result = workshop.step(0).unwrap();
    assert!(result.metadata.is_disk_nearly_full, "{result:?}");
    assert_eq!(result.error.as_deref(), Some("Stopped because the disk was nearly full"));
    assert_eq!(world.works(), 0, "nobody has read it, and it is gone");
    assert!(free() + (1 << 20) > before, "{} of {before} are free again", free());
    // Nothing goes on in a copy that is not there, and that is said as it is.
    for refused in [workshop.step(1).map(drop), workshop.checks(Phase::After).map(drop), workshop.apply().map(drop)] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Flooded | Error::Order(_)), "{refused:?}");
    }
    assert_eq!(workshop.step(1), Err(Error::Flooded));
    drop(workshop);
    assert_eq!(world.tree(), old);
    // The disk is there for the next.
    let plan = world.plan(&["echo new > app.txt"], &["grep -q new app.txt"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    assert_eq!(workshop.apply().unwrap().files, 1);
}

fn a_full_disk_after_the_commit_takes_it_back() {
    let world = World::new();
    if !mount_small(&world.data, 8) {
        return;
    }
    let old = world.tree();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    killed(life(Some(FailPoint::ApplyHalfway), || {
        let launcher = world.launcher();
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        let _ = workshop.apply();
    }));
    let filler = world.data.join("filler");
    fill(&filler);
    let told = world.launcher().recover().unwrap().remove(0);
    assert!(matches!(told.taken_back, Some(Error::PutBack { .. })), "{told:?}");
    assert_eq!((told.state, told.is_open, &told.problem), (ExecutionState::Running, false, &None));
    assert_eq!((world.tree(), world.stages().len()), (old.clone(), 0));
    fs::remove_file(filler).unwrap();
    let launcher = world.launcher();
    let told = launcher.recover().unwrap().remove(0);
    assert_eq!((told.state, &told.problem), (ExecutionState::Running, &None));
    assert_eq!(world.tree(), old, "nothing of it comes later");
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

/// The second finds the first's result elsewhere in the directory, and is checked again together with it.
fn two_plans_in_one_directory_both_hold() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let first = world.plan(&["echo new > app.txt"], &["grep -q new app.txt"]);
    let second = world.plan(&["echo newer > src/lib.txt"], &["grep -q newer src/lib.txt"]);
    let (one_evidence, two_evidence) = (approve(&first), approve(&second));
    let mut one = launcher.open(&one_evidence).unwrap();
    let mut two = launcher.open(&two_evidence).unwrap();
    work(&mut one, &first).unwrap();
    work(&mut two, &second).unwrap();
    let one = one.apply().unwrap();
    assert_eq!(two.apply(), Err(Error::MovedOn { paths: vec!["app.txt".to_owned()] }));
    assert!(two.checks(silas_core::event::Phase::After).unwrap()[0].passed);
    let two = two.apply().unwrap();
    assert_eq!((world.read("app.txt").as_str(), world.read("src/lib.txt").as_str()), ("new\n", "newer\n"));
    // Each can be taken back by itself, in any order.
    launcher.undo(&approve_undo(&one_evidence.execution, one.changeset)).unwrap();
    assert_eq!((world.read("app.txt").as_str(), world.read("src/lib.txt").as_str()), ("old\n", "newer\n"));
    launcher.undo(&approve_undo(&two_evidence.execution, two.changeset)).unwrap();
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
}
