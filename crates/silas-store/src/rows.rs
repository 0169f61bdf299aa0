//! Whether the rows that people are shown are what the ledger tells: the conversation, executions with what came of them,
//! devices, and the faces of cards, and whose they are. What no entry tells of, or another way, is named.
//!
//! Rows go with their time. When that is over the ledger's texts go first, in their order, so a message or a card may be
//! missing only before the first text that is still kept; a device and a piece of work have no such time. Of a text that was
//! forgotten nothing can be compared, and with it cards may have gone that were laid down before. Words that the owner did not
//! sign are kept without what reads like an order, so of those only whose they are is compared. Cards of versions that told the
//! ledger nothing of them are counted.

mod certificates;
mod results;
mod scopes;

use crate::audit::Keeper;
use crate::chronicle::{self, Sender};
use crate::columns::id;
use crate::{Error, ReadTx, cards, devices, executions, ledger, params, work_items};
use silas_core::card::{Card, CardState};
use silas_core::check::Outcome;
use silas_core::event::{AuditEvent, Text};
use silas_core::execution::ExecutionState;
use silas_core::token::Kind;
use silas_core::{CardId, Digest, ExecutionId, KeyId, MessageId, Taint, Timestamp, TokenId};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Rows held in memory at a time.
const BATCH: u32 = 500;

/// Between what a message says of its time and the entry that tells of it; a machine may sleep in between.
const WRITTEN_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// A row that is not what the ledger tells.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Altered {
    #[error("Message {0} of the conversation is not as it was recorded")]
    Message(MessageId),
    #[error("The conversation holds message {0}, of which the ledger knows nothing")]
    StrayMessage(MessageId),
    #[error("Message {0} of the conversation is not where or when it was recorded")]
    MovedMessage(MessageId),
    #[error("Message {0} of the conversation is not kept any more, and its time is not over")]
    LostMessage(MessageId),
    #[error("Execution {0} is kept otherwise than the ledger tells it")]
    Execution(ExecutionId),
    #[error("Execution {0} was begun, and is not kept any more")]
    LostExecution(ExecutionId),
    #[error(
        "What is kept of execution {0} is not what was recorded: what was printed, how its checks went, or what differs"
    )]
    Result(ExecutionId),
    #[error("What came of execution {0} is not kept any more, and its time is not over")]
    LostResult(ExecutionId),
    #[error("Device {0} is kept otherwise than the root key certified it")]
    Device(String),
    #[error("Device {0} was taken in and never revoked, and is not kept any more")]
    LostDevice(KeyId),
    #[error("Card {0} does not show what was offered")]
    Card(CardId),
    #[error("Card {0} is not kept any more, and its time is not over")]
    LostCard(CardId),
    #[error("Card {0} was answered, and asks as if it had not been")]
    Reopened(CardId),
    #[error("A row of the table {table} cannot be read")]
    Unreadable { table: &'static str },
    #[error(
        "The row {id} of the table {table} is kept as somebody else's than the owner's, of which the ledger knows nothing"
    )]
    Foreign { table: &'static str, id: String },
}

/// What the entries told so far about rows that are still there.
#[derive(Default)]
pub(crate) struct Rows {
    /// When the last entry was recorded.
    last_at: Option<Timestamp>,
    /// Whether a text was met that is still kept: from there on nothing is past its time.
    is_in_time: bool,
    /// The place of the last message that was found.
    last_seq: Option<i64>,
    /// The first message that should be there and is not.
    lost_message: Option<MessageId>,
    /// Cards whose time is not over since they were first told of, and nothing was forgotten since.
    due_cards: BTreeSet<CardId>,
    /// The same of work that has something to show.
    due_results: BTreeSet<ExecutionId>,
    /// Messages of the conversation that an entry told of.
    told: BTreeSet<MessageId>,
    executions: BTreeMap<ExecutionId, Told>,
    /// House rules: what is rehearsed under them is another plan each time.
    rules: BTreeSet<TokenId>,
    /// What each card showed last.
    shown: BTreeMap<CardId, Shown>,
    /// Cards about which a device decided.
    decided: BTreeSet<CardId>,
    /// Devices that were taken in, or decided something, and were not revoked.
    devices: BTreeSet<KeyId>,
}

/// How far the instant of an entry can be believed.
struct Recorded {
    at: Timestamp,
    /// Later than the entry before it, so it is what the clock said. After a clock was set back, entries carry the highest
    /// time there was until it is reached again.
    is_dated: bool,
    is_in_time: bool,
}

impl Recorded {
    fn must_be_there(&self) -> bool {
        self.is_dated && self.is_in_time
    }

    /// What was said is written down soon. Later than its entry it cannot have been.
    fn is_the_time_of(&self, said: Timestamp) -> bool {
        let is_after = said > self.at && said.since(self.at) > WRITTEN_WITHIN;
        let is_before = self.is_dated && said < self.at && self.at.since(said) > WRITTEN_WITHIN;
        !is_after && !is_before
    }
}

struct Shown {
    /// What it asked for, if it asked for anything.
    plan_hash: Option<Digest>,
    /// The hash of its face.
    face: Digest,
}

struct Told {
    token: TokenId,
    plan_hash: Digest,
    use_number: u32,
    stage: Stage,
    /// What it was called when it began. Orders to apply and to undo are not called anything.
    title: Option<Text>,
    /// What came of it, as it was told last.
    outcome: Option<Outcome>,
    files: Option<u32>,
    /// The hash of what is kept of it. Nothing was told of it by earlier versions.
    result: Option<Digest>,
}

enum Stage {
    /// Nothing about its end: orders to apply and to undo end without a word of their own.
    Begun,
    Rehearsed,
    Conflicted,
    Applied(Digest),
    Ended,
    Undone,
}

impl Rows {
    /// Compares a message at once, and remembers what later entries may change.
    pub(crate) fn enter(
        &mut self,
        tx: &ReadTx<'_>,
        at: Timestamp,
        event: &AuditEvent,
    ) -> Result<Result<(), Altered>, Error> {
        let recorded = self.recorded(tx, at, event)?;
        match event {
            AuditEvent::MessageReceived { message, taint, text } => {
                return self.received(tx, &recorded, message, *taint, text);
            }
            AuditEvent::ReplySent { message, text } => return self.replied(tx, &recorded, message, text),
            AuditEvent::CardOffered { card, .. } | AuditEvent::CardShown { card, .. }
                if recorded.must_be_there() && !self.shown.contains_key(card) =>
            {
                self.due_cards.insert(card.clone());
            }
            // What went with the text is not told.
            AuditEvent::TextForgotten { .. } => {
                self.due_cards.clear();
                self.due_results.clear();
            }
            AuditEvent::ResultKept { execution, .. } => {
                let is_first = self.executions.get(execution).is_some_and(|told| told.result.is_none());
                if is_first && recorded.must_be_there() {
                    self.due_results.insert(execution.clone());
                }
            }
            _ => {}
        }
        self.remember(event);
        Ok(Ok(()))
    }

    /// What an entry says that later ones are held against.
    fn remember(&mut self, event: &AuditEvent) {
        match event {
            AuditEvent::CardOffered { card, plan_hash, shown, .. } => {
                self.shown.insert(card.clone(), Shown { plan_hash: Some(*plan_hash), face: *shown });
            }
            AuditEvent::CardShown { card, shown } => {
                self.shown.insert(card.clone(), Shown { plan_hash: None, face: *shown });
            }
            AuditEvent::DevicePaired { key, .. }
            | AuditEvent::PasskeyRegistered { key, .. }
            | AuditEvent::TerminalCertified { key } => {
                self.devices.insert(key.clone());
            }
            AuditEvent::DeviceRevoked { key, .. } => {
                self.devices.remove(key);
            }
            AuditEvent::HouseRulesSigned { token, key } => {
                self.devices.insert(key.clone());
                self.rules.insert(token.clone());
            }
            AuditEvent::DecisionRecorded { card, token, kind, key, .. } => {
                self.devices.insert(key.clone());
                self.decided.insert(card.clone());
                if *kind == Kind::HouseRules {
                    self.rules.insert(token.clone());
                }
            }
            AuditEvent::TokenSpent { token, execution, plan_hash, use_number } => {
                let (token, plan_hash, use_number) = (token.clone(), *plan_hash, *use_number);
                let stage = Stage::Begun;
                let (title, outcome, files, result) = (None, None, None, None);
                let told = Told { token, plan_hash, use_number, stage, title, outcome, files, result };
                self.executions.insert(execution.clone(), told);
            }
            AuditEvent::WorkStarted { execution, title, .. } => {
                self.change(execution, |told| told.title = Some(title.clone()));
            }
            // Applying it runs the checks again and may come to nothing: only its end has an outcome that stays.
            AuditEvent::WorkRehearsed { execution, files, .. } => self.change(execution, |told| {
                (told.stage, told.files) = (Stage::Rehearsed, Some(*files));
            }),
            AuditEvent::ApplyConflicted { execution, .. } => {
                self.change(execution, |told| told.stage = Stage::Conflicted);
            }
            AuditEvent::WorkApplied { execution, changeset, files, outcome, .. } => self.change(execution, |told| {
                (told.stage, told.files, told.outcome) = (Stage::Applied(*changeset), Some(*files), Some(*outcome));
            }),
            AuditEvent::WorkEnded { execution, outcome, .. } => self.change(execution, |told| {
                (told.stage, told.outcome) = (Stage::Ended, Some(*outcome));
            }),
            AuditEvent::ResultKept { execution, result } => self.change(execution, |told| told.result = Some(*result)),
            AuditEvent::EffectUnknown { execution, .. } => self.change(execution, |told| told.stage = Stage::Ended),
            AuditEvent::WorkUndone { execution, .. } => self.change(execution, |told| told.stage = Stage::Undone),
            _ => {}
        }
    }

    fn change(&mut self, execution: &ExecutionId, change: impl FnOnce(&mut Told)) {
        self.executions.get_mut(execution).map(change).unwrap_or_default();
    }

    fn recorded(&mut self, tx: &ReadTx<'_>, at: Timestamp, event: &AuditEvent) -> Result<Recorded, Error> {
        let is_dated = self.last_at.replace(at).is_none_or(|last| last < at);
        if !self.is_in_time
            && let Some(text) = event.text()
        {
            // A text that is not the recorded one is the chain's to name.
            self.is_in_time = readable(ledger::text_of(tx, text))?.flatten().is_some();
        }
        Ok(Recorded { at, is_dated, is_in_time: self.is_in_time })
    }

    /// The message that an entry tells of, if it is kept.
    fn kept(
        &mut self,
        tx: &ReadTx<'_>,
        recorded: &Recorded,
        message: &MessageId,
    ) -> Result<Result<Option<chronicle::Entry>, Altered>, Error> {
        let Some(found) = readable(chronicle::get(tx, message))? else { return Ok(Err(unreadable("chronicle"))) };
        let Some((seq, entry)) = found else {
            if recorded.must_be_there() {
                self.lost_message.get_or_insert_with(|| message.clone());
            }
            return Ok(Ok(None));
        };
        self.told.insert(message.clone());
        let is_behind = self.last_seq.replace(seq).is_none_or(|last| last < seq);
        Ok(match is_behind && recorded.is_the_time_of(entry.at) {
            true => Ok(Some(entry)),
            false => Err(Altered::MovedMessage(message.clone())),
        })
    }

    fn received(
        &mut self,
        tx: &ReadTx<'_>,
        recorded: &Recorded,
        message: &MessageId,
        taint: Taint,
        text: &Text,
    ) -> Result<Result<(), Altered>, Error> {
        let entry = match self.kept(tx, recorded, message)? {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(Ok(())),
            Err(altered) => return Ok(Err(altered)),
        };
        let is_theirs = match (taint, entry.sender) {
            (Taint::Owner, Sender::Owner) => true,
            // Databases of earlier versions say so of everybody, and are mended when they are opened.
            (Taint::Auth | Taint::External, Sender::Owner | Sender::Somebody) => entry.taint == taint,
            _ => false,
        };
        let is_same = taint == Taint::External || is_said(tx, &entry.text, text)?;
        Ok(if is_theirs && is_same { Ok(()) } else { Err(Altered::Message(message.clone())) })
    }

    fn replied(
        &mut self,
        tx: &ReadTx<'_>,
        recorded: &Recorded,
        message: &MessageId,
        text: &Text,
    ) -> Result<Result<(), Altered>, Error> {
        let entry = match self.kept(tx, recorded, message)? {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(Ok(())),
            Err(altered) => return Ok(Err(altered)),
        };
        let is_ours = matches!(entry.sender, Sender::Silas | Sender::Model);
        let is_same = is_ours && is_said(tx, &entry.text, text)?;
        Ok(if is_same { Ok(()) } else { Err(Altered::Message(message.clone())) })
    }

    /// After the last entry: every row against what was told of it. How many there are of which nothing was told.
    pub(crate) fn close(self, tx: &ReadTx<'_>, keeper: &Keeper) -> Result<Result<u64, Altered>, Error> {
        let n_untold = Cell::new(0);
        let found = [
            self.messages(tx)?,
            self.lost_message.clone().map(Altered::LostMessage),
            self.executions(tx)?,
            self.lost_execution(tx)?,
            results::first_otherwise(tx, &self.executions)?,
            results::first_lost(tx, &self.due_results)?,
            certificates::first_otherwise(tx, keeper)?,
            scopes::first_foreign(tx)?,
            self.lost_device(tx)?,
            self.cards(tx, &n_untold)?,
            self.lost_card(tx)?,
        ];
        Ok(found.into_iter().flatten().next().map_or(Ok(n_untold.get()), Err))
    }

    fn messages(&self, tx: &ReadTx<'_>) -> Result<Option<Altered>, Error> {
        let sql = "SELECT id FROM chronicle WHERE id > ?1 ORDER BY id LIMIT ?2";
        let found = first_in(tx, sql, |row| id::<MessageId>(row, "id"), |message| Ok(!self.told.contains(message)))?;
        Ok(found.map(|found| found.map_or(unreadable("chronicle"), Altered::StrayMessage)))
    }

    fn executions(&self, tx: &ReadTx<'_>) -> Result<Option<Altered>, Error> {
        let sql = "SELECT id FROM executions WHERE id > ?1 ORDER BY id LIMIT ?2";
        let is_other = |execution: &ExecutionId| -> Result<bool, Error> {
            // One that no entry tells of is named by the books.
            let Some(told) = self.executions.get(execution) else { return Ok(false) };
            let Some(Some(kept)) = readable(executions::get(tx, execution))? else { return Ok(true) };
            let state = kept.state;
            let is_reached = match told.stage {
                Stage::Begun => matches!(state, ExecutionState::Running | ExecutionState::Ended),
                Stage::Rehearsed => state == ExecutionState::Rehearsed,
                Stage::Conflicted => {
                    matches!(state, ExecutionState::Running | ExecutionState::Rehearsed | ExecutionState::Ended)
                }
                Stage::Applied(changeset) => state == ExecutionState::Applied && kept.changeset == Some(changeset),
                Stage::Ended => state == ExecutionState::Ended,
                Stage::Undone => state == ExecutionState::Undone,
            };
            let is_spent = kept.token == told.token && kept.use_number == told.use_number;
            Ok(!is_reached
                || !is_spent
                || !self.is_of_plan(tx, &kept, told)?
                || !results::is_what_came_of_it(tx, &kept, told)?)
        };
        let found = first_in(tx, sql, |row| id::<ExecutionId>(row, "id"), is_other)?;
        Ok(found.map(|found| found.map_or(unreadable("executions"), Altered::Execution)))
    }

    /// Whether an execution is of the plan that was approved; under the house rules, of the one that it is said to be of.
    fn is_of_plan(&self, tx: &ReadTx<'_>, kept: &executions::Execution, told: &Told) -> Result<bool, Error> {
        if !self.rules.contains(&told.token) {
            return Ok(kept.plan_hash == told.plan_hash);
        }
        let Some(item) = readable(work_items::get(tx, &kept.work_item))? else { return Ok(false) };
        let Some(item) = item.map(|stored| stored.item) else { return Ok(true) };
        Ok(kept.plan_hash == Digest::of(item.canonical()?.as_bytes()))
    }

    /// What was spent and never called anything is no work: an order to apply or undo, a use of the house rules.
    fn lost_execution(&self, tx: &ReadTx<'_>) -> Result<Option<Altered>, Error> {
        for execution in self.executions.iter().filter(|(_, told)| told.title.is_some()).map(|(id, _)| id) {
            if readable(executions::get(tx, execution))?.is_some_and(|kept| kept.is_none()) {
                return Ok(Some(Altered::LostExecution(execution.clone())));
            }
        }
        Ok(None)
    }

    fn lost_card(&self, tx: &ReadTx<'_>) -> Result<Option<Altered>, Error> {
        for card in &self.due_cards {
            if readable(cards::get(tx, card))?.is_some_and(|kept| kept.is_none()) {
                return Ok(Some(Altered::LostCard(card.clone())));
            }
        }
        Ok(None)
    }

    fn lost_device(&self, tx: &ReadTx<'_>) -> Result<Option<Altered>, Error> {
        for key in &self.devices {
            // One that cannot be read is there, and named for that.
            if readable(devices::get(tx, key))?.is_some_and(|kept| kept.is_none()) {
                return Ok(Some(Altered::LostDevice(key.clone())));
            }
        }
        Ok(None)
    }

    fn cards(&self, tx: &ReadTx<'_>, n_untold: &Cell<u64>) -> Result<Option<Altered>, Error> {
        let sql = "SELECT id FROM cards WHERE id > ?1 ORDER BY id LIMIT ?2";
        let is_reopened = |card: &Card| {
            let asks = matches!(card.state, CardState::Open | CardState::Parked);
            asks && self.decided.contains(&card.id)
        };
        let is_other = |card: &CardId| -> Result<bool, Error> {
            let Some(Some(kept)) = readable(cards::get(tx, card))? else { return Ok(true) };
            if !self.shown.contains_key(card) {
                n_untold.set(n_untold.get() + 1);
            }
            Ok(is_reopened(&kept) || self.is_otherwise(card, &kept)?)
        };
        let Some(found) = first_in(tx, sql, |row| id::<CardId>(row, "id"), is_other)? else { return Ok(None) };
        let Some(card) = found else { return Ok(Some(unreadable("cards"))) };
        let kept = readable(cards::get(tx, &card))?.flatten();
        Ok(Some(match kept.is_some_and(|kept| is_reopened(&kept)) {
            true => Altered::Reopened(card),
            false => Altered::Card(card),
        }))
    }

    /// Whether a card says or asks something else than the ledger heard last.
    fn is_otherwise(&self, id: &CardId, card: &Card) -> Result<bool, Error> {
        let face = card.face.hash()?;
        let is_itself = card.id == *id && card.offer.as_ref().is_none_or(|offer| offer.shown == face);
        let asks = card.payload.as_deref().map(|payload| Digest::of(payload.as_bytes()));
        let is_shown = self.shown.get(id).is_none_or(|shown| {
            shown.face == face && shown.plan_hash.zip(asks).is_none_or(|(plan_hash, asks)| plan_hash == asks)
        });
        Ok(!is_itself || !is_shown)
    }
}

fn unreadable(table: &'static str) -> Altered {
    Altered::Unreadable { table }
}

/// `None` for a row that cannot be read.
fn readable<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a row says what the ledger keeps; what was forgotten on either side says nothing any more.
fn is_said(tx: &ReadTx<'_>, kept: &str, text: &Text) -> Result<bool, Error> {
    // A text that is not the recorded one is the chain's to name.
    let Some(recorded) = readable(ledger::text_of(tx, text))?.flatten() else { return Ok(true) };
    Ok(kept.is_empty() || kept == recorded)
}

/// The first row that is not as it should be; `None` inside if its name cannot even be read.
fn first_in<T: Ord + ToString>(
    tx: &ReadTx<'_>,
    sql: &'static str,
    name: impl Fn(&crate::Row<'_>) -> Result<T, Error> + Copy,
    is_wrong: impl Fn(&T) -> Result<bool, Error>,
) -> Result<Option<Option<T>>, Error> {
    let mut after = String::new();
    loop {
        let Some(batch) = readable(tx.query(sql, params![after, BATCH], name))? else { return Ok(Some(None)) };
        let Some(last) = batch.last() else { return Ok(None) };
        after = last.to_string();
        for one in batch {
            if is_wrong(&one)? {
                return Ok(Some(Some(one)));
            }
        }
    }
}
