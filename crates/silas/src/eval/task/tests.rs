//! Each task is red as it is shipped and green with its reference solution, by its own check.

use super::*;
use silas_core::testlog::TestLog;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A runner that Silas knows.
const UNITTEST: &str = "python3 -m unittest -q";

fn solution(name: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("eval/solutions/{name}.files"));
    let text = fs::read_to_string(path).unwrap();
    // The same format without a head; what judges is no part of a solution.
    let whole = format!("wish: w\ncheck: c\nprotected: judge\n-- judge --\n{text}");
    let task = Task::parse("solution", &whole).unwrap();
    task.files.into_iter().filter(|(path, _)| path != "judge").collect()
}

/// As a check is run in the sandbox: the system's programs, and nothing of an account's. Whether it is green, and its tests
/// if it says them in TAP.
fn checked(task: &Task, repository: &Path) -> (bool, Option<TestLog>) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &task.check]).current_dir(repository).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", repository);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let log = TestLog::from_tap(&String::from_utf8_lossy(&output.stdout));
    (output.status.success(), log.map(|log| log.unwrap_or_else(|why| panic!("{}: {why}", task.name))))
}

#[test]
fn there_are_thirty_and_each_can_be_solved() {
    let tasks = chosen(&[]).unwrap();
    assert_eq!(tasks.len(), 30);
    for task in tasks {
        let dir = TempDir::new().unwrap();
        let repository = dir.path().join("repository");
        task.write(&repository).unwrap();
        let (is_green, before) = checked(&task, &repository);
        assert!(!is_green, "{}: green before anything was done", task.name);
        let solution = solution(task.name);
        assert!(!solution.is_empty());
        for (path, content) in solution {
            assert!(!task.protected.contains(&path), "{}: the solution changes what judges", task.name);
            let target = repository.join(path);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, content).unwrap();
        }
        assert!(task.restore(&repository).unwrap());
        let (is_green, after) = checked(&task, &repository);
        assert!(is_green, "{}: red with its solution", task.name);
        // Only tests that are counted prove anything.
        if task.check != UNITTEST {
            let (before, after) = before.zip(after).unwrap_or_else(|| panic!("{}: no test is counted", task.name));
            after.is_green_with_all_of(&before).unwrap_or_else(|why| panic!("{}: {why}", task.name));
        }
    }
}

#[test]
fn every_task_is_embedded_and_has_its_solution() {
    let names = |dir: &str, suffix: &str| -> BTreeSet<String> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("eval").join(dir);
        let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        files.map(|name| name.strip_suffix(suffix).unwrap().to_owned()).collect()
    };
    let embedded: BTreeSet<String> = TASKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("tasks", ".task"), embedded);
    assert_eq!(names("solutions", ".files"), embedded);
}

#[test]
fn a_wish_is_a_sentence_and_says_where_and_how_it_is_judged() {
    for task in chosen(&[]).unwrap() {
        assert!(task.wish.ends_with('.') && task.wish.len() < 400, "{}", task.name);
        let said = task.said(Path::new("/srv/x"));
        assert!(said.contains("/srv/x") && said.contains(&task.check));
        // Reflex would take it for a command of its own.
        assert!(!said.to_lowercase().starts_with("run"));
    }
}

#[test]
fn what_is_damaged_is_said() {
    for bad in [
        "wish: w\ncheck: c\nprotected: j\n",
        "wish: w\ncheck: c\n-- j --\n",
        "check: c\nprotected: j\n-- j --\n",
        "wish: w\nprotected: j\n-- j --\n",
        "what: w\n",
        "wish: w\ncheck: c\nprotected: j\n-- j --\n-- ../j --\n",
        "wish: w\ncheck: c\nprotected: j\n-- j --\n-- /etc/j --\n",
    ] {
        assert!(Task::parse("bad", bad).is_err(), "{bad:?}");
    }
    assert!(chosen(&["no-such-task".to_owned()]).unwrap_err().to_string().contains("--list"));
    assert_eq!(chosen(&["slugs".to_owned()]).unwrap()[0].name, "slugs");
}

/// A work may have put a link where a judge was: the judge is not written to where it leads.
#[test]
fn nothing_is_restored_through_a_link() {
    let text = "wish: w\ncheck: c\nprotected: t/judge\n-- t/judge --\nold\n";
    let task = Task::parse("t", text).unwrap();
    let dir = TempDir::new().unwrap();
    let (repository, elsewhere) = (dir.path().join("r"), dir.path().join("elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("judge"), "theirs").unwrap();

    task.write(&repository).unwrap();
    fs::write(repository.join("t/judge"), "new").unwrap();
    assert!(task.restore(&repository).unwrap());
    assert_eq!(fs::read_to_string(repository.join("t/judge")).unwrap(), "old\n");

    fs::remove_file(repository.join("t/judge")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("judge"), repository.join("t/judge")).unwrap();
    assert!(task.restore(&repository).unwrap());
    assert_eq!(fs::read_to_string(repository.join("t/judge")).unwrap(), "old\n");

    fs::remove_dir_all(repository.join("t")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, repository.join("t")).unwrap();
    assert!(!task.restore(&repository).unwrap());
    assert_eq!(fs::read_to_string(elsewhere.join("judge")).unwrap(), "theirs");
}
