//! Pairing over HTTP: what the screen shows, and the one request that makes a browser one of the owner's devices.

use crate::guard::{Gate, Side};
use crate::guests::Guest;
use crate::http::{BODY_BYTES_MAX, BODY_PATIENCE, Door, refusal};
use crate::protocol::{HouseRules, PairRequest, Paired, PairingScreen};
use crate::session::unheard_of;
use crate::tallies::Turned;
use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use silas_core::KeyId;
use silas_runtime::{Newcomer, Trouble};
use std::sync::Arc;

pub(crate) async fn pairing_screen(State(door): State<Arc<Door>>, RawQuery(query): RawQuery) -> Response {
    // A browser that was paired before names the key that it is going to replace.
    let replaces = query.as_deref().and_then(|query| query.strip_prefix("replaces="));
    let replaces = replaces.and_then(|key| KeyId::parse(key).ok());
    match door.stream.trust.pairing_screen(replaces.as_ref()).await {
        Ok(screen) => Json(PairingScreen {
            installation: door.stream.trust.installation().clone(),
            epoch: door.stream.trust.epoch(),
            house_rules: screen.map(|(face, offer, payload)| HouseRules { face, offer, payload }),
        })
        .into_response(),
        Err(trouble) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &trouble),
    }
}

pub(crate) async fn pair(
    State(door): State<Arc<Door>>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(guest): Extension<Arc<Guest>>,
    body: Body,
) -> Response {
    // Anybody may ask, so nobody may take for ever to say what.
    let body = match tokio::time::timeout(BODY_PATIENCE, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    let request: PairRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(cause) => {
            let trouble =
                Trouble::new("E_CHANNEL_MESSAGE", &format!("The request cannot be read: {cause}."), "Reload the page.");
            return refusal(StatusCode::BAD_REQUEST, &trouble);
        }
    };
    // A code can be seen by others on the same machine: in a list of processes, over a shoulder, in a shared terminal.
    if guest.is_of_another_user().await {
        if door.tallies.count_aloud(Turned::OtherUser) {
            tracing::warn!("another user of this machine tried to pair a browser, and was refused");
        }
        let trouble = Trouble::new(
            "E_APPROVAL_PAIRING",
            "Another user of this machine asks, or it cannot be told who does. Nothing was paired.",
            "Open the page as the user whose Silas this is, or use the encrypted door: `silas tls`.",
        );
        return refusal(StatusCode::FORBIDDEN, &trouble);
    }
    let newcomer = Newcomer {
        public: request.public,
        name: request.name,
        proof: request.proof,
        house_rules: request.house_rules,
        replaces: request.replaces,
    };
    let stream = door.stream.clone();
    let pairing = door.begun.begin(async move { stream.trust.pair(newcomer).await });
    match pairing.await.unwrap_or_else(|| Err(unheard_of())) {
        Ok(certificate) => {
            door.paired.send_modify(|n| *n += 1);
            // Only over an encrypted connection, and only to whoever had the code.
            let access = match gate.origin.side {
                Side::Network => door.options.access.as_ref().map(|access| access.hand_over()),
                Side::Loopback => None,
            };
            Json(Paired { installation: door.stream.trust.installation().clone(), certificate, access }).into_response()
        }
        Err(trouble) => {
            if door.tallies.count_aloud(Turned::Pairing) {
                tracing::warn!(why = trouble.message, "a browser was not paired");
            }
            refusal(StatusCode::FORBIDDEN, &trouble)
        }
    }
}
