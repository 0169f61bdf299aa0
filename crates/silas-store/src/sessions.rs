//! Sessions: who follows the Stream, since when, and how far each has got.
//!
//! A device has one session however often it connects, and finds it again after a restart; a command in a terminal has
//! one of its own that ends with it. Connections are counted, since a browser may show the page twice.

use crate::columns::{id, optional_id, time, to_word, word};
use crate::{Error, ReadTx, Row, Tx, channel_outbox, params};
use silas_core::session::{Session, SessionType};
use silas_core::{KeyId, Scope, SessionId, Timestamp};

/// Sessions that one call returns at most; more devices than anybody pairs.
pub const SESSIONS_MAX: u32 = 1000;

/// A device connects. Gives its session as it was before, or the new one under `new` if it had none: that one has seen
/// everything, because a page that comes for the first time is shown the whole.
pub fn attach(
    tx: &mut Tx<'_>,
    scope: &Scope,
    new: &SessionId,
    key: &KeyId,
    title: &str,
    now: Timestamp,
) -> Result<Session, Error> {
    if let Some(known) = of_device(tx, scope, key)? {
        tx.execute(
            "UPDATE sessions SET connections = connections + 1, title = ?2, last_active = ?3 WHERE id = ?1",
            params![known.session_id.as_str(), title, now.micros()],
        )?;
        return Ok(known);
    }
    let session = Session {
        session_id: new.clone(),
        session_type: SessionType::Stream,
        key: Some(key.clone()),
        title: title.to_owned(),
        created_at: now,
        last_active: now,
        turn_count: 0,
        active: false,
        acknowledged: channel_outbox::head(tx, scope)?,
    };
    insert(tx, scope, &session)?;
    Ok(session)
}

/// A command in a terminal connects.
pub fn open_side(
    tx: &mut Tx<'_>,
    scope: &Scope,
    new: &SessionId,
    title: &str,
    now: Timestamp,
) -> Result<Session, Error> {
    let session = Session {
        session_id: new.clone(),
        session_type: SessionType::Side,
        key: None,
        title: title.to_owned(),
        created_at: now,
        last_active: now,
        turn_count: 0,
        active: false,
        acknowledged: channel_outbox::head(tx, scope)?,
    };
    insert(tx, scope, &session)?;
    Ok(session)
}

fn insert(tx: &mut Tx<'_>, scope: &Scope, session: &Session) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO sessions (id, session_type, key_id, title, created_at, last_active, turn_count, connections,
             acknowledged, scope)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 1, ?7, ?8)",
        params![
            session.session_id.as_str(),
            to_word(&session.session_type)?,
            session.key.as_ref().map(KeyId::as_str),
            session.title,
            session.created_at.micros(),
            session.last_active.micros(),
            channel_outbox::to_column(session.acknowledged),
            scope.to_string()
        ],
    )?;
    Ok(())
}

/// A connection ended. A side session ends with it.
pub fn detach(tx: &mut Tx<'_>, session: &SessionId, now: Timestamp) -> Result<(), Error> {
    tx.execute("DELETE FROM sessions WHERE id = ?1 AND session_type = 'side'", params![session.as_str()])?;
    tx.execute(
        "UPDATE sessions SET connections = connections - 1, last_active = ?2 WHERE id = ?1 AND connections > 0",
        params![session.as_str(), now.micros()],
    )?;
    Ok(())
}

/// It has shown everything up to `seq`. False if that is nothing new, or there is no such session any more.
pub fn acknowledge(tx: &mut Tx<'_>, session: &SessionId, seq: u64, now: Timestamp) -> Result<bool, Error> {
    let n_moved = tx.execute(
        "UPDATE sessions SET acknowledged = ?2, last_active = ?3 WHERE id = ?1 AND acknowledged < ?2",
        params![session.as_str(), channel_outbox::to_column(seq), now.micros()],
    )?;
    Ok(n_moved == 1)
}

/// A message was taken in over it; belongs into the transaction that does so.
pub fn count_turn(tx: &mut Tx<'_>, session: &SessionId, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "UPDATE sessions SET turn_count = turn_count + 1, last_active = ?2 WHERE id = ?1",
        params![session.as_str(), now.micros()],
    )?;
    Ok(())
}

pub fn get(tx: &ReadTx<'_>, session: &SessionId) -> Result<Option<Session>, Error> {
    tx.query_one(
        "SELECT id, session_type, key_id, title, created_at, last_active, turn_count, connections, acknowledged
         FROM sessions WHERE id = ?1",
        params![session.as_str()],
        stored,
    )
}

/// The session of a device, if it was ever here. A device is of one scope.
pub fn of_device(tx: &ReadTx<'_>, scope: &Scope, key: &KeyId) -> Result<Option<Session>, Error> {
    tx.query_one(
        "SELECT id, session_type, key_id, title, created_at, last_active, turn_count, connections, acknowledged
         FROM sessions WHERE key_id = ?1 AND scope = ?2",
        params![key.as_str(), scope.to_string()],
        stored,
    )
}

/// Who was here last comes first.
pub fn list(tx: &ReadTx<'_>, scope: &Scope) -> Result<Vec<Session>, Error> {
    tx.query(
        "SELECT id, session_type, key_id, title, created_at, last_active, turn_count, connections, acknowledged
         FROM sessions WHERE scope = ?1 ORDER BY last_active DESC, id DESC LIMIT ?2",
        params![scope.to_string(), SESSIONS_MAX],
        stored,
    )
}

/// Every device that is connected, and in which scope.
pub(crate) fn connected_devices(tx: &ReadTx<'_>) -> Result<Vec<(Scope, Session)>, Error> {
    tx.query(
        "SELECT id, session_type, key_id, title, created_at, last_active, turn_count, connections, acknowledged, scope
         FROM sessions WHERE connections > 0 AND key_id IS NOT NULL ORDER BY id LIMIT ?1",
        params![SESSIONS_MAX],
        |row| Ok((id(row, "scope")?, stored(row)?)),
    )
}

/// At the start: nobody is connected yet, and no command outlives the server that it talked to.
pub fn restore(tx: &mut Tx<'_>) -> Result<(), Error> {
    tx.execute("DELETE FROM sessions WHERE session_type = 'side'", [])?;
    tx.execute("UPDATE sessions SET connections = 0 WHERE connections > 0", [])?;
    Ok(())
}

/// After a restore from a backup: what the devices have seen since then is not what is here.
pub fn void_all(tx: &mut Tx<'_>) -> Result<usize, Error> {
    tx.execute("DELETE FROM sessions WHERE id >= ''", [])
}

/// Forgets devices that were not here since this instant, a bounded number. They are shown the whole if they come back.
pub(crate) fn prune(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE last_active < ?1 AND connections = 0
             ORDER BY last_active, id LIMIT ?2)",
        params![before.micros(), limit],
    )
}

fn stored(row: &Row<'_>) -> Result<Session, Error> {
    let (turn_count, connections): (i64, i64) = (row.get("turn_count")?, row.get("connections")?);
    Ok(Session {
        session_id: id(row, "id")?,
        session_type: word(row, "session_type")?,
        key: optional_id(row, "key_id")?,
        title: row.get("title")?,
        created_at: time(row, "created_at")?,
        last_active: time(row, "last_active")?,
        turn_count: u64::try_from(turn_count).unwrap_or_default(),
        active: connections > 0,
        acknowledged: channel_outbox::seq(row, "acknowledged")?,
    })
}
