//! Test runners that are known well enough to be asked what they ran, and the commands that start them.
//!
//! A command is recognised only if it is exactly one run of the runner, by its plain name: then it can be run in a way that
//! the project cannot get between. Everything else is a command like any other, judged by what it shows.

use crate::check::Command;
use crate::shell::{self, Joint, Simple};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    Pytest,
    Unittest,
    Cargo,
    Go,
    /// `node --test`.
    Node,
    /// `npm test`: whatever `package.json` says; counts tests if that is `node --test`.
    Npm,
}

impl Runner {
    pub fn name(self) -> &'static str {
        match self {
            Runner::Pytest => "pytest",
            Runner::Unittest => "unittest",
            Runner::Cargo => "cargo test",
            Runner::Go => "go test",
            Runner::Node => "node --test",
            Runner::Npm => "npm test",
        }
    }

    /// Whether tests are commonly written into the files that they test.
    pub fn tests_live_in_sources(self) -> bool {
        match self {
            Runner::Cargo => true,
            Runner::Pytest | Runner::Unittest | Runner::Go | Runner::Node | Runner::Npm => false,
        }
    }
}

/// One run of a known runner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    pub runner: Runner,
    /// Below the directory.
    pub cwd: Option<String>,
    pub env: Vec<(String, String)>,
    /// A name without `/`, so it is never a file of the project.
    pub program: String,
    /// What comes before the runner's own words: the interpreter's options.
    pub options: Vec<String>,
    pub args: Vec<String>,
    /// Started as `python -m`, which makes the working directory importable.
    pub is_module: bool,
}

/// Settings that change what tests see, not who counts them. Others (`LD_PRELOAD`, `NODE_OPTIONS`) could.
const HARMLESS: [&str; 11] = [
    "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "DJANGO_SETTINGS_MODULE",
    "CI",
    "TZ",
    "LANG",
    "LC_ALL",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "NODE_ENV",
];

/// Where the programs of the system lie, which no command can write. By another path it may be anybody's program.
const SYSTEM: [&str; 3] = ["/usr/bin/", "/usr/local/bin/", "/bin/"];

/// The known runner that a command is one run of.
pub fn known(command: &Command) -> Option<Invocation> {
    let mut commands = shell::commands(command)?;
    let last = commands.pop()?;
    if last.joint != Joint::And || last.is_redirected || !last.words.iter().all(|word| word.is_plain) {
        return None;
    }
    let cwd = directory(&commands)?;
    let env = last.env.iter().map(|(name, value)| {
        let is_fine = HARMLESS.contains(&name.as_str()) && value.is_plain;
        is_fine.then(|| (name.clone(), value.text.clone()))
    });
    let env = env.collect::<Option<Vec<_>>>()?;
    let words: Vec<&str> = last.words.iter().map(|word| word.text.as_str()).collect();
    let found = recognise(&words)?;
    Some(Invocation { cwd, env, ..found })
}

/// Where a list of nothing but `cd` leads.
fn directory(commands: &[Simple]) -> Option<Option<String>> {
    let mut at: Option<String> = None;
    for command in commands {
        let [cd, dir] = command.words.as_slice() else { return None };
        let is_inside = dir.is_plain && !dir.text.starts_with('/') && !dir.text.split('/').any(|part| part == "..");
        let is_cd = cd.text == "cd" && command.joint == Joint::And && command.env.is_empty() && !command.is_redirected;
        if !is_cd || !is_inside || dir.text.starts_with('-') {
            return None;
        }
        at = Some(at.map_or_else(|| dir.text.clone(), |at| format!("{at}/{}", dir.text)));
    }
    Some(at)
}

fn recognise(words: &[&str]) -> Option<Invocation> {
    let (program, rest) = words.split_first()?;
    let (place, program) = SYSTEM.iter().find_map(|at| Some((*at, program.strip_prefix(at)?))).unwrap_or(("", program));
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let found = |runner: Runner, program: &str, args: &[&str]| Invocation {
        runner,
        cwd: None,
        env: Vec::new(),
        program: format!("{place}{program}"),
        options: Vec::new(),
        args: owned(args),
        is_module: false,
    };
    match (program, rest) {
        ("pytest" | "py.test" | "pytest-3", args) => Some(found(Runner::Pytest, "python3", args)),
        ("cargo", ["test" | "t", args @ ..]) => Some(found(Runner::Cargo, "cargo", args)),
        ("go", ["test", args @ ..]) => Some(found(Runner::Go, "go", args)),
        ("node", ["--test", args @ ..]) => Some(found(Runner::Node, "node", args)),
        ("npm", ["test" | "t" | "tst"]) | ("npm", ["run" | "run-script", "test"]) => {
            Some(found(Runner::Npm, "npm", &[]))
        }
        ("npm", ["test" | "t" | "tst", "--", args @ ..]) | ("npm", ["run" | "run-script", "test", "--", args @ ..]) => {
            Some(found(Runner::Npm, "npm", args))
        }
        (python, rest) if is_python(python) => {
            let at = rest.iter().position(|word| *word == "-m")?;
            let (options, after) = rest.split_at(at);
            // Others change what the interpreter runs (`-c`) or whether `assert` means anything (`-O`).
            if !options.iter().all(|option| matches!(*option, "-B" | "-u" | "-b" | "-bb" | "-s" | "-I" | "-P" | "-E")) {
                return None;
            }
            let runner = match *after.get(1)? {
                "pytest" => Runner::Pytest,
                "unittest" => Runner::Unittest,
                _ => return None,
            };
            let options = options.iter().filter(|option| matches!(**option, "-B" | "-u" | "-b" | "-bb"));
            let options = options.map(|option| (*option).to_owned()).collect();
            Some(Invocation { options, is_module: true, ..found(runner, python, &after[2..]) })
        }
        _ => None,
    }
}

fn is_python(program: &str) -> bool {
    let version = program.strip_prefix("python");
    version.is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// What `npm test` would start, if that is a known runner by itself. `pretest` and `posttest` are commands of their own
/// and make it something else.
pub fn npm_script(package_json: &str) -> Option<Invocation> {
    let package: serde_json::Value = serde_json::from_str(package_json).ok()?;
    let scripts = package.get("scripts")?;
    if scripts.get("pretest").is_some() || scripts.get("posttest").is_some() {
        return None;
    }
    let script = scripts.get("test")?.as_str()?;
    known(&Command::Shell(script.to_owned())).filter(|found| found.runner == Runner::Node)
}

#[cfg(test)]
mod tests;
