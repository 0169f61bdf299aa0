//! Steps 2 and 3: how far a message can be trusted, its place in the chronicle and its place in the queue, already
//! leased, in one transaction.

use super::screen::Screened;
use super::{Came, Turn};
use crate::Trouble;
use crate::conversation::Conversation;
use crate::hub::Hub;
use crate::post::{self, Wish};
use crate::trust::classify;
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::message::Message;
use silas_core::taint::Origin;
use silas_core::{MessageId, Scope, Taint, reflex};
use silas_gates::injection;
use silas_store::queue::Entered;
use silas_store::{Commit, chronicle, instructions, sessions};
use std::sync::Arc;

impl Conversation {
    /// Nothing is given if earlier messages come first, or if everything was stopped since it came: then it is not begun.
    pub(super) async fn accept(self: &Arc<Self>, screened: Screened, came: Came<'_>) -> Result<Option<Turn>, Trouble> {
        let Came { channel, n_stops, .. } = came;
        let (conversation, session) = (self.clone(), came.session.clone());
        let heard = screened.into_message();
        let other_id = MessageId::new(self.house.random.as_ref());
        let at = self.house.clock.now();
        let engine = self.house.engine.clone();
        let freshness = self.house.options.message_freshness;
        // Every door is the owner's.
        let scope = Scope::Owner;
        let turns = scope.clone();
        let accepting = self.house.store.write(move |tx| {
            let source = classify(tx, &engine, &heard, &scope.to_string(), &other_id, at, freshness)?;
            let taint = source.taint();
            let id = heard.body.id().filter(|_| taint == Taint::Owner).unwrap_or_else(|| other_id.clone());
            // From here on nobody sees a stranger's words as they came; the ledger keeps them, as evidence.
            let scrubbed = (taint == Taint::External).then(|| injection::scrub(&heard.body.text));
            let kept = scrubbed.as_ref().map_or(&heard.body.text, |scrubbed| &scrubbed.text);
            let message = Message { id: id.clone(), channel, text: kept.clone(), at, taint, handed: None };
            let entry = chronicle::Entry {
                id: id.clone(),
                sender: match taint {
                    Taint::Owner => chronicle::Sender::Owner,
                    Taint::Auth | Taint::External => chronicle::Sender::Somebody,
                },
                taint,
                text: message.text.clone(),
                answers: None,
                at,
            };
            let posted = Hub::post(tx, &scope, &entry)?;
            sessions::count_turn(tx, &session, at)?;
            let is_overtaken = conversation.n_stops() != n_stops;
            let entered = if is_overtaken { Entered::Known } else { post::user_message(tx, &scope, &message, at)? };
            // Words that will be an approval or an order are kept exactly as they were signed.
            if let Some(signed) = heard.signed().filter(|_| taint.may_ask())
                && reflex::decide(&message.text).is_shown()
            {
                instructions::keep(tx, &id, &signed, reflex::GRAMMAR, at)?;
            }
            let text = tx.text(&heard.body.text)?;
            tx.record(&AuditEvent::MessageReceived { message: id.clone(), taint, text })?;
            if let Some(found) = scrubbed.map(|scrubbed| scrubbed.found).filter(|found| !found.is_empty()) {
                let (origin, of) = (Origin::Message, id.to_string());
                tx.record(&AuditEvent::ExternalTextScrubbed { origin, of, found })?;
            }
            let posted = if is_overtaken { conversation.turn_away(tx, &id)? } else { posted };
            Ok(Commit((message, posted, entered)))
        });
        let (message, posted, entered) = accepting.await?;
        fail::point(FailPoint::MessageAccepted);
        self.hub.deliver(posted);
        Ok(match entered {
            Entered::Held(lease) => {
                let (trace, hold) = (message.id.clone(), self.running.holds.take(lease));
                Some(self.turn(turns, Wish::said(message), trace, hold))
            }
            Entered::Behind | Entered::Known => None,
        })
    }
}
