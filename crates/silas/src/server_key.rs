//! The key that signs the ledger's heads, and the root key's word that it may.
//!
//! A server asks for that word before its launcher is sealed: later nobody can have a key certified. Where the root key
//! takes a passphrase there is nobody to type it, so `silas key` has it given before it sets one.

use crate::home::Home;
use crate::world::SystemClock;
use anyhow::{Context, Result, anyhow, bail};
use silas_approval::{ServerKey, keys};
use silas_core::Clock;
use silas_core::checkpoint::ServerCertificate;
use silas_core::evidence::Anchor;
use silas_core::key_service::{KeyReply, KeyRequest};
use silas_core::secret::Secret;
use silas_sandbox::Launcher;

/// The key, and its certificate unless the root key is locked. Everything but writing a proof works without one.
pub(crate) fn ready(
    launcher: &Launcher,
    home: &Home,
    anchor: &Anchor,
) -> Result<(ServerKey, Option<ServerCertificate>)> {
    let key = load(home)?;
    if let Some(kept) = kept(home, &key, anchor) {
        return Ok((key, Some(kept)));
    }
    match launcher.certify_server(&home.path, key.to_be_certified(anchor, SystemClock.now())) {
        Ok(certificate) => {
            keep(home, &certificate)?;
            Ok((key, Some(certificate)))
        }
        Err(silas_sandbox::Error::Locked) => Ok((key, None)),
        Err(e) => Err(anyhow!("{e}").context("The server key could not be certified.")),
    }
}

/// In the owner's own command, which may open the root key.
pub(crate) fn certify(home: &Home, passphrase: Option<&Secret>) -> Result<()> {
    let known = home.known()?;
    let anchor = Anchor { installation: known.installation, root: known.root, epoch: home.epoch()? };
    let key = load(home)?;
    if kept(home, &key, &anchor).is_some() {
        return Ok(());
    }
    let body = key.to_be_certified(&anchor, SystemClock.now());
    match keys::helper(&home.keys(), &KeyRequest::CertifyServer { body }, &mut || passphrase.cloned()) {
        KeyReply::ServerCertified { certificate } => keep(home, &certificate),
        KeyReply::Refused { reason } => bail!("{reason}"),
        _ => bail!("The keys could not be opened."),
    }
}

fn load(home: &Home) -> Result<ServerKey> {
    ServerKey::load_or_make(&home.server_key()).context("The server key could not be made ready.")
}

/// One that is missing, damaged or about another key is no loss: the same can be had again.
fn kept(home: &Home, key: &ServerKey, anchor: &Anchor) -> Option<ServerCertificate> {
    let bytes = std::fs::read(home.server_certificate()).ok()?;
    let kept: ServerCertificate = serde_json::from_slice(&bytes).ok()?;
    key.is_certified_by(&kept, anchor).then_some(kept)
}

fn keep(home: &Home, certificate: &ServerCertificate) -> Result<()> {
    let path = home.server_certificate();
    let beside = path.with_extension("new");
    std::fs::write(&beside, serde_json::to_vec_pretty(certificate)?)?;
    std::fs::rename(&beside, &path).context("The server key's certificate could not be kept.")
}
