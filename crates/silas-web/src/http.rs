//! The HTTP door: the page's files, health, pairing and the WebSocket.

use crate::guard::{self, Origin};
use crate::protocol::{ClientMessage, HouseRules, PairRequest, Paired, PairingScreen, ServerMessage, SessionProof};
use crate::session::{OUTGOING_MAX, Session};
use crate::{Error, assets, control, secret_door};
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router, middleware};
use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use silas_core::device::Certificate;
use silas_core::message::Channel;
use silas_core::revocation::Revocations;
use silas_core::{Clock, KeyId, Nonce, Random, canonical};
use silas_runtime::{Attached, Listener, Newcomer, Resume, Stream, Trouble};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tracing::Instrument;

/// What the owner may turn.
#[derive(Clone, Debug)]
pub struct Options {
    pub messages_per_minute: u32,
}

/// Everything that must be opened before the process confines itself.
pub struct Listeners {
    tcp: Vec<std::net::TcpListener>,
    control: std::os::unix::net::UnixListener,
    secrets: std::os::unix::net::UnixListener,
    port: u16,
}

impl Listeners {
    /// Both loopback addresses, or none: whoever held the other one could pose as this page. Without a port there is
    /// no page, only the terminal's door. That one opens last: whoever can connect to it finds the address written.
    pub fn bind(port: Option<u16>, data_dir: &Path) -> Result<Self, Error> {
        let (tcp, port) = match port {
            Some(port) => bind_both(port)?,
            None => (Vec::new(), 0),
        };
        control::write_address(data_dir, &Origin::on_port(port).origin)?;
        let secrets = control::listen(&secret_door::path(data_dir))?;
        let control = control::listen(&control::path(data_dir))?;
        Ok(Listeners { tcp, control, secrets, port })
    }

    pub fn address(&self) -> String {
        Origin::on_port(self.port).origin
    }
}

fn bind_both(port: u16) -> Result<(Vec<std::net::TcpListener>, u16), Error> {
    let first = bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))?;
    let port = first.local_addr()?.port();
    let mut tcp = vec![first];
    match bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port)) {
        Ok(second) => tcp.push(second),
        // A machine without IPv6 has no second address to lose.
        Err(Error::Listen { cause, .. }) if is_missing_address(&cause) => {}
        Err(e) => return Err(e),
    }
    Ok((tcp, port))
}

fn bind(address: SocketAddr) -> Result<std::net::TcpListener, Error> {
    let listener = std::net::TcpListener::bind(address).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::AddrInUse => Error::Taken { address: address.ip().to_string(), port: address.port() },
        _ => Error::Listen { address: address.to_string(), cause },
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn is_missing_address(cause: &std::io::Error) -> bool {
    matches!(cause.kind(), std::io::ErrorKind::AddrNotAvailable | std::io::ErrorKind::Unsupported)
        || cause.raw_os_error() == Some(97) // EAFNOSUPPORT: the kernel has no IPv6 at all
}

/// The door itself, shared by all connections.
pub struct Door {
    pub(crate) stream: Arc<Stream>,
    pub(crate) clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    pub(crate) options: Options,
    /// Open WebSockets, for `/health`.
    n_connections: AtomicUsize,
    /// Turns true when the server is going away; every socket then closes with 1001.
    leaving: watch::Receiver<bool>,
}

/// A page has this long to answer the challenge.
const AUTH_SECS: u64 = 5;
/// Largest WebSocket message and largest request body.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Connections and WebSockets at once; together far below the usual limit of descriptors.
const CONNECTIONS_MAX: usize = 256;
/// A request's head must be here by then.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long open connections may take when the server leaves.
const LEAVING_GRACE: Duration = Duration::from_secs(2);
/// After a failed accept.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Close codes: authentication failed, and the standard "going away".
const CLOSE_AUTH: u16 = 4001;
const CLOSE_LEAVING: u16 = 1001;

impl Door {
    pub fn new(
        stream: Arc<Stream>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        options: Options,
        leaving: watch::Receiver<bool>,
    ) -> Arc<Self> {
        Arc::new(Door { stream, clock, random, options, n_connections: AtomicUsize::new(0), leaving })
    }

    /// Serves until `leaving` turns true.
    pub async fn serve(self: Arc<Self>, listeners: Listeners, owner_uid: u32) -> Result<(), Error> {
        let control = tokio::spawn(control::serve(self.clone(), UnixListener::from_std(listeners.control)?, owner_uid));
        let secrets = UnixListener::from_std(listeners.secrets)?;
        let secrets = tokio::spawn(secret_door::serve(self.stream.clone(), secrets, owner_uid));
        let origin = Arc::new(Origin::on_port(listeners.port));
        let router = Router::new()
            .route("/health", get(health))
            .route("/pair", get(pairing_screen).post(pair))
            .route("/ws", any(upgrade))
            .fallback(get(assets::serve))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(middleware::from_fn_with_state(origin, guard::check))
            .with_state(self.clone());
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut servers = Vec::new();
        for listener in listeners.tcp {
            let listener = TcpListener::from_std(listener)?;
            servers.push(tokio::spawn(accept(listener, router.clone(), permits.clone(), self.leaving.clone())));
        }
        left(self.leaving.clone()).await;
        for server in servers {
            server.await.map_err(|panic| Error::Io(std::io::Error::other(panic)))?;
        }
        control.abort();
        secrets.abort();
        Ok(())
    }
}

/// Takes connections until the server leaves, then gives those that are open a moment to end.
async fn accept(listener: TcpListener, router: Router, permits: Arc<Semaphore>, leaving: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let gone = left(leaving.clone());
    tokio::pin!(gone);
    loop {
        let socket = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(cause) => {
                    // Out of descriptors, most likely: waiting is all that helps.
                    tracing::warn!(%cause, "a connection could not be taken");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
            () = &mut gone => break,
        };
        // Whoever comes when all places are taken is sent away; the owner's terminal has its own door.
        let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
        let serving = serve_connection(socket, router.clone(), leaving.clone());
        connections.spawn(async move {
            serving.await;
            drop(permit);
        });
    }
    let _whoever_is_slow_is_cut_off =
        tokio::time::timeout(LEAVING_GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

/// One connection. A client that is slow to say what it wants does not keep its place.
async fn serve_connection(socket: TcpStream, router: Router, leaving: watch::Receiver<bool>) {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection(TokioIo::new(socket), service).with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = left(leaving) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(cause) = ended {
        tracing::debug!(%cause, "a connection ended early");
    }
}

async fn health(State(door): State<Arc<Door>>) -> impl IntoResponse {
    Json(serde_json::json!({ "status": "ok", "connections": door.n_connections.load(Ordering::Relaxed) }))
}

async fn pairing_screen(State(door): State<Arc<Door>>, RawQuery(query): RawQuery) -> Response {
    // A browser that was paired before names the key that it is going to replace.
    let replaces = query.as_deref().and_then(|query| query.strip_prefix("replaces="));
    let replaces = replaces.and_then(|key| KeyId::parse(key).ok());
    match door.stream.pairing_screen(replaces.as_ref()).await {
        Ok(screen) => Json(PairingScreen {
            installation: door.stream.installation().clone(),
            epoch: door.stream.epoch(),
            house_rules: screen.map(|(face, offer, payload)| HouseRules { face, offer, payload }),
        })
        .into_response(),
        Err(trouble) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &trouble),
    }
}

async fn pair(State(door): State<Arc<Door>>, body: Bytes) -> Response {
    let request: PairRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(cause) => {
            let trouble =
                Trouble::new("E_CHANNEL_MESSAGE", &format!("The request cannot be read: {cause}."), "Reload the page.");
            return refusal(StatusCode::BAD_REQUEST, &trouble);
        }
    };
    let newcomer = Newcomer {
        public: request.public,
        name: request.name,
        proof: request.proof,
        house_rules: request.house_rules,
        replaces: request.replaces,
    };
    match door.stream.pair(newcomer).await {
        Ok(certificate) => {
            Json(Paired { installation: door.stream.installation().clone(), certificate }).into_response()
        }
        Err(trouble) => refusal(StatusCode::FORBIDDEN, &trouble),
    }
}

fn refusal(status: StatusCode, trouble: &Trouble) -> Response {
    let body = serde_json::json!({ "code": trouble.code, "message": trouble.message, "todo": trouble.todo });
    (status, Json(body)).into_response()
}

async fn upgrade(State(door): State<Arc<Door>>, upgrade: WebSocketUpgrade) -> Response {
    if door.n_connections.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    upgrade.max_message_size(MESSAGE_BYTES_MAX).on_upgrade(move |socket| async move {
        door.n_connections.fetch_add(1, Ordering::Relaxed);
        door.clone().greet(socket).await;
        door.n_connections.fetch_sub(1, Ordering::Relaxed);
    })
}

impl Door {
    async fn greet(self: Arc<Self>, mut socket: WebSocket) {
        let challenge = Nonce::new(self.random.as_ref());
        let hello =
            ServerMessage::Challenge { challenge: challenge.clone(), installation: self.stream.installation().clone() };
        if send(&mut socket, &hello).await.is_none() {
            return;
        }
        let answer = tokio::time::timeout(Duration::from_secs(AUTH_SECS), socket.recv()).await;
        let known = match answer {
            Ok(Some(Ok(Message::Text(text)))) => self.authenticate(&challenge, &text).await,
            _ => None,
        };
        match known {
            Some((device, resume)) => {
                let (key, name) = (device.body.key, device.body.name);
                let revoked = revoked(self.stream.revocations(), key.clone());
                let attached = self.stream.attach(Listener::Device { key, name: name.clone() }, resume).await;
                let (span, session) = (session_span(&attached, &name), attached.session.clone());
                self.clone().converse(socket, name, attached, revoked).instrument(span).await;
                self.stream.detach(&session).await;
            }
            None => close(&mut socket, CLOSE_AUTH, "this device is not paired").await,
        }
    }

    /// The device that signed our challenge, if it is one of ours, and what it says it has.
    async fn authenticate(&self, challenge: &Nonce, text: &str) -> Option<(Certificate, Option<Resume>)> {
        let Ok(ClientMessage::Auth { key, signature, resume }) = serde_json::from_str(text) else { return None };
        let device = self.stream.device(&key).await.ok()??;
        let proof = SessionProof { kind: "session", challenge, installation: self.stream.installation(), key: &key };
        let message = canonical::text(&proof).ok()?;
        device.body.public.verifies(message.as_bytes(), &signature).then_some((device, resume))
    }

    async fn converse(
        self: Arc<Self>,
        socket: WebSocket,
        device: String,
        attached: Attached,
        revoked: impl Future<Output = ()>,
    ) {
        let (mut sink, mut source) = socket.split();
        let (out, mut outgoing) = mpsc::channel(OUTGOING_MAX);
        let (texts, incoming) = mpsc::channel(1);
        let session = Session::new(&self, Channel::Web, device, attached, out);
        let read = async move {
            while let Some(Ok(message)) = source.next().await {
                if let Message::Text(text) = message
                    && texts.send(text.to_string()).await.is_err()
                {
                    return;
                }
            }
        };
        let leaving = self.leaving.clone();
        let write = async move {
            let leaving = left(leaving);
            tokio::pin!(leaving, revoked);
            loop {
                let message = tokio::select! {
                    message = outgoing.recv() => message,
                    () = &mut revoked => {
                        let frame = CloseFrame { code: CLOSE_AUTH, reason: "this device was revoked".into() };
                        let _peer_may_be_gone = sink.send(Message::Close(Some(frame))).await;
                        return;
                    }
                    () = &mut leaving => {
                        let frame = CloseFrame { code: CLOSE_LEAVING, reason: "Silas is stopping".into() };
                        let _peer_may_be_gone = sink.send(Message::Close(Some(frame))).await;
                        return;
                    }
                };
                let Some(text) = message.and_then(|message| serde_json::to_string(&message).ok()) else { return };
                if sink.send(Message::Text(text.into())).await.is_err() {
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

/// Resolves when the server is going away; a sender that is gone means the same.
async fn left(mut leaving: watch::Receiver<bool>) {
    while !*leaving.borrow_and_update() {
        if leaving.changed().await.is_err() {
            return;
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
