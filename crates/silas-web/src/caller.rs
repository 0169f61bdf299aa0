//! Who asks over HTTP: the same devices as on the socket, by a signature on each request.
//!
//! A signed request is good once and only while it is fresh. There is nothing to steal between requests: no cookie, no
//! session, no token that reads by itself.

use crate::guard::{Side, single};
use crate::http::Door;
use crate::limiter::Limiter;
use crate::protocol::{Credentials, ReadProof, WriteProof};
use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use silas_core::{Digest, KeyId, Nonce, Timestamp, canonical};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The scheme of the `Authorization` header.
const SCHEME: &str = "Silas ";
/// Requests that are remembered, so that none is answered twice; more within their time are turned away.
const NONCES_MAX: usize = 10_000;

/// Why a request is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotAnswered {
    Unknown,
    TooOften,
    /// Its time lies before this server's start; it may have been answered by the one before.
    BeforeStart,
}

/// What a request's signature has to cover.
pub(crate) enum Signed<'a> {
    Read { path: &'a str },
    Write { method: &'static str, path: &'a str, body: Digest },
}

pub(crate) struct Callers {
    freshness: Duration,
    per_minute: u32,
    /// What was answered before this is not remembered, so nothing from before it is answered.
    since: Timestamp,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    nonces: BTreeMap<Nonce, Timestamp>,
    /// One for each device that asked; there are not more than were paired.
    limiters: BTreeMap<KeyId, Limiter>,
}

impl Callers {
    pub(crate) fn new(freshness: Duration, per_minute: u32, since: Timestamp) -> Self {
        Callers { freshness, per_minute, since, seen: Mutex::default() }
    }

    /// Whether the time that a request names is now, give or take.
    fn is_fresh(&self, named: Timestamp, now: Timestamp) -> bool {
        now.since(named) <= self.freshness && named.since(now) <= self.freshness
    }

    /// Takes note of a request whose signature is good.
    fn admit(&self, key: &KeyId, nonce: Nonce, named: Timestamp, now: Timestamp) -> Result<(), NotAnswered> {
        if named < self.since {
            return Err(NotAnswered::BeforeStart);
        }
        // A panic while this is held leaves a map that is still whole.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.nonces.len() >= NONCES_MAX {
            seen.nonces.retain(|_, at| self.is_fresh(*at, now));
        }
        if seen.nonces.contains_key(&nonce) {
            return Err(NotAnswered::Unknown);
        }
        let limiter = seen.limiters.entry(key.clone()).or_insert_with(|| Limiter::per_minute(self.per_minute, now));
        if !limiter.allows(now) || seen.nonces.len() >= NONCES_MAX {
            return Err(NotAnswered::TooOften);
        }
        seen.nonces.insert(nonce, named);
        Ok(())
    }
}

impl Door {
    /// Whether one of the owner's devices asks for exactly this path, now, for the first time.
    pub(crate) async fn known_caller(&self, side: Side, path: &str, headers: &HeaderMap) -> Result<(), NotAnswered> {
        let credentials = self.caller_of(side, headers).await?;
        self.admit(&self.callers, &credentials, &Signed::Read { path }).await
    }

    /// Who says to be asking: one of the owner's devices, just now. What it signed is still to be looked at.
    pub(crate) async fn caller_of(&self, side: Side, headers: &HeaderMap) -> Result<Credentials, NotAnswered> {
        let credentials = credentials(headers).ok_or(NotAnswered::Unknown)?;
        let is_possible = self.lets_in(side, credentials.token.as_deref())
            && self.callers.is_fresh(credentials.timestamp, self.clock.now())
            && matches!(self.stream.trust.device(&credentials.key).await, Ok(Some(_)));
        if is_possible { Ok(credentials) } else { Err(NotAnswered::Unknown) }
    }

    /// Whether exactly this was signed, and for the first time.
    pub(crate) async fn admit(
        &self,
        callers: &Callers,
        credentials: &Credentials,
        signed: &Signed<'_>,
    ) -> Result<(), NotAnswered> {
        if !self.has_signed(signed, credentials).await {
            return Err(NotAnswered::Unknown);
        }
        callers.admit(&credentials.key, credentials.nonce.clone(), credentials.timestamp, self.clock.now())
    }

    async fn has_signed(&self, signed: &Signed<'_>, credentials: &Credentials) -> bool {
        let Ok(Some(device)) = self.stream.trust.device(&credentials.key).await else { return false };
        let (installation, key) = (self.stream.trust.installation(), &credentials.key);
        let (timestamp, nonce) = (credentials.timestamp, &credentials.nonce);
        let message = match signed {
            Signed::Read { path } => {
                canonical::text(&ReadProof { kind: "read", path, installation, key, timestamp, nonce })
            }
            Signed::Write { method, path, body } => canonical::text(&WriteProof {
                kind: "write",
                method,
                path,
                body: *body,
                installation,
                key,
                timestamp,
                nonce,
            }),
        };
        message.is_ok_and(|message| device.body.public.verifies(message.as_bytes(), &credentials.signature))
    }
}

fn credentials(headers: &HeaderMap) -> Option<Credentials> {
    let given = single(headers, header::AUTHORIZATION)?.strip_prefix(SCHEME)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(given.trim()).ok()?).ok()
}

#[cfg(test)]
mod tests;
