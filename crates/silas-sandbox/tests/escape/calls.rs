//! System calls that nobody inside needs, and other doors to the same calls.

use crate::ground::{Ground, PYTHON, SECRET, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;

pub(crate) const CASES: &[Case] = &[
    ("call_what_is_refused", call_what_is_refused),
    ("use_io_uring", use_io_uring),
    ("call_by_x32_numbers", call_by_x32_numbers),
    ("call_by_32_bit_entry", call_by_32_bit_entry),
    ("execute_from_memory", execute_from_memory),
];

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
        libc::ENOSYS | libc::EPERM => Shown::NoControl("missing inside, but this kernel has no io_uring".to_owned()),
        _ => Shown::Held,
    }
}

/// Arguments that the kernel itself would answer with something other than EPERM, and that do no harm outside: wrong
/// pointers, wrong numbers.
const REFUSED: &[(&str, i64, &str)] = &[
    ("keyctl", libc::SYS_keyctl, "0, -3, 0"),
    ("add_key", libc::SYS_add_key, "0, 0, 0, 0, 0"),
    ("request_key", libc::SYS_request_key, "0, 0, 0, 0"),
    ("bpf", libc::SYS_bpf, "-1, 0, 0"),
    ("perf_event_open", libc::SYS_perf_event_open, "0, 0, -1, -1, 0"),
    ("userfaultfd", libc::SYS_userfaultfd, "-1"),
    ("process_vm_readv", libc::SYS_process_vm_readv, "0, 0, 0, 0, 0, 0"),
    ("process_vm_writev", libc::SYS_process_vm_writev, "0, 0, 0, 0, 0, 0"),
    ("process_madvise", libc::SYS_process_madvise, "-1, 0, 0, 0, 0"),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, "-1, 0, 0"),
    ("kcmp", libc::SYS_kcmp, "0, 0, 99, 0, 0"),
    ("personality", libc::SYS_personality, "0x0040000"),
    ("name_to_handle_at", libc::SYS_name_to_handle_at, "-100, 0, 0, 0, 0"),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, "-1, 0, 0"),
    ("unshare", libc::SYS_unshare, "0"),
    ("setns", libc::SYS_setns, "-1, 0"),
    ("mount", libc::SYS_mount, "1, 1, 1, 0, 0"),
    ("umount2", libc::SYS_umount2, "1, 0"),
    ("pivot_root", libc::SYS_pivot_root, "1, 1"),
    ("chroot", libc::SYS_chroot, "1"),
    ("open_tree", libc::SYS_open_tree, "-1, 0, 0"),
    ("open_tree_attr", 467, "-1, 0, 0, 0, 0"),
    ("move_mount", libc::SYS_move_mount, "-1, 0, -1, 0, 0"),
    ("mount_setattr", libc::SYS_mount_setattr, "-1, 0, 0, 0, 0"),
    ("fsopen", libc::SYS_fsopen, "0, 0"),
    ("fsconfig", libc::SYS_fsconfig, "-1, 0, 0, 0, 0"),
    ("fsmount", libc::SYS_fsmount, "-1, 0, 0"),
    ("fspick", libc::SYS_fspick, "-1, 0, 0"),
    ("fanotify_init", libc::SYS_fanotify_init, "-1, 0"),
    ("quotactl", libc::SYS_quotactl, "-1, 0, 0, 0"),
    ("swapon", libc::SYS_swapon, "1, 0"),
    ("swapoff", libc::SYS_swapoff, "1"),
    ("syslog", libc::SYS_syslog, "-1, 0, 0"),
    ("acct", libc::SYS_acct, "1"),
    ("reboot", libc::SYS_reboot, "0, 0, 0, 0"),
    ("kexec_load", libc::SYS_kexec_load, "0, 0, 0, -1"),
    ("init_module", libc::SYS_init_module, "0, 0, 0"),
    ("finit_module", libc::SYS_finit_module, "-1, 0, 0"),
    ("delete_module", libc::SYS_delete_module, "0, 0"),
    ("settimeofday", libc::SYS_settimeofday, "1, 0"),
    ("clock_settime", libc::SYS_clock_settime, "99, 0"),
    ("sethostname", libc::SYS_sethostname, "0, -1"),
    ("setdomainname", libc::SYS_setdomainname, "0, -1"),
    ("TIOCSTI", libc::SYS_ioctl, "-1, 0x5412, 0"),
    ("TIOCSTI with more bits", libc::SYS_ioctl, "-1, 0x700005412, 0"),
    ("TIOCLINUX", libc::SYS_ioctl, "-1, 0x541c, 0"),
    #[cfg(target_arch = "x86_64")]
    ("modify_ldt", libc::SYS_modify_ldt, "99, 0, 0"),
    #[cfg(target_arch = "x86_64")]
    ("iopl", libc::SYS_iopl, "99"),
    #[cfg(target_arch = "x86_64")]
    ("ioperm", libc::SYS_ioperm, "-1, -1, 99"),
];

/// One line for each of [`REFUSED`]: its name and the error that it gives.
fn errors_of_all() -> String {
    let calls: String = REFUSED.iter().map(|(name, call, args)| format!("('{name}', {call}, [{args}]),")).collect();
    format!(
        "import ctypes; c = ctypes.CDLL(None, use_errno=True)
for name, call, args in [{calls}]:
    ctypes.set_errno(0); c.syscall(call, *map(ctypes.c_long, args)); print(ctypes.get_errno(), name)"
    )
}

fn call_what_is_refused(ground: &Ground) -> Shown {
    needs_python!();
    let code = errors_of_all();
    let inside = text(&ground.python(&code).stdout);
    let refused: Vec<String> = REFUSED.iter().map(|(name, ..)| format!("{} {name}", libc::EPERM)).collect();
    assert_eq!(inside.lines().collect::<Vec<_>>(), refused);
    let allowed = errno_of(libc::SYS_personality, "0");
    assert_eq!(text(&ground.python(&allowed).stdout), "0");
    let lines = |output: &[u8]| text(output).lines().map(str::to_owned).collect::<Vec<_>>();
    let outside = lines(&ground.python_outside(&code).stdout);
    // What takes more than an ordinary user has is shown in throwaway namespaces, where everybody has it.
    std::fs::write(ground.project.join("calls.py"), &code).unwrap();
    let throwaway = lines(&ground.sh_outside(&format!("unshare -Urmn {PYTHON} calls.py")).stdout);
    assert_eq!((outside.len(), throwaway.len()), (REFUSED.len(), REFUSED.len()));
    let is_refused_everywhere = |line: &&String| outside.contains(line) && throwaway.contains(line);
    let same: Vec<&str> =
        refused.iter().filter(is_refused_everywhere).filter_map(|line| line.split(' ').nth(1)).collect();
    assert!(same.len() < REFUSED.len() / 2, "{same:?}");
    match same.is_empty() {
        true => Shown::Held,
        // The others have theirs.
        false => Shown::NoControl(format!("this user and kernel refuse these outside as well: {}", same.join(", "))),
    }
}

/// A program that never was a file is confined like any other.
fn execute_from_memory(ground: &Ground) -> Shown {
    needs_python!();
    let code = format!(
        "import os, shutil
fd = os.memfd_create('hidden', 0)
shutil.copyfileobj(open('/bin/sh', 'rb'), os.fdopen(os.dup(fd), 'wb'))
os.execve(fd, ['hidden', '-c', 'echo runs; cat {0}; cp /bin/true left && chmod 4755 left && echo left; unshare -Ur true && echo new'], {{'PATH': '/usr/bin:/bin'}})",
        ground.secret.display()
    );
    assert_eq!(text(&ground.python(&code).stdout), "runs");
    let outside = text(&ground.python_outside(&code).stdout);
    assert!(outside.contains(SECRET) && outside.contains("left") && outside.contains("new"), "{outside}");
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
        return Shown::NoControl("ended inside, but this kernel has no 32-bit entry".to_owned());
    }
    assert_eq!(inside.ended, Ended::Signalled(libc::SIGSYS));
    Shown::Held
}
