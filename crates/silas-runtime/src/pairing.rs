//! Pairing a browser: a code from the terminal, a key that is born in the browser, and the house rules.

use crate::review::refused;
use crate::{Stream, Trouble};
use silas_core::card::Face;
use silas_core::device::{Certificate, CertificateBody, DEVICE_NAME_CHARS_MAX, DeviceKind};
use silas_core::event::AuditEvent;
use silas_core::signature::PublicKey;
use silas_core::token::{Offer, Token};
use silas_gates::scrub;
use silas_store::{Commit, devices};
use std::sync::Arc;

impl Stream {
    /// What the pairing screen shows and signs; nothing once the house rules are signed.
    pub async fn pairing_screen(&self) -> Result<Option<(Face, Offer, String)>, Trouble> {
        if self.has_house_rules().await? {
            return Ok(None);
        }
        Ok(Some(self.engine.offer_house_rules()?))
    }

    async fn has_house_rules(&self) -> Result<bool, Trouble> {
        let engine = self.engine.clone();
        Ok(self.store.read(move |tx| Ok(engine.has_house_rules(tx)?)).await?)
    }

    /// Certifies the browser's key if it proves that it knows the code. The first one signs the house rules as well.
    pub async fn pair(
        self: &Arc<Self>,
        public: PublicKey,
        name: &str,
        proof: &str,
        house_rules: Option<Token>,
    ) -> Result<Certificate, Trouble> {
        if house_rules.is_none() && !self.has_house_rules().await? {
            return Err(Trouble::new(
                "E_APPROVAL_PAIRING",
                "The house rules were not signed.",
                "Reload the page and pair again.",
            ));
        }
        let body = CertificateBody {
            v: 1,
            kind: DeviceKind::Browser,
            installation: self.installation().clone(),
            name: scrub::visible_line(name, DEVICE_NAME_CHARS_MAX),
            key: public.id(),
            public,
            issued_at: self.clock.now(),
        };
        let launcher = self.launcher.clone();
        let proof = proof.to_owned();
        let certified = tokio::task::spawn_blocking(move || launcher.certify(body, &proof)).await;
        let certificate = match certified {
            Ok(Ok(certificate)) => certificate,
            Ok(Err(error)) => {
                return Err(Trouble::new(
                    "E_APPROVAL_PAIRING",
                    &error.to_string(),
                    "On the machine where Silas runs: `silas pair` prints a new address.",
                ));
            }
            Err(_) => return Err(Trouble::new("E_APPROVAL_PAIRING", "The pairing was interrupted.", "Try again.")),
        };
        let engine = self.engine.clone();
        let device = certificate.clone();
        let pairing = self.store.write(move |tx| {
            // Before the device is known: whoever signs other rules than these is not paired at all.
            if let Some(token) = &house_rules
                && let Err(refusal) = engine.record_house_rules(tx, &device, token)?
            {
                return Ok(Commit(Err(refusal)));
            }
            devices::insert(tx, &device)?;
            let name = tx.text(&device.body.name)?;
            tx.record(&AuditEvent::DevicePaired { key: device.body.key.clone(), name })?;
            Ok(Commit(Ok(())))
        });
        pairing.await?.map_err(|refusal| refused(&refusal))?;
        self.publish_activity().await;
        Ok(certificate)
    }
}
