//! Which directories moved.

use super::*;

fn path(path: &str) -> RelPath {
    RelPath::from_bytes(path.as_bytes()).unwrap()
}

fn tree(dirs: &[&str]) -> Manifest {
    Manifest { dirs: dirs.iter().map(|dir| (path(dir), 0o755)).collect(), ..Manifest::default() }
}

/// Files that moved, from and to, and the directories there were and are; what moved of these.
#[track_caller]
fn check(moved: &[(&str, &str)], dirs: (&[&str], &[&str]), expect: &[(&str, &str)]) {
    let change = |at: &str| Change { directory: 3, path: path(at), before: None, after: None };
    let changes: Vec<Change> = moved.iter().flat_map(|(from, to)| [change(from), change(to)]).collect();
    let pairs = (0..moved.len()).map(|n| (2 * n + 1, 2 * n)).collect();
    let (base, finished) = (tree(dirs.0), tree(dirs.1));
    let moves = Moves::new(&changes, &pairs, |_| Some(Trees { base: &base, finished: &finished }));
    let found: Vec<(String, String)> =
        moves.dirs.iter().map(|((_, to), from)| (from.to_string(), to.to_string())).collect();
    let expect: Vec<(String, String)> = expect.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(found, expect);
    for (from, to) in moved {
        assert_eq!(moves.file(&change(to)), Some(&path(from)));
    }
}

#[test]
fn a_directory_moved_with_its_files() {
    check(&[("a/f", "b/f")], (&["a"], &["b"]), &[("a", "b")]);
    check(&[("a/x/f", "n/b/x/f")], (&["a", "a/x"], &["n", "n/b", "n/b/x"]), &[("a", "n/b"), ("a/x", "n/b/x")]);
}

#[test]
fn a_directory_that_is_still_there_did_not_move() {
    check(&[("a/f", "b/f")], (&["a"], &["a", "b"]), &[]);
    check(&[("a/f", "b/f")], (&["a", "b"], &["b"]), &[]);
    check(&[("f", "b/f")], (&[], &["b"]), &[]);
}

#[test]
fn of_several_it_was_the_one_with_most_files() {
    let moved = [("a/1", "n/1"), ("b/2", "n/2"), ("b/3", "n/3")];
    check(&moved, (&["a", "b"], &["n"]), &[("b", "n")]);
    check(&moved[..2], (&["a", "b"], &["n"]), &[("a", "n")]);
}
