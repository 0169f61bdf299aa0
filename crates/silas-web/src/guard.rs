//! Who may ask at all: the checks that come before any handler.
//!
//! Loopback is not trust. A web page can make the browser send requests here, and a name that resolves to 127.0.0.1 can
//! make them look local; so the `Host` must be ours on every request, and the `Origin` on everything that can change
//! something.

use crate::assets;
use crate::tallies::{Tallies, Turned};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Through which door a request came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// From this machine, in the clear.
    Loopback,
    /// From anywhere, encrypted; whoever comes this way has to show the access token too.
    Network,
}

/// The one address under which the page lives. Passkeys will need a name, so it is `localhost` and not a number.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) side: Side,
    host: String,
    pub(crate) origin: String,
    /// Other spellings of the same door; a visitor is sent on to the right one.
    elsewhere: Vec<String>,
}

impl Origin {
    pub(crate) fn on_port(port: u16) -> Self {
        Origin {
            side: Side::Loopback,
            host: format!("localhost:{port}"),
            origin: format!("http://localhost:{port}"),
            elsewhere: vec![format!("127.0.0.1:{port}"), format!("[::1]:{port}")],
        }
    }

    /// A browser leaves out the port that is usual, and writes an address of version 6 in brackets.
    pub(crate) fn of_network(name: &str, port: u16) -> Self {
        let name = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
        let host = if port == 443 { name } else { format!("{name}:{port}") };
        Origin { side: Side::Network, origin: format!("https://{host}"), host, elsewhere: Vec::new() }
    }

    /// Whether a request that can change something comes from our own page.
    pub(crate) fn allows(&self, headers: &HeaderMap) -> bool {
        single(headers, header::ORIGIN).is_some_and(|origin| origin == self.origin)
    }
}

/// A header that is there exactly once and readable.
pub(crate) fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'";
/// Nothing that a page could ask a browser for is needed.
const FEATURES: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";

/// A door's name, and where it counts what it turns away.
pub(crate) struct Gate {
    pub(crate) origin: Origin,
    pub(crate) tallies: Arc<Tallies>,
}

pub(crate) async fn check(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let refused = refuse(&gate, &request);
    let mut response = match refused {
        Some(refusal) => refusal,
        None if is_worker_script(&request) => worker(&gate, request.uri().path()),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("permissions-policy"), FEATURES),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A browser says so when it installs a service worker, or looks whether there is a newer version of one.
fn is_worker_script(request: &Request) -> bool {
    let is_said = single(request.headers(), HeaderName::from_static("service-worker")) == Some("script");
    is_said && matches!(*request.method(), Method::GET | Method::HEAD)
}

/// Whoever held this port while Silas did not run could leave a worker of theirs in a browser, under any name. When it is
/// looked for, ours is what is found, and takes its place.
fn worker(gate: &Gate, path: &str) -> Response {
    let mut response = assets::worker();
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("service-worker-allowed"), HeaderValue::from_static("/"));
    if path != assets::WORKER_PATH {
        if gate.tallies.count_aloud(Turned::Worker) {
            tracing::warn!(
                "a browser has a service worker for this address that is not Silas's: somebody else has answered here. It \
                 is replaced; revoke that browser (`silas device list`) and pair it again"
            );
        }
        // What they let the browser keep goes; its keys are no part of this.
        headers.insert(HeaderName::from_static("clear-site-data"), HeaderValue::from_static("\"cache\""));
    }
    response
}

fn refuse(gate: &Gate, request: &Request) -> Option<Response> {
    let (origin, headers) = (&gate.origin, request.headers());
    let host = single(headers, header::HOST);
    if host != Some(origin.host.as_str()) {
        let known = host.is_some_and(|host| origin.elsewhere.iter().any(|other| other == host));
        if known && request.method() == Method::GET && request.uri().path() == "/" {
            let location = HeaderValue::from_str(&format!("{}/", origin.origin)).ok()?;
            return Some((StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, location)]).into_response());
        }
        gate.tallies.count(Turned::Host);
        return Some(StatusCode::MISDIRECTED_REQUEST.into_response());
    }
    let is_upgrade = headers.contains_key(header::UPGRADE);
    let changes = is_upgrade || !matches!(*request.method(), Method::GET | Method::HEAD);
    (changes && !origin.allows(headers)).then(|| {
        gate.tallies.count(Turned::Origin);
        StatusCode::FORBIDDEN.into_response()
    })
}
