//! The kernel's own switches, privileges, namespaces and system calls.

use crate::ground::{Ground, Identity, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("write_core_pattern", write_core_pattern),
    ("pull_the_sysrq_trigger", pull_the_sysrq_trigger),
    ("mount_something", mount_something),
    ("make_a_user_namespace", make_a_user_namespace),
    ("make_a_user_namespace_by_clone", make_a_user_namespace_by_clone),
    ("change_the_root", change_the_root),
    ("gain_by_a_set_uid_program", gain_by_a_set_uid_program),
    ("have_capabilities", have_capabilities),
    ("use_io_uring", use_io_uring),
    ("call_what_is_refused", call_what_is_refused),
    ("call_by_x32_numbers", call_by_x32_numbers),
    ("call_by_32_bit_entry", call_by_32_bit_entry),
];

/// Opening for writing, without writing: as root that would be enough, and it is harmless.
fn check_kernel_file(ground: &Ground, path: &str) -> Shown {
    needs_python!();
    let code = format!("import os; os.close(os.open('{path}', os.O_WRONLY))");
    assert_eq!(ground.python(&code).ended, Ended::Exited(1), "{path}");
    if ground.identity == Identity::Root && !ground.python_outside(&code).status.success() {
        return Shown::Skipped(format!("refused inside, but {path} cannot be opened for writing outside either"));
    }
    Shown::Held
}

fn write_core_pattern(ground: &Ground) -> Shown {
    let before = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    let inside = ground.sh("echo '|/tmp/evil' > /proc/sys/kernel/core_pattern");
    assert_ne!(inside.ended, Ended::Exited(0));
    assert_eq!(std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap(), before);
    check_kernel_file(ground, "/proc/sys/kernel/core_pattern")
}

fn pull_the_sysrq_trigger(ground: &Ground) -> Shown {
    if !std::path::Path::new("/proc/sysrq-trigger").exists() {
        return Shown::Skipped("this kernel has no /proc/sysrq-trigger".to_owned());
    }
    check_kernel_file(ground, "/proc/sysrq-trigger")
}

fn mount_something(ground: &Ground) -> Shown {
    for script in ["mount -t tmpfs none /tmp", "mount --bind /tmp .", "mount -o remount,rw /usr", "umount /proc/sys"] {
        assert_ne!(ground.sh(script).ended, Ended::Exited(0), "{script}");
    }
    assert!(ground.sh_outside("unshare -Urm mount -t tmpfs none /tmp").status.success());
    Shown::Held
}

fn make_a_user_namespace(ground: &Ground) -> Shown {
    for script in ["unshare -U true", "unshare -Ur true", "unshare -n true", "nsenter -t $$ -U true"] {
        assert_ne!(ground.sh(script).ended, Ended::Exited(0), "{script}");
    }
    assert!(ground.sh_outside("unshare -Ur true").status.success());
    Shown::Held
}

fn make_a_user_namespace_by_clone(ground: &Ground) -> Shown {
    needs_python!();
    if !cfg!(target_arch = "x86_64") {
        return Shown::Skipped("the numbers are those of x86-64".to_owned());
    }
    let code = "import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
pid = c.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
print(pid if pid < 0 else 'made', ctypes.get_errno())";
    assert_eq!(text(&ground.python(code).stdout), "-1 1");
    assert_eq!(text(&ground.python_outside(code).stdout), "made 0");
    Shown::Held
}

fn change_the_root(ground: &Ground) -> Shown {
    needs_python!();
    assert_ne!(ground.sh("chroot / true").ended, Ended::Exited(0));
    assert!(ground.sh_outside("unshare -Ur chroot / true").status.success());
    // Not for want of privilege only: the call itself is refused before the kernel looks at its argument.
    let code = "import ctypes; c = ctypes.CDLL(None, use_errno=True); c.chroot(0); print(ctypes.get_errno())";
    assert_eq!(text(&ground.python(code).stdout), "1");
    Shown::Held
}

fn gain_by_a_set_uid_program(ground: &Ground) -> Shown {
    let program = ground.set_uid_program.to_str().unwrap();
    let inside = ground.cell(&[program, "-u"]);
    assert_eq!((text(&inside.stdout).as_str(), inside.ended), ("1000", Ended::Exited(0)));
    let mut control = Command::new("/usr/bin/setpriv");
    if ground.identity == Identity::Root {
        control.args(["--reuid", "65534", "--clear-groups"]);
    }
    match control.args([program, "-u"]).output() {
        Ok(output) if text(&output.stdout) == "0" => Shown::Held,
        other => Shown::Skipped(format!("it gained nothing inside, but nothing outside either: {other:?}")),
    }
}

fn have_capabilities(ground: &Ground) -> Shown {
    let status = text(&ground.sh("cat /proc/self/status").stdout);
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {status}"));
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!(field("NoNewPrivs"), "1");
    assert_eq!(field("Seccomp:"), "2");
    assert_eq!(field("Uid"), "1000 1000 1000 1000");
    assert_eq!(field("Gid"), "1000 1000 1000 1000");
    let map = text(&ground.sh("cat /proc/self/uid_map").stdout);
    // The map shows host ids as the reader's own namespace has them; ours is the one with a single id.
    assert_eq!(map.split_whitespace().next(), Some("1000"), "{map}");
    assert_eq!(map.split_whitespace().last(), Some("1"), "{map}");
    if ground.identity == Identity::Root {
        // What the host sees: a program that a root caller started is not root.
        let owner = seen_from_outside(ground);
        assert_eq!(owner, "65534 65534 65534 65534");
    }
    Shown::Held
}

/// The user ids that the host sees of a program while it runs.
fn seen_from_outside(ground: &Ground) -> String {
    use crate::ground::{eventually, marker, processes_with};
    let sleeper = marker(9);
    let needle = format!("sleep\0{sleeper}");
    let (cancel, holder) = std::io::pipe().unwrap();
    let (mut answer, mut teller) = std::io::pipe().unwrap();
    // SAFETY: this process has one thread.
    if unsafe { libc::fork() } == 0 {
        eventually("the program runs", || !processes_with(&needle).is_empty());
        let pid = processes_with(&needle)[0];
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let uid = status.lines().find(|line| line.starts_with("Uid")).unwrap();
        let words: Vec<_> = uid.split_whitespace().skip(1).collect();
        std::io::Write::write_all(&mut teller, words.join(" ").as_bytes()).unwrap();
        std::process::exit(0);
    }
    drop((holder, teller));
    let spec = ground.spec(&["/bin/sleep", &sleeper]);
    let ended = silas_sandbox::cell::run(&spec, Some(std::os::fd::AsFd::as_fd(&cancel)));
    assert!(matches!(ended, Err(silas_sandbox::cell::Error::Cancelled)), "{ended:?}");
    let mut owner = String::new();
    std::io::Read::read_to_string(&mut answer, &mut owner).unwrap();
    owner
}

/// Prints the error number that a system call with harmless, wrong arguments gives.
fn errno_of(call: i64, arguments: &str) -> String {
    format!(
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall({call}, {arguments}); print(ctypes.get_errno())"
    )
}

fn use_io_uring(ground: &Ground) -> Shown {
    needs_python!();
    let code = errno_of(libc::SYS_io_uring_setup, "0, 0");
    assert_eq!(text(&ground.python(&code).stdout), libc::ENOSYS.to_string());
    match text(&ground.python_outside(&code).stdout).parse::<i32>().unwrap() {
        libc::ENOSYS | libc::EPERM => Shown::Skipped("missing inside, but this kernel has no io_uring".to_owned()),
        _ => Shown::Held,
    }
}

fn call_what_is_refused(ground: &Ground) -> Shown {
    needs_python!();
    // Arguments that the kernel itself would answer with something other than EPERM, or that an ordinary user may use.
    let refused = [
        (libc::SYS_keyctl, "0, -3, 0"),
        (libc::SYS_add_key, "0, 0, 0, 0, 0"),
        (libc::SYS_process_vm_readv, "0, 0, 0, 0, 0, 0"),
        (libc::SYS_personality, "0x0040000"),
        (libc::SYS_name_to_handle_at, "-100, 0, 0, 0, 0"),
        (libc::SYS_pidfd_getfd, "-1, 0, 0"),
        (libc::SYS_unshare, "0"),
        (libc::SYS_setns, "-1, 0"),
        (libc::SYS_kcmp, "0, 0, 99, 0, 0"),
        (libc::SYS_ioctl, "-1, 0x5412, 0"),
        (libc::SYS_ioctl, "-1, 0x700005412, 0"),
    ];
    for (call, arguments) in refused {
        let code = errno_of(call, arguments);
        let inside = text(&ground.python(&code).stdout);
        assert_eq!(inside, libc::EPERM.to_string(), "call {call} ({arguments})");
        let outside = text(&ground.python_outside(&code).stdout);
        assert_ne!(outside, libc::EPERM.to_string(), "the control of call {call} ({arguments})");
    }
    let allowed = errno_of(libc::SYS_personality, "0");
    assert_eq!(text(&ground.python(&allowed).stdout), "0");
    Shown::Held
}

fn call_by_x32_numbers(ground: &Ground) -> Shown {
    needs_python!();
    if !cfg!(target_arch = "x86_64") {
        return Shown::Skipped("only x86-64 has x32".to_owned());
    }
    // getpid; where the kernel was built without x32 it is a wrong number, which harms nobody outside.
    let code = errno_of(0x4000_0000 + libc::SYS_getpid, "0");
    assert_eq!(ground.python(&code).ended, Ended::Signalled(libc::SIGSYS));
    assert!(ground.python_outside(&code).status.success());
    assert_eq!(text(&ground.python(&errno_of(-1, "0")).stdout), libc::ENOSYS.to_string(), "-1 is no call");
    Shown::Held
}

fn call_by_32_bit_entry(ground: &Ground) -> Shown {
    needs_python!();
    if !cfg!(target_arch = "x86_64") {
        return Shown::Skipped("the machine code is that of x86-64".to_owned());
    }
    // mov eax, 20 (getpid); int 0x80; ret
    let code = "import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print('pid', call() > 0, flush=True)";
    let inside = ground.python(code);
    let outside = ground.python_outside(code);
    if text(&outside.stdout) != "pid True" {
        assert!(matches!(inside.ended, Ended::Signalled(_)), "{:?}", inside.ended);
        return Shown::Skipped("ended inside, but this kernel has no 32-bit entry".to_owned());
    }
    assert_eq!(inside.ended, Ended::Signalled(libc::SIGSYS));
    Shown::Held
}
