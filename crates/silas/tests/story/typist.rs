//! Somebody at a terminal: waits for words on the screen, types, and gives everything that was shown.

use crate::harness::Place;
use std::path::Path;
use std::process::Command;

/// Each step is what has to be on the screen since the last one, and what is typed then.
pub(crate) const TYPIST: &str = r#"
import fcntl, json, os, pty, struct, sys, termios
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    # Before it looks at it.
    columns = int(os.environ.pop('SCREEN_COLUMNS', '0'))
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24 if columns else 0, columns, 0, 0))
    os.execv(command[0], command)
shown, since = b'', 0
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    shown += more
    if steps and steps[0][0].encode() in shown[since:]:
        since = len(shown)
        os.write(terminal, steps.pop(0)[1].encode())
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(shown)
sys.exit(code if not steps else 99)
"#;

/// The exit code, 99 if not all of it could be typed, and what the screen showed.
pub(crate) fn at_terminal(silas: &Place, args: &[&str], steps: &[(&str, &str)]) -> (i32, String) {
    typing(&silas.data(), args, steps)
}

/// The same at a terminal that says of itself what these variables say; without any it can do nothing but letters.
pub(crate) fn at_terminal_with(
    silas: &Place,
    args: &[&str],
    steps: &[(&str, &str)],
    env: &[(&str, &str)],
) -> (i32, String) {
    typing_with(&silas.data(), args, steps, env)
}

/// The variable that says how wide the screen is; without it nobody knows.
pub(crate) const SCREEN_COLUMNS: &str = "SCREEN_COLUMNS";

/// The same for a data directory that nobody has started yet. No desktop is there to open a page on.
pub(crate) fn typing(data: &Path, args: &[&str], steps: &[(&str, &str)]) -> (i32, String) {
    typing_with(data, args, steps, &[])
}

fn typing_with(data: &Path, args: &[&str], steps: &[(&str, &str)], env: &[(&str, &str)]) -> (i32, String) {
    let output = Command::new("/usr/bin/python3")
        .args(["-c", TYPIST, &serde_json::to_string(steps).unwrap(), env!("CARGO_BIN_EXE_silas"), "--data-dir"])
        .arg(data)
        .args(args)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env("SILAS__KEYS__KEYRING", "false")
        .env("XDG_STATE_HOME", data.with_file_name("state"))
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env("TERM", "dumb")
        .envs(env.iter().copied())
        .current_dir("/")
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}
