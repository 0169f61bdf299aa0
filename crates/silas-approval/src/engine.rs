//! The approval engine: makes offers, keeps decisions, and spends each exactly as often as it says.
//!
//! Architecture invariant (INV-01): the only way to an [`Approved`] leads through [`Engine::authorize`], through
//! [`Engine::rehearse`], whose witness nothing that applies takes, or through [`Engine::readmit`]. Architecture invariant
//! (INV-02): what is spent is bound to the bytes that were shown and signed; signature, hash, expiry, count, execution and
//! ledger entry are one transaction.

use crate::Error;
use crate::witness::{Admitted, Approvable, Approved, Askable, Rehearsal};
use silas_core::card::{Card, CardState, Face, Press};
use silas_core::event::AuditEvent;
use silas_core::evidence::{self, Anchor, Evidence, When};
use silas_core::execution::ExecutionState;
use silas_core::passkey;
use silas_core::revocation::Revocations;
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::work::WorkItem;
use silas_core::{Clock, Digest, ExecutionId, Nonce, Random, Scope, Timestamp, TokenId, WorkItemId};
use silas_store::{ReadTx, Tx, executions, ledger, tokens};
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

mod in_force;
mod rehearsal;
mod standing;
pub use standing::Grant;

/// Why a decision was not taken or not spent. Nothing ran.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("this card has been answered already")]
    Answered,
    #[error("this card asks nothing")]
    NothingAsked,
    #[error("the decision is not about this card as it was shown")]
    OtherOffer,
    #[error("the card does not offer that answer")]
    NotOffered,
    #[error("the device is not paired with this Silas")]
    UnknownDevice,
    #[error("there is no such approval")]
    NoToken,
    #[error("the approval is used up")]
    Spent,
    #[error("the work has ended already")]
    Terminal,
    #[error("too many results wait for a decision")]
    TooManyWait,
    #[error("nothing waits for this answer now")]
    NobodyWaits,
    #[error("the time that the work was given is over")]
    TimeIsUp,
    #[error("the counter of the passkey went back, so there may be a copy of it. Revoke it in the terminal")]
    Counter,
    #[error("the plan uses the secret {0}, and the vault is locked")]
    VaultLocked(String),
    #[error("the plan uses the secret {0}, and the vault has none of that name")]
    SecretMissing(String),
    #[error(transparent)]
    Evidence(#[from] evidence::Refusal),
}

/// A decision that is on record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    pub token: TokenId,
    /// Which of the card's offers was answered.
    pub kind: Kind,
    pub verdict: Verdict,
}

/// Cheap to clone; closures of the store take a clone along.
#[derive(Clone)]
pub struct Engine {
    anchor: Arc<Anchor>,
    /// What is revoked. Written when the launcher hands over a newer list, read by every check.
    revocations: Arc<RwLock<Arc<Revocations>>>,
    verified: Arc<in_force::Verified>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl Engine {
    pub fn new(anchor: Anchor, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Engine { anchor: Arc::new(anchor), revocations: Arc::default(), verified: Arc::default(), clock, random }
    }

    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// The body that a card will carry: bound to what is asked and to how it is shown.
    pub fn offer<T: Askable>(&self, subject: &str, item: &T, face: &Face, lasts: Duration) -> Result<Offer, Error> {
        self.offer_payload(item.kind(), subject, &item.payload()?, face, lasts, 1)
    }

    /// The same question again, with a new nonce and new times, in the epoch that is now.
    pub fn renewed(&self, offer: &Offer, lasts: Duration) -> Offer {
        let now = self.clock.now();
        Offer {
            epoch: self.anchor.epoch,
            nonce: Nonce::new(self.random.as_ref()),
            issued_at: now,
            expires_at: now.plus(lasts),
            ..offer.clone()
        }
    }

    pub(super) fn offer_payload(
        &self,
        kind: Kind,
        subject: &str,
        payload: &str,
        face: &Face,
        lasts: Duration,
        max_executions: u32,
    ) -> Result<Offer, Error> {
        let now = self.clock.now();
        Ok(Offer {
            v: Offer::VERSION,
            kind,
            scope: kind.scope(),
            installation: self.anchor.installation.clone(),
            epoch: self.anchor.epoch,
            work_item_id: subject.to_owned(),
            plan_hash: Digest::of(payload.as_bytes()),
            shown: face.hash()?,
            nonce: Nonce::new(self.random.as_ref()),
            issued_at: now,
            expires_at: now.plus(lasts),
            max_executions,
            approval_strength: Strength::Tap,
            conditions: BTreeMap::new(),
        })
    }

    /// Keeps a signed decision about a card, exactly as it was signed. The card must be open and the offer its own.
    pub fn record(&self, tx: &mut Tx<'_>, card: &Card, token: &Token) -> Result<Result<Recorded, Refusal>, Error> {
        let recorded = self.record_or_refuse(tx, card, token)?;
        if let Err(refusal) = &recorded {
            tx.record(&AuditEvent::DecisionRefused { card: card.id.clone(), reason: refusal.to_string() })?;
        }
        Ok(recorded)
    }

    fn record_or_refuse(
        &self,
        tx: &mut Tx<'_>,
        card: &Card,
        token: &Token,
    ) -> Result<Result<Recorded, Refusal>, Error> {
        match card.state {
            CardState::Open => {}
            CardState::Parked => return Ok(Err(evidence::Refusal::Expired.into())),
            CardState::Answered | CardState::Closed => return Ok(Err(Refusal::Answered)),
        }
        if card.offer.is_none() || card.payload.is_none() {
            return Ok(Err(Refusal::NothingAsked));
        }
        let Some(pressed) = card.pressed(&token.body.offer) else { return Ok(Err(Refusal::OtherOffer)) };
        let Some((offer, payload)) = card.asked_by(pressed) else { return Ok(Err(Refusal::OtherOffer)) };
        if card.face.hash()? != offer.shown {
            return Ok(Err(Refusal::OtherOffer));
        }
        // Only the owner's own devices are here, so a card may be answered by each: a paired browser, the terminal or a
        // passkey, and by that alone where it must be. A channel that cannot sign has no certificate and answers nothing.
        let certificate = match self.device(tx, &token.body.key)? {
            Ok(certificate) => certificate,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Err(refusal) = evidence::verify_signature(token, &certificate, &self.anchor) {
            return Ok(Err(refusal.into()));
        }
        let kind = certificate.body.kind;
        let has_passkey = self.has_passkey(tx)?;
        if let Err(refusal) = passkey::may_decide(kind, offer.kind, payload, token.body.verdict, has_passkey) {
            return Ok(Err(refusal.into()));
        }
        // An undo can be asked for or left alone; a narrower plan is a plan of its own. No card offers `conditional`.
        // "Show me first" and "Redo" have offers of their own, and only their one button answers those.
        let is_apart = |press: Press| matches!(press, Press::Rehearse | Press::Redo);
        let answers = |press: Press| if is_apart(pressed) { press == pressed } else { !is_apart(press) };
        let mut presses = card.face.ctas.iter().map(|cta| cta.press);
        if !presses.any(|press| answers(press) && press.verdict() == Some(token.body.verdict)) {
            return Ok(Err(Refusal::NotOffered));
        }
        let now = self.now(tx)?;
        if now >= offer.expires_at {
            return Ok(Err(evidence::Refusal::Expired.into()));
        }
        if let Some(count) = token.signature.sign_count()
            && !standing::count_follows(tx, &token.body.key, count)?
        {
            return Ok(Err(Refusal::Counter));
        }
        let id = token.id()?;
        tokens::insert(tx, token, &certificate, payload, Some(&card.id))?;
        let event = AuditEvent::DecisionRecorded {
            card: card.id.clone(),
            token: id.clone(),
            kind: offer.kind,
            verdict: token.body.verdict,
            key: token.body.key.clone(),
        };
        tx.record_at(&event, now)?;
        Ok(Ok(Recorded { token: id, kind: offer.kind, verdict: token.body.verdict }))
    }

    /// Checks everything and spends one execution.
    pub fn authorize<T: Approvable>(
        &self,
        tx: &mut Tx<'_>,
        token: &TokenId,
        item: T,
    ) -> Result<Result<Approved<T>, Refusal>, Error> {
        let Some(stored) = tokens::get(tx, token)? else { return Ok(Err(Refusal::NoToken)) };
        let now = self.now(tx)?;
        let payload = item.payload()?;
        let mut evidence = Evidence {
            token: stored.token,
            certificate: stored.certificate,
            payload,
            execution: ExecutionId::derive(token, 0),
            roots: self.allowances(tx, &item.places())?,
            plan: item.plan()?,
        };
        if let Err(refusal) = self.check(&evidence, &item, When::At(now)) {
            return Ok(Err(refusal.into()));
        }
        let (kind, verdict) = (evidence.certificate.body.kind, evidence.token.body.verdict);
        let has_passkey = self.has_passkey(tx)?;
        if let Err(refusal) = passkey::may_decide(kind, item.kind(), &evidence.payload, verdict, has_passkey) {
            return Ok(Err(refusal.into()));
        }
        let Some(use_number) = tokens::spend(tx, token)? else { return Ok(Err(Refusal::Spent)) };
        evidence.execution = ExecutionId::derive(token, use_number);
        let plan_hash = evidence.token.body.offer.plan_hash;
        // Allowing a directory starts nothing, so it has no execution that could be running.
        if let Ok(work_item) = WorkItemId::parse(&evidence.token.body.offer.work_item_id) {
            let execution = executions::Execution {
                id: evidence.execution.clone(),
                token: token.clone(),
                work_item,
                plan_hash,
                state: ExecutionState::Running,
                use_number,
                started_at: now,
                ended_at: None,
                undo_until: None,
                result: None,
                changeset: None,
            };
            // Work is the owner's; nobody else has any.
            executions::insert(tx, &Scope::Owner, &execution)?;
        }
        let execution = evidence.execution.clone();
        tx.record_at(&AuditEvent::TokenSpent { token: token.clone(), execution, plan_hash, use_number }, now)?;
        Ok(Ok(Approved::new(item, evidence, now)))
    }

    /// After a restart: this very execution, spent before, not ended, within its time.
    pub fn readmit(&self, tx: &ReadTx<'_>, execution: &ExecutionId) -> Result<Result<Admitted, Refusal>, Error> {
        self.readmit_rested(tx, execution, Duration::ZERO)
    }

    /// The same for work that has waited so long, by the launcher's word. The launcher decides again about it, by its own.
    pub fn readmit_rested(
        &self,
        tx: &ReadTx<'_>,
        execution: &ExecutionId,
        rested: Duration,
    ) -> Result<Result<Admitted, Refusal>, Error> {
        let Some(known) = executions::get(tx, execution)? else { return Ok(Err(Refusal::NoToken)) };
        if known.state != ExecutionState::Running {
            return Ok(Err(Refusal::Terminal));
        }
        let Some(stored) = tokens::get(tx, &known.token)? else { return Ok(Err(Refusal::NoToken)) };
        let admitted = match stored.token.body.offer.kind {
            Kind::HouseRules => self.readmit_rehearsal(tx, &known, stored)?,
            kind => {
                let Ok(item) = WorkItem::from_canonical(&stored.payload) else {
                    return Ok(Err(evidence::Refusal::Content.into()));
                };
                let evidence = Evidence {
                    token: stored.token,
                    certificate: stored.certificate,
                    payload: stored.payload,
                    execution: execution.clone(),
                    roots: self.allowances(tx, &item.places())?,
                    plan: None,
                };
                if kind == Kind::Rehearsal {
                    let checked = self.readmitted(Rehearsal(item), evidence, known.started_at);
                    checked.map(Admitted::Rehearsal)
                } else {
                    self.readmitted(item, evidence, known.started_at).map(Admitted::Plan)
                }
            }
        };
        let admitted = admitted.map(|admitted| admitted.having_rested(rested));
        let is_over = match &admitted {
            Ok(admitted) => admitted.is_over(self.now(tx)?),
            Err(_) => false,
        };
        Ok(if is_over { Err(Refusal::TimeIsUp) } else { admitted })
    }

    fn readmitted<T: Approvable>(
        &self,
        item: T,
        evidence: Evidence,
        spent_at: Timestamp,
    ) -> Result<Approved<T>, Refusal> {
        self.check(&evidence, &item, When::AlreadyCommitted)?;
        Ok(Approved::new(item, evidence, spent_at))
    }

    /// What the launcher will check as well: the decision, and that its directories are allowed.
    fn check<T: Approvable>(&self, evidence: &Evidence, item: &T, when: When) -> Result<(), evidence::Refusal> {
        let revocations = self.revocations();
        evidence::verify(evidence, item.kind(), &self.anchor, &revocations, when)?;
        evidence::verify_roots(evidence, item.places().into_iter(), &self.anchor, &revocations)
    }

    /// The later of now and the highest time ever recorded: setting the clock back brings no approval to life.
    pub(super) fn now(&self, tx: &ReadTx<'_>) -> Result<Timestamp, Error> {
        let recorded = ledger::last_time(tx)?.unwrap_or(Timestamp::EPOCH);
        Ok(self.clock.now().max(recorded))
    }
}
