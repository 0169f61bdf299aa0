//! When a checkpoint is due.

use super::*;

fn due_after(log: &mut LogLength, pages: u64) -> bool {
    log.pages.store(pages, Ordering::Relaxed);
    log.is_due()
}

#[test]
fn a_checkpoint_is_due_once_for_so_many_pages() {
    let mut log = LogLength { pages: Arc::new(AtomicU64::new(0)), pages_before: 0, due_at: LOG_PAGES_DUE };
    assert!(!due_after(&mut log, LOG_PAGES_DUE - 1));
    assert!(due_after(&mut log, LOG_PAGES_DUE + 5));
    // Somebody reads an old state, so the log goes on growing. That is no reason to try after every commit.
    assert!(!due_after(&mut log, LOG_PAGES_DUE + 6));
    assert!(!due_after(&mut log, 2 * LOG_PAGES_DUE + 4));
    assert!(due_after(&mut log, 2 * LOG_PAGES_DUE + 5));
    // It began anew.
    assert!(!due_after(&mut log, 3));
    assert!(due_after(&mut log, LOG_PAGES_DUE));
}

#[test]
fn commits_say_how_long_the_log_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut connection = connect::for_writing(&dir.path().join("file.sqlite")).unwrap();
    let log = LogLength::of(&mut connection).unwrap();
    connection.execute_batch("CREATE TABLE t (a BLOB) STRICT").unwrap();
    let before = log.pages.load(Ordering::Relaxed);
    connection.execute_batch("INSERT INTO t (a) VALUES (zeroblob(40960))").unwrap();
    assert!(log.pages.load(Ordering::Relaxed) >= before + 10);
}
