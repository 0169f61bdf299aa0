//! What judges the work: the files that a check must see as they were approved, because whoever could change them could
//! change the verdict.
//!
//! Tests, their configuration, build scripts, what stands in for a runner, and every file that the check's command names,
//! except to programs that only look at it (`test -f out.txt` is about `out.txt`, not judged by it). Goes by names alone;
//! nothing is opened here.

use crate::check::{Check, Command};
use crate::relpath::RelPath;
use crate::runner::{self, Runner};
use crate::shell::{self, Simple};
use std::fmt;

mod inline;
mod names;
mod script;
pub use inline::rust_tests;
pub use names::role_of;
pub use script::{scripts_run, sourced};

/// Why a file judges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Test,
    /// Configuration of tests or of what runs them.
    Configuration,
    BuildScript,
    /// Made by a build or an installation, and run instead of what it was made from.
    Built,
    /// Loaded before or instead of what a program means to load.
    ImportHook,
    /// The check's own command names it.
    Named,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Test => "a test",
            Role::Configuration => "test configuration",
            Role::BuildScript => "a build script",
            Role::Built => "a built file",
            Role::ImportHook => "an import hook",
            Role::Named => "named by the check",
        })
    }
}

/// The files that judge for one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judges {
    /// The directory that the files lie in.
    root: String,
    names: Vec<String>,
    /// Compared with something else: a new one may be what is being asked for.
    compared: Vec<String>,
    /// Everything below these judges: a virtual environment that a runner comes from.
    below: Vec<String>,
    /// Everything that any word of the command could mean.
    words: Vec<String>,
}

/// Programs that look at the files that they are given and run nothing of them.
const READERS: [&str; 17] = [
    "test", "[", "grep", "egrep", "fgrep", "cat", "wc", "head", "tail", "ls", "stat", "echo", "printf", "true",
    "false", "cd", "exit",
];
/// Programs that hold two files against each other; one of them is the measure.
const COMPARERS: [&str; 2] = ["cmp", "diff"];

impl Judges {
    /// `root` is the directory's own path, for names that are written in full.
    pub fn of(check: &Check, root: &str) -> Self {
        let mut judges = Judges {
            root: root.to_owned(),
            names: Vec::new(),
            compared: Vec::new(),
            below: Vec::new(),
            words: check.run.argv().iter().flat_map(|word| pieces(word, root)).collect(),
        };
        match shell::commands(&check.run) {
            Some(commands) => commands.iter().for_each(|command| judges.command(command, root)),
            // It cannot be told apart what is run and what is looked at.
            None => {
                if let Command::Shell(script) = &check.run {
                    judges.names.extend(pieces(script, root));
                }
            }
        }
        if let Some(found) = runner::known(&check.run) {
            judges.runner(&found);
        }
        judges
    }

    fn command(&mut self, command: &Simple, root: &str) {
        let Some(program) = command.words.first() else { return };
        let gives_patterns = |word: &str| {
            word.starts_with("--file") || word.starts_with('-') && !word.starts_with("--") && word.contains('f')
        };
        let is_grep = program.text.ends_with("grep");
        let reads_patterns = is_grep && command.words.iter().any(|word| gives_patterns(&word.text));
        let words = command.words.iter().flat_map(|word| pieces(&word.text, root));
        if COMPARERS.contains(&program.text.as_str()) {
            self.compared.extend(words);
        } else if !READERS.contains(&program.text.as_str()) || reads_patterns {
            self.names.extend(words);
            let modules = command.words.windows(2).filter(|pair| matches!(pair[0].text.as_str(), "-m" | "-p"));
            self.names.extend(modules.flat_map(|pair| module_files(&pair[1].text)));
        }
        self.names.extend(command.env.iter().flat_map(|(_, value)| pieces(&value.text, root)));
    }

    fn runner(&mut self, found: &runner::Invocation) {
        match found.runner {
            Runner::Unittest => self.names.extend(found.args.iter().flat_map(|arg| module_files(arg))),
            Runner::Pytest => self.names.extend(found.args.iter().filter_map(|arg| {
                let file = arg.split("::").next()?;
                (file != arg).then(|| file.trim_start_matches("./").to_owned())
            })),
            Runner::Node | Runner::Jest | Runner::Vitest | Runner::Mocha => self.names.extend(loaded_first(found)),
            Runner::Cargo | Runner::Go | Runner::Npm | Runner::Prove | Runner::Tap => {}
        }
        if let Some(environment) = &found.environment {
            let at = found.cwd.as_ref().map_or_else(String::new, |cwd| format!("{cwd}/"));
            self.below.push(format!("{}/{at}{environment}/", self.root));
        }
    }

    /// Whether this file judges, and as what. `is_new` if the original does not have it.
    pub fn role_of(&self, path: &RelPath, is_new: bool) -> Option<Role> {
        // In full, since a check may name it from another directory: `../it/check.sh`.
        let text = format!("{}/{}", self.root, String::from_utf8_lossy(path.as_bytes()));
        let is = |name: &String| {
            text.strip_suffix(name.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let is_below = self.below.iter().any(|place| text.starts_with(place.as_str()));
        let is_named = is_below || self.names.iter().any(is) || !is_new && self.compared.iter().any(is);
        if is_named { Some(Role::Named) } else { role_of(path) }
    }

    /// Whether the command says the name of this file, to whatever program.
    pub fn mentions(&self, path: &RelPath) -> bool {
        let text = format!("/{path}");
        self.words.iter().any(|word| text.ends_with(&format!("/{word}")))
    }
}

/// The files that a runner's own words name, by the ends of their paths: for a runner that a script of npm starts, whose
/// words are not those of the check.
pub fn named_by(found: &runner::Invocation, root: &str) -> Vec<String> {
    let words = found.options.iter().chain(&found.args).chain(found.env.iter().map(|(_, value)| value));
    words.flat_map(|word| pieces(word, root)).chain(loaded_first(found)).collect()
}

/// What node is told to load before the tests, which it finds without its ending too.
fn loaded_first(found: &runner::Invocation) -> Vec<String> {
    const LOADS: [&str; 5] = ["--require", "-r", "--import", "--loader", "--experimental-loader"];
    const ENDINGS: [&str; 7] = [".js", ".cjs", ".mjs", ".ts", ".json", "/index.js", "/package.json"];
    let words: Vec<&str> = found.options.iter().chain(&found.args).map(String::as_str).collect();
    let apart = words.windows(2).filter(|pair| LOADS.contains(&pair[0])).map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.split_once('=').filter(|(option, _)| LOADS.contains(option)));
    let named = apart.chain(joined.map(|(_, value)| value)).flat_map(|value| pieces(value, ""));
    named.flat_map(|name| ENDINGS.map(|ending| format!("{name}{ending}"))).collect()
}

/// Everything in a word that could be the name of a file.
fn pieces(word: &str, root: &str) -> Vec<String> {
    let is_of_a_name = |c: char| c.is_alphanumeric() || "_./@%+-".contains(c);
    let mut found = Vec::new();
    for piece in word.split(|c| !is_of_a_name(c)).chain([word]) {
        // `@file` is how some programs are given their words in a file.
        let piece = piece.trim_start_matches('@');
        let inner = piece.strip_prefix(root).filter(|rest| rest.starts_with('/')).unwrap_or(piece);
        // `a/./b`, `../a` and `a//b` all end in what the file is called below the directory.
        let parts: Vec<&str> = inner.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
        let name = parts.join("/");
        if name.chars().any(char::is_alphanumeric) && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The files that `a.b.C` may be in, as Python looks for modules.
fn module_files(dotted: &str) -> Vec<String> {
    if !dotted.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
        return Vec::new();
    }
    let parts: Vec<&str> = dotted.split('.').filter(|part| !part.is_empty()).collect();
    let modules = (1..=parts.len()).map(|n| parts[..n].join("/"));
    modules.flat_map(|m| [format!("{m}.py"), format!("{m}/__init__.py"), format!("{m}/__main__.py")]).collect()
}

#[cfg(test)]
mod tests;
