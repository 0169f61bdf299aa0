//! Forgetting: the text of one ledger entry goes because the owner says so, or the texts of old entries because their
//! time is over. The entries stay, verifiable, and a later entry says what was forgotten.
//!
//! Copies go along: what was said in the chronicle, a signed instruction, a plan with its cards and the payload that its
//! approval was about, the cards on which a model asked ([`wishes`]). What still needs its text is not forgotten; the
//! answer says what that is.
//!
//! Deliberately absent: the human's file. A task is the owner's own record and is changed as such.

mod wishes;

use crate::ledger::{self, Entry};
use crate::{Error, ReadTx, Store, Tx, cards, chronicle, instructions, params, saga, settings, work_items};
use silas_core::event::AuditEvent;
use silas_core::inquiry::Inquiry;
use silas_core::task::OperationId;
use silas_core::{CardId, ExecutionId, KeyId, MessageId, Timestamp, WorkItemId};

/// Entries whose texts one call of [`expire`] looks at.
const ENTRIES_AT_ONCE: u32 = 500;
/// The setting that says up to which entry the texts are gone.
const EXPIRED_THROUGH: &str = "texts_expired_through";

/// What became of the wish to forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forgotten {
    Done,
    NoSuchEntry,
    /// The entry has no text, or it is gone already.
    NothingToForget,
    StillNeeded(Need),
}

/// What still needs a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// A message that is not answered yet, or work that it began and that is not finished.
    UnderWay,
    /// A card about it is in Review.
    Card,
    /// What it led to can still be taken back.
    Undo,
}

/// The text of an entry, for whoever is about to have it forgotten.
pub fn look(tx: &ReadTx<'_>, seq: u64) -> Result<Option<(Entry, Option<String>)>, Error> {
    let Some(entry) = ledger::entries(tx, seq, 1)?.into_iter().next().filter(|entry| entry.seq == seq) else {
        return Ok(None);
    };
    let text = entry.event.as_ref().and_then(AuditEvent::text);
    let text = text.map(|text| ledger::text_of(tx, text)).transpose()?.flatten();
    Ok(Some((entry, text)))
}

/// Forgets the text of an entry and its copies, and records that the holder of `key` wanted it so. Durable only together
/// with [`Store::scrub`], which takes it off the disk.
pub fn forget(tx: &mut Tx<'_>, seq: u64, key: &KeyId) -> Result<Forgotten, Error> {
    let Some((entry, text)) = look(tx, seq)? else { return Ok(Forgotten::NoSuchEntry) };
    let (Some(event), Some(_)) = (&entry.event, text) else { return Ok(Forgotten::NothingToForget) };
    if let Some(need) = forget_copies(tx, seq, event)? {
        return Ok(Forgotten::StillNeeded(need));
    }
    if let Some(text) = event.text() {
        tx.erase(text)?;
    }
    tx.record(&AuditEvent::TextForgotten { entry: seq, key: key.clone() })?;
    Ok(Forgotten::Done)
}

/// Erases the texts of a bounded number of entries that are older than this instant. Says how many entries that were, and
/// whether none is left.
pub(crate) fn expire(tx: &mut Tx<'_>, before: Timestamp) -> Result<(usize, bool), Error> {
    let through = settings::get::<u64>(tx, EXPIRED_THROUGH)?.unwrap_or(0);
    let old = ledger::entries(tx, through + 1, ENTRIES_AT_ONCE)?;
    let (mut n_entries, mut n_erased) = (0, 0);
    let mut last = None;
    for entry in old.into_iter().take_while(|entry| entry.at < before) {
        if let Some(text) = entry.event.as_ref().and_then(AuditEvent::text) {
            n_erased += usize::from(tx.erase(text)?);
        }
        n_entries += 1;
        last = Some(entry.seq);
    }
    let Some(last) = last else { return Ok((0, true)) };
    settings::set(tx, EXPIRED_THROUGH, &last)?;
    if n_erased > 0 {
        let texts = u32::try_from(n_erased).unwrap_or(u32::MAX);
        tx.record(&AuditEvent::TextsExpired { through: last, texts })?;
    }
    Ok((n_entries, n_entries < ENTRIES_AT_ONCE as usize))
}

/// Everything of this file that repeats the words of an event. Nothing is changed if something still needs them.
fn forget_copies(tx: &mut Tx<'_>, seq: u64, event: &AuditEvent) -> Result<Option<Need>, Error> {
    match event {
        AuditEvent::MessageReceived { message, .. } => forget_message(tx, message, seq),
        AuditEvent::ReplySent { message, .. } => {
            chronicle::forget(tx, message)?;
            Ok(None)
        }
        AuditEvent::CardOffered { card, .. } => forget_card(tx, card),
        AuditEvent::QuestionAsked { card, .. } => wishes::forget_question(tx, card),
        AuditEvent::WorkStarted { work_item, .. } => forget_work(tx, work_item),
        AuditEvent::ChecksRun { execution, .. }
        | AuditEvent::StepRun { execution, .. }
        | AuditEvent::ToolCalled { execution: Some(execution), .. }
        | AuditEvent::ToolReturned { execution: Some(execution), .. }
        | AuditEvent::WorkApplied { execution, .. }
        | AuditEvent::WorkEnded { execution, .. }
        | AuditEvent::UndoneInPart { execution, .. }
        | AuditEvent::ApplyConflicted { execution, .. } => forget_execution(tx, execution),
        AuditEvent::TaskAdded { operation, .. }
        | AuditEvent::TaskCompleted { operation, .. }
        | AuditEvent::TaskReopened { operation, .. } => forget_operation(tx, operation),
        // Their words are nowhere else, or in something that is in force: a device's name, a granted directory.
        _ => Ok(None),
    }
}

fn forget_message(tx: &mut Tx<'_>, message: &MessageId, seq: u64) -> Result<Option<Need>, Error> {
    let wish = wishes::meant_by(tx, message, seq)?;
    if let Some(need) = wishes::is_needed(tx, &wish)? {
        return Ok(Some(need));
    }
    if let Some(need) = forget_words(tx, message)? {
        return Ok(Some(need));
    }
    wishes::erase(tx, &wish)?;
    chronicle::forget(tx, message)?;
    Ok(None)
}

fn forget_operation(tx: &mut Tx<'_>, operation: &OperationId) -> Result<Option<Need>, Error> {
    let Some(known) = saga::get(tx, operation)? else { return Ok(None) };
    match &known.message {
        Some(message) => forget_words(tx, message),
        None if known.ending.is_none() => Ok(Some(Need::UnderWay)),
        None => {
            saga::forget(tx, operation)?;
            Ok(None)
        }
    }
}

/// The owner's words as they were signed, with every operation that they asked for. Words that asked for none can have been
/// kept all the same.
fn forget_words(tx: &mut Tx<'_>, message: &MessageId) -> Result<Option<Need>, Error> {
    let asked_for = saga::of_message(tx, message)?;
    if asked_for.iter().any(|saga| saga.ending.is_none()) {
        return Ok(Some(Need::UnderWay));
    }
    for saga in &asked_for {
        saga::forget(tx, &saga.operation)?;
    }
    instructions::forget(tx, message)?;
    Ok(None)
}

fn forget_card(tx: &mut Tx<'_>, card: &CardId) -> Result<Option<Need>, Error> {
    if cards::is_open(tx, card)? {
        return Ok(Some(Need::Card));
    }
    match cards::subject(tx, card)?.map(|subject| WorkItemId::parse(&subject)) {
        Some(Ok(item)) => forget_work(tx, &item),
        _ => {
            cards::forget(tx, card)?;
            Ok(None)
        }
    }
}

fn forget_execution(tx: &mut Tx<'_>, execution: &ExecutionId) -> Result<Option<Need>, Error> {
    match crate::executions::get(tx, execution)? {
        Some(known) => forget_work(tx, &known.work_item),
        None => Ok(None),
    }
}

fn forget_work(tx: &mut Tx<'_>, item: &WorkItemId) -> Result<Option<Need>, Error> {
    let need = work_is_needed(tx, item)?;
    if need.is_none() {
        erase_work(tx, item)?;
    }
    Ok(need)
}

fn work_is_needed(tx: &ReadTx<'_>, item: &WorkItemId) -> Result<Option<Need>, Error> {
    let executions = executions_of(tx, item)?;
    if executions.iter().any(|one| one.is_running) {
        return Ok(Some(Need::UnderWay));
    }
    if executions.iter().any(|one| one.can_be_undone) {
        return Ok(Some(Need::Undo));
    }
    for subject in subjects(tx, item, &executions)? {
        if cards::has_open(tx, &subject)? {
            return Ok(Some(Need::Card));
        }
    }
    Ok(None)
}

/// What was planned, asked, approved and shown of it. That there was an approval, for which hash, and how it ended stays.
fn erase_work(tx: &mut Tx<'_>, item: &WorkItemId) -> Result<(), Error> {
    let executions = executions_of(tx, item)?;
    for subject in subjects(tx, item, &executions)? {
        erase_cards(tx, &subject)?;
    }
    for one in &executions {
        tx.execute("UPDATE executions SET result = NULL WHERE id = ?1", params![one.id])?;
    }
    work_items::forget(tx, item)
}

fn erase_cards(tx: &mut Tx<'_>, subject: &str) -> Result<(), Error> {
    for card in cards::of_subject(tx, subject)? {
        cards::forget(tx, &card)?;
    }
    Ok(())
}

struct Known {
    id: String,
    is_running: bool,
    can_be_undone: bool,
}

fn executions_of(tx: &ReadTx<'_>, item: &WorkItemId) -> Result<Vec<Known>, Error> {
    tx.query(
        "SELECT id, state IN ('running', 'rehearsed') AS is_running, undo_until IS NOT NULL AS can_be_undone FROM executions
         WHERE work_item_id = ?1 ORDER BY id LIMIT ?2",
        params![item.as_str(), crate::executions::EXECUTIONS_MAX],
        |row| {
            let (is_running, can_be_undone) = (row.get("is_running")?, row.get("can_be_undone")?);
            Ok(Known { id: row.get("id")?, is_running, can_be_undone })
        },
    )
}

/// What cards about a work item are kept under: the item itself, each of its executions, and the questions before it.
fn subjects(tx: &ReadTx<'_>, item: &WorkItemId, executions: &[Known]) -> Result<Vec<String>, Error> {
    let mut subjects = vec![item.to_string()];
    subjects.extend(executions.iter().map(|one| one.id.clone()));
    subjects.extend(work_items::trace(tx, item)?.iter().flat_map(Inquiry::subjects_of));
    Ok(subjects)
}

impl Store {
    /// Takes what was forgotten off the disk: out of the write-ahead log, and with it the copy from before the last
    /// upgrade. False if somebody was reading all the while; then the log keeps it until it is next emptied.
    pub async fn scrub(&self) -> Result<bool, Error> {
        self.remove_copies()?;
        self.empty_log().await
    }
}
