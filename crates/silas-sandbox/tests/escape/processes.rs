//! Other processes: seeing them, their descriptors, environment and memory, and outliving the run.

use crate::ground::{Ground, SECRET, double_fork, eventually, marker, processes_with, text};
use crate::identity::Identity;
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
    ("see_the_callers_keys", see_the_callers_keys),
    ("write_another_process_memory", write_another_process_memory),
    ("write_through_proc_mem", write_through_proc_mem),
    ("kill_a_process_of_the_host", kill_a_process_of_the_host),
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

/// The kernel lists whatever keys a process could have; a session's keys are inherited like descriptors.
fn see_the_callers_keys(ground: &Ground) -> Shown {
    // SAFETY: constant strings with their length; the keyring is this process's own.
    let key = unsafe {
        libc::syscall(libc::SYS_keyctl, 1, 0);
        let (kind, name) = (c"user".as_ptr(), c"silas-escape-key".as_ptr());
        libc::syscall(libc::SYS_add_key, kind, name, SECRET.as_ptr(), SECRET.len(), -3)
    };
    if key < 0 {
        return Shown::Skipped(format!("no keys here: {}", std::io::Error::last_os_error()));
    }
    assert!(!text(&ground.sh("cat /proc/keys").stdout).contains("silas-escape-key"));
    match text(&ground.sh_outside("cat /proc/keys").stdout).contains("silas-escape-key") {
        true => Shown::Held,
        false => Shown::NoControl("this kernel lists no keys".to_owned()),
    }
}

fn write_another_process_memory(ground: &Ground) -> Shown {
    needs_python!();
    // Into a child of its own, which nothing but the filter forbids.
    let code = format!(
        "import ctypes, os, signal
c = ctypes.CDLL(None, use_errno=True); b = ctypes.create_string_buffer(b'old'); n = ctypes.create_string_buffer(b'new')
child = os.fork()
if child == 0: signal.pause()
class V(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]
local, remote = V(ctypes.addressof(n), 3), V(ctypes.addressof(b), 3)
print(c.syscall({}, child, ctypes.byref(local), ctypes.c_ulong(1), ctypes.byref(remote), ctypes.c_ulong(1), ctypes.c_ulong(0)))
os.kill(child, 9)",
        libc::SYS_process_vm_writev
    );
    assert_eq!(text(&ground.python(&code).stdout), "-1");
    match text(&ground.python_outside(&code).stdout).as_str() {
        "3" => Shown::Held,
        other => Shown::NoControl(format!("it answers {other} outside, where tracing is restricted too")),
    }
}

fn write_through_proc_mem(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import os, signal
child = os.fork()
if child == 0: signal.pause()
for path in (f'/proc/{child}/mem', '/proc/self/mem', '/proc/1/mem'):
    try: os.close(os.open(path, os.O_RDWR)); print('opened')
    except OSError: print('refused')
os.kill(child, 9)";
    assert_eq!(text(&ground.python(code).stdout), "refused\nrefused\nrefused");
    let outside = text(&ground.python_outside(code).stdout);
    assert!(outside.contains("opened"), "{outside}");
    Shown::Held
}

/// A process under the very user id that the cell has on the host.
fn kill_a_process_of_the_host(ground: &Ground) -> Shown {
    let mut victim = std::process::Command::new("/bin/sleep");
    victim.arg(marker(10));
    if ground.identity == Identity::Root {
        std::os::unix::process::CommandExt::uid(&mut victim, 65534);
    }
    let mut victim = victim.spawn().unwrap();
    let pid = victim.id();
    let script = format!("kill -9 {pid}; kill -9 -{pid}; kill -9 -- -1; kill -9 {}; true", std::process::id());
    ground.sh(&script);
    assert!(victim.try_wait().unwrap().is_none(), "it lives");
    assert!(ground.sh_outside(&format!("kill -9 {pid}")).status.success());
    assert!(!victim.wait().unwrap().success());
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
    ground.sh(&double_fork(&sleeper));
    assert!(ground.project.join("begun").exists(), "it was there while the program ran");
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
