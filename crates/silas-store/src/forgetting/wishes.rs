//! Forgetting what became of a wish: the questions that a model had about it, the answers that went on with it, and the
//! work that came of it.
//!
//! A card with a question repeats the wish and every answer that was typed before it, and the wish waits in the queue with
//! all of them. So the wish, each answer and each question lead here.

use super::{Need, erase_cards, erase_work, work_is_needed};
use crate::{Error, ReadTx, Tx, cards, ledger, queue, work_items};
use silas_core::event::AuditEvent;
use silas_core::inquiry::Inquiry;
use silas_core::{CardId, MessageId};

/// Entries behind a message's own that are looked at: an answer and what it answers are written in one transaction, with
/// little between them.
const WRITTEN_WITH_IT: u32 = 16;

/// What a message was said about: the wish that it answers a question about, or else itself. `seq` is the message's own
/// entry.
pub(super) fn meant_by(tx: &ReadTx<'_>, message: &MessageId, seq: u64) -> Result<MessageId, Error> {
    for entry in ledger::entries(tx, seq + 1, WRITTEN_WITH_IT)? {
        let Some(AuditEvent::QuestionAnswered { card, message: answer, wish, .. }) = entry.event else { continue };
        if answer == *message {
            // Entries of earlier versions do not name the wish; the card does, as long as it is kept.
            let wish = wish.map_or_else(|| asked_about(tx, &card), |wish| Ok(Some(wish)))?;
            return Ok(wish.unwrap_or(answer));
        }
    }
    Ok(message.clone())
}

/// What still needs the words of a wish, or those that were said about it.
pub(super) fn is_needed(tx: &ReadTx<'_>, wish: &MessageId) -> Result<Option<Need>, Error> {
    if let Some(need) = is_open(tx, wish)? {
        return Ok(Some(need));
    }
    for item in work_items::of_trace(tx, wish)? {
        if let Some(need) = work_is_needed(tx, &item)? {
            return Ok(Some(need));
        }
    }
    Ok(None)
}

/// All that was asked about a wish and made of it. What was said stands in entries of its own.
pub(super) fn erase(tx: &mut Tx<'_>, wish: &MessageId) -> Result<(), Error> {
    for item in work_items::of_trace(tx, wish)? {
        erase_work(tx, &item)?;
    }
    for subject in Inquiry::subjects_of(wish) {
        erase_cards(tx, &subject)?;
    }
    queue::forget(tx, wish)?;
    Ok(())
}

/// A question goes with its card. No plan repeats it, but the wish takes it along until there is one.
pub(super) fn forget_question(tx: &mut Tx<'_>, card: &CardId) -> Result<Option<Need>, Error> {
    if let Some(wish) = asked_about(tx, card)? {
        if let Some(need) = is_open(tx, &wish)? {
            return Ok(Some(need));
        }
        queue::forget(tx, &wish)?;
    }
    cards::forget(tx, card)?;
    Ok(None)
}

/// Whether it is still to be planned. A question that waits for the owner comes first, since only the owner ends that.
fn is_open(tx: &ReadTx<'_>, wish: &MessageId) -> Result<Option<Need>, Error> {
    for subject in Inquiry::subjects_of(wish) {
        if cards::has_open(tx, &subject)? {
            return Ok(Some(Need::Card));
        }
    }
    Ok(queue::is_open(tx, wish)?.then_some(Need::UnderWay))
}

fn asked_about(tx: &ReadTx<'_>, card: &CardId) -> Result<Option<MessageId>, Error> {
    Ok(cards::subject(tx, card)?.and_then(|subject| Inquiry::wish_of(&subject)))
}
