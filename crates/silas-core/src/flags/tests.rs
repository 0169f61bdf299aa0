//! What is flagged in a change.

use super::*;

#[track_caller]
fn check(path: &str, lines: &str, expect: &[&str]) {
    let flags = of(&RelPath::from_bytes(path.as_bytes()).unwrap(), lines.lines());
    assert_eq!(flags.iter().map(|flag| flag.what.as_str()).collect::<Vec<_>>(), expect, "{path}: {lines}");
}

#[test]
fn exits_hooks_and_runners() {
    check("calc.py", "import os\nos._exit(0)", &["ends the process: os._exit"]);
    check("calc.py", "import atexit, sys\nsys.exit()", &["runs at the end: atexit", "ends the process: sys.exit"]);
    check("src/lib.rs", "std::process::exit(0);", &["ends the process: process::exit"]);
    check("calc.js", "process.exit(0)", &["ends the process: process.exit"]);
    check("calc.py", "return a + b", &[]);
    check("calc.py", &"os._exit(0)\n".repeat(9), &["ends the process: os._exit"]);
}

#[test]
fn files_that_judge() {
    check("conftest.py", "x = 1", &["is test configuration"]);
    check("tests/test_a.py", "", &["is a test"]);
    check("package.json", "", &["is a build script"]);
    check("sitecustomize.py", "", &["is an import hook"]);
    check(".cargo/config.toml", "", &["is test configuration"]);
    check("node_modules/a/b.js", "", &["is a built file"]);
}
