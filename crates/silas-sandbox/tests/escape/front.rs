//! The confined front: what it may not do any more, and what it must still be able to.

use crate::ground::{Ground, SECRET};
use crate::runner::{Case, Shown};
use silas_sandbox::confine::{FrontRules, confine_front};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::Command;

pub(crate) const CASES: &[Case] =
    &[("touch_files_elsewhere", touch_files_elsewhere), ("start_a_program", start_a_program), ("serve", serve)];

fn confine(ground: &Ground) {
    let writable = [ground.project.clone()];
    let readable = [ground.library.clone(), ground.outside.join("not-there")];
    let confinement = confine_front(&FrontRules { writable: &writable, readable: &readable }).unwrap();
    assert!(confinement.landlock_abi >= 2);
    assert!(confinement.to_string().contains("no program can be started"));
}

fn touch_files_elsewhere(ground: &Ground) -> Shown {
    let book = ground.library.join("book.txt");
    let other = ground.outside.join("other");
    let attempts: [(&str, &dyn Fn() -> std::io::Result<()>); 8] = [
        ("read a secret", &|| fs::read_to_string(&ground.secret).map(drop)),
        ("list a directory", &|| fs::read_dir(&ground.outside).map(drop)),
        ("write a new file", &|| fs::write(&other, "x")),
        ("overwrite what is readable", &|| OpenOptions::new().append(true).open(&book).map(drop)),
        ("move a file out", &|| fs::rename(ground.project.join("private.txt"), &other)),
        ("remove a file", &|| fs::remove_file(&other)),
        ("set the set-user-id bit", &|| {
            fs::set_permissions(ground.project.join(".git/config"), fs::Permissions::from_mode(0o4755))
        }),
        ("empty what is readable", &|| {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(libc::O_TRUNC).open(&book).map(drop)
        }),
    ];
    for (what, attempt) in &attempts {
        attempt().unwrap_or_else(|e| panic!("the control of `{what}`: {e}"));
    }
    fs::write(&book, "as it was\n").unwrap();
    fs::write(ground.project.join("private.txt"), "mine\n").unwrap();
    fs::write(&other, "x").unwrap();
    confine(ground);
    for (what, attempt) in &attempts {
        assert!(attempt().is_err(), "{what}");
    }
    // A thread that is made later is confined as well.
    let secret = ground.secret.clone();
    assert!(std::thread::spawn(move || fs::read_to_string(secret).is_err()).join().unwrap());
    assert_eq!(fs::read_to_string(&book).unwrap(), "as it was\n");
    Shown::Held
}

fn start_a_program(ground: &Ground) -> Shown {
    assert!(Command::new("/bin/true").status().unwrap().success());
    confine(ground);
    assert!(Command::new("/bin/true").status().is_err());
    // SAFETY: constant strings and null pointers; each call is refused before it looks at them.
    unsafe {
        for call in [libc::SYS_execveat, libc::SYS_ptrace, libc::SYS_mount, libc::SYS_bpf, libc::SYS_unshare] {
            assert_eq!(libc::syscall(call, 0, 0, 0, 0, 0), -1);
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM), "{call}");
        }
        assert_eq!(libc::syscall(libc::SYS_io_uring_setup, 0, 0), -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
    }
    Shown::Held
}

fn serve(ground: &Ground) -> Shown {
    let before = TcpListener::bind("127.0.0.1:0").unwrap();
    confine(ground);
    let after = TcpListener::bind("127.0.0.1:0").unwrap();
    for listener in [&before, &after] {
        TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        std::thread::scope(|scope| drop(scope.spawn(|| listener.accept().unwrap()).join().unwrap()));
    }
    let mut made = File::create(ground.project.join("made")).unwrap();
    made.write_all(SECRET.as_bytes()).unwrap();
    made.set_len(3).unwrap();
    fs::create_dir(ground.project.join("sub")).unwrap();
    fs::rename(ground.project.join("made"), ground.project.join("sub/moved")).unwrap();
    fs::set_permissions(ground.project.join("sub/moved"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(fs::read_to_string(ground.project.join("sub/moved")).unwrap(), &SECRET[..3]);
    fs::remove_dir_all(ground.project.join("sub")).unwrap();
    assert_eq!(fs::read_to_string(ground.library.join("book.txt")).unwrap(), "as it was\n");
    fs::write("/dev/null", "x").unwrap();
    Shown::Held
}
