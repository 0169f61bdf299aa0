//! Files as people and programs really make them.

use crate::rehearsals;
use crate::runner::Case;
use crate::world::{World, allow, approve, approve_undo, work};
use silas_core::roots::Access;
use silas_core::work::WorkItem;
use silas_sandbox::{Error, FixedBy, Launcher, Look, Workshop};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

pub(crate) const CASES: &[Case] = &[
    ("names_are_bytes", names_are_bytes),
    ("special_files_are_refused_by_name", special_files_are_refused_by_name),
    ("what_the_work_may_not_make_is_refused_by_name", what_the_work_may_not_make_is_refused_by_name),
    ("trees_deeper_than_paths_are_removed", trees_deeper_than_paths_are_removed),
    ("set_id_bits_are_neither_made_nor_lost", set_id_bits_are_neither_made_nor_lost),
    ("a_file_that_anybody_may_write_to_waits", a_file_that_anybody_may_write_to_waits),
    ("attributes_of_a_read_only_file_stay", attributes_of_a_read_only_file_stay),
    ("attributes_and_access_lists_stay", attributes_and_access_lists_stay),
    ("what_moves_keeps_its_attributes_and_owner", what_moves_keeps_its_attributes_and_owner),
    ("a_copy_keeps_the_attributes_that_it_was_made_with", a_copy_keeps_the_attributes_that_it_was_made_with),
    ("names_of_one_file_stay_names_of_one_file", names_of_one_file_stay_names_of_one_file),
    (
        "a_file_with_a_name_elsewhere_is_refused_and_told_beforehand",
        a_file_with_a_name_elsewhere_is_refused_and_told_beforehand,
    ),
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

pub(crate) fn open(world: &World, plan: &WorkItem, body: impl FnOnce(Workshop)) {
    let launcher = world.launcher();
    body(launcher.open(&approve(plan)).unwrap());
}

fn named(error: Error, path: &str) {
    match &error {
        Error::Unsupported { path: named, .. } if named == path => {}
        _ => panic!("{path}: {error:?}"),
    }
}

/// What is in the way may be somebody's only copy: nobody is told to remove it.
pub(crate) fn named_with_a_way_out(error: Error, path: &str, way_out: &str) {
    let said = error.to_string();
    assert!(said.contains(way_out) && !said.contains("emove"), "{said}");
    named(error, path);
}

fn special_files_are_refused_by_name() {
    let world = World::new();
    let pipe = std::ffi::CString::new(world.project.join("src/pipe").as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is NUL-terminated.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    open(&world, &world.one_change(), |mut workshop| {
        let refused = workshop.copy().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "src/pipe is a named pipe, which cannot be copied. Remove it if nothing needs it, or choose another directory."
        );
        named(refused, "src/pipe");
    });
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
    for (script, path, way_out) in [
        ("mkfifo pipe", "pipe", "Have the work remove it before it ends"),
        ("ln -s /etc/passwd out", "out", "point it to something inside"),
        ("ln -s ../.. src/out", "src/out", "point it to something inside"),
        ("ln -sfn /etc/shadow theirs", "theirs", "leave it as it was"),
        ("mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit", "leave them as they are"),
        ("mkdir -p src/.git && echo evil > src/.git/config", "src/.git/config", "leave them as they are"),
        ("rm app.txt && mkdir app.txt && echo x > app.txt/file", "app.txt/file", "use another name"),
        ("rm -r src && echo x > src", "src", "use another name"),
    ] {
        let plan = world.plan(&[script], &["grep -q new app.txt"]);
        open(&world, &plan, |mut workshop| {
            let refused = work(&mut workshop, &plan).unwrap_err();
            let said = refused.to_string();
            assert!(said.contains(way_out) && !said.contains("Remove it"), "{said}");
            named(refused, path);
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

/// Who changes a program that runs as somebody else would take that away from it, so it is refused by name. The work makes
/// no such program; one that goes keeps its bit for the way back.
fn set_id_bits_are_neither_made_nor_lost() {
    let world = World::new();
    world.set_mode("run.sh", 0o4755);
    world.set_mode("gone.txt", 0o2755);
    let old = world.tree();
    let plan = world.plan(&["echo more >> run.sh; echo more >> app.txt"], &["grep -q more app.txt"]);
    open(&world, &plan, |mut workshop| named(work(&mut workshop, &plan).unwrap_err(), "run.sh"));
    assert_eq!(world.tree(), old);
    let plan = world.plan(&["echo more >> app.txt; rm gone.txt; chmod u+s app.txt; true"], &["grep -q more app.txt"]);
    let launcher = world.launcher();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    assert_eq!(applied.files, 2);
    let app = b"app.txt".as_slice();
    assert_eq!(world.tree()[app].0[..7], old[app].0[..7], "its mode");
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

fn a_file_that_anybody_may_write_to_waits() {
    let world = World::new();
    let old = world.tree();
    let plan = world.plan(&["echo new > app.txt; chmod 777 run.sh"], &["grep -q new app.txt"]);
    open(&world, &plan, |mut workshop| {
        work(&mut workshop, &plan).unwrap();
        let changes = workshop.changes().unwrap();
        let named = |flag: &silas_core::flags::Flag| flag.path.to_string() == "run.sh" && flag.what.contains("777");
        assert!(changes.flags.iter().any(named), "{:?}", changes.flags);
        assert!(matches!(workshop.apply(), Err(Error::Order(_))));
    });
    assert_eq!(world.tree(), old);
}

fn c_path(path: &std::path::Path) -> std::ffi::CString {
    std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap()
}

pub(crate) fn set_attribute(path: &std::path::Path, name: &std::ffi::CStr, value: &[u8]) -> bool {
    let path = c_path(path);
    // SAFETY: path and name are NUL-terminated, and the value has as many bytes as is said.
    unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) == 0 }
}

pub(crate) fn attribute(path: &std::path::Path, name: &std::ffi::CStr) -> Option<Vec<u8>> {
    let (path, mut value) = (c_path(path), vec![0u8; 1024]);
    // SAFETY: the kernel writes at most as many bytes as there are.
    let n = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    value.truncate(usize::try_from(n).ok()?);
    Some(value)
}

/// An access list that lets one more user read.
fn access_list() -> Vec<u8> {
    access_list_for(6)
}

/// The same, with what its owner may do.
fn access_list_for(owner: u16) -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] =
        [(1, owner, u32::MAX), (2, 4, 1234), (4, 4, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, permission, id) in entries {
        bytes.extend(tag.to_le_bytes().into_iter().chain(permission.to_le_bytes()).chain(id.to_le_bytes()));
    }
    bytes
}

fn attributes_and_access_lists_stay() {
    let world = World::new();
    let (file, note) = (world.project.join("app.txt"), c"user.note");
    let (access, default) = (c"system.posix_acl_access", c"system.posix_acl_default");
    if !set_attribute(&file, note, b"mine") || !set_attribute(&file, access, &access_list()) {
        return crate::runner::skip("this file system has no extended attributes or access lists");
    }
    assert!(set_attribute(&world.project.join("src"), default, &access_list()));
    let launcher = world.launcher();
    let plan = world.plan(
        &["cat app.txt > x && mv x app.txt && echo new >> app.txt && echo made > src/made.txt"],
        &["grep -q new app.txt"],
    );
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    assert_eq!(world.read("app.txt"), "old\nnew\n");
    assert_eq!(attribute(&file, note).as_deref(), Some(&b"mine"[..]));
    let entry =
        |list: Option<Vec<u8>>| list.is_some_and(|list| list.windows(4).any(|four| four == 1234u32.to_le_bytes()));
    assert!(entry(attribute(&file, access)), "the access list is kept");
    assert!(entry(attribute(&world.project.join("src/made.txt"), access)), "a new file has the list of its directory");
    // What the owner set since would be lost.
    assert!(set_attribute(&file, note, b"changed since"));
    let undo = approve_undo(&evidence.execution, applied.changeset);
    assert!(matches!(launcher.undo(&undo), Err(Error::LaterEdit { .. })));
    assert!(set_attribute(&file, note, b"mine"));
    launcher.undo(&undo).unwrap();
    assert_eq!(world.read("app.txt"), "old\n");
    assert_eq!(attribute(&file, note).as_deref(), Some(&b"mine"[..]));
    assert_eq!(attribute(&file, access), Some(access_list()));
}

fn owner_of(path: &std::path::Path) -> (u32, u32) {
    let stat = std::fs::metadata(path).unwrap();
    (stat.uid(), stat.gid())
}

fn what_moves_keeps_its_attributes_and_owner() {
    let world = World::new();
    let at = |path: &str| world.project.join(path);
    let (note, access, default) = (c"user.note", c"system.posix_acl_access", c"system.posix_acl_default");
    let all = |path: &str| [note, access, default].map(|name| attribute(&at(path), name));
    if !set_attribute(&at("app.txt"), note, b"mine") || !set_attribute(&at("app.txt"), access, &access_list()) {
        return crate::runner::skip("this file system has no extended attributes or access lists");
    }
    // A text that is edited on its way is one that moved, too.
    world.write("song.txt", "one\ntwo\nthree\nfour\n");
    assert!(set_attribute(&at("song.txt"), note, b"sung"));
    for name in [access, default] {
        assert!(set_attribute(&at("src/deep"), name, &access_list_for(7)));
    }
    assert!(set_attribute(&at("src/deep"), note, b"deep"));
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        for path in ["app.txt", "src/deep", "src/deep/same.txt"] {
            std::os::unix::fs::chown(at(path), Some(4321), Some(1234)).unwrap();
        }
    }
    let names = ["app.txt", "song.txt", "src/deep", "src/deep/same.txt"];
    let seen =
        |names: [&str; 4]| names.map(|path| (all(path), owner_of(&at(path)), at(path).metadata().unwrap().mode()));
    let old = (world.tree(), seen(names));
    let script = "mv app.txt apps.txt && mv song.txt hymn.txt && sed -i s/two/2/ hymn.txt && mv src/deep src/deeper && \
                  echo x > src/deeper/fresh.txt";
    let plan = world.plan(&[script], &["test -f apps.txt && test -f src/deeper/same.txt"]);
    let launcher = world.launcher();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let diffs = workshop.changes().unwrap().diffs;
    assert_eq!(diffs.iter().filter(|diff| diff.renamed_from.is_some()).count(), 3, "{diffs:?}");
    let applied = workshop.apply().unwrap();
    assert!(!at("app.txt").exists());
    assert_eq!(seen(["apps.txt", "hymn.txt", "src/deeper", "src/deeper/same.txt"]), old.1);
    assert!(attribute(&at("src/deeper/fresh.txt"), access).is_some(), "a new file has the list of its directory");
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!((world.tree(), seen(names)), old);
}

fn a_copy_keeps_the_attributes_that_it_was_made_with() {
    let world = World::new();
    let (file, note) = (world.project.join("app.txt"), c"user.note");
    if !set_attribute(&file, note, b"mine") {
        return crate::runner::skip("this file system has no extended attributes");
    }
    let old = world.tree();
    let plan = world.plan(
        &["cp --preserve=xattr app.txt second.txt && cp app.txt bare.txt && echo new > third.txt"],
        &["test -f second.txt"],
    );
    let launcher = world.launcher();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    let notes =
        ["app.txt", "second.txt", "bare.txt", "third.txt"].map(|path| attribute(&world.project.join(path), note));
    assert_eq!(notes, [Some(b"mine".to_vec()), Some(b"mine".to_vec()), None, None]);
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

/// Who may only read a file cannot set its attributes either, so they come before the mode.
fn attributes_of_a_read_only_file_stay() {
    let world = World::new();
    let (file, note) = (world.project.join("app.txt"), c"user.note");
    if !set_attribute(&file, note, b"mine") {
        return crate::runner::skip("this file system has no extended attributes");
    }
    world.set_mode("app.txt", 0o444);
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.plan(&["sed -i s/old/new/ app.txt"], &["grep -q new app.txt"]);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    let (_, after) = work(&mut workshop, &plan).unwrap();
    assert!(after[0].passed, "{:?}", after[0]);
    let applied = workshop.apply().unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o444);
    assert_eq!(attribute(&file, note).as_deref(), Some(&b"mine"[..]));
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

fn names_of_one_file_stay_names_of_one_file() {
    let world = World::new();
    let inode = |path: &str| std::fs::metadata(world.project.join(path)).unwrap().ino();
    std::fs::hard_link(world.project.join("app.txt"), world.project.join("src/second.txt")).unwrap();
    let old = (world.tree(), inode("app.txt"));
    let launcher = world.launcher();
    // What is written under one name stands under the other too: in the list, for the checks, and in place.
    for script in ["echo new > app.txt", "echo new > src/second.txt", "echo new > app.txt; echo new > src/second.txt"] {
        let plan = world.plan(&[script], &["grep -q new app.txt && grep -q new src/second.txt"]);
        let evidence = approve(&plan);
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        let changes = workshop.changes().unwrap();
        let paths: Vec<String> = changes.changeset.changes.iter().map(|change| change.path.to_string()).collect();
        assert_eq!(
            (paths, changes.diffs.len()),
            (vec!["app.txt".to_owned(), "src/second.txt".to_owned()], 2),
            "{script}"
        );
        let applied = workshop.apply().unwrap();
        assert_eq!((world.read("app.txt"), world.read("src/second.txt")), ("new\n".to_owned(), "new\n".to_owned()));
        assert_eq!(inode("app.txt"), inode("src/second.txt"), "{script}");
        launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
        assert_eq!((&world.tree(), inode("app.txt"), inode("src/second.txt")), (&old.0, old.1, old.1), "{script}");
    }
    // What it waits with is the same when it is opened again.
    let plan = world.one_change();
    let evidence = rehearsals::rehearsal(&plan);
    let waits = rehearsals::rehearse(&launcher, &plan, &evidence).unwrap();
    let order = rehearsals::order(&plan, &evidence.execution, &waits);
    let order = rehearsals::approve_order(&order, &plan);
    let applied = rehearsals::apply(&launcher, &order).unwrap();
    assert_eq!(
        (applied.files, world.read("src/second.txt"), inode("app.txt")),
        (2, "new\n".to_owned(), inode("src/second.txt"))
    );
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    // Two texts for one file are one too many.
    let plan = world.plan(&["echo new > app.txt; echo newer > src/second.txt"], &["grep -q new app.txt"]);
    let same = "Have the work write the same under all of them";
    open(&world, &plan, |mut workshop| {
        named_with_a_way_out(work(&mut workshop, &plan).unwrap_err(), "app.txt", same);
    });
    assert_eq!(world.tree(), old.0);
    // A name that goes takes no other with it.
    world.write("look.sh", "test -f fresh");
    let plan = world.plan(&["rm src/second.txt; echo x > fresh"], &["sh look.sh"]);
    open(&world, &plan, |mut workshop| {
        work(&mut workshop, &plan).unwrap();
        workshop.apply().unwrap();
    });
    assert_eq!(inode("app.txt"), old.1);
}

/// What somebody hears before the work about files that cannot be changed.
pub(crate) fn told(launcher: &Launcher, world: &World) -> Vec<(String, FixedBy)> {
    let directory = world.directory(&world.project, Access::Write);
    let looked = launcher.look(&allow(&directory), &directory.path, Look::Fit).unwrap();
    assert!(!looked.is_cut);
    looked.fixed.into_iter().map(|file| (file.path, file.by)).collect()
}

/// Nobody may change what lies elsewhere, so the file is not changed here either. It is known before.
fn a_file_with_a_name_elsewhere_is_refused_and_told_beforehand() {
    let world = World::new();
    let launcher = world.launcher();
    let told = || told(&launcher, &world);
    assert_eq!(told(), []);
    std::fs::hard_link(world.project.join("app.txt"), world.project.join("src/second.txt")).unwrap();
    assert_eq!(told(), [], "all of its names lie here");
    let elsewhere = world.data.parent().unwrap().join("elsewhere");
    std::fs::hard_link(world.project.join("src/lib.txt"), &elsewhere).unwrap();
    assert_eq!(told(), [("src/lib.txt".to_owned(), FixedBy::NameElsewhere)]);
    let old = (world.tree(), std::fs::read(&elsewhere).unwrap());
    let plan = world.plan(&["echo new > src/lib.txt; echo new > app.txt"], &["grep -q new app.txt"]);
    let own = "Make it a file of its own first (copy it, and put the copy in its place), or choose a directory";
    open(&world, &plan, |mut workshop| {
        named_with_a_way_out(work(&mut workshop, &plan).unwrap_err(), "src/lib.txt", own);
    });
    assert_eq!((world.tree(), std::fs::read(&elsewhere).unwrap()), old);
    // What is not changed is in nobody's way.
    let plan = world.plan(&["echo new > app.txt"], &["grep -q new app.txt"]);
    open(&world, &plan, |mut workshop| {
        work(&mut workshop, &plan).unwrap();
        workshop.apply().unwrap();
    });
    assert_eq!(world.read("app.txt"), "new\n");
}
