//! What git's rules say of names, as git itself reads them.

use super::*;

/// Rules at the top, and which of these paths they leave out; a path that ends in `/` is a directory.
fn check(rules: &str, ignored: &[&str], counted: &[&str]) {
    let ignoring = Ignoring::default();
    ignoring.add(Vec::new(), rules.as_bytes().to_vec());
    let says = |path: &str| ignoring.matches(path.trim_end_matches('/').as_bytes(), path.ends_with('/'));
    for path in ignored {
        assert!(says(path), "{rules:?} leaves out {path}");
    }
    for path in counted {
        assert!(!says(path), "{rules:?} does not leave out {path}");
    }
}

#[test]
fn lines_mean_what_git_says_they_mean() {
    check("target/\n", &["target/", "a/target/"], &["target", "targets/", "a/target"]);
    check("/target\n", &["target", "target/"], &["a/target"]);
    check("*.pyc\n", &["a.pyc", "b/c/.pyc"], &["a.pyc.txt"]);
    check("doc/*.txt", &["doc/a.txt"], &["doc/a/b.txt", "x/doc/a.txt"]);
    check("**/foo/bar", &["foo/bar", "a/b/foo/bar"], &["foo/x/bar"]);
    check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["b", "x/a/b"]);
    check("logs/**", &["logs/a", "logs/a/b"], &["logs/"]);
    check("# comment\n\\#real\n\\!kept\n", &["#real", "!kept"], &["# comment", "comment"]);
    check("*.log\n!keep.log\n", &["a.log"], &["keep.log"]);
    check("a?c\n[b-d]x\n[!a]y\n", &["abc", "cx", "by"], &["a/c", "ax", "ay"]);
    check("x[[:digit:]]\n", &["x7"], &["xa"]);
    check("trailing   \nspace\\ \n", &["trailing", "space "], &["trailing   ", "space"]);
    check("crlf\r\n", &["crlf"], &[]);
    check("[unclosed\n\n!\n/\n", &[], &["[unclosed", "u"]);
    check("a**b\n", &["ab", "axxb"], &["a/b"]);
}

#[test]
fn a_pattern_takes_no_more_time_than_it_should() {
    let ignoring = Ignoring::default();
    ignoring.add(Vec::new(), format!("{}b\n{}z\n", "*a".repeat(60), "**/a/".repeat(60)).into_bytes());
    let started = processor_ticks();
    assert!(!ignoring.matches("a".repeat(4000).as_bytes(), false));
    assert!(!ignoring.matches("a/".repeat(1000).as_bytes().strip_suffix(b"/").unwrap(), false));
    assert!(processor_ticks() - started < 500);
}

/// How much of a processor this thread has used, in hundredths of a second, whatever else the machine does.
fn processor_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name of the thread, in parentheses, may have spaces in it.
    let (_, rest) = stat.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(11).unwrap().parse().unwrap()
}

#[test]
fn deeper_rules_say_the_last_word() {
    let ignoring = Ignoring {
        prefix: b"sub/".to_vec(),
        excludes: patterns(b"*.tmp\n"),
        exclude_text: b"*.tmp\n".to_vec(),
        ..Ignoring::default()
    };
    ignoring.add(Vec::new(), b"*.log\n/sub/top\n".to_vec());
    ignoring.add(b"sub/deep".to_vec(), b"!kept.log\n!kept.tmp\n".to_vec());
    let says = |path: &str| ignoring.matches(path.as_bytes(), false);
    assert!(says("a.log") && says("deep/a.log") && says("top") && says("a.tmp"));
    assert!(!says("deep/kept.log") && !says("kept") && !says("deep/kept.tmp"));
    let again = Ignoring::noted(ignoring.note());
    assert!(
        again.matches(b"a.log", false) && !again.matches(b"deep/kept.log", false) && again.matches(b"a.tmp", false)
    );
}

/// An index as git writes it, without times.
fn index_of(version: u32, paths: &[&str]) -> Vec<u8> {
    let mut bytes =
        [b"DIRC".as_slice(), &version.to_be_bytes(), &u32::try_from(paths.len()).unwrap().to_be_bytes()].concat();
    let mut last = String::new();
    for path in paths {
        let begin = bytes.len();
        bytes.extend([1u8; 60]);
        bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        if version == 4 {
            let shared = last.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
            bytes.push(u8::try_from(last.len() - shared).unwrap());
            bytes.extend(&path.as_bytes()[shared..]);
            bytes.push(0);
            last = (*path).to_owned();
        } else {
            bytes.extend(path.as_bytes());
            bytes.push(0);
            while (bytes.len() - begin) % 8 != 0 {
                bytes.push(0);
            }
        }
    }
    bytes.extend([b"TREE".as_slice(), &3u32.to_be_bytes(), b"abc"].concat());
    bytes.extend([9u8; 20]);
    bytes
}

#[test]
fn an_index_says_what_is_tracked() {
    for version in [2, 3, 4] {
        let index = index_of(version, &["a.txt", "target/keep", "target/keep.d/x"]);
        let all = [&b"a.txt"[..], b"target/keep", b"target/keep.d/x"];
        assert_eq!(index::tracked(&index).unwrap(), all);
        // Whatever is missing of its bytes, nobody is told a part of it.
        for end in 0..index.len() {
            assert!(index::tracked(&index[..end]).is_none_or(|paths| paths == all), "{end}");
        }
        assert_eq!(index::tracked(&index[..index.len() / 2]), None);
    }
    // Split, sparse, or whatever else must be understood.
    for extension in [b"link", b"sdir", b"next"] {
        let mut index = index_of(2, &["a"]);
        let at = index.windows(4).position(|four| four == b"TREE").unwrap();
        index[at..at + 4].copy_from_slice(extension);
        assert_eq!(index::tracked(&index), None);
    }
    assert_eq!(index::tracked(b"something else"), None);
}

#[test]
fn a_repository_inside_speaks_for_itself() {
    let ignoring = Ignoring { tracked: RefCell::new(vec![b"sub".to_vec()]), ..Ignoring::default() };
    ignoring.add(Vec::new(), b"*.log\nsub\n".to_vec());
    ignoring.add(b"sub/a".to_vec(), b"*.o\n".to_vec());
    let known = Inside { tracked: vec![b"a/x.o".to_vec()], ..Inside::excluding(b"/a/*.tmp\n".to_vec()) };
    ignoring.inside.borrow_mut().insert(b"sub".to_vec(), known);
    ignoring.inside.borrow_mut().insert(b"sub/odd".to_vec(), Inside::default());
    let check = |ignoring: &Ignoring| {
        let says = |path: &str| ignoring.matches(path.as_bytes(), false);
        assert!(says("a.log") && says("sub") && says("sub/a/b.o") && says("sub/a/b.tmp"));
        assert!(!says("sub/a.log") && !says("sub/b.o") && !says("sub/a.tmp") && !says("sub/odd/b.o"));
        assert!(ignoring.is_tracked(b"sub", true) && ignoring.is_tracked(b"sub/a/x.o", false));
        assert!(ignoring.is_tracked(b"sub/a", true) && ignoring.is_tracked(b"sub/odd/anything", false));
        assert!(!ignoring.is_tracked(b"sub/a/y.o", false) && !ignoring.is_tracked(b"a/x.o", false));
    };
    check(&ignoring);
    ignoring.has_learned();
    check(&ignoring);
    check(&Ignoring::noted(ignoring.note()));
}

#[test]
fn what_is_tracked_counts_although_it_is_ignored() {
    let tracked = vec![b"target-x".to_vec(), b"target/keep".to_vec()];
    let ignoring = Ignoring { tracked: RefCell::new(tracked), ..Ignoring::default() };
    assert!(ignoring.is_tracked(b"target", true) && ignoring.is_tracked(b"target/keep", false));
    assert!(!ignoring.is_tracked(b"target/other", false) && !ignoring.is_tracked(b"targe", true));
    ignoring.has_learned();
    assert!(ignoring.is_tracked(b"target/keep", false) && ignoring.is_tracked(b"target", true));
    assert!(!ignoring.is_tracked(b"target-x", false));
}
