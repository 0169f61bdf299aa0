//! Every way to change a file that programs use is in the log, in order, from all threads and processes.

use crate::program::{Lab, mark, spawn};
use power_loss::{Fault, On, Syncing};
use std::fs::{self, File, OpenOptions};
use std::io::{IoSlice, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub(crate) fn everything(dir: &Path) {
    let mut file = File::create(dir.join("a")).unwrap();
    file.write_all(b"one two three").unwrap();
    file.seek(SeekFrom::Start(4)).unwrap();
    assert_eq!(file.write_vectored(&[IoSlice::new(b"T"), IoSlice::new(b"WO")]).unwrap(), 3);
    file.write_at(b"THREE", 20).unwrap();
    file.set_len(22).unwrap();
    file.try_clone().unwrap().write_all(b"!").unwrap();
    let mut log = OpenOptions::new().append(true).create(true).open(dir.join("log")).unwrap();
    log.write_all(b"first\n").unwrap();
    log.write_at(b"second\n", 0).unwrap();
    fs::create_dir_all(dir.join("deep/er")).unwrap();
    fs::rename(dir.join("a"), dir.join("deep/b")).unwrap();
    fs::hard_link(dir.join("deep/b"), dir.join("c")).unwrap();
    std::os::unix::fs::symlink("deep/b", dir.join("link")).unwrap();
    fs::copy(dir.join("log"), dir.join("deep/er/copy")).unwrap();
    fs::write(dir.join("gone"), b"soon").unwrap();
    fs::remove_file(dir.join("gone")).unwrap();
    fs::create_dir(dir.join("gone")).unwrap();
    fs::remove_dir(dir.join("gone")).unwrap();
    fs::write(dir.join("again"), b"a longer text").unwrap();
    fs::write(dir.join("again"), b"short").unwrap();
    let moved = dir.join("moved");
    fs::create_dir(&moved).unwrap();
    fs::write(moved.join("inside"), b"x").unwrap();
    fs::rename(&moved, dir.join("deep/moved")).unwrap();
    fs::write(dir.join("deep/moved/inside"), b"y").unwrap();
    let status = Command::new("sh")
        .args(["-c", "cd \"$0\" && echo from a child > by-shell && echo more >> by-shell && mv by-shell by-sh"])
        .arg(dir)
        .status()
        .unwrap();
    assert!(status.success());
    let threads: Vec<_> = (0..4u8)
        .map(|n| {
            let log = log.try_clone().unwrap();
            std::thread::spawn(move || (0..50).for_each(|_| (&log).write_all(&[b'0' + n; 7]).unwrap()))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    mark("done");
}

#[test]
fn the_log_tells_all_that_happened() {
    let lab = Lab::new();
    fs::create_dir_all(lab.dir().join("was/here")).unwrap();
    fs::write(lab.dir().join("was/here/before"), b"old").unwrap();
    let log = lab.record("everything", Syncing::Real);
    log.compare(&lab.dir()).unwrap();
    assert_eq!(log.marks().unwrap(), ["done"]);
    assert!(log.n_operations() > 200);
    // The comparison would have noticed.
    fs::write(lab.dir().join("was/here/before"), b"new").unwrap();
    assert!(log.compare(&lab.dir()).is_err());
}

#[test]
fn a_saved_log_is_the_same_log() {
    let lab = Lab::new();
    let log = lab.record("everything", Syncing::Claimed);
    let path = lab.place.path().join("saved");
    log.save(&path).unwrap();
    let again = power_loss::Log::read(&path).unwrap();
    assert_eq!(again.n_operations(), log.n_operations());
    again.compare(&lab.dir()).unwrap();
}

pub(crate) fn append_in_turns(dir: &Path) {
    let mut file = OpenOptions::new().append(true).create(true).open(dir.join("shared")).unwrap();
    for n in 0..2000 {
        file.write_all(format!("{} {n}\n", std::process::id()).as_bytes()).unwrap();
    }
}

/// A process that is killed while it holds the lock of the log must not hold up the others.
#[test]
fn processes_may_be_killed_in_the_middle() {
    let lab = Lab::new();
    let recording = lab.start(Syncing::Claimed);
    for round in 0..5 {
        let mut killed = spawn("append in turns", &lab.dir(), &recording);
        let mut other = spawn("append in turns", &lab.dir(), &recording);
        std::thread::sleep(Duration::from_millis(20 + 7 * round));
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(other.wait().unwrap().success());
    }
    let text = fs::read_to_string(lab.dir().join("shared")).unwrap();
    assert!(text.lines().count() >= 5 * 2000);
    // At most its very last write can be missing in the log, if the signal came between doing and recording it.
    let log = lab.log();
    assert!(log.n_operations() >= 5 * 2000);
}

pub(crate) fn sync_three_times(dir: &Path) {
    let file = File::create(dir.join("a")).unwrap();
    for _ in 0..3 {
        match file.sync_all() {
            Ok(()) => mark("ok"),
            Err(error) => mark(&error.raw_os_error().unwrap().to_string()),
        }
    }
}

#[test]
fn a_chosen_sync_fails() {
    let lab = Lab::new();
    let (status, log) =
        lab.record_with("sync three times", Fault { on: On::Sync, from: 1, until: 2, errno: libc::EIO });
    assert!(status.success());
    assert_eq!(log.marks().unwrap(), ["ok", "5", "ok"]);
    assert_eq!(log.n_syncs().unwrap(), 2);
}

#[test]
fn with_syncing_off_the_program_believes_and_the_log_does_not() {
    let lab = Lab::new();
    let log = lab.record("sync three times", Syncing::Off);
    assert_eq!(log.marks().unwrap(), ["ok", "ok", "ok"]);
    assert_eq!(log.n_syncs().unwrap(), 0);
}
