//! The system's keyring: used where there is one, never waited for where there is none.

use crate::harness::Silas;
use crate::vault::CANARY;
use std::fs;
use std::process::Command;

fn has(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().is_ok_and(|out| out.status.success())
}

/// Runs a script of `silas` commands in a session with a keyring of its own.
fn in_session(silas: &Silas, script: &str) -> (i32, String) {
    let home = silas.outside().join("home");
    fs::create_dir_all(home.join("run")).unwrap();
    let session = format!(
        "eval \"$(printf 'pw\\n' | gnome-keyring-daemon --unlock --components=secrets)\" >/dev/null\n\
         silas='{}' data='{}'\nsilas() {{ \"$silas\" --data-dir \"$data\" \"$@\"; }}\n{script}",
        env!("CARGO_BIN_EXE_silas"),
        silas.data().display()
    );
    let output = Command::new("dbus-run-session")
        .args(["--", "bash", "-c", &session])
        .env("HOME", &home)
        .env("XDG_RUNTIME_DIR", home.join("run"))
        .env("XDG_DATA_HOME", home.join("share"))
        .env("XDG_STATE_HOME", silas.outside().join("state"))
        .env("SILAS__KEYS__KEYRING", "true")
        .current_dir("/")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text)
}

/// Starts a server in the script, and waits until it answers.
const UP: &str = "\"$silas\" --data-dir \"$data\" start --port 0 --quiet >/dev/null & server=$!; trap 'kill $server' EXIT\n\
                  until silas status >/dev/null 2>&1; do kill -0 $server || exit 9; sleep 0.1; done\n";
const DOWN: &str = "kill $server; wait $server || true; trap - EXIT\n";

#[test]
fn keys_and_vault_are_sealed_in_the_keyring_and_need_it() {
    if !has("dbus-run-session") || !has("gnome-keyring-daemon") {
        eprintln!("skipped: gnome-keyring and dbus-run-session are not installed; `./test` installs them");
        return;
    }
    let mut silas = Silas::start();
    silas.terminate();
    fs::remove_dir_all(silas.data()).unwrap();
    let script = format!(
        "set -e\n{UP}silas key show\nsilas say 'add task `Water the plants`'\nprintf '%s' {CANARY} | silas secret set mail\n\
         silas status\n{DOWN}silas key rotate vault\nsilas key rotate root\nsilas key rotate server\n\
         {UP}silas status\nsilas secret list\n{DOWN}"
    );
    let (code, text) = in_session(&silas, &script);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Root and terminal key: sealed with a key in the system's keyring."), "{text}");
    assert!(text.contains("Vault of secrets: sealed with a key in the system's keyring."), "{text}");
    assert_eq!(text.matches("Vault: open, 1 secret").count(), 2, "also after the restart, under new keys: {text}");
    assert!(text.contains("sealed anew: 1") && text.contains("The root key is a new one"), "{text}");
    let key = fs::read(silas.data().join("keys/root.key")).unwrap();
    assert!(key.starts_with(b"silas-k2"));

    // The same data without that session: it starts, listens, and says what it lacks.
    silas.up(&[]);
    let (_, status) = silas.command(&["status"]);
    assert!(status.contains("Vault: locked, 1 secret; sealed with a key in the system's keyring"), "{status}");
    let (code, text) = silas.command(&["say", "tasks"]);
    assert!(code != 0 && text.contains("keyring"), "{text}");
    let (code, text) = silas.command(&["unlock"]);
    assert!(code != 0 && text.contains("keyring"), "{text}");
    silas.terminate();

    // In its session again, it moves to a passphrase, and from there anywhere.
    let script = "set -e\nprintf 'correct horse battery\\n' | silas key passphrase\nsilas key show\n";
    let (code, text) = in_session(&silas, script);
    assert!(code == 0 && text.matches("sealed with your passphrase").count() >= 2, "{text}");
    silas.up(&[]);
    let (code, text) = silas.command_with(&["unlock"], &[], "correct horse battery");
    assert_eq!(code, 0, "{text}");
    assert_eq!(silas.command_with(&["say", "tasks"], &[], "correct horse battery").0, 0);
    silas.assert_ledger_holds();
}

/// A session bus that is announced and not there, and one that never answers, hold nothing up.
#[test]
fn without_a_keyring_files_serve() {
    let mute = tempfile::tempdir().unwrap();
    let socket = mute.path().join("bus");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for address in ["unix:path=/nonexistent/bus".to_owned(), format!("unix:path={}", socket.display())] {
        let mut silas = Silas::start();
        silas.terminate();
        fs::remove_dir_all(silas.data()).unwrap();
        silas.up(&[("SILAS__KEYS__KEYRING", "true"), ("DBUS_SESSION_BUS_ADDRESS", &address)]);
        let (code, text) = silas.command(&["status"]);
        assert!(code == 0 && text.contains("Root key: protected by file permissions only."), "{address}: {text}");
    }
}
