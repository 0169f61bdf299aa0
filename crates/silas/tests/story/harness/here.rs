//! A Silas in this process: the runtime, the store and the doors as they are, a launcher that really runs, and a clock that can
//! be moved by a year. The launcher must be a process with one thread, so it is this test binary, started again.

use super::{ASKING, OsRandom, Place};
use silas::in_process::InProcess;
use silas_core::{Clock, Timestamp};
use silas_sandbox::{Launcher, SystemClock};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Names the clock of a test binary that is to be the launcher.
const LAUNCHER_CLOCK: &str = "SILAS_TEST_LAUNCHER_CLOCK";

/// The real time and what it was moved by, which a file holds for every process that shares the clock. It is opened for each
/// look, because the launcher's children close what they were not given.
struct MovedClock(PathBuf);

impl MovedClock {
    fn new(path: PathBuf) -> Self {
        fs::write(&path, 0_i64.to_ne_bytes()).unwrap();
        MovedClock(path)
    }

    /// In microseconds.
    fn moved_by(&self) -> i64 {
        i64::from_ne_bytes(fs::read(&self.0).unwrap().try_into().unwrap())
    }

    fn advance(&self, by: Duration) {
        let micros = self.moved_by() + i64::try_from(by.as_micros()).unwrap();
        // In one write over what is there: somebody may be looking.
        File::options().write(true).open(&self.0).unwrap().write_all(&micros.to_ne_bytes()).unwrap();
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(SystemClock.now().micros() + self.moved_by())
    }
}

pub(crate) struct TestSilas {
    // In this order: the front lets go of its launcher, the launcher ends, the directory goes.
    up: Option<InProcess>,
    launcher: Option<Child>,
    clock: Arc<MovedClock>,
    settings: Vec<(String, String)>,
    place: Place,
}

impl std::ops::Deref for TestSilas {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl TestSilas {
    pub(crate) fn start() -> Self {
        TestSilas::start_with(&[])
    }

    /// For stories about the plan's own card: each plan asks first, also where the house rules would let it be rehearsed.
    pub(crate) fn start_asking() -> Self {
        TestSilas::start_with(&[ASKING])
    }

    /// Starts with settings, as `("SILAS__UNDO__WINDOW_SECONDS", "1")`.
    pub(crate) fn start_with(settings: &[(&str, &str)]) -> Self {
        let mut moved = None;
        let place = Place::with_clock(|dir| moved.insert(Arc::new(MovedClock::new(dir.join("clock")))).clone());
        let clock = moved.unwrap();
        let usual = [
            ("SILAS__CHANNELS__WEB__PORT", "0"),
            // A page of a test says nothing while something else is looked at, and a loaded machine takes its time.
            ("SILAS__LIMITS__WS_BEAT_SECONDS", "300"),
        ];
        let settings = usual.iter().chain(settings).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = TestSilas { up: None, launcher: None, clock, settings, place };
        silas.up();
        silas
    }

    /// Starts it again on the same data.
    pub(crate) fn up(&mut self) {
        assert!(self.up.is_none());
        let (ours, theirs) = UnixStream::pair().unwrap();
        let launcher = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "harness::here::is_the_launcher", "--test-threads=1", "--nocapture"])
            .env(LAUNCHER_CLOCK, &self.clock.0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .spawn();
        self.launcher = Some(launcher.unwrap());
        let (clock, random) = (self.clock.clone(), Arc::new(OsRandom));
        let started = InProcess::start(Launcher::at(ours), &self.data(), &self.settings, None, clock, random);
        self.up = Some(started.unwrap());
    }

    /// Stops it as a signal would, with this much time for what is under way.
    pub(crate) fn stop(&mut self, grace: Duration) {
        self.up.take().unwrap().stop(grace).unwrap();
        self.launcher.take().unwrap().wait().unwrap();
    }

    pub(crate) fn restart(&mut self) {
        self.stop(Duration::ZERO);
        self.up();
    }

    /// Stops it, and starts it again after so long.
    pub(crate) fn sleep_for(&mut self, time: Duration) {
        self.stop(Duration::ZERO);
        self.clock.advance(time);
        self.up();
    }

    /// Moves the time of the front and of the launcher, and has what depends on it looked at.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.up.as_ref().unwrap().tick().unwrap();
    }
}

impl Drop for TestSilas {
    fn drop(&mut self) {
        drop(self.up.take());
        if let Some(mut launcher) = self.launcher.take() {
            let _gone_already = launcher.kill();
            launcher.wait().unwrap();
        }
    }
}

/// Where this binary was started by [`TestSilas::up`] it is the launcher of that test, until the test is over; where it
/// was started as a test there is nothing to be tested here.
#[test]
fn is_the_launcher() {
    let Some(clock) = std::env::var_os(LAUNCHER_CLOCK) else { return };
    let clock = MovedClock(PathBuf::from(clock));
    let front = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().unwrap());
    std::process::exit(silas_sandbox::serve(front, silas_approval::keys::helper, Arc::new(clock)));
}
