//! Reading and writing what was not given.

use crate::ground::{Ground, SECRET, refusal, run, text};
use crate::identity::Identity;
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use silas_sandbox::cell::{Mount, MountAccess};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

pub(crate) const CASES: &[Case] = &[
    ("write_outside_by_absolute_path", write_outside_by_absolute_path),
    ("write_outside_by_dot_dot", write_outside_by_dot_dot),
    ("write_outside_by_symlink", write_outside_by_symlink),
    ("read_a_secret_outside", read_a_secret_outside),
    ("write_in_a_read_only_mount", write_in_a_read_only_mount),
    ("write_in_a_nested_read_only_mount", write_in_a_nested_read_only_mount),
    ("move_a_nested_read_only_mount_away", move_a_nested_read_only_mount_away),
    ("write_in_the_system_directories", write_in_the_system_directories),
    ("leave_a_set_uid_file_behind", leave_a_set_uid_file_behind),
    ("make_a_device_node", make_a_device_node),
    ("mount_over_a_planted_symlink", mount_over_a_planted_symlink),
    ("mount_from_behind_a_symlink", mount_from_behind_a_symlink),
    ("mount_where_nothing_is", mount_where_nothing_is),
    ("keep_something_in_tmp", keep_something_in_tmp),
];

/// The script fails inside and works outside, and only outside leaves the file.
fn check_write(ground: &Ground, script: &str) {
    let made = ground.outside.join("made");
    let inside = ground.sh(script);
    assert_ne!(inside.ended, Ended::Exited(0), "{}", text(&inside.stderr));
    assert!(!made.exists());
    let control = ground.sh_outside(script);
    assert!(control.status.success(), "{}", text(&control.stderr));
    assert!(made.exists());
}

fn write_outside_by_absolute_path(ground: &Ground) -> Shown {
    check_write(ground, &format!("echo x > {}/made", ground.outside.display()));
    Shown::Held
}

fn write_outside_by_dot_dot(ground: &Ground) -> Shown {
    check_write(ground, "echo x > ../outside/made");
    Shown::Held
}

fn write_outside_by_symlink(ground: &Ground) -> Shown {
    symlink(&ground.outside, ground.project.join("planted")).unwrap();
    check_write(ground, "echo x > planted/made");
    fs::remove_file(ground.outside.join("made")).unwrap();
    check_write(ground, &format!("ln -sfn {} own && echo x > own/made", ground.outside.display()));
    Shown::Held
}

fn read_a_secret_outside(ground: &Ground) -> Shown {
    let script = format!(
        "cat {0} ../outside/secret /proc/self/root{0} /proc/self/cwd/../outside/secret",
        ground.secret.display()
    );
    let inside = ground.sh(&script);
    assert_ne!(inside.ended, Ended::Exited(0));
    assert_eq!(text(&inside.stdout), "");
    assert!(text(&ground.sh_outside(&script).stdout).contains(SECRET));
    Shown::Held
}

fn write_in_a_read_only_mount(ground: &Ground) -> Shown {
    let script = format!("echo changed > {}/book.txt", ground.library.display());
    assert_ne!(ground.sh(&script).ended, Ended::Exited(0));
    assert_eq!(fs::read_to_string(ground.library.join("book.txt")).unwrap(), "as it was\n");

    let mut control = ground.spec(&["/bin/sh", "-c", &script]);
    control.mounts[2].access = MountAccess::ReadWrite;
    assert_eq!(run(&control).ended, Ended::Exited(0));
    assert_eq!(fs::read_to_string(ground.library.join("book.txt")).unwrap(), "changed\n");
    Shown::Held
}

fn write_in_a_nested_read_only_mount(ground: &Ground) -> Shown {
    let script = "echo changed > .git/config";
    assert_ne!(ground.sh(script).ended, Ended::Exited(0));
    assert_eq!(fs::read_to_string(ground.project.join(".git/config")).unwrap(), "as it was\n");

    let mut control = ground.spec(&["/bin/sh", "-c", script]);
    control.mounts.remove(1);
    assert_eq!(run(&control).ended, Ended::Exited(0));
    assert_eq!(fs::read_to_string(ground.project.join(".git/config")).unwrap(), "changed\n");
    Shown::Held
}

fn move_a_nested_read_only_mount_away(ground: &Ground) -> Shown {
    for script in ["mv .git old", "rm -rf .git", "umount .git", "chmod 777 .git", "touch .git/new"] {
        let inside = ground.sh(script);
        assert_ne!(inside.ended, Ended::Exited(0), "{script}");
        assert_eq!(fs::read_to_string(ground.project.join(".git/config")).unwrap(), "as it was\n", "{script}");
    }
    assert!(ground.sh_outside("mv .git old && mv old .git && chmod 755 .git && touch .git/new").status.success());
    Shown::Held
}

fn write_in_the_system_directories(ground: &Ground) -> Shown {
    for path in ["/made", "/usr/made", "/etc/passwd", "/etc/ld.so.cache", "/dev/made", "/usr/bin/env", "/proc/made"] {
        let inside = ground.sh(&format!("echo x >> {path}"));
        assert_ne!(inside.ended, Ended::Exited(0), "{path}");
    }
    // The same words work where writing is allowed.
    for path in ["/tmp/made", "/dev/shm/made", "/dev/null", "made"] {
        let inside = ground.sh(&format!("echo x >> {path}"));
        assert_eq!(inside.ended, Ended::Exited(0), "{path}: {}", text(&inside.stderr));
    }
    Shown::Held
}

fn leave_a_set_uid_file_behind(ground: &Ground) -> Shown {
    let is_set = |name: &str| fs::metadata(ground.project.join(name)).is_ok_and(|file| file.mode() & 0o6000 != 0);
    let script = "cp /bin/true copy && chmod 4755 copy";
    assert_ne!(ground.sh(script).ended, Ended::Exited(0));
    assert_ne!(ground.sh("cp /bin/true copy && chmod g+s copy").ended, Ended::Exited(0));
    assert!(!is_set("copy"));
    assert!(ground.sh_outside(script).status.success());
    assert!(is_set("copy"), "the control shows that this file system keeps the bit");

    needs_python!();
    let at_once = "import os; os.close(os.open('at_once', os.O_CREAT | os.O_WRONLY, 0o6755))";
    ground.python(at_once);
    assert!(!is_set("at_once"));
    assert!(ground.python_outside(at_once).status.success());
    assert!(is_set("at_once"));
    Shown::Held
}

fn make_a_device_node(ground: &Ground) -> Shown {
    for script in ["mknod node c 1 3", "mknod /tmp/node c 0 0", "mknod node b 7 0"] {
        assert_ne!(ground.sh(script).ended, Ended::Exited(0), "{script}");
    }
    assert_eq!(ground.sh("mkfifo fifo").ended, Ended::Exited(0), "what is harmless stays allowed");
    if ground.identity == Identity::Root {
        assert!(ground.sh_outside("mknod node c 1 3").status.success());
    }
    Shown::Held
}

fn mount_over_a_planted_symlink(ground: &Ground) -> Shown {
    fs::remove_dir_all(ground.project.join(".git")).unwrap();
    symlink("/etc", ground.project.join(".git")).unwrap();
    let mut spec = ground.spec(&["/bin/true"]);
    spec.mounts[1].source = ground.library.clone();
    let error = refusal(&spec);
    assert_eq!(error.code(), "E_SANDBOX_MOUNT");
    assert!(error.to_string().contains("symlink"), "{error}");
    Shown::Held
}

fn mount_from_behind_a_symlink(ground: &Ground) -> Shown {
    let link = ground.outside.join("link");
    symlink(&ground.library, &link).unwrap();
    let mut spec = ground.spec(&["/bin/true"]);
    for source in [link.clone(), link.join("book.txt")] {
        spec.mounts[2].source = source;
        let error = refusal(&spec);
        assert_eq!(error.code(), "E_SANDBOX_MOUNT");
        assert!(error.to_string().contains("real paths"), "{error}");
    }
    spec.mounts[2] = Mount { source: ground.library.clone(), ..ground.mounts()[2].clone() };
    assert_eq!(run(&spec).ended, Ended::Exited(0));
    Shown::Held
}

fn mount_where_nothing_is(ground: &Ground) -> Shown {
    let mut spec = ground.spec(&["/bin/true"]);
    spec.mounts[1].target = ground.project.join("not/there");
    let error = refusal(&spec);
    assert_eq!(error.code(), "E_SANDBOX_MOUNT");
    assert!(!ground.project.join("not").exists(), "nothing is made in the project");
    Shown::Held
}

fn keep_something_in_tmp(ground: &Ground) -> Shown {
    let name = format!("/tmp/kept-{}", std::process::id());
    assert_eq!(ground.sh(&format!("echo x > {name} && cat {name}")).ended, Ended::Exited(0));
    assert!(!std::path::Path::new(&name).exists());
    assert_ne!(ground.sh(&format!("cat {name}")).ended, Ended::Exited(0), "the next run has its own");
    Shown::Held
}
