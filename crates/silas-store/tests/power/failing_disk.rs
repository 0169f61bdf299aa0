//! A disk that fails to sync. What was written before may be gone although the next sync would report success, so the
//! process must end; and it must not have acknowledged what it could not sync.

use crate::child;
use crate::records::{NOT_OPENED, Records};
use crate::workload::{Promise, Workload, promise_in};
use crate::world::{announced_seed, place};
use power_loss::{Fault, Log, On, Recording, Syncing};
use std::fs;
use std::os::unix::process::ExitStatusExt;

const EIO: i32 = 5;
const SIGABRT: i32 = 6;
/// Which sync fails: while the databases are made, in their first commits, and later, where checkpoints are among them.
const FAILING: [u64; 18] = [0, 1, 2, 3, 5, 8, 11, 15, 19, 23, 27, 30, 31, 33, 36, 41, 50, 60];
const IMAGES: u64 = 4;
/// What the header of a database says in its bytes 18 and 19 if it is written to through a log.
const WAL: [u8; 2] = [2, 2];

#[test]
fn a_failed_sync_ends_the_process_and_nothing_unsynced_was_acknowledged() {
    let (seed, mut n_aborted) = (announced_seed(), 0);
    for from in FAILING {
        let place = place();
        let (dir, path) = (place.path().join("dir"), place.path().join("log"));
        fs::create_dir(&dir).unwrap();
        let fault = Fault { on: On::Sync, from, until: from + 1, errno: EIO };
        let recording = Recording::start(&dir, &path, Syncing::Claimed).unwrap().with_fault(fault);
        let mut command = child::command(Records.name(), &dir, &recording.marks(), seed);
        recording.watch(&mut command);
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let log = Log::read(&path).unwrap();
        let told = log.tell().unwrap();
        let failed = told.iter().position(|line| line.starts_with("fail to sync"));
        println!("sync {from}: {}, {:?}", output.status, failed.map(|failed| &told[failed]));
        match (output.status.signal(), failed) {
            (Some(SIGABRT), Some(_)) => n_aborted += 1,
            (Some(signal), _) => panic!("sync {from}: signal {signal}: {error}"),
            // The run had fewer syncs than that.
            (None, None) => assert!(output.status.success(), "{error}"),
            (None, Some(failed)) if output.status.success() => went_on(&told, failed),
            // Opening gives the error to its caller, which ends here. A change that was accepted must not end like that.
            (None, Some(_)) => assert!(error.contains(NOT_OPENED), "sync {from}: {error}"),
        }
        if output.status.success() {
            let header = &fs::read(dir.join("agent.sqlite")).unwrap()[18..20];
            assert_eq!(header, WAL, "sync {from}: the database is not written through its log");
        }
        for image_seed in 0..IMAGES {
            let image = place.path().join(format!("image-{image_seed}"));
            let crash = log.crash_at_end(seed + image_seed, &image).unwrap();
            let promises: Vec<Promise> = crash.marks.iter().map(|mark| promise_in(mark)).collect();
            let survey = Records.check(&image, &promises);
            survey.map(|_| ()).unwrap_or_else(|why| panic!("sync {from}, image {}: {why}", crash.seed));
        }
    }
    assert!(n_aborted > 0, "none of these syncs falls into the work any more");
}

/// Nobody may rely on a sync that failed. Those of a directory SQLite ignores (the file's own sync covers them), and a
/// checkpoint that fails while closing leaves the log as it was. But an answer that follows a failed sync of the log,
/// with no sync that worked between them, was given for nothing.
fn went_on(told: &[String], failed: usize) {
    let is_log = told[failed].ends_with("-wal");
    let next = told[failed..].iter().find(|line| line.starts_with("mark ") || line.starts_with("sync "));
    let answered = next.is_some_and(|line| line.starts_with("mark "));
    assert!(!(is_log && answered), "after `{}` came `{}`", told[failed], next.map_or("", String::as_str));
}
