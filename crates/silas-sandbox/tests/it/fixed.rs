//! Files that work cannot change and leave whole: told before the work, refused by name as soon as the work changed one,
//! and in nobody's way as long as they are left alone.

use crate::files::{attribute, named_with_a_way_out, open, set_attribute, told};
use crate::runner::{self, Case};
use crate::world::{World, approve, approve_undo, work};
use silas_core::work::WorkItem;
use silas_sandbox::FixedBy;
use std::os::unix::fs::MetadataExt;

pub(crate) const CASES: &[Case] = &[
    ("a_program_with_capabilities_keeps_them", a_program_with_capabilities_keeps_them),
    ("an_attribute_that_cannot_be_kept_is_refused_before_the_checks", an_attribute_that_cannot_be_kept_is_refused),
    ("what_could_not_be_tried_is_refused_when_it_is_staged", what_could_not_be_tried_is_refused_when_it_is_staged),
    ("a_program_that_runs_as_somebody_else_does_not_move", a_program_that_runs_as_somebody_else_does_not_move),
    ("one_of_several_names_does_not_move", one_of_several_names_does_not_move),
];

const LEAVE: &str = "Have the work leave it as it is";

/// Nothing is put in place, and it is said before the checks after the work have run.
fn is_refused(world: &World, plan: &WorkItem, path: &str, way_out: &str) {
    let old = world.tree();
    open(world, plan, |mut workshop| {
        named_with_a_way_out(work(&mut workshop, plan).unwrap_err(), path, way_out);
        assert!(workshop.apply().is_err());
    });
    assert_eq!(world.tree(), old);
}

fn is_applied(world: &World, plan: &WorkItem) {
    let launcher = world.launcher();
    let evidence = approve(plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, plan).unwrap();
    let applied = workshop.apply().unwrap();
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
}

/// The kernel takes them away from a file that is written to, so a changed one would have lost them in silence.
fn a_program_with_capabilities_keeps_them() {
    let world = World::new();
    let (program, capability) = (world.project.join("run.sh"), c"security.capability");
    // Version 2, effective: CAP_NET_RAW permitted.
    let value: Vec<u8> = [0x0200_0001u32, 1 << 13, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    if !set_attribute(&program, capability, &value) {
        return runner::skip("this user may not give a file capabilities, or the file system keeps none");
    }
    let by = FixedBy::Attribute("security.capability".to_owned());
    assert_eq!(told(&world.launcher(), &world), [("run.sh".to_owned(), by)]);
    let has = || attribute(&program, capability).as_deref() == Some(&value[..]);
    for script in ["echo more >> run.sh", "mv run.sh start.sh", "cp run.sh x && mv x run.sh && echo more >> run.sh"] {
        let plan = world.plan(&[script, "echo new > app.txt"], &["grep -q new app.txt"]);
        is_refused(&world, &plan, "run.sh", LEAVE);
        assert!(has(), "{script}");
    }
    // One that goes comes back with all that it had, and one that is left alone is in nobody's way.
    for script in ["rm run.sh; echo new > app.txt", "cp run.sh second.sh; echo new > app.txt"] {
        is_applied(&world, &world.plan(&[script], &["grep -q new app.txt"]));
        assert!(has(), "{script}");
    }
}

/// As on a file system that shows attributes and takes none.
const NO_ATTRIBUTES: [(libc::c_long, u32); 2] = [(libc::SYS_fsetxattr, 0), (libc::SYS_setxattr, 0)];
/// And on which nobody can try that without a trace.
const NO_UNNAMED_FILES: (libc::c_long, u32) = (libc::SYS_openat, 0o20_000_000);

fn an_attribute_that_cannot_be_kept_is_refused() {
    let world = World::new();
    if !set_attribute(&world.project.join("app.txt"), c"user.note", b"mine") {
        return runner::skip("this file system has no extended attributes");
    }
    assert_eq!(told(&world.launcher(), &world), [], "it can be kept");
    refuse_from_now_on(&NO_ATTRIBUTES);
    let by = FixedBy::Attribute("user.note".to_owned());
    assert_eq!(told(&world.launcher(), &world), [("app.txt".to_owned(), by)]);
    assert!(!set_attribute(&world.project.join("app.txt"), c"user.other", b"x"));
    let changing = |script: &str| world.plan(&[script], &["grep -q new src/lib.txt"]);
    is_refused(&world, &changing("echo new > src/lib.txt; echo new > app.txt"), "app.txt", LEAVE);
    is_refused(&world, &changing("echo new > src/lib.txt; mv app.txt apps.txt"), "app.txt", LEAVE);
    is_applied(&world, &changing("echo new > src/lib.txt"));
    is_applied(&world, &changing("echo new > src/lib.txt; rm app.txt"));
    assert_eq!(attribute(&world.project.join("app.txt"), c"user.note").as_deref(), Some(&b"mine"[..]));
}

/// The last line: nobody could know before the file was staged, and then nothing has moved yet.
fn what_could_not_be_tried_is_refused_when_it_is_staged() {
    let world = World::new();
    if !set_attribute(&world.project.join("app.txt"), c"user.note", b"mine") {
        return runner::skip("this file system has no extended attributes");
    }
    let old = world.tree();
    refuse_from_now_on(&[NO_ATTRIBUTES[0], NO_ATTRIBUTES[1], NO_UNNAMED_FILES]);
    assert_eq!(told(&world.launcher(), &world), []);
    let plan = world.one_change();
    open(&world, &plan, |mut workshop| {
        work(&mut workshop, &plan).unwrap();
        named_with_a_way_out(workshop.apply().unwrap_err(), "app.txt", LEAVE);
    });
    assert_eq!(world.tree(), old);
    assert!(world.stages().is_empty());
}

fn a_program_that_runs_as_somebody_else_does_not_move() {
    let world = World::new();
    world.set_mode("run.sh", 0o4755);
    assert_eq!(told(&world.launcher(), &world), [("run.sh".to_owned(), FixedBy::SetId)]);
    let plan = world.plan(&["mv run.sh start.sh; echo new > app.txt"], &["grep -q new app.txt"]);
    is_refused(&world, &plan, "run.sh", LEAVE);
}

/// What has the new name would be a file of its own.
fn one_of_several_names_does_not_move() {
    let world = World::new();
    std::fs::hard_link(world.project.join("src/lib.txt"), world.project.join("src/second.txt")).unwrap();
    let plan = |script: &str| world.plan(&[script, "echo new > app.txt"], &["grep -q new app.txt"]);
    is_refused(&world, &plan("mv src/lib.txt moved.txt"), "src/lib.txt", "Have the work leave it where it is");
    // The last of its names is the whole file.
    is_applied(&world, &plan("rm src/second.txt; mv src/lib.txt moved.txt"));
    let inode = |path: &str| std::fs::metadata(world.project.join(path)).unwrap().ino();
    assert_eq!(inode("src/lib.txt"), inode("src/second.txt"));
}

/// From here on these calls fail in this process and in all that it starts, each if its third argument has one of the bits;
/// with none, always.
fn refuse_from_now_on(calls: &[(libc::c_long, u32)]) {
    const THIRD_ARGUMENT: u32 = 32;
    let code = |code: u32| u16::try_from(code).unwrap();
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let load = code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS);
    let is_equal = code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K);
    let has_bits = code(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K);
    let answer = |with| step(code(libc::BPF_RET | libc::BPF_K), with, 0, 0);
    let refuse = answer(libc::SECCOMP_RET_ERRNO | u32::try_from(libc::EOPNOTSUPP).unwrap());
    let mut filter = Vec::new();
    for (call, bits) in calls {
        let number = step(is_equal, u32::try_from(*call).unwrap(), 0, if *bits == 0 { 1 } else { 3 });
        filter.extend([step(load, 0, 0, 0), number]);
        if *bits != 0 {
            filter.extend([step(load, THIRD_ARGUMENT, 0, 0), step(has_bits, *bits, 0, 1)]);
        }
        filter.push(refuse);
    }
    filter.push(answer(libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: u16::try_from(filter.len()).unwrap(), filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter outlive the calls, which concern this process and its children alone.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}
