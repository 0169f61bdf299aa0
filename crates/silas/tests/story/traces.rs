//! What a Silas leaves on the machine while it runs, and must not leave when it is gone: processes, mounts, control groups.
//!
//! Everything of one installation names its directory: the server and whatever it forks on their command line, programs in
//! cells because the stories' commands do.

use crate::harness::Silas;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Generous: a loaded machine is slow, a survivor is forever.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Traces {
    mark: String,
    /// Every process of the installation that was ever seen. Control groups are called after them.
    seen: BTreeSet<u32>,
}

/// A process of an installation.
pub(crate) struct Found {
    pub(crate) pid: u32,
    /// Who started it, or took it in.
    pub(crate) parent: u32,
    /// What it calls itself: `silas`, `silas-launcher`, `silas-workshop`, or a program in a cell.
    pub(crate) name: String,
}

impl Traces {
    pub(crate) fn of(silas: &Silas) -> Traces {
        Traces { mark: silas.outside().display().to_string(), seen: BTreeSet::new() }
    }

    /// All that run now.
    pub(crate) fn look(&mut self) -> Vec<Found> {
        let found = self.running();
        self.seen.extend(found.iter().map(|found| found.pid));
        found
    }

    fn running(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // Processes come and go meanwhile; one that has ended has no command line.
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&line).contains(&self.mark) {
                let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                // Behind the name, which may have anything in it: the state, then the parent.
                let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
                found.push(Found { pid, parent: parent.unwrap_or(0), name: name.trim().to_owned() });
            }
        }
        found
    }

    /// Waits for the end of everything, which nobody but the kernel and the dying bring about.
    #[track_caller]
    pub(crate) fn assert_nothing_runs(&self, when: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left: Vec<String> = self.running().iter().map(|f| format!("{} {}", f.pid, f.name)).collect();
            if left.is_empty() {
                break;
            }
            assert!(Instant::now() < until, "{when}: these survived: {left:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let left: Vec<&str> = mounts.lines().filter(|line| line.contains(&self.mark)).collect();
        assert!(left.is_empty(), "{when}: still mounted: {left:#?}");
    }

    /// A killed Silas cannot remove its control groups; the next start does.
    #[track_caller]
    pub(crate) fn assert_no_groups(&self, when: &str) {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let is_group = |line: &&str| line.contains(" - cgroup ") || line.contains(" - cgroup2 ");
        let mut to_visit: Vec<PathBuf> =
            mounts.lines().filter(is_group).filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from).collect();
        while let Some(dir) = to_visit.pop() {
            // Others come and go meanwhile.
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                let name = entry.file_name().to_string_lossy().into_owned();
                let mut parts = name.strip_prefix("silas-").into_iter().flat_map(|rest| rest.split('-'));
                let owner = parts.next().and_then(|pid| pid.parse().ok());
                // One that lives is of another installation, under a number that was used before.
                let is_alive = owner.is_some_and(|pid: u32| started(pid).as_deref() == parts.next());
                let is_left = owner.is_some_and(|pid: u32| self.seen.contains(&pid)) && !is_alive;
                assert!(!is_left, "{when}: {} is left", entry.path().display());
                to_visit.push(entry.path());
            }
        }
    }
}

/// When a process started, as its control groups are called.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(19).map(str::to_owned)
}
