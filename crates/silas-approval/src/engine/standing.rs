//! What holds beyond one decision: devices, revocations, house rules, allowed directories, and everything that is granted
//! and not used up.

use super::in_force::{Kept, stays};
use super::{Engine, Refusal};
use crate::house_rules::{HOUSE_RULE_DAYS, HOUSE_RULE_USES, HouseRule, HouseRules};
use crate::{Approvable, Error};
use silas_core::card::Face;
use silas_core::device::{Certificate, DeviceKind};
use silas_core::event::AuditEvent;
use silas_core::evidence::{self, Allowance, When};
use silas_core::model::ModelGrant;
use silas_core::passkey;
use silas_core::revocation::{RevocationList, Revocations};
use silas_core::roots::{self, RootGrant};
use silas_core::token::{Kind, Offer, Token};
use silas_core::{Digest, ExecutionId, KeyId, TokenId, canonical};
use silas_store::{ReadTx, Tx, devices, settings, tokens};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A decision that allows something, with what is left of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    pub id: TokenId,
    pub kind: Kind,
    pub token: Token,
    /// What the signer is called.
    pub signed_on: String,
    /// The canonical text of what is allowed.
    pub payload: String,
    pub uses_left: u32,
}

impl Engine {
    /// The list of what is revoked that is in force.
    pub fn revocations(&self) -> Arc<Revocations> {
        // Written in one assignment, so a panic elsewhere leaves it whole.
        self.revocations.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes a newer list; an older one or a foreign one is refused. From here on every check knows it.
    pub fn adopt(&self, list: RevocationList) -> Result<Arc<Revocations>, evidence::Refusal> {
        let mut known = self.revocations.write().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(known.followed_by(list, &self.anchor)?);
        *known = next.clone();
        Ok(next)
    }

    /// A device of the owner's, checked when it was written and checked again: a tampered database pairs nobody.
    pub fn device(&self, tx: &ReadTx<'_>, key: &KeyId) -> Result<Result<Certificate, Refusal>, Error> {
        let Some(certificate) = devices::get(tx, key)? else { return Ok(Err(Refusal::UnknownDevice)) };
        if let Err(mismatch) = certificate.check(&self.anchor.root, &self.anchor.installation) {
            return Ok(Err(evidence::Refusal::Certificate(mismatch).into()));
        }
        if self.revocations().has_device(key) {
            return Ok(Err(evidence::Refusal::RevokedDevice.into()));
        }
        Ok(Ok(certificate))
    }

    /// Whether the owner has a passkey: then it alone decides what cannot be undone.
    pub fn has_passkey(&self, tx: &ReadTx<'_>) -> Result<bool, Error> {
        let revocations = self.revocations();
        let counts = |known: &Certificate| {
            known.body.kind == DeviceKind::Passkey
                && self.vouches_for(known)
                && !revocations.has_device(&known.body.key)
        };
        Ok(devices::list(tx)?.iter().any(counts))
    }

    /// The directories that are allowed, oldest first, each with the decision that allows it.
    pub fn roots(&self, tx: &ReadTx<'_>) -> Result<Vec<(RootGrant, Allowance)>, Error> {
        let known = self.holding(tx, Kind::Root)?.into_iter().filter_map(|kept| {
            let tokens::Stored { token, certificate, payload, .. } = kept.stored.clone();
            let grant = canonical::read(&payload).ok()?;
            Some((grant, Allowance { token, certificate, payload }))
        });
        Ok(known.collect())
    }

    /// Why this could not begin now: a directory that it needs is not allowed, or not any more.
    pub fn lacks_root<T: Approvable>(&self, tx: &ReadTx<'_>, item: &T) -> Result<Option<Refusal>, Error> {
        let allowed = self.roots(tx)?;
        let covers = |place: &&str| allowed.iter().any(|(grant, _)| roots::contains(&grant.place.path, place));
        let missing = item.places().into_iter().find(|place| !covers(place));
        Ok(missing.map(|place| evidence::Refusal::Root(place.to_owned()).into()))
    }

    /// The models that the owner allowed and did not take back, oldest first.
    pub fn models(&self, tx: &ReadTx<'_>) -> Result<Vec<ModelGrant>, Error> {
        let known = self.holding(tx, Kind::Model)?.into_iter().filter_map(|kept| {
            let grant: ModelGrant = canonical::read(&kept.stored.payload).ok()?;
            Some((kept.stored.token.body.offer.issued_at, grant))
        });
        let mut known: Vec<_> = known.collect();
        known.sort_by_key(|(issued_at, _)| *issued_at);
        Ok(known.into_iter().map(|(_, grant)| grant).collect())
    }

    /// The decisions that allow these directories, as far as there are any; whoever checks sees what is missing.
    pub(super) fn allowances(&self, tx: &ReadTx<'_>, places: &[&str]) -> Result<Vec<Allowance>, Error> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let mut needed: Vec<Allowance> = Vec::new();
        let allowed = self.roots(tx)?;
        for place in places {
            let covers = allowed.iter().find(|(grant, _)| roots::contains(&grant.place.path, place));
            if let Some((_, allowance)) = covers
                && !needed.contains(allowance)
            {
                needed.push(allowance.clone());
            }
        }
        Ok(needed)
    }

    /// Whether the owner has signed the house rules as they are now, not counting those of `besides`. An earlier list
    /// goes on allowing what it names, and the whole list is asked for again.
    pub fn has_house_rules(&self, tx: &ReadTx<'_>, besides: Option<&KeyId>) -> Result<bool, Error> {
        let current = canonical::text(&HouseRules::current())?;
        let counts = |stored: &tokens::Stored| Some(&stored.token.body.key) != besides && stored.payload == current;
        Ok(self.house_rules(tx)?.iter().any(counts))
    }

    /// Whether the owner has signed an earlier list of house rules, and not the one of now.
    pub fn has_only_old_house_rules(&self, tx: &ReadTx<'_>) -> Result<bool, Error> {
        Ok(!self.house_rules(tx)?.is_empty() && !self.has_house_rules(tx, None)?)
    }

    pub(super) fn house_rules(&self, tx: &ReadTx<'_>) -> Result<Vec<tokens::Stored>, Error> {
        Ok(self.holding(tx, Kind::HouseRules)?.into_iter().map(|kept| kept.stored.clone()).collect())
    }

    /// What the pairing screen of the first device signs, or the card that asks later.
    pub fn offer_house_rules(&self, face: &Face) -> Result<(Offer, String), Error> {
        let payload = canonical::text(&HouseRules::current())?;
        let lasts = Duration::from_secs(HOUSE_RULE_DAYS * 24 * 3600);
        let offer = self.offer_payload(Kind::HouseRules, "house-rules", &payload, face, lasts, HOUSE_RULE_USES)?;
        Ok((offer, payload))
    }

    /// Keeps the house rules that a device signed while it was paired.
    pub fn record_house_rules(
        &self,
        tx: &mut Tx<'_>,
        certificate: &Certificate,
        token: &Token,
    ) -> Result<Result<TokenId, Refusal>, Error> {
        let payload = canonical::text(&HouseRules::current())?;
        let now = self.now(tx)?;
        let when = When::At(now);
        let fits = token.body.offer.plan_hash == Digest::of(payload.as_bytes())
            && token.body.offer.shown == HouseRules::current().pairing_face().hash()?
            && token.body.offer.max_executions == HOUSE_RULE_USES;
        if !fits {
            return Ok(Err(Refusal::OtherOffer));
        }
        let revocations = self.revocations();
        let verified = evidence::verify_token(token, certificate, Kind::HouseRules, &self.anchor, &revocations, when);
        let id = match verified {
            Ok(id) => id,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        tokens::insert(tx, token, certificate, &payload, None)?;
        tx.record_at(&AuditEvent::HouseRulesSigned { token: id.clone(), key: token.body.key.clone() }, now)?;
        Ok(Ok(id))
    }

    /// Uses the house rules once for `rule`, if the owner signed them and they name it.
    pub fn use_house_rule(&self, tx: &mut Tx<'_>, rule: HouseRule) -> Result<bool, Error> {
        let now = self.now(tx)?;
        for stored in self.house_rules(tx)? {
            let named = canonical::read::<HouseRules>(&stored.payload).is_ok_and(|rules| rules.rules.contains(&rule));
            if !named {
                continue;
            }
            let id = stored.token.id()?;
            if let Some(use_number) = tokens::spend(tx, &id)? {
                let execution = ExecutionId::derive(&id, use_number);
                let plan_hash = stored.token.body.offer.plan_hash;
                tx.record_at(&AuditEvent::TokenSpent { token: id, execution, plan_hash, use_number }, now)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Everything that is allowed now beyond what is under way: standing rules, directories, approvals not used up.
    pub fn grants(&self, tx: &ReadTx<'_>) -> Result<Vec<Grant>, Error> {
        let (now, revocations) = (self.now(tx)?, self.revocations());
        let when = |kind| if stays(kind) { When::AlreadyCommitted } else { When::At(now) };
        let kept = self.in_force(tx)?;
        let holding = kept.iter().filter(|kept| kept.holds(&revocations, when(kept.kind)));
        Ok(holding.map(|kept| grant(kept)).collect())
    }
}

fn grant(kept: &Kept) -> Grant {
    let tokens::Stored { id, token, certificate, payload, executions_used, .. } = &kept.stored;
    Grant {
        id: id.clone(),
        kind: kept.kind,
        token: token.clone(),
        signed_on: certificate.body.name.clone(),
        payload: payload.clone(),
        uses_left: token.body.offer.max_executions.saturating_sub(*executions_used),
    }
}

/// Whether an authenticator's count follows on the last one, which it then replaces.
pub(super) fn count_follows(tx: &mut Tx<'_>, key: &KeyId, count: u32) -> Result<bool, Error> {
    let setting = format!("passkey_count.{key}");
    let last = settings::get::<u32>(tx, &setting)?.unwrap_or(0);
    if !passkey::may_follow(last, count) {
        return Ok(false);
    }
    settings::set(tx, &setting, &count)?;
    Ok(true)
}
