//! What counts as a change, and what is refused by name.

use super::*;
use silas_core::Digest;

fn path(text: &str) -> RelPath {
    RelPath::from_bytes(text.as_bytes()).unwrap()
}

fn file(text: &str) -> FileState {
    FileState::File { hash: Digest::of(text.as_bytes()), mode: 0o644 }
}

fn manifest(files: &[(&str, FileState)], dirs: &[&str]) -> Manifest {
    Manifest {
        files: files.iter().map(|(p, s)| (path(p), s.clone())).collect(),
        dirs: dirs.iter().map(|p| (path(p), 0o755)).collect(),
        ..Manifest::default()
    }
}

fn compare(original: &Manifest, finished: &Manifest) -> Result<Changeset, Error> {
    let links = Links { root: "/home/me/project", target_of: &|_| Ok(b"target".to_vec()) };
    together(vec![between(0, original, finished, &links)?], Bounds::default())
}

#[test]
fn names_what_is_new_changed_and_gone_in_order() {
    let original = manifest(&[("a", file("1")), ("b", file("2")), ("c", file("3"))], &[]);
    let finished = manifest(&[("0", file("0")), ("b", file("2")), ("c", file("4"))], &[]);
    let changed = compare(&original, &finished).unwrap();
    let seen: Vec<_> =
        changed.changes.iter().map(|c| (c.path.to_string(), c.before.is_some(), c.after.is_some())).collect();
    assert_eq!(seen, [("0".to_owned(), false, true), ("a".to_owned(), true, false), ("c".to_owned(), true, true)]);
}

#[test]
fn files_and_directories_do_not_change_places() {
    let refused = |original: &Manifest, finished: &Manifest| {
        matches!(compare(original, finished), Err(Error::Unsupported { .. }))
    };
    assert!(refused(&manifest(&[("a", file("1"))], &[]), &manifest(&[("a/b", file("1"))], &["a"])));
    assert!(refused(&manifest(&[("a/b", file("1"))], &["a"]), &manifest(&[("a", file("1"))], &[])));
    assert!(!refused(&manifest(&[("a/b", file("1"))], &["a"]), &manifest(&[("a/c", file("1"))], &["a"])));
}

#[test]
fn repositories_are_not_touched() {
    for inside in [".git/config", "vendor/.git/hooks/pre-commit", "vendor/.GIT/config", ".git"] {
        let refused = compare(&manifest(&[], &[]), &manifest(&[(inside, file("1"))], &[]));
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{inside}");
    }
    compare(&manifest(&[], &[]), &manifest(&[(".gitignore", file("1"))], &[])).unwrap();
}

#[test]
fn symlinks_stay_inside() {
    let root = "/home/me/project";
    for (at, target, is_out) in [
        ("link", "file", false),
        ("link", "./deep/file", false),
        ("link", "..", true),
        ("deep/link", "../file", false),
        ("deep/link", "../../file", true),
        ("deep/link", "a/../../file", true),
        ("link", "a/..", true),
        ("link", "/etc/passwd", true),
        ("link", "/home/me/project/file", false),
        ("link", "/home/me/project2/file", true),
        ("link", "/home/me/project/../file", true),
    ] {
        assert_eq!(leaves(&path(at), target.as_bytes(), root), is_out, "{at} -> {target}");
    }
}
