//! Passkeys: the question whether one may decide what cannot be undone, and its registration once the owner said so.
//!
//! The launcher certifies and remembers them; this room only keeps them in the list of devices. After a crash in between,
//! the next start asks the launcher and catches up.

use crate::Trouble;
use crate::question::Question;
use crate::trust::Trust;
use silas_approval::Approved;
use silas_core::canonical;
use silas_core::card::Card;
use silas_core::device::{Certificate, DEVICE_NAME_CHARS_MAX, DeviceKind};
use silas_core::event::AuditEvent;
use silas_core::passkey::{DeviceGrantKind, PasskeyGrant, Site};
use silas_core::signature::PublicKey;
use silas_core::token::Kind;
use silas_gates::scrub;
use silas_store::{Abort, Commit, ReadTx, Tx, devices, tokens};

impl Trust {
    /// Asks whether this passkey may decide. It was made in the browser; nothing about it is believed but what is signed.
    pub async fn offer_passkey(&self, name: &str, public: PublicKey, site: Site) -> Result<Card, Trouble> {
        let name = scrub::visible_line(name, DEVICE_NAME_CHARS_MAX);
        let grant = PasskeyGrant { kind: DeviceGrantKind::Device, name, public, site };
        grant.check().map_err(|why| Trouble::new("E_APPROVAL_PASSKEY", why, "Add the passkey again."))?;
        let subject = public.id().to_string();
        let card = self.house.card(
            self.house.words.passkey(&grant),
            &subject,
            Some(&grant),
            self.house.options.plan_timeout,
        )?;
        let question = Question::about(card, subject);
        let key = public.id();
        let asking = self.house.store.write(move |tx| {
            if devices::get(tx, &key)?.is_some() {
                return Ok(Commit(None));
            }
            Ok(Commit(Some(question.ask(tx)?)))
        });
        let Some(card) = asking.await? else {
            let what = "This passkey is registered already.";
            return Err(Trouble::new("E_APPROVAL_PASSKEY", what, "Look at the list of devices."));
        };
        self.hub.publish_cards().await;
        Ok(card)
    }

    /// Has the launcher certify it, and keeps it among the devices.
    pub(crate) async fn register_passkey(&self, approved: Approved<PasskeyGrant>) -> Result<String, Trouble> {
        let launcher = self.house.launcher.clone();
        let evidence = approved.evidence().clone();
        let certifying = tokio::task::spawn_blocking(move || launcher.certify_passkey(&evidence)).await;
        let certificate = match certifying {
            Ok(Ok(certificate)) => certificate,
            Ok(Err(error)) => {
                let what = format!("No passkey was registered. {error}");
                return Err(Trouble::new(error.code(), &what, "Add the passkey again."));
            }
            Err(_) => {
                let todo = "Look at the list of devices, then try again.";
                return Err(Trouble::new("E_APPROVAL_PASSKEY", "The registration was interrupted.", todo));
            }
        };
        let keeping = self.house.store.write(move |tx| Ok(Commit(keep(tx, &certificate)?)));
        keeping.await?;
        self.hub.publish_activity().await;
        Ok("Registered. What cannot be undone is signed with it from now on.".to_owned())
    }

    /// At the start: what the database knows is compared with what the launcher remembers.
    pub(crate) async fn know_passkeys(&self) -> Result<(), Trouble> {
        let known = self.house.store.read(of_database).await?;
        let launcher = self.house.launcher.clone();
        let asking = tokio::task::spawn_blocking(move || launcher.passkeys(known)).await;
        let passkeys = match asking {
            Ok(Ok(passkeys)) => passkeys,
            Ok(Err(error)) => return Err(Trouble::new(error.code(), &error.to_string(), "Restore a backup.")),
            Err(_) => {
                return Err(Trouble::new("E_APPROVAL_PASSKEY", "The start was interrupted.", "Start Silas again."));
            }
        };
        let keeping = self.house.store.write(move |tx| {
            for certificate in &passkeys {
                keep(tx, certificate)?;
            }
            Ok(Commit(()))
        });
        Ok(keeping.await?)
    }
}

fn of_database(tx: &ReadTx<'_>) -> Result<Vec<Certificate>, silas_store::Error> {
    let mut known = devices::list(tx)?;
    known.retain(|certificate| certificate.body.kind == DeviceKind::Passkey);
    Ok(known)
}

/// Once: what is on the list already is not told again.
fn keep(tx: &mut Tx<'_>, certificate: &Certificate) -> Result<(), Abort> {
    let body = &certificate.body;
    if devices::get(tx, &body.key)?.is_some() {
        return Ok(());
    }
    let is_its = |stored: &tokens::Stored| {
        canonical::read::<PasskeyGrant>(&stored.payload).is_ok_and(|grant| grant.public == body.public)
    };
    let spent =
        tokens::standing(tx, Kind::Device)?.into_iter().find(|stored| stored.executions_used > 0 && is_its(stored));
    let token = spent.map(|stored| stored.token.id()).transpose()?;
    devices::insert(tx, certificate)?;
    let name = tx.text(&body.name)?;
    tx.record(&AuditEvent::PasskeyRegistered { key: body.key.clone(), name, token })?;
    Ok(())
}
