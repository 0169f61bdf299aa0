//! What the kernel's events come to.

use super::*;

fn event(watch: i32, what: u32, name: &str) -> Vec<u8> {
    let mut padded = name.as_bytes().to_vec();
    padded.resize(name.len().next_multiple_of(16), 0);
    let numbers = [watch, what.cast_signed(), 0, i32::try_from(padded.len()).unwrap()];
    let head: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    [head, padded].concat()
}

fn noted(events: &[Vec<u8>]) -> Openings {
    let nothing = || OwnedFd::from(File::open("/dev/null").unwrap());
    let watched = Watched { events: nothing(), scratch: nothing() };
    let mut openings = Openings::new(watched, &["/p".into(), "/p/src".into()]);
    openings.note_all(&events.concat());
    openings
}

fn opened(events: &[Vec<u8>]) -> Option<Vec<PathBuf>> {
    let openings = noted(events);
    openings.is_complete.then_some(openings.opened)
}

#[test]
fn what_comes_to_be_twice_is_told() {
    let arrived = |name: &str| event(3, libc::IN_CREATE, name);
    let openings = noted(&[arrived("out"), arrived("said"), event(3, libc::IN_MOVED_TO, "out")]);
    assert_eq!(openings.again, BTreeSet::from(["out".to_owned()]));
    assert!(openings.opened.is_empty());
}

#[test]
fn files_are_told_once_and_in_order() {
    let events = [
        event(2, libc::IN_OPEN, "b.sh"),
        event(1, libc::IN_OPEN | libc::IN_ISDIR, "src"),
        event(1, libc::IN_OPEN, "a.sh"),
        event(2, libc::IN_OPEN, "b.sh"),
        event(1, libc::IN_MOVED_FROM, "moved"),
        event(1, libc::IN_IGNORED, ""),
        event(9, libc::IN_OPEN, "unknown"),
    ];
    assert_eq!(opened(&events), Some(["/p/src/b.sh", "/p/a.sh", "/p/moved"].map(PathBuf::from).to_vec()));
}

#[test]
fn a_queue_that_ran_over_is_no_list() {
    assert_eq!(opened(&[event(1, libc::IN_OPEN, "a.sh"), event(-1, libc::IN_Q_OVERFLOW, "")]), None);
}

/// A file is opened to be made; a link is not, and what goes through it opens something else.
#[test]
fn what_comes_to_be_is_told() {
    let openings = noted(&[
        event(1, libc::IN_CREATE, "out.txt"),
        event(2, libc::IN_CREATE | libc::IN_ISDIR, "new"),
        event(1, libc::IN_OPEN, "out.txt"),
        event(1, libc::IN_CREATE, "link"),
        event(2, libc::IN_MOVED_TO, "moved.py"),
        event(1, libc::IN_CLOSE_WRITE, "mapped"),
        event(1, libc::IN_CREATE, "second-name"),
        event(1, libc::IN_MODIFY, "second-name"),
        event(1, libc::IN_OPEN, "second-name"),
        event(4, libc::IN_CREATE | libc::IN_ISDIR, ".local"),
    ]);
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
    assert_eq!(openings.made, paths(&["/p/link", "/p/out.txt", "/p/second-name", "/p/src/moved.py"]));
    assert_eq!(openings.made_dirs, paths(&["/p/src/new"]));
    assert_eq!(openings.linked, paths(&["/p/second-name"]));
    assert_eq!(openings.unopened, paths(&["/p/link"]));
    assert_eq!(openings.written, paths(&["/p/mapped", "/p/second-name", "/p/src/moved.py"]));
    assert_eq!(openings.at_home, BTreeSet::from([".local".to_owned()]));
}
