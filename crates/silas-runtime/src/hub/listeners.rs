//! Who follows the Stream, and how what is said gets to them.
//!
//! An entry is put into the channel outbox in the transaction that writes it. After the commit the doors are woken, and
//! each gives its listener what comes after the last that it gave it. A listener that was away names the last it has and
//! gets exactly the rest; what it acknowledges is remembered, so that it can be told what came while it was gone.
//!
//! Deliberately absent: a push. A door asks; a listener that is gone costs nothing.

use crate::Trouble;
use crate::house::AT_ONCE;
use crate::hub::Hub;
use crate::view::{DeliveryView, SessionView, SinceView};
use serde::Deserialize;
use silas_core::session::Session;
use silas_core::{KeyId, Scope, SessionId, Timestamp};
use silas_store::{Commit, ReadTx, Tx, channel_outbox, chronicle, sessions};
use tokio::sync::watch;

/// Who connects; both are the owner.
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

/// An entry that was written in a transaction; whoever commits it hands it over with [`Hub::deliver`].
#[must_use = "nobody is woken by itself"]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    seq: u64,
}

/// In whose conversation everybody listens who can connect.
const LISTENERS: Scope = Scope::Owner;

/// What a session of a terminal is called.
const TERMINAL: &str = "Terminal";

impl Hub {
    /// Opens or finds the session of whoever connects. Not being able to write it down, or having to wait for whoever holds
    /// the database, keeps nobody from looking and stopping.
    pub async fn attach(&self, who: Listener, resume: Option<Resume>) -> Attached {
        let new = SessionId::new(self.house.random.as_ref());
        let now = self.house.clock.now();
        let attaching = {
            let (new, who, resume) = (new.clone(), who.clone(), resume.clone());
            self.house.store.write_buffered(move |tx| Ok(Commit(attach(tx, &new, &who, resume.as_ref(), now)?)))
        };
        match tokio::time::timeout(AT_ONCE, attaching).await {
            Ok(Ok(attached)) => return attached,
            Ok(Err(cause)) => tracing::warn!(%cause, "a session could not be written down"),
            // It is written down when its turn comes; who it is can be read.
            Err(_) => tracing::info!("a session is written down later"),
        }
        let unknown = Attached { session: new.clone(), resumes_after: None, since: None };
        let looking = self.house.store.read(move |tx| match &who {
            Listener::Device { key, .. } => {
                let before = sessions::of_device(tx, &LISTENERS, key)?;
                before.map(|before| attached(tx, &before, resume.as_ref())).transpose()
            }
            Listener::Terminal => Ok(None),
        });
        let known = looking.await.inspect_err(|cause| tracing::warn!(%cause, "a session could not be looked up"));
        known.ok().flatten().unwrap_or(unknown)
    }

    pub async fn detach(&self, session: &SessionId) {
        let (session, now) = (session.clone(), self.house.clock.now());
        let detaching = self.house.store.write_buffered(move |tx| {
            sessions::detach(tx, &session, now)?;
            Ok(Commit(()))
        });
        if let Err(cause) = detaching.await {
            tracing::warn!(%cause, "the end of a connection could not be written down");
        }
    }

    /// Everything up to `seq` was shown there. Lost with the power it is only shown as new once more.
    pub async fn acknowledge(&self, session: &SessionId, seq: u64) {
        let (session, now) = (session.clone(), self.house.clock.now());
        let noting =
            self.house.store.write_buffered(move |tx| Ok(Commit(sessions::acknowledge(tx, &session, seq, now)?)));
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
        let looking = self.house.store.read(move |tx| {
            let tx = &tx.leaving_out();
            Ok((channel_outbox::after(tx, &LISTENERS, seq, channel_outbox::PAGE_MAX)?, tx.left_out()))
        });
        let (found, left_out) = looking.await?;
        self.log_left_out(&left_out);
        let ready = found.into_iter().take_while(|delivery| delivery.seq <= through);
        Ok(ready.map(|one| DeliveryView { seq: one.seq, entry: crate::hub::entry(one.entry) }).collect())
    }

    /// Moves when there is something to give out.
    pub fn outbox(&self) -> watch::Receiver<u64> {
        self.outbox.subscribe()
    }

    /// Writes an entry of a scope's conversation and puts it on its way to the channels.
    pub(crate) fn post(tx: &mut Tx<'_>, scope: &Scope, entry: &chronicle::Entry) -> Result<Posted, silas_store::Error> {
        chronicle::append(tx, scope, entry)?;
        Ok(Posted { seq: channel_outbox::put(tx, scope, &entry.id, entry.at)? })
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
        let head = self.house.store.read(|tx| channel_outbox::head(tx, &LISTENERS)).await?;
        self.deliver(Posted { seq: head });
        Ok(())
    }

    pub async fn sessions(&self) -> Result<Vec<SessionView>, Trouble> {
        let listing = self.house.store.read(|tx| {
            let tx = &tx.leaving_out();
            let known = sessions::list(tx, &LISTENERS)?;
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
        Listener::Device { key, name } => sessions::attach(tx, &LISTENERS, new, key, name, now)?,
        Listener::Terminal => sessions::open_side(tx, &LISTENERS, new, TERMINAL, now)?,
    };
    attached(tx, &before, resume)
}

/// Where a session that was like this before goes on.
fn attached(tx: &ReadTx<'_>, before: &Session, resume: Option<&Resume>) -> Result<Attached, silas_store::Error> {
    let resumes_after = match resume {
        Some(resume)
            if resume.session == before.session_id && channel_outbox::reaches_back_to(tx, &LISTENERS, resume.seen)? =>
        {
            Some(resume.seen)
        }
        _ => None,
    };
    Ok(Attached { resumes_after, since: since(tx, before)?, session: before.session_id.clone() })
}

/// What came while a device was away; nothing while it is here.
fn since(tx: &ReadTx<'_>, before: &Session) -> Result<Option<SinceView>, silas_store::Error> {
    let missed = channel_outbox::backlog(tx, &LISTENERS, before.acknowledged)?;
    let was_away = !before.active && missed.n_entries > 0;
    Ok(was_away.then_some(SinceView { at: before.last_active, n_entries: missed.n_entries }))
}

fn view(tx: &ReadTx<'_>, session: Session) -> Result<SessionView, silas_store::Error> {
    let missed = channel_outbox::backlog(tx, &LISTENERS, session.acknowledged)?;
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
