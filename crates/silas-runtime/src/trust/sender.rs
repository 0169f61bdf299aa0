//! Whose word a message is: the owner's, its channel's, or anybody's.

use silas_approval::Engine;
use silas_core::event::AuditEvent;
use silas_core::message::HeardMessage;
use silas_core::taint::Source;
use silas_core::{MessageId, Timestamp};
use silas_store::{Tx, nonces};
use std::time::Duration;

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
