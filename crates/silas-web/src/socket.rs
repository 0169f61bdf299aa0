//! The WebSocket: a challenge, an answer signed by a paired device, and then a conversation until one side ends it.

use crate::guard::{Gate, Side};
use crate::guests::Guest;
use crate::http::{Door, left};
use crate::pace::Pace;
use crate::protocol::{ClientMessage, ServerMessage, SessionProof};
use crate::session::{OUTGOING_MAX, Session};
use crate::tallies::Turned;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{SinkExt, StreamExt};
use silas_core::device::Certificate;
use silas_core::message::Channel;
use silas_core::revocation::Revocations;
use silas_core::{KeyId, Nonce, canonical};
use silas_runtime::{Attached, Listener, Resume};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tracing::Instrument;

/// For what was said before the other end closed. Longer than anything takes but work, which goes on by itself.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// A device has this long to answer the challenge.
const AUTH_SECS: u64 = 5;
/// Largest WebSocket message, and the most that a frame may announce.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;
/// Says that the line is alive.
const BEAT: &str = r#"{"type":"beat"}"#;
/// Whoever is silent for so many beats is gone.
const BEATS_MISSED_MAX: u32 = 3;
/// Close codes: authentication failed, and the standard ones.
const CLOSE_AUTH: u16 = 4001;
const CLOSE_LEAVING: u16 = 1001;
const LEAVING: &str = "Silas is stopping";
/// "Try again later".
const CLOSE_BUSY: u16 = 1013;
/// The protocol that is spoken, and the prefix of the one that carries the access token: a browser can send no other
/// header with a WebSocket, and an address is no place for a secret.
const PROTOCOL: &str = "silas.v1";
const TOKEN_PROTOCOL: &str = "silas.token.";

pub(crate) async fn upgrade(
    State(door): State<Arc<Door>>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(guest): Extension<Arc<Guest>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    // Whoever has not shown who it is takes no place; but where there is none, nobody needs to try.
    if door.places.available_permits() == 0 {
        door.tallies.count(Turned::Places);
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let shown = shown_token(&headers);
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(MESSAGE_BYTES_MAX).max_frame_size(MESSAGE_BYTES_MAX);
    let open = door.sockets.open();
    upgrade.on_upgrade(async move |socket| {
        door.greet(socket, gate.origin.side, shown, guest).await;
        drop(open);
    })
}

/// The access token, if it came as a subprotocol.
fn shown_token(headers: &HeaderMap) -> Option<String> {
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let mut offered = offered.flat_map(|value| value.split(',')).map(str::trim);
    offered.find_map(|protocol| protocol.strip_prefix(TOKEN_PROTOCOL)).map(str::to_owned)
}

impl Door {
    async fn greet(self: Arc<Self>, mut socket: WebSocket, side: Side, shown: Option<String>, guest: Arc<Guest>) {
        let challenge = Nonce::new(self.random.as_ref());
        let hello = ServerMessage::Challenge {
            challenge: challenge.clone(),
            installation: self.stream.trust.installation().clone(),
        };
        if send(&mut socket, &hello).await.is_none() {
            return;
        }
        let answer = tokio::select! {
            answer = tokio::time::timeout(Duration::from_secs(AUTH_SECS), socket.recv()) => answer,
            () = guest.told_to_leave() => return,
            () = left(self.leaving.clone()) => return close(&mut socket, CLOSE_LEAVING, LEAVING).await,
        };
        let known = match answer {
            Ok(Some(Ok(Message::Text(text)))) => self.authenticate(&challenge, &text, side, shown).await,
            _ => None,
        };
        match known {
            Some((device, resume)) => {
                let Ok(_place) = self.places.clone().try_acquire_owned() else {
                    self.tallies.count(Turned::Places);
                    return close(&mut socket, CLOSE_BUSY, "all places are taken").await;
                };
                let Some(pace) = self.paces.of_device(&device.body.key, guest.address(), self.clock.now()) else {
                    self.tallies.count(Turned::Rate);
                    return close(&mut socket, CLOSE_BUSY, "too many devices or addresses ask at once").await;
                };
                guest.is_let_in();
                let (key, name) = (device.body.key, device.body.name);
                let revoked = revoked(self.stream.trust.revocations(), key.clone());
                let attached = self.stream.hub.attach(Listener::Device { key, name: name.clone() }, resume).await;
                let (span, session) = (session_span(&attached, &name), attached.session.clone());
                self.clone().converse(socket, name, pace, attached, revoked).instrument(span).await;
                self.stream.hub.detach(&session).await;
            }
            None => {
                self.tallies.count(Turned::Auth);
                close(&mut socket, CLOSE_AUTH, "this device is not paired").await;
            }
        }
    }

    /// The device that signed our challenge, if it is one of ours, and what it says it has.
    async fn authenticate(
        &self,
        challenge: &Nonce,
        text: &str,
        side: Side,
        shown: Option<String>,
    ) -> Option<(Certificate, Option<Resume>)> {
        let Ok(ClientMessage::Auth { key, signature, resume, token }) = serde_json::from_str(text) else { return None };
        self.lets_in(side, token.or(shown).as_deref()).then_some(())?;
        let device = self.stream.trust.device(&key).await.ok()??;
        let proof =
            SessionProof { kind: "session", challenge, installation: self.stream.trust.installation(), key: &key };
        let message = canonical::text(&proof).ok()?;
        device.body.public.verifies(message.as_bytes(), &signature).then_some((device, resume))
    }

    /// Whether the access token is shown where it has to be.
    pub(crate) fn lets_in(&self, side: Side, shown: Option<&str>) -> bool {
        match side {
            Side::Loopback => true,
            Side::Network => self.options.access.as_ref().zip(shown).is_some_and(|(access, shown)| access.is(shown)),
        }
    }

    async fn converse(
        self: Arc<Self>,
        socket: WebSocket,
        device: String,
        pace: Pace,
        attached: Attached,
        revoked: impl Future<Output = ()>,
    ) {
        let (mut sink, mut source) = socket.split();
        let (out, mut outgoing) = mpsc::channel(OUTGOING_MAX);
        let (texts, incoming) = mpsc::channel(1);
        let session = Session::new(self.clone(), Channel::Web, device, pace, attached, out);
        let beat = self.options.beat;
        // A page that went out of reach without a word does not keep its place: at least its pongs would come.
        let read = async move {
            while let Ok(Some(Ok(message))) = tokio::time::timeout(beat * BEATS_MISSED_MAX, source.next()).await {
                if let Message::Text(text) = message
                    && texts.send(text.to_string()).await.is_err()
                {
                    return;
                }
            }
        };
        // What was said before the other end closed is begun; the session ends by itself when that has been answered.
        let read = async {
            read.await;
            tokio::time::sleep(LAST_ANSWERS).await;
        };
        let leaving = self.leaving.clone();
        let write = async move {
            let leaving = left(leaving);
            tokio::pin!(leaving, revoked);
            let mut beats = tokio::time::interval_at(tokio::time::Instant::now() + beat, beat);
            beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                let message = tokio::select! {
                    message = outgoing.recv() => message,
                    // The ping is answered by the browser itself; the page sees only the other.
                    _ = beats.tick() => {
                        if sink.feed(Message::Ping(Bytes::new())).await.is_err() {
                            return;
                        }
                        Some(BEAT.into())
                    }
                    () = &mut revoked => {
                        let frame = CloseFrame { code: CLOSE_AUTH, reason: "this device was revoked".into() };
                        let _peer_may_be_gone = sink.send(Message::Close(Some(frame))).await;
                        return;
                    }
                    () = &mut leaving => {
                        let frame = CloseFrame { code: CLOSE_LEAVING, reason: LEAVING.into() };
                        let _peer_may_be_gone = sink.send(Message::Close(Some(frame))).await;
                        return;
                    }
                };
                let Some(text) = message else { return };
                if sink.feed(Message::Text(text)).await.is_err() {
                    return;
                }
                // Everything that is ready goes at once.
                while let Ok(text) = outgoing.try_recv() {
                    if sink.feed(Message::Text(text)).await.is_err() {
                        return;
                    }
                }
                if sink.flush().await.is_err() {
                    return;
                }
            }
        };
        // Whichever side ends first ends the connection.
        tokio::select! {
            () = read => {},
            () = write => {},
            () = session.serve(incoming) => {},
        }
    }
}

/// Everything that is logged about one connection carries the id of its session.
pub(crate) fn session_span(attached: &Attached, device: &str) -> tracing::Span {
    tracing::info_span!("session", id = %attached.session, device)
}

/// Resolves when the device is revoked, at once if it is already; never if it is not.
async fn revoked(mut revocations: watch::Receiver<Arc<Revocations>>, key: KeyId) {
    while !revocations.borrow_and_update().has_device(&key) {
        if revocations.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

async fn send(socket: &mut WebSocket, message: &ServerMessage) -> Option<()> {
    let text = serde_json::to_string(message).ok()?;
    socket.send(Message::Text(text.into())).await.ok()
}

async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) {
    let _peer_may_be_gone = socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
}
