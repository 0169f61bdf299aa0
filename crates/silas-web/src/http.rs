//! The HTTP door: who listens where, and which handler answers what.

use crate::access::AccessToken;
use crate::begun::Begun;
use crate::caller::Callers;
use crate::deliveries::Deliveries;
use crate::guard::{self, Gate, Origin};
use crate::guests::{Guest, Guests};
use crate::health::{self, Pulse};
use crate::listeners::Listeners;
use crate::open_sockets::OpenSockets;
use crate::pace::Paces;
use crate::tallies::{Tallies, Turned};
use crate::{Error, assets, control, metrics, openapi, pairing, reads, secret_door, secret_post, socket};
use axum::extract::{DefaultBodyLimit, Extension};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router, middleware};
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use silas_core::{Clock, Random, Timestamp};
use silas_runtime::{Stream, Trouble};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What the owner may turn.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often one device may ask.
    pub messages_per_minute: u32,
    /// How often all devices may that come from one address.
    pub messages_per_minute_per_address: u32,
    /// Devices at once, and besides them as many connections at each door that have not shown who they are.
    pub connections_max: usize,
    /// How old a signed request may be.
    pub freshness: Duration,
    /// How often a page is told that the line is alive.
    pub beat: Duration,
    /// What devices show at the network door, and whoever reads `/metrics`.
    pub access: Option<AccessToken>,
}

/// The door itself, shared by all connections.
pub struct Door {
    pub(crate) stream: Arc<Stream>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) options: Options,
    pub(crate) deliveries: Deliveries,
    pub(crate) callers: Callers,
    /// The same devices, as they hand in secrets: fewer at a time.
    pub(crate) givers: Callers,
    /// How often they may ask over their sockets.
    pub(crate) paces: Paces,
    pub(crate) tallies: Arc<Tallies>,
    pub(crate) started_at: Timestamp,
    pub(crate) pulse: Pulse,
    /// What was begun for connections, which may end before it.
    pub(crate) begun: Begun,
    pub(crate) sockets: OpenSockets,
    /// One for each device that may be connected; whoever has not shown which one it is takes none.
    pub(crate) places: Arc<Semaphore>,
    /// Under which addresses the page is served, since the doors are open.
    pub(crate) origins: OnceLock<Vec<String>>,
    /// How many browsers were paired since the start.
    pub(crate) paired: watch::Sender<u64>,
    /// Turns true when the server is going away; every socket then closes with 1001.
    pub(crate) leaving: watch::Receiver<bool>,
}

/// Largest request body.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;
/// A body that is not here by then is not coming.
pub(crate) const BODY_PATIENCE: Duration = Duration::from_secs(10);
/// A request's head must be here by then, and before it the agreement on how to encrypt.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long open connections may take when the server leaves.
const LEAVING_GRACE: Duration = Duration::from_secs(2);
/// After a failed accept.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl Door {
    pub fn new(
        stream: Arc<Stream>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        options: Options,
        leaving: watch::Receiver<bool>,
    ) -> Arc<Self> {
        let (started_at, places) = (clock.now(), Arc::new(Semaphore::new(options.connections_max)));
        let callers = Callers::new(options.freshness, options.messages_per_minute, started_at);
        let givers = Callers::new(options.freshness, secret_post::SECRETS_PER_MINUTE, started_at);
        let paces = Paces::new(options.messages_per_minute, options.messages_per_minute_per_address);
        Arc::new(Door {
            stream,
            clock,
            random,
            options,
            deliveries: Deliveries::default(),
            callers,
            givers,
            paces,
            tallies: Arc::default(),
            started_at,
            pulse: Pulse::default(),
            begun: Begun::default(),
            sockets: OpenSockets::default(),
            places,
            origins: OnceLock::new(),
            paired: watch::Sender::new(0),
            leaving,
        })
    }

    /// Changes with every browser that is paired.
    pub fn paired(&self) -> watch::Receiver<u64> {
        self.paired.subscribe()
    }

    /// Serves until `leaving` turns true.
    pub async fn serve(self: Arc<Self>, listeners: Listeners, owner_uid: u32) -> Result<(), Error> {
        let network = listeners.network_address().map(str::to_owned);
        self.origins.get_or_init(|| network.into_iter().chain([listeners.address()]).collect());
        let local = self.router(listeners.origin(), None);
        let control = tokio::spawn(control::serve(self.clone(), UnixListener::from_std(listeners.control)?, owner_uid));
        let secrets = UnixListener::from_std(listeners.secrets)?;
        let secrets = tokio::spawn(secret_door::serve(self.stream.clone(), secrets, owner_uid));
        let guests = Guests::new(self.options.connections_max, Some(owner_uid));
        let mut servers = Vec::new();
        for listener in listeners.loopback {
            let entrance = Entrance { router: local.clone(), tls: None, guests: guests.clone() };
            servers.push(tokio::spawn(self.clone().accept(TcpListener::from_std(listener)?, entrance)));
        }
        if let Some(network) = listeners.network {
            let router = self.router(network.origin, network.tls.authority.clone());
            let tls = Some(TlsAcceptor::from(network.tls.config));
            // A crowd at one door is none at the other.
            let guests = Guests::new(self.options.connections_max, None);
            let entrance = Entrance { router, tls, guests };
            servers.push(tokio::spawn(self.clone().accept(TcpListener::from_std(network.tcp)?, entrance)));
        }
        left(self.leaving.clone()).await;
        for server in servers {
            server.await.map_err(|panic| Error::Io(std::io::Error::other(panic)))?;
        }
        let _whoever_does_not_read_is_cut_off = tokio::time::timeout(LEAVING_GRACE, self.sockets.all_ended()).await;
        control.abort();
        secrets.abort();
        self.begun.finish().await;
        Ok(())
    }

    fn router(self: &Arc<Self>, origin: Origin, authority: Option<Arc<str>>) -> Router {
        let gate = Arc::new(Gate { origin, tallies: self.tallies.clone() });
        let mut router = Router::new()
            .route("/health", get(health::show))
            .route("/metrics", get(metrics::show))
            .route("/openapi.json", get(openapi::serve))
            .route("/api/review", get(reads::review))
            .route("/api/activity", get(reads::activity))
            .route("/api/work", get(reads::work))
            .route("/pair", get(pairing::pairing_screen).post(pairing::pair))
            .route("/secrets/{ref_id}", post(secret_post::give))
            .route("/ws", any(socket::upgrade));
        if let Some(authority) = authority {
            // Public by nature; whoever installs it compares its fingerprint with the one in the terminal.
            let kind = [(axum::http::header::CONTENT_TYPE, "application/x-x509-ca-cert")];
            router = router.route("/ca.pem", get(move || async move { (kind, authority.to_string()) }));
        }
        router
            .fallback(get(assets::serve))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(Extension(gate.clone()))
            .layer(middleware::from_fn_with_state(gate, guard::check))
            .with_state(self.clone())
    }

    /// Takes connections until the server leaves, then gives those that are open a moment to end.
    async fn accept(self: Arc<Self>, listener: TcpListener, entrance: Entrance) {
        let mut connections = JoinSet::new();
        let gone = left(self.leaving.clone());
        tokio::pin!(gone);
        loop {
            let (socket, peer) = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
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
            // What is told comes in small pieces, one after the other: none of them waits for the last to be acknowledged.
            if let Err(cause) = socket.set_nodelay(true) {
                tracing::debug!(%cause, "a connection keeps its delay");
            }
            // Whoever is gone already needs no place.
            let Ok(local) = socket.local_addr() else { continue };
            let (guest, n_left) = entrance.guests.enter(peer, local).await;
            (0..n_left).for_each(|_| self.tallies.count(Turned::Places));
            let (door, router, tls) = (self.clone(), entrance.router.clone(), entrance.tls.clone());
            connections.spawn(async move {
                tokio::select! {
                    () = door.welcome(socket, router, tls, guest.clone()) => {},
                    () = guest.told_to_leave() => {},
                }
            });
        }
        let _whoever_is_slow_is_cut_off =
            tokio::time::timeout(LEAVING_GRACE, async { while connections.join_next().await.is_some() {} }).await;
    }

    /// Open WebSockets.
    pub(crate) fn n_sockets(&self) -> usize {
        self.options.connections_max.saturating_sub(self.places.available_permits())
    }

    async fn welcome(&self, socket: TcpStream, router: Router, tls: Option<TlsAcceptor>, guest: Arc<Guest>) {
        let Some(tls) = tls else { return serve_connection(socket, router, guest, self.leaving.clone()).await };
        match tokio::time::timeout(HEADER_TIMEOUT, tls.accept(socket)).await {
            Ok(Ok(socket)) => serve_connection(socket, router, guest, self.leaving.clone()).await,
            // A browser that does not trust the certificate, a scanner, somebody who speaks plain HTTP.
            Ok(Err(_)) | Err(_) => self.tallies.count(Turned::Handshake),
        }
    }
}

/// What stands behind one listener.
struct Entrance {
    router: Router,
    tls: Option<TlsAcceptor>,
    guests: Arc<Guests>,
}

/// One connection. A client that is slow to say what it wants does not keep its place.
async fn serve_connection<S>(socket: S, router: Router, guest: Arc<Guest>, leaving: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let router = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(guest.clone());
        router.call(request)
    });
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

pub(crate) fn refusal(status: StatusCode, trouble: &Trouble) -> Response {
    let body = serde_json::json!({ "code": trouble.code, "message": trouble.message, "todo": trouble.todo });
    (status, Json(body)).into_response()
}

/// Resolves when the server is going away; a sender that is gone means the same.
pub(crate) async fn left(mut leaving: watch::Receiver<bool>) {
    while !*leaving.borrow_and_update() {
        if leaving.changed().await.is_err() {
            return;
        }
    }
}
