//! Files as people and programs really make them.

use crate::runner::Case;
use crate::world::{World, approve, approve_undo, work};
use silas_core::work::WorkItem;
use silas_sandbox::{Error, Workshop};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

pub(crate) const CASES: &[Case] = &[
    ("names_are_bytes", names_are_bytes),
    ("special_files_are_refused_by_name", special_files_are_refused_by_name),
    ("what_the_work_may_not_make_is_refused_by_name", what_the_work_may_not_make_is_refused_by_name),
    ("trees_deeper_than_paths_are_removed", trees_deeper_than_paths_are_removed),
    ("set_id_bits_are_not_carried_over", set_id_bits_are_not_carried_over),
    ("directories_that_become_empty_stay", directories_that_become_empty_stay),
    ("the_owner_of_files_stays", the_owner_of_files_stays),
];

fn names_are_bytes() {
    let world = World::new();
    let long = "x".repeat(255);
    let names: [&[u8]; 5] =
        [b"line\nbreak", b"not-utf8-\xff\xfe", long.as_bytes(), b" -rf \\x41 ' \"", "ünïcödé".as_bytes()];
    for name in names {
        std::fs::write(world.project.join(OsStr::from_bytes(name)), "old\n").unwrap();
    }
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.plan(
        &["for f in *; do test -f \"$f\" && test ! -h \"$f\" && echo new >> \"$f\"; done; true"],
        &["grep -q new app.txt"],
    );
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let changes = workshop.changes().unwrap();
    assert_eq!(changes.changeset.changes.len(), 8, "{changes:?}");
    let applied = workshop.apply().unwrap();
    for name in names {
        assert_eq!(std::fs::read(world.project.join(OsStr::from_bytes(name))).unwrap(), b"old\nnew\n");
    }
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

fn open(world: &World, plan: &WorkItem, body: impl FnOnce(Workshop)) {
    let launcher = world.launcher();
    body(launcher.open(&approve(plan)).unwrap());
}

fn named(error: Error, path: &str) {
    match &error {
        Error::Unsupported { path: named, .. } if named == path => {}
        _ => panic!("{path}: {error:?}"),
    }
}

fn special_files_are_refused_by_name() {
    let world = World::new();
    let pipe = std::ffi::CString::new(world.project.join("src/pipe").as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is NUL-terminated.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    open(&world, &world.one_change(), |mut workshop| named(workshop.copy().unwrap_err(), "src/pipe"));
    std::fs::remove_file(world.project.join("src/pipe")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.project.join("socket")).unwrap();
    let plan = world.plan(&["true"], &["false"]);
    open(&world, &plan, |mut workshop| named(workshop.copy().unwrap_err(), "socket"));
}

fn what_the_work_may_not_make_is_refused_by_name() {
    let world = World::new();
    std::fs::remove_dir_all(world.project.join(".git")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", world.project.join("theirs")).unwrap();
    let old = world.tree();
    for (script, path) in [
        ("mkfifo pipe", "pipe"),
        ("ln -s /etc/passwd out", "out"),
        ("ln -s ../.. src/out", "src/out"),
        ("ln -sfn /etc/shadow theirs", "theirs"),
        ("mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("mkdir -p src/.git && echo evil > src/.git/config", "src/.git/config"),
        ("rm app.txt && mkdir app.txt && echo x > app.txt/file", "app.txt/file"),
        ("rm -r src && echo x > src", "src"),
    ] {
        let plan = world.plan(&[script], &["grep -q new app.txt"]);
        open(&world, &plan, |mut workshop| {
            named(work(&mut workshop, &plan).unwrap_err(), path);
            assert!(workshop.apply().is_err());
        });
        assert_eq!(world.tree(), old);
    }
    // Symlinks that stay inside, and those that were there before, are nobody's trouble.
    let plan = world.plan(&["ln -s ../app.txt src/in; echo new > app.txt"], &["grep -q new app.txt"]);
    open(&world, &plan, |mut workshop| {
        work(&mut workshop, &plan).unwrap();
        assert_eq!(workshop.apply().unwrap().files, 2);
    });
}

fn trees_deeper_than_paths_are_removed() {
    let world = World::new();
    let old = world.tree();
    let name = "d".repeat(200);
    let script =
        format!("i=0; while [ $i -lt 60 ]; do mkdir {name} && cd {name}; i=$((i+1)); done; echo x > f; chmod 0 .");
    let plan = world.plan(&[&script], &["false"]);
    open(&world, &plan, |mut workshop| {
        workshop.copy().unwrap();
        workshop.checks(silas_core::event::Phase::Before).unwrap();
        workshop.step(0).unwrap();
        assert!(workshop.changes().is_err());
        workshop.discard();
    });
    assert_eq!(world.works(), 0);
    assert_eq!(world.tree(), old);
}

fn set_id_bits_are_not_carried_over() {
    let world = World::new();
    world.set_mode("run.sh", 0o4755);
    world.set_mode("gone.txt", 0o2755);
    let old = world.tree();
    let plan = world.plan(&["echo more >> run.sh; rm gone.txt; chmod u+s app.txt; true"], &["grep -q more run.sh"]);
    let launcher = world.launcher();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    assert_eq!(applied.files, 2);
    assert!(world.tree()[b"run.sh".as_slice()].0.starts_with("100755 "));
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

fn directories_that_become_empty_stay() {
    let world = World::new();
    let old = world.tree();
    let plan = world.plan(&["rm -r src/deep"], &["test ! -e src/deep/same.txt"]);
    let launcher = world.launcher();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    assert!(world.project.join("src/deep").is_dir());
    // Also if the owner removes it meanwhile, the file comes back.
    std::fs::remove_dir(world.project.join("src/deep")).unwrap();
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

/// Only root can own other people's files; for others this shows that theirs stay theirs.
fn the_owner_of_files_stays() {
    let world = World::new();
    // SAFETY: has no arguments and cannot fail.
    let owner = if unsafe { libc::geteuid() } == 0 { 4321 } else { unsafe { libc::geteuid() } };
    for path in ["", "app.txt", "src", "src/lib.txt"] {
        std::os::unix::fs::chown(world.project.join(path), Some(owner), Some(owner)).unwrap();
    }
    let plan = world.plan(&["echo new > app.txt; mkdir made; echo x > made/file"], &["grep -q new app.txt"]);
    open(&world, &plan, |mut workshop| {
        work(&mut workshop, &plan).unwrap();
        workshop.apply().unwrap();
    });
    let tree = world.tree();
    for path in ["app.txt", "made", "made/file"] {
        assert!(tree[path.as_bytes()].0.ends_with(&format!(" {owner}")), "{path} {:?}", tree[path.as_bytes()]);
    }
    assert!(tree[b"app.txt".as_slice()].0.starts_with("100640"));
}
