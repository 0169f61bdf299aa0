//! The system's keyring, by the Secret Service over D-Bus, where there is one.
//!
//! It may be missing, locked, or wait for somebody at a screen; so every question has a time limit. What is asked runs on
//! a thread of its own, which is left behind when the time is over: callers are processes that end soon.
//! Only keys that seal are kept there, never what they seal.

use crate::sealing::SealKey;
use dbus_secret_service_keyring_store::Store;
use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error};
use std::sync::mpsc;
use std::time::Duration;

/// What our entries are called there.
const SERVICE: &str = "silas";
/// For a keyring that is there and open.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(5);
/// For a keyring that has to ask its owner first.
pub(crate) const WITH_A_QUESTION: Duration = Duration::from_secs(30);

pub(crate) fn get(account: &str) -> Result<SealKey, String> {
    let bytes = ask(account, WITH_A_QUESTION, |entry| entry.get_secret())?;
    let bytes = zeroize::Zeroizing::new(bytes);
    SealKey::from_slice(&bytes).ok_or_else(|| "what the keyring holds is not a key of Silas".to_owned())
}

/// Keeps the key and reads it back.
pub(crate) fn set(account: &str, key: &SealKey, patience: Duration) -> Result<(), String> {
    let kept = key.clone();
    let read = ask(account, patience, move |entry| {
        entry.set_secret(kept.expose())?;
        entry.get_secret()
    })?;
    let read = zeroize::Zeroizing::new(read);
    if read.as_slice() == key.expose() { Ok(()) } else { Err("the keyring did not keep what it was given".to_owned()) }
}

pub(crate) fn forget(account: &str) -> Result<(), String> {
    ask(account, AT_ONCE, |entry| entry.delete_credential())
}

fn ask<T: Send + 'static>(
    account: &str,
    patience: Duration,
    what: impl FnOnce(&Entry) -> Result<T, Error> + Send + 'static,
) -> Result<T, String> {
    let account = account.to_owned();
    let (answer, answered) = mpsc::channel();
    std::thread::spawn(move || {
        let asked = Store::new().and_then(|store| store.build(SERVICE, &account, None)).and_then(|entry| what(&entry));
        // Whoever asked may have gone on without us.
        let _ = answer.send(asked);
    });
    match answered.recv_timeout(patience) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Error::NoEntry)) => Err("the keyring has no such entry".to_owned()),
        Ok(Err(Error::NoStorageAccess(_))) => Err("the keyring is locked".to_owned()),
        Ok(Err(cause)) => Err(format!("the keyring cannot be used: {cause}")),
        Err(_) => Err(format!("the keyring did not answer within {} seconds", patience.as_secs())),
    }
}
