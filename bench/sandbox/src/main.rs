//! What starting a program costs on this machine, all in one run and interleaved so that the lines can be compared: bare,
//! in bubblewrap, in a cell, in a cell through launcher and workshop, and by the command `silas sandbox`, with everything
//! that comes with that: configuration, keys, a signature, its verification, and a record on disk that it was spent. With
//! `--age`, what the launcher's age costs.
//!
//! Prints numbers and judges none; machines differ, and the same one differs from hour to hour.

mod age;
mod approved;

use anyhow::{Context, Result, ensure};
use approved::Approved;
use silas_core::check::Ended;
use silas_sandbox::cell::{self, CellSpec, Limits, Mount, MountAccess};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const PROGRAM: &str = "/bin/true";
/// Rounds if nothing else is asked for.
const ROUNDS: u32 = 200;
/// Nobody's number on any usual system.
const ORDINARY_ID: &str = "12345";
/// The argument of the second run, which an ordinary user makes.
const AS_USER: &str = "--as-user";
const AGE: &str = "--age";

fn main() -> Result<()> {
    let is_flag = |word: &String| word == AS_USER || word == AGE;
    let (flags, numbers): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(is_flag);
    let number = |n: usize, default| numbers.get(n).map_or(Ok(default), |word| word.parse::<u32>().context("a number"));
    let (rounds, pause_ms) = (number(0, ROUNDS)?, number(1, 0)?);
    if flags.iter().any(|flag| flag == AGE) {
        return age::run(rounds);
    }
    let is_second = !flags.is_empty();
    let is_root = std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)?;
    measure(rounds, pause_ms, if is_root { "as root" } else { "as an ordinary user" })?;
    if is_root && !is_second {
        println!();
        return Err(again_as_user(rounds, pause_ms));
    }
    Ok(())
}

/// Becomes this program again, without privileges. Returns only if that failed.
fn again_as_user(rounds: u32, pause_ms: u32) -> anyhow::Error {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(e) => return e.into(),
    };
    let mut command = Command::new("setpriv");
    command.args(["--reuid", ORDINARY_ID, "--regid", ORDINARY_ID, "--clear-groups", "--"]);
    let cause = command.arg(own).args([rounds.to_string(), pause_ms.to_string()]).arg(AS_USER).exec();
    anyhow::Error::new(cause).context("starting again as an ordinary user, by setpriv")
}

/// One line of the table: every time that it took.
struct Line {
    what: &'static str,
    /// Before each, so that nothing of the one before is still under way in the kernel.
    pause: Duration,
    took: Vec<Duration>,
}

impl Line {
    fn time(&mut self, once: impl FnOnce() -> Result<()>) -> Result<()> {
        std::thread::sleep(self.pause);
        let started = Instant::now();
        once().with_context(|| self.what)?;
        self.took.push(started.elapsed());
        Ok(())
    }

    fn print(&mut self) {
        self.took.sort_unstable();
        let Some(last) = self.took.len().checked_sub(1) else { return };
        let [min, p50, p95] = [0, last / 2, last * 95 / 100].map(|n| self.took[n].as_secs_f64() * 1e3);
        println!("{:<46} {min:>8.2} {p50:>8.2} {p95:>8.2}", self.what);
    }
}

fn measure(rounds: u32, pause_ms: u32, who: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let place = dir.path().canonicalize()?;
    let project = place.join("project");
    std::fs::create_dir(&project)?;
    std::fs::write(project.join("file.txt"), "one file\n")?;
    let spec = spec(&project);
    let limits = cell::run(&spec, None)?.limits;
    let mut approved = Approved::new(&place, &project)?;
    let has_bubblewrap = Command::new("bwrap").arg("--version").output().is_ok();

    let pause = Duration::from_millis(pause_ms.into());
    let line = |what| Line { what, pause, took: Vec::new() };
    let mut bare = line("bare (posix_spawn and wait)");
    let mut bubblewrap = line("bubblewrap (no Landlock, seccomp, limits)");
    let mut direct = line("cell");
    let mut step = line("cell through launcher and workshop: a step");
    let mut check = line("… a check: the same in a throwaway copy");
    let mut alone = line("silas sandbox, the whole command");
    let silas = Silas::beside_this_program(&place);
    for _ in 0..rounds {
        bare.time(|| succeeds(&mut Command::new(PROGRAM)))?;
        if has_bubblewrap {
            bubblewrap.time(|| succeeds(&mut in_bubblewrap(&project)))?;
        }
        direct.time(|| {
            let outcome = cell::run(&spec, None)?;
            ensure!(outcome.ended == Ended::Exited(0), "{outcome:?}");
            Ok(())
        })?;
        // These two take turns; a new plan is opened outside what is timed.
        let line = if approved.is_checking()? { &mut check } else { &mut step };
        line.time(|| approved.run_one())?;
        if let Some(silas) = &silas {
            alone.time(|| succeeds(&mut silas.command()))?;
        }
    }

    println!("{PROGRAM} {who}, {rounds} rounds, {pause_ms} ms between; in the cell {limits}");
    println!("{:<46} {:>8} {:>8} {:>8}", "milliseconds", "min", "p50", "p95");
    let lines = [&mut bare, &mut bubblewrap, &mut direct, &mut step, &mut check, &mut alone];
    lines.into_iter().for_each(Line::print);
    if silas.is_none() {
        println!("`silas` is not built beside this program and was left out");
    }
    if !has_bubblewrap {
        println!("bubblewrap is not installed and was left out");
    }
    Ok(())
}

/// The program itself, on a data directory that is made ready before anything is measured.
struct Silas {
    program: PathBuf,
    data_dir: PathBuf,
    home: PathBuf,
}

impl Silas {
    fn beside_this_program(place: &Path) -> Option<Silas> {
        let program = std::env::current_exe().ok()?.with_file_name("silas");
        let silas = Silas { program, data_dir: place.join("own"), home: place.to_owned() };
        succeeds(&mut silas.command()).ok().map(|()| silas)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("HOME", &self.home).arg("--data-dir").arg(&self.data_dir).args(["sandbox", "--", PROGRAM]);
        command
    }
}

fn succeeds(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

fn spec(project: &Path) -> CellSpec {
    CellSpec {
        argv: vec![PROGRAM.to_owned()],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        cwd: project.to_owned(),
        mounts: vec![Mount { source: project.to_owned(), target: project.to_owned(), access: MountAccess::ReadWrite }],
        hosts: Vec::new(),
        secrets: Vec::new(),
        callback_port: None,
        watched: Vec::new(),
        signals: false,
        limits: Limits::default(),
    }
}

/// The same root, as far as bubblewrap has the means.
fn in_bubblewrap(project: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "silas"]);
    command.args(["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]);
    command.args(["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    for name in ["bin", "sbin", "lib", "lib32", "lib64"] {
        let path = format!("/{name}");
        match std::fs::read_link(&path) {
            Ok(points_to) => command.arg("--symlink").arg(points_to).arg(&path),
            Err(_) => command.args(["--ro-bind-try", &path, &path]),
        };
    }
    for name in ["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime"] {
        let path = format!("/etc/{name}");
        command.args(["--ro-bind-try", &path, &path]);
    }
    command.arg("--bind").args([project, project]).arg("--chdir").arg(project).arg(PROGRAM);
    command
}
