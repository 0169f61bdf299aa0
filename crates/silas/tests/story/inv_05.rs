//! INV-05: what runs is isolated, whatever it tries, and its output is a stranger's word.

use crate::harness::{FIX, Silas};
use silas_core::card::CardKind;
use std::fs;

/// Runs a hostile command whose success would show in the copy, and gives what it printed.
fn printed_by(silas: &Silas, command: &str) -> String {
    let mut line = silas.line();
    let wish = format!("run ``{command}`` in `{}` and check with `sh check.sh`", silas.repo().display());
    line.run(&wish).unwrap();
    let report = line.card(CardKind::Report).unwrap();
    format!("{:?}", report.face.details)
}

#[test]
fn the_owners_files_keys_and_sockets_are_not_there() {
    // Without tools in the home, whose directories and variable would be granted; `sandbox.rs` is about those.
    let homes = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR", "UV_PYTHON_INSTALL_DIR"];
    let silas = Silas::start_with(&homes.map(|name| (name, "/nowhere")));
    fs::write(silas.outside().join("secret.txt"), "top secret\n").unwrap();
    let (outside, data) = (silas.outside().display().to_string(), silas.data().display().to_string());
    let command = format!(
        "cat {outside}/secret.txt; ls {data}/keys; ls {data}/run; echo pwned > {outside}/secret.txt; ls -la /root /home; cat /etc/shadow; env"
    );
    let printed = printed_by(&silas, &command);
    assert!(
        !printed.contains("top secret") && !printed.contains("root.key") && !printed.contains("control.sock"),
        "{printed}"
    );
    assert!(!printed.contains("root:"), "{printed}");
    assert!(!printed.contains("CARGO"), "the environment of the server is not passed on: {printed}");
    assert_eq!(fs::read_to_string(silas.outside().join("secret.txt")).unwrap(), "top secret\n");
}

/// Neither by its name nor by what was inherited: the terminal's doors, and the sockets between the front, the launcher
/// and the workshop that runs this very command.
#[test]
fn no_socket_of_silas_can_be_reached() {
    let silas = Silas::start();
    let data = silas.data().display().to_string();
    let code = format!(
        "import os, socket, stat
for path in ('{data}/run/control.sock', '{data}/run/keys.sock'):
    try: socket.socket(socket.AF_UNIX).connect(path); print('reached', path)
    except OSError: print('closed')
print('sockets', sum(stat.S_ISSOCK(os.stat(int(fd)).st_mode) for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{{fd}}')))
print('known', len(open('/proc/net/unix').readlines()) - 1)"
    );
    fs::write(silas.repo().join("reach.py"), &code).unwrap();
    let printed = printed_by(&silas, "python3 reach.py");
    assert!(printed.contains(r#"["closed", "closed", "sockets 0", "known 0"]"#), "{printed}");
    let control = std::process::Command::new("python3").args(["-c", &code]).output().unwrap();
    let control = String::from_utf8_lossy(&control.stdout);
    assert_eq!(control.matches("reached").count(), 2, "{control}");
}

#[test]
fn there_is_no_network() {
    let silas = Silas::start();
    let port = silas.port();
    let command = format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}' && echo connected-to-silas");
    let printed = printed_by(&silas, &command);
    assert!(!printed.contains("\"connected-to-silas"), "{printed}");
}

#[test]
fn git_is_read_only() {
    let silas = Silas::start();
    let hooks = silas.repo().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let mut line = silas.line();
    let command = format!("echo evil > .git/hooks/post-commit; {FIX}");
    let wish = format!("run `{command}` in `{}` and check with `sh check.sh`", silas.repo().display());
    let work = line.run(&wish).unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");
    assert!(!hooks.join("post-commit").exists());
}

#[test]
fn terminal_escapes_in_output_are_shown_not_obeyed() {
    let silas = Silas::start();
    let printed = printed_by(&silas, r"printf '\033[2J\033]0;owned\007'");
    assert!(printed.contains("U+001B") && !printed.contains('\u{1b}'), "{printed}");
}
