//! The hub: what every door is told of, whole when it opens and in updates from then on.

mod activity;
mod asked_models;
pub(crate) mod dead_letters;
mod gauges;
mod grants;
mod in_order;
mod listeners;
mod looks;
mod measures;
mod period;
pub(crate) mod stops;
pub(crate) mod tell_user;
mod telling;

pub(crate) use activity::evidence::no_such_entry;
pub(crate) use activity::{Beside, Told as ToldRow};
pub(crate) use asked_models::AskedModel;
pub use gauges::{Gauges, Tally};
pub(crate) use listeners::Posted;
pub use listeners::{Attached, Listener, Resume};
pub(crate) use tell_user::TellUser;

use crate::assignment::assigned;
use crate::house::{House, lock};
use crate::question::order::cards_from;
use crate::running::Running;
use crate::view::{
    ActivityView, CardsPage, DeadLetterView, DeviceView, DraftView, Entry, GrantsPage, Published, Sender, Snapshot,
    Spent, StopView, TroubleView, UndoView, Update, WorkView,
};
use crate::work_record::WorkRecord;
use crate::{Trouble, Words};
use asked_models::AskedModels;
use gauges::{Changes, Counted};
use in_order::InOrder;
use looks::Looks;
use silas_agents::Minds;
use silas_core::checkpoint::Head;
use silas_core::event::Text;
use silas_core::model::{Period, Role};
use silas_core::{ExecutionId, KeyId, MessageId, Scope, Timestamp, TokenId, reflex};
use silas_store::model_calls;
use silas_store::{ReadTx, channel_outbox, chronicle, devices, executions, ledger, tokens, undo_records};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tokio::sync::{broadcast, watch};

/// Updates that a slow door may fall behind before it starts again from a snapshot.
const UPDATES_KEPT: usize = 256;

/// What the doors of this process share.
pub struct Hub {
    house: Arc<House>,
    running: Arc<Running>,
    updates: broadcast::Sender<Arc<Published>>,
    /// Moves whenever cards may have changed; for work that stands still until one is answered.
    cards_moved: watch::Sender<u64>,
    publishing_cards: InOrder,
    publishing_activity: InOrder,
    /// What the last check of the ledger said.
    verified: Mutex<Option<bool>>,
    /// What was logged as not readable; as many as there are kinds of rows.
    logged: Mutex<BTreeSet<&'static str>>,
    /// What models have said so far, for doors that open meanwhile. Written by the turns; as many as think.
    drafts: Mutex<Vec<DraftView>>,
    /// The models that are waited for.
    pub(crate) asked_models: AskedModels,
    /// What is looked at for answers that are being made.
    pub(crate) looks: Looks,
    /// What [`gauges`] has counted of the ledger so far.
    counted: Mutex<Counted>,
    /// Changes that were kept since the start.
    changes: Arc<Changes>,
    /// What [`measures`] has counted of the last month.
    measured: measures::Kept,
    /// The last number of the channel outbox that may be given out. Moved by whoever commits an entry, read by doors.
    outbox: watch::Sender<u64>,
}

/// What Activity shows: what happened, what is allowed, and to whom.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) activity: ActivityView,
    pub(crate) grants: GrantsPage,
    pub(crate) devices: Vec<DeviceView>,
    pub(crate) no_model: Option<String>,
    left_out: LeftOut,
}

/// What could not be read, with why.
pub(crate) type LeftOut = BTreeMap<&'static str, String>;

/// What the store holds for a snapshot.
#[derive(Default)]
struct Kept {
    entries: Vec<chronicle::Entry>,
    seq: u64,
    cards: CardsPage,
    finished: Vec<executions::Execution>,
    dead_letters: Vec<DeadLetterView>,
    undoable: Vec<executions::Execution>,
    stopped: Option<StopView>,
    left_out: LeftOut,
}

/// Entries and pieces of work that the Stream shows.
const ENTRIES_SHOWN: u32 = 100;
const WORK_SHOWN: u32 = 20;
/// Entries of the ledger that Activity is told from.
const LEDGER_SHOWN: u32 = 400;
impl Hub {
    pub(crate) fn new(house: Arc<House>, running: Arc<Running>) -> Self {
        let (updates, _) = broadcast::channel(UPDATES_KEPT);
        let changes = Changes::counted(&house.store);
        Hub {
            house,
            running,
            asked_models: AskedModels::new(updates.clone()),
            looks: Looks::new(updates.clone()),
            updates,
            cards_moved: watch::Sender::new(0),
            publishing_cards: InOrder::default(),
            publishing_activity: InOrder::default(),
            verified: Mutex::default(),
            logged: Mutex::default(),
            drafts: Mutex::default(),
            counted: Mutex::default(),
            changes,
            measured: measures::Kept::default(),
            outbox: watch::Sender::new(0),
        }
    }

    pub fn updates(&self) -> broadcast::Receiver<Arc<Published>> {
        self.updates.subscribe()
    }

    /// Tells whoever listens; nobody listening is fine.
    pub(crate) fn publish(&self, update: Update) {
        let _nobody_listens = self.updates.send(Arc::new(Published::new(update)));
    }

    /// Everything that a door needs to draw itself. What cannot be read is left out and named, and a door is opened all the
    /// same: who wants to stop something has to get in, whatever the store is like.
    pub async fn snapshot(&self) -> Snapshot {
        let now = self.house.clock.now();
        let mut trouble = None;
        let kept = self.kept(now).await.unwrap_or_else(|cause| {
            trouble = Some(cause);
            Kept { seq: *self.outbox.borrow(), ..Kept::default() }
        });
        let Kept { entries, seq, cards, finished, dead_letters, undoable, stopped, left_out: mut damage } = kept;
        let mut work: BTreeMap<ExecutionId, WorkView> = finished
            .into_iter()
            .filter_map(|execution| serde_json::from_value::<WorkRecord>(execution.result?).ok())
            .map(|record| (record.view.execution.clone(), record.view))
            .collect();
        let mut outputs = Vec::new();
        for (execution, running) in self.running.work().iter() {
            work.insert(execution.clone(), running.view.clone());
            outputs.push(running.output.view(execution));
        }
        outputs.retain(|output| !output.printed.is_empty());
        let mut work: Vec<WorkView> = work.into_values().collect();
        work.sort_by_key(|view| view.started_at);
        let stopped = stopped.filter(|stop| work.iter().all(|view| view.started_at <= stop.at));
        let Told { activity, grants, devices, no_model, left_out } = self.activity().await.unwrap_or_else(|cause| {
            trouble.get_or_insert(cause);
            Told { activity: ActivityView { epoch: self.house.epoch(), ..ActivityView::default() }, ..Told::default() }
        });
        damage.extend(left_out);
        let trouble = trouble.or_else(|| Trouble::left_out(damage.keys().copied()));
        Snapshot {
            installation: self.house.installation().clone(),
            epoch: self.house.epoch(),
            now,
            entries: entries.into_iter().map(entry).collect(),
            seq,
            n_more_cards: cards.n_more_cards,
            cards: cards.cards,
            work,
            outputs,
            // Looked at after the entries: a draft goes before its entry comes.
            answering: lock(&self.drafts).last().cloned(),
            waiting_for: self.asked_models.list(),
            looking: self.looks.list(),
            activity,
            grants: grants.grants,
            n_more_grants: grants.n_more_grants,
            devices,
            understood: reflex::UNDERSTOOD.iter().map(|&sentence| sentence.to_owned()).collect(),
            dead_letters,
            undoable: undoable.into_iter().filter_map(undo).collect(),
            no_model,
            stopped,
            n_durable_commits: self.house.store.n_durable_commits(),
            leaving: self.house.is_stopping(),
            trouble: trouble.map(TroubleView::from),
        }
    }

    async fn kept(&self, now: Timestamp) -> Result<Kept, Trouble> {
        let looking = self.house.store.read(move |tx| {
            let (tx, scope) = (&tx.leaving_out(), &Scope::Owner);
            Ok(Kept {
                entries: chronicle::recent(tx, scope, ENTRIES_SHOWN)?,
                seq: channel_outbox::head(tx, scope)?,
                cards: cards_from(tx, scope, 0)?,
                finished: executions::recent(tx, scope, WORK_SHOWN)?,
                dead_letters: dead_letters::list(tx, scope)?,
                undoable: undo_records::list_open(tx, scope, now)?,
                stopped: stops::last(tx)?,
                left_out: tx.left_out(),
            })
        });
        let kept = looking.await?;
        self.log_left_out(&kept.left_out);
        Ok(kept)
    }

    /// What cannot be read is logged when it is met for the first time.
    pub(crate) fn log_left_out(&self, left_out: &LeftOut) {
        let mut logged = lock(&self.logged);
        for (what, reason) in left_out.iter().filter(|(what, _)| logged.insert(what)) {
            tracing::error!(what, reason, "what is kept cannot be read; it is left out of what is shown");
        }
    }

    pub(crate) async fn activity(&self) -> Result<Told, Trouble> {
        let (now, verified) = (self.house.clock.now(), *lock(&self.verified));
        let cap = self.house.options.models.caps.day;
        let words = self.house.words.clone();
        let engine = self.house.engine.clone();
        let told = self.house.store.read(move |strictly| {
            let tx = &strictly.leaving_out();
            let entries = ledger::latest(tx, LEDGER_SHOWN)?;
            // One that is left out would make the one before it the last, and devices would see a ledger that was cut.
            let head = ledger::head(strictly)?.map(|(seq, hash)| Head { seq, hash });
            let rows = activity::narrate(&entries, &Lookup(tx), &words);
            let away = period::away(&entries, now, &words);
            let rows = activity::newest(rows, &entries, activity::ROWS_MAX);
            let spent = spent(tx, &Period::day(now), cap)?;
            let activity = activity::view(rows, head, engine.anchor().epoch, verified, away, spent);
            let grants = grants::allowed(tx, &engine, &words)?;
            let devices = grants::devices(tx, &engine, &grants)?;
            let grants = grants::page(grants.into_iter().map(|(_, view)| view).collect(), 0);
            let models = engine.models(tx)?;
            Ok((Told { activity, grants, devices, no_model: None, left_out: tx.left_out() }, models))
        });
        let (told, models) = told.await?;
        self.log_left_out(&told.left_out);
        let no_model = assigned(&self.house.options.models, &models, Role::Proxy).is_none().then(Minds::without);
        Ok(Told { no_model, ..told })
    }

    /// Tells the doors that the ledger has grown.
    pub(crate) async fn publish_activity(&self) {
        let publish = |told| match told {
            Ok(Told { activity, grants: GrantsPage { grants, n_more_grants }, devices, no_model, .. }) => {
                self.publish(Update::Activity { activity, grants, n_more_grants, devices, no_model })
            }
            Err(trouble) => tracing::error!(%trouble, "activity cannot be told"),
        };
        self.publishing_activity.publish(self.activity(), publish).await;
    }

    /// Becomes ready when cards may have changed since.
    pub(crate) fn cards_moved(&self) -> watch::Receiver<u64> {
        self.cards_moved.subscribe()
    }

    pub(crate) async fn publish_cards(&self) {
        self.cards_moved.send_modify(|n| *n += 1);
        let publish = |cards| match cards {
            Ok(cards) => self.publish(Update::Cards(cards)),
            Err(trouble) => tracing::error!(%trouble, "cards cannot be read"),
        };
        self.publishing_cards.publish(self.cards(0), publish).await;
    }

    /// The cards from number `from` on, counted from 0 in the order of [`Snapshot::cards`].
    pub async fn cards(&self, from: usize) -> Result<CardsPage, Trouble> {
        let looking = self.house.store.read(move |tx| {
            let tx = &tx.leaving_out();
            Ok((cards_from(tx, &Scope::Owner, from)?, tx.left_out()))
        });
        let (cards, left_out) = looking.await?;
        self.log_left_out(&left_out);
        Ok(cards)
    }

    /// Shows an answer as far as it is made, in place of what was shown of it before.
    pub(crate) fn show_draft(&self, draft: DraftView) {
        {
            let mut drafts = lock(&self.drafts);
            drafts.retain(|other| other.reply != draft.reply);
            drafts.push(draft.clone());
        }
        self.publish(Update::Draft { draft });
    }

    /// However the question ended, what comes next is an entry.
    pub(crate) fn end_draft(&self, reply: &MessageId) {
        lock(&self.drafts).retain(|other| other.reply != *reply);
    }

    pub(crate) fn set_verified(&self, is_sound: bool) {
        *lock(&self.verified) = Some(is_sound);
    }
}

pub(crate) fn entry(stored: chronicle::Entry) -> Entry {
    let (sender, in_models_words) = match stored.sender {
        chronicle::Sender::Owner => (Sender::Owner, false),
        chronicle::Sender::Somebody => (Sender::Somebody, false),
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

pub(crate) fn spent(tx: &ReadTx<'_>, period: &Period, cap: u64) -> Result<Spent, silas_store::Error> {
    let cap = cap.saturating_add(model_calls::extended(tx, period)?);
    Ok(Spent { period: period.to_string(), microusd: model_calls::spent(tx, period)?, cap_microusd: cap })
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
