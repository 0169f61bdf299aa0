//! What the hands do to real files, and that they do nothing else.

use super::*;
use silas_core::file_order::Sight;
use silas_core::patch;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

struct Place {
    dir: TempDir,
    known: Sights,
}

impl Place {
    fn new(files: &[(&str, &[u8])]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Place { dir, known: Sights::new() }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn of(&self, name: &str) -> Vec<u8> {
        fs::read(self.dir.path().join(name)).unwrap()
    }

    fn does(&mut self, order: FileOrder) -> FileAnswer {
        let answer = answer(&order, &self.known);
        self.known.extend(answer.sights.clone());
        // The directory has another name each time.
        let at = format!("{}/", self.dir.path().display());
        FileAnswer { shown: answer.shown.replace(&at, ""), said: answer.said.replace(&at, ""), ..answer }
    }

    fn read(&mut self, name: &str, from_line: u64, lines: Option<u64>) -> FileAnswer {
        self.does(FileOrder::Read { path: self.path(name), from_line, lines })
    }

    fn write(&mut self, name: &str, text: &str) -> FileAnswer {
        self.does(FileOrder::Write { path: self.path(name), text: text.to_owned() })
    }

    fn edit(&mut self, name: &str, old: &str, new: &str, all: bool) -> FileAnswer {
        let (old, new) = (old.to_owned(), new.to_owned());
        self.does(FileOrder::Edit { path: self.path(name), old, new, all })
    }

    fn patch(&mut self, parts: &str) -> FileAnswer {
        let text = format!(
            "*** Begin Patch\n{}*** End Patch",
            parts
                .replace("File: ", &format!("File: {}/", self.dir.path().display()))
                .replace("to: ", &format!("to: {}/", self.dir.path().display()))
        );
        self.does(FileOrder::Patch(patch::parse(&text).unwrap()))
    }

    fn search(&mut self, pattern: &str, path: &str, name: Option<&str>) -> FileAnswer {
        let (pattern, name) = (pattern.to_owned(), name.map(str::to_owned));
        self.does(FileOrder::Search { pattern, path: self.path(path), name })
    }

    fn list(&mut self, depth: u64, name: Option<&str>) -> FileAnswer {
        self.does(FileOrder::List { path: self.path("."), depth, name: name.map(str::to_owned) })
    }
}

fn is_refused(answer: &FileAnswer, words: &str) {
    assert!(!answer.is_done && answer.said.contains(words), "{answer:?}");
}

#[test]
fn lines_come_with_their_numbers_and_a_long_file_in_parts() {
    let long: String = (1..=100_000).map(|n| format!("line {n}\n")).collect();
    let mut place = Place::new(&[("a", b"one\ntwo\r\nthree"), ("long", long.as_bytes()), ("empty", b"")]);
    let whole = place.read("a", 1, None);
    assert_eq!((whole.shown.as_str(), whole.said.as_str()), ("1\tone\n2\ttwo\r\n3\tthree", ""));
    let part = place.read("a", 2, Some(1));
    assert_eq!((part.shown.as_str(), part.said.as_str()), ("2\ttwo\r\n", "Lines 2 to 2 of 3 of `a`."));
    is_refused(&place.read("a", 9, None), "has 3 lines and no line 9");
    assert_eq!(place.read("empty", 1, None), FileAnswer { said: String::new(), ..place.read("empty", 1, None) });

    let first = place.read("long", 1, None);
    assert!(first.shown.chars().count() <= SHOWN_CHARS_MAX && first.shown.starts_with("1\tline 1\n"));
    assert!(first.said.contains("of 100,000 of `long`. More is there: read on with from_line "), "{}", first.said);
    assert_eq!(place.read("long", 99_999, None).shown, "99999\tline 99999\n100000\tline 100000\n");
    assert_eq!(place.of("long"), long.as_bytes());
}

#[test]
fn what_cannot_be_shown_exactly_is_said() {
    let mut place = Place::new(&[
        ("latin1", b"caf\xe9\nx\n"),
        ("bin", b"\x7fELF\0\0\xff\xfe"),
        ("min.js", "x".repeat(1 << 20).as_bytes()),
    ]);
    let latin1 = place.read("latin1", 1, None);
    assert!(latin1.is_done && latin1.shown.starts_with("1\tcaf\u{fffd}\n") && latin1.said.contains("not UTF-8"));
    is_refused(&place.write("latin1", "x"), "is not UTF-8 text");
    is_refused(&place.read("bin", 1, None), "is not text (8 bytes)");
    let min = place.read("min.js", 1, None);
    assert!(min.shown.chars().count() == SHOWN_CHARS_MAX && min.said.contains("1,048,576"), "{}", min.said);
    is_refused(&place.write("min.js", "x"), "no line whole");
    // What is around is kept, whatever it is.
    assert!(place.edit("latin1", "x", "y", false).is_done);
    assert_eq!(place.of("latin1"), b"caf\xe9\ny\n");
    is_refused(&place.edit("bin", "ELF", "x", false), "is not text");
    std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    is_refused(&place.read("socket", 1, None), "no ordinary file");
    is_refused(&place.read(".", 1, None), "is a directory");
    is_refused(&place.read("gone", 1, None), "there is no such file");
}

#[test]
fn a_file_is_rewritten_only_by_who_saw_all_of_it_as_it_is() {
    let mut place = Place::new(&[("a", b"1\n2\n3\n4\n")]);
    is_refused(&place.write("a", "x"), "have not read it whole");
    place.read("a", 1, Some(2));
    is_refused(&place.write("a", "x"), "lines 1 to 2");
    place.read("a", 3, None);
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(place.write("a", "mine\n").is_done, "in parts is whole, too");
    assert_eq!(fs::metadata(place.path("a")).unwrap().permissions().mode() & 0o777, 0o755);
    fs::write(place.path("a"), "a command's\n").unwrap();
    is_refused(&place.write("a", "x"), "changed since you read it");
    assert_eq!(place.of("a"), b"a command's\n");
    assert!(place.write("new/dir/b", "€").is_done && place.of("new/dir/b") == "€".as_bytes());
    std::os::unix::fs::symlink("nowhere", place.path("link")).unwrap();
    is_refused(&place.write("link", "x"), "there is no such file");
}

#[test]
fn an_edit_that_does_not_fit_says_what_stands_there() {
    let mut place = Place::new(&[("a.py", b"def f():\n    return 1\n\ndef g():\n    return 1\n")]);
    let several = place.edit("a.py", "    return 1\n", "    return 2\n", false);
    is_refused(&several, "stands 2 times in `a.py`, at lines 2, 5");
    assert_eq!(several.shown, "2\t    return 1\n5\t    return 1\n");
    let absent = place.edit("a.py", "def g():\n\treturn 1", "x", false);
    is_refused(&absent, "Lines 2 to 5 are most like it");
    assert!(absent.shown.contains("4\tdef g():\n5\t    return 1\n"), "{}", absent.shown);
    is_refused(&place.edit("a.py", "4\tdef g():\n5\t    return 1\n", "x", false), "has numbers of lines");
    is_refused(&place.edit("a.py", "x", "x", false), "are the same");
    assert_eq!(place.edit("a.py", "return 1", "return 2", true).said, "Replaced 2 times in `a.py`, at lines 2, 5.");

    // Seen, changed by a command, shown, and edited again.
    place.read("a.py", 1, None);
    fs::write(place.path("a.py"), "def f():\n    return 3\n").unwrap();
    let moved_on = place.edit("a.py", "return 3", "return 4", false);
    is_refused(&moved_on, "has changed since you read it");
    assert!(moved_on.shown.contains("2\t    return 3\n"), "{}", moved_on.shown);
    assert!(place.edit("a.py", "return 3", "return 4", false).is_done);
    assert_eq!(place.of("a.py"), b"def f():\n    return 4\n");
}

#[test]
fn a_patch_is_all_or_nothing() {
    let mut place = Place::new(&[("a", b"1\n2\n"), ("b", b"x\n"), ("run.sh", b"true\n")]);
    fs::set_permissions(place.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = place.list(9, None).shown;
    let good = "*** Update File: a\n-1\n+one\n*** Add File: new/c\n+c\n*** Delete File: b\n*** Update File: run.sh\n*** Move to: bin/run\n-true\n+false\n";
    for (bad, why) in [
        ("*** Update File: a\n-9\n+x\n", "Change 1 in `a`: its lines are nowhere"),
        ("*** Add File: a\n+x\n", "`a` is there already"),
        ("*** Delete File: nowhere\n", "there is no such file"),
        ("*** Update File: b\n-x\n+y\n", "no longer there"),
    ] {
        is_refused(&place.patch(&format!("{good}{bad}")), why);
        assert_eq!((place.list(9, None).shown, place.of("a")), (before.clone(), b"1\n2\n".to_vec()));
    }
    let done = place.patch(good);
    assert_eq!(
        done.said, "Patched. `a` +1 −1. `new/c` added. `b` deleted. `run.sh` moved to `bin/run`, +1 −1.",
        "{done:?}"
    );
    assert_eq!(
        (place.of("a"), place.of("new/c"), place.of("bin/run")),
        (b"one\n2\n".to_vec(), b"c\n".to_vec(), b"false\n".to_vec())
    );
    assert!(!Path::new(&place.path("b")).exists() && !Path::new(&place.path("run.sh")).exists());
    assert_eq!(fs::metadata(place.path("bin/run")).unwrap().permissions().mode() & 0o777, 0o755);
    is_refused(&place.patch("*** Update File: bin/run\n+x\n+y\n*** Add File: a/below\n+x\n"), "Nothing was changed");
    assert_eq!(place.of("bin/run"), b"false\n", "what was written before the part that failed is taken back");
}

#[test]
fn names_and_contents_are_found_and_bounded() {
    let many: String = (0..2_000).map(|n| format!("hit {n}\n")).collect();
    let mut place = Place::new(&[
        ("src/a.rs", b"fn main() {}\nfn other() {}\n"),
        ("src/b.py", b"def main(): pass\n"),
        ("odd\nname.rs", b"fn odd() {}\n"),
        ("target/x.rs", b"fn main() {}\n"),
        (".git/x.rs", b"fn main() {}\n"),
        ("bin", b"\0fn main"),
        ("many", many.as_bytes()),
    ]);
    let found = place.search("fn (main|odd)", ".", Some("*.rs"));
    assert_eq!(found.shown.replace("./", ""), "odd\\x0aname.rs:1:fn odd() {}\nsrc/a.rs:1:fn main() {}\n");
    assert_eq!(found.said, "Not looked into, because tools make it: `target`. Name it as path to look there.");
    assert_eq!(place.search("other", "src/a.rs", None).shown, "src/a.rs:2:fn other() {}\n");
    let many = place.search("hit", "many", None);
    assert!(many.shown.lines().count() == 200 && many.said.starts_with("2,000 lines match, in 1 files; the first 200"));
    assert_eq!(place.search("zzz", "src", None).said, "Nothing matches.");
    is_refused(&place.search("(", ".", None), "regular expression");
    let names = place.list(9, Some("*.rs")).shown;
    assert!(names.contains("src/a.rs") && names.contains("odd\\x0aname.rs") && !names.contains(".git"), "{names}");
    assert_eq!(place.list(1, None).shown.lines().count(), 5, "one level, without .git");
    is_refused(&place.does(FileOrder::List { path: place.path("many"), depth: 1, name: None }), "no directory");
}

/// Whatever a file is made of: looking changes nothing, and an edit changes its place and nothing else.
#[test]
fn looking_changes_nothing_and_an_edit_only_its_place() {
    let mut seed: u64 = 0x51_1a5;
    let mut next = |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    let parts: [&[u8]; 9] = [b"\n", b"\r\n", b"\r", b"a", "€".as_bytes(), b"\xff", b"\t ", b"\xef\xbb\xbf", b"x"];
    for _ in 0..200 {
        let mut some = |n| (0..next(n)).flat_map(|_| parts[next(9) as usize].to_vec()).collect::<Vec<u8>>();
        let (before, after) = (some(40), some(40));
        let text = [before.as_slice(), b"HERE", &after].concat();
        let mut place = Place::new(&[("f", &text)]);
        let meta = fs::metadata(place.path("f")).unwrap();
        place.read("f", 1, None);
        place.search("HERE", "f", None);
        place.edit("f", "nowhere", "x", false);
        assert_eq!(place.of("f"), text);
        assert_eq!(fs::metadata(place.path("f")).unwrap().modified().unwrap(), meta.modified().unwrap());
        assert!(place.edit("f", "HERE", "there", false).is_done);
        assert_eq!(place.of("f"), [before.as_slice(), b"there", &after].concat());
        let whole = place.of("f");
        let patched = place.patch("*** Add File: g\n+x\n");
        assert!(patched.is_done && place.of("f") == whole, "{patched:?}");
    }
    assert!(Sight::whole(b"").is_whole());
}
