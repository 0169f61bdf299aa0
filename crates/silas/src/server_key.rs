//! The keys that sign the ledger's heads, and the root key's word for each.
//!
//! A server asks for that word before its launcher is sealed: later nobody can have a key certified. Where the root key
//! takes a passphrase there is nobody to type it, so `silas key` has it given before it sets one.
//!
//! `store/server.cert` holds the certificate, or a list of them once a key was exchanged for another: those of earlier keys
//! stay, because the checkpoints that they signed do.

use crate::home::Home;
use crate::same_silas;
use crate::wire;
use crate::world::SystemClock;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use silas_approval::{ServerKey, keys};
use silas_core::checkpoint::{Head, Replaced, ServerCertificate, ServerCertificateBody};
use silas_core::evidence::Anchor;
use silas_core::fail::{self, FailPoint};
use silas_core::handover::Handovers;
use silas_core::key_service::{Ask, KeyReply, KeyRequest};
use silas_core::secret::Secret;
use silas_core::server_keys::{SERVER_KEYS_MAX, ServerKeys};
use silas_core::{Clock, KeyId};
use silas_sandbox::Launcher;
use silas_store::audit::{self, Extent, Keeper};
use silas_store::{Store, rotations};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// For a large database on a slow disk.
const PATIENCE: Duration = Duration::from_secs(600);

/// The key and what is known of it and of those before it.
pub(crate) struct Ready {
    pub(crate) key: ServerKey,
    pub(crate) keys: ServerKeys,
    /// Missing while the root key is locked. Everything but writing a proof works without it.
    pub(crate) certificate: Option<ServerCertificate>,
}

/// At the start, by whoever holds the data directory.
pub(crate) fn ready(launcher: &Launcher, home: &Home, anchor: &Anchor, clock: &dyn Clock) -> Result<Ready> {
    let kept = read(home)?;
    if kept.is_empty() && home.store().join("agent.sqlite").exists() {
        // A start may have no threads yet, and the database has some.
        let lost = silas_sandbox::apart(PATIENCE, || {
            // What an upgrade left to do is done first.
            let looked = wire::open_store(home).and_then(|store| {
                drop(store);
                nothing_lost(home)
            });
            looked.map_err(|cause| format!("{cause:#}"))
        });
        lost.map_err(|e| anyhow!("{e}"))?.map_err(|cause| anyhow!("{cause}"))?;
    }
    settle(home, &kept)?;
    let key = load(home)?;
    if let Some(ready) = known(&key, &kept, anchor)? {
        let certificate = kept.into_iter().next_back();
        return Ok(Ready { key, keys: ready, certificate });
    }
    match launcher.certify_server(&home.path, key.to_be_certified(anchor, clock.now(), None)) {
        Ok(certificate) => {
            keep(home, std::slice::from_ref(&certificate))?;
            let keys = ServerKeys::only(key.public());
            Ok(Ready { key, keys, certificate: Some(certificate) })
        }
        Err(silas_sandbox::Error::Locked) => {
            let keys = ServerKeys::only(key.public());
            Ok(Ready { key, keys, certificate: None })
        }
        Err(e) => Err(anyhow!("{e}").context("The server key could not be certified.")),
    }
}

/// In the owner's own command, which may open the root key.
pub(crate) fn certify(home: &Home, passphrase: Option<&Secret>) -> Result<()> {
    let anchor = home.anchor()?;
    let kept = read(home)?;
    if kept.is_empty() && home.store().join("agent.sqlite").exists() {
        nothing_lost(home)?;
    }
    let key = load(home)?;
    if known(&key, &kept, &anchor)?.is_some() {
        return Ok(());
    }
    let body = key.to_be_certified(&anchor, SystemClock.now(), None);
    keep(home, &[have_certified(home, body, &mut || passphrase.cloned())?])
}

/// Whose ledger this is, for whoever checks it; and the certificates that show it elsewhere. No private key is needed,
/// unless the root key has not vouched for one yet.
pub(crate) fn keeper(home: &Home) -> Result<(Keeper, Vec<ServerCertificate>)> {
    let known = home.known()?;
    let certificates = read(home)?;
    let servers = match ServerKeys::checked(&certificates, &known.root, &known.installation) {
        Ok(servers) => servers,
        Err(_) if certificates.is_empty() => {
            nothing_lost(home)?;
            ServerKeys::only(load_only(home)?.public())
        }
        Err(mismatch) => return Err(unfit(&mismatch)),
    };
    let handovers = Handovers::checked(known.handovers, &known.root, &known.installation)
        .map_err(|mismatch| anyhow!("The hand-overs in keys/installation.json do not count: {mismatch}."))?;
    Ok((Keeper { root: known.root, handovers, servers, installation: known.installation }, certificates))
}

/// Gives the log a new key. The old one's word stays good up to the entry at which it is replaced, and for nothing after.
pub(crate) fn rotate(home: &Home, ask: Ask<'_>) -> Result<KeyId> {
    let anchor = home.anchor()?;
    let mut kept = read(home)?;
    if kept.is_empty() {
        nothing_lost(home)?;
    }
    settle(home, &kept)?;
    let old = load_only(home)?;
    if known(&old, &kept, &anchor)?.is_none() {
        // The old key's checkpoints need the root key's word too, from now on.
        kept = vec![have_certified(home, old.to_be_certified(&anchor, SystemClock.now(), None), ask)?];
        keep(home, &kept)?;
    }
    ensure!(kept.len() < SERVER_KEYS_MAX, "The server key was exchanged too often.");
    let last = sound_head(home)?;
    let new = ServerKey::make_next(&home.server_key()).context("The new key could not be written.")?;
    fail::point(FailPoint::ServerKeyMade);
    let replaces = Replaced { key: old.public().id(), last };
    let body = new.to_be_certified(&anchor, SystemClock.now(), Some(replaces));
    let certified = have_certified(home, body, ask);
    kept.push(certified.inspect_err(|_| drop(ServerKey::settle(&home.server_key(), None)))?);
    ServerKeys::checked(&kept, &anchor.root, &anchor.installation).map_err(|mismatch| unfit(&mismatch))?;
    keep(home, &kept)?;
    fail::point(FailPoint::ServerKeyDecided);
    settle(home, &kept)?;
    Ok(new.public().id())
}

/// The last entry of a ledger that holds. What the root key signs for must be what was written.
pub(crate) fn sound_head(home: &Home) -> Result<Head> {
    let (keeper, _) = keeper(home)?;
    ensure!(home.store().join("agent.sqlite").exists(), no_ledger());
    // Opened for writing once, so that what an upgrade left to do is done.
    let store = wire::open_store(home)?;
    let found = store.read(move |tx| audit::audit(tx, &keeper, Extent::Everything)).wait()?;
    if let Some(problem) = found.problem() {
        bail!("{problem}. The root key does not vouch for a ledger that does not hold; restore a backup first.");
    }
    found.sound_head().with_context(no_ledger)
}

/// Without `store/server.cert` a certificate for the key that lies there can be had again, but none for the keys before it.
/// If the ledger tells of such, nothing is made or signed that would hide that the file is gone.
fn nothing_lost(home: &Home) -> Result<()> {
    let told = Store::open_read_only(&home.store())?.read(rotations::server_keys_told).wait()?;
    let only = ServerKey::load(&home.server_key()).ok().map(|key| key.public().id());
    let is_lost = !told.is_empty() && told != only.into_iter().collect::<Vec<_>>();
    ensure!(
        !is_lost,
        "store/server.cert is gone, and the ledger tells of server keys whose certificates only that file had: the \
         key was exchanged for another before. Put the file back from a backup, together with store/server.key. Nothing \
         was changed."
    );
    Ok(())
}

fn have_certified(home: &Home, body: ServerCertificateBody, ask: Ask<'_>) -> Result<ServerCertificate> {
    match keys::helper(&home.keys(), &KeyRequest::CertifyServer { body }, ask) {
        KeyReply::ServerCertified { certificate } => Ok(certificate),
        KeyReply::Refused { reason } => bail!("{reason}"),
        _ => bail!("The keys could not be opened."),
    }
}

fn load(home: &Home) -> Result<ServerKey> {
    ServerKey::load_or_make(&home.server_key()).context("The server key could not be made ready.")
}

fn load_only(home: &Home) -> Result<ServerKey> {
    ServerKey::load(&home.server_key()).context("The checkpoints of the ledger cannot be checked.")
}

/// An exchange that was cut off: forward if the root key had vouched for the new key, back otherwise.
fn settle(home: &Home, kept: &[ServerCertificate]) -> Result<()> {
    let vouched = kept.last().map(|last| last.body.public);
    ServerKey::settle(&home.server_key(), vouched.as_ref()).context("The new server key could not be put in place.")
}

/// The keys, if the certificates are of this one. A lone one that is about another key or signed by another root is no
/// loss, the same can be had again; of several none can be missed.
fn known(key: &ServerKey, kept: &[ServerCertificate], anchor: &Anchor) -> Result<Option<ServerKeys>> {
    match ServerKeys::checked(kept, &anchor.root, &anchor.installation) {
        Ok(keys) if keys.current() == key.public() => Ok(Some(keys)),
        _ if kept.len() <= 1 => Ok(None),
        Ok(_) => {
            bail!("store/server.key is not the key of which store/server.cert speaks. Put both back from a backup.")
        }
        Err(mismatch) => Err(unfit(&mismatch)),
    }
}

fn unfit(mismatch: &silas_core::device::Mismatch) -> anyhow::Error {
    anyhow!("The certificates in store/server.cert do not count: {mismatch}. Put the file back from a backup.")
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Kept {
    One(Box<ServerCertificate>),
    More(Vec<ServerCertificate>),
}

/// Oldest first; none where the root key has vouched for none. A file that cannot be read is an error: what it said of
/// earlier keys cannot be had again.
pub(crate) fn read(home: &Home) -> Result<Vec<ServerCertificate>> {
    let bytes = match fs::read(home.server_certificate()) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.context("store/server.cert cannot be read.")?,
    };
    let damaged = "store/server.cert is damaged. Put it back from a backup; if the server key was never exchanged for \
                   another, remove the file, and the next start makes it anew.";
    Ok(match serde_json::from_slice(&bytes).context(damaged)? {
        Kept::One(one) => vec![*one],
        Kept::More(more) => more,
    })
}

/// In one step.
pub(crate) fn keep(home: &Home, certificates: &[ServerCertificate]) -> Result<()> {
    let kept = match certificates {
        [one] => Kept::One(Box::new(one.clone())),
        more => Kept::More(more.to_vec()),
    };
    let path = home.server_certificate();
    write(&path, &serde_json::to_vec_pretty(&kept)?).context("The server key's certificate could not be kept.")
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn no_ledger() -> String {
    format!("There is no ledger yet. Start Silas once with `{}`.", same_silas::start())
}
