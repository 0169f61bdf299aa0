//! What is seen through a layer, without mounting one.

use super::*;
use crate::lifeline::Lifeline;
use crate::tree::Git;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

struct Two {
    home: tempfile::TempDir,
    lower: Dir,
    upper: Dir,
}

impl Two {
    fn new() -> Two {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        for dir in ["lower/src/deep", "lower/src-old", "lower/doc"] {
            std::fs::create_dir_all(real.join(dir)).unwrap();
        }
        for file in ["app", "src/lib", "src/deep/same", "src-old/lib", "doc/page"] {
            std::fs::write(real.join("lower").join(file), "old").unwrap();
        }
        let upper = make(&Dir::open(&real).unwrap(), "layer", 0o755).unwrap();
        Two { lower: Dir::open(&real.join("lower")).unwrap(), upper, home }
    }

    fn upper(&self, path: &str) -> PathBuf {
        self.home.path().join("layer").join(UPPER).join(path)
    }

    fn hide(&self, path: &str) {
        let path = RelPath::from_bytes(path.as_bytes()).unwrap();
        let (parent, name) = split(&path);
        syscall::make_whiteout(self.upper.below(parent).unwrap().as_fd(), name).unwrap();
    }

    fn seen(&self) -> (Manifest, Manifest) {
        let (here, _there) = UnixStream::pair().unwrap();
        let lower = tree::snapshot(&self.lower, &Extent::all(Git::Visit, Lifeline::of(&here))).unwrap();
        let seen = merged(&lower, &self.upper, &Extent::all(Git::Visit, Lifeline::of(&here))).unwrap();
        (lower, seen)
    }
}

fn names<T>(map: &BTreeMap<RelPath, T>) -> Vec<String> {
    map.keys().map(ToString::to_string).collect()
}

#[test]
fn an_empty_layer_hides_nothing() {
    let (lower, seen) = Two::new().seen();
    assert_eq!((lower.files, lower.dirs), (seen.files, seen.dirs));
}

#[test]
fn names_come_change_and_go() {
    let two = Two::new();
    std::fs::write(two.upper("app"), "new").unwrap();
    std::fs::write(two.upper("fresh"), "new").unwrap();
    std::fs::create_dir_all(two.upper("src")).unwrap();
    two.hide("src/lib");
    two.hide("doc");
    let (lower, seen) = two.seen();
    assert_eq!(names(&seen.files), ["app", "fresh", "src-old/lib", "src/deep/same"]);
    assert_eq!(names(&seen.dirs), ["src", "src-old", "src/deep"]);
    let app = RelPath::from_bytes(b"app").unwrap();
    assert_ne!(seen.files[&app], lower.files[&app]);
}

#[test]
fn a_directory_that_was_made_anew_hides_the_old_one() {
    let two = Two::new();
    std::fs::create_dir(two.upper("src")).unwrap();
    std::fs::write(two.upper("src/fresh"), "new").unwrap();
    let src = two.upper.below(b"src").unwrap();
    // A file system without such marks is never used for layers.
    if !can_mark(&two.upper) {
        return println!("skipped: this file system keeps no extended attributes");
    }
    syscall::set_mark(src.as_fd(), OPAQUE, b"y").unwrap();
    let (_, seen) = two.seen();
    assert_eq!(names(&seen.files), ["app", "doc/page", "src-old/lib", "src/fresh"]);
    let stack = Stack(vec![&two.upper, &two.lower]);
    assert!(stack.has(b"src/fresh") && !stack.has(b"src/lib") && !stack.has(b"src/deep/same"));
}

#[test]
fn a_file_in_the_place_of_a_directory_hides_what_was_in_it() {
    let two = Two::new();
    std::fs::write(two.upper("src"), "new").unwrap();
    let (_, seen) = two.seen();
    assert_eq!(names(&seen.files), ["app", "doc/page", "src", "src-old/lib"]);
    assert_eq!(names(&seen.dirs), ["doc", "src-old"]);
    assert!(!Stack(vec![&two.upper, &two.lower]).has(b"src/lib"));
}

#[test]
fn symlinks_lead_through_layers_and_not_out() {
    let two = Two::new();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, two.upper(name)).unwrap();
    link("src/deep", "in");
    link("/etc", "out");
    link("../..", "up");
    link("loop", "loop");
    link("nowhere", "dangling");
    let stack = Stack(vec![&two.upper, &two.lower]);
    for (path, is_there) in [
        ("in/same", true),
        ("in/../lib", true),
        ("out/passwd", false),
        ("up", false),
        ("loop", false),
        ("dangling", false),
        ("app/below", false),
        ("src/./lib", true),
    ] {
        assert_eq!(stack.has(path.as_bytes()), is_there, "{path}");
    }
}
