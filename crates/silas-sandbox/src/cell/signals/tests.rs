//! Whom a call is about, by its registers alone.

use super::*;

#[track_caller]
fn check(number: libc::c_long, args: [i64; 3], expect: Option<Target>) {
    let [a, b, c] = args.map(|arg| arg as u64);
    assert_eq!(target(&Call { id: 0, pid: 1, number, args: [a, b, c, 0, 0, 0] }), expect);
}

#[test]
fn whom_a_call_is_about() {
    check(libc::SYS_kill, [7, 9, 0], Some(Target::Process(7)));
    check(libc::SYS_kill, [0, 9, 0], Some(Target::Group(0)));
    check(libc::SYS_kill, [-7, 9, 0], Some(Target::Group(7)));
    check(libc::SYS_kill, [-1, 9, 0], Some(Target::All));
    check(libc::SYS_tkill, [7, 9, 0], Some(Target::Thread(7)));
    check(libc::SYS_tgkill, [7, 8, 9], Some(Target::Process(7)));
    check(libc::SYS_rt_sigqueueinfo, [7, 9, 0], Some(Target::Process(7)));
    check(libc::SYS_rt_tgsigqueueinfo, [7, 8, 9], Some(Target::Process(7)));
    check(libc::SYS_prlimit64, [7, 1, 4096], Some(Target::Thread(7)));
    check(libc::SYS_fcntl, [3, libc::F_SETOWN.into(), 7], Some(Target::Process(7)));
    check(libc::SYS_fcntl, [3, libc::F_SETOWN.into(), -7], Some(Target::Group(7)));
    check(libc::SYS_fcntl, [3, 15, 4096], Some(Target::Hidden));
}

#[test]
fn who_only_asks_reaches_for_nobody() {
    check(libc::SYS_kill, [7, 0, 0], None);
    check(libc::SYS_tgkill, [7, 8, 0], None);
    check(libc::SYS_prlimit64, [7, 1, 0], None);
    check(libc::SYS_fcntl, [3, libc::F_SETOWN.into(), 0], None);
    check(libc::SYS_getpid, [0, 0, 0], None);
}

#[test]
fn a_server_has_one_name_in_every_run() {
    let line = |of: &str| as_in_every_run(of);
    assert_eq!(line("python3\0server.py\0--port=4711\0/tmp/tmp.aX/port\0"), "python0 server.py --port=0000 /tmp/");
    assert_eq!(line("sh\0test.sh\0"), "sh test.sh");
}

/// The sandbox's own process, the check, and the two sides of its pipe, of which the second was started last: the program under
/// test began before it.
#[test]
fn what_somebody_else_started_is_not_own_however_young() {
    let process =
        |parent: i32, inside: i32| Process { parent, inside, group: 1, started: u64::try_from(inside).unwrap() };
    let all = BTreeMap::from([
        (100, process(1, 1)),
        (102, process(100, 2)),
        (103, process(102, 3)),
        (104, process(103, 4)),
        (105, process(102, 5)),
        (106, process(104, 6)),
        (107, process(106, 7)),
        (108, process(100, 8)),
        (109, process(108, 9)),
    ]);
    let is_own = |pid: i32| super::is_own(&all[&pid], (104, &all[&104]), 100, &all);
    assert!(!is_own(102) && !is_own(103), "from which it descends");
    assert!(!is_own(105), "the other side of the pipe");
    assert!(is_own(106) && is_own(107), "what it started");
    assert!(is_own(108) && is_own(109), "what it started and left behind");
}
