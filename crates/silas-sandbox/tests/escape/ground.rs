//! Where a case plays: a temporary directory with a project inside, a read-only directory, and a secret outside.

use super::identity::{Identity, is_root, ordinary_id};
use silas_sandbox::cell::{self, CellOutcome, CellSpec, Error, Limits, Mount, MountAccess};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

pub(crate) const PYTHON: &str = "/usr/bin/python3";
pub(crate) const SECRET: &str = "the-secret-of-the-owner";
/// Only a case that is about time has less: how long a program takes depends on what else the machine does.
const WALL: Duration = Duration::from_secs(500);

pub(crate) struct Ground {
    pub(crate) identity: Identity,
    /// Given read-write.
    pub(crate) project: PathBuf,
    /// Given read-only.
    pub(crate) library: PathBuf,
    /// Never given.
    pub(crate) outside: PathBuf,
    pub(crate) secret: PathBuf,
    /// A copy of `id` with the set-user-id bit, in `library`; belongs to root where the tests were started by root.
    pub(crate) set_uid_program: PathBuf,
    /// A copy of `cat` that gives whoever starts it CAP_NET_RAW, in `library`, where root has started the tests.
    pub(crate) capable_program: PathBuf,
    pub(crate) is_capable_program_made: bool,
    _dir: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new(identity: Identity) -> Ground {
        let dir = tempfile::Builder::new().prefix("silas-escape-").tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let [project, library, outside] = ["project", "library", "outside"].map(|name| top.join(name));
        let secret = outside.join("secret");
        for made in [&project, &library, &outside, &project.join(".git")] {
            fs::create_dir(made).unwrap();
        }
        fs::write(project.join("private.txt"), "mine\n").unwrap();
        fs::set_permissions(project.join("private.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(project.join(".git/config"), "as it was\n").unwrap();
        fs::write(library.join("book.txt"), "as it was\n").unwrap();
        fs::write(&secret, SECRET).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        if identity == Identity::Ordinary && is_root() {
            let everything = [&top, &project, &library, &outside, &secret].map(PathBuf::as_path);
            let inside = ["private.txt", ".git", ".git/config"].map(|name| project.join(name));
            let all = everything.into_iter().map(Path::to_path_buf).chain(inside).chain([library.join("book.txt")]);
            all.for_each(|path| chown(path, Some(ordinary_id()), Some(ordinary_id())).unwrap());
        }
        let set_uid_program = library.join("set-uid-id");
        fs::copy("/usr/bin/id", &set_uid_program).unwrap();
        fs::set_permissions(&set_uid_program, fs::Permissions::from_mode(0o4755)).unwrap();
        let capable_program = library.join("capable-cat");
        fs::copy("/usr/bin/cat", &capable_program).unwrap();
        let is_capable_program_made = is_root() && give_net_raw(&capable_program);
        Ground {
            identity,
            project,
            library,
            outside,
            secret,
            set_uid_program,
            capable_program,
            is_capable_program_made,
            _dir: dir,
        }
    }

    /// The project read-write, its `.git` read-only inside, the library read-only.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let same = |path: &Path, access| Mount { source: path.to_owned(), target: path.to_owned(), access };
        vec![
            same(&self.project, MountAccess::ReadWrite),
            same(&self.project.join(".git"), MountAccess::ReadOnly),
            same(&self.library, MountAccess::ReadOnly),
        ]
    }

    pub(crate) fn spec(&self, argv: &[&str]) -> CellSpec {
        CellSpec {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("HOME".to_owned(), "/tmp".to_owned())],
            cwd: self.project.clone(),
            mounts: self.mounts(),
            hosts: Vec::new(),
            secrets: Vec::new(),
            callback_port: None,
            watched: Vec::new(),
            signals: false,
            limits: Limits { wall: WALL, ..Limits::default() },
        }
    }

    pub(crate) fn cell(&self, argv: &[&str]) -> CellOutcome {
        run(&self.spec(argv))
    }

    /// A shell script in the cell, started in the project.
    pub(crate) fn sh(&self, script: &str) -> CellOutcome {
        self.cell(&["/bin/sh", "-c", script])
    }

    pub(crate) fn python(&self, code: &str) -> CellOutcome {
        self.cell(&[PYTHON, "-c", code])
    }

    /// The same script where nothing is confined.
    pub(crate) fn sh_outside(&self, script: &str) -> Output {
        Command::new("/bin/sh").args(["-c", script]).current_dir(&self.project).output().unwrap()
    }

    pub(crate) fn python_outside(&self, code: &str) -> Output {
        Command::new(PYTHON).args(["-c", code]).current_dir(&self.project).output().unwrap()
    }
}

/// Version 2 of the attribute, effective: CAP_NET_RAW permitted. Not every file system keeps it.
fn give_net_raw(program: &Path) -> bool {
    let path = std::ffi::CString::new(program.to_str().unwrap()).unwrap();
    let words: [u32; 5] = [0x0200_0001, 1 << 13, 0, 0, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // SAFETY: the strings and the value outlive the call, and the length is that of the value.
    let done = unsafe {
        libc::setxattr(path.as_ptr(), c"security.capability".as_ptr(), bytes.as_ptr().cast(), bytes.len(), 0)
    };
    done == 0
}

pub(crate) fn run(spec: &CellSpec) -> CellOutcome {
    cell::run(spec, None).unwrap_or_else(|e| panic!("{}: {e}", e.code()))
}

pub(crate) fn refusal(spec: &CellSpec) -> Error {
    match cell::run(spec, None) {
        Err(error) => error,
        Ok(outcome) => panic!("this should have been refused: {outcome:?}"),
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Host processes whose command line contains the marker, found from outside as the case's own user sees them.
pub(crate) fn processes_with(marker: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if let Some(pid) = pid
            && String::from_utf8_lossy(&line).contains(marker)
        {
            found.push(pid);
        }
    }
    found
}

/// A script that ends as soon as somebody who is nobody's child any more has begun to sleep; `begun` lies there then.
pub(crate) fn double_fork(sleeper: &str) -> String {
    format!(
        "(setsid sh -c 'setsid sh -c \"echo > begun; exec sleep {sleeper}\" & ' &); while [ ! -e begun ]; do sleep 0.01; done"
    )
}

/// Something no other process has in its command line.
pub(crate) fn marker(n: u32) -> String {
    format!("{}.{n}", 100_000 + std::process::id())
}

/// Asks again until it is so. If it never is, the case ends by its alarm, and what was said last is why.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut n_asked = 0;
    while !is_so() {
        n_asked += 1;
        if n_asked == 500 {
            eprintln!("still waiting: {what}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Puts this process into a user namespace of its own, under the user id that it has.
pub(crate) fn own_user_namespace() {
    // SAFETY: no arguments; this process has one thread.
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    // SAFETY: only flags are passed.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, 0);
    fs::write("/proc/self/setgroups", "deny").unwrap();
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).unwrap();
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).unwrap();
}

/// Puts this process into other namespaces of its own; an ordinary user needs one for users first.
pub(crate) fn separate(identity: Identity, flags: libc::c_int) {
    if identity == Identity::Ordinary {
        own_user_namespace();
    }
    // SAFETY: only flags are passed.
    assert_eq!(unsafe { libc::unshare(flags) }, 0);
}
