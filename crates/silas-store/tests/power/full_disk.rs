//! A disk that is full and then is not, and a directory that cannot be written.

use crate::child::{self, ARGUMENTS};
use crate::records::put;
use crate::survey;
use crate::workload::{Marks, Promise, Strength, promise_in};
use crate::world::{announced_seed, open, place};
use power_loss::{Fault, Log, On, Recording, Syncing};
use silas_store::{Commit, Error, Store, ledger, settings};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const ENOSPC: i32 = 28;
/// Enough to fill the small disk below several times over.
const CHANGES_MAX: usize = 2000;
const CHANGES_AFTER: usize = 20;
/// Far longer than emptying a log of some megabytes takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Each try to open takes a few of the writes that fail.
const OPENINGS_MAX: usize = 100;

/// Durable changes, one after another. A refused one is counted, and nothing of it may be seen.
fn change(store: &Store, name: &str, marks: &Marks) -> Result<(), Error> {
    let key = format!("{name}-6000");
    let said = store.write(move |tx| put(tx, &key)).wait()?;
    marks.promise(Strength::Durable, &said.unwrap());
    Ok(())
}

/// Runs where writes fail for a while, and must get through that by itself.
pub(crate) fn write_through(dir: &Path, seed: u64, marks: &Marks) {
    let store = (0..OPENINGS_MAX).find_map(|_| open(dir, seed).ok()).expect("it opens when there is room");
    let (mut n_refused, mut n_since) = (0, 0);
    for n in 0..CHANGES_MAX {
        match change(&store, &format!("change-{n}"), marks) {
            Ok(()) => n_since += usize::from(n_refused > 0),
            Err(Error::Full) => (n_refused, n_since) = (n_refused + 1, 0),
            Err(error) => panic!("{error}"),
        }
        // Where opening met the full disk, none of these may have.
        if n_since == CHANGES_AFTER || n == CHANGES_MAX / 4 && n_refused == 0 {
            return;
        }
    }
    panic!("{n_refused} changes were refused, and {n_since} were taken after that");
}

#[test]
fn when_there_is_room_again_work_goes_on_by_itself() {
    let seed = announced_seed();
    for from in [3, 40, 300, 700, 1500] {
        let place = place();
        let (dir, path) = (place.path().join("dir"), place.path().join("log"));
        fs::create_dir(&dir).unwrap();
        let fault = Fault { on: On::Write, from, until: from + 60, errno: ENOSPC };
        let recording = Recording::start(&dir, &path, Syncing::Claimed).unwrap().with_fault(fault);
        let mut command = child::command("write through a full disk", &dir, &recording.marks(), seed);
        recording.watch(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "from {from}: {}", String::from_utf8_lossy(&output.stderr));
        let log = Log::read(&path).unwrap();
        log.compare(&dir).unwrap();
        for image_seed in 0..8 {
            let image = place.path().join(format!("image-{image_seed}"));
            let crash = log.crash(seed + image_seed, &image).unwrap();
            let promises: Vec<Promise> = crash.marks.iter().map(|mark| promise_in(mark)).collect();
            let survey = survey::check(&image, &promises);
            survey.map(|_| ()).unwrap_or_else(|why| panic!("from {from}, image {}: {why}", crash.seed));
        }
    }
}

/// Runs on a real disk of four megabytes, with some ballast on it.
pub(crate) fn fill(dir: &Path, marks: &Marks) {
    let (ballast, dir) = (dir.join("ballast"), dir.join("data"));
    fs::write(&ballast, vec![1; 2_000_000]).unwrap();
    let mut promises = Vec::new();
    let store = open(&dir, 1).unwrap();
    let keep = |n: usize, promises: &mut Vec<Promise>| {
        let key = format!("change-{n}-6000");
        let said = store.write(move |tx| put(tx, &key)).wait()?;
        promises.push(Promise { strength: Strength::Durable, what: said.unwrap() });
        Ok::<(), Error>(())
    };
    let refusal = (0..CHANGES_MAX).find_map(|n| keep(n, &mut promises).err()).expect("a small disk gets full");
    assert!(matches!(refusal, Error::Full), "{refusal}");
    // Still full, still no harm: what is there can be read.
    assert!(keep(CHANGES_MAX, &mut promises).is_err());
    assert_eq!(store.read(ledger::verify).wait().unwrap().broken, None);
    fs::remove_file(&ballast).unwrap();
    for n in 0..CHANGES_AFTER {
        keep(CHANGES_MAX + 1 + n, &mut promises).unwrap();
    }
    drop(store);
    survey::check(&dir, &promises).map(|_| ()).unwrap();
    marks.promise(Strength::Durable, "done");
}

/// Fills a disk of four megabytes with nothing but the log: the same small row, again and again. When nothing fits any
/// more, emptying the log is room enough, and nobody has to do it.
pub(crate) fn fill_with_log(dir: &Path, marks: &Marks) {
    let (ballast, dir) = (dir.join("ballast"), dir.join("data"));
    fs::write(&ballast, vec![1; 1_500_000]).unwrap();
    let first = open(&dir, 1).unwrap();
    let making_room = first.write(|tx| {
        (0..50).try_for_each(|n| settings::set(tx, &format!("room-{n}"), &"x".repeat(8000)))?;
        Ok(Commit(tx.execute("DELETE FROM settings WHERE key >= 'room'", [])?))
    });
    assert_eq!(making_room.wait().unwrap(), 50);
    // Closing brings everything into the file itself; what is written below finds its pages there.
    drop(first);
    let store = open(&dir, 1).unwrap();
    let write = |n: usize| {
        let text = "x".repeat(8000);
        store.write(move |tx| Ok(Commit(settings::set(tx, "the same", &(n, text.clone()))?))).wait()
    };
    let refusal = (0..CHANGES_MAX).find_map(|n| write(n).err()).expect("a small disk gets full");
    assert!(matches!(refusal, Error::Full), "{refusal}");
    // The checkpointer was woken by that, and is at it.
    let until = Instant::now() + PATIENCE;
    while let Err(refused) = write(CHANGES_MAX) {
        assert!(Instant::now() < until, "there is still no room: {refused}");
        std::thread::yield_now();
    }
    for n in 0..CHANGES_AFTER {
        write(n).unwrap();
    }
    marks.promise(Strength::Durable, "done");
}

#[test]
fn a_disk_that_is_full_of_the_log_gets_room_by_itself() {
    let script = "mount -t tmpfs -o size=4m silas-test \"$SILAS_POWER_DIR\" && exec \"$0\" \"$@\"";
    in_own_mounts("fill the disk with the log", script);
}

#[test]
fn a_disk_that_is_really_full_refuses_and_recovers() {
    let script = "mount -t tmpfs -o size=4m silas-test \"$SILAS_POWER_DIR\" && exec \"$0\" \"$@\"";
    in_own_mounts("fill the disk", script);
}

pub(crate) fn look_read_only(dir: &Path) {
    let Err(refused) = open(dir, 1) else { panic!("a read-only directory cannot be opened for writing") };
    assert_eq!(refused.code(), "E_DB_OPEN", "{refused}");
    let reader = Store::open_read_only(dir).unwrap();
    let verified = reader.read(ledger::verify).wait().unwrap();
    assert_eq!((verified.entries, verified.broken), (1, None));
    let Err(refused) = open(&dir.join("new"), 1) else { panic!("nothing can be made in a read-only directory") };
    assert_eq!(refused.code(), "E_DB_OPEN", "{refused}");
}

#[test]
fn a_read_only_directory_is_refused_and_can_be_read() {
    let script = "mount --bind \"$SILAS_POWER_DIR\" \"$SILAS_POWER_DIR\" && \
                  mount -o remount,ro,bind \"$SILAS_POWER_DIR\" && exec \"$0\" \"$@\"";
    in_own_mounts("look at a read-only directory", script);
}

/// Runs a deed on a directory that holds one change, with mounts that only that process sees. They need rights that not
/// every machine gives; where they are missing the test says that it was skipped.
fn in_own_mounts(deed: &str, script: &str) {
    let place = place();
    let (dir, marks) = (place.path().join("dir"), place.path().join("marks"));
    let store = open(&dir, 1).unwrap();
    store.write(|tx| put(tx, "before-10")).wait().unwrap();
    drop(store);
    let unshare = |command: &mut Command| {
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    };
    let mut probe = Command::new("unshare");
    unshare(&mut probe);
    let probe = probe.arg("mount -t tmpfs -o size=1m probe \"$0\"").arg(&dir).output();
    match probe {
        Ok(output) if output.status.success() => {}
        Ok(output) => return println!("skipped, no mounts here: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return println!("skipped, no mounts here: {error}"),
    }
    let mut command = Command::new("unshare");
    unshare(&mut command);
    command.arg(script).arg(std::env::current_exe().unwrap()).args(ARGUMENTS);
    child::tell(&mut command, deed, &dir, &marks, 1);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
