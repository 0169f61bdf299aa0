//! Test runners that are known well enough to be asked what they ran, and the commands that start them.
//!
//! A command is recognised only if it is exactly one run of the runner, by its plain name or from a virtual environment:
//! then it can be run in a way that the project cannot get between. Everything else is a command like any other; it is
//! counted only if it speaks TAP.

use crate::check::Command;
use crate::shell::{self, Joint, Simple};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    Pytest,
    Unittest,
    Cargo,
    Go,
    /// `node --test`.
    Node,
    /// `npm test`: whatever `package.json` says; counts tests if that is a runner of this list.
    Npm,
    /// Perl's, which reads TAP from each test's own process.
    Prove,
    /// These three lie in the project's `node_modules`, which then judges.
    Jest,
    Vitest,
    Mocha,
    /// Any command that says test by test what it found, in the Test Anything Protocol.
    Tap,
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
            Runner::Prove => "prove",
            Runner::Jest => "jest",
            Runner::Vitest => "vitest",
            Runner::Mocha => "mocha",
            Runner::Tap => "TAP",
        }
    }

    /// Whether tests are commonly written into the files that they test.
    pub fn tests_live_in_sources(self) -> bool {
        match self {
            Runner::Cargo => true,
            Runner::Pytest | Runner::Unittest | Runner::Go | Runner::Node | Runner::Npm => false,
            Runner::Prove | Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Tap => false,
        }
    }

    /// Whether a file is a source of what it runs, by the ending of its name.
    pub fn runs(self, path: &str) -> bool {
        let endings: &[&str] = match self {
            Runner::Pytest | Runner::Unittest => &["py", "pyi"],
            Runner::Cargo => &["rs"],
            Runner::Go => &["go"],
            Runner::Node | Runner::Npm | Runner::Jest | Runner::Vitest | Runner::Mocha => {
                &["js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts", "vue"]
            }
            Runner::Prove => &["pm", "pl"],
            Runner::Tap => &[],
        };
        path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).is_some_and(|(_, end)| endings.contains(&end))
    }

    /// Whether it is a program of the project's `node_modules`.
    pub fn is_installed(self) -> bool {
        matches!(self, Runner::Jest | Runner::Vitest | Runner::Mocha)
    }
}

/// One run of a known runner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    pub runner: Runner,
    /// Below the directory.
    pub cwd: Option<String>,
    pub env: Vec<(String, String)>,
    /// A name without `/` or a program of the system; a file of the project only in a virtual environment.
    pub program: String,
    /// The virtual environment or [`NODE_MODULES`] that it comes from, as seen from where it runs. All of it judges.
    pub environment: Option<String>,
    /// What comes before the runner's own words: the interpreter's options.
    pub options: Vec<String>,
    pub args: Vec<String>,
    /// Whether a shell must first find the files that its words stand for (`checks/*.mjs`).
    pub has_patterns: bool,
    /// Started as `python -m`, which makes the working directory importable.
    pub is_module: bool,
    /// The script by whose name it was started, where its first line says which interpreter runs it.
    pub script: Option<String>,
    /// What it is started by: `timeout 60`.
    pub within: Vec<String>,
}

impl Invocation {
    /// The files of variables that it reads before anything else, as seen from where it runs.
    pub fn env_files(&self) -> impl Iterator<Item = &str> {
        self.options.iter().chain(&self.args).filter_map(|word| env_file(word))
    }
}

/// Where a project of node keeps the programs that it brings along; there they are looked for first.
pub const NODE_MODULES: &str = "node_modules";

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
    let is_pattern = |word: &shell::Word| !word.is_plain && !word.text.contains([shell::UNKNOWN, '~']);
    if last.joint != Joint::And
        || last.is_redirected
        || !last.words.iter().all(|word| word.is_plain || is_pattern(word))
    {
        return None;
    }
    let has_patterns = last.words.iter().any(is_pattern);
    let cwd = directory(&commands)?;
    let env = last.env.iter().map(|(name, value)| {
        let is_fine = HARMLESS.contains(&name.as_str()) && value.is_plain;
        is_fine.then(|| (name.clone(), value.text.clone()))
    });
    let mut env = env.collect::<Option<Vec<_>>>()?;
    let words: Vec<&str> = last.words.iter().map(|word| word.text.as_str()).collect();
    let (within, words) = started_by(&words, &mut env)?;
    let found = recognise(words)?;
    let takes_patterns = matches!(found.runner, Runner::Node | Runner::Pytest | Runner::Prove);
    let cwd = below(cwd, found.cwd.clone());
    (takes_patterns || !has_patterns).then_some(Invocation { cwd, env, has_patterns, within, ..found })
}

/// Takes off `env NAME=VALUE`, whose settings it notes, and `timeout SECONDS`, which it gives back with the words that are left.
fn started_by<'w>(words: &'w [&'w str], env: &mut Vec<(String, String)>) -> Option<(Vec<String>, &'w [&'w str])> {
    let is_time = |word: &str| {
        let digits = word.strip_suffix(['s', 'm', 'h']).unwrap_or(word);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    match words {
        ["env" | "/usr/bin/env", rest @ ..] => {
            let n_settings = rest.iter().take_while(|word| word.contains('=')).count();
            for (name, value) in rest[..n_settings].iter().filter_map(|setting| setting.split_once('=')) {
                HARMLESS.contains(&name).then(|| env.push((name.to_owned(), value.to_owned())))?;
            }
            started_by(&rest[n_settings..], env)
        }
        ["timeout" | "/usr/bin/timeout", time, rest @ ..] if is_time(time) => {
            let (within, rest) = started_by(rest, env)?;
            let own = words[..2].iter().map(|word| (*word).to_owned());
            Some((own.chain(within).collect(), rest))
        }
        rest => Some((Vec::new(), rest)),
    }
}

/// Where a list of nothing but `cd` leads.
fn directory(commands: &[Simple]) -> Option<Option<String>> {
    let mut at: Option<String> = None;
    for command in commands {
        let [cd, dir] = command.words.as_slice() else { return None };
        let is_cd = cd.text == "cd" && command.joint == Joint::And && command.env.is_empty() && !command.is_redirected;
        if !is_cd || !dir.is_plain || !is_inside(&dir.text) {
            return None;
        }
        at = below(at, Some(dir.text.clone()));
    }
    Some(at)
}

/// One directory inside another, where both are said.
pub fn below(outer: Option<String>, inner: Option<String>) -> Option<String> {
    match (outer, inner) {
        (Some(outer), Some(inner)) => Some(format!("{outer}/{inner}")),
        (outer, inner) => outer.or(inner),
    }
}

fn recognise(words: &[&str]) -> Option<Invocation> {
    let (program, rest) = words.split_first()?;
    if let Some((environment, program)) = in_environment(program) {
        let inner: Vec<&str> = std::iter::once(program).chain(rest.iter().copied()).collect();
        let found = recognise(&inner).filter(|found| matches!(found.runner, Runner::Pytest | Runner::Unittest))?;
        let program = format!("{environment}/bin/{}", found.program);
        return Some(Invocation { program, environment: Some(environment.to_owned()), script: None, ..found });
    }
    let (place, program) = SYSTEM.iter().find_map(|at| Some((*at, program.strip_prefix(at)?))).unwrap_or(("", program));
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let found = |runner: Runner, program: &str, args: &[&str]| Invocation {
        runner,
        cwd: None,
        env: Vec::new(),
        program: format!("{place}{program}"),
        environment: None,
        options: Vec::new(),
        args: owned(args),
        has_patterns: false,
        is_module: false,
        script: None,
        within: Vec::new(),
    };
    let of_project = |name: &str, args: &[&str]| {
        let runner = installed(name)?;
        Some(Invocation { environment: Some(NODE_MODULES.to_owned()), ..found(runner, name, args) })
    };
    match (program, rest) {
        (script @ ("pytest" | "py.test" | "pytest-3"), args) => {
            Some(Invocation { script: Some(format!("{place}{script}")), ..found(Runner::Pytest, "python3", args) })
        }
        ("cargo", ["test" | "t", args @ ..]) => Some(found(Runner::Cargo, "cargo", args)),
        ("go", ["test", args @ ..]) => Some(found(Runner::Go, "go", args)),
        ("node", rest) => {
            let (options, args) = options_of_node(rest)?;
            Some(Invocation { options: owned(options), ..found(Runner::Node, "node", args) })
        }
        ("npm", rest) => {
            let (cwd, args) = test_of_npm(rest)?;
            Some(Invocation { cwd, ..found(Runner::Npm, "npm", args) })
        }
        ("prove", args) if args.iter().all(|arg| is_option_of_prove(arg)) => Some(found(Runner::Prove, "perl", args)),
        ("npx", [name, args @ ..]) => of_project(name, args),
        (name, args) if name.starts_with("node_modules/.bin/") => of_project(&name["node_modules/.bin/".len()..], args),
        (name, args) if installed(name).is_some() => Some(found(installed(name)?, name, args)),
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

/// `.venv/bin/python`: the environment and the program in it.
fn in_environment(program: &str) -> Option<(&str, &str)> {
    let (environment, name) = program.rsplit_once("/bin/")?;
    let environment = environment.strip_prefix("./").unwrap_or(environment);
    let is_inside =
        !environment.starts_with('/') && !environment.split('/').any(|part| matches!(part, "" | "." | ".."));
    (is_inside && !name.contains('/')).then_some((environment, name))
}

/// Runners that a project brings along.
fn installed(name: &str) -> Option<Runner> {
    match name {
        "jest" => Some(Runner::Jest),
        "vitest" => Some(Runner::Vitest),
        "mocha" => Some(Runner::Mocha),
        _ => None,
    }
}

/// What stands before `--test` and after it. Other options than these, before it, load something into the process that counts.
fn options_of_node<'w>(words: &'w [&'w str]) -> Option<(&'w [&'w str], &'w [&'w str])> {
    let at = words.iter().position(|word| *word == "--test")?;
    let (options, after) = words.split_at(at);
    let is_fine = |option: &&str| {
        let is_file = env_file(option).is_some_and(|file| !file.is_empty());
        is_file || matches!(*option, "--no-warnings" | "--enable-source-maps")
    };
    options.iter().all(is_fine).then_some((options, &after[1..]))
}

/// The file of variables that a word names to node.
fn env_file(word: &str) -> Option<&str> {
    word.strip_prefix("--env-file=").or_else(|| word.strip_prefix("--env-file-if-exists="))
}

/// The directory in which `npm test` is to run, and what it hands on.
fn test_of_npm<'w>(words: &'w [&'w str]) -> Option<(Option<String>, &'w [&'w str])> {
    let n_own = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (own, args) = (&words[..n_own], words.get(n_own + 1..).unwrap_or_default());
    let (mut cwd, mut verbs) = (None, Vec::new());
    let mut own = own.iter();
    while let Some(word) = own.next() {
        let named = match *word {
            "--prefix" | "-C" => Some(*own.next()?),
            word => word.strip_prefix("--prefix="),
        };
        match named {
            Some(dir) if cwd.is_none() && is_inside(dir) => cwd = Some(dir.to_owned()),
            Some(_) => return None,
            None if matches!(*word, "--silent" | "-s") => {}
            None => verbs.push(*word),
        }
    }
    matches!(verbs.as_slice(), ["test" | "t" | "tst"] | ["run" | "run-script", "test"]).then_some((cwd, args))
}

/// Whether a directory lies below where the command starts.
fn is_inside(dir: &str) -> bool {
    !dir.is_empty() && !dir.starts_with(['/', '-', '~']) && !dir.split('/').any(|part| part == "..")
}

/// Others load something into the process that counts, or have another program speak for the tests.
fn is_option_of_prove(arg: &str) -> bool {
    const FINE: [&str; 12] =
        ["-l", "--lib", "-b", "--blib", "-r", "--recurse", "-v", "--verbose", "-q", "--quiet", "-lv", "-lr"];
    !arg.starts_with('-') || FINE.contains(&arg) || arg.starts_with("-I") || arg.starts_with("-j")
}

/// The interpreter of Python that the first line of a script names in full.
pub fn interpreter(script: &str) -> Option<&str> {
    let program = script.lines().next()?.strip_prefix("#!")?.split_whitespace().next()?;
    let (_, name) = program.rsplit_once('/').filter(|_| program.starts_with('/'))?;
    is_python(name).then_some(program)
}

fn is_python(program: &str) -> bool {
    let version = program.strip_prefix("python");
    version.is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// What `npm test` would start, as the protected `package.json` says it, if that is a known runner by itself. `pretest` and `posttest` are commands of their own
/// and make it something else.
pub fn npm_script(package_json: &str) -> Option<Invocation> {
    let package: serde_json::Value = serde_json::from_str(package_json).ok()?;
    let scripts = package.get("scripts")?;
    if scripts.get("pretest").is_some() || scripts.get("posttest").is_some() {
        return None;
    }
    let script = scripts.get("test")?.as_str()?;
    let found = known(&Command::Shell(script.to_owned()))?;
    match found.runner {
        Runner::Node => Some(found),
        // A script of npm finds what the project brings along by its name alone.
        _ if found.runner.is_installed() => {
            Some(Invocation { environment: found.environment.or_else(|| Some(NODE_MODULES.to_owned())), ..found })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
