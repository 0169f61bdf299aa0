//! The server as a process: started, killed, waited for, measured.

use super::{PATIENCE, Silas, binary_under};
use std::fs;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

impl Silas {
    /// Starts the server and waits until it answers; with a fail point it may be gone before that.
    pub(crate) fn up(&mut self, extra: &[(&str, &str)]) {
        self.spawn(extra);
        let until = Instant::now() + PATIENCE;
        let socket = self.data().join("run/control.sock");
        while UnixStream::connect(&socket).is_err() {
            if self.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                return;
            }
            assert!(Instant::now() < until, "the server did not come up");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts the server and does not wait for anything. Gives its number, which is also that of its process group.
    pub(crate) fn spawn(&mut self, extra: &[(&str, &str)]) -> u32 {
        assert!(self.child.is_none());
        let child = binary_under(self.under)
            .args(["start", "--port", "0", "--quiet", "--data-dir"])
            .arg(self.data())
            .current_dir(&self.started_in)
            .envs(self.env.iter().map(|(k, v)| (k, v)))
            .envs(extra.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log.as_ref().map_or_else(Stdio::inherit, |log| {
                Stdio::from(fs::File::options().create(true).append(true).open(log).unwrap())
            }))
            .process_group(0)
            .spawn()
            .unwrap();
        self.child.insert(child).id()
    }

    /// Pulls the plug from outside.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _gone_already = child.kill();
            child.wait().unwrap();
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Asks the server to end, and waits.
    pub(crate) fn terminate(&mut self) {
        let mut child = self.child.take().unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        child.wait().unwrap();
    }

    /// Whether the server that was started last is still there, dead or alive, for whoever cannot wait for it.
    pub(crate) fn is_running(&self) -> bool {
        let state = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_alive = |stat: &String| {
            stat.rsplit(')').next().is_some_and(|rest| !rest.trim().starts_with('Z') && !rest.is_empty())
        };
        self.child.as_ref().is_some_and(|child| is_alive(&state(child.id())))
    }

    /// Memory of the server, as the kernel counts it.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most that it ever was.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> u64 {
        let pid = self.child.as_ref().unwrap().id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
    }

    pub(crate) fn has_died(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some())
    }

    /// After a fail point: waits until the process is gone.
    pub(crate) fn await_death(&mut self) {
        let until = Instant::now() + PATIENCE;
        while !self.has_died() {
            assert!(Instant::now() < until, "the fail point was never reached");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.take().unwrap().wait().unwrap();
    }
}

impl Drop for Silas {
    fn drop(&mut self) {
        self.kill();
    }
}
