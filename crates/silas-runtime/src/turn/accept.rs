//! Steps 2 and 3: how far a message can be trusted, its place in the chronicle and its place in the queue, already
//! leased, in one transaction.

use super::Turn;
use super::screen::Screened;
use crate::consumer::post;
use crate::{Stream, Trouble};
use silas_approval::Engine;
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::message::{Channel, HeardMessage, Message, OWNER_SCOPE};
use silas_core::taint::{Origin, Source};
use silas_core::{MessageId, SessionId, Taint, Timestamp, reflex};
use silas_gates::injection;
use silas_store::queue::Entered;
use silas_store::{Commit, Tx, chronicle, instructions, nonces, sessions};
use std::time::Duration;

impl Stream {
    /// Nothing is given if earlier messages come first.
    pub(super) async fn accept(
        &self,
        screened: Screened,
        channel: Channel,
        session: &SessionId,
    ) -> Result<Option<Turn>, Trouble> {
        let session = session.clone();
        let heard = screened.into_message();
        let other_id = MessageId::new(self.random.as_ref());
        let at = self.clock.now();
        let engine = self.engine.clone();
        let freshness = self.options.message_freshness;
        let accepting = self.store.write(move |tx| {
            let source = classify(tx, &engine, &heard, OWNER_SCOPE, &other_id, at, freshness)?;
            let taint = source.taint();
            let id = heard.body.id().filter(|_| taint == Taint::Owner).unwrap_or_else(|| other_id.clone());
            // From here on nobody sees a stranger's words as they came; the ledger keeps them, as evidence.
            let scrubbed = (taint == Taint::External).then(|| injection::scrub(&heard.body.text));
            let kept = scrubbed.as_ref().map_or(&heard.body.text, |scrubbed| &scrubbed.text);
            let message = Message { id: id.clone(), channel, text: kept.clone(), at, taint, handed: None };
            let entry = chronicle::Entry {
                id: id.clone(),
                sender: chronicle::Sender::Owner,
                taint,
                text: message.text.clone(),
                answers: None,
                at,
            };
            let posted = Stream::post(tx, &entry)?;
            sessions::count_turn(tx, &session, at)?;
            let entered = post::user_message(tx, &message, at)?;
            // Words that will be an approval are kept exactly as they were signed.
            if let Some(signed) = heard.signed().filter(|_| taint.may_ask())
                && reflex::decide(&message.text).is_instruction()
            {
                instructions::keep(tx, &id, &signed, at)?;
            }
            let text = tx.text(&heard.body.text)?;
            tx.record(&AuditEvent::MessageReceived { message: id.clone(), taint, text })?;
            if let Some(found) = scrubbed.map(|scrubbed| scrubbed.found).filter(|found| !found.is_empty()) {
                let (origin, of) = (Origin::Message, id.to_string());
                tx.record(&AuditEvent::ExternalTextScrubbed { origin, of, found })?;
            }
            Ok(Commit((message, posted, entered)))
        });
        let (message, posted, entered) = accepting.await?;
        fail::point(FailPoint::MessageAccepted);
        self.deliver(posted);
        Ok(match entered {
            Entered::Held(lease) => {
                let reply = MessageId::new(self.random.as_ref());
                let (trace, hold) = (message.id.clone(), self.holds.take(lease));
                Some(Turn { message, trace, hold, reply })
            }
            Entered::Behind | Entered::Known => None,
        })
    }
}

/// Signed by a paired device for this installation and this conversation, fresh, and heard for the first time: the owner.
/// Unsigned, over a door that knows who speaks: that channel's word. Anything less is a stranger's. A nonce is used up
/// only by a message that counts.
pub(crate) fn classify(
    tx: &mut Tx<'_>,
    engine: &Engine,
    heard: &HeardMessage,
    scope: &str,
    id: &MessageId,
    now: Timestamp,
    freshness: Duration,
) -> Result<Source, silas_store::Error> {
    if heard.body.installation != engine.anchor().installation || heard.body.scope != scope {
        return Ok(Source::Elsewhere);
    }
    // Every door has authenticated whoever speaks before a message gets here.
    let Some(signature) = &heard.signature else { return Ok(Source::Channel) };
    let Ok(device) = engine.device(tx, &signature.key)? else { return Ok(Source::Elsewhere) };
    let signed = heard.body.message().is_ok_and(|m| device.body.public.verifies(m.as_bytes(), signature));
    if !signed {
        return Ok(Source::Elsewhere);
    }
    let age = now.since(heard.body.timestamp).max(heard.body.timestamp.since(now));
    let is_stale = age > freshness;
    if !is_stale && nonces::use_once(tx, "msg", heard.body.nonce.as_str(), now)? {
        return Ok(Source::Signed);
    }
    tx.record(&AuditEvent::MessageReplayed { message: id.clone(), key: signature.key.clone(), is_stale })?;
    Ok(Source::Elsewhere)
}
