//! The names by which tests, their configuration, build scripts and import hooks are known. A list to add to: a name that
//! is missing here is a file that the work may change unnoticed, a name too many costs a plan one line (`protected: false`).

use super::Role;
use crate::relpath::RelPath;

/// Directories of tests and of what they compare with.
const TEST_DIRS: [&str; 16] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testing",
    "testdata",
    "test_data",
    "test-data",
    "fixtures",
    "__snapshots__",
    "snapshots",
    "e2e",
    "integration_tests",
    "benches",
    "__mocks__",
];

/// Directories of what was built or installed: run instead of the source that it was made from.
const BUILT_DIRS: [&str; 11] = [
    "vendor",
    "__pycache__",
    "node_modules",
    "target",
    ".venv",
    "venv",
    "site-packages",
    ".pytest_cache",
    ".tox",
    ".nox",
    ".eggs",
];

const CONFIGURATION: [&str; 24] = [
    ".proverc",
    ".rspec",
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    ".coveragerc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".tool-versions",
    ".env",
    ".envrc",
    "nextest.toml",
    "codecov.yml",
    ".swcrc",
];

/// `jest.config.js`, `.mocharc.yml`, `tsconfig.test.json`: a beginning is enough.
const CONFIGURATION_BEGINS: [&str; 14] = [
    "jest.config.",
    "jest.setup.",
    "vitest.config.",
    "vitest.workspace.",
    "vite.config.",
    "karma.conf.",
    "playwright.config.",
    "cypress.config.",
    "babel.config.",
    ".babelrc",
    ".mocharc",
    ".nycrc",
    ".taprc",
    "tsconfig",
];

const BUILD: [&str; 34] = [
    "build.rs",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.py",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    ".pnpmfile.cjs",
    "go.mod",
    "go.sum",
    "go.work",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "Taskfile.yml",
    "CMakeLists.txt",
    "CTestTestfile.cmake",
    "meson.build",
    "BUILD",
    "BUILD.bazel",
    "WORKSPACE",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "Rakefile",
    "Gemfile",
    "requirements.txt",
];

/// Loaded by an interpreter before, or instead of, what the program asks for.
const HOOKS: [&str; 4] = ["sitecustomize", "usercustomize", "__pypackages__", "pyvenv.cfg"];

/// Modules of runners, and of the standard library that runners and tests load: at the top of a project they would be found first.
const SHADOWS: [&str; 94] = [
    "pytest",
    "_pytest",
    "py",
    "pluggy",
    "iniconfig",
    "packaging",
    "exceptiongroup",
    "tomli",
    "unittest",
    "doctest",
    "nose",
    "xdist",
    "coverage",
    "hypothesis",
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "atexit",
    "bdb",
    "builtins",
    "codecs",
    "collections",
    "contextlib",
    "contextvars",
    "copy",
    "dataclasses",
    "datetime",
    "difflib",
    "dis",
    "enum",
    "errno",
    "faulthandler",
    "fnmatch",
    "functools",
    "gc",
    "genericpath",
    "getpass",
    "glob",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "marshal",
    "math",
    "operator",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "platform",
    "posixpath",
    "pprint",
    "re",
    "runpy",
    "shlex",
    "shutil",
    "signal",
    "site",
    "stat",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "traceback",
    "types",
    "array",
    "bisect",
    "calendar",
    "cmath",
    "configparser",
    "csv",
    "decimal",
    "fractions",
    "hashlib",
    "heapq",
    "numbers",
    "queue",
    "random",
    "secrets",
    "sqlite3",
    "statistics",
    "time",
    "typing",
    "uuid",
    "zoneinfo",
    "warnings",
];

/// Runners themselves: wherever such a module lies, nobody but a runner is meant by its name.
const RUNNERS: [&str; 14] = [
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "exceptiongroup",
    "unittest",
    "doctest",
    "nose",
    "nose2",
    "xdist",
    "coverage",
    "hypothesis",
    "pytest_asyncio",
    "pytest_mock",
];

/// What a file is to a judgement, by its name alone.
pub fn role_of(path: &RelPath) -> Option<Role> {
    let text = String::from_utf8_lossy(path.as_bytes());
    let parts: Vec<&str> = text.split('/').collect();
    let (name, dirs) = parts.split_last()?;
    let stem = name.split('.').next().unwrap_or(name);
    let is_package = |part: &str| part.ends_with(".egg-info") || part.ends_with(".dist-info");
    if parts.iter().any(|part| HOOKS.contains(part) || is_package(part)) || HOOKS.contains(&stem) {
        return Some(Role::ImportHook);
    }
    if name.ends_with(".pth") || name.ends_with(".egg-link") {
        return Some(Role::ImportHook);
    }
    // `pytest.py`, `pytest/…`, `pytest.cpython-311.so`; a file without an ending is no module.
    let first = parts.first()?;
    let module = first.split('.').next().unwrap_or(first);
    if SHADOWS.contains(&module) && (!dirs.is_empty() || name.contains('.')) && is_python(name, dirs) {
        return Some(Role::ImportHook);
    }
    let is_runner = dirs.iter().any(|dir| RUNNERS.contains(dir)) || RUNNERS.contains(&stem) && name.contains('.');
    let is_perls = name.ends_with(".pm") && dirs.iter().any(|dir| matches!(*dir, "Test" | "Test2" | "TAP"));
    if is_runner && is_python(name, dirs) || is_perls {
        return Some(Role::ImportHook);
    }
    if dirs.iter().any(|dir| BUILT_DIRS.contains(dir)) || BUILT_DIRS.contains(name) || is_built(name) {
        return Some(Role::Built);
    }
    if dirs.contains(&".cargo") || dirs.contains(&".config") && *name == "nextest.toml" {
        return Some(Role::Configuration);
    }
    if CONFIGURATION.contains(name) || CONFIGURATION_BEGINS.iter().any(|begin| name.starts_with(begin)) {
        return Some(Role::Configuration);
    }
    if BUILD.contains(name) || name.ends_with(".mk") || name.ends_with(".cmake") {
        return Some(Role::BuildScript);
    }
    let is_test_dir = |dir: &&str| TEST_DIRS.contains(&dir.to_ascii_lowercase().as_str());
    let is_test = dirs.iter().any(is_test_dir) || TEST_DIRS.contains(name) || is_test_file(name);
    is_test.then_some(Role::Test)
}

fn is_python(name: &str, dirs: &[&str]) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "py" | "pyc" | "so" | "pyd" | "zip") || dirs.is_empty() && ending == "pyw"
}

fn is_built(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "pyc" | "pyo" | "o" | "obj" | "a" | "rlib" | "rmeta" | "class")
}

fn is_test_file(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(".bats") || lower.ends_with(".snap") || lower.ends_with(".t") {
        return true;
    }
    // `a.test.ts` and `a_test.go`: the part before the last ending, and the part before the first.
    let before_last = lower.rsplit_once('.').map_or(lower.as_str(), |(before, _)| before);
    let stem = lower.split('.').next().unwrap_or(&lower);
    let marks = ["test", "tests", "spec", "specs"];
    let ends = |part: &str| {
        marks
            .iter()
            .any(|mark| part.strip_suffix(mark).is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '-', '.'])))
    };
    let begins = |part: &str| ["test_", "test-", "tests_", "tests-"].iter().any(|mark| part.starts_with(mark));
    // `AddTests.c`, `CalcTest.java`: a word of its own by its capital letter.
    let is_capital = |part: &str| ["Test", "Tests", "Spec"].iter().any(|end| part.ends_with(end));
    let is_camel = is_capital(name.split('.').next().unwrap_or(name));
    ends(before_last) || ends(stem) || begins(stem) || is_camel
}
