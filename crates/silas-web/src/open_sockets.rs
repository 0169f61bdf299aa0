//! Which WebSockets are open, so that a server that leaves waits until each of them was told.
//!
//! An upgraded connection is served by a task of its own, which ends neither with the request nor with the listener.

use std::sync::Arc;
use tokio::sync::watch;

/// Written by every socket when it opens and when it has ended; read by the door that leaves.
#[derive(Default)]
pub(crate) struct OpenSockets(Arc<watch::Sender<usize>>);

/// Held for as long as one socket is open.
pub(crate) struct OpenSocket(Arc<watch::Sender<usize>>);

impl OpenSockets {
    /// Counts one more, from before its upgrade.
    pub(crate) fn open(&self) -> OpenSocket {
        self.0.send_modify(|n| *n += 1);
        OpenSocket(self.0.clone())
    }

    /// Waits until none is open.
    pub(crate) async fn all_ended(&self) {
        let mut open = self.0.subscribe();
        let _sender_is_our_own = open.wait_for(|n| *n == 0).await;
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}
