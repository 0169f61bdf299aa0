//! The stream: Silas's one permanent conversation with its owner, and what it holds while it runs.

use crate::activity::{self, Beside};
use crate::calls::Waiting;
use crate::consumer::Holds;
use crate::gauges::Counted;
use crate::grants;
use crate::letters;
use crate::measures;
use crate::models::{self, KeyRing, ModelOptions, Silences};
use crate::period;
use crate::stopping;
use crate::view::{
    ActivityView, CardsPage, DeviceView, DraftView, Entry, GrantsPage, Published, Sender, Snapshot, UndoView, Update,
    WorkView,
};
use crate::work::{Running, Stop, WorkRecord};
use crate::{Places, Trouble, Words};
use silas_agents::Minds;
use silas_agents::search::Search;
use silas_approval::{Engine, ServerKey, Vault};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::checkpoint::{Head, ServerCertificate};
use silas_core::device::Certificate;
use silas_core::event::Text;
use silas_core::handover::Handovers;
use silas_core::model::{Period, Role};
use silas_core::revocation::Revocations;
use silas_core::roots::Place;
use silas_core::server_keys::ServerKeys;
use silas_core::{Clock, ExecutionId, InstallationId, KeyId, Random, Timestamp, TokenId, reflex};
use silas_sandbox::Launcher;
use silas_store::{ReadTx, Store, cards, channel_outbox, chronicle, devices, executions, ledger, tokens, undo_records};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio::task::{JoinHandle, JoinSet};
use tracing::Instrument;

/// What the owner may turn.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a card waits before it is parked.
    pub plan_timeout: Duration,
    pub undo_window: Duration,
    /// Whether wishes without outside effects are tried out before they are asked about, where the house rules allow it.
    pub rehearse_first: bool,
    /// Wall clock of a piece of work, and of one check.
    pub work_secs: u64,
    /// How old a signed message may be.
    pub message_freshness: Duration,
    /// How long nonces are remembered; longer than messages stay fresh.
    pub nonce_ttl: Duration,
    /// How long what was said is kept.
    pub chronicle_kept: Duration,
    /// Where Silas was started; offered as the first directory.
    pub start_dir: Option<PathBuf>,
    pub models: ModelOptions,
}

/// What a stream is made of.
pub struct Parts {
    pub store: Store,
    pub engine: Engine,
    pub server_key: ServerKey,
    /// That key and those before it: whose word counts for which entries.
    pub server_keys: ServerKeys,
    /// The root key's word for it, for proofs that leave this machine.
    /// Missing while the root key is locked and has not vouched for this server's key yet.
    pub server_certificate: Option<ServerCertificate>,
    /// How the root key came to be the one of the engine's anchor.
    pub handovers: Handovers,
    pub launcher: Arc<Launcher>,
    pub minds: Minds,
    /// There only if the configuration names a search server.
    pub search: Option<Search>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub words: Words,
    pub places: Places,
    /// Asked when a command wants a secret that its plan names.
    pub vault: Arc<Vault>,
    /// Asked for the key of a model, each time that it is asked.
    pub keys: KeyRing,
    pub options: Options,
}

pub struct Stream {
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) server_key: ServerKey,
    pub(crate) server_keys: ServerKeys,
    pub(crate) server_certificate: Option<ServerCertificate>,
    pub(crate) handovers: Handovers,
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) minds: Minds,
    pub(crate) search: Option<Search>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) words: Words,
    pub(crate) places: Places,
    pub(crate) vault: Arc<Vault>,
    pub(crate) keys: KeyRing,
    pub(crate) options: Options,
    /// Held while a secret comes in, so that of two answers to a card the second finds it answered.
    pub(crate) entering: tokio::sync::Mutex<()>,
    /// The leases that turns and workers of this process hold. Written by them, read by the consumer.
    pub(crate) holds: Holds,
    /// The consumer of the queue, from the start until the stop, and the word that stops it.
    consumer: Mutex<Option<JoinHandle<()>>>,
    stopping: watch::Sender<bool>,
    /// Work under way: what it shows and how to stop it. Written by the workers, bounded by what the owner approves.
    running: Mutex<BTreeMap<ExecutionId, Running>>,
    /// Turns that wait for a model. Written by whoever begins one, ended at the stop; one at a time for each scope.
    thinking: Mutex<JoinSet<()>>,
    /// What models have said so far, for doors that open meanwhile. Written by the turns; as many as think.
    pub(crate) drafts: Mutex<Vec<DraftView>>,
    /// When models were asked in the last minute; bounded by the limit for it.
    calls: Mutex<VecDeque<Timestamp>>,
    /// Models that did not pass their test.
    pub(crate) silences: Silences,
    /// Runs whose next call waits for the owner.
    pub(crate) waiting: Waiting,
    /// Moves whenever cards may have changed; for work that stands still until one is answered.
    cards_moved: watch::Sender<u64>,
    /// Moves when the owner interrupts whatever a model is saying.
    interrupt: watch::Sender<u64>,
    /// The last entry that a checkpoint names.
    pub(crate) checkpointed: AtomicU64,
    /// What the last check of the ledger said.
    verified: Mutex<Option<bool>>,
    /// What `gauges` has counted of the ledger so far.
    pub(crate) counted: Mutex<Counted>,
    /// What `measures` has counted of the last month.
    pub(crate) measured: measures::Kept,
    updates: broadcast::Sender<Arc<Published>>,
    /// The last number of the channel outbox that may be given out. Moved by whoever commits an entry, read by doors.
    pub(crate) outbox: watch::Sender<u64>,
    /// What is revoked, for doors that have a device on the line. Written when a newer list is in force.
    pub(crate) revoked: watch::Sender<Arc<Revocations>>,
}

/// What Activity shows: what happened, what is allowed, and to whom.
pub(crate) struct Told {
    pub(crate) activity: ActivityView,
    pub(crate) grants: GrantsPage,
    pub(crate) devices: Vec<DeviceView>,
    pub(crate) no_model: Option<String>,
}

/// Entries and pieces of work that the Stream shows.
const ENTRIES_SHOWN: u32 = 100;
const WORK_SHOWN: u32 = 20;
/// Cards that a door is given at once; the rest is counted and can be asked for.
const CARDS_SHOWN: usize = 200;
/// Entries of the ledger that Activity is told from.
const LEDGER_SHOWN: u32 = 400;
/// Updates that a slow door may fall behind before it starts again from a snapshot.
const UPDATES_KEPT: usize = 256;

impl Stream {
    pub(crate) fn new(parts: Parts) -> Self {
        let (updates, _) = broadcast::channel(UPDATES_KEPT);
        Stream {
            store: parts.store,
            engine: parts.engine,
            server_key: parts.server_key,
            server_keys: parts.server_keys,
            server_certificate: parts.server_certificate,
            handovers: parts.handovers,
            launcher: parts.launcher,
            minds: parts.minds,
            search: parts.search,
            clock: parts.clock,
            random: parts.random,
            words: parts.words,
            places: parts.places,
            vault: parts.vault,
            keys: parts.keys,
            options: parts.options,
            entering: tokio::sync::Mutex::default(),
            holds: Holds::default(),
            consumer: Mutex::new(None),
            stopping: watch::Sender::new(false),
            running: Mutex::new(BTreeMap::new()),
            thinking: Mutex::new(JoinSet::new()),
            drafts: Mutex::default(),
            calls: Mutex::new(VecDeque::new()),
            silences: Silences::default(),
            waiting: Waiting::default(),
            cards_moved: watch::Sender::new(0),
            interrupt: watch::Sender::new(0),
            checkpointed: AtomicU64::new(0),
            verified: Mutex::new(None),
            counted: Mutex::default(),
            measured: measures::Kept::default(),
            updates,
            outbox: watch::Sender::new(0),
            revoked: watch::Sender::default(),
        }
    }

    pub fn installation(&self) -> &InstallationId {
        &self.engine.anchor().installation
    }

    /// Counts restores and resets.
    pub fn epoch(&self) -> u64 {
        self.engine.anchor().epoch
    }

    pub fn updates(&self) -> broadcast::Receiver<Arc<Published>> {
        self.updates.subscribe()
    }

    /// Changes whenever something is revoked. A door closes the connection of a device that is in it.
    pub fn revocations(&self) -> watch::Receiver<Arc<Revocations>> {
        self.revoked.subscribe()
    }

    /// Tells whoever listens; nobody listening is fine.
    pub(crate) fn publish(&self, update: Update) {
        let _nobody_listens = self.updates.send(Arc::new(Published::new(update)));
    }

    pub async fn device(&self, key: &KeyId) -> Result<Option<Certificate>, Trouble> {
        let (engine, key) = (self.engine.clone(), key.clone());
        Ok(self.store.read(move |tx| Ok(engine.device(tx, &key)?)).await?.ok())
    }

    /// Everything that a door needs to draw itself.
    pub async fn snapshot(&self) -> Result<Snapshot, Trouble> {
        let now = self.clock.now();
        let looking = self.store.read(move |tx| {
            let entries = (chronicle::recent(tx, ENTRIES_SHOWN)?, channel_outbox::head(tx)?);
            let cards = open_cards(tx)?;
            let finished = executions::recent(tx, WORK_SHOWN)?;
            let asides = (letters::dead_letters(tx)?, undo_records::list_open(tx, now)?, stopping::last(tx)?);
            Ok((entries, cards, finished, asides))
        });
        let ((entries, seq), cards, finished, (dead_letters, undoable, stopped)) = looking.await?;
        let mut work: BTreeMap<ExecutionId, WorkView> = finished
            .into_iter()
            .filter_map(|execution| serde_json::from_value::<WorkRecord>(execution.result?).ok())
            .map(|record| (record.view.execution.clone(), record.view))
            .collect();
        for running in self.running().values() {
            work.insert(running.view.execution.clone(), running.view.clone());
        }
        let mut work: Vec<WorkView> = work.into_values().collect();
        work.sort_by_key(|view| view.started_at);
        let stopped = stopped.filter(|stop| work.iter().all(|view| view.started_at <= stop.at));
        let Told { activity, grants, devices, no_model } = self.activity().await?;
        Ok(Snapshot {
            installation: self.installation().clone(),
            epoch: self.epoch(),
            now,
            entries: entries.into_iter().map(entry).collect(),
            seq,
            n_more_cards: cards.len().saturating_sub(CARDS_SHOWN),
            cards: cards.into_iter().take(CARDS_SHOWN).collect(),
            work,
            // Looked at after the entries: a draft goes before its entry comes.
            answering: lock(&self.drafts).last().cloned(),
            activity,
            grants: grants.grants,
            n_more_grants: grants.n_more_grants,
            devices,
            understood: reflex::UNDERSTOOD.iter().map(|&sentence| sentence.to_owned()).collect(),
            dead_letters,
            undoable: undoable.into_iter().filter_map(undo).collect(),
            no_model,
            stopped,
            n_durable_commits: self.store.n_durable_commits(),
        })
    }

    pub(crate) async fn activity(&self) -> Result<Told, Trouble> {
        let (now, verified) = (self.clock.now(), *lock(&self.verified));
        let cap = self.options.models.caps.day;
        let words = self.words.clone();
        let engine = self.engine.clone();
        let told = self.store.read(move |tx| {
            let entries = ledger::latest(tx, LEDGER_SHOWN)?;
            let head = ledger::head(tx)?.map(|(seq, hash)| Head { seq, hash });
            let rows = activity::narrate(&entries, &Lookup(tx), &words);
            let away = period::away(&entries, now);
            let rows = activity::newest(rows, &entries, activity::ROWS_MAX);
            let spent = models::spent(tx, &Period::day(now), cap)?;
            let activity = activity::view(rows, head, engine.anchor().epoch, verified, away, spent);
            let grants = grants::allowed(tx, &engine, &words)?;
            let devices = grants::devices(tx, &engine, &grants)?;
            let grants = grants::page(grants.into_iter().map(|(_, view)| view).collect(), 0);
            Ok((Told { activity, grants, devices, no_model: None }, engine.models(tx)?))
        });
        let (told, models) = told.await?;
        let no_model = self.assigned(&models, Role::Proxy).is_none().then(Minds::without);
        Ok(Told { no_model, ..told })
    }

    /// Tells the doors that the ledger has grown.
    pub(crate) async fn publish_activity(&self) {
        match self.activity().await {
            Ok(Told { activity, grants: GrantsPage { grants, n_more_grants }, devices, no_model }) => {
                self.publish(Update::Activity { activity, grants, n_more_grants, devices, no_model })
            }
            Err(trouble) => tracing::error!(%trouble, "activity cannot be told"),
        }
    }

    /// Becomes ready when cards may have changed since.
    pub(crate) fn cards_moved(&self) -> watch::Receiver<u64> {
        self.cards_moved.subscribe()
    }

    pub(crate) async fn publish_cards(&self) {
        self.cards_moved.send_modify(|n| *n += 1);
        match self.store.read(open_cards).await {
            Ok(cards) => self.publish(Update::Cards(page(cards, 0))),
            Err(cause) => tracing::error!(%cause, "cards cannot be read"),
        }
    }

    /// The cards from number `from` on, counted from 0 in the order of [`Snapshot::cards`].
    pub async fn cards(&self, from: usize) -> Result<CardsPage, Trouble> {
        Ok(page(self.store.read(open_cards).await?, from))
    }

    pub(crate) fn set_verified(&self, is_sound: bool) {
        *lock(&self.verified) = Some(is_sound);
    }

    /// From here on the queue is looked after, until [`Stream::stop`].
    pub(crate) fn start_consumer(self: &Arc<Self>) {
        let consuming = self.clone().consume(self.stopping.subscribe());
        *lock(&self.consumer) = Some(tokio::spawn(consuming.in_current_span()));
    }

    pub(crate) async fn stop_consumer(&self) {
        self.stopping.send_replace(true);
        let consumer = lock(&self.consumer).take();
        if let Some(consumer) = consumer
            && let Err(cause) = consumer.await
        {
            tracing::error!(%cause, "the consumer of the queue ended unexpectedly");
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Asks a model in a task of its own, where no channel waits for it.
    pub(crate) fn think(&self, answering: impl Future<Output = ()> + Send + 'static) {
        let mut thinking = lock(&self.thinking);
        while let Some(ended) = thinking.try_join_next() {
            if let Err(cause) = ended {
                tracing::error!(%cause, "a turn ended unexpectedly; its message will be delivered again");
            }
        }
        thinking.spawn(answering.in_current_span());
    }

    /// Turns that are cut short by this are answered after the next start.
    pub(crate) async fn stop_thinking(&self) {
        let mut thinking = std::mem::take(&mut *lock(&self.thinking));
        thinking.shutdown().await;
    }

    /// Ends what a model is saying; what was said so far stays.
    pub fn interrupt(&self) {
        self.interrupt.send_modify(|n| *n += 1);
    }

    pub(crate) fn interrupts(&self) -> watch::Receiver<u64> {
        self.interrupt.subscribe()
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, VecDeque<Timestamp>> {
        lock(&self.calls)
    }

    /// Ends one piece of running work; how many there were. Its copy is thrown away; only what is being put in place already
    /// is finished.
    pub fn end_work(&self, one: &ExecutionId) -> usize {
        self.stop_work(Some(one), Stop::Owner)
    }

    pub(crate) fn stop_work(&self, one: Option<&ExecutionId>, why: Stop) -> usize {
        let mut running = self.running();
        let ends = running.iter_mut().filter(|(execution, _)| one.is_none_or(|one| one == *execution));
        ends.map(|(execution, running)| {
            running.stop(why);
            self.waiting.leave(execution);
        })
        .count()
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, Running>> {
        lock(&self.running)
    }

    /// The directories that the owner named, oldest first.
    pub(crate) async fn roots(&self) -> Result<Vec<Place>, Trouble> {
        let engine = self.engine.clone();
        let allowed = self.store.read(move |tx| Ok(engine.roots(tx)?)).await?;
        Ok(allowed.into_iter().map(|(grant, _)| grant.place).collect())
    }
}

/// A panic while holding one of these locks leaves a value that is still whole: each is written in one assignment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn entry(stored: chronicle::Entry) -> Entry {
    let (sender, in_models_words) = match stored.sender {
        chronicle::Sender::Owner => (Sender::Owner, false),
        chronicle::Sender::Silas => (Sender::Silas, false),
        chronicle::Sender::Model => (Sender::Silas, true),
    };
    let text = match stored.text.as_str() {
        "" => "(forgotten)".to_owned(),
        text => silas_gates::scrub::visible(text),
    };
    Entry { id: stored.id, sender, in_models_words, text, answers: stored.answers, at: stored.at }
}

/// Work that can still be taken back, if it has a name to show.
fn undo(applied: executions::Execution) -> Option<UndoView> {
    let record: WorkRecord = serde_json::from_value(applied.result?).ok()?;
    Some(UndoView { execution: applied.id, title: record.view.title, until: applied.undo_until? })
}

fn page(cards: Vec<Card>, from: usize) -> CardsPage {
    let n_more_cards = cards.len().saturating_sub(from.saturating_add(CARDS_SHOWN));
    CardsPage { cards: cards.into_iter().skip(from).take(CARDS_SHOWN).collect(), n_more_cards }
}

/// What waits for an answer comes first, the oldest before the others. Results, which ask nothing, never stand in its way,
/// nor does what nobody answered in time; of those the newest comes first.
fn open_cards(tx: &ReadTx<'_>) -> Result<Vec<Card>, silas_store::Error> {
    let (mut open, mut rest): (Vec<Card>, Vec<Card>) =
        cards::list_open(tx)?.into_iter().partition(|card| rank(card) == 0);
    rest.reverse();
    rest.sort_by_key(rank);
    open.append(&mut rest);
    Ok(open)
}

fn rank(card: &Card) -> u8 {
    if card.state == CardState::Parked {
        return 2;
    }
    match card.face.kind {
        CardKind::Root
        | CardKind::Passkey
        | CardKind::UnknownEffect
        | CardKind::Refusal
        | CardKind::Model
        | CardKind::Budget
        | CardKind::SecureInput
        | CardKind::ModelChoice
        | CardKind::Decision
        | CardKind::Plan
        | CardKind::Step
        | CardKind::Rehearsed
        | CardKind::Conflict
        | CardKind::HouseRules
        | CardKind::Pairing => 0,
        CardKind::Done | CardKind::Report => 1,
    }
}

/// What the ledger's entries name beside them.
pub(crate) struct Lookup<'a, 'c>(pub(crate) &'a ReadTx<'c>);

impl Beside for Lookup<'_, '_> {
    fn text(&self, text: &Text) -> Option<String> {
        ledger::text_of(self.0, text).ok().flatten()
    }

    fn device(&self, key: &KeyId) -> Option<String> {
        let certificate = devices::get(self.0, key).ok().flatten()?;
        Some(silas_gates::scrub::visible_line(&certificate.body.name, 60))
    }

    fn grant(&self, token: &TokenId, words: &Words) -> Option<String> {
        let kept = tokens::get(self.0, token).ok().flatten()?;
        grants::said(kept.token.body.offer.kind, &kept.payload, words).map(|said| said.title)
    }
}
