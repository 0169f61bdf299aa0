//! Pairing a browser: a code from the terminal, a key that is born in the browser, and the house rules.
//!
//! The launcher makes the code and checks the proof that somebody saw it; here the device is written down.

use crate::Trouble;
use crate::trouble::refused;
use crate::trust::Trust;
use crate::trust::grants::close_asking;
use silas_approval::house_rules::HouseRules;
use silas_core::KeyId;
use silas_core::card::Face;
use silas_core::device::{Certificate, CertificateBody, DEVICE_NAME_CHARS_MAX, DeviceKind};
use silas_core::event::AuditEvent;
use silas_core::revocation::Withdrawal;
use silas_core::signature::PublicKey;
use silas_core::token::{Offer, Token};
use silas_gates::scrub;
use silas_store::{Commit, devices};
use std::sync::Arc;

/// A browser that wants to be paired.
pub struct Newcomer {
    pub public: PublicKey,
    pub name: String,
    /// That it knows the code.
    pub proof: String,
    /// The house rules, signed with its key.
    pub house_rules: Option<Token>,
    /// Its old key, withdrawn by that key.
    pub replaces: Option<Withdrawal>,
}

impl Trust {
    /// What the pairing screen shows and signs; nothing once the house rules are signed. A browser that gets a new key
    /// names its old one, because what that one signed goes with it.
    pub async fn pairing_screen(&self, replaced: Option<&KeyId>) -> Result<Option<(Face, Offer, String)>, Trouble> {
        if self.has_house_rules(replaced).await? {
            return Ok(None);
        }
        let face = HouseRules::current().pairing_face();
        let (offer, payload) = self.house.engine.offer_house_rules(&face)?;
        Ok(Some((face, offer, payload)))
    }

    pub(crate) async fn has_house_rules(&self, besides: Option<&KeyId>) -> Result<bool, Trouble> {
        let (engine, besides) = (self.house.engine.clone(), besides.cloned());
        Ok(self.house.store.read(move |tx| Ok(engine.has_house_rules(tx, besides.as_ref())?)).await?)
    }

    /// Certifies the browser's key if it proves that it knows the code. The first one signs the house rules as well. A
    /// browser that had a key before withdraws it with the same tap; it goes only when the new one is there.
    pub async fn pair(self: &Arc<Self>, newcomer: Newcomer) -> Result<Certificate, Trouble> {
        let Newcomer { public, name, proof, house_rules, replaces } = newcomer;
        let replaced = replaces.as_ref().map(|withdrawal| &withdrawal.body.key);
        if house_rules.is_none() && !self.has_house_rules(replaced).await? {
            return Err(Trouble::new(
                "E_APPROVAL_PAIRING",
                "The house rules were not signed.",
                "Reload the page and pair again.",
            ));
        }
        let body = CertificateBody {
            v: 1,
            kind: DeviceKind::Browser,
            installation: self.house.installation().clone(),
            name: scrub::visible_line(&name, DEVICE_NAME_CHARS_MAX),
            key: public.id(),
            public,
            issued_at: self.house.clock.now(),
            site: None,
        };
        let launcher = self.house.launcher.clone();
        let certified = tokio::task::spawn_blocking(move || launcher.certify(body, &proof)).await;
        let certificate = match certified {
            Ok(Ok(certificate)) => certificate,
            Ok(Err(error)) => {
                return Err(Trouble::new(
                    "E_APPROVAL_PAIRING",
                    &error.to_string(),
                    "For a new address, on the machine where Silas runs: silas pair",
                ));
            }
            Err(_) => return Err(Trouble::new("E_APPROVAL_PAIRING", "The pairing was interrupted.", "Try again.")),
        };
        let digits = silas_core::device::digits(&certificate.body.public, self.house.installation());
        let engine = self.house.engine.clone();
        let device = certificate.clone();
        let pairing = self.house.store.write(move |tx| {
            // Before the device is known: whoever signs other rules than these is not paired at all.
            if let Some(token) = &house_rules
                && let Err(refusal) = engine.record_house_rules(tx, &device, token)?
            {
                return Ok(Commit(Err(refusal)));
            }
            if house_rules.is_some() {
                close_asking(tx)?;
            }
            devices::insert(tx, &device)?;
            let name = tx.text(&device.body.name)?;
            tx.record(&AuditEvent::DevicePaired { key: device.body.key.clone(), name })?;
            Ok(Commit(Ok(())))
        });
        pairing.await?.map_err(|refusal| refused(&refusal))?;
        tracing::info!(name = certificate.body.name, %digits, "a browser was paired; its page showed these digits");
        if let Some(withdrawal) = replaces
            && let Err(trouble) = self.withdraw(withdrawal).await
        {
            // The new key is good; the old one is listed among the devices, where it can be revoked by hand.
            tracing::warn!(%trouble, "the old key of a browser was not withdrawn");
        }
        self.hub.publish_cards().await;
        self.hub.publish_activity().await;
        Ok(certificate)
    }
}
