//! `/metrics`: numbers for whoever keeps Silas running, in the text format of Prometheus.
//!
//! They say how much, never what or who. Still only the owner's devices and whoever holds the access token see them: on a
//! shared machine, when somebody works is nobody's business.

use crate::guard::{Gate, single};
use crate::health::Status;
use crate::http::{Door, refusal};
use crate::tallies::Turned;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use silas_runtime::{Gauges, Tally, Waiting};
use std::fmt::Write as _;
use std::sync::Arc;

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(gate): Extension<Arc<Gate>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    // A collector cannot sign, so the token alone will do here: it reads numbers and can change nothing.
    let shown = single(&headers, header::AUTHORIZATION).and_then(|given| given.strip_prefix("Bearer "));
    let has_token = door.options.access.as_ref().zip(shown).is_some_and(|(access, shown)| access.is(shown));
    if !has_token && let Some(refused) = door.turned_away(&gate, &uri, &headers).await {
        return refused;
    }
    match door.stream.hub.gauges().await {
        Ok(gauges) => {
            let status = door.backpressure().await.status();
            ([(header::CONTENT_TYPE, CONTENT_TYPE)], door.page(&gauges, status)).into_response()
        }
        Err(trouble) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &trouble),
    }
}

impl Door {
    fn page(&self, gauges: &Gauges, status: Status) -> String {
        let event = |name: &str| gauges.events.get(name).copied().unwrap_or(0);
        let turned: Tally =
            Turned::ALL.into_iter().map(|why| (why.word().to_owned(), self.tallies.read(why))).collect();
        let refused: Tally = gauges
            .events
            .iter()
            .filter(|(name, _)| name.ends_with("_refused") || name.contains("_blocked") || name.ends_with("_replayed"))
            .map(|(name, n)| (name.clone(), *n))
            .collect();
        let runs = [("step".to_owned(), event("step_run")), ("checks".to_owned(), event("checks_run"))];
        let mut page = Page(String::new());
        page.one("silas_turns_total", "counter", "Messages taken in, from the ledger.", event("message_received"));
        page.many("silas_cards", "gauge", "Cards that wait for the owner.", "state", &gauges.cards);
        page.many("silas_queue_messages", "gauge", "Messages of the durable queue.", "state", &gauges.queue);
        let (fullest, pressure) = (gauges.fullest, gauges.pressure);
        page.one("silas_queue_fullest_key", "gauge", "Messages of the key that has most of them.", fullest.n as u64);
        page.one("silas_queue_key_max", "gauge", "Messages that one key may have.", fullest.max as u64);
        let store = [("reads", pressure.reads), ("writes", pressure.writes)];
        let tally = |of: fn(Waiting) -> usize| store.map(|(word, one)| (word.to_owned(), of(one) as u64));
        let (waiting, most) = (Tally::from(tally(|one| one.n)), Tally::from(tally(|one| one.max)));
        page.many("silas_store_waiting", "gauge", "Changes and looks that wait for the store.", "lane", &waiting);
        page.many("silas_store_waiting_max", "gauge", "As many as may wait.", "lane", &most);
        let overloaded = u64::from(status == Status::Overloaded);
        page.one("silas_overloaded", "gauge", "1 while somebody would be told to come back.", overloaded);
        page.one("silas_work_running", "gauge", "Pieces of work under way.", gauges.n_running);
        page.many("silas_sandbox_runs_total", "counter", "Runs in the sandbox.", "kind", &Tally::from(runs));
        page.many("silas_refusals_total", "counter", "Refusals in the ledger.", "event", &refused);
        page.many("silas_turned_away_total", "counter", "Turned away at the doors.", "reason", &turned);
        page.many("silas_events_total", "counter", "Entries of the ledger.", "event", &gauges.events);
        page.one("silas_sockets", "gauge", "Open WebSockets.", self.n_sockets() as u64);
        page.one("silas_sockets_max", "gauge", "WebSockets that may be open.", self.options.connections_max as u64);
        page.one("silas_durable_commits_total", "counter", "Commits synced to disk.", gauges.n_durable_commits);
        page.many("silas_changes_total", "counter", "Changes that the store kept.", "file", &gauges.changes);
        if let Some(bytes) = resident_bytes() {
            page.one("process_resident_memory_bytes", "gauge", "Memory of the front.", bytes);
        }
        let started = u64::try_from(self.started_at.micros() / 1_000_000).unwrap_or(0);
        page.one("process_start_time_seconds", "gauge", "When the doors opened, since 1970.", started);
        let version = Tally::from([(env!("CARGO_PKG_VERSION").to_owned(), 1)]);
        page.many("silas_build_info", "gauge", "The version that runs.", "version", &version);
        page.0
    }
}

/// The words that appear as labels are our own and need no escaping.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _infallible = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        let _infallible = writeln!(self.0, "{name} {value}");
    }

    fn many(&mut self, name: &str, kind: &str, help: &str, label: &str, values: &Tally) {
        self.head(name, kind, help);
        for (word, value) in values {
            let _infallible = writeln!(self.0, "{name}{{{label}=\"{word}\"}} {value}");
        }
    }
}

/// As the kernel counts it; nothing where it does not say.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
