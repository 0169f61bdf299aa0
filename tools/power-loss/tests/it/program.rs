//! This test binary as the program that is recorded: a test starts it again to do one named thing in a directory.

use power_loss::{Fault, Log, Recording, Syncing};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::TempDir;

const DEED: &str = "POWER_LOSS_TEST_DEED";
const DIR: &str = "POWER_LOSS_TEST_DIR";
const MARKS: &str = "POWER_LOSS_TEST_MARKS";

/// A place for the directory, the log and the images.
pub(crate) struct Lab {
    pub(crate) place: TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let place = TempDir::new().unwrap();
        std::fs::create_dir(place.path().join("dir")).unwrap();
        Lab { place }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.place.path().join("dir")
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.place.path().join("log")
    }

    pub(crate) fn start(&self, syncing: Syncing) -> Recording {
        Recording::start(&self.dir(), &self.log_path(), syncing).unwrap()
    }

    pub(crate) fn log(&self) -> Log {
        Log::read(&self.log_path()).unwrap()
    }

    /// Records a deed to its end.
    pub(crate) fn record(&self, deed: &str, syncing: Syncing) -> Log {
        let status = self.run(deed, self.start(syncing));
        assert!(status.success(), "{deed}: {status}");
        self.log()
    }

    pub(crate) fn record_with(&self, deed: &str, fault: Fault) -> (ExitStatus, Log) {
        let status = self.run(deed, self.start(Syncing::Claimed).with_fault(fault));
        (status, self.log())
    }

    pub(crate) fn run(&self, deed: &str, recording: Recording) -> ExitStatus {
        spawn(deed, &self.dir(), &recording).wait().unwrap()
    }

    /// A new directory for an image, forgotten with the lab.
    pub(crate) fn image(&self, name: u64) -> PathBuf {
        self.place.path().join(format!("image-{name}"))
    }
}

pub(crate) fn spawn(deed: &str, dir: &Path, recording: &Recording) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["program::child", "--exact", "--test-threads=1", "--nocapture"])
        .env(DEED, deed)
        .env(DIR, dir)
        .env(MARKS, recording.marks())
        .stdout(Stdio::null());
    recording.watch(&mut command);
    command.spawn().unwrap()
}

/// Does its deed if a test above started it, and nothing otherwise.
#[test]
fn child() {
    let Ok(deed) = std::env::var(DEED) else { return };
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
    match deed.as_str() {
        "everything" => crate::recorder::everything(&dir),
        "append in turns" => crate::recorder::append_in_turns(&dir),
        "synced and unsynced" => crate::survival::synced_and_unsynced(&dir),
        "replace safely" => crate::survival::replace(&dir, true),
        "replace carelessly" => crate::survival::replace(&dir, false),
        "move between" => crate::survival::move_between(&dir),
        "sync three times" => crate::recorder::sync_three_times(&dir),
        "map" => crate::unseen::map(&dir),
        "write past the library" => crate::unseen::write_past_the_library(&dir),
        other => panic!("nobody knows how to {other}"),
    }
}

/// Says something that will be in the log.
pub(crate) fn mark(text: &str) {
    let mut marks = OpenOptions::new().append(true).open(std::env::var_os(MARKS).unwrap()).unwrap();
    marks.write_all(text.as_bytes()).unwrap();
}

pub(crate) fn sync(path: &Path) {
    File::open(path).unwrap().sync_all().unwrap();
}
