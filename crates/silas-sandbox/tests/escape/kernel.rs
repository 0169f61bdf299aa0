//! The kernel's own switches, privileges, namespaces and system calls.

use crate::ground::{Ground, text};
use crate::identity::Identity;
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("write_core_pattern", write_core_pattern),
    ("pull_the_sysrq_trigger", pull_the_sysrq_trigger),
    ("write_any_switch_in_proc", write_any_switch_in_proc),
    ("use_sys", use_sys),
    ("write_control_group_files", write_control_group_files),
    ("mount_something", mount_something),
    ("make_a_user_namespace", make_a_user_namespace),
    ("make_a_user_namespace_by_clone", make_a_user_namespace_by_clone),
    ("change_the_root", change_the_root),
    ("gain_by_a_set_uid_program", gain_by_a_set_uid_program),
    ("gain_by_a_file_capability", gain_by_a_file_capability),
    ("have_capabilities", have_capabilities),
    ("run_before_everybody_else", run_before_everybody_else),
];

/// Opening for writing, without writing: as root that would be enough, and it is harmless.
fn check_kernel_file(ground: &Ground, path: &str) -> Shown {
    needs_python!();
    let code = format!("import os; os.close(os.open('{path}', os.O_WRONLY))");
    assert_eq!(ground.python(&code).ended, Ended::Exited(1), "{path}");
    if ground.identity == Identity::Root && !ground.python_outside(&code).status.success() {
        return Shown::NoControl(format!("{path} cannot be opened for writing outside either"));
    }
    if ground.identity == Identity::Ordinary {
        return Shown::NoControl("only root may write it outside".to_owned());
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

/// Everything in `/proc` that is not about a process, opened for writing and closed again.
fn write_any_switch_in_proc(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import os
opened = []
for top, dirs, files in os.walk('/proc'):
    if top == '/proc': dirs[:] = [d for d in dirs if not d.isdigit() and d not in ('self', 'thread-self')]
    for name in files:
        path = os.path.join(top, name)
        if not os.path.isfile(path) or os.path.islink(path): continue
        try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)); opened.append(path)
        except OSError: pass
print(len(opened), opened[:5])";
    let inside = ground.python(code);
    assert_eq!(text(&inside.stdout), "0 []", "{}", text(&inside.stderr));
    let outside = text(&ground.python_outside(code).stdout);
    if outside.starts_with("0 ") {
        return Shown::NoControl("this user can open none outside either".to_owned());
    }
    Shown::Held
}

fn use_sys(ground: &Ground) -> Shown {
    for script in ["ls /sys", "cat /sys/kernel/notes", "echo 1 > /sys/kernel/profiling", "ls /proc/1/root/sys"] {
        let inside = ground.sh(script);
        assert_ne!(inside.ended, Ended::Exited(0), "{script}");
    }
    assert!(ground.sh_outside("ls /sys").status.success());
    Shown::Held
}

/// A release agent or a list of processes, wherever the host has its control groups.
fn write_control_group_files(ground: &Ground) -> Shown {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let is_group = |line: &&str| line.contains(" - cgroup ") || line.contains(" - cgroup2 ");
    let places = mounts.lines().filter(is_group).filter_map(|line| line.split(' ').nth(4));
    let files: Vec<String> = (places
        .flat_map(|place| [format!("{place}/cgroup.procs"), format!("{place}/release_agent")]))
    .filter(|file| std::path::Path::new(file).exists())
    .collect();
    if files.is_empty() {
        return Shown::Skipped("this system has no control groups mounted".to_owned());
    }
    let script = |file: &str| format!(": >> {file}");
    for file in &files {
        assert_ne!(ground.sh(&script(file)).ended, Ended::Exited(0), "{file}");
        assert_ne!(ground.sh(&format!("cat {file}")).ended, Ended::Exited(0), "{file}");
    }
    match files.iter().any(|file| ground.sh_outside(&script(file)).status.success()) {
        true => Shown::Held,
        false => Shown::NoControl("this user can open none for writing outside either".to_owned()),
    }
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
        other => Shown::NoControl(format!("it gains nothing outside either: {other:?}")),
    }
}

fn gain_by_a_file_capability(ground: &Ground) -> Shown {
    if !ground.is_capable_program_made {
        return Shown::Skipped("only root can make such a file".to_owned());
    }
    let program = ground.capable_program.to_str().unwrap();
    let held = |status: &str| !status.contains("CapEff:\t0000000000000000");
    let inside = ground.cell(&[program, "/proc/self/status"]);
    assert_eq!((held(&text(&inside.stdout)), inside.ended), (false, Ended::Exited(0)));
    let mut control = Command::new("/usr/bin/setpriv");
    if ground.identity == Identity::Root {
        let top = ground.library.parent().unwrap();
        std::fs::set_permissions(top, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        control.args(["--reuid", "65534", "--clear-groups"]);
    }
    match control.args([program, "/proc/self/status"]).output() {
        Ok(output) if output.status.success() && held(&text(&output.stdout)) => Shown::Held,
        other => Shown::NoControl(format!("it gains nothing outside either: {other:?}")),
    }
}

/// Real-time scheduling and a higher priority would starve the machine.
fn run_before_everybody_else(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import os
def tried(f):
    try: f(); return True
    except OSError: return False
print(tried(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)), tried(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))),
      tried(lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))))";
    assert_eq!(text(&ground.python(code).stdout), "False False False");
    match text(&ground.python_outside(code).stdout).contains("True") {
        true => Shown::Held,
        false => Shown::NoControl("this user may not outside either".to_owned()),
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
