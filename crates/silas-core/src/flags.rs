//! What a person should look at twice in a change: lines that end the process early, reach into a test runner or change
//! what gets imported, and files that judge the work.
//!
//! A hint for whoever reads the diff. It forbids nothing and misses what is written to be missed.

use crate::judges::role_of;
use crate::relpath::RelPath;
use serde::{Deserialize, Serialize};

/// One thing to look at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    pub path: RelPath,
    /// "calls os._exit", "is a test".
    pub what: String,
}

/// Flags that are kept; who has more to look at looks at everything.
pub const FLAGS_MAX: usize = 50;
/// Of one file.
const OF_ONE_MAX: usize = 4;

/// What is looked for in added lines, and what it means.
const MARKS: [(&str, &str); 49] = [
    ("os._exit", "ends the process: os._exit"),
    ("sys.exit", "ends the process: sys.exit"),
    ("os.abort", "ends the process: os.abort"),
    ("os.kill", "sends a signal: os.kill"),
    ("SystemExit", "ends the process: SystemExit"),
    ("process.exit", "ends the process: process.exit"),
    ("process.reallyExit", "ends the process: process.reallyExit"),
    ("process.kill", "sends a signal: process.kill"),
    ("process::exit", "ends the process: process::exit"),
    ("process::abort", "ends the process: process::abort"),
    ("libc::_exit", "ends the process: _exit"),
    ("os.Exit(", "ends the process: os.Exit"),
    ("syscall.Exit", "ends the process: syscall.Exit"),
    ("runtime.Goexit", "ends a test: runtime.Goexit"),
    ("System.exit", "ends the process: System.exit"),
    ("atexit", "runs at the end: atexit"),
    ("at_exit", "runs at the end: at_exit"),
    ("process.on(", "runs at the end: process.on"),
    ("exitCode", "sets the exit code: exitCode"),
    ("sys.modules", "changes imports: sys.modules"),
    ("sys.meta_path", "changes imports: sys.meta_path"),
    ("sys.path", "changes imports: sys.path"),
    ("importlib", "changes imports: importlib"),
    ("__import__", "changes imports: __import__"),
    ("builtins", "changes builtins"),
    ("require.cache", "changes imports: require.cache"),
    ("Module._", "changes imports: Module._load"),
    ("sys.settrace", "watches execution: sys.settrace"),
    ("gc.get_", "searches memory: gc"),
    ("_getframe", "reaches into the caller: _getframe"),
    ("_pytest", "reaches into pytest"),
    ("pytest_", "is a hook of pytest"),
    ("pluggy", "reaches into pytest"),
    ("unittest.case", "reaches into unittest"),
    ("TestResult", "reaches into the test result"),
    ("NODE_OPTIONS", "changes how node starts"),
    ("NODE_TEST_CONTEXT", "looks whether it is being tested"),
    ("PYTEST_CURRENT_TEST", "looks whether it is being tested"),
    ("LD_PRELOAD", "changes how programs start"),
    ("link_section", "runs before main: link_section"),
    ("#[ctor", "runs before main: ctor"),
    ("libtest", "reaches into libtest"),
    ("macro_rules! assert", "has a macro of its own in the place of assert"),
    ("macro_rules! panic", "has a macro of its own in the place of panic"),
    ("const false", "gives false another meaning"),
    ("const true", "gives true another meaning"),
    ("var false", "gives false another meaning"),
    ("var true", "gives true another meaning"),
    ("func panic(", "gives panic another meaning"),
];

/// What to look at in one changed file, given the lines that were added to it.
pub fn of<'a>(path: &RelPath, added: impl Iterator<Item = &'a str>) -> Vec<Flag> {
    let mut found: Vec<String> = role_of(path).map(|role| format!("is {role}")).into_iter().collect();
    for line in added {
        for (mark, what) in MARKS {
            if found.len() < OF_ONE_MAX && line.contains(mark) && !found.iter().any(|known| known == what) {
                found.push(what.to_owned());
            }
        }
    }
    found.into_iter().map(|what| Flag { path: path.clone(), what }).collect()
}

#[cfg(test)]
mod tests;
