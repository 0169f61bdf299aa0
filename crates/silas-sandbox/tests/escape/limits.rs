//! Taking more than was given: time, output, processes, memory, disk.

use crate::ground::{Ground, PYTHON, marker, processes_with, run, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("run_past_the_wall_clock", run_past_the_wall_clock),
    ("fork_without_end", fork_without_end),
    ("have_too_many_processes", have_too_many_processes),
    ("flood_the_output", flood_the_output),
    ("write_a_huge_file", write_a_huge_file),
    ("fill_scratch_space", fill_scratch_space),
    ("flood_scratch_space_with_files", flood_scratch_space_with_files),
    ("flood_the_disk", flood_the_disk),
    ("fill_the_disk_at_once", fill_the_disk_at_once),
    ("flood_the_disk_with_files", flood_the_disk_with_files),
    ("use_up_what_can_be_watched", use_up_what_can_be_watched),
    ("open_too_many_files", open_too_many_files),
    ("leave_a_core_file", leave_a_core_file),
    ("start_with_huge_arguments", start_with_huge_arguments),
    ("take_too_much_memory", take_too_much_memory),
    ("burn_processor_time", burn_processor_time),
];

fn run_past_the_wall_clock(ground: &Ground) -> Shown {
    let sleeper = marker(4);
    let script = format!("trap '' TERM INT HUP; echo begun; setsid sleep {sleeper} & sleep {sleeper}");
    let mut spec = ground.spec(&["/bin/sh", "-c", &script]);
    // On a busy machine it may not get to say anything in the shortest of these.
    let mut said = [1, 8, 64].into_iter().map(|after_secs| {
        spec.limits.wall = Duration::from_secs(after_secs);
        let inside = run(&spec);
        assert_eq!(inside.ended, Ended::TimedOut { after_secs });
        assert_eq!(processes_with(&sleeper), Vec::<i32>::new());
        text(&inside.stdout)
    });
    assert_eq!(said.find(|said| !said.is_empty()).as_deref(), Some("begun"), "what it said before is kept");
    Shown::Held
}

fn fork_without_end(ground: &Ground) -> Shown {
    needs_python!();
    let name = marker(5);
    let code = format!(
        "import os # {name}
while True:
    try: os.fork()
    except OSError: pass"
    );
    let mut spec = ground.spec(&[PYTHON, "-c", &code]);
    spec.limits.wall = Duration::from_secs(2);
    spec.limits.processes_max = 50;
    assert_eq!(run(&spec).ended, Ended::TimedOut { after_secs: 2 });
    assert_eq!(processes_with(&name), Vec::<i32>::new());
    Shown::Held
}

fn have_too_many_processes(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import os, signal
n = 1
for _ in range(200):
    try:
        if os.fork() == 0: signal.pause()
    except OSError: break
    n += 1
print(n)";
    let count = |max| {
        let mut spec = ground.spec(&[PYTHON, "-c", code]);
        spec.limits.processes_max = max;
        text(&run(&spec).stdout).parse::<u64>().unwrap()
    };
    assert_eq!(count(20), 20);
    assert_eq!(count(500), 201, "the control has room");
    Shown::Held
}

fn flood_the_output(ground: &Ground) -> Shown {
    let most_memory_kb = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = most_memory_kb();
    let mut spec = ground.spec(&["/bin/sh", "-c", "head -c 300000000 /dev/zero; head -c 300000000 /dev/zero >&2"]);
    spec.limits.output_bytes_max = 1000;
    let inside = run(&spec);
    assert_eq!((inside.stdout.len(), inside.stderr.len(), inside.is_truncated), (1000, 1000, true));
    assert_eq!(inside.ended, Ended::Exited(0), "the rest is read and dropped, so the program does not hang");
    assert!(most_memory_kb() - before < 16 << 10, "{before} kB before, {} kB after", most_memory_kb());

    spec.argv[2] = "head -c 1000 /dev/zero".to_owned();
    let control = run(&spec);
    assert_eq!((control.stdout.len(), control.is_truncated), (1000, false));
    Shown::Held
}

fn write_a_huge_file(ground: &Ground) -> Shown {
    let mut spec = ground.spec(&["/bin/sh", "-c", "exec head -c 3000000 /dev/zero > big"]);
    let size = || std::fs::metadata(ground.project.join("big")).unwrap().len();
    spec.limits.file_bytes_max = 1 << 20;
    assert_eq!(run(&spec).ended, Ended::Signalled(libc::SIGXFSZ));
    assert_eq!(size(), 1 << 20);
    spec.limits.file_bytes_max = 1 << 30;
    assert_eq!(run(&spec).ended, Ended::Exited(0));
    assert_eq!(size(), 3_000_000);
    Shown::Held
}

fn fill_scratch_space(ground: &Ground) -> Shown {
    let inside = ground.sh("head -c 100000000 /dev/zero > /dev/shm/big");
    assert_ne!(inside.ended, Ended::Exited(0));
    assert!(text(&inside.stderr).contains("No space left"), "{}", text(&inside.stderr));
    assert_eq!(ground.sh("head -c 10000000 /dev/zero > /dev/shm/small").ended, Ended::Exited(0));
    Shown::Held
}

fn flood_scratch_space_with_files(ground: &Ground) -> Shown {
    needs_python!();
    let code = |n: u32| format!("for n in range({n}): open(f'/tmp/{{n}}', 'x').close()");
    let inside = ground.python(&code(70_000));
    assert_eq!(inside.ended, Ended::Exited(1));
    assert!(text(&inside.stderr).contains("No space left"), "{}", text(&inside.stderr));
    assert_eq!(ground.python(&code(5000)).ended, Ended::Exited(0));
    Shown::Held
}

/// Puts a small disk under the project, for this process and nobody else.
fn on_a_small_disk(ground: &Ground) {
    crate::ground::separate(ground.identity, libc::CLONE_NEWNS);
    let project = std::ffi::CString::new(ground.project.to_str().unwrap()).unwrap();
    // SAFETY: the strings outlive the calls; the mounts are in this process's own namespace.
    unsafe {
        let (none, null) = (c"none".as_ptr(), std::ptr::null::<libc::c_void>());
        assert_eq!(libc::mount(none, c"/".as_ptr(), null.cast(), libc::MS_REC | libc::MS_PRIVATE, null), 0);
        let options = c"size=64m,nr_inodes=2000,mode=755".as_ptr().cast();
        assert_eq!(libc::mount(none, project.as_ptr(), c"tmpfs".as_ptr(), 0, options), 0);
    }
    std::fs::create_dir(ground.project.join(".git")).unwrap();
}

/// Each file is small; it is their number. Half of what was free is left.
fn flood_the_disk(ground: &Ground) -> Shown {
    on_a_small_disk(ground);
    let flood = "n=0; while n=$((n+1)); do head -c 1000000 /dev/zero > f$n || sleep 1000; sleep 0.02; done";
    let inside = ground.sh(flood);
    assert_eq!((inside.ended, inside.is_disk_nearly_full), (Ended::Signalled(libc::SIGKILL), true));
    ground.sh_outside("rm -f f*");
    let control = ground.sh("head -c 20000000 /dev/zero > f");
    assert_eq!((control.ended, control.is_disk_nearly_full), (Ended::Exited(0), false), "{}", text(&control.stderr));
    Shown::Held
}

/// Room can be taken without writing anything, faster than anybody looks: by `fallocate`, and by requests of old that do the
/// same.
fn fill_the_disk_at_once(ground: &Ground) -> Shown {
    needs_python!();
    on_a_small_disk(ground);
    let take = "import ctypes, fcntl, os, struct
c, n = ctypes.CDLL(None, use_errno=True), 50 << 20
def call(mode):
    fd = os.open('f', os.O_CREAT | os.O_RDWR)
    c.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(n))
    ended = os.fstat(fd).st_blocks; os.close(fd); os.unlink('f'); return ended
def ask(request):
    fd = os.open('f', os.O_CREAT | os.O_RDWR)
    try: fcntl.ioctl(fd, request, struct.pack('hhxxxxqqiI16x', 0, 0, 0, n, 0, 0))
    except OSError: pass
    ended = os.fstat(fd).st_blocks; os.close(fd); os.unlink('f'); return ended
print([call(mode) for mode in (0, 1)] + [ask(request) for request in (0x40305828, 0x4030582a)])";
    let inside = ground.python(take);
    assert_eq!(text(&inside.stdout), "[0, 0, 0, 0]", "{}", text(&inside.stderr));
    let outside = text(&ground.python_outside(take).stdout);
    assert!(!outside.contains(" 0") && !outside.contains("[0"), "{outside}");
    // Programs that ask the C library get what they want by another way, and holes can be made.
    let usual = "import os, ctypes
with open('f', 'w+b') as f:
    os.posix_fallocate(f.fileno(), 0, 1 << 20)
    print(os.fstat(f.fileno()).st_blocks, ctypes.CDLL(None).fallocate(f.fileno(), 3, ctypes.c_long(0), ctypes.c_long(1 << 20)))";
    let control = ground.python(usual);
    assert_eq!(text(&control.stdout), "2048 0", "{}", text(&control.stderr));
    // By writing, as fast as it can.
    let write = ground.sh("head -c 200000000 /dev/zero > f; sleep 100");
    assert_eq!((write.ended, write.is_disk_nearly_full), (Ended::Signalled(libc::SIGKILL), true));
    Shown::Held
}

fn flood_the_disk_with_files(ground: &Ground) -> Shown {
    on_a_small_disk(ground);
    let flood = "n=0; while n=$((n+1)); do : > f$n || sleep 1000; [ $((n%20)) = 0 ] && sleep 0.01; done";
    let inside = ground.sh(flood);
    assert_eq!((inside.ended, inside.is_disk_nearly_full), (Ended::Signalled(libc::SIGKILL), true));
    Shown::Held
}

/// Counted for the owner on the whole machine: editors and desktops would go without.
fn use_up_what_can_be_watched(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import ctypes; c = ctypes.CDLL(None); n = 0
while n < 120 and c.inotify_init() >= 0: n += 1
print(n)";
    let count = |output: &[u8]| text(output).parse::<u32>().unwrap();
    let inside = count(&ground.python(code).stdout);
    let outside = count(&ground.python_outside(code).stdout);
    match inside {
        0..=64 if outside > inside => Shown::Held,
        0..=64 => Shown::NoControl(format!("only {outside} are possible outside")),
        _ => Shown::Skipped("/proc/sys/user cannot be written here".to_owned()),
    }
}

fn open_too_many_files(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import os, resource
held = []
try:
    while len(held) < 100000: held.append(os.open('/dev/null', os.O_RDONLY))
except OSError: pass
print(len(held) < 4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 4096)";
    assert_eq!(text(&ground.python(code).stdout), "True True");
    let raise = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100000, 100000))";
    assert_eq!(ground.python(raise).ended, Ended::Exited(1), "and it cannot be raised");
    Shown::Held
}

/// A core file holds the memory of a program, and lands in the copy.
fn leave_a_core_file(ground: &Ground) -> Shown {
    ground.sh("ulimit -c unlimited; kill -SEGV $$");
    assert_eq!(
        std::fs::read_dir(&ground.project)
            .unwrap()
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().contains("core"))
            .count(),
        0
    );
    assert_eq!(text(&ground.sh("ulimit -H -c").stdout), "0");
    Shown::Held
}

fn start_with_huge_arguments(ground: &Ground) -> Shown {
    let long = "x".repeat(3 << 20);
    let error = crate::ground::refusal(&ground.spec(&["/bin/echo", &long]));
    assert_eq!(error.code(), "E_SANDBOX_PROGRAM", "{}", error.code());
    let control = "x".repeat(100_000);
    assert_eq!(run(&ground.spec(&["/bin/echo", &control])).stdout.len(), 100_001);
    Shown::Held
}

fn take_too_much_memory(ground: &Ground) -> Shown {
    needs_python!();
    let mut spec = ground.spec(&[PYTHON, "-c", "bytearray(300 << 20)"]);
    spec.limits.memory_bytes_max = 200 << 20;
    let inside = run(&spec);
    assert_eq!(inside.ended, Ended::Exited(1));
    assert!(text(&inside.stderr).contains("MemoryError"));
    spec.limits.memory_bytes_max = 4 << 30;
    assert_eq!(run(&spec).ended, Ended::Exited(0));
    Shown::Held
}

fn burn_processor_time(ground: &Ground) -> Shown {
    let mut spec = ground.spec(&["/bin/sh", "-c", "while :; do :; done"]);
    spec.limits.cpu_secs_max = 1;
    let ended = run(&spec).ended;
    assert!(matches!(ended, Ended::Signalled(libc::SIGXCPU | libc::SIGKILL)), "{ended:?}");
    Shown::Held
}
