//! Other processes: seeing them, their descriptors, environment and memory, and outliving the run.

use crate::ground::{Ground, SECRET, eventually, marker, processes_with, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use silas_sandbox::cell::{self, Error};
use std::os::fd::{AsFd, AsRawFd};

pub(crate) const CASES: &[Case] = &[
    ("see_other_processes", see_other_processes),
    ("read_an_inherited_descriptor", read_an_inherited_descriptor),
    ("read_the_callers_environment", read_the_callers_environment),
    ("trace_another_process", trace_another_process),
    ("kill_the_init", kill_the_init),
    ("survive_by_a_double_fork", survive_by_a_double_fork),
    ("survive_the_caller", survive_the_caller),
    ("survive_being_cancelled", survive_being_cancelled),
];

fn see_other_processes(ground: &Ground) -> Shown {
    let count = "ls /proc | grep -c '^[0-9]'";
    let inside: usize = text(&ground.sh(count).stdout).parse().unwrap();
    assert!(inside <= 3, "{inside}: the shell, ls and grep");
    let outside: usize = text(&ground.sh_outside(count).stdout).parse().unwrap();
    assert!(outside > inside);

    let caller = format!("test -e /proc/{}/status", std::process::id());
    assert_ne!(ground.sh(&caller).ended, Ended::Exited(0));
    assert!(ground.sh_outside(&caller).status.success());
    assert_ne!(ground.sh("cat /proc/1/cmdline").ended, Ended::Exited(0), "not even the init");
    Shown::Held
}

fn read_an_inherited_descriptor(ground: &Ground) -> Shown {
    let secret = std::fs::File::open(&ground.secret).unwrap();
    // SAFETY: dup makes a descriptor that is inherited; it lives as long as this case.
    let inherited = unsafe { libc::dup(secret.as_raw_fd()) };
    assert!(inherited > 2);
    let script = format!("cat /proc/self/fd/{inherited} <&{inherited}");
    let inside = ground.sh(&script);
    assert_ne!(inside.ended, Ended::Exited(0));
    assert_eq!(text(&inside.stdout), "");
    assert_eq!(text(&ground.sh_outside(&script).stdout), SECRET);

    needs_python!();
    let list = ground.python(
        "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))",
    );
    // The fourth is the directory that is being listed.
    assert_eq!(text(&list.stdout), "[0, 1, 2] 4");
    Shown::Held
}

fn read_the_callers_environment(ground: &Ground) -> Shown {
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("SILAS_ESCAPE", SECRET) };
    let script = "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; true";
    let inside = text(&ground.sh(script).stdout);
    assert!(!inside.contains(SECRET), "{inside}");
    assert!(inside.contains("HOME=/tmp"), "its own is there: {inside}");
    assert!(text(&ground.sh_outside("env").stdout).contains(SECRET));
    Shown::Held
}

fn trace_another_process(ground: &Ground) -> Shown {
    needs_python!();
    let traceme =
        "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); print(c.ptrace(0, 0, 0, 0), ctypes.get_errno())";
    assert_eq!(text(&ground.python(traceme).stdout), "-1 1");
    assert_eq!(text(&ground.python_outside(traceme).stdout), "0 0");
    for path in ["mem", "environ", "maps", "fd/0", "root/"] {
        let code = format!("open('/proc/1/{path}', 'rb')");
        assert_eq!(ground.python(&code).ended, Ended::Exited(1), "{path}");
    }
    Shown::Held
}

fn kill_the_init(ground: &Ground) -> Shown {
    let inside = ground.sh("kill -9 1; kill -TERM 1; kill -HUP 1; sleep 0.1; echo still here; exit 3");
    assert_eq!(text(&inside.stdout), "still here");
    assert_eq!(inside.ended, Ended::Exited(3));
    Shown::Held
}

fn survive_by_a_double_fork(ground: &Ground) -> Shown {
    let sleeper = marker(1);
    let script =
        format!("(setsid sh -c 'setsid sleep {sleeper} & ' &) ; sleep 0.2; cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
    let inside = ground.sh(&script);
    assert!(text(&inside.stdout).contains(&format!("sleep {sleeper}")), "it was there while the program ran");
    assert_eq!(processes_with(&sleeper), Vec::<i32>::new());
    Shown::Held
}

fn survive_the_caller(ground: &Ground) -> Shown {
    let sleeper = marker(2);
    // SAFETY: this process has one thread.
    let caller = unsafe { libc::fork() };
    if caller == 0 {
        ground.sh(&format!("setsid sleep {sleeper} & sleep {sleeper}"));
        std::process::exit(0);
    }
    eventually("the program runs", || processes_with(&format!("sleep\0{sleeper}")).len() == 2);
    // SAFETY: a child of ours that has not been waited for.
    unsafe {
        libc::kill(caller, libc::SIGKILL);
        libc::waitpid(caller, std::ptr::null_mut(), 0);
    }
    eventually("nothing of it is left", || processes_with(&sleeper).is_empty());
    Shown::Held
}

fn survive_being_cancelled(ground: &Ground) -> Shown {
    let sleeper = marker(3);
    let (cancel, holder) = std::io::pipe().unwrap();
    // SAFETY: this process has one thread.
    if unsafe { libc::fork() } == 0 {
        // Holds the other end until the program runs; then both are gone and the caller sees a hang-up.
        eventually("the program runs", || !processes_with(&format!("sleep\0{sleeper}")).is_empty());
        std::process::exit(0);
    }
    drop(holder);
    let result = cell::run(&ground.spec(&["/bin/sleep", &sleeper]), Some(cancel.as_fd()));
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert_eq!(processes_with(&sleeper), Vec::<i32>::new());
    Shown::Held
}
