//! The last entries of the Stream as they go over the wire, read and written once for all connections.
//!
//! Only the newest are held, and none that was forgotten since: whoever is further behind is served from the store.

use crate::protocol::ServerMessage;
use axum::extract::ws::Utf8Bytes;
use silas_runtime::{Stream, Trouble};
use std::collections::VecDeque;
use tokio::sync::Mutex;

/// Enough for everybody who keeps up.
const RECENT_MAX: usize = 256;

/// An entry with its number.
pub(crate) type Written = (u64, Utf8Bytes);

#[derive(Default)]
pub(crate) struct Deliveries {
    /// Without a gap. Held while the next are read, so that many who wait for the same entry read it once.
    recent: Mutex<VecDeque<Written>>,
}

impl Deliveries {
    /// The next entries after `seq` that may be given out; ask again until there is none.
    pub(crate) async fn after(&self, stream: &Stream, seq: u64) -> Result<Vec<Written>, Trouble> {
        if *stream.hub.outbox().borrow() <= seq {
            return Ok(Vec::new());
        }
        let mut recent = self.recent.lock().await;
        let (first, last) =
            (recent.front().map_or(u64::MAX, |(seq, _)| *seq), recent.back().map_or(0, |(seq, _)| *seq));
        if first > seq.saturating_add(1) && last > seq {
            // Further behind than what is held here.
            drop(recent);
            return written(stream, seq).await;
        }
        let from = last.max(seq);
        if from > last {
            recent.clear();
        }
        recent.extend(written(stream, from).await?);
        let found = recent.iter().filter(|(number, _)| *number > seq).cloned().collect();
        let surplus = recent.len().saturating_sub(RECENT_MAX);
        recent.drain(..surplus);
        Ok(found)
    }

    /// After something was forgotten: nothing that was read before is given out again.
    pub(crate) async fn forget(&self) {
        self.recent.lock().await.clear();
    }
}

async fn written(stream: &Stream, after: u64) -> Result<Vec<Written>, Trouble> {
    let ready = stream.hub.deliveries(after).await?;
    let write = |delivery: silas_runtime::view::DeliveryView| {
        let seq = delivery.seq;
        let text = serde_json::to_string(&ServerMessage::Message { delivery }).map_err(|cause| {
            tracing::error!(%cause, "an entry cannot be written");
            Trouble::new("E_CHANNEL_MESSAGE", "An entry of the Stream cannot be shown.", "See the log.")
        })?;
        Ok((seq, text.into()))
    };
    ready.into_iter().map(write).collect()
}
