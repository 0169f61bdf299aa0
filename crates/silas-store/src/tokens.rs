//! Signed decisions, and how often each was spent.
//!
//! The count is the one thing about a token that lives here and nowhere in the token: of any number of concurrent
//! spendings exactly `max_executions` succeed. Whether the signature is good is not this file's question.

use crate::columns::{id, json, optional_id, optional_time, to_json, to_word};
use crate::{Error, ReadTx, Row, Tx, params};
use silas_core::device::Certificate;
use silas_core::token::{Kind, Token};
use silas_core::{CardId, Timestamp, TokenId};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    pub id: TokenId,
    pub token: Token,
    /// The certificate of the signer as it was when the decision came.
    pub certificate: Certificate,
    /// The canonical text whose hash was signed.
    pub payload: String,
    /// The card that was answered; decisions taken while pairing have none.
    pub card: Option<CardId>,
    pub executions_used: u32,
    pub revoked_at: Option<Timestamp>,
}

/// Keeps a decision. False if it is there already; then nothing changes, its count least of all.
pub fn insert(
    tx: &mut Tx<'_>,
    token: &Token,
    certificate: &Certificate,
    payload: &str,
    card: Option<&CardId>,
) -> Result<bool, Error> {
    let offer = &token.body.offer;
    let n_new = tx.execute(
        "INSERT INTO tokens (token_id, kind, verdict, token, certificate, payload, card_id, executions_used,
             max_executions, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9) ON CONFLICT (token_id) DO NOTHING",
        params![
            token.id()?.as_str(),
            to_word(&offer.kind)?,
            to_word(&token.body.verdict)?,
            to_json(token)?,
            to_json(certificate)?,
            payload,
            card.map(CardId::as_str),
            offer.max_executions,
            offer.expires_at.micros()
        ],
    )?;
    Ok(n_new == 1)
}

pub fn get(tx: &ReadTx<'_>, token: &TokenId) -> Result<Option<Stored>, Error> {
    tx.query_one(
        "SELECT token_id, token, certificate, payload, card_id, executions_used, revoked_at FROM tokens
         WHERE token_id = ?1",
        params![token.as_str()],
        stored,
    )
}

/// The approvals of a kind of which something is left at this time, soonest to expire first. As many as the owner signed
/// and did not use; what is over is not read.
pub fn live(tx: &ReadTx<'_>, kind: Kind, at: Timestamp) -> Result<Vec<Stored>, Error> {
    tx.query(
        "SELECT token_id, token, certificate, payload, card_id, executions_used, revoked_at FROM tokens
         WHERE kind = ?1 AND verdict = 'approved' AND revoked_at IS NULL AND executions_used < max_executions
             AND expires_at > ?2 ORDER BY expires_at, token_id",
        params![to_word(&kind)?, at.micros()],
        stored,
    )
}

/// The approvals of a directory, a model or a passkey, which hold until they are taken back. Oldest first; of another kind,
/// none.
pub fn standing(tx: &ReadTx<'_>, kind: Kind) -> Result<Vec<Stored>, Error> {
    tx.query(
        "SELECT token_id, token, certificate, payload, card_id, executions_used, revoked_at FROM tokens
         WHERE kind = ?1 AND verdict = 'approved' AND revoked_at IS NULL AND kind IN ('root', 'model', 'device')
         ORDER BY expires_at, token_id",
        params![to_word(&kind)?],
        stored,
    )
}

/// Differs between two looks if any decision changed between them.
pub fn mark(tx: &ReadTx<'_>) -> Result<i64, Error> {
    let mark = tx.query_one("SELECT mark FROM token_changes WHERE id = 1", params![], |row| Ok(row.get(0)?))?;
    Ok(mark.unwrap_or_default())
}

/// Spends one execution and says which, counted from 0. `None` if none is left, or there never was one to spend.
pub fn spend(tx: &mut Tx<'_>, token: &TokenId) -> Result<Option<u32>, Error> {
    tx.returning(
        "UPDATE tokens SET executions_used = executions_used + 1
         WHERE token_id = ?1 AND executions_used < max_executions AND verdict = 'approved' AND revoked_at IS NULL
         RETURNING executions_used - 1",
        params![token.as_str()],
        |row| Ok(row.get(0)?),
    )
}

/// From now on nothing of it can be spent. False if it was so already, or there is no such decision.
pub fn revoke(tx: &mut Tx<'_>, token: &TokenId, at: Timestamp) -> Result<bool, Error> {
    let n_changed = tx.execute(
        "UPDATE tokens SET revoked_at = ?2 WHERE token_id = ?1 AND revoked_at IS NULL",
        params![token.as_str(), at.micros()],
    )?;
    Ok(n_changed == 1)
}

fn stored(row: &Row<'_>) -> Result<Stored, Error> {
    Ok(Stored {
        id: id(row, "token_id")?,
        token: json(row, "token")?,
        certificate: json(row, "certificate")?,
        payload: row.get("payload")?,
        card: optional_id(row, "card_id")?,
        executions_used: row.get("executions_used")?,
        revoked_at: optional_time(row, "revoked_at")?,
    })
}
