//! The owner's own: keys and profiles in the home directory, hooks in the repository, and what the owner's environment
//! would have programs load.

use crate::ground::{Ground, PYTHON, SECRET, run, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use std::fs;
use std::path::Path;

pub(crate) const CASES: &[Case] = &[
    ("write_git_hooks", write_git_hooks),
    ("write_shell_profiles", write_shell_profiles),
    ("read_keys_in_the_home", read_keys_in_the_home),
    ("be_loaded_by_a_poisoned_environment", be_loaded_by_a_poisoned_environment),
    ("connect_to_sockets_that_were_granted_along", connect_to_sockets_that_were_granted_along),
];

fn write_git_hooks(ground: &Ground) -> Shown {
    let hooks = ground.project.join(".git/hooks");
    for script in [
        "mkdir -p .git/hooks && echo evil > .git/hooks/post-checkout",
        "ln -s /tmp .git/hooks",
        "echo '[core] hooksPath = /tmp' >> .git/config",
        "cp -r .git other && mv other .git",
    ] {
        ground.sh(script);
        assert!(!hooks.exists() && !ground.project.join(".git/other").exists(), "{script}");
        assert_eq!(fs::read_to_string(ground.project.join(".git/config")).unwrap(), "as it was\n", "{script}");
    }
    let mut control = ground.spec(&["/bin/sh", "-c", "mkdir -p .git/hooks && echo evil > .git/hooks/post-checkout"]);
    control.mounts.remove(1);
    assert_eq!(run(&control).ended, Ended::Exited(0));
    assert!(hooks.join("post-checkout").exists());
    Shown::Held
}

fn write_shell_profiles(ground: &Ground) -> Shown {
    // A home of the owner's that is not granted, and places that every shell reads.
    let own =
        [".bashrc", ".profile", ".zshenv", ".config/fish/config.fish", ".config/autostart/x.desktop", ".gitconfig"];
    for name in own {
        let path = ground.outside.join(name);
        let script = format!("mkdir -p $(dirname {0}) && echo evil >> {0}", path.display());
        ground.sh(&script);
        assert!(!path.exists(), "{name}");
        assert!(ground.sh_outside(&script).status.success());
        assert!(path.exists(), "{name}");
    }
    for path in ["/etc/profile", "/etc/profile.d/x.sh", "/etc/bash.bashrc", "/etc/environment", "/etc/ld.so.preload"] {
        assert_ne!(ground.sh(&format!("echo evil >> {path}")).ended, Ended::Exited(0), "{path}");
    }
    Shown::Held
}

fn read_keys_in_the_home(ground: &Ground) -> Shown {
    for name in
        [".ssh/id_ed25519", ".gnupg/private-keys-v1.d/key", ".aws/credentials", ".local/share/silas/keys/root.key"]
    {
        let path = ground.outside.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, SECRET).unwrap();
        let script = format!("cat {0} ../outside/{name}; cat ~/{name}", path.display());
        assert_eq!(text(&ground.sh(&script).stdout), "", "{name}");
        assert!(text(&ground.sh_outside(&script).stdout).contains(SECRET), "{name}");
    }
    // The real ones of this machine: the directories are not even there.
    assert_eq!(text(&ground.sh("ls -A /root /home /var /run /srv /mnt /media /boot 2>/dev/null").stdout), "");
    assert_ne!(ground.sh("cat /etc/shadow /etc/gshadow /etc/sudoers").ended, Ended::Exited(0));
    Shown::Held
}

/// The caller's environment names files that exist inside too; programs there never hear of it.
fn be_loaded_by_a_poisoned_environment(ground: &Ground) -> Shown {
    needs_python!();
    let poison = |name: &str, content: &str| {
        let path = ground.library.join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let shell = poison("poison.sh", "echo poisoned >&2\n");
    poison("sitecustomize.py", "import sys; sys.stderr.write('poisoned\\n')\n");
    let library = ground.library.to_str().unwrap();
    let programs: [(&str, &str, &[&str]); 5] = [
        ("LD_PRELOAD", "/no/such/library-poisoned.so", &["/bin/true"]),
        ("PYTHONPATH", library, &[PYTHON, "-c", "pass"]),
        ("BASH_ENV", &shell, &["/bin/bash", "-c", "true"]),
        ("GIT_TRACE", "2", &["/usr/bin/git", "version"]),
        ("GIT_SSH_COMMAND", "echo poisoned", &["/bin/sh", "-c", "echo $GIT_SSH_COMMAND >&2"]),
    ];
    for (name, value, argv) in programs.iter().filter(|(_, _, argv)| Path::new(argv[0]).exists()) {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(name, value) };
        let inside = ground.cell(argv);
        assert_eq!(text(&inside.stderr), "", "{name}");
        let control = std::process::Command::new(argv[0]).args(&argv[1..]).output().unwrap();
        assert_ne!(text(&control.stderr), "", "the control of {name}");
        // SAFETY: as above.
        unsafe { std::env::remove_var(name) };
    }
    Shown::Held
}

/// A directory that was granted for reading may have somebody's socket in it: connecting is neither reading nor writing.
fn connect_to_sockets_that_were_granted_along(ground: &Ground) -> Shown {
    needs_python!();
    use std::io::ErrorKind;
    use std::os::unix::net::{UnixDatagram, UnixListener};
    fs::create_dir(ground.library.join("deep")).unwrap();
    let paths = ["agent.sock", "deep/daemon.ipc"].map(|name| ground.library.join(name));
    let listeners = paths.clone().map(|path| UnixListener::bind(path).unwrap());
    let datagram_path = ground.library.join("log.sock");
    let datagram = UnixDatagram::bind(&datagram_path).unwrap();
    let code = format!(
        "import socket
for path in {paths:?}:
    try: socket.socket(socket.AF_UNIX).connect(path); print('connected')
    except OSError as e: print(e)
try: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {datagram_path:?}); print('sent')
except OSError as e: print(e)"
    );
    let inside = text(&ground.python(&code).stdout);
    assert!(!inside.contains("connected") && !inside.contains("sent"), "{inside}");
    for listener in &listeners {
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    let outside = text(&ground.python_outside(&code).stdout);
    assert_eq!(outside, "connected\nconnected\nsent");
    datagram.recv(&mut [0]).unwrap();
    Shown::Held
}
