//! What a copy of ignored files costs before it is refused or stopped.

use super::*;
use crate::extent::{Bounds, Depth, MadeBy};
use crate::ignoring::Ignoring;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;

struct Place {
    _home: tempfile::TempDir,
    from: Dir,
    to: Dir,
    to_path: std::path::PathBuf,
}

/// A directory whose `target` is ignored, and an empty one to copy it into.
fn place(fill: impl FnOnce(&Path)) -> Place {
    let home = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(home.path()).unwrap();
    let (from, to_path) = (real.join("from"), real.join("to"));
    fs::create_dir_all(from.join("target")).unwrap();
    fs::create_dir(&to_path).unwrap();
    fs::write(from.join(".gitignore"), "/target/\n").unwrap();
    fill(&from);
    Place { _home: home, from: Dir::open(&from).unwrap(), to: Dir::open(&to_path).unwrap(), to_path }
}

fn copied(place: &Place, bytes_max: u64, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
    let ignoring = Ignoring::learning();
    let bounds = Bounds { bytes_max, ..Bounds::default() };
    let extent = Extent {
        git: Git::Visit,
        ignoring: Some(&ignoring),
        bounds,
        depth: Depth::All,
        made_by: MadeBy::Owner,
        lifeline,
    };
    copy(&place.from, &place.to, &extent)
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let size = |entry: fs::DirEntry| match entry.metadata().unwrap() {
        meta if meta.is_dir() => bytes_below(&entry.path()),
        meta => meta.len(),
    };
    entries.map(size).sum()
}

#[test]
fn what_does_not_fit_is_not_copied_first() {
    let mb = vec![1u8; 1 << 20];
    let fill = |from: &Path| (0..8).for_each(|n| fs::write(from.join(format!("target/{n}")), &mb).unwrap());
    let (here, _there) = UnixStream::pair().unwrap();
    let place = place(fill);
    assert!(matches!(copied(&place, 2 << 20, Lifeline::of(&here)), Err(Error::TooLarge(_))));
    assert!(bytes_below(&place.to_path) <= 2 << 20, "{}", bytes_below(&place.to_path));
}

#[test]
fn what_is_ignored_and_what_is_not_are_held_against_one_bound() {
    let mb = vec![1u8; 1 << 20];
    let (here, _there) = UnixStream::pair().unwrap();
    // Whichever of the two comes first.
    for name in ["a", "z"] {
        let place = place(|from| {
            fs::write(from.join(name), &mb).unwrap();
            fs::write(from.join("target/built"), &mb).unwrap();
        });
        let refused = copied(&place, (3 << 20) / 2, Lifeline::of(&here));
        assert!(matches!(refused, Err(Error::TooLarge(_))), "{name}: {refused:?}");
    }
}

#[test]
fn a_stop_ends_the_copy_of_an_ignored_directory() {
    const FILES: usize = 5_000;
    let place = place(|from| (0..FILES).for_each(|n| fs::write(from.join(format!("target/{n}")), "x").unwrap()));
    let (here, there) = UnixStream::pair().unwrap();
    let target = place.to_path.join("target");
    let has_begun = target.clone();
    let stopping = std::thread::spawn(move || {
        while fs::read_dir(&has_begun).map_or(0, Iterator::count) == 0 {
            std::thread::yield_now();
        }
        drop(there);
    });
    assert!(matches!(copied(&place, 1 << 30, Lifeline::of(&here)), Err(Error::Cancelled)));
    stopping.join().unwrap();
    assert!(fs::read_dir(&target).unwrap().count() < FILES);
}
