//! A model at the other end of an HTTP connection.
//!
//! One request at a time, streamed, bounded in time and size. What did not reach the provider, or was turned away by it,
//! is tried again a few times and as late as the provider asks. Redirects are not followed: a key goes where the owner
//! said and nowhere else.

use crate::Error;
use crate::model::{Answering, Effort, Finish, Mode, Model, Reply, Request, ToolCall, Usage};
use crate::wire::{self, Event, sse};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Response, StatusCode, header};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use silas_core::model::ModelName;
use silas_core::secret::Secret;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

mod later;
mod redact;
mod trust;

pub(crate) type Connection = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// How long each part of a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    pub connect: Duration,
    /// Until the answer begins. Models that think take their time.
    pub first: Duration,
    /// Between two pieces of it.
    pub idle: Duration,
    /// For the whole of it.
    pub whole: Duration,
    /// Unit of the pause before a second try, doubled for the third.
    pub pause: Duration,
    /// The longest pause that is made out of sight; whoever pays decides about a longer one.
    pub pause_max: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(90),
            idle: Duration::from_secs(45),
            whole: Duration::from_secs(300),
            pause: Duration::from_millis(500),
            pause_max: Duration::from_secs(2),
        }
    }
}

/// Requests for one call, the first one included.
const TRIES_MAX: u32 = 3;
/// Of the text of an answer; several times what the longest plan needs.
const REPLY_BYTES_MAX: usize = 64 << 10;
/// Calls of tools in one answer.
const CALLS_MAX: usize = 16;
/// Of everything that comes over the wire for one answer. Each of its tokens may come in an event of its own.
const WIRE_BYTES_MAX: usize = 32 << 20;
/// For whoever thinks before it answers: many times a long answer, and what most of them need at most.
const ROOM_TO_THINK: u32 = 16_000;
/// Of the body of an error.
const ERROR_BYTES_MAX: usize = 16 << 10;

pub struct HttpModel {
    name: ModelName,
    key: Option<Secret>,
    connection: Connection,
    timeouts: Timeouts,
    effort: Option<Effort>,
    /// Shared by all calls of one model.
    learnt: Arc<Learnt>,
}

/// What is known about a model from its answers.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    /// How binding its answers can be made: a mode that failed is not tried again.
    mode: AtomicU8,
    /// How often the form was passed over and kept to once it was shown.
    n_shown: AtomicU8,
    /// Whether it thinks before it answers. Told by nobody beforehand, so the first answer may be cut short by it.
    thinks: AtomicBool,
}

/// Connections for all models, with the machine's own list of whom to trust.
pub(crate) fn connection(timeouts: Timeouts) -> Result<Connection, Error> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    // A question is one write; waiting for more of it would only cost time.
    http.set_nodelay(true);
    http.set_connect_timeout(Some(timeouts.connect));
    let https = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(trust::client()?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Ok(Client::builder(TokioExecutor::new()).build(https))
}

impl HttpModel {
    pub(crate) fn new(
        name: ModelName,
        key: Option<Secret>,
        connection: Connection,
        (timeouts, effort): (Timeouts, Option<Effort>),
        learnt: Arc<Learnt>,
    ) -> Self {
        HttpModel { name, key, connection, timeouts, effort, learnt }
    }

    fn host(&self) -> String {
        self.name.host().to_owned()
    }

    async fn ask(&self, request: &Request, told: &mut (dyn FnMut(&str) + Send)) -> Result<Reply, Error> {
        let body = Bytes::from(wire::text(&wire::body(&self.name, request, self.effort)));
        for n in 1.. {
            let error = match self.begin(body.clone()).await {
                Ok(response) => return self.listen(response, request, told).await,
                Err(error) => error,
            };
            let pause = error.retry_after().unwrap_or(self.timeouts.pause * 2u32.saturating_pow(n - 1));
            if n >= TRIES_MAX || !error.may_pass() || pause > self.timeouts.pause_max {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
        Err(Error::Unreachable { host: self.host() })
    }

    /// Sends the question; an answer that begins well is given back to be listened to.
    async fn begin(&self, body: Bytes) -> Result<Response<Incoming>, Error> {
        let key = match &self.key {
            None => None,
            Some(key) => Some(std::str::from_utf8(key.expose()).map_err(|_| Error::Key { host: self.host() })?.trim()),
        };
        let url = format!("{}{}", self.name.url(), wire::path(self.name.provider()));
        let mut request = hyper::Request::builder()
            .method(Method::POST)
            .uri(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .header(header::USER_AGENT, concat!("silas/", env!("CARGO_PKG_VERSION")));
        for (name, value) in wire::headers(self.name.provider(), key) {
            let mut value = header::HeaderValue::from_str(&value).map_err(|_| Error::Key { host: self.host() })?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body)).map_err(|_| Error::Unreachable { host: self.host() })?;
        let response = self.in_time(self.timeouts.first, self.connection.request(request)).await?;
        let response = response.map_err(|cause| self.no_answer(&cause))?;
        if response.status().is_success() { Ok(response) } else { Err(self.turned_away(response).await) }
    }

    /// Only what never got there was surely not billed. A question that was taken and not answered may have been.
    fn no_answer(&self, cause: &hyper_util::client::legacy::Error) -> Error {
        let is_parse = std::error::Error::source(cause)
            .and_then(|inner| inner.downcast_ref::<hyper::Error>())
            .is_some_and(|inner| inner.is_parse() || inner.is_parse_too_large());
        tracing::debug!(host = %self.name.host(), is_connect = cause.is_connect(), is_parse, "a model did not answer");
        let host = self.host();
        match (cause.is_connect(), is_parse) {
            (true, _) => Error::Unreachable { host },
            (false, true) => Error::Garbled { host },
            (false, false) => Error::Cut { host },
        }
    }

    async fn turned_away(&self, response: Response<Incoming>) -> Error {
        let (host, status) = (self.host(), response.status());
        let retry_after = later::asked_for(response.headers());
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Error::Key { host },
            StatusCode::PAYMENT_REQUIRED => Error::Credit { host },
            StatusCode::NOT_FOUND => Error::UnknownModel { host },
            StatusCode::TOO_MANY_REQUESTS => Error::Busy { host, retry_after },
            // 529 is how Anthropic says that it is overloaded.
            status if status == StatusCode::SERVICE_UNAVAILABLE || status.as_u16() == 529 => {
                Error::Busy { host, retry_after }
            }
            status if status.is_server_error() => Error::Failed { host, status: status.as_u16(), retry_after },
            status => {
                let body = self.error_body(response).await;
                let reason = redact::reason(&wire::reason(&body), self.key.as_ref());
                Error::Rejected { host, status: status.as_u16(), reason }
            }
        }
    }

    async fn error_body(&self, response: Response<Incoming>) -> String {
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        // An error that cannot be read is an error without a reason.
        while let Ok(Some(Ok(frame))) = self.in_time(self.timeouts.idle, body.frame()).await {
            if let Some(data) = frame.data_ref() {
                bytes.extend_from_slice(&data[..data.len().min(ERROR_BYTES_MAX - bytes.len())]);
            }
            if bytes.len() >= ERROR_BYTES_MAX {
                break;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    async fn listen(
        &self,
        response: Response<Incoming>,
        request: &Request,
        told: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, Error> {
        let mut body = response.into_body();
        let mut reader = sse::Reader::default();
        let mut heard = Heard::of(request);
        let mut answer = wire::Answer::of(self.name.provider());
        let mut n_bytes = 0usize;
        while let Some(frame) = self.in_time(self.timeouts.idle, body.frame()).await? {
            let frame = frame.map_err(|_| Error::Cut { host: self.host() })?;
            let Some(data) = frame.data_ref() else { continue };
            n_bytes = n_bytes.saturating_add(data.len());
            if n_bytes > WIRE_BYTES_MAX {
                return Err(self.too_long());
            }
            for event in reader.feed(data).map_err(|_| Error::Garbled { host: self.host() })? {
                let events = answer.hear(&event);
                for event in events.ok_or_else(|| Error::Garbled { host: self.host() })? {
                    if self.hear(&mut heard, event, told)? {
                        return Ok(self.learn(heard, answer));
                    }
                }
            }
        }
        // Some servers end without a last word; an answer that said that it is finished is whole all the same.
        if heard.finish.is_some() { Ok(self.learn(heard, answer)) } else { Err(Error::Cut { host: self.host() }) }
    }

    /// The answer, after a look at whether it was thought about.
    fn learn(&self, heard: Heard, answer: wire::Answer) -> Reply {
        if answer.has_thoughts() || heard.usage.is_some_and(|usage| usage.thought_tokens > 0) {
            self.learnt.thinks.store(true, Ordering::Relaxed);
        }
        let verbatim = heard.answer.is_some().then(|| answer.into_verbatim()).flatten();
        Reply { verbatim, ..heard.reply() }
    }

    /// Takes in one event; true after the last.
    fn hear(&self, heard: &mut Heard, event: Event, told: &mut (dyn FnMut(&str) + Send)) -> Result<bool, Error> {
        match event {
            Event::Piece(piece) => {
                self.fits(heard, &piece)?;
                // Whoever says the answer in words instead of calling it is heard too.
                if heard.answer.is_none() || heard.calls.is_empty() {
                    told(&piece);
                }
                heard.text.push_str(&piece);
            }
            Event::Call { at, name, id } => {
                heard.begin(at, name, id).ok_or_else(|| Error::Garbled { host: self.host() })?
            }
            Event::Arguments { at, piece } => {
                self.fits(heard, &piece)?;
                if heard.more(at, &piece).ok_or_else(|| Error::Garbled { host: self.host() })? {
                    told(&piece);
                }
            }
            // The first word about it stands: a refusal is not made complete by what follows.
            Event::Finished(finish) => heard.finish = heard.finish.or(Some(finish)),
            Event::Used(usage) => heard.usage = Some(heard.usage.map_or(usage, |before| later(before, usage))),
            // With nothing said yet nothing was charged.
            Event::Broken { is_busy: true } if heard.n_bytes == 0 => {
                return Err(Error::Busy { host: self.host(), retry_after: None });
            }
            Event::Broken { .. } => return Err(Error::Cut { host: self.host() }),
            Event::End if heard.finish.is_none() => return Err(Error::Cut { host: self.host() }),
            Event::End => return Ok(true),
        }
        Ok(false)
    }

    fn fits(&self, heard: &mut Heard, piece: &str) -> Result<(), Error> {
        heard.n_bytes += piece.len();
        if heard.n_bytes > REPLY_BYTES_MAX { Err(self.too_long()) } else { Ok(()) }
    }

    fn too_long(&self) -> Error {
        Error::TooLong { host: self.host(), max_kib: REPLY_BYTES_MAX >> 10 }
    }

    async fn in_time<T>(&self, limit: Duration, doing: impl Future<Output = T>) -> Result<T, Error> {
        tokio::time::timeout(limit, doing).await.map_err(|_| Error::Timeout { host: self.host() })
    }
}

/// What came so far.
struct Heard {
    /// How the tool is called by which the answer is given, if tools were offered.
    answer: Option<&'static str>,
    text: String,
    /// Each with its place in the stream.
    calls: Vec<(u64, ToolCall)>,
    n_bytes: usize,
    finish: Option<Finish>,
    usage: Option<Usage>,
}

impl Heard {
    fn of(request: &Request) -> Self {
        let answer = (!request.tools.is_empty()).then_some(request.shape.name);
        Heard { answer, text: String::new(), calls: Vec::new(), n_bytes: 0, finish: None, usage: None }
    }

    /// `None` if there are more calls than anybody makes at once.
    fn begin(&mut self, at: u64, name: String, id: Option<String>) -> Option<()> {
        if !self.calls.iter().any(|(place, _)| *place == at) {
            if self.calls.len() >= CALLS_MAX {
                return None;
            }
            self.calls.push((at, ToolCall { name, arguments: String::new(), id }));
        }
        Some(())
    }

    /// Takes in a piece of arguments, and says whether it is a piece of the answer. `None` if they belong to no call.
    fn more(&mut self, at: u64, piece: &str) -> Option<bool> {
        let Some(answer) = self.answer else {
            // The one tool that was asked for is the answer, however it is called and wherever it stands.
            let first = self.calls.first().map_or(at, |(place, _)| *place);
            if at == first {
                self.text.push_str(piece);
            }
            return Some(at == first);
        };
        let (_, call) = self.calls.iter_mut().find(|(place, _)| *place == at)?;
        call.arguments.push_str(piece);
        Some(call.name == answer)
    }

    fn reply(self) -> Reply {
        let calls = match self.answer {
            Some(_) => self.calls.into_iter().map(|(_, call)| call).collect(),
            None => Vec::new(),
        };
        Reply {
            text: self.text,
            calls,
            finish: self.finish.unwrap_or(Finish::Complete),
            usage: self.usage,
            verbatim: None,
        }
    }
}

/// Counts are cumulative, and some events repeat only a part of them.
fn later(before: Usage, now: Usage) -> Usage {
    Usage {
        input_tokens: before.input_tokens.max(now.input_tokens),
        kept_tokens: before.kept_tokens.max(now.kept_tokens),
        output_tokens: before.output_tokens.max(now.output_tokens),
        thought_tokens: before.thought_tokens.max(now.thought_tokens),
        microusd: now.microusd.or(before.microusd),
    }
}

impl Model for HttpModel {
    fn call<'a>(&'a self, request: &'a Request, told: &'a mut (dyn FnMut(&str) + Send)) -> Answering<'a> {
        Box::pin(async move { self.in_time(self.timeouts.whole, self.ask(request, told)).await? })
    }

    fn mode(&self) -> Mode {
        match self.learnt.mode.load(Ordering::Relaxed) {
            0 => Mode::JsonSchema,
            1 => Mode::ForcedTool,
            _ => Mode::Prose,
        }
    }

    fn lower_mode(&self, mode: Mode) {
        let level = match mode {
            Mode::JsonSchema => 0,
            Mode::ForcedTool => 1,
            Mode::Prose => 2,
        };
        self.learnt.mode.fetch_max(level, Ordering::Relaxed);
    }

    fn note_shown(&self) {
        // Once may be a lapse.
        if self.learnt.n_shown.fetch_add(1, Ordering::Relaxed) >= 1 {
            self.lower_mode(Mode::Prose);
        }
    }

    fn room_to_think(&self) -> u32 {
        let thinks = self.effort.is_some() || self.learnt.thinks.load(Ordering::Relaxed);
        if thinks { ROOM_TO_THINK } else { 0 }
    }

    fn kept_percent(&self) -> u64 {
        wire::kept_percent(self.name.provider())
    }
}
