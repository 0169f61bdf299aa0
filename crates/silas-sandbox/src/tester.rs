//! Starts a known test runner in a way that the project cannot get between, and reads which tests ran.
//!
//! Python's runners and prove are started by a small program of ours that lies outside the copy; node and what projects of
//! node bring along get a reporter of ours; cargo and go say enough by themselves. A report carries a key that was gone before the project's code began.
//! Not ruled out: code under test that forges its runner from inside the runner's own process.

use crate::cell::{CellOutcome, Mount, MountAccess};
use crate::dir::Dir;
use crate::error::Doing;
use crate::{Error, durable, removal};
use silas_core::check::{Command, Ended};
use silas_core::judges;
use silas_core::relpath::RelPath;
use silas_core::runner::{self, Invocation, Runner};
use silas_core::testlog::TestLog;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where our part of a runner lies inside a cell, and where its report goes. Named in the programs below.
const TOOLS_INSIDE: &str = "/silas/tools";
const REPORT_INSIDE: &str = "/silas/report";
const TOOLS: [(&str, &str); 7] = [
    ("pytest.py", include_str!("tester/pytest.py")),
    ("unittest.py", include_str!("tester/unittest.py")),
    ("node.mjs", include_str!("tester/node.mjs")),
    ("prove.pl", include_str!("tester/prove.pl")),
    ("jest.cjs", include_str!("tester/jest.cjs")),
    ("vitest.mjs", include_str!("tester/vitest.mjs")),
    ("mocha.cjs", include_str!("tester/mocha.cjs")),
];
/// As much as fifty thousand tests have to say.
const REPORT_BYTES_MAX: u64 = 16 << 20;
/// As much as says which program a script is for.
const SCRIPT_BYTES_READ: u64 = 256;
/// A `package.json` or a file of variables of a person.
const PACKAGE_BYTES_MAX: u64 = 1 << 20;

/// One run of a known runner: what to start, with what, and how to read what it did.
pub(crate) struct Tester {
    runner: Runner,
    pub(crate) command: Command,
    pub(crate) cwd: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) mounts: Vec<Mount>,
    /// There for runners that write a report.
    report: Option<(Dir, String)>,
    /// Files that a script of npm names to the runner, by the ends of their paths.
    named: Vec<String>,
}

impl Tester {
    /// `None` if the command is no run of a known runner, or of one that cannot be asked. What the check will see is
    /// read with `read`, `roots` are the directories' paths, `home` is where this run may keep files, `programs` are the
    /// directories where the check finds programs.
    pub(crate) fn of(
        command: &Command,
        read: impl Fn(&RelPath) -> io::Result<File>,
        roots: &[&str],
        programs: &[&Path],
        home: &Path,
        slot: usize,
    ) -> Result<Option<Self>, Error> {
        let Some(mut found) = runner::known(command) else { return Ok(None) };
        if let Some(interpreter) = found.script.as_ref().and_then(|script| interpreter(script, programs)) {
            found.program = interpreter;
        }
        let (found, named) = match found.runner {
            Runner::Npm => match scripted(found, &read) {
                Some(inner) => {
                    let named = judges::named_by(&inner, roots.first().copied().unwrap_or_default());
                    (inner, named)
                }
                None => return Ok(None),
            },
            Runner::Pytest | Runner::Unittest | Runner::Cargo | Runner::Go | Runner::Node => (found, Vec::new()),
            Runner::Prove | Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Tap => (found, Vec::new()),
        };
        // By such a variable node loads what it is told to into the process that counts.
        let preloads =
            |file| text_of(found.cwd.as_deref(), file, &read).is_some_and(|text| text.contains("NODE_OPTIONS"));
        if found.env_files().any(preloads) {
            return Ok(None);
        }
        let (mounts, report) = match found.runner {
            Runner::Cargo | Runner::Go => (Vec::new(), None),
            Runner::Pytest
            | Runner::Unittest
            | Runner::Node
            | Runner::Npm
            | Runner::Prove
            | Runner::Jest
            | Runner::Vitest
            | Runner::Mocha
            | Runner::Tap => {
                let (report_at, report) = fresh_report(home, slot)?;
                let show = |source: PathBuf, target: &str, access: MountAccess| Mount {
                    source,
                    target: PathBuf::from(target),
                    access,
                };
                let tools = show(tools(home)?, TOOLS_INSIDE, MountAccess::ReadOnly);
                (vec![tools, show(report_at, REPORT_INSIDE, MountAccess::ReadWrite)], Some(report))
            }
        };
        Ok(Some(Tester {
            runner: found.runner,
            command: Command::Argv(
                found.within.iter().cloned().chain(through_shell(&found, argv(&found, roots))).collect(),
            ),
            cwd: found.cwd,
            env: found.env,
            mounts,
            report,
            named,
        }))
    }

    pub(crate) fn runner(&self) -> Runner {
        self.runner
    }

    /// Which tests ran, or why that cannot be said. What a check is to judge as output comes with it.
    pub(crate) fn read(&self, outcome: &CellOutcome) -> (Result<TestLog, String>, Option<Vec<u8>>) {
        let Ended::Exited(code) = outcome.ended else { return (Err("The tests did not end".to_owned()), None) };
        if let Some((dir, key)) = &self.report {
            return (read_report(dir, key, code).map(|log| log.told_of(&self.named)), None);
        }
        if outcome.is_truncated {
            return (Err("The output is too long to count the tests in it".to_owned()), None);
        }
        let stdout = String::from_utf8_lossy(&outcome.stdout);
        // Only these two come here; all others write a report.
        if self.runner == Runner::Go {
            return match TestLog::from_go(&stdout) {
                Ok((log, text)) => (Ok(log), Some(text.into_bytes())),
                Err(why) => (Err(why), None),
            };
        }
        (TestLog::from_cargo(&stdout, &String::from_utf8_lossy(&outcome.stderr)), None)
    }
}

/// Who runs a script of Python's, if that is a program that the check finds as well. What is installed for one interpreter is
/// not for another.
fn interpreter(script: &str, programs: &[&Path]) -> Option<String> {
    let file = match script.starts_with('/') {
        true => File::open(script).ok()?,
        false => programs.iter().find_map(|dir| File::open(dir.join(script)).ok())?,
    };
    let mut begin = Vec::new();
    file.take(SCRIPT_BYTES_READ).read_to_end(&mut begin).ok()?;
    let begin = String::from_utf8_lossy(&begin);
    let found = runner::interpreter(&begin)?;
    let is_there = Path::new(found).parent().is_some_and(|dir| programs.contains(&dir)) && Path::new(found).is_file();
    is_there.then(|| found.to_owned())
}

/// What `npm test` comes to, if it can be asked.
fn scripted(npm: Invocation, read: impl Fn(&RelPath) -> io::Result<File>) -> Option<Invocation> {
    let inner = runner::npm_script(&text_of(npm.cwd.as_deref(), "package.json", read)?)?;
    let cwd = runner::below(npm.cwd, inner.cwd);
    let args = inner.args.into_iter().chain(npm.args).collect();
    let env = npm.env.into_iter().chain(inner.env).collect();
    Some(Invocation { cwd, args, env, ..inner })
}

/// What a small file says, by its name as seen from where a command runs.
fn text_of(cwd: Option<&str>, name: &str, read: impl Fn(&RelPath) -> io::Result<File>) -> Option<String> {
    let parts = cwd.unwrap_or_default().split('/').chain(name.split('/')).filter(|part| !matches!(*part, "" | "."));
    let path = RelPath::from_bytes(parts.collect::<Vec<_>>().join("/").as_bytes()).ok()?;
    let mut text = String::new();
    read(&path).ok()?.take(PACKAGE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

fn argv(found: &Invocation, roots: &[&str]) -> Vec<String> {
    let mut argv = vec![found.program.clone()];
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    match found.runner {
        Runner::Pytest | Runner::Unittest => {
            let tool = if found.runner == Runner::Pytest { "pytest.py" } else { "unittest.py" };
            add(&found.options.iter().map(String::as_str).collect::<Vec<_>>());
            let importable = if found.is_module { "cwd" } else { "none" };
            let environment = found.environment.as_deref().unwrap_or_default();
            add(&["-I", &format!("{TOOLS_INSIDE}/{tool}"), &roots.join("\n"), importable, environment]);
        }
        Runner::Cargo => add(&["test"]),
        Runner::Go => add(&["test", "-json"]),
        Runner::Prove => add(&[&format!("{TOOLS_INSIDE}/prove.pl")]),
        Runner::Jest => add(&["--reporters=default", &format!("--reporters={TOOLS_INSIDE}/jest.cjs")]),
        Runner::Mocha => add(&["--reporter", &format!("{TOOLS_INSIDE}/mocha.cjs")]),
        // `vitest run` says first what it is to do.
        Runner::Vitest | Runner::Tap => {}
        Runner::Node | Runner::Npm => {
            add(&found.options.iter().map(String::as_str).collect::<Vec<_>>());
            add(&["--test", &format!("--test-reporter={TOOLS_INSIDE}/node.mjs"), "--test-reporter-destination=stderr"]);
            if !found.args.iter().any(|arg| arg.starts_with("--test-reporter")) {
                // What it prints by itself when nobody watches.
                add(&["--test-reporter=tap", "--test-reporter-destination=stdout"]);
            }
        }
    }
    let is_own = |arg: &str| found.runner == Runner::Cargo && matches!(arg, "-q" | "--quiet");
    let n_own = found.args.iter().position(|arg| arg == "--").unwrap_or(found.args.len());
    let args = found.args.iter().enumerate().filter(|(n, arg)| *n >= n_own || !is_own(arg));
    argv.extend(args.map(|(_, arg)| arg.clone()));
    if found.runner == Runner::Vitest {
        argv.extend(["--reporter=default".to_owned(), format!("--reporter={TOOLS_INSIDE}/vitest.mjs")]);
    }
    argv
}

/// By way of a shell where one is needed: to find the files that a pattern stands for, or a program among those that the
/// project brings along.
fn through_shell(found: &Invocation, argv: Vec<String>) -> Vec<String> {
    let is_brought = found.environment.as_deref() == Some(runner::NODE_MODULES);
    if !is_brought && !found.has_patterns {
        return argv;
    }
    let path = if is_brought { "PATH=\"$PWD/node_modules/.bin:$PATH\" " } else { "" };
    let as_typed = |word: &String| {
        let is_pattern = found.has_patterns && found.args.contains(word) && word.contains(['*', '?', '[']);
        let escaped = |c: char| match c {
            c if c.is_alphanumeric() || "_-./*?[]".contains(c) => c.to_string(),
            c => format!("\\{c}"),
        };
        let quoted = || String::from_utf8_lossy(&crate::kept::quoted(word.as_bytes())).into_owned();
        if is_pattern { word.chars().map(escaped).collect() } else { quoted() }
    };
    let words: Vec<String> = argv.iter().map(as_typed).collect();
    vec!["/bin/sh".to_owned(), "-c".to_owned(), format!("{path}exec {}", words.join(" "))]
}

fn read_report(dir: &Dir, key: &str, code: i32) -> Result<TestLog, String> {
    let mut text = String::new();
    let opened = dir.read(b"report.json");
    let read = opened.and_then(|file| file.take(REPORT_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|_| "The tests ended before they were through".to_owned())?;
    TestLog::from_report(&text, key, code)
}

/// Our programs, written once for an execution and shown read-only.
fn tools(home: &Path) -> Result<PathBuf, Error> {
    let doing = || "Preparing the test runner".to_owned();
    let at = home.join("tools");
    durable::private_dir(&at).doing(doing)?;
    for (name, text) in TOOLS {
        let file = at.join(name);
        if !file.exists() {
            // Under another name first: checks that run side by side must not see half of it.
            let draft = at.join(format!("{name}.{}", std::process::id()));
            std::fs::write(&draft, text).doing(doing)?;
            std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o444)).doing(doing)?;
            std::fs::rename(&draft, &file).doing(doing)?;
        }
    }
    Ok(at)
}

/// An empty place for a report, with a key in it that nobody knows yet.
fn fresh_report(home: &Path, slot: usize) -> Result<(PathBuf, (Dir, String)), Error> {
    let doing = || "Preparing the test runner".to_owned();
    let name = format!("report-{slot}");
    let home_dir = Dir::open(home).doing(doing)?;
    removal::tree(&home_dir, name.as_bytes()).doing(doing)?;
    home_dir.mkdir(name.as_bytes(), 0o700).doing(doing)?;
    let dir = home_dir.below(name.as_bytes()).doing(doing)?;
    let mut random = [0u8; 32];
    getrandom::fill(&mut random).map_err(|e| Error::Io { doing: doing(), cause: e.to_string() })?;
    let key: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    dir.create(b"key").and_then(|mut file| file.write_all(key.as_bytes())).doing(doing)?;
    Ok((home.join(name), (dir, key)))
}
