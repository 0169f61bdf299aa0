//! What can be read over HTTP besides the socket: review, activity, work. Nothing can be changed here.

use crate::caller::NotAnswered;
use crate::guard::Gate;
use crate::http::{Door, refusal};
use crate::protocol::WorkPage;
use crate::tallies::Turned;
use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use silas_runtime::Trouble;
use std::sync::Arc;

pub(crate) async fn review(
    State(door): State<Arc<Door>>,
    Extension(gate): Extension<Arc<Gate>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if let Some(refused) = door.turned_away(&gate, &uri, &headers).await {
        return refused;
    }
    let Ok(from) = uri.query().map_or(Ok(0), |query| query.strip_prefix("from=").unwrap_or("").parse()) else {
        let trouble = Trouble::new("E_CHANNEL_MESSAGE", "`from` is a number, counted from 0.", "Ask for `?from=0`.");
        return refusal(StatusCode::BAD_REQUEST, &trouble);
    };
    answer(door.stream.hub.cards(from).await)
}

pub(crate) async fn activity(
    State(door): State<Arc<Door>>,
    Extension(gate): Extension<Arc<Gate>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match door.turned_away(&gate, &uri, &headers).await {
        Some(refused) => refused,
        None => answer(Ok(door.stream.hub.snapshot().await.activity)),
    }
}

pub(crate) async fn work(
    State(door): State<Arc<Door>>,
    Extension(gate): Extension<Arc<Gate>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match door.turned_away(&gate, &uri, &headers).await {
        Some(refused) => refused,
        None => answer(Ok(WorkPage { work: door.stream.hub.snapshot().await.work })),
    }
}

impl Door {
    /// What whoever is not known gets instead of an answer.
    pub(crate) async fn turned_away(&self, gate: &Gate, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let known = self.known_caller(gate.origin.side, path, headers).await;
        known.err().map(|why| self.turn_away(why, "Only the owner's paired devices can read this."))
    }

    /// Counts it and says so; `who` is what whoever is not known is told.
    pub(crate) fn turn_away(&self, why: NotAnswered, who: &str) -> Response {
        match why {
            NotAnswered::Unknown => {
                self.tallies.count(Turned::Auth);
                let trouble = Trouble::new("E_CHANNEL_AUTH", who, "Sign the request; docs/protocol.md says how.");
                refusal(StatusCode::UNAUTHORIZED, &trouble)
            }
            NotAnswered::BeforeStart => {
                self.tallies.count(Turned::Auth);
                let trouble = Trouble::new(
                    "E_CHANNEL_AUTH",
                    "The request is dated before Silas was started, so it may be a repeated one.",
                    "Ask again. If that does not help, look at this device's clock.",
                );
                refusal(StatusCode::UNAUTHORIZED, &trouble)
            }
            NotAnswered::TooOften => {
                self.tallies.count(Turned::Rate);
                let trouble =
                    Trouble::new("E_CHANNEL_BUSY", "Too many requests in a minute.", "Wait a moment, then try again.");
                refusal(StatusCode::TOO_MANY_REQUESTS, &trouble)
            }
        }
    }
}

/// Never kept by a browser: what is read here is the owner's alone.
fn answer(found: Result<impl Serialize, Trouble>) -> Response {
    match found {
        Ok(found) => ([(header::CACHE_CONTROL, "no-store")], Json(found)).into_response(),
        Err(trouble) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &trouble),
    }
}
