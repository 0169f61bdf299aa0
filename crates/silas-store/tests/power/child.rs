//! This test binary started again as the process that is interrupted.

use crate::workload::{self, Marks};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DEED: &str = "SILAS_POWER_DEED";
const DIR: &str = "SILAS_POWER_DIR";
const MARKS: &str = "SILAS_POWER_MARKS";
const SEED: &str = "SILAS_POWER_CHILD_SEED";

/// The arguments that make this binary do nothing but [`child`].
pub(crate) const ARGUMENTS: [&str; 4] = ["child::child", "--exact", "--nocapture", "--test-threads=1"];

/// A command that does a deed (a workload's name, or one of the deeds below) in a directory.
pub(crate) fn command(deed: &str, dir: &Path, marks: &Path, seed: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ARGUMENTS);
    tell(&mut command, deed, dir, marks, seed);
    command
}

/// The same, for a command that ends in starting this binary.
pub(crate) fn tell(command: &mut Command, deed: &str, dir: &Path, marks: &Path, seed: u64) {
    let seed = seed.to_string();
    command
        .env(DEED, deed)
        .env(DIR, dir)
        .env(MARKS, marks)
        .env(SEED, seed)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
}

/// Does its deed if a test started it for that, and nothing otherwise.
#[test]
fn child() {
    let Ok(deed) = std::env::var(DEED) else { return };
    let path = |name: &str| PathBuf::from(std::env::var_os(name).unwrap());
    let (dir, marks) = (path(DIR), Marks::to(&path(MARKS)));
    let seed = std::env::var(SEED).unwrap().parse().unwrap();
    match deed.as_str() {
        "fill the disk" => crate::full_disk::fill(&dir, &marks),
        "fill the disk with the log" => crate::full_disk::fill_with_log(&dir, &marks),
        "write through a full disk" => crate::full_disk::write_through(&dir, seed, &marks),
        "look at a read-only directory" => crate::full_disk::look_read_only(&dir),
        name => workload::ALL.iter().find(|workload| workload.name() == name).unwrap().run(&dir, seed, &marks),
    }
}
