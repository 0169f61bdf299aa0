//! Steps 2 and 3: how far a message can be trusted, its place in the chronicle and its place in the queue, already
//! leased, in one transaction.

use super::Turn;
use super::screen::Screened;
use crate::consumer::post;
use crate::{Stream, Trouble};
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::message::{Channel, Message, SignedMessage};
use silas_core::{MessageId, Nonce, SessionId, Taint, Timestamp, reflex};
use silas_store::queue::Entered;
use silas_store::{Commit, Tx, chronicle, devices, instructions, nonces, sessions};
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
        let installation = self.installation().clone();
        let freshness = self.options.message_freshness;
        let accepting = self.store.write(move |tx| {
            let taint = if heard.body.installation == installation {
                classify(tx, &heard, &other_id, at, freshness)?
            } else {
                Taint::External
            };
            // The owner's device knows the id of what it said, and so when it has arrived: it is the nonce's.
            let own_id = heard.body.nonce.as_str().strip_prefix(Nonce::PREFIX).map(|rest| format!("msg-{rest}"));
            let own_id = own_id.and_then(|id| MessageId::parse(&id).ok()).filter(|_| taint == Taint::Owner);
            let id = own_id.unwrap_or_else(|| other_id.clone());
            let message = Message { id: id.clone(), channel, text: heard.body.text.clone(), at, taint };
            let entry = chronicle::Entry {
                id: id.clone(),
                sender: chronicle::Sender::Owner,
                taint,
                text: message.text.clone(),
                at,
            };
            let posted = Stream::post(tx, &entry)?;
            sessions::count_turn(tx, &session, at)?;
            let entered = post::user_message(tx, &message, at)?;
            // Words that will be an approval are kept exactly as they were signed.
            if taint == Taint::Owner && reflex::decide(&message.text).is_instruction() {
                instructions::keep(tx, &id, &heard, at)?;
            }
            let text = tx.text(&message.text)?;
            tx.record(&AuditEvent::MessageReceived { message: id.clone(), taint, text })?;
            Ok(Commit((message, posted, entered)))
        });
        let (message, posted, entered) = accepting.await?;
        fail::point(FailPoint::MessageAccepted);
        self.deliver(posted);
        Ok(match entered {
            Entered::Held(lease) => Some(Turn { trace: message.id.clone(), message, hold: self.holds.take(lease) }),
            Entered::Behind | Entered::Known => None,
        })
    }
}

/// Signed by a paired device, fresh, and heard for the first time: the owner. Anything less is a stranger's word.
pub(crate) fn classify(
    tx: &mut Tx<'_>,
    heard: &SignedMessage,
    id: &MessageId,
    now: Timestamp,
    freshness: Duration,
) -> Result<Taint, silas_store::Error> {
    let Some(device) = devices::get(tx, &heard.signature.key)? else { return Ok(Taint::External) };
    let signed = heard.body.message().is_ok_and(|m| device.body.public.verifies(m.as_bytes(), &heard.signature));
    if !signed {
        return Ok(Taint::External);
    }
    let age = now.since(heard.body.timestamp).max(heard.body.timestamp.since(now));
    let is_new = nonces::use_once(tx, "msg", heard.body.nonce.as_str(), now)?;
    if is_new && age <= freshness {
        return Ok(Taint::Owner);
    }
    tx.record(&AuditEvent::MessageReplayed { message: id.clone(), key: heard.signature.key.clone() })?;
    Ok(Taint::External)
}
