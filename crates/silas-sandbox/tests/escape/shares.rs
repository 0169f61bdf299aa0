//! What the kernel counts for a user or for the whole machine, and what hangs on the owner's own files: a program that uses
//! it up or holds on to it gets nothing, and the owner would go without.

use crate::ground::{Ground, PYTHON, run, text};
use crate::identity::Identity;
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

pub(crate) const CASES: &[Case] = &[
    ("use_up_descriptors_in_flight", use_up_descriptors_in_flight),
    ("use_up_epoll_watches", use_up_epoll_watches),
    ("use_up_queued_signals", use_up_queued_signals),
    ("take_memory_as_socket_buffers", take_memory_as_socket_buffers),
    ("take_memory_by_many_sockets", take_memory_by_many_sockets),
    ("write_into_a_pipe_that_was_granted_along", write_into_a_pipe_that_was_granted_along),
    ("hold_a_lease_or_a_lock_of_the_owner", hold_a_lease_or_a_lock_of_the_owner),
    ("conceal_what_silas_says", conceal_what_silas_says),
];

/// Runs `inside` in a cell and, as soon as it has made the file `ready`, `outside` beside it as the same user. What both
/// printed. The one inside goes when the one outside is done.
fn side_by_side(ground: &Ground, inside: &str, outside: &str) -> (String, String) {
    let wait = |file: &str| format!("import os, time\nwhile not os.path.exists('{file}'): time.sleep(0.01)\n");
    let inside = format!("{inside}\nprint(flush=True)\nopen('ready', 'x').close()\n{}", wait("done"));
    let outside = format!("{}{outside}\nopen('done', 'x').close()", wait("ready"));
    for file in ["ready", "done"] {
        let _ = fs::remove_file(ground.project.join(file));
    }
    let mut beside = Command::new(PYTHON)
        .args(["-c", &outside])
        .current_dir(&ground.project)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let ran = ground.python(&inside);
    let mut said = String::new();
    beside.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    beside.wait().unwrap();
    assert_eq!(text(&ran.stderr), "");
    (text(&ran.stdout), said.trim().to_owned())
}

/// Sends descriptors that nobody receives until it is told to stop. They count for the user, not for the process.
const SEND_DESCRIPTORS: &str = "import array, os, socket
null, held, n = os.open('/dev/null', os.O_RDONLY), [], 0
many = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 253))]
try:
    while n < 5000:
        one, other = socket.socketpair(); held += [one, other]
        for _ in range(4): one.sendmsg([b'x'], many); n += 253
except OSError as e: pass
print(n)";

fn use_up_descriptors_in_flight(ground: &Ground) -> Shown {
    needs_python!();
    // As a program of the owner's has it where nobody changed anything: 1024 descriptors.
    let own = "import array, resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
one, other = socket.socketpair()
try: one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))]); print('sent')
except OSError as e: print(e)";
    let (n, sent) = side_by_side(ground, SEND_DESCRIPTORS, own);
    assert_eq!(sent, "sent", "{n} in flight");
    assert!((253..=1024).contains(&n.parse::<u32>().unwrap()), "{n}: some may be sent");
    let beside = format!("{SEND_DESCRIPTORS}\nimport sys; open('ready', 'x').close(); sys.stdin.read()");
    let _ = fs::remove_file(ground.project.join("ready"));
    let mut control = Command::new(PYTHON);
    control.args(["-c", &beside]).current_dir(&ground.project).stdin(Stdio::piped());
    let mut control = control.spawn().unwrap();
    crate::ground::eventually("they are sent", || ground.project.join("ready").exists());
    let without = text(&ground.python_outside(own).stdout);
    drop(control.stdin.take());
    control.wait().unwrap();
    match ground.identity {
        Identity::Ordinary => assert!(without.contains("Too many references"), "{without}"),
        Identity::Root => return Shown::NoControl("root is not held to the limit".to_owned()),
    }
    Shown::Held
}

fn use_up_epoll_watches(ground: &Ground) -> Shown {
    needs_python!();
    // Many processes, each with many lists of the same few files. The supervisor answers them together, so that this takes no
    // turn of the scheduler for each watch.
    let code = "import os, select
read, write = os.pipe()
for _ in range(50):
    if os.fork() == 0:
        fds, lists, n = [os.pipe()[0] for _ in range(150)], [], 0
        fds += [os.dup(fd) for fd in fds]
        try:
            while n < 6000:
                lists.append(select.epoll())
                for fd in fds: lists[-1].register(fd, select.EPOLLIN); n += 1
        except OSError as e: pass
        os.write(write, f'{n:8}'.encode()); os._exit(0)
print(sum(int(os.read(read, 8)) for _ in range(50)))";
    let count = |output: &[u8]| text(output).parse::<u32>().unwrap();
    let inside = count(&ground.python(code).stdout);
    let outside = count(&ground.python_outside(code).stdout);
    assert!((5_000..=262_144).contains(&inside), "{inside}: some may be watched");
    assert!(outside > 262_144, "{outside}");
    Shown::Held
}

/// Signals that wait, and timers, which take one each, count for the user.
fn use_up_queued_signals(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import ctypes
c, n = ctypes.CDLL(None), 0
timer = ctypes.c_void_p()
while n < 6000 and c.timer_create(0, None, ctypes.byref(timer)) == 0: n += 1
print(n)";
    let count = |output: &[u8]| text(output).parse::<u32>().unwrap();
    let inside = count(&ground.python(code).stdout);
    assert!((500..=1024).contains(&inside), "{inside}");
    match count(&ground.python_outside(code).stdout) {
        outside if outside > inside => Shown::Held,
        outside => Shown::NoControl(format!("only {outside} are possible outside")),
    }
}

/// Fills loopback connections that nobody reads, and prints how many megabytes the kernel has taken.
const FILL_SOCKETS: &str = "import socket
server = socket.create_server(('127.0.0.1', 0)); held, n = [], 0
data = bytes(1 << 20)
def fill(end):
    global n
    end.setblocking(False)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF): end.setsockopt(socket.SOL_SOCKET, option, 16 << 20)
    try:
        while True: n += end.send(data)
    except OSError: pass
try:
    while n < 600 << 20 and len(held) < 700:
        one = socket.create_connection(server.getsockname()); other, _ = server.accept()
        held += [one, other]; fill(one); fill(other)
except OSError: pass
print(n >> 20, flush=True)";

fn take_memory_as_socket_buffers(ground: &Ground) -> Shown {
    needs_python!();
    let mut spec = ground.spec(&[PYTHON, "-c", FILL_SOCKETS]);
    spec.limits.memory_bytes_max = 256 << 20;
    let inside = run(&spec);
    let said = text(&inside.stdout);
    let is_held = inside.is_memory_exceeded || said.parse::<u64>().is_ok_and(|megabytes| megabytes <= 256);
    assert!(is_held, "{said} MB beside 256 MB, {}", text(&inside.stderr));
    let outside = text(&ground.python_outside(FILL_SOCKETS).stdout);
    assert!(outside.parse::<u64>().unwrap() > 256, "{outside}");
    Shown::Held
}

/// Each process has few, but all together have more than fit into the memory that was given.
fn take_memory_by_many_sockets(ground: &Ground) -> Shown {
    needs_python!();
    let code = |n: u32, secs: u32| {
        format!("import os, socket, time
for _ in range(4):
    if os.fork() == 0:
        held = [socket.socket(family, socket.SOCK_DGRAM) for _ in range({n}) for family in (socket.AF_INET, socket.AF_UNIX)]
        time.sleep({secs}); os._exit(0)
for _ in range(4): os.wait()
print('all')")
    };
    let with = |n, secs| {
        let mut spec = ground.spec(&[PYTHON, "-c", &code(n, secs)]);
        spec.limits.memory_bytes_max = 256 << 20;
        run(&spec)
    };
    // They are held until somebody has counted them.
    let inside = with(200, 1000);
    assert_eq!(
        (inside.ended, inside.is_memory_exceeded),
        (Ended::Signalled(libc::SIGKILL), true),
        "{}",
        text(&inside.stderr)
    );
    let control = with(50, 2);
    assert_eq!((control.ended, text(&control.stdout)), (Ended::Exited(0), "all".to_owned()));
    Shown::Held
}

/// A mount that cannot be written keeps nobody from writing into a pipe that lies there.
fn write_into_a_pipe_that_was_granted_along(ground: &Ground) -> Shown {
    needs_python!();
    use std::os::unix::fs::OpenOptionsExt;
    let path = ground.library.join("pipe");
    let made = Command::new("/usr/bin/mkfifo").args(["-m", "666"]).arg(&path).status().unwrap();
    assert!(made.success());
    let mut owner = fs::OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
    let code = format!("import os; os.write(os.open({path:?}, os.O_WRONLY | os.O_NONBLOCK), b'an order')");
    ground.python(&code);
    // One that is made when the program runs already.
    let later = ground.library.join("later");
    let inside = format!(
        "import os, time
open('ready', 'x').close()
while not os.path.exists('done'): time.sleep(0.01)
try: os.write(os.open({later:?}, os.O_WRONLY | os.O_NONBLOCK), b'an order')
except OSError: pass
open('tried', 'x').close()"
    );
    let make = format!(
        "import os, time
while not os.path.exists('ready'): time.sleep(0.01)
os.mkfifo({later:?}); fd = os.open({later:?}, os.O_RDWR | os.O_NONBLOCK)
open('done', 'x').close()
while not os.path.exists('tried'): time.sleep(0.01)
try: print(os.read(fd, 100))
except BlockingIOError: print('nothing')"
    );
    let beside = Command::new(PYTHON).args(["-c", &make]).current_dir(&ground.project).stdout(Stdio::piped()).spawn();
    ground.python(&inside);
    assert_eq!(text(&beside.unwrap().wait_with_output().unwrap().stdout), "nothing");
    let mut read = [0; 100];
    assert_eq!(owner.read(&mut read).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert!(ground.python_outside(&code).status.success());
    assert_eq!(owner.read(&mut read).unwrap(), 8);
    Shown::Held
}

/// Reading is enough to keep the owner from writing.
fn hold_a_lease_or_a_lock_of_the_owner(ground: &Ground) -> Shown {
    needs_python!();
    let book = ground.library.join("book.txt");
    let held = |how: &str| {
        format!(
            "import fcntl, os
book = os.open({book:?}, os.O_RDONLY)
try: {how}
except OSError as e: pass
print('tried', end='')"
        )
    };
    let wanted = format!(
        "import fcntl, os
try:
    book = os.open({book:?}, os.O_RDWR | os.O_NONBLOCK)
    fcntl.flock(book, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(book, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print('free', flush=True)
except OSError as e: print(e, flush=True)"
    );
    let ways = [
        "fcntl.fcntl(book, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
        "fcntl.flock(book, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "fcntl.flock(book, fcntl.LOCK_SH | fcntl.LOCK_NB)",
        "fcntl.lockf(book, fcntl.LOCK_SH | fcntl.LOCK_NB)",
    ];
    for way in ways {
        let (_, owner) = side_by_side(ground, &held(way), &wanted);
        assert_eq!(owner, "free", "{way}");
        let control = format!(
            "{}\nimport subprocess, sys\nsys.stdout.flush()\nsubprocess.run([{PYTHON:?}, '-c', {wanted:?}])",
            held(way)
        );
        let outside = text(&ground.python_outside(&control).stdout);
        assert!(outside.starts_with("tried") && !outside.contains("free"), "the control of {way}: {outside}");
    }
    // What is its own can be locked.
    let own =
        "import fcntl; fcntl.flock(open('own', 'w'), fcntl.LOCK_EX); fcntl.lockf(open('own', 'w'), fcntl.LOCK_EX)";
    assert_eq!(ground.python(own).ended, Ended::Exited(0));
    Shown::Held
}

/// A terminal obeys some of what a program prints: it would hide, move or overwrite what Silas says afterwards. The story of
/// `silas sandbox` shows it with a real one.
fn conceal_what_silas_says(ground: &Ground) -> Shown {
    let inside = ground.sh(r"printf 'a\033[8m\033[?1049h\033]0;t\007\302\233 2J\233\010b'");
    let obeyed = |bytes: &[u8]| bytes.iter().any(|byte| matches!(byte, 0x00..=0x08 | 0x0b..=0x1f | 0x7f));
    assert!(obeyed(&inside.stdout), "the control: the program did print it");
    let mut visible = silas_core::hidden::Visible::default();
    let shown = visible.show(&inside.stdout) + &visible.finish();
    assert!(!obeyed(shown.as_bytes()) && !shown.contains('\u{9b}'), "{shown:?}");
    assert!(shown.starts_with("a⟨U+001B⟩[8m") && shown.ends_with('b'), "{shown}");
    Shown::Held
}
