//! The sample holds together: what its README, its plan and its files say of each other is true.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;

fn text(path: &str) -> &'static str {
    FILES.iter().find(|file| file.path == path).unwrap().text
}

#[test]
fn every_file_that_lies_there_is_laid_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample");
    let names = |dir: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file()).map(|entry| entry.path());
        files.map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect()
    };
    let there: BTreeSet<String> = names(&root).into_iter().chain(names(&root.join("tests"))).collect();
    let known: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
    assert_eq!(there, known);
}

#[test]
fn the_readme_names_the_fix_and_every_check() {
    let readme = text("README.md");
    assert!(readme.contains(FIX));
    for check in CHECKS {
        assert!(readme.contains(check.run), "{}", check.run);
        assert!(!text(check.run.strip_prefix("sh ").unwrap()).is_empty());
    }
}

#[test]
fn the_fix_is_about_exactly_one_line() {
    let meant: Vec<&str> = text("tides.sh").lines().filter(|line| line.contains("summer")).collect();
    assert_eq!(meant.len(), 1, "{meant:?}");
    assert!(meant[0].contains("ahead=1"));
}

#[test]
fn names_are_numbered_from_two_on() {
    assert_eq!([1, 2, 10].map(directory_name), ["silas-sample", "silas-sample-2", "silas-sample-10"]);
}
