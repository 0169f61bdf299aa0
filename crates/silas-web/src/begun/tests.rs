//! Whoever asked may go; what was begun does not.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Notify;

/// Two steps; the second waits for the word.
async fn steps(go_on: Arc<Notify>, n_done: Arc<AtomicU32>) -> &'static str {
    n_done.fetch_add(1, Ordering::SeqCst);
    go_on.notified().await;
    n_done.fetch_add(1, Ordering::SeqCst);
    "done"
}

#[tokio::test]
async fn it_is_finished_when_whoever_asked_has_gone() {
    let (begun, go_on, n_done) = (Begun::default(), Arc::new(Notify::new()), Arc::new(AtomicU32::new(0)));
    let outcome = begun.begin(steps(go_on.clone(), n_done.clone()));
    assert_eq!(n_done.load(Ordering::SeqCst), 1, "begun before anybody waits for it");
    drop(outcome);
    go_on.notify_one();
    begun.finish().await;
    assert_eq!(n_done.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn whoever_stays_hears_what_came_of_it() {
    let (begun, go_on, n_done) = (Begun::default(), Arc::new(Notify::new()), Arc::new(AtomicU32::new(0)));
    let outcome = begun.begin(steps(go_on.clone(), n_done));
    go_on.notify_one();
    assert_eq!(outcome.await, Some("done"));
    assert_eq!(begun.begin(async { "at once" }).await, Some("at once"));
    let failing = async {
        tokio::task::yield_now().await;
        panic!("no word")
    };
    assert_eq!(begun.begin(failing).await, None::<()>);
}
