//! Another user of the same machine: sees every list of processes, reaches every port, takes those that are free. As root
//! the tests really are somebody else; whoever runs them otherwise sees which were skipped.

use crate::harness::{ASKING, Device, Silas, proof};
use crate::http;
use crate::page::Page;
use crate::setting_up::{assert_told, cards_by_both_roads};
use crate::typist::TYPIST;
use serde_json::{Value, json};
use silas_core::card::Risk;
use silas_core::token::{Offer, Verdict};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Generous: a loaded machine is slow, a hang is forever.
const PATIENCE: Duration = Duration::from_secs(60);
const STRANGER: &str = "65534";

/// A program of somebody else's, which reads its orders from its input; none where nobody else can be played.
fn stranger(script: &str, args: &[String]) -> Option<Child> {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root || Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: only root with setpriv can be somebody else");
        return None;
    }
    let mut child = Command::new("setpriv")
        .args(["--reuid", STRANGER, "--regid", STRANGER, "--clear-groups", "--", "/usr/bin/python3", "-"])
        .args(args)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    Some(child)
}

/// Everything that it prints until it ends.
fn told(script: &str, args: &[String]) -> Option<String> {
    let output = stranger(script, args)?.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

const POST: &str = r#"
import http.client, sys
port, body = sys.argv[1], sys.argv[2]
line = http.client.HTTPConnection('127.0.0.1', int(port))
headers = {'Host': f'localhost:{port}', 'Origin': f'http://localhost:{port}', 'Content-Type': 'application/json'}
line.request('POST', '/pair', body, headers)
answer = line.getresponse()
print(answer.status, answer.read().decode())
"#;

#[test]
fn a_code_that_somebody_else_has_seen_pairs_nobody_of_theirs() {
    let silas = Silas::start_with_log(&[]);
    let port = silas.port();
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let theirs = Device::new();
    let screen: Value = serde_json::from_str(&http::get(port, "/pair").1).unwrap();
    let rules: Offer = serde_json::from_value(screen["house_rules"]["offer"].clone()).unwrap();
    let public = String::from(theirs.public());
    let body = json!({ "public": public, "name": "theirs", "proof": proof(&code, &public),
        "house_rules": theirs.answer(&rules, Verdict::Approved) });
    let Some(answer) = told(POST, &[port.to_string(), body.to_string()]) else { return };
    assert!(answer.starts_with("403 ") && answer.contains("Another user of this machine"), "{answer}");
    assert!(!silas.command(&["device", "list"]).1.contains("theirs"));
    // It was not used up, and whoever it is for uses it.
    let (status, answer) = Device::new().pair(port, "a guess");
    assert_eq!(status, 403, "{answer}");
    let (status, answer) = Device::new().pair(port, &code);
    assert_eq!(status, 200, "{answer}");
    let log = fs::read_to_string(silas.outside().join("log")).unwrap();
    assert!(log.contains("another user of this machine tried to pair") && log.contains("the code is wrong"), "{log}");
    assert!(!log.contains(&code), "{log}");
}

/// A desktop's opener that notes what it was given and stays until it has been looked at.
const OPENER: &str = "#!/bin/sh\nprintf '%s' \"$1\" > \"$NOTES/target.draft\"\nmv \"$NOTES/target.draft\" \"$NOTES/target\"\n\
    n=0\nwhile [ ! -e \"$NOTES/seen\" ] && [ $n -lt 6000 ]; do sleep 0.01; n=$((n + 1)); done\n";

/// Looks through the arguments of all programs; what for, its own say backwards.
const SPY: &str = r#"
import glob, sys
for path in glob.glob('/proc/[0-9]*/cmdline'):
    try:
        words = open(path, 'rb').read()
    except OSError:
        continue
    if sys.argv[1][::-1].encode() in words:
        print(path, words)
try:
    print(open(sys.argv[2]).read())
except PermissionError:
    print('refused')
"#;

#[test]
fn the_browser_is_opened_without_the_code_in_any_argument() {
    // Where browsers may be snaps, which cannot read the file, they are given the plain address.
    let has_snaps = std::path::Path::new("/snap/bin").exists();
    let mut silas = Silas::start();
    silas.terminate();
    let notes = tempfile::tempdir().unwrap();
    let opener = notes.path().join("xdg-open");
    fs::write(&opener, OPENER).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let terminal = Command::new("/usr/bin/python3")
        .args(["-c", TYPIST, "[]", env!("CARGO_BIN_EXE_silas"), "--data-dir"])
        .arg(silas.data())
        .args(["start", "--port", "0"])
        .env("PATH", format!("{}:{}", notes.path().display(), std::env::var("PATH").unwrap()))
        .env("NOTES", notes.path())
        .env("DISPLAY", ":99")
        .env("SILAS__KEYS__KEYRING", "false")
        .current_dir("/")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    let control = silas.data().join("run/control.sock");
    while !notes.path().join("target").exists() || std::os::unix::net::UnixStream::connect(&control).is_err() {
        assert!(Instant::now() < until, "nothing was opened");
        std::thread::sleep(Duration::from_millis(10));
    }
    let target = fs::read_to_string(notes.path().join("target")).unwrap();
    let (origin, file) = (format!("http://localhost:{}", silas.port()), silas.data().join("run/open.html"));
    // However it is led there: no argument of any program has a code.
    let with_code = format!("{origin}/#pair=");
    if let Some(seen) = told(SPY, &[with_code.chars().rev().collect(), file.to_str().unwrap().to_owned()]) {
        assert_eq!(seen.trim(), "refused");
    }
    let code = if has_snaps {
        assert_eq!(target.trim_end_matches('/'), origin);
        assert!(!file.exists());
        None
    } else {
        assert_eq!(target, file.to_str().unwrap());
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        let page = fs::read_to_string(&file).unwrap();
        let (_, rest) = page.split_once("url=").unwrap();
        let (address, _) = rest.split_once('"').unwrap();
        let code = address.strip_prefix(&with_code).unwrap().to_owned();
        if let Some(seen) = told(SPY, &[code.chars().rev().collect(), target.clone()]) {
            assert_eq!(seen.trim(), "refused");
        }
        // Once it is used the file is gone, and what it says is worth nothing.
        assert_eq!(Device::new().pair(silas.port(), &code).0, 200);
        while file.exists() {
            assert!(Instant::now() < until, "the file stays");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(Device::new().pair(silas.port(), &code).0, 403);
        Some(code)
    };
    fs::write(notes.path().join("seen"), "").unwrap();
    let (stopped, text) = silas.command(&["stop", "--server"]);
    assert_eq!(stopped, 0, "{text}");
    let shown = String::from_utf8(terminal.wait_with_output().unwrap().stdout).unwrap();
    let address = format!("{with_code}{}", code.unwrap_or_default());
    assert!(shown.contains(&address), "the terminal, which is the owner's, still shows the address: {shown}");
}

/// Holds as many connections as it can, half of them as WebSockets that never say who they are, and opens what it loses again.
const CROWD: &str = r#"
import socket, sys, threading, time
port = int(sys.argv[1])
upgrade = (f'GET /ws HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\nUpgrade: websocket\r\n'
    'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n').encode()
held = []
def hold(n):
    try:
        line = socket.create_connection(('127.0.0.1', port))
        line.sendall(upgrade if n % 2 else b'GET / HTTP/1.1\r\nHost: loc')
        held.append(line)
    except OSError:
        pass
for n in range(200):
    hold(n)
print('held', flush=True)
n = 0
while True:
    n += 1
    hold(n)
    if len(held) > 200:
        held.pop(0).close()
    time.sleep(0.005)
"#;

#[test]
fn a_stranger_who_holds_every_place_keeps_no_page_out() {
    let silas = Silas::start_with(&[("SILAS__LIMITS__CONNECTIONS_MAX", "32")]);
    let (device, port) = (silas.pair(), silas.port());
    let mut page = Page::open(&silas, &device, None);
    let Some(mut crowd) = stranger(CROWD, &[port.to_string()]) else { return };
    assert_eq!(first_line(&mut crowd), "held");
    for _ in 0..10 {
        assert_eq!(http::get(port, "/health").0, 200);
        let mut another = Page::open(&silas, &device, None);
        assert_eq!(another.ask(&json!({ "type": "tasks" })), "tasks");
        assert_eq!(page.ask(&json!({ "type": "tasks" })), "tasks");
    }
    end(crowd);
}

const LISTENER: &str = r#"
import socket, time
door = socket.create_server(('127.0.0.1', 0))
print(door.getsockname()[1], flush=True)
time.sleep(600)
"#;

#[test]
fn a_port_that_somebody_else_holds_is_more_than_taken() {
    let dir = tempfile::tempdir().unwrap();
    let start = |port: &str| {
        let output = crate::harness::binary()
            .args(["start", "--quiet", "--port", port, "--data-dir"])
            .arg(dir.path().join("data"))
            .current_dir("/")
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let said = start(&own.local_addr().unwrap().port().to_string());
    assert!(said.contains("perhaps by another Silas"), "{said}");
    let Some(mut holder) = stranger(LISTENER, &[]) else { return };
    let port = first_line(&mut holder);
    let said = start(&port);
    for words in ["another user of this machine (user id 65534)", "silas device revoke", "silas start --port"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let output = crate::harness::binary()
        .args(["doctor", "--data-dir"])
        .arg(dir.path().join("data"))
        .env("SILAS__CHANNELS__WEB__PORT", &port)
        .current_dir("/")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("✗ Page") && text.contains("another user of this machine (user id 65534)"), "{text}");
    end(holder);
}

/// However the model was added: by what the page and a talk do, or by the command.
#[test]
fn a_model_that_somebody_else_answers_for_is_not_offered_as_private() {
    let silas = Silas::start();
    let Some(mut holder) = stranger(LISTENER, &[]) else { return };
    let port = first_line(&mut holder);
    for card in cards_by_both_roads(&silas, &format!("127.0.0.1:{port}")) {
        assert_told(
            &card,
            (
                Risk::Medium,
                "Ask a model of another user here",
                "What you say, files it reads",
                "Answered by a program of another user of this machine, ",
            ),
        );
    }
    end(holder);
}

#[test]
fn a_worker_that_somebody_left_in_a_browser_is_replaced_by_ours() {
    let silas = Silas::start_with_log(&[]);
    let port = silas.port();
    let ask = |path: &str, host: &str, more: &str| {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    };
    let (ours, script) = (format!("localhost:{port}"), "Service-Worker: script\r\n");
    let (_, worker) = ask("/sw.js", &ours, "");
    assert!(worker.contains("silas-shell-"));
    for path in ["/theirs.js", "/deep/down/theirs.js?v=1", "/", "/health", "/pair", "/app.js"] {
        let (head, body) = ask(path, &ours, script);
        assert!(head.starts_with("http/1.1 200") && body == worker, "{path}: {head}");
        for line in ["content-type: text/javascript", "service-worker-allowed: /", "clear-site-data: \"cache\""] {
            assert!(head.contains(line), "{path}: {head}");
        }
    }
    let (head, _) = ask("/sw.js", &ours, script);
    assert!(head.starts_with("http/1.1 200") && !head.contains("clear-site-data"), "{head}");
    assert!(ask("/theirs.js", &ours, "").0.starts_with("http/1.1 404"));
    assert!(ask("/theirs.js", "evil.example", script).0.starts_with("http/1.1 421"));
    let log = fs::read_to_string(silas.outside().join("log")).unwrap();
    assert!(log.contains("a service worker for this address that is not Silas's"), "{log}");
}

/// As `silas service` has systemd start it: no program that it starts can gain privileges.
#[test]
fn a_service_that_cannot_gain_privileges_is_paired_told_and_works() {
    if Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: setpriv is missing");
        return;
    }
    let silas = Silas::start_under(&["setpriv", "--no-new-privs", "--"], &[ASKING]);
    let (code, text) = silas.command(&["pair"]);
    assert!(code == 0 && text.contains("/#pair="), "{text}");
    silas.pair();
    let (code, text) = silas.command(&["say", "what did you do?"]);
    assert_eq!(code, 0, "{text}");
    let done = silas.line().run(&silas.wish()).unwrap();
    assert_eq!(done["outcome"], "proved", "{done}");
    assert_eq!(silas.tree()[std::path::Path::new("src/a.txt")], b"new a\n");
    silas.assert_ledger_holds();
}
