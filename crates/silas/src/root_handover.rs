//! The root key hands over to a new one: `silas key rotate root`, and finishing what was cut off.
//!
//! The keys' room decides and signs (`silas_approval::keys::hand_over`); here each part of the installation is told: the
//! keys, the launcher's memory, the database, the server's certificates. Every part can be told twice, none needs a key,
//! and a command or a start that finds a hand-over unfinished finishes it before anything else.

use crate::home::Home;
use crate::server_key;
use crate::wire;
use crate::world::SystemClock;
use anyhow::{Context, Result, anyhow, ensure};
use silas_approval::keys::{self, Vouched};
use silas_core::Clock;
use silas_core::fail::{self, FailPoint};
use silas_core::key_service::Ask;
use silas_core::signature::PublicKey;
use silas_sandbox::{handed_over, restored};
use silas_store::{Commit, take_over};
use std::time::Duration;

/// For a large database on a slow disk.
const PATIENCE: Duration = Duration::from_secs(600);

/// The whole of it. Whoever calls holds the data directory. Gives the old key and the new one.
pub(crate) fn rotate(home: &Home, ask: Ask<'_>) -> Result<(PublicKey, PublicKey)> {
    let unfinished = restored::has_unfinished(&home.path).map_err(|e| anyhow!("{e}"))?;
    ensure!(
        !unfinished,
        "Work was being applied when Silas last stopped. Start Silas once, so that your files are whole, then try again."
    );
    // The new key must not vouch for what does not hold.
    server_key::sound_head(home)?;
    let vouched = vouched(home)?;
    let pending = keys::hand_over(&home.keys(), ask, SystemClock.now(), &vouched).map_err(|e| anyhow!("{e}"))?;
    finish(home).context("The new root key is decided, and not everything knows it yet; start Silas to finish it")?;
    Ok((pending.handover.body.from, pending.handover.body.to))
}

/// Everything that the root key stands behind today.
fn vouched(home: &Home) -> Result<Vouched> {
    let store = wire::open_store(home)?;
    let mut certificates = store.read(take_over::certificates).wait()?;
    let terminal = home.known()?.terminal;
    if !certificates.contains(&terminal) {
        certificates.push(terminal);
    }
    let revocations = handed_over::revocations(&home.path, &home.anchor()?).map_err(|e| anyhow!("{e}"))?;
    Ok(Vouched { certificates, servers: server_key::read(home)?, revocations })
}

/// For commands, which do not hold the data directory.
pub(crate) fn finish_if_begun(home: &Home) -> Result<()> {
    if !keys::is_pending(&home.keys()) {
        return Ok(());
    }
    let _lock =
        home.lock().context("The root key is being exchanged for a new one right now. Try again in a moment.")?;
    finish(home)
}

/// At a start, which may have no threads before it is confined, and the database has some. Whoever calls holds the data
/// directory.
pub(crate) fn finish_apart(home: &Home) -> Result<()> {
    if !keys::is_pending(&home.keys()) {
        return Ok(());
    }
    let finished = silas_sandbox::apart(PATIENCE, || finish(home).map_err(|cause| format!("{cause:#}")));
    finished.map_err(|e| anyhow!("{e}"))?.map_err(|cause| anyhow!("{cause}"))
}

/// Tells every part. Whoever calls holds the data directory.
pub(crate) fn finish(home: &Home) -> Result<()> {
    let doing = "The new root key could not be put in place";
    let Some(pending) = keys::pending(&home.keys()).map_err(|e| anyhow!("{e}")).context(doing)? else { return Ok(()) };
    let body = &pending.handover.body;
    let handovers = keys::put_in_place(&home.keys(), &pending).map_err(|e| anyhow!("{e}")).context(doing)?;
    handed_over::carry_out(&home.path, &handovers, &body.to, &body.installation, pending.revocations.as_ref())
        .map_err(|e| anyhow!("{e}"))
        .context(doing)?;
    fail::point(FailPoint::RootLauncherTold);
    let (handover, certificates) = (pending.handover.clone(), pending.certificates.clone());
    let store = wire::open_store(home)?;
    let telling = store.write(move |tx| Ok(Commit(take_over::take_over(tx, &handover, &certificates)?)));
    telling.wait().context(doing)?;
    drop(store);
    fail::point(FailPoint::RootStoreTold);
    if !pending.servers.is_empty() {
        server_key::keep(home, &pending.servers)?;
    }
    fail::point(FailPoint::RootServersVouched);
    keys::close(&home.keys()).map_err(|e| anyhow!("{e}")).context(doing)
}
