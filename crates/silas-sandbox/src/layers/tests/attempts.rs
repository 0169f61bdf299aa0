//! The table: an attempt, and all the layers that stop it. Each of them is enough.

use super::ground::{Ground, PYTHON, SECRET, double_fork, eventually, marker, processes_with, run, text};
use super::identity::{Identity, ordinary_id};
use super::{Came, Layer, Layer::*};
use crate::cell::{self, LimitsInForce};
use crate::confine::{FrontRules, confine_front};
use crate::layers::in_force;
use silas_core::check::Ended;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};

pub(super) struct Attempt {
    pub(super) what: &'static str,
    pub(super) stopped_by: &'static [Layer],
    /// As whoever started the tests.
    pub(super) prepare: fn(&Ground),
    pub(super) run: fn(&Ground) -> Came,
}

#[rustfmt::skip]
pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt { what: "read root's own file in a granted directory", stopped_by: &[User], prepare: roots_own_file, run: read_roots_own_file },
    Attempt { what: "open core_pattern for writing", stopped_by: &[User, ReadOnly, Landlock], prepare: nothing, run: open_core_pattern },
    Attempt { what: "read a file that was not granted", stopped_by: &[Root], prepare: readable_secret, run: read_outside },
    Attempt { what: "survive by a double fork", stopped_by: &[Processes], prepare: nothing, run: survive },
    Attempt { what: "survive a killed caller", stopped_by: &[Lifeline], prepare: nothing, run: survive_the_caller },
    Attempt { what: "connect to a server on the host's loopback", stopped_by: &[Network], prepare: nothing, run: connect },
    Attempt { what: "take a message from a queue of the host", stopped_by: &[Ipc], prepare: nothing, run: take_a_message },
    Attempt { what: "learn the host's name", stopped_by: &[HostName], prepare: nothing, run: learn_the_name },
    Attempt { what: "take more memory together than was given to all", stopped_by: &[Group], prepare: nothing, run: take_memory },
    Attempt { what: "learn where its control group lies", stopped_by: &[GroupView], prepare: nothing, run: learn_the_group },
    Attempt { what: "write what was granted for reading", stopped_by: &[ReadOnly, Apart, Landlock], prepare: nothing, run: write_the_library },
    Attempt { what: "write into a pipe of the owner's", stopped_by: &[Apart], prepare: nothing, run: write_into_a_pipe },
    Attempt { what: "read an inherited descriptor", stopped_by: &[Descriptors], prepare: nothing, run: read_inherited },
    Attempt { what: "type into the caller's terminal", stopped_by: &[Session, Descriptors, Seccomp], prepare: nothing, run: type_into_the_terminal },
    Attempt { what: "read the environment of the init", stopped_by: &[Inspection, Landlock], prepare: nothing, run: read_the_init },
    Attempt { what: "see the caller's environment", stopped_by: &[Environment], prepare: nothing, run: see_the_environment },
    Attempt { what: "gain a capability from a file that has it",
        stopped_by: &[BoundingSet, NoNewPrivileges, NoSetId, Apart, Landlock, Seccomp], prepare: granted_by_a_user, run: gain_a_capability },
    Attempt { what: "keep a capability of the setup by such a file",
        stopped_by: &[Capabilities, BoundingSet, NoSetId, Apart], prepare: granted_by_a_user, run: gain_a_capability },
    Attempt { what: "write a larger file than allowed", stopped_by: &[ResourceLimits], prepare: nothing, run: write_a_large_file },
    Attempt { what: "leave a whiteout node in the project", stopped_by: &[Landlock], prepare: nothing, run: leave_a_node },
    Attempt { what: "leave a set-id file in the project", stopped_by: &[Seccomp], prepare: nothing, run: leave_a_set_id_file },
    Attempt { what: "steal a key from the caller's keyring", stopped_by: &[Session, Seccomp], prepare: nothing, run: steal_a_key },
    Attempt { what: "front: read a file of the owner", stopped_by: &[Landlock], prepare: nothing, run: front_reads },
    Attempt { what: "front: leave a set-id file", stopped_by: &[Seccomp], prepare: nothing, run: front_leaves_a_set_id_file },
    Attempt { what: "front: start a program", stopped_by: &[Landlock, Seccomp], prepare: nothing, run: front_starts_a_program },
    Attempt { what: "front: open a raw socket, as root", stopped_by: &[Capabilities], prepare: nothing, run: front_opens_a_raw_socket },
];

fn nothing(_: &Ground) {}

fn came(is_out: bool) -> Came {
    if is_out { Came::Out } else { Came::Held }
}

fn python(ground: &Ground, code: &str) -> String {
    let outcome = ground.python(code);
    format!("{}{}", text(&outcome.stdout), text(&outcome.stderr))
}

fn only_as_root() -> Came {
    Came::NotHere("only root can".to_owned())
}

fn roots_own_file(ground: &Ground) {
    fs::write(ground.project.join("roots"), SECRET).unwrap();
    fs::set_permissions(ground.project.join("roots"), fs::Permissions::from_mode(0o600)).unwrap();
    if ground.identity == Identity::Root {
        chown(&ground.project, Some(ordinary_id()), Some(ordinary_id())).unwrap();
    }
}

fn read_roots_own_file(ground: &Ground) -> Came {
    if ground.identity == Identity::Ordinary {
        // Nothing of a cell can be built without its user namespace.
        return only_as_root();
    }
    came(text(&ground.sh("cat roots").stdout) == SECRET)
}

fn open_core_pattern(ground: &Ground) -> Came {
    if ground.identity == Identity::Ordinary {
        return only_as_root();
    }
    // Opened and not written.
    came(ground.sh(": >> /proc/sys/kernel/core_pattern").ended == Ended::Exited(0))
}

/// Owner and mode let everybody read it; only that it is elsewhere keeps it.
fn readable_secret(ground: &Ground) {
    let top = ground.outside.parent().unwrap();
    for (path, mode) in [(top, 0o755), (&ground.outside, 0o755), (&ground.secret, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn read_outside(ground: &Ground) -> Came {
    came(text(&ground.sh(&format!("cat {}", ground.secret.display())).stdout) == SECRET)
}

/// Whether it is still there, and then not any more.
fn outlived(sleeper: &str) -> Came {
    let alive = processes_with(sleeper);
    for pid in &alive {
        // SAFETY: only numbers are passed; the process carries our own marker.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
    came(!alive.is_empty())
}

fn survive(ground: &Ground) -> Came {
    let sleeper = marker(1);
    ground.sh(&double_fork(&sleeper));
    outlived(&sleeper)
}

fn survive_the_caller(ground: &Ground) -> Came {
    let sleeper = marker(2);
    // SAFETY: this process has one thread.
    let caller = unsafe { libc::fork() };
    if caller == 0 {
        ground.sh(&format!("sleep {sleeper}; exit 0"));
        // SAFETY: ends this copy of the harness without running its exit handlers.
        unsafe { libc::_exit(0) };
    }
    let is_there = || !processes_with(&format!("sleep\0{sleeper}")).is_empty();
    eventually("the program runs", is_there);
    // SAFETY: a child of ours that has not been waited for.
    unsafe {
        libc::kill(caller, libc::SIGKILL);
        libc::waitpid(caller, std::ptr::null_mut(), 0);
    }
    if in_force(Lifeline) {
        // The shell that started it may go a moment after it.
        eventually("it ends", || processes_with(&sleeper).is_empty());
    }
    outlived(&sleeper)
}

fn connect(ground: &Ground) -> Came {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    python(ground, &format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)"));
    came(listener.accept().is_ok())
}

fn take_a_message(ground: &Ground) -> Came {
    let key = std::process::id() as libc::key_t;
    // SAFETY: `message` has the layout that the call reads, and outlives it.
    let queue = unsafe {
        let queue = libc::msgget(key, libc::IPC_CREAT | 0o666);
        let message: (libc::c_long, [u8; 8]) = (1, *b"gossip!\0");
        if queue < 0 || libc::msgsnd(queue, (&raw const message).cast(), 8, 0) != 0 {
            return Came::NotHere(format!("message queues: {}", std::io::Error::last_os_error()));
        }
        queue
    };
    let code = format!(
        "import ctypes; c = ctypes.CDLL(None); b = ctypes.create_string_buffer(64)
print(c.msgrcv(c.msgget({key}, 0), b, 8, ctypes.c_long(0), 0o4000), b.raw[8:15])"
    );
    let said = python(ground, &code);
    // SAFETY: removes the queue that was made above.
    unsafe { libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut()) };
    came(said.contains("gossip"))
}

fn learn_the_name(ground: &Ground) -> Came {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    if host.trim() == "silas" {
        return if in_force(HostName) { Came::Held } else { Came::NotHere("it has the same name".to_owned()) };
    }
    came(text(&ground.sh("uname -n").stdout) == host.trim())
}

fn take_memory(ground: &Ground) -> Came {
    let code = "import os
ready, done = os.pipe(), os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(done[1])
        held = b'x' * (60 << 20)
        os.write(ready[1], b'r')
        os.read(done[0], 1)
        os._exit(0)
for _ in range(4): os.read(ready[0], 1)
print('all')";
    let has_groups = ground.cell(&["/bin/true"]).limits != LimitsInForce::PerProcess;
    if in_force(Group) && !has_groups {
        return Came::Held;
    }
    let mut spec = ground.spec(&[PYTHON, "-c", code]);
    spec.limits.memory_bytes_max = 150 << 20;
    let got_all = text(&run(&spec).stdout) == "all";
    if got_all && ground.identity == Identity::Ordinary {
        return Came::NotHere("an ordinary user may not make control groups everywhere".to_owned());
    }
    came(got_all)
}

fn learn_the_group(ground: &Ground) -> Came {
    let inside = text(&ground.sh("cat /proc/self/cgroup").stdout);
    let is_hidden = inside.lines().all(|line| line.ends_with(":/"));
    if is_hidden && !in_force(GroupView) {
        return Came::NotHere("the host's own groups are the top".to_owned());
    }
    came(!is_hidden)
}

fn write_the_library(ground: &Ground) -> Came {
    // Not below /tmp, where the file rules allow writing whatever the mounts say.
    let mut spec = ground.spec(&["/bin/sh", "-c", "echo changed > /srv/library/book.txt"]);
    spec.mounts[2].target = "/srv/library".into();
    came(run(&spec).ended == Ended::Exited(0))
}

/// Below /tmp, where the file rules allow writing and a pipe does not mind a mount that cannot be written.
fn write_into_a_pipe(ground: &Ground) -> Came {
    let path = ground.library.join("pipe");
    assert!(std::process::Command::new("/usr/bin/mkfifo").arg(&path).status().unwrap().success());
    let mut how = fs::OpenOptions::new();
    let mut owner = how.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
    python(ground, &format!("import os; os.write(os.open({path:?}, os.O_WRONLY | os.O_NONBLOCK), b'an order')"));
    came(owner.read(&mut [0; 8]).is_ok())
}

fn read_inherited(ground: &Ground) -> Came {
    let secret = fs::File::open(&ground.secret).unwrap();
    // SAFETY: dup makes a descriptor that is inherited; it lives as long as this process.
    let inherited = unsafe { libc::dup(secret.as_raw_fd()) };
    came(text(&ground.sh(&format!("cat <&{inherited}")).stdout) == SECRET)
}

fn type_into_the_terminal(ground: &Ground) -> Came {
    // SAFETY: numbers and a local; this process becomes the leader of a session with a terminal of its own.
    let (keyboard, terminal) = unsafe {
        libc::setsid();
        let keyboard = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
        assert!(keyboard >= 0 && libc::grantpt(keyboard) == 0 && libc::unlockpt(keyboard) == 0);
        let mut name = [0; 64];
        assert_eq!(libc::ptsname_r(keyboard, name.as_mut_ptr(), name.len()), 0);
        let terminal = libc::open(name.as_ptr(), libc::O_RDWR);
        assert!(terminal >= 0, "{}", std::io::Error::last_os_error());
        assert_eq!(libc::ioctl(terminal, libc::TIOCSCTTY, 0), 0);
        // Without its modes nothing waits for the end of a line.
        let mut modes: libc::termios = std::mem::zeroed();
        libc::tcgetattr(terminal, &raw mut modes);
        libc::cfmakeraw(&raw mut modes);
        libc::tcsetattr(terminal, libc::TCSANOW, &raw const modes);
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
        (keyboard, terminal)
    };
    let code = format!("import fcntl, termios; fcntl.ioctl({terminal}, termios.TIOCSTI, b'x')");
    let said = python(ground, &code);
    // SAFETY: both descriptors are ours and nobody else owns them.
    let mut typed = unsafe {
        libc::fcntl(terminal, libc::F_SETFL, libc::O_NONBLOCK);
        drop(fs::File::from_raw_fd(libc::dup(keyboard)));
        fs::File::from_raw_fd(terminal)
    };
    let is_typed = typed.read(&mut [0; 8]).is_ok_and(|n| n == 1);
    let is_allowed = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").is_ok_and(|text| text.trim() == "0");
    if !is_typed && is_allowed && said.contains("Errno") {
        return Came::NotHere("this kernel lets nobody do it".to_owned());
    }
    came(is_typed)
}

fn read_the_init(ground: &Ground) -> Came {
    // What shows there is what this process was started with.
    let inside = ground.sh("cat /proc/1/environ");
    if inside.ended != Ended::Exited(0)
        && ground.identity == Identity::Root
        && !in_force(Inspection)
        && !in_force(Landlock)
    {
        return Came::NotHere("a change of user hides the memory by itself".to_owned());
    }
    came(inside.ended == Ended::Exited(0))
}

fn see_the_environment(ground: &Ground) -> Came {
    // SAFETY: no other thread of this process uses the environment.
    unsafe { std::env::set_var("SILAS_ESCAPE", SECRET) };
    came(text(&ground.sh("env").stdout).contains(SECRET))
}

/// So that root's files are nobody else's inside, and what they carry keeps its meaning.
fn granted_by_a_user(ground: &Ground) {
    if ground.identity == Identity::Root {
        chown(&ground.library, Some(ordinary_id()), Some(ordinary_id())).unwrap();
    }
}

fn gain_a_capability(ground: &Ground) -> Came {
    if !ground.is_capable_program_made {
        return only_as_root();
    }
    let spec = ground.spec(&[ground.capable_program.to_str().unwrap(), "/proc/self/status"]);
    let status = match cell::run(&spec, None) {
        Ok(outcome) => text(&outcome.stdout),
        // The kernel does not start a program that asks for what it can never have.
        Err(cell::Error::Program { .. }) => return Came::Held,
        Err(error) => panic!("{error}"),
    };
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default().trim().to_owned();
    assert!(!held.is_empty(), "{status}");
    came(held != "0000000000000000")
}

fn write_a_large_file(ground: &Ground) -> Came {
    let mut spec = ground.spec(&["/bin/sh", "-c", "exec head -c 3000000 /dev/zero > big"]);
    spec.limits.file_bytes_max = 1 << 20;
    came(run(&spec).ended == Ended::Exited(0))
}

fn leave_a_node(ground: &Ground) -> Came {
    came(ground.sh("mknod node c 0 0").ended == Ended::Exited(0))
}

fn leave_a_set_id_file(ground: &Ground) -> Came {
    ground.sh("cp /bin/true copy && chmod 4755 copy");
    came(fs::metadata(ground.project.join("copy")).unwrap().mode() & 0o4000 != 0)
}

fn steal_a_key(ground: &Ground) -> Came {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    const SESSION_KEYRING: libc::c_int = -3;
    // SAFETY: constant strings with their length; the keyring is this process's own.
    let key = unsafe {
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0);
        let (kind, name) = (c"user".as_ptr(), c"silas-escape".as_ptr());
        libc::syscall(libc::SYS_add_key, kind, name, SECRET.as_ptr(), SECRET.len(), SESSION_KEYRING)
    };
    if key < 0 {
        return Came::NotHere(format!("keys: {}", std::io::Error::last_os_error()));
    }
    let code = format!(
        "import ctypes; c = ctypes.CDLL(None); b = ctypes.create_string_buffer(64)
k = c.syscall({}, 10, -3, b'user', b'silas-escape', 0); c.syscall({0}, 11, k, b, 64); print(b.value.decode())",
        libc::SYS_keyctl
    );
    came(python(ground, &code).contains(SECRET))
}

fn confine(ground: &Ground) {
    let (writable, readable) = ([ground.project.clone()], [ground.library.clone()]);
    confine_front(&FrontRules { writable: &writable, readable: &readable }).unwrap();
}

fn front_reads(ground: &Ground) -> Came {
    confine(ground);
    came(fs::read_to_string(&ground.secret).is_ok())
}

fn front_leaves_a_set_id_file(ground: &Ground) -> Came {
    confine(ground);
    let file = fs::File::open(ground.project.join("private.txt")).unwrap();
    came(file.set_permissions(fs::Permissions::from_mode(0o4755)).is_ok())
}

fn front_starts_a_program(ground: &Ground) -> Came {
    confine(ground);
    came(std::process::Command::new("/bin/true").status().is_ok())
}

fn front_opens_a_raw_socket(ground: &Ground) -> Came {
    confine(ground);
    // SAFETY: only numbers are passed; the socket ends with this process.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP) };
    if socket < 0 && ground.identity == Identity::Ordinary && !in_force(Capabilities) {
        return only_as_root();
    }
    came(socket >= 0)
}
