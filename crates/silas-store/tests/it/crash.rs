//! A process that is killed at any moment, or stops because its disk fails, loses nothing that it acknowledged.
//!
//! This says nothing about power: the system's cache survives a killed process.

use crate::world::{open_like_new, started};
use silas_store::{Commit, Store, ledger, settings};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(crate) const CHILD_DIR: &str = "SILAS_STORE_TEST_CHILD_DIR";
const ROUNDS: usize = 5;
const THREADS: usize = 4;

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let dir = TempDir::new().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let n_before_kill = 20 + 13 * round;
        acknowledged.extend(killed_after("crash::child", dir.path(), n_before_kill));
        let store = open_like_new(dir.path());
        let found = keys(&store);
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "round {round} lost {lost:?}");
        let verified = store.read(ledger::verify).wait().unwrap();
        // A row and its entry are there together or not at all.
        assert_eq!((verified.entries, verified.broken), (found.len() as u64, None));
    }
}

/// Runs the child until it has acknowledged so many rows, kills it, and gives all that it acknowledged.
pub(crate) fn killed_after(child: &str, dir: &Path, n_rows: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([child, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD_DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut rows = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while rows.len() < n_rows {
        let line = lines.next().expect("the child writes until it is killed").unwrap();
        rows.extend(acknowledged_in(&line));
    }
    child.kill().unwrap();
    // What it said before the signal reached it counts as well.
    rows.extend(lines.map_while(Result::ok).filter_map(|line| acknowledged_in(&line)));
    child.wait().unwrap();
    rows
}

/// The dot shows that the line was not cut short.
fn acknowledged_in(line: &str) -> Option<String> {
    Some(line.strip_prefix("kept ")?.strip_suffix('.')?.to_owned())
}

/// The disk refuses to let the log grow. Whatever the process believes about it then is a guess, so it must not go on.
#[test]
fn a_failing_disk_ends_the_process() {
    let dir = TempDir::new().unwrap();
    // Blocks of 512 bytes. The signal that comes with this limit is ignored, so the write fails like on a broken disk.
    let script = "trap '' XFSZ; ulimit -c 0; ulimit -f 1500; exec \"$0\" \"$@\"";
    let output = Command::new("/bin/sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["crash::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD_DIR, dir.path())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    const SIGABRT: i32 = 6;
    assert_eq!(output.status.signal(), Some(SIGABRT));
    let acknowledged: Vec<String> = output.stdout.lines().filter_map(|line| acknowledged_in(&line.ok()?)).collect();
    assert!(!acknowledged.is_empty());
    let store = open_like_new(dir.path());
    let found = keys(&store);
    assert!(acknowledged.iter().all(|key| found.contains(key)));
    assert_eq!(store.read(ledger::verify).wait().unwrap().broken, None);
}

fn keys(store: &Store) -> BTreeSet<String> {
    let keys = store.read(|tx| tx.query("SELECT key FROM settings", [], |row| Ok(row.get(0)?)));
    keys.wait().unwrap().into_iter().collect()
}

/// The process that is killed. Does nothing unless a test above started it.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let store = open_like_new(Path::new(&dir));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let store = store.clone();
            std::thread::spawn(move || write_for_ever(&store, thread))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn write_for_ever(store: &Store, thread: usize) {
    let pid = std::process::id();
    for n in 0.. {
        let key = format!("{pid}-{thread}-{n}");
        let row = key.clone();
        let change = move |tx: &mut silas_store::Tx<'_>| {
            settings::set(tx, &row, &n)?;
            Ok(Commit(tx.record(&started(&row))?))
        };
        let pending = if n % 3 == 0 { store.write_buffered(change) } else { store.write(change) };
        pending.wait().unwrap();
        acknowledge(&key);
    }
}

/// One write call for one line, past the test harness, so that lines of threads do not mix.
pub(crate) fn acknowledge(key: &str) {
    std::io::stdout().write_all(format!("kept {key}.\n").as_bytes()).unwrap();
}
