//! What was signed and spent: every decision is checked when it is recorded, every spending against what was signed and
//! against every spending before it.

use super::account::{Account, Claimed, Gone, Spent, Stage, Terms};
use super::{Beside, Books, Decision, Reason};
use crate::device::DeviceKind;
use crate::evidence::{self, When};
use crate::passkey;
use crate::revocation::Revocations;
use crate::token::{Kind, Verdict};
use crate::{Digest, ExecutionId, KeyId, Timestamp, TokenId};

impl Books {
    /// A decision of this kind was spent for it.
    pub(super) fn granted(&self, token: &TokenId, kind: Kind) -> Result<(), Reason> {
        let account = self.accounts.get(token).filter(|account| account.n_spent > 0).ok_or(Reason::NotSpent)?;
        if account.kind == kind { Ok(()) } else { Err(Reason::OtherKind) }
    }

    /// The two keys signed it, under the next number.
    pub(super) fn hand_over(&mut self, number: u64, from: &KeyId, to: &KeyId) -> Result<(), Reason> {
        let next = self.handovers.list().iter().find(|handover| handover.body.number == self.n_handovers_told + 1);
        let is_it = next
            .is_some_and(|next| next.body.number == number && next.body.from.id() == *from && next.body.to.id() == *to);
        if !is_it {
            return Err(Reason::Handover);
        }
        self.n_handovers_told += 1;
        Ok(())
    }

    pub(super) fn begin_epoch(&mut self, epoch: u64) -> Result<(), Reason> {
        if self.is_epoch_known && epoch <= self.anchor.epoch {
            return Err(Reason::EpochBack);
        }
        (self.anchor.epoch, self.is_epoch_known) = (epoch, true);
        Ok(())
    }

    /// A decision is checked when it is recorded: who signed, for whom, what, and whether it came in time.
    pub(super) fn decide(
        &mut self,
        seq: u64,
        at: Timestamp,
        claimed: &Claimed<'_>,
        beside: Option<&Beside>,
    ) -> Result<(), Reason> {
        // Decisions are kept as long as the ledger: one that is not there was taken away.
        let Some(Beside::Decision(kept)) = beside else { return Err(Reason::NoDecision) };
        let Decision { token, certificate, payload, card, executions_used } = kept.as_ref();
        let offer = &token.body.offer;
        let is_the_one = token.id().is_ok_and(|id| id == *claimed.token)
            && token.body.key == *claimed.key
            && token.body.verdict == claimed.verdict
            && offer.kind == claimed.kind
            && card.as_ref() == claimed.card;
        if !is_the_one {
            return Err(Reason::OtherDecision);
        }
        if self.revoked.contains(claimed.key) {
            return Err(evidence::Refusal::RevokedDevice.into());
        }
        if !self.is_epoch_known {
            (self.anchor.epoch, self.is_epoch_known) = (offer.epoch, true);
        }
        let is_approved = token.body.verdict == Verdict::Approved;
        if is_approved {
            // It was taken at its time; what was revoked later does not make that untrue.
            let none = Revocations::default();
            evidence::verify_token(token, certificate, offer.kind, &self.anchor, &none, When::At(at))?;
        } else {
            evidence::verify_signature(token, certificate, &self.anchor)?;
        }
        if payload.is_empty() {
            self.gone.push(Gone { seq, at, reason: evidence::Refusal::Content.into(), expires: false });
        } else if Digest::of(payload.as_bytes()) != offer.plan_hash {
            return Err(evidence::Refusal::Content.into());
        }
        let signer = certificate.body.kind;
        passkey::may_decide(signer, offer.kind, payload, token.body.verdict, !self.passkeys.is_empty())?;
        if let Some(count) = token.signature.sign_count() {
            let last = self.counts.insert(claimed.key.clone(), count).unwrap_or(0);
            if !passkey::may_follow(last, count) {
                return Err(Reason::Counter);
            }
        }
        // A browser signs the house rules in the moment in which it is paired; everything else comes after.
        let is_pairing = offer.kind == Kind::HouseRules;
        if signer != DeviceKind::Terminal && !is_pairing && !self.devices.contains(claimed.key) {
            return Err(Reason::Unpaired);
        }
        let terms = Terms::of(offer, payload, Some(*executions_used));
        let account = Account { kind: claimed.kind, is_approved, n_spent: 0, terms };
        match self.accounts.insert(claimed.token.clone(), account) {
            None => Ok(()),
            Some(_) => Err(Reason::DecidedTwice),
        }
    }

    /// A spending is checked against what was signed and against every spending before it.
    pub(super) fn spend(
        &mut self,
        at: Timestamp,
        token: &TokenId,
        execution: &ExecutionId,
        plan_hash: &Digest,
        use_number: u32,
    ) -> Result<(), Reason> {
        let account = self.accounts.get_mut(token).ok_or(Reason::NoDecision)?;
        if !account.is_approved {
            return Err(evidence::Refusal::Verdict.into());
        }
        let terms = &account.terms;
        if terms.epoch != self.anchor.epoch {
            return Err(evidence::Refusal::Epoch.into());
        }
        if at >= terms.expires_at {
            return Err(evidence::Refusal::Expired.into());
        }
        if *plan_hash != terms.plan_hash {
            return Err(evidence::Refusal::Content.into());
        }
        if account.n_spent >= terms.max_executions {
            return Err(Reason::Overspent { max: terms.max_executions });
        }
        if use_number != account.n_spent || *execution != ExecutionId::derive(token, use_number) {
            return Err(evidence::Refusal::Execution.into());
        }
        account.n_spent += 1;
        // House rules are about no item; each rehearsal names its own.
        let subject = Some(account.terms.subject.clone()).filter(|_| account.kind != Kind::HouseRules);
        let spent = Spent { kind: account.kind, may_work: account.terms.may_work, subject, stage: Stage::Spent };
        self.executions.insert(execution.clone(), spent);
        if account.kind == Kind::Apply {
            match &account.terms.apply {
                Some(order) => drop(self.applies.insert(order.execution.clone(), order.changeset)),
                None => self.n_applies_forgotten += 1,
            }
        }
        Ok(())
    }
}
