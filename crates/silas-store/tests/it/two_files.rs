//! A process that writes both files is killed at any moment: what it acknowledged is in both, and the chain has every
//! change exactly once.

use crate::crash::{CHILD_DIR, acknowledge, killed_after};
use crate::saga::{assert_consistent, at, block_on, complete, operation, prepare, recover, run};
use crate::words::instructed;
use crate::world::open_like_new;
use silas_core::MessageId;
use silas_core::task::{Ending, TaskCall, TaskId, TaskState};
use silas_store::{Commit, Store, tasks};
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

const ROUNDS: usize = 5;
const THREADS: usize = 4;

#[test]
fn a_killed_process_leaves_two_files_that_agree() {
    let dir = TempDir::new().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        acknowledged.extend(killed_after("two_files::child", dir.path(), 10 + 7 * round));
        let store = open_like_new(dir.path());
        recover(&store);
        let found = assert_consistent(&store);
        let found: BTreeMap<String, TaskState> =
            found.into_iter().map(|task| (task.id.to_string(), task.state)).collect();
        for line in &acknowledged {
            let (what, task) = line.split_once(' ').unwrap();
            let state = found.get(task).copied();
            let kept = if what == "done" { state == Some(TaskState::Done) } else { state.is_some() };
            assert!(kept, "round {round} lost `{line}`: {state:?}");
        }
    }
}

/// The process that is killed. Does nothing unless the test above started it.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let store = open_like_new(Path::new(&dir));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let store = store.clone();
            std::thread::spawn(move || work_for_ever(&store, thread))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Adds tasks and finishes every second one, so that the list stays short enough to take more.
fn work_for_ever(store: &Store, thread: usize) {
    let pid = std::process::id();
    for n in 0.. {
        let message = |what: &str| MessageId::parse(&format!("msg-{what}-{pid}-{thread}-{n}")).unwrap();
        let call = TaskCall::add(&run(&message("add")), format!("task {thread} {n}"), 0).unwrap();
        let id = TaskId::derive(&operation(&message("add"), &call));
        carry_out(store, message("add"), call);
        acknowledge(&format!("open {id}"));
        if n % 8 != 0 {
            let task = id.clone();
            let seen = store.human().read(move |tx| tasks::get(tx, &task)).wait().unwrap().unwrap();
            carry_out(store, message("done"), complete(&seen));
            acknowledge(&format!("done {id}"));
        }
    }
}

fn carry_out(store: &Store, message: MessageId, call: TaskCall) {
    let (prepared, asked) = (call.clone(), instructed(&message, &call));
    store.write(move |tx| Ok(Commit(prepare(tx, &message, &prepared)?))).wait().unwrap();
    assert_eq!(block_on(store.settle(asked, at())).unwrap(), Ending::Done {});
}
