//! What is missing is named, and nothing runs with less.

use crate::ground::{Ground, refusal};
use crate::identity::Identity;
use crate::runner::{Case, Shown};
use silas_sandbox::cell::{Mount, MountAccess};
use std::path::PathBuf;

pub(crate) const CASES: &[Case] = &[
    ("a_missing_program", a_missing_program),
    ("a_wrong_spec", a_wrong_spec),
    ("a_second_thread", a_second_thread),
    ("no_user_namespaces", no_user_namespaces),
    ("a_masked_proc", a_masked_proc),
    ("a_file_system_without_idmapped_mounts", a_file_system_without_idmapped_mounts),
];

fn a_missing_program(ground: &Ground) -> Shown {
    for program in ["/usr/bin/no-such-program", "no-such-program", "/usr", "./private.txt"] {
        let error = refusal(&ground.spec(&[program]));
        assert_eq!(error.code(), "E_SANDBOX_PROGRAM", "{error}");
        assert!(error.to_string().contains(program), "{error}");
    }
    Shown::Held
}

fn a_wrong_spec(ground: &Ground) -> Shown {
    assert_eq!(refusal(&ground.spec(&[])).code(), "E_SANDBOX_SPEC");
    assert_eq!(refusal(&ground.spec(&["/bin/echo", "a\0b"])).code(), "E_SANDBOX_SPEC");
    let mut spec = ground.spec(&["/bin/true"]);
    spec.env.push(("A=B".to_owned(), String::new()));
    assert_eq!(refusal(&spec).code(), "E_SANDBOX_SPEC");
    let mut spec = ground.spec(&["/bin/true"]);
    spec.cwd = ground.outside.clone();
    assert_eq!(refusal(&spec).code(), "E_SANDBOX_CWD");
    for (source, target) in [("/nowhere", "/srv"), ("relative", "/srv"), ("/usr", "/proc/x"), ("/dev/null", "/srv")] {
        let mut spec = ground.spec(&["/bin/true"]);
        let (source, target) = (PathBuf::from(source), PathBuf::from(target));
        spec.mounts.push(Mount { source, target, access: MountAccess::ReadOnly });
        assert_eq!(refusal(&spec).code(), "E_SANDBOX_MOUNT");
    }
    Shown::Held
}

fn a_second_thread(ground: &Ground) -> Shown {
    let (quit, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv().is_err());
    assert_eq!(refusal(&ground.spec(&["/bin/true"])).code(), "E_SANDBOX_THREADS");
    drop(quit);
    assert!(thread.join().unwrap());
    Shown::Held
}

/// Puts this process into namespaces of its own, under the user id that it has.
fn separate(flags: libc::c_int) {
    // SAFETY: no arguments; this process has one thread.
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    // SAFETY: only flags are passed.
    assert_eq!(unsafe { libc::unshare(flags) }, 0);
    if flags & libc::CLONE_NEWUSER != 0 {
        std::fs::write("/proc/self/setgroups", "deny").unwrap();
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).unwrap();
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).unwrap();
    }
}

fn no_user_namespaces(ground: &Ground) -> Shown {
    separate(libc::CLONE_NEWUSER);
    // This switch counts per user namespace, so only this process sees it.
    std::fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
    let error = refusal(&ground.spec(&["/bin/true"]));
    assert_eq!(error.code(), "E_SANDBOX_USERNS", "{error}");
    assert!(error.to_string().contains("sysctl user.max_user_namespaces"), "{error}");
    Shown::Held
}

fn a_masked_proc(ground: &Ground) -> Shown {
    let own_user = if ground.identity == Identity::Root { 0 } else { libc::CLONE_NEWUSER };
    separate(own_user | libc::CLONE_NEWNS);
    // SAFETY: constant strings; the mounts are in this process's own namespace. This is what containers do.
    unsafe {
        let (none, root, target) = (c"none".as_ptr(), c"/".as_ptr(), c"/proc/tty".as_ptr());
        let null = std::ptr::null::<libc::c_void>();
        assert_eq!(libc::mount(none, root, null.cast(), libc::MS_REC | libc::MS_PRIVATE, null), 0);
        assert_eq!(libc::mount(none, target, c"tmpfs".as_ptr(), 0, null), 0);
    }
    let error = refusal(&ground.spec(&["/bin/true"]));
    assert_eq!(error.code(), "E_SANDBOX_PROC", "{error}");
    Shown::Held
}

fn a_file_system_without_idmapped_mounts(ground: &Ground) -> Shown {
    if ground.identity == Identity::Ordinary {
        return Shown::Skipped("an ordinary user needs no idmapped mounts".to_owned());
    }
    let mut spec = ground.spec(&["/bin/true"]);
    let source = PathBuf::from("/proc/tty");
    spec.mounts.push(Mount { source, target: PathBuf::from("/srv"), access: MountAccess::ReadOnly });
    let error = refusal(&spec);
    assert_eq!(error.code(), "E_SANDBOX_IDMAP", "{error}");
    assert!(error.to_string().contains("ordinary user"), "{error}");
    Shown::Held
}
