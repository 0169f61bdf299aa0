//! `silas sandbox` as a person meets it: what a command may, what it may not, and what is said about nonsense.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Owner {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Owner {
    fn new() -> Owner {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for part in ["home", "project"] {
            fs::create_dir(base.join(part)).unwrap();
        }
        fs::write(base.join("project/a.txt"), "old\n").unwrap();
        fs::write(base.join("home/secret.txt"), "secret\n").unwrap();
        Owner { _dir: dir, base }
    }

    fn project(&self) -> String {
        self.base.join("project").to_str().unwrap().to_owned()
    }

    /// With a home of its own, so that what is found does not depend on who runs the tests.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = crate::harness::binary();
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.base.join("home"));
        command.arg("--data-dir").arg(self.base.join("data")).arg("sandbox").args(args).current_dir("/");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    /// Refused before anything ran: this exit code, and a sentence with its code.
    #[track_caller]
    fn refused(&self, args: &[&str], exit_code: i32, expect: &[&str]) {
        let output = self.run(args);
        let said = err(&output);
        assert_eq!(output.status.code(), Some(exit_code), "{args:?}: {said}");
        assert!(out(&output).is_empty(), "{args:?}");
        for words in expect {
            assert!(said.contains(words), "{args:?}: {said}");
        }
    }

    fn left_over(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.base.join("data/launcher/work")).unwrap();
        names.map(|entry| entry.unwrap().path()).collect()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_command_runs_and_its_exit_code_is_the_answer() {
    let owner = Owner::new();
    let output = owner.run(&["--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((out(&output).as_str(), err(&output).as_str()), ("out\n", "err\n"));
    assert_eq!(output.status.code(), Some(7));
    let killed = owner.run(&["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status.code(), Some(137));
    assert_eq!(owner.left_over(), [] as [PathBuf; 0]);
}

#[test]
fn it_sees_what_was_granted_and_nothing_of_the_home() {
    let owner = Owner::new();
    let secret = owner.base.join("home/secret.txt");
    let seen = owner.run(&[
        "--read",
        &owner.project(),
        "--",
        "sh",
        "-c",
        &format!("cat a.txt; cat {}; env", secret.display()),
    ]);
    let said = out(&seen);
    assert!(said.starts_with("old\n") && !said.contains("secret"), "{said}");
    let mut names: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "PWD"], "the shell adds PWD");
    assert!(said.contains("HOME=/tmp/home"));
    let write = owner.run(&["--read", &owner.project(), "--", "sh", "-c", "echo new > a.txt"]);
    assert_ne!(write.status.code(), Some(0));
    assert_eq!(fs::read_to_string(owner.base.join("project/a.txt")).unwrap(), "old\n");
    let network = owner.run(&["--", "sh", "-c", "cat /proc/net/dev | wc -l"]);
    assert_eq!(out(&network).trim(), "3", "two lines of titles and its own loopback");
}

#[test]
fn writing_happens_in_a_copy_and_is_told() {
    let owner = Owner::new();
    let script = "echo new > a.txt; echo more > b.txt; cat a.txt";
    let output = owner.run(&["--write", &owner.project(), "--", "sh", "-c", script]);
    assert_eq!(out(&output), "new\n");
    let said = err(&output);
    assert!(said.contains("changed in the copy only, your files are as they were"), "{said}");
    assert!(said.contains("- old") && said.contains("+ new") && said.contains("b.txt (+1"), "{said}");
    assert_eq!(fs::read_to_string(owner.base.join("project/a.txt")).unwrap(), "old\n");
    assert!(!owner.base.join("project/b.txt").exists());
    assert_eq!(owner.left_over(), [] as [PathBuf; 0]);
}

/// The command ran, and left something of which nothing can be kept. Where it cannot even be copied, nothing ran.
#[test]
fn a_command_whose_result_cannot_be_told_is_not_called_one_that_did_not_run() {
    let owner = Owner::new();
    let project = owner.project();
    let output = owner.run(&["--write", &project, "--", "sh", "-c", "echo here; mkfifo pipe"]);
    let said = err(&output);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(125), "here\n"), "{said}");
    for words in [
        "The command ran. It ended well (exit code 0).",
        "pipe is a named pipe that the work made",
        "(E_SANDBOX_UNSUPPORTED)",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let seen = |words: &str| {
        let files = fs::read_dir(owner.base.join("data/store")).unwrap().flatten().map(|file| file.path());
        let bytes: Vec<u8> = files.filter(|file| file.is_file()).flat_map(|file| fs::read(file).unwrap()).collect();
        bytes.windows(words.len()).any(|part| part == words.as_bytes())
    };
    assert!(seen("exit_0-E_SANDBOX_UNSUPPORTED"));
    let pipe = owner.base.join("project/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let output = owner.run(&["--write", &project, "--", "echo", "here"]);
    let said = err(&output);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(125), ""), "{said}");
    assert!(
        said.contains("pipe is a named pipe, which cannot be copied") && !said.contains("The command ran"),
        "{said}"
    );
    assert_eq!(owner.left_over(), [] as [PathBuf; 0]);
}

#[test]
fn a_host_that_was_not_granted_is_named_with_its_grant() {
    let owner = Owner::new();
    let output = owner.run(&["--", "sh", "-c", "getent hosts tides.example http://x; true"]);
    let expected = "It asked for tides.example and was refused. To allow it: silas sandbox --host tides.example:443 …";
    assert!(output.status.success() && err(&output).contains(expected), "{}", err(&output));
    let output = owner.run(&["--explain", "--", "getent", "hosts", "localhost"]);
    assert!(!err(&output).contains("It asked for"), "{}", err(&output));
}

#[test]
fn explain_names_what_is_allowed_and_what_was_refused() {
    let owner = Owner::new();
    let home = owner.base.join("home");
    fs::create_dir_all(home.join(".cargo/bin")).unwrap();
    fs::write(home.join(".cargo/credentials.toml"), "secret").unwrap();
    let args = [
        "--explain",
        "--write",
        &owner.project(),
        "--limit",
        "time=1s",
        "--limit",
        "memory=256M",
        "--",
        "sleep",
        "100",
    ];
    let output = owner.run(&args);
    assert_eq!(output.status.code(), Some(124));
    let said = err(&output);
    for words in [
        "Command      sleep 100 (shell_exec)",
        "this terminal's key",
        "own user, mount, process, network, IPC, host name and control group namespaces",
        &format!("Changes      {}, as a private copy", owner.project()),
        "Tools        cargo",
        &format!("{}/.cargo/bin to read", home.display()),
        "Network      none",
        "Variable     HOME=/tmp/home",
        "Time         1 s",
        "Memory       256 MB",
        "In force: memory is limited for",
        "Time was up after 1 s, so the command was killed",
        "nothing was changed in the copy",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    assert!(!said.contains("credentials"));
    let seen = owner.run(&["--", "sh", "-c", &format!("ls -A {}/.cargo", home.display())]);
    assert_eq!(out(&seen), "bin\n", "the credentials beside it are not there");
    let without = owner.run(&["--no-tools", "--", "ls", home.to_str().unwrap()]);
    assert_ne!(without.status.code(), Some(0));
}

/// What holds for the commands of plans holds here too, unless the command line says otherwise.
#[test]
fn the_limits_are_those_of_the_configuration() {
    let owner = Owner::new();
    let file = owner.base.join("silas.yaml");
    let limits = "default_memory_mb: 300, default_cpu_seconds: 77, default_timeout_seconds: 88, default_file_mb: 2, \
                  default_processes: 99";
    fs::write(&file, format!("silas:\n  sandbox: {{ {limits} }}\n")).unwrap();
    let file = file.to_str().unwrap();
    let said = err(&owner.run(&["--config", file, "--explain", "--limit", "cpu=66s", "--", "true"]));
    for words in [
        "Memory       300 MB",
        "Processor    66 s",
        "Time         88 s",
        "Files        2 MB",
        "Processes    99 together",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    let write = "head -c 3000000 /dev/zero > /tmp/big; exit $?";
    let said = err(&owner.run(&["--config", file, "--", "sh", "-c", write]));
    assert!(said.contains("A file would have become larger than 2 MB. More: --limit file=…"), "{said}");
}

#[test]
fn python_text_is_run_by_the_real_interpreter() {
    let owner = Owner::new();
    if !Path::new("/usr/bin/python3").exists() {
        println!("skipped: there is no /usr/bin/python3");
        return;
    }
    let output = owner.run(&["--python", "import sys\nprint(sys.executable)\nsys.exit(4)"]);
    assert_eq!((out(&output).as_str(), output.status.code()), ("/usr/bin/python3\n", Some(4)));
}

#[test]
fn an_interactive_command_is_talked_to_and_goes_with_its_input() {
    let owner = Owner::new();
    let mut child =
        owner.command(&["--interactive", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for word in ["one\n", "two\n"] {
        stdin.write_all(word.as_bytes()).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, word);
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let silent = owner.run(&["--", "cat"]);
    assert_eq!((silent.status.code(), out(&silent).as_str()), (Some(0), ""), "without it there is nothing to read");
}

/// The lifeline: nobody asks the command to end, and it cannot refuse.
#[test]
fn a_command_dies_with_whoever_started_it() {
    let owner = Owner::new();
    let script = "trap '' HUP INT TERM; echo up; while :; do sleep 1; done";
    let mut child = owner
        .command(&["--interactive", "--keep", "server", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    // The name of its state is held while it lives.
    owner.refused(&["--keep", "server", "--", "true"], 125, &["in use by another command", "E_SANDBOX_UNAVAILABLE"]);
    child.kill().unwrap();
    child.wait().unwrap();
    // When it is free again, nothing of the first is left.
    while owner.run(&["--keep", "server", "--", "true"]).status.code() != Some(0) {
        std::thread::yield_now();
    }
}

#[test]
fn a_state_is_there_again_the_next_time() {
    let owner = Owner::new();
    owner.run(&["--keep", "notes", "--", "sh", "-c", "echo kept > ~/note"]);
    let output = owner.run(&["--keep", "notes", "--", "sh", "-c", "cat ~/note"]);
    assert_eq!(out(&output), "kept\n");
    let other = owner.run(&["--keep", "other", "--", "sh", "-c", "ls -A ~"]);
    assert_eq!(out(&other), "");
    let none = owner.run(&["--", "sh", "-c", "ls -A ~"]);
    assert_eq!(out(&none), "");
}

#[test]
fn grants_that_cannot_be_are_said_to_be_so() {
    let owner = Owner::new();
    owner.run(&["--", "true"]);
    let data = owner.base.join("data").to_str().unwrap().to_owned();
    let (file, base) = (owner.base.join("project/a.txt"), owner.base.to_str().unwrap().to_owned());
    symlink("/", owner.base.join("everything")).unwrap();
    let everything = owner.base.join("everything").to_str().unwrap().to_owned();
    for flag in ["--read", "--write"] {
        let grant =
            |path: &str, words: &str| owner.refused(&[flag, path, "--", "true"], 125, &[words, "E_SANDBOX_GRANT"]);
        grant("/", "whole file system");
        grant(&everything, "whole file system");
        grant(&data, "Silas's own data");
        grant(&format!("{data}/keys"), "Silas's own data");
        grant(&base, "Silas's own data");
        grant("project", "relative path");
        grant(".", "relative path");
        grant(&format!("{base}/nowhere"), "no such directory");
        grant(file.to_str().unwrap(), "it is a file");
        grant("/etc", "system directory");
    }
    let project = owner.project();
    owner.refused(&["--write", &project, "--read", &project, "--", "true"], 125, &["one inside the other"]);
    owner.refused(&["--cwd", "/var", "--", "true"], 125, &["not granted", "E_SANDBOX_CWD"]);
    owner.refused(&["--host", "http://x", "--", "true"], 2, &["only the host and the port"]);
}

/// Only an ordinary user can be refused a directory; root runs this as one where `setpriv` is there.
#[test]
fn a_directory_that_may_not_be_read_is_refused() {
    let owner = Owner::new();
    let closed = owner.base.join("project/closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let silas = owner.base.join("silas");
    // Written by another process: one that is started meanwhile would hold it open, and what is written to cannot be run.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_silas")).arg(&silas).status().unwrap().success());
    fs::set_permissions(&owner.base, fs::Permissions::from_mode(0o777)).unwrap();
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    let mut command = match is_root {
        true => Command::new("setpriv"),
        false => Command::new(&silas),
    };
    if is_root {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(&silas);
    }
    let data = owner.base.join("as-user");
    command.env("HOME", owner.base.join("home")).arg("--data-dir").arg(&data);
    let Ok(output) = command.args(["sandbox", "--read"]).arg(&closed).args(["--", "true"]).output() else {
        println!("skipped: setpriv is missing");
        return;
    };
    let said = err(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("E_SANDBOX_GRANT") && said.contains("you may not"), "{said}");
}

#[test]
fn commands_and_limits_that_cannot_be() {
    let owner = Owner::new();
    owner.refused(&["--", "no-such-program"], 127, &["no-such-program", "E_SANDBOX_PROGRAM"]);
    owner.refused(&["--", "/etc/hostname"], 126, &["E_SANDBOX_PROGRAM"]);
    owner.refused(&["--"], 125, &["There is no command", "E_SANDBOX_SPEC"]);
    owner.refused(&["--", ""], 125, &["no program"]);
    let limit =
        |text: &str, words: &str| owner.refused(&["--limit", text, "--", "true"], 125, &[words, "E_SANDBOX_LIMIT"]);
    limit("time=0", "0 seconds for time");
    limit("memory=0", "0 MB for memory");
    limit("output=0", "0 bytes for output");
    limit("time=-1", "number of seconds");
    limit("time=2000h", "at most 86400 seconds");
    limit("memory=lots", "a size is needed");
    limit("time", "write it as time=30s");
    limit("luck=7", "the limits are time");
    owner.refused(&["--env", "nonsense", "--", "true"], 125, &["not NAME=VALUE"]);
    owner.refused(&["--keep", "../../keys", "--", "true"], 125, &["small letters"]);
    let long = "x".repeat(20_000);
    owner.refused(&["--", "echo", &long], 125, &["longer than 16 KiB"]);
}

/// A hundred megabytes pass through one small buffer; what is beyond the limit is counted and dropped.
#[test]
fn a_flood_of_output_is_bounded_and_binary_output_is_kept_as_it_is() {
    let owner = Owner::new();
    let flood = owner.run(&["--limit", "output=1M", "--", "head", "-c", "100000000", "/dev/zero"]);
    assert_eq!((flood.status.code(), flood.stdout.len()), (Some(0), 1 << 20));
    assert!(err(&flood).contains("98951424 bytes of standard output were dropped"), "{}", err(&flood));

    let mut child = owner
        .command(&["--limit", "output=200M", "--", "head", "-c", "100000000", "/dev/zero"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (mut chunk, mut n, mut most_kb) = (vec![0; 1 << 20], 0, 0);
    loop {
        let got = stdout.read(&mut chunk).unwrap();
        if got == 0 {
            break;
        }
        n += got;
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        most_kb = most_kb.max(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0));
    }
    assert_eq!((child.wait().unwrap().code(), n), (Some(0), 100_000_000));
    assert!(most_kb < 64 << 10, "{most_kb} kB");

    let binary = owner.run(&["--", "printf", "\\377\\000\\001x"]);
    assert_eq!(binary.stdout, b"\xff\x00\x01x");
}

/// It brings its own launcher and keys, and leaves a running server alone.
#[test]
fn it_works_beside_a_server() {
    let silas = crate::harness::Silas::start();
    let output = crate::harness::binary()
        .arg("--data-dir")
        .arg(silas.data())
        .args(["sandbox", "--", "echo", "beside"])
        .output()
        .unwrap();
    assert_eq!((out(&output).as_str(), output.status.code()), ("beside\n", Some(0)), "{}", err(&output));
    let (code, text) = silas.command(&["status"]);
    assert_eq!(code, 0, "{text}");
    let address = silas.command(&["pair"]);
    assert_eq!(address.0, 0, "the server's own door still answers: {}", address.1);
    silas.assert_ledger_holds();
}

#[test]
fn a_host_that_was_granted_is_reached_and_told_and_no_other_is_there() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let greeting = std::thread::spawn(move || server.accept().unwrap().0.write_all(b"hello").unwrap());
    let owner = Owner::new();
    let ask = "import socket, sys; h, p = sys.argv[1].split(':'); \
               s = socket.create_connection((h, int(p)), 10); print(s.recv(5).decode())";
    let output = owner.run(&["--host", &address, "--explain", "--", "/usr/bin/python3", "-c", ask, &address]);
    assert_eq!(out(&output), "hello\n", "{}", err(&output));
    assert!(err(&output).contains(&format!("It reached {address} at 127.0.0.1.")), "{}", err(&output));
    greeting.join().unwrap();

    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let output = owner.run(&["--", "/usr/bin/python3", "-c", ask, &other]);
    assert_ne!(output.status.code(), Some(0));
    let nobody = owner.run(&["--host", &other, "--", "/usr/bin/python3", "-c", ask, &other]);
    assert!(err(&nobody).contains(&format!("{other} was not reached: nobody answers there.")), "{}", err(&nobody));
}

/// One command more beside the ones of `silas sandbox`.
fn silas(owner: &Owner, args: &[&str]) -> Output {
    let mut command = crate::harness::binary();
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", owner.base.join("home"));
    command.arg("--data-dir").arg(owner.base.join("data")).args(args).output().unwrap()
}

#[test]
fn a_command_is_in_the_ledger_without_a_server() {
    let owner = Owner::new();
    owner.run(&["--", "sh", "-c", "exit 3"]);
    owner.run(&["--env", "TOKEN=hush-hush", "--", "true"]);
    owner.run(&["--", "no-such-program"]);
    let listed = out(&silas(&owner, &["audit", "list"]));
    assert_eq!(listed.matches("command_run").count(), 3, "{listed}");
    for words in ["exit 3", "no-such-program"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let files = fs::read_dir(owner.base.join("data/store")).unwrap().flatten().map(|file| file.path());
    let bytes: Vec<u8> = files.filter(|file| file.is_file()).flat_map(|file| fs::read(file).unwrap()).collect();
    let has = |words: &str| bytes.windows(words.len()).any(|part| part == words.as_bytes());
    assert!(has("exit_3") && has("exit_0") && has("E_SANDBOX_PROGRAM"));
    assert!(!has("hush-hush"), "values of variables are for the command alone");
    let verified = silas(&owner, &["audit", "verify"]);
    assert!(verified.status.success(), "{}{}", out(&verified), err(&verified));
}

#[test]
fn a_command_beside_a_server_is_written_down_by_it() {
    let silas = crate::harness::Silas::start();
    let (code, said) = silas.command(&["sandbox", "--", "echo", "beside"]);
    assert_eq!((code, said.trim()), (0, "beside"));
    let (_, activity) = silas.command(&["activity"]);
    assert!(activity.contains("Ran `echo beside` for you"), "{activity}");
    // Nobody writes down what the terminal did not sign.
    let (_, listed) = silas.command(&["audit", "list"]);
    let entry = listed.lines().find(|line| line.contains("command_run")).unwrap_or_else(|| panic!("{listed}"));
    let seq: u64 = entry.split_whitespace().next().unwrap().trim_end_matches(['.', ':']).parse().unwrap();
    let mut line = silas.line();
    line.send(&serde_json::json!({ "type": "ledger_text", "seq": seq })).unwrap();
    let answer = line.wait_for("ledger_text").unwrap();
    let kept = answer["entry"]["text"].as_str().unwrap().lines().last().unwrap();
    let kept: serde_json::Value = serde_json::from_str(kept).unwrap();
    let run = |outcome: &str, envelope: String| {
        let (token, certificate) = (&kept["token"], &kept["certificate"]);
        serde_json::json!({ "type": "command_run", "run":
            { "token": token, "certificate": certificate, "envelope": envelope, "outcome": outcome } })
    };
    let envelope = kept["envelope"].as_str().unwrap().to_owned();
    for forged in [run("exit_0", envelope.replace("beside", "inside")), run("exit 0, and more", envelope)] {
        line.send(&forged).unwrap();
        let refused = line.wait_for("error").unwrap();
        assert_eq!(refused["code"], "E_APPROVAL_REFUSED", "{refused}");
    }
    // Its own doors are no place for a command.
    let (code, said) = silas.command(&["sandbox", "--host", &format!("localhost:{}", silas.port()), "--", "true"]);
    assert_eq!(code, 125, "{said}");
    assert!(said.contains("Silas itself answers there"), "{said}");
    // One whose result cannot be told did run.
    let (code, said) = silas.command(&["sandbox", "--write", silas.repo().to_str().unwrap(), "--", "mkfifo", "pipe"]);
    assert!(code == 125 && said.contains("The command ran."), "{said}");
    let (_, activity) = silas.command(&["activity"]);
    assert!(activity.contains("Ran `mkfifo pipe` for you") && !activity.contains("Did not run"), "{activity}");
    silas.assert_ledger_holds();
}

#[test]
fn a_terminal_is_shown_what_it_would_obey() {
    let owner = Owner::new();
    let project = owner.project();
    let script = r"printf 'one\n\033[8m\033[?1049h\033[2Jtwo'; echo new > a.txt";
    let args = ["sandbox", "--write", project.as_str(), "--", "sh", "-c", script];
    let (code, screen) = crate::typist::typing(&owner.base.join("data"), &args, &[]);
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
    assert!(screen.contains("one\r\n⟨U+001B⟩[8m⟨U+001B⟩[?1049h⟨U+001B⟩[2Jtwo\r\n"), "{screen:?}");
    assert!(screen.contains("changed in the copy only"), "{screen}");
    // Whoever reads through a pipe gets the bytes.
    let piped = owner.run(&args[1..]);
    assert_eq!(out(&piped), "one\n\u{1b}[8m\u{1b}[?1049h\u{1b}[2Jtwo");
}
