//! The confined front: what it may not do any more, and what it must still be able to.

use crate::ground::{Ground, SECRET};
use crate::runner::{Case, Shown};
use silas_sandbox::confine::{FrontRules, confine_front};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("touch_files_elsewhere", touch_files_elsewhere),
    ("set_an_attribute_by_a_younger_call", set_an_attribute_by_a_younger_call),
    ("use_roots_powers", use_roots_powers),
    ("start_a_program", start_a_program),
    ("serve", serve),
];

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
    let own = File::open(ground.project.join(".git/config")).unwrap();
    let attempts: [(&str, &dyn Fn() -> std::io::Result<()>); 11] = [
        ("read a secret", &|| fs::read_to_string(&ground.secret).map(drop)),
        ("list a directory", &|| fs::read_dir(&ground.outside).map(drop)),
        ("write a new file", &|| fs::write(&other, "x")),
        ("overwrite what is readable", &|| OpenOptions::new().append(true).open(&book).map(drop)),
        ("move a file out", &|| fs::rename(ground.project.join("private.txt"), &other)),
        ("remove a file", &|| fs::remove_file(&other)),
        ("set the set-user-id bit", &|| own.set_permissions(fs::Permissions::from_mode(0o4755))),
        ("open a file of the owner to everybody", &|| {
            fs::set_permissions(&ground.secret, fs::Permissions::from_mode(0o644))
        }),
        ("set an attribute", &|| set_attribute(libc::SYS_setxattr, &ground.secret)),
        ("set a time", &|| set_times(&ground.secret)),
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

fn c_path(path: &std::path::Path) -> std::ffi::CString {
    std::ffi::CString::new(path.to_str().unwrap()).unwrap()
}

fn done(result: libc::c_long) -> std::io::Result<()> {
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn set_attribute(call: libc::c_long, path: &std::path::Path) -> std::io::Result<()> {
    // SAFETY: the strings outlive the call, and the length is that of the value.
    done(unsafe { libc::syscall(call, c_path(path).as_ptr(), c"user.mark".as_ptr(), c"x".as_ptr(), 1, 0) })
}

fn set_times(path: &std::path::Path) -> std::io::Result<()> {
    // SAFETY: the path outlives the call; no times means now.
    done(unsafe { libc::utimensat(libc::AT_FDCWD, c_path(path).as_ptr(), std::ptr::null(), 0) }.into())
}

/// The same by a younger call, which has the value in a struct. Refused before the kernel looks at anything.
fn set_an_attribute_by_a_younger_call(ground: &Ground) -> Shown {
    const SETXATTRAT: libc::c_long = 463;
    let attempt = || {
        let value: (u64, u32, u32) = (c"x".as_ptr().addr() as u64, 1, 0);
        let (path, name) = (c_path(&ground.secret), c"user.mark");
        // SAFETY: path, name, and the struct outlive the call, and the size is that of the struct.
        done(unsafe {
            libc::syscall(
                SETXATTRAT,
                libc::AT_FDCWD,
                path.as_ptr(),
                0,
                name.as_ptr(),
                &raw const value,
                size_of_val(&value),
            )
        })
    };
    let control = attempt();
    confine(ground);
    assert_eq!(attempt().unwrap_err().raw_os_error(), Some(libc::EPERM));
    match control {
        Ok(()) => Shown::Held,
        Err(e) => Shown::NoControl(format!("this kernel or file system does not know it: {e}")),
    }
}

/// What root can do because of a capability.
fn use_roots_powers(ground: &Ground) -> Shown {
    let raw = || {
        // SAFETY: only numbers are passed; the socket is closed at once.
        done(unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP);
            if socket >= 0 { libc::close(socket).into() } else { -1 }
        })
    };
    let foreign = ground.project.join("foreign");
    fs::write(&foreign, "x").unwrap();
    // To nobody, so that owning it is no way in.
    let is_foreign = std::os::unix::fs::chown(&foreign, Some(65534), Some(65534)).is_ok();
    fs::set_permissions(&foreign, fs::Permissions::from_mode(if is_foreign { 0o600 } else { 0o000 })).unwrap();
    let override_modes = || fs::read(&foreign).map(drop);
    let before = [raw(), override_modes()];
    confine(ground);
    assert!(raw().is_err() && override_modes().is_err());
    match before.into_iter().collect::<Result<(), _>>() {
        Ok(()) => Shown::Held,
        Err(e) => Shown::NoControl(format!("this user has no such power to lose: {e}")),
    }
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
    made.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(fs::read_to_string(ground.project.join("sub/moved")).unwrap(), &SECRET[..3]);
    fs::remove_dir_all(ground.project.join("sub")).unwrap();
    assert_eq!(fs::read_to_string(ground.library.join("book.txt")).unwrap(), "as it was\n");
    fs::write("/dev/null", "x").unwrap();
    Shown::Held
}
