//! The one place where rooms meet. Every line makes one thing from things already made: stores, trust, minds, doors.

use crate::config::{Config, Searching, Thinking};
use crate::home::Home;
use crate::opening::Opening;
use crate::terminal::pairing;
use crate::world::{OsRandom, SystemClock};
use crate::{own, room, server_key, soundness, wall_clock};
use anyhow::{Result, anyhow};
use silas_agents::search::{Search, SearchOptions};
use silas_agents::{Effort, Minds, Timeouts};
use silas_approval::vault::Found;
use silas_approval::{Engine, Vault};
use silas_core::device::Certificate;
use silas_core::evidence::Anchor;
use silas_core::handover::Handovers;
use silas_core::model::{KeySource, Role};
use silas_core::secret::Secret;
use silas_core::{Clock, Random, Timestamp};
use silas_runtime::view::Update;
use silas_runtime::{House, Leaving, MindsOptions, ModelOptions, Options, Places, Stream, TrustOptions, Words};
use silas_sandbox::Launcher;
use silas_store::Store;
use silas_store::model_calls::Caps;
use silas_web::{AccessToken, Door, Listeners};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// What a confined front has in its hands.
pub(crate) struct Front {
    pub config: Config,
    pub home: Home,
    pub anchor: Anchor,
    pub terminal: Certificate,
    pub server: server_key::Ready,
    pub handovers: Handovers,
    pub vault: Vault,
    pub launcher: Arc<Launcher>,
    pub user_home: Option<String>,
    pub start_dir: Option<PathBuf>,
    pub owner_uid: u32,
    /// What leads the browser to the page, with the code in it.
    pub opening: Option<Opening>,
    /// Whether somebody may be looking at what this process prints.
    pub is_looked_at: bool,
}

/// How often parked cards and undo windows are looked at.
const TICK: Duration = Duration::from_secs(1);

/// How long threads may take to end once everything is written down.
const THREADS_END: Duration = Duration::from_secs(2);

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long before its end the log speaks of the certificate, once a day.
const REMIND_BEFORE: Duration = Duration::from_secs(21 * 24 * 3600);

pub(crate) fn open_store(home: &Home) -> Result<Store> {
    open_store_by(home, Arc::new(SystemClock), Arc::new(OsRandom))
}

fn open_store_by(home: &Home, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Result<Store> {
    let opened = Store::open(&home.store(), random, clock);
    opened.map_err(|cause| match cause.code() {
        "E_DB_DAMAGED" => anyhow!("{}", soundness::damaged(home, "agent.sqlite or db.sqlite")),
        "E_DB_FULL" => anyhow!("{} Make room, then start Silas again. (E_DB_FULL)", room::full(&home.path)),
        _ => cause.into(),
    })
}

/// Runs until Ctrl-C or SIGTERM. The first thread of this process is made here, after it was confined.
pub(crate) fn serve(front: Front, listeners: Listeners) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let grace = Duration::from_secs(front.config.backpressure.shutdown_grace_seconds);
    let result = runtime.block_on(serve_until_signal(front, listeners, grace));
    // Whatever could finish has; threads that are still there wait for something that may never come.
    runtime.shutdown_timeout(THREADS_END);
    result
}

async fn serve_until_signal(front: Front, listeners: Listeners, grace: Duration) -> Result<()> {
    let is_looked_at = front.is_looked_at;
    let mut up = Up::start(front, listeners, Arc::new(SystemClock), Arc::new(OsRandom)).await?;
    tokio::select! {
        told = wait_for_signal() => told?,
        _ = &mut up.ticking => {
            tracing::error!("the launcher has ended, so nothing can be done any more; start Silas again");
            std::process::exit(1);
        }
    }
    // A second signal means it: no more waiting.
    tokio::spawn(async {
        if wait_for_signal().await.is_ok() {
            std::process::exit(crate::exit::INTERRUPTED.into());
        }
    });
    if up.stream.n_under_way() > 0 && !grace.is_zero() {
        tell_of_draining(up.stream.n_under_way(), grace, is_looked_at);
    }
    up.leave(grace).await
}

/// A Silas that is up: what it is made of, put together, and its doors open.
pub(crate) struct Up {
    pub(crate) stream: Arc<Stream>,
    leave: watch::Sender<bool>,
    serving: JoinHandle<Result<(), silas_web::Error>>,
    /// Keeps time; over when the launcher is gone.
    ticking: JoinHandle<()>,
    /// Ended when it leaves: they tidy up, and tell people things.
    beside: JoinSet<()>,
}

impl Up {
    pub(crate) async fn start(
        front: Front,
        listeners: Listeners,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Up> {
        let store = open_store_by(&front.home, clock.clone(), random.clone())?;
        let engine = Engine::new(front.anchor.clone(), clock.clone(), random.clone());
        let vault = Arc::new(front.vault);
        let house = House {
            store,
            engine,
            launcher: front.launcher.clone(),
            clock: clock.clone(),
            random: random.clone(),
            words: Words::new(front.user_home.clone()).by_the_clock(wall_clock::on_the_wall),
            places: Places { home: front.user_home.map(PathBuf::from), own: own::with(&front.home.path) },
            options: options(&front.config, front.start_dir),
            leaving: Leaving::default(),
        };
        let trust = TrustOptions {
            server_key: front.server.key,
            server_keys: front.server.keys,
            server_certificate: front.server.certificate,
            handovers: front.handovers,
            vault: vault.clone(),
        };
        let minds = MindsOptions {
            client: Minds::new(timeouts(&front.config)).thinking(effort(&front.config)),
            search: search(&front.config),
            keys: Arc::new(move |source| key(source, &vault)),
            listens_at: silas_web::listens_at,
        };
        let version = env!("CARGO_PKG_VERSION");
        let stream = Stream::start(house, trust, minds, front.terminal, version).await?;
        stream.trust.verify_new_entries().await?;
        tracing::info!(version, data_dir = %front.home.path.display(), "started");

        let mut beside = JoinSet::new();
        if let Some(ends) = listeners.certificate_ends() {
            beside.spawn(remind(ends, clock.clone()));
        }
        if front.is_looked_at {
            beside.spawn(tell_paired(stream.clone()));
        }
        let (leave, leaving) = watch::channel(false);
        let door = Door::new(stream.clone(), clock, random, door_options(&front.config), leaving);
        if let Some(opening) = front.opening {
            let door = door.clone();
            beside.spawn(async move { opening.keep(&door).await });
        }
        let serving = tokio::spawn(door.serve(listeners, front.owner_uid));
        let ticking = tokio::spawn(tick(stream.clone(), front.launcher));
        beside.spawn(stream.clone().keep_house());
        Ok(Up { stream, leave, serving, ticking, beside })
    }

    /// Lets what is under way finish for as long as `grace` at most, writes everything down, and closes the doors.
    pub(crate) async fn leave(mut self, grace: Duration) -> Result<()> {
        self.ticking.abort();
        self.beside.shutdown().await;
        // The doors stay open until everything is written down: whoever looks sees how far it is, and a stop ends it sooner.
        self.stream.stop(grace).await?;
        self.leave.send_replace(true);
        self.serving.await.map_err(|panic| anyhow!("the doors failed: {panic}"))??;
        Ok(())
    }
}

/// Whoever pressed Ctrl-C hears why it takes a while.
fn tell_of_draining(n_under_way: usize, grace: Duration, is_looked_at: bool) {
    let secs = grace.as_secs();
    tracing::info!(n_under_way, grace_seconds = secs, "stopping; what is under way may finish");
    if is_looked_at {
        println!(
            "\n  Stopping. What is under way may finish, for {secs} seconds at most; Ctrl-C again ends it at once."
        );
    }
}

fn options(config: &Config, start_dir: Option<PathBuf>) -> Options {
    Options {
        plan_timeout: Duration::from_secs(config.approval.plan_timeout_seconds),
        rehearse_first: config.approval.rehearse_first,
        undo_window: Duration::from_secs(config.undo.window_seconds),
        work_secs: config.sandbox.default_timeout_seconds,
        message_freshness: Duration::from_secs(config.nonce_store.freshness_seconds),
        nonce_ttl: Duration::from_secs(config.nonce_store.ttl_minutes * 60),
        chronicle_kept: Duration::from_secs(config.retention.chronicle_days * 24 * 3600),
        start_dir,
        models: models(config),
    }
}

pub(crate) fn models(config: &Config) -> ModelOptions {
    let models = &config.models;
    let named = [
        (Role::Proxy, &models.proxy, &models.proxy_key),
        (Role::Planner, &models.planner, &models.planner_key),
        (Role::Executor, &models.executor, &models.executor_key),
    ];
    let named = named.into_iter().filter_map(|(role, model, key)| {
        let model = model.clone()?;
        let key = key.clone().unwrap_or_else(|| KeySource::usual(model.provider()));
        Some((role, model, key))
    });
    ModelOptions {
        named: named.collect(),
        local_only: models.local_only,
        caps: Caps { day: models.daily_cap_cents * CENT, month: models.monthly_cap_cents * CENT },
        calls_per_minute: config.limits.llm_calls_per_minute_per_scope,
        turn_tokens_max: models.turn_budget_tokens,
        patience: Duration::from_secs(models.patience_minutes * 60),
        replans_max: models.replans_max,
    }
}

/// Without an address there is no such tool.
fn search(config: &Config) -> Option<Search> {
    let Searching { url, domains, results_max } = &config.search;
    let domains = domains.clone().unwrap_or_default();
    Some(Search::new(SearchOptions { url: url.clone()?, domains, results_max: *results_max }))
}

/// In micro-dollars.
const CENT: u64 = 10_000;

fn timeouts(config: &Config) -> Timeouts {
    let first = Duration::from_secs(config.models.timeout_seconds);
    Timeouts { first, idle: first / 2, ..Timeouts::default() }
}

fn effort(config: &Config) -> Option<Effort> {
    match config.models.effort {
        Thinking::Auto => None,
        Thinking::Low => Some(Effort::Low),
        Thinking::Medium => Some(Effort::Medium),
        Thinking::High => Some(Effort::High),
    }
}

/// The key of a model, fetched when it is needed. An empty variable is no key.
fn key(source: &KeySource, vault: &Vault) -> Option<Secret> {
    match source {
        KeySource::None => None,
        KeySource::Vault(reference) => match vault.get(reference) {
            Found::Value(secret) => Some(secret),
            Found::Unknown | Found::Locked | Found::Damaged => None,
        },
        KeySource::Variable(name) => {
            std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| Secret::new(value.into_bytes()))
        }
    }
}

fn door_options(config: &Config) -> silas_web::Options {
    silas_web::Options {
        messages_per_minute: config.limits.ws_messages_per_minute_per_scope,
        messages_per_minute_per_address: config.limits.ws_messages_per_minute_per_ip,
        connections_max: config.limits.connections_max,
        freshness: Duration::from_secs(config.nonce_store.freshness_seconds),
        beat: Duration::from_secs(config.limits.ws_beat_seconds),
        access: config.web.auth_token.clone().map(|token| AccessToken::new(token.0)),
    }
}

async fn tick(stream: Arc<Stream>, launcher: Arc<Launcher>) {
    let mut every = tokio::time::interval(TICK);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !launcher.is_gone() {
        every.tick().await;
        if let Err(trouble) = stream.tick().await {
            tracing::error!(%trouble, "time could not be kept");
        }
    }
}

/// A server that runs for a year outlives its certificate, which is read and renewed at the start only.
async fn remind(ends: Timestamp, clock: Arc<dyn Clock>) {
    let mut every = tokio::time::interval(DAY);
    loop {
        every.tick().await;
        if ends.since(clock.now()) < REMIND_BEFORE {
            tracing::warn!(%ends, "the certificate of the encrypted door ends soon; start Silas again to renew it");
        }
    }
}

/// Whoever started Silas in a terminal sees there which browser was paired, to compare it with the page.
async fn tell_paired(stream: Arc<Stream>) {
    let mut updates = stream.hub.updates();
    let mut known = stream.hub.snapshot().await.devices;
    loop {
        match updates.recv().await {
            Ok(published) => {
                if let Update::Activity { devices, .. } = published.update() {
                    if let Some(device) = pairing::newcomer(&known, devices.clone()) {
                        println!("\n  {}", pairing::paired(&device));
                    }
                    known.clone_from(devices);
                }
            }
            // What was missed was older than what comes next, and that has all devices again.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

async fn wait_for_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
