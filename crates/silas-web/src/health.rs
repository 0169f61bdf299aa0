//! `/health`: whether Silas answers, and whether it would tell somebody to come back.
//!
//! Anybody may ask, so it says how full something is in three words and never how much of what: ordinary work stays below
//! the first of them, and when somebody works is nobody's business. `/metrics` has the numbers, for those who may see them.
//! The answer is always 200: a supervisor that restarts what is busy makes it busier.

use crate::http::Door;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use silas_runtime::Waiting;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long one look at the durable queue serves everybody who asks.
const LOOK_SERVES: Duration = Duration::from_secs(1);
/// A look that takes longer than this is an answer too.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);

/// `GET /health`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Health {
    pub(crate) status: Status,
    /// Open WebSockets.
    pub(crate) connections: usize,
    pub(crate) backpressure: Backpressure,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Ok,
    /// Something is full: whoever needs it now is told to come back.
    Overloaded,
}

/// How full each thing is that somebody may have to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Backpressure {
    /// Messages and work that wait for their turn in the durable queue.
    pub(crate) turns: Level,
    /// Changes that wait to be written, the ledger's entries among them.
    pub(crate) writes: Level,
    /// Looks at the database that wait.
    pub(crate) reads: Level,
    /// Places for WebSockets.
    pub(crate) sockets: Level,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// Less than half of what may wait.
    Free,
    Filling,
    /// The next one is told to come back.
    Full,
}

impl Level {
    pub(crate) fn of(waiting: Waiting) -> Self {
        match waiting {
            Waiting { n, max } if n >= max => Level::Full,
            Waiting { n, max } if n >= max.div_ceil(2) => Level::Filling,
            Waiting { .. } => Level::Free,
        }
    }
}

impl Backpressure {
    pub(crate) fn status(&self) -> Status {
        let Backpressure { turns, writes, reads, sockets } = *self;
        match [turns, writes, reads, sockets].contains(&Level::Full) {
            true => Status::Overloaded,
            false => Status::Ok,
        }
    }
}

/// What the last look at the durable queue showed, and when. Written and read by whoever asks.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<Option<(Instant, Level)>>);

impl Pulse {
    fn recent(&self) -> Option<Level> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.filter(|(at, _)| at.elapsed() < LOOK_SERVES).map(|(_, level)| level)
    }

    fn note(&self, level: Level) -> Level {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), level));
        level
    }
}

pub(crate) async fn show(State(door): State<Arc<Door>>) -> Json<Health> {
    let backpressure = door.backpressure().await;
    Json(Health { status: backpressure.status(), connections: door.n_sockets(), backpressure })
}

impl Door {
    pub(crate) async fn backpressure(&self) -> Backpressure {
        let store = self.stream.hub.store_pressure();
        let turns = match self.pulse.recent() {
            Some(level) => level,
            None => {
                let look = tokio::time::timeout(LOOK_PATIENCE, self.stream.hub.turns_waiting()).await;
                // A look that fails or does not come back is refused to everybody else as well.
                self.pulse.note(look.ok().and_then(Result::ok).map_or(Level::Full, Level::of))
            }
        };
        let sockets = Level::of(Waiting { n: self.n_sockets(), max: self.options.connections_max });
        Backpressure { turns, writes: Level::of(store.writes), reads: Level::of(store.reads), sockets }
    }
}

#[cfg(test)]
mod tests;
