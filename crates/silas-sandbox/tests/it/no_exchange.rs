//! A file system that cannot exchange two files, or that knows no flags of a rename at all: nothing is lost, a crash ends
//! old or new, an undo is exact, and an editor keeps its text.
//!
//! There is no such file system on every machine, so the kernel is told to answer as one does, for this process and all
//! that it starts.

use crate::runner::Case;
use crate::world::{World, approve, approve_undo, work};
use crate::{crashes, editors, power};

pub(crate) const CASES: &[Case] = &[
    ("a_change_is_applied_and_undone", a_change_is_applied_and_undone),
    ("without_any_flag_too", without_any_flag_too),
    ("before_the_commit_everything_is_old", || under(EXCHANGE, crashes::before_the_commit_everything_is_old)),
    ("after_the_commit_everything_is_new", || under(EXCHANGE, crashes::after_the_commit_everything_is_new)),
    ("an_undo_is_all_or_nothing", || under(ANY_FLAG, crashes::an_undo_is_all_or_nothing)),
    ("a_save_between_commit_and_exchange_is_kept", || {
        under(ANY_FLAG, editors::a_save_between_commit_and_exchange_is_kept);
    }),
    ("a_save_in_the_middle_of_an_undo_is_kept", || {
        under(EXCHANGE, editors::a_save_in_the_middle_of_an_undo_is_kept);
    }),
    ("an_editor_that_never_stops_saving_loses_nothing", || {
        under(EXCHANGE, editors::an_editor_that_never_stops_saving_loses_nothing);
    }),
    ("a_kill_after_any_operation_leaves_old_or_new", || {
        under(EXCHANGE, power::a_kill_after_any_operation_leaves_old_or_new);
    }),
    ("a_loss_of_power_leaves_old_or_new", || under(ANY_FLAG, power::a_loss_of_power_leaves_old_or_new)),
];

/// Which flags of `renameat2` are not known.
const EXCHANGE: u32 = libc::RENAME_EXCHANGE;
const ANY_FLAG: u32 = libc::RENAME_EXCHANGE | libc::RENAME_NOREPLACE;

fn under(flags: u32, case: fn()) {
    forget_flags(flags);
    case();
}

fn a_change_is_applied_and_undone() {
    under(EXCHANGE, applied_and_undone);
}

fn without_any_flag_too() {
    under(ANY_FLAG, applied_and_undone);
}

fn applied_and_undone() {
    let world = World::new();
    let old = world.tree();
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let launcher = world.launcher();
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    assert!(applied.is_in_two_steps);
    assert!(applied.conflicts.is_empty());
    assert_eq!(world.read("app.txt"), "new\n");
    drop(workshop);
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
}

/// From now on `renameat2` with any of these flags is answered as by a file system that does not know them.
fn forget_flags(flags: u32) {
    let load = |offset: usize| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: u32::try_from(offset).unwrap() };
    let answer = |k: u32| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    // The fifth argument, its lower half first on every machine that this runs on.
    let fifth = std::mem::offset_of!(libc::seccomp_data, args) + 4 * 8;
    let program = [
        load(std::mem::offset_of!(libc::seccomp_data, nr)),
        libc::sock_filter { code: 0x15, jt: 0, jf: 3, k: u32::try_from(libc::SYS_renameat2).unwrap() },
        load(fifth),
        libc::sock_filter { code: 0x45, jt: 0, jf: 1, k: flags },
        answer(libc::SECCOMP_RET_ERRNO | u32::try_from(libc::EINVAL).unwrap()),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len().try_into().unwrap(), filter: program.as_ptr().cast_mut() };
    // SAFETY: only numbers are passed.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: `filter` and the program that it points to outlive the call.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}
