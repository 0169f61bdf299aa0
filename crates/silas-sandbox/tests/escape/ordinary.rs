//! What must work: a cell in which honest programs fail is of no use.

use crate::ground::{Ground, run, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use silas_sandbox::cell::{Mount, MountAccess};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const CASES: &[Case] = &[
    ("shell_pipelines", shell_pipelines),
    ("what_a_program_sees_of_itself", what_a_program_sees_of_itself),
    ("exit_codes_and_signals", exit_codes_and_signals),
    ("files_keep_their_owner", files_keep_their_owner),
    ("rename_between_directories", rename_between_directories),
    ("python", python),
    ("arguments_that_mean_nothing", arguments_that_mean_nothing),
    ("git", git),
    ("mounts_anywhere", mounts_anywhere),
    ("a_single_file_as_a_mount", a_single_file_as_a_mount),
    ("nothing_is_left_mounted", nothing_is_left_mounted),
];

fn shell_pipelines(ground: &Ground) -> Shown {
    let inside = ground.sh(
        "seq 1 100 | sort -rn | head -3 | tr '\\n' ' '; ls / >/dev/null; date >/dev/null; echo to-stderr >/dev/stderr",
    );
    assert_eq!(inside.ended, Ended::Exited(0), "{}", text(&inside.stderr));
    assert_eq!((text(&inside.stdout).as_str(), text(&inside.stderr).as_str()), ("100 99 98", "to-stderr"));
    assert!(!inside.is_truncated);
    // A reader that leaves early ends the writer, as everywhere.
    assert_eq!(text(&ground.sh("yes | head -1").stdout), "y");
    Shown::Held
}

fn what_a_program_sees_of_itself(ground: &Ground) -> Shown {
    let inside = ground.sh("id -un; id -g; uname -n; umask; pwd; cat; readlink /proc/self/fd/0");
    let project = ground.project.display();
    assert_eq!(text(&inside.stdout), format!("silas\n1000\nsilas\n0022\n{project}\n/dev/null"));
    let env = ground.cell(&["/usr/bin/env"]);
    assert_eq!(text(&env.stdout), "PATH=/usr/bin:/bin\nHOME=/tmp");
    assert_eq!(ground.cell(&["true"]).ended, Ended::Exited(0), "a bare name is looked up in PATH");
    Shown::Held
}

fn exit_codes_and_signals(ground: &Ground) -> Shown {
    assert_eq!(ground.sh("exit 7").ended, Ended::Exited(7));
    assert_eq!(ground.sh("exit 137").ended, Ended::Exited(137));
    assert_eq!(ground.sh("kill -9 $$").ended, Ended::Signalled(libc::SIGKILL));
    assert_eq!(ground.sh("kill -SEGV $$").ended, Ended::Signalled(libc::SIGSEGV));
    assert_eq!(ground.sh("kill -PIPE $$").ended, Ended::Signalled(libc::SIGPIPE), "not ignored by inheritance");
    Shown::Held
}

fn files_keep_their_owner(ground: &Ground) -> Shown {
    let owner = |name: &str| fs::metadata(ground.project.join(name)).map(|file| (file.uid(), file.gid())).unwrap();
    let before = owner("private.txt");
    let inside = ground.sh("cat private.txt && echo more >> private.txt && mkdir -p a/b && echo new > a/b/made && stat -c %u:%g private.txt a/b/made; mv private.txt moved && mv moved private.txt");
    assert!(text(&inside.stdout).starts_with("mine\n1000:1000\n1000:1000"), "{}", text(&inside.stdout));
    assert_eq!(fs::read_to_string(ground.project.join("private.txt")).unwrap(), "mine\nmore\n");
    for name in ["private.txt", "a", "a/b/made"] {
        assert_eq!(owner(name), before, "{name}");
    }
    Shown::Held
}

fn rename_between_directories(ground: &Ground) -> Shown {
    let inside = ground.sh("mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && cat b/g a/h && mv b a/");
    assert_eq!((text(&inside.stdout).as_str(), inside.ended), ("x\nx", Ended::Exited(0)));
    // Without a copy behind the scenes: the call itself works.
    needs_python!();
    let direct = ground.python("import os; os.mkdir('c'); os.rename('a/h', 'c/h')");
    assert_eq!(direct.ended, Ended::Exited(0), "{}", text(&direct.stderr));
    Shown::Held
}

fn python(ground: &Ground) -> Shown {
    needs_python!();
    let code = "
import concurrent.futures, multiprocessing, os, socket, sqlite3, subprocess, tempfile, threading
assert subprocess.run(['sort'], input=b'b\\na\\n', capture_output=True).stdout == b'a\\nb\\n'
with concurrent.futures.ThreadPoolExecutor(8) as pool: assert sum(pool.map(abs, range(100))) == 4950
with multiprocessing.get_context('fork').Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
with tempfile.TemporaryDirectory() as d: open(os.path.join(d, 'f'), 'w').write('x')
db = sqlite3.connect('data.db'); db.execute('create table t (x)'); db.commit(); db.close()
left, right = socket.socketpair(); left.send(b'x'); assert right.recv(1) == b'x'
os.chmod('data.db', 0o600); os.utime('data.db'); os.truncate('data.db', 0)
print(os.path.expanduser('~'), os.getuid(), len(os.urandom(8)))
";
    let inside = ground.python(code);
    assert_eq!(inside.ended, Ended::Exited(0), "{}", text(&inside.stderr));
    assert_eq!(text(&inside.stdout), "/tmp 1000 8");
    Shown::Held
}

/// Where nothing is made the mode of `open` is whatever lies in a register, and asking for a personality sets none.
fn arguments_that_mean_nothing(ground: &Ground) -> Shown {
    needs_python!();
    let code = |call: i64, first: &str, flags: &str| {
        format!(
            "import ctypes, os; c = ctypes.CDLL(None, use_errno=True)
print(c.syscall({call}, {first}ctypes.c_char_p(b'private.txt'), {flags}, 0o7777) > 2, ctypes.get_errno())"
        )
    };
    assert_eq!(text(&ground.python(&code(libc::SYS_openat, "-100, ", "os.O_RDONLY")).stdout), "True 0");
    #[cfg(target_arch = "x86_64")]
    assert_eq!(text(&ground.python(&code(libc::SYS_open, "", "os.O_RDWR | os.O_TRUNC")).stdout), "True 0");
    let asked = format!("import ctypes; print(ctypes.CDLL(None).syscall({}, 0xffffffff))", libc::SYS_personality);
    assert_eq!(text(&ground.python(&asked).stdout), "0");
    // Where a file is made it counts, also for one that gets its name later.
    for flags in ["os.O_CREAT | os.O_RDWR", "os.O_TMPFILE | os.O_RDWR"] {
        let made = format!(
            "import os; print(oct(os.fstat(os.open('.' if 'TMP' in '{flags}' else 'new', {flags}, 0o4755)).st_mode))"
        );
        let inside = ground.python(&made);
        assert!(text(&inside.stderr).contains("not permitted"), "{flags}: {}", text(&inside.stderr));
    }
    Shown::Held
}

fn git(ground: &Ground) -> Shown {
    if !Path::new("/usr/bin/git").exists() {
        return Shown::Skipped("there is no /usr/bin/git".to_owned());
    }
    let script = "set -e; mkdir repo; cd repo; git init -q .; echo one > f; git add f
git -c user.name=a -c user.email=a@b commit -qm first; echo two >> f; git diff --stat | cat; git log --format=%s; git gc -q; git status --short";
    let inside = ground.sh(script);
    assert_eq!(inside.ended, Ended::Exited(0), "{}", text(&inside.stderr));
    assert!(
        text(&inside.stdout).contains("first\n M f") || text(&inside.stdout).contains("first\nM f"),
        "{}",
        text(&inside.stdout)
    );
    Shown::Held
}

fn mounts_anywhere(ground: &Ground) -> Shown {
    for target in ["/root/work", "/home/ada/work", "/tmp/deep/down/work", "/srv/work", "/mnt", "/opt/a b/ü"] {
        let mut spec = ground.spec(&["/bin/sh", "-c", "cat private.txt && echo x > made && rm made && pwd"]);
        spec.mounts.truncate(1);
        spec.mounts[0].target = PathBuf::from(target);
        spec.cwd = PathBuf::from(target);
        let inside = run(&spec);
        assert_eq!(text(&inside.stdout), format!("mine\n{target}"), "{}", text(&inside.stderr));
    }
    Shown::Held
}

fn a_single_file_as_a_mount(ground: &Ground) -> Shown {
    let mut spec =
        ground.spec(&["/bin/sh", "-c", "cat /srv/book && ! echo x >> /srv/book 2>/dev/null && echo y >> /srv/mine"]);
    let file = |source: PathBuf, target: &str, access| Mount { source, target: PathBuf::from(target), access };
    spec.mounts = vec![
        file(ground.library.join("book.txt"), "/srv/book", MountAccess::ReadOnly),
        file(ground.project.join("private.txt"), "/srv/mine", MountAccess::ReadWrite),
    ];
    spec.cwd = PathBuf::from("/srv");
    let inside = run(&spec);
    assert_eq!(
        (text(&inside.stdout).as_str(), inside.ended),
        ("as it was", Ended::Exited(0)),
        "{}",
        text(&inside.stderr)
    );
    assert_eq!(fs::read_to_string(ground.project.join("private.txt")).unwrap(), "mine\ny\n");
    Shown::Held
}

fn nothing_is_left_mounted(ground: &Ground) -> Shown {
    // What others mount meanwhile is not seen here.
    crate::ground::separate(ground.identity, libc::CLONE_NEWNS);
    let (none, null) = (c"none".as_ptr(), std::ptr::null::<libc::c_void>());
    // SAFETY: constant strings; this concerns the process's own namespace alone.
    assert_eq!(unsafe { libc::mount(none, c"/".as_ptr(), null.cast(), libc::MS_REC | libc::MS_PRIVATE, null) }, 0);
    let n_children = || {
        let tasks = format!("/proc/self/task/{}/children", std::process::id());
        fs::read_to_string(tasks).unwrap().split_whitespace().count()
    };
    let n_open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = (fs::read_to_string("/proc/self/mountinfo").unwrap(), n_children(), n_open());
    for _ in 0..5 {
        ground.sh("true");
    }
    assert_eq!((fs::read_to_string("/proc/self/mountinfo").unwrap(), n_children(), n_open()), before);
    Shown::Held
}
