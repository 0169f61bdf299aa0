//! Ways out that play with what a path means: links, renames, and swaps between a look and a use.

use crate::ground::{Ground, SECRET, eventually, refusal, run, text};
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use silas_sandbox::cell::{self, Mount, MountAccess};
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub(crate) const CASES: &[Case] = &[
    ("grant_silas_own_data_by_another_name", grant_silas_own_data_by_another_name),
    ("write_outside_by_hard_link", write_outside_by_hard_link),
    ("rename_an_ancestor", rename_an_ancestor),
    ("climb_from_a_moved_directory", climb_from_a_moved_directory),
    ("swap_the_source_of_a_mount", swap_the_source_of_a_mount),
    ("swap_the_place_of_a_mount", swap_the_place_of_a_mount),
    ("reach_a_file_through_descriptor_links", reach_a_file_through_descriptor_links),
];

fn write_outside_by_hard_link(ground: &Ground) -> Shown {
    let script = format!("ln {}/book.txt mine && echo changed > mine", ground.library.display());
    assert_ne!(ground.sh(&script).ended, Ended::Exited(0));
    assert_ne!(ground.sh(&format!("ln {} mine", ground.secret.display())).ended, Ended::Exited(0));
    assert_eq!(fs::read_to_string(ground.library.join("book.txt")).unwrap(), "as it was\n");
    assert!(ground.sh_outside(&script).status.success());
    assert_eq!(fs::read_to_string(ground.library.join("book.txt")).unwrap(), "changed\n");
    Shown::Held
}

fn rename_an_ancestor(ground: &Ground) -> Shown {
    let top = ground.project.parent().unwrap().display();
    for script in [
        "mv ../project ../moved".to_owned(),
        format!("cd / && mv {top} {top}-moved"),
        format!("cd / && mkdir -p {top}/new"),
        "rmdir ..".to_owned(),
    ] {
        // Where the mount hangs in the cell's own scratch space, that may move; the host's directories may not.
        ground.sh(&script);
        assert!(ground.project.join("private.txt").exists(), "{script}");
        assert_eq!(fs::read_dir(ground.project.parent().unwrap()).unwrap().count(), 3, "{script}");
    }
    let control = "mv ../project ../moved && mv ../moved ../project";
    assert!(ground.sh_outside(control).status.success());
    Shown::Held
}

/// A directory that is moved while somebody stands in it has another `..` than before.
fn climb_from_a_moved_directory(ground: &Ground) -> Shown {
    let script = "rm -rf a; mkdir -p a/b/c/d && cd a/b/c/d && mv ../../../../a/b/c ../../../../c; \
                  cat ../../../outside/secret 2>/dev/null";
    let inside = ground.sh(script);
    assert_eq!(text(&inside.stdout), "");
    fs::remove_dir_all(ground.project.join("c")).unwrap();
    let control = ground.sh_outside(script);
    assert_eq!(text(&control.stdout), SECRET, "it is beside the project, and the new place is less deep");
    Shown::Held
}

/// Exchanges two names for as long as this lives.
struct Swapper(i32);

impl Swapper {
    fn of(one: &Path, other: &Path) -> Swapper {
        let [one, other] = [one, other].map(|path| CString::new(path.to_str().unwrap()).unwrap());
        // SAFETY: this process has one thread; the child touches nothing but the two names.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            loop {
                // SAFETY: both paths outlive the call.
                unsafe {
                    let (here, flags) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
                    libc::syscall(libc::SYS_renameat2, here, one.as_ptr(), here, other.as_ptr(), flags);
                }
            }
        }
        Swapper(pid)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        // SAFETY: a child of ours that has not been waited for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// A directory with `mine` in it, and a symlink to the directory with the secret, that change places all the time.
fn swapped(ground: &Ground) -> (PathBuf, Swapper) {
    let (real, link) = (ground.project.join("real"), ground.project.join("link"));
    fs::create_dir(&real).unwrap();
    fs::write(real.join("secret"), "mine").unwrap();
    symlink(&ground.outside, &link).unwrap();
    let swapper = Swapper::of(&real, &link);
    (real, swapper)
}

/// Enough for a hole of some per cent to show.
const RACES: usize = 60;

fn swap_the_source_of_a_mount(ground: &Ground) -> Shown {
    let (source, swapper) = swapped(ground);
    let mut spec = ground.spec(&["/bin/cat", "/srv/it/secret"]);
    spec.mounts = vec![Mount { source: source.clone(), target: "/srv/it".into(), access: MountAccess::ReadOnly }];
    spec.cwd = "/tmp".into();
    let mut n_ran = 0;
    for _ in 0..RACES {
        match cell::run(&spec, None) {
            Ok(outcome) => {
                n_ran += 1;
                assert_eq!(text(&outcome.stdout), "mine");
            }
            Err(error) => assert_eq!(error.code(), "E_SANDBOX_MOUNT", "{error}"),
        }
    }
    eventually("somebody who just opens the path meets the secret", || {
        fs::read_to_string(source.join("secret")).is_ok_and(|text| text == SECRET)
    });
    drop(swapper);
    println!("     {n_ran} of {RACES} races were run, the others refused");
    Shown::Held
}

/// The place inside a granted directory at which another one is to be shown.
fn swap_the_place_of_a_mount(ground: &Ground) -> Shown {
    let (place, swapper) = swapped(ground);
    let mut spec = ground.spec(&["/bin/sh", "-c", "cat real/book.txt; grep -c outside /proc/self/mountinfo"]);
    spec.mounts[1] = Mount { source: ground.library.clone(), target: place, access: MountAccess::ReadOnly };
    for _ in 0..RACES {
        match cell::run(&spec, None) {
            // Swapped again after the mount, the name leads elsewhere; but nothing was ever mounted there.
            Ok(outcome) => assert!(text(&outcome.stdout).ends_with('0'), "{}", text(&outcome.stdout)),
            Err(error) => assert_eq!(error.code(), "E_SANDBOX_MOUNT", "{error}"),
        }
    }
    drop(swapper);
    assert_eq!(fs::read_to_string(&ground.secret).unwrap(), SECRET);
    let mut control = ground.spec(&["/bin/true"]);
    control.mounts[1].target = ground.project.join("planted");
    symlink(&ground.outside, ground.project.join("planted")).unwrap();
    assert_eq!(refusal(&control).code(), "E_SANDBOX_MOUNT", "a symlink that stays is always refused");
    Shown::Held
}

/// Links of `/proc` lead to what is open, past any name.
fn reach_a_file_through_descriptor_links(ground: &Ground) -> Shown {
    let script = format!(
        "for d in /proc/self/fd/* /dev/fd/* /proc/self/cwd /proc/self/root /proc/1/root /proc/1/cwd /proc/self/task/*/root; do \
         cat $d/../outside/secret $d{0} $d/../../../../..{0} 2>/dev/null; done; true",
        ground.secret.display()
    );
    assert_eq!(text(&ground.sh(&script).stdout), "");
    assert!(text(&ground.sh_outside(&script).stdout).contains(SECRET));
    // What it may do it still can.
    let own = run(&ground.spec(&["/bin/sh", "-c", "cat /proc/self/cwd/private.txt"]));
    assert_eq!(text(&own.stdout), "mine");
    Shown::Held
}

/// A directory that is mounted a second time is another path and the same files.
fn grant_silas_own_data_by_another_name(ground: &Ground) -> Shown {
    use silas_core::roots::{self, Forbidden};
    use silas_sandbox::mounted::may_grant;
    crate::ground::separate(ground.identity, libc::CLONE_NEWNS);
    let data = ground.outside.join("data");
    let mount = |from: &std::path::Path, to: &std::path::Path| {
        std::fs::create_dir_all(to).unwrap();
        let [from, to] = [from, to].map(|path| std::ffi::CString::new(path.to_str().unwrap()).unwrap());
        // SAFETY: the strings outlive the calls; the mounts are in this process's own namespace.
        unsafe {
            let (none, null) = (c"none".as_ptr(), std::ptr::null::<libc::c_void>());
            assert_eq!(libc::mount(none, c"/".as_ptr(), null.cast(), libc::MS_REC | libc::MS_PRIVATE, null), 0);
            assert_eq!(libc::mount(from.as_ptr(), to.as_ptr(), null.cast(), libc::MS_BIND, null), 0);
        }
    };
    std::fs::create_dir_all(data.join("launcher")).unwrap();
    std::fs::create_dir_all(ground.outside.join("beside/.ssh")).unwrap();
    let [same, inside, above, below] = ["same", "inside", "above", "below"].map(|name| ground.library.join(name));
    mount(&data, &same);
    mount(&data.join("launcher"), &inside);
    mount(&ground.outside, &above);
    mount(&data, &below.join("deep"));
    for alias in [&same, &inside, &above, &below, &same.join("launcher")] {
        let path = alias.to_str().unwrap();
        assert_eq!(may_grant(path, std::slice::from_ref(&data)), Err(Forbidden::Alias), "{path}");
        assert_eq!(roots::may_grant(path, data.to_str().unwrap()), Ok(()), "the control: its name is innocent");
    }
    // A directory of keys by another name, and one that is neither.
    let [keys, plain] = ["keys", "plain"].map(|name| ground.library.join(name));
    mount(&ground.outside.join("beside"), &plain);
    assert_eq!(may_grant(plain.to_str().unwrap(), std::slice::from_ref(&data)), Ok(()));
    assert_eq!(may_grant(ground.project.to_str().unwrap(), std::slice::from_ref(&data)), Ok(()));
    mount(&ground.outside.join("beside/.ssh"), &keys);
    match may_grant(keys.to_str().unwrap(), std::slice::from_ref(&data)) {
        Err(Forbidden::Keys) => Shown::Held,
        // Known by its place on the file system that holds everything, which /tmp need not be part of.
        other => Shown::NoControl(format!("keys on another file system are told by their name only: {other:?}")),
    }
}
