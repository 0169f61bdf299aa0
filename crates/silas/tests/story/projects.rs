//! Real projects inside the sandbox, with the tools that this machine has. What is missing is said and skipped.

use silas_core::card::CardKind;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Project {
    _dir: tempfile::TempDir,
    base: PathBuf,
    dir: PathBuf,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let dir = base.join("project");
        fs::create_dir(&dir).unwrap();
        for (path, text) in files {
            fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
            fs::write(dir.join(path), text).unwrap();
        }
        Project { _dir: temp, base, dir }
    }

    /// With the owner's real home: its tools are what is tried here.
    fn inside(&self, command: &[&str]) -> Output {
        let mut silas = crate::harness::binary();
        silas.arg("--data-dir").arg(self.base.join("data")).args(["sandbox", "--write"]).arg(&self.dir);
        silas.arg("--").args(command).output().unwrap()
    }

    /// Outside, to make the project what it is.
    fn outside(&self, program: &str, args: &[&str]) -> bool {
        Command::new(program).args(args).current_dir(&self.dir).output().is_ok_and(|output| output.status.success())
    }

    #[track_caller]
    fn passes(&self, command: &[&str], expect: &str) {
        let output = self.inside(command);
        let said = both(&output);
        assert!(output.status.success() && said.contains(expect), "{command:?}\n{said}");
    }
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: {program} is missing");
    }
    found
}

const UNITTEST: &str = "import unittest\nimport sys\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(sys.prefix.split('/')[-1], '.venv')\n";

#[test]
fn cargo_tests_run_offline_with_the_owners_toolchain() {
    if !has("cargo") {
        return;
    }
    let project = Project::new(&[
        ("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("src/lib.rs", "#[test]\nfn holds() {\n    assert_eq!(1 + 1, 2);\n}\n"),
    ]);
    project.passes(&["cargo", "test", "--offline"], "test holds ... ok");
    assert!(!project.dir.join("target").exists(), "what was built stayed in the copy");
}

#[test]
fn a_venv_runs_its_own_interpreter_wherever_that_lives() {
    // Whatever `python3` means to the owner: the system's, or a version manager's behind a shim.
    for python in ["python3", "/usr/bin/python3"] {
        let project = Project::new(&[("test_it.py", UNITTEST)]);
        if !project.outside(python, &["-m", "venv", "--without-pip", ".venv"]) {
            println!("skipped: {python} cannot make a venv");
            continue;
        }
        project.passes(&[".venv/bin/python", "-m", "unittest", "-v"], "OK");
    }
}

#[test]
fn pytest_runs_in_a_venv() {
    let project = Project::new(&[("test_it.py", "def test_it():\n    assert 1 + 1 == 2\n")]);
    let has_pytest = project.outside("/usr/bin/python3", &["-c", "import pytest"]);
    if !has_pytest
        || !project.outside("/usr/bin/python3", &["-m", "venv", "--without-pip", "--system-site-packages", ".venv"])
    {
        println!("skipped: /usr/bin/python3 has no pytest or cannot make a venv");
        return;
    }
    project.passes(&[".venv/bin/python", "-m", "pytest", "-q"], "1 passed");
}

#[test]
fn npm_tests_run() {
    if !has("node") || !has("npm") {
        return;
    }
    let project = Project::new(&[
        (
            "package.json",
            "{ \"name\": \"small\", \"version\": \"1.0.0\", \"scripts\": { \"test\": \"node test.js\" } }",
        ),
        ("test.js", "require('assert').equal(1 + 1, 2); console.log('it holds');"),
    ]);
    project.passes(&["npm", "test"], "it holds");
}

#[test]
fn git_reads_the_repository_and_cannot_change_it() {
    if !has("git") {
        return;
    }
    let project = Project::new(&[("a.txt", "old\n")]);
    let made = project.outside("git", &["init", "-q"])
        && project.outside("git", &["add", "."])
        && project.outside("git", &["-c", "user.name=o", "-c", "user.email=o@example.org", "commit", "-qm", "first"]);
    assert!(made);
    let head = fs::metadata(project.dir.join(".git/index")).unwrap().mtime();
    project.passes(&["sh", "-c", "echo new > a.txt && git status --short"], " M a.txt");
    let commit =
        project.inside(&["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qam", "mine"]);
    assert!(!commit.status.success(), "{}", both(&commit));
    assert_eq!(fs::metadata(project.dir.join(".git/index")).unwrap().mtime(), head);
}

/// The same tools, on the long way: a plan whose card names them, and a check that needs them.
#[test]
fn a_plan_is_proved_by_cargo_in_the_owners_home() {
    if !has("cargo") {
        return;
    }
    let silas = crate::harness::Silas::start();
    let repo = silas.repo();
    fs::create_dir_all(repo.join("src")).unwrap();
    fs::write(repo.join("Cargo.toml"), "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .unwrap();
    fs::write(
        repo.join("src/lib.rs"),
        "pub fn two() -> u8 {\n    3\n}\n\n#[test]\nfn holds() {\n    assert_eq!(two(), 2);\n}\n",
    )
    .unwrap();
    let mut line = silas.line();
    let wish = format!("run `sed -i s/3/2/ src/lib.rs` in `{}` and check with `cargo test --offline`", repo.display());
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.approve(CardKind::Plan).unwrap();
    let tools = plan.face.details.iter().find(|detail| detail.title == "Tools, to read").expect("the card names them");
    assert!(tools.lines.iter().any(|line| line.starts_with("cargo: ") && line.ends_with("/bin")), "{tools:?}");
    assert!(!tools.lines.iter().any(|line| line.ends_with("/.cargo")), "{tools:?}");
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");
    assert!(fs::read_to_string(Path::new(&repo).join("src/lib.rs")).unwrap().contains("{\n    2\n}"));
}
