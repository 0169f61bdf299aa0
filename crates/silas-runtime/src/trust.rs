//! Trust: what is allowed and to whom, the owner's devices, the vault, and whether the ledger is what was written.
//!
//! Deliberately absent: certifying. The root key does that, behind the launcher; the server's key, which is here, vouches for
//! heads of the ledger and for nothing else.

mod forget;
mod grants;
mod pairing;
mod passkeys;
mod proof;
mod sender;
mod start;
mod vault;
mod verification;

pub use forget::words as forget_words;
pub(crate) use grants::REVOCATIONS;
pub use pairing::Newcomer;
pub use proof::Story;
pub(crate) use sender::classify;
pub(crate) use vault::blocking;
pub use vault::{SecretView, VaultView};

use crate::Trouble;
use crate::house::House;
use crate::hub::Hub;
use crate::running::Running;
use silas_approval::{ServerKey, Vault};
use silas_core::checkpoint::ServerCertificate;
use silas_core::device::Certificate;
use silas_core::handover::Handovers;
use silas_core::revocation::Revocations;
use silas_core::server_keys::ServerKeys;
use silas_core::{InstallationId, KeyId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::watch;

/// The keys of this server, and what vouches for them.
pub struct Options {
    pub server_key: ServerKey,
    /// That key and those before it: whose word counts for which entries.
    pub server_keys: ServerKeys,
    /// The root key's word for it, for proofs that leave this machine.
    /// Missing while the root key is locked and has not vouched for this server's key yet.
    pub server_certificate: Option<ServerCertificate>,
    /// How the root key came to be the one of the engine's anchor.
    pub handovers: Handovers,
    /// Asked when a command wants a secret that its plan names.
    pub vault: Arc<Vault>,
}

/// Knows what counts and what does not any more.
pub struct Trust {
    house: Arc<House>,
    running: Arc<Running>,
    hub: Arc<Hub>,
    options: Options,
    /// The last entry that a checkpoint names.
    checkpointed: AtomicU64,
    /// Held while the ledger is checked: a second look that takes so long would take a reader from what is quick.
    auditing: tokio::sync::Mutex<()>,
    /// Held while something is taken back, from the launcher's signature until it is written down: lists follow each other
    /// here as they were signed, and each entry names the device that asked for it.
    withdrawing: Arc<tokio::sync::Mutex<()>>,
    /// What is revoked, for doors that have a device on the line. Written when a newer list is in force.
    revoked: watch::Sender<Arc<Revocations>>,
}

impl Trust {
    pub(crate) fn new(house: Arc<House>, running: Arc<Running>, hub: Arc<Hub>, options: Options) -> Self {
        Trust {
            house,
            running,
            hub,
            options,
            checkpointed: AtomicU64::new(0),
            auditing: tokio::sync::Mutex::default(),
            withdrawing: Arc::default(),
            revoked: watch::Sender::default(),
        }
    }

    pub fn installation(&self) -> &InstallationId {
        self.house.installation()
    }

    /// Counts restores and resets.
    pub fn epoch(&self) -> u64 {
        self.house.epoch()
    }

    pub async fn device(&self, key: &KeyId) -> Result<Option<Certificate>, Trouble> {
        let (engine, key) = (self.house.engine.clone(), key.clone());
        Ok(self.house.store.read(move |tx| Ok(engine.device(tx, &key)?)).await?.ok())
    }

    /// Changes whenever something is revoked. A door closes the connection of a device that is in it.
    pub fn revocations(&self) -> watch::Receiver<Arc<Revocations>> {
        self.revoked.subscribe()
    }

    pub(crate) fn vault(&self) -> &Arc<Vault> {
        &self.options.vault
    }
}
