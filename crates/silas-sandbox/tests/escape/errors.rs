//! What is missing is named, and nothing runs with less.

use crate::ground::{Ground, own_user_namespace, refusal, run, separate};
use crate::identity::Identity;
use crate::runner::{Case, Shown};
use silas_sandbox::cell::{Mount, MountAccess};
use std::path::PathBuf;

pub(crate) const CASES: &[Case] = &[
    ("a_missing_program", a_missing_program),
    ("a_wrong_spec", a_wrong_spec),
    ("no_time_at_all", no_time_at_all),
    ("a_directory_that_cannot_be_granted", a_directory_that_cannot_be_granted),
    ("output_that_is_not_text", output_that_is_not_text),
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

fn no_time_at_all(ground: &Ground) -> Shown {
    let mut spec = ground.spec(&["/bin/sh", "-c", "echo ran > ran"]);
    spec.limits.wall = std::time::Duration::ZERO;
    let error = refusal(&spec);
    assert_eq!(error.code(), "E_SANDBOX_SPEC", "{error}");
    assert!(error.to_string().contains("time limit is zero"), "{error}");
    assert!(!ground.project.join("ran").exists());
    Shown::Held
}

fn a_directory_that_cannot_be_granted(ground: &Ground) -> Shown {
    let grant = |source: PathBuf, target: &str| {
        let mut spec = ground.spec(&["/bin/true"]);
        spec.mounts.push(Mount { source, target: PathBuf::from(target), access: MountAccess::ReadOnly });
        refusal(&spec)
    };
    // The whole machine, in whatever place; something of the kernel's; and what is no directory.
    for (source, target, word) in [
        ("/", "/", "whole machine"),
        ("/", "/srv", "whole machine"),
        ("/usr/share", "/dev/shm", "belongs to the sandbox"),
        ("/usr/share", "/srv/../proc", "`..`"),
    ] {
        let error = grant(PathBuf::from(source), target);
        assert_eq!(error.code(), "E_SANDBOX_MOUNT", "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    if ground.identity == Identity::Ordinary {
        // Behind a directory that this user may not search.
        let hidden = ground.outside.join("closed/inner");
        std::fs::create_dir_all(&hidden).unwrap();
        let closed = ground.outside.join("closed");
        std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        let error = grant(hidden, "/srv");
        std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(error.code(), "E_SANDBOX_MOUNT", "{error}");
        assert!(error.to_string().contains("Permission denied"), "{error}");
    }
    Shown::Held
}

fn output_that_is_not_text(ground: &Ground) -> Shown {
    let outcome = run(&ground.spec(&["/bin/sh", "-c", r"printf '\000\001\377\376\033[2J\r\n'"]));
    assert_eq!(outcome.stdout, b"\0\x01\xff\xfe\x1b[2J\r\n");
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

fn no_user_namespaces(ground: &Ground) -> Shown {
    own_user_namespace();
    // This switch counts per user namespace, so only this process sees it.
    std::fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
    let error = refusal(&ground.spec(&["/bin/true"]));
    assert_eq!(error.code(), "E_SANDBOX_USERNS", "{error}");
    assert!(error.to_string().contains("sysctl user.max_user_namespaces"), "{error}");
    Shown::Held
}

fn a_masked_proc(ground: &Ground) -> Shown {
    separate(ground.identity, libc::CLONE_NEWNS);
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
