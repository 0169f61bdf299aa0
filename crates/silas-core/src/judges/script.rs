//! Which file of the project a command runs, where that can be read off its words. A model that chooses a check chooses its
//! words; what it may not choose is who prints the results.

use crate::check::Command;

/// Programs that run the file that they are given first.
pub(super) const INTERPRETERS: [&str; 16] = [
    "sh", "bash", "dash", "ash", "ksh", "zsh", "python", "python3", "perl", "ruby", "node", "php", "lua", "tclsh",
    "Rscript", "bats",
];
/// What make reads if it is not told, in its order.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const SYSTEM: [&str; 3] = ["/usr/bin/", "/usr/local/bin/", "/bin/"];

/// The files that a command may run, by their names below the directory `root`: the first of them that is there is the one.
/// Empty if its words are not plain, or bring their own program along (`sh -c`, `echo`).
pub fn scripts_run(command: &Command, root: &str) -> Vec<String> {
    let is_plain = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || "_@%+=:,./-".contains(c));
    let words: Vec<&str> = match command {
        Command::Shell(text) if text.contains(['\n', '\r']) => return Vec::new(),
        Command::Shell(text) => text.split([' ', '\t']).filter(|word| !word.is_empty()).collect(),
        Command::Argv(words) => words.iter().map(String::as_str).collect(),
        Command::Python(_) => return Vec::new(),
    };
    let Some((program, rest)) = words.split_first().filter(|_| words.iter().all(is_plain)) else {
        return Vec::new();
    };
    let name = SYSTEM.iter().find_map(|at| program.strip_prefix(at)).unwrap_or(program);
    if name.contains('/') {
        return below(name, root).into_iter().collect();
    }
    // `-e` may come with a program of its own as the next word, which then is no file of the project.
    let is_option = |word: &str| word.starts_with('-') && word.len() <= 3 || word.starts_with("-I");
    match name {
        "make" | "gmake" => {
            let is_target = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
            let are_targets = rest.iter().all(|word| is_target(word) && (!word.starts_with('-') || word.len() == 2));
            let names = if are_targets { MAKEFILES.as_slice() } else { &[] };
            names.iter().map(|name| (*name).to_owned()).collect()
        }
        name if INTERPRETERS.contains(&name) => {
            let given = rest.iter().find(|word| !is_option(word));
            given.and_then(|word| below(word, root)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The last parts of the names that a shell script reads into itself: what lies there says its words, as it does. A name that is
/// put together when it runs is known by its end.
pub fn sourced(script: &str) -> Vec<String> {
    let words: Vec<&str> = script.split([' ', '\t', '\n', ';', '&', '|']).filter(|word| !word.is_empty()).collect();
    let is_reading = |word: &str| matches!(word.trim_start_matches(['(', '{', '`', '!']), "." | "source");
    let read = words.windows(2).filter(|pair| is_reading(pair[0])).map(|pair| pair[1]);
    let bare = |word: &str| word.trim_matches(['"', '\'', ')', '}', '`']).to_owned();
    let last = |word: &str| bare(word).rsplit('/').next().map(str::to_owned);
    read.filter_map(last).filter(|name| !name.is_empty()).collect()
}

fn below(word: &str, root: &str) -> Option<String> {
    let inner = match word.strip_prefix(root) {
        Some(rest) => rest.strip_prefix('/')?,
        None => word,
    };
    let parts: Vec<&str> = inner.split('/').filter(|part| *part != ".").collect();
    let is_inside = parts.iter().all(|part| !matches!(*part, "" | ".."));
    is_inside.then(|| parts.join("/"))
}
