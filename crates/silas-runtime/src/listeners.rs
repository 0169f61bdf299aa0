//! Who follows the Stream, and how what is said gets to them.
//!
//! An entry is put into the channel outbox in the transaction that writes it. After the commit the doors are woken, and
//! each gives its listener what comes after the last that it gave it. A listener that was away names the last it has and
//! gets exactly the rest; what it acknowledges is remembered, so that it can be told what came while it was gone.
//!
//! Deliberately absent: a push. A door asks; a listener that is gone costs nothing.

use crate::view::{DeliveryView, SessionView, SinceView};
use crate::{Stream, Trouble};
use serde::Deserialize;
use silas_core::session::Session;
use silas_core::{KeyId, SessionId, Timestamp};
use silas_store::{Commit, ReadTx, Tx, channel_outbox, chronicle, sessions};
use tokio::sync::watch;

/// Who connects.
#[derive(Clone, Debug)]
pub enum Listener {
    Device {
        key: KeyId,
        name: String,
    },
    /// A command of the owner's account on this machine.
    Terminal,
}

/// What a listener that was here before says it has.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    pub session: SessionId,
    /// The last number that it has shown.
    pub seen: u64,
}

/// A listener that is connected.
#[derive(Clone, Debug)]
pub struct Attached {
    pub session: SessionId,
    /// Where it goes on; nothing if it has to be shown the whole.
    pub resumes_after: Option<u64>,
    pub since: Option<SinceView>,
}

/// An entry that was written in a transaction; whoever commits it hands it over with [`Stream::deliver`].
#[must_use = "nobody is woken by itself"]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    seq: u64,
}

/// What a session of a terminal is called.
const TERMINAL: &str = "Terminal";

impl Stream {
    /// Opens or finds the session of whoever connects. Not being able to write it down keeps nobody from looking.
    pub async fn attach(&self, who: Listener, resume: Option<Resume>) -> Attached {
        let new = SessionId::new(self.random.as_ref());
        let unknown = Attached { session: new.clone(), resumes_after: None, since: None };
        let now = self.clock.now();
        let attaching = self.store.write_buffered(move |tx| Ok(Commit(attach(tx, &new, &who, resume.as_ref(), now)?)));
        attaching.await.unwrap_or_else(|cause| {
            tracing::warn!(%cause, "a session could not be written down");
            unknown
        })
    }

    pub async fn detach(&self, session: &SessionId) {
        let (session, now) = (session.clone(), self.clock.now());
        let detaching = self.store.write_buffered(move |tx| {
            sessions::detach(tx, &session, now)?;
            Ok(Commit(()))
        });
        if let Err(cause) = detaching.await {
            tracing::warn!(%cause, "the end of a connection could not be written down");
        }
    }

    /// Everything up to `seq` was shown there. Lost with the power it is only shown as new once more.
    pub async fn acknowledge(&self, session: &SessionId, seq: u64) {
        let (session, now) = (session.clone(), self.clock.now());
        let noting = self.store.write_buffered(move |tx| Ok(Commit(sessions::acknowledge(tx, &session, seq, now)?)));
        if let Err(cause) = noting.await {
            tracing::warn!(%cause, "an acknowledgement could not be written down");
        }
    }

    /// The next entries after `seq` that may be given out; ask again until there is none.
    pub async fn deliveries(&self, seq: u64) -> Result<Vec<DeliveryView>, Trouble> {
        let through = *self.outbox.borrow();
        if seq >= through {
            return Ok(Vec::new());
        }
        let found = self.store.read(move |tx| channel_outbox::after(tx, seq, channel_outbox::PAGE_MAX)).await?;
        let ready = found.into_iter().take_while(|delivery| delivery.seq <= through);
        Ok(ready.map(|one| DeliveryView { seq: one.seq, entry: crate::stream::entry(one.entry) }).collect())
    }

    /// Moves when there is something to give out.
    pub fn outbox(&self) -> watch::Receiver<u64> {
        self.outbox.subscribe()
    }

    /// Writes an entry of the Stream and puts it on its way to the channels.
    pub(crate) fn post(tx: &mut Tx<'_>, entry: &chronicle::Entry) -> Result<Posted, silas_store::Error> {
        chronicle::append(tx, entry)?;
        Ok(Posted { seq: channel_outbox::put(tx, &entry.id, entry.at)? })
    }

    /// Wakes the doors. Whatever they should know before, like the card that the entry speaks of, is published first.
    pub(crate) fn deliver(&self, posted: Posted) {
        self.outbox.send_if_modified(|through| {
            let is_new = posted.seq > *through;
            *through = posted.seq.max(*through);
            is_new
        });
    }

    /// At the start: what the last life wrote is ready to be given out.
    pub(crate) async fn restore_outbox(&self) -> Result<(), Trouble> {
        let head = self.store.read(channel_outbox::head).await?;
        self.deliver(Posted { seq: head });
        Ok(())
    }

    pub async fn sessions(&self) -> Result<Vec<SessionView>, Trouble> {
        let listing = self.store.read(|tx| {
            let known = sessions::list(tx)?;
            known.into_iter().map(|session| view(tx, session)).collect()
        });
        Ok(listing.await?)
    }
}

fn attach(
    tx: &mut Tx<'_>,
    new: &SessionId,
    who: &Listener,
    resume: Option<&Resume>,
    now: Timestamp,
) -> Result<Attached, silas_store::Error> {
    let before = match who {
        Listener::Device { key, name } => sessions::attach(tx, new, key, name, now)?,
        Listener::Terminal => sessions::open_side(tx, new, TERMINAL, now)?,
    };
    let resumes_after = match resume {
        Some(resume) if resume.session == before.session_id && channel_outbox::reaches_back_to(tx, resume.seen)? => {
            Some(resume.seen)
        }
        _ => None,
    };
    Ok(Attached { resumes_after, since: since(tx, &before)?, session: before.session_id })
}

/// What came while a device was away; nothing while it is here.
fn since(tx: &ReadTx<'_>, before: &Session) -> Result<Option<SinceView>, silas_store::Error> {
    let missed = channel_outbox::backlog(tx, before.acknowledged)?;
    let was_away = !before.active && missed.n_entries > 0;
    Ok(was_away.then_some(SinceView { at: before.last_active, n_entries: missed.n_entries }))
}

fn view(tx: &ReadTx<'_>, session: Session) -> Result<SessionView, silas_store::Error> {
    let missed = channel_outbox::backlog(tx, session.acknowledged)?;
    Ok(SessionView {
        session: session.session_id,
        session_type: session.session_type,
        title: silas_gates::scrub::visible_line(&session.title, silas_core::device::DEVICE_NAME_CHARS_MAX),
        created_at: session.created_at,
        last_active: session.last_active,
        turn_count: session.turn_count,
        active: session.active,
        n_waiting: missed.n_entries,
    })
}
