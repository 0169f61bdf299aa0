//! `POST /secrets/{ref_id}`: how a secret that a card asks for gets from the page into the vault.
//!
//! It is no part of the WebSocket, and nothing comes back but whether the vault has it: no echo, no hash. A request is
//! taken from a paired device that signed exactly this body for exactly this path, once. The body is read into memory that
//! is wiped; it is written to no log, and an error never quotes it.

use crate::caller::Signed;
use crate::guard::Gate;
use crate::http::{BODY_PATIENCE, Door, refusal};
use crate::protocol::{SecretGiven, SecretValue};
use crate::session::unheard_of;
use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use silas_core::Digest;
use silas_core::secret::{SECRET_BYTES_MAX, Secret, SecretRef};
use silas_runtime::Trouble;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A value with every byte escaped twice over, and its frame.
const BODY_BYTES_MAX: usize = 2 * SECRET_BYTES_MAX + 64;
/// A person pastes a few keys in a minute; more is a loop or a guess.
pub(crate) const SECRETS_PER_MINUTE: u32 = 20;

const STRANGER: &str = "Only the owner's paired devices can give a secret. Nothing was stored.";

/// Why a body was not read.
enum Unread {
    TooLong,
    Broken,
}

pub(crate) async fn give(
    State(door): State<Arc<Door>>,
    Extension(gate): Extension<Arc<Gate>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    // Whoever is not known does not get to send a body.
    let credentials = match door.caller_of(gate.origin.side, &head.headers).await {
        Ok(credentials) => credentials,
        Err(why) => return door.turn_away(why, STRANGER),
    };
    let body = match tokio::time::timeout(BODY_PATIENCE, read(body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(Unread::TooLong)) => return answer(&too_long()),
        Ok(Err(Unread::Broken)) | Err(_) => return answer(&unreadable()),
    };
    let signed = Signed::Write { method: "POST", path: &path, body: Digest::of(&body) };
    if let Err(why) = door.admit(&door.givers, &credentials, &signed).await {
        return door.turn_away(why, STRANGER);
    }
    let Ok(reference) = SecretRef::parse(&name) else { return answer(&unasked()) };
    let value = match serde_json::from_slice::<SecretValue<'_>>(&body) {
        Ok(given) => Secret::new(given.value.into_owned().into_bytes()),
        // What is wrong with it is not said: the words would quote it.
        Err(_) => return answer(&unreadable()),
    };
    let stream = door.stream.clone();
    let giving = door.begun.begin(async move { stream.review.give_secret(&reference, value).await });
    match giving.await.unwrap_or_else(|| Err(unheard_of())) {
        Ok(_) => ([(header::CACHE_CONTROL, "no-store")], Json(SecretGiven { stored: true })).into_response(),
        Err(trouble) => answer(&trouble),
    }
}

/// All of it, in memory that never moves and is wiped.
async fn read(mut body: Body) -> Result<Zeroizing<Vec<u8>>, Unread> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(BODY_BYTES_MAX));
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Err(Unread::Broken) };
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > BODY_BYTES_MAX {
            return Err(Unread::TooLong);
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

fn too_long() -> Trouble {
    let what =
        format!("A secret has at most {} bytes. Nothing was stored.", silas_core::number::grouped(SECRET_BYTES_MAX));
    Trouble::new("E_VAULT_SIZE", &what, "Paste the key itself, not a file.")
}

fn unreadable() -> Trouble {
    let what = "The request is not a JSON object with one text called `value`. Nothing was stored.";
    Trouble::new("E_CHANNEL_MESSAGE", what, "Reload the page; it may be older than the server.")
}

fn unasked() -> Trouble {
    Trouble::new(
        "E_VAULT_UNASKED",
        "Nobody asked for a secret of this name. Nothing was stored.",
        "Use the card in Review.",
    )
}

fn answer(trouble: &Trouble) -> Response {
    let status = match trouble.code.as_str() {
        "E_VAULT_UNASKED" => StatusCode::NOT_FOUND,
        "E_VAULT_GIVEN" => StatusCode::CONFLICT,
        "E_VAULT_LATE" => StatusCode::GONE,
        "E_VAULT_SIZE" => StatusCode::PAYLOAD_TOO_LARGE,
        "E_VAULT_LOCKED" => StatusCode::LOCKED,
        "E_VAULT_FULL" => StatusCode::INSUFFICIENT_STORAGE,
        "E_CHANNEL_MESSAGE" => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refusal(status, trouble)
}
