//! A new terminal key. The old one's certificate stays good for what it has signed; the old key itself is gone.
//!
//! Three files change, in an order that a crash cannot spoil: the new key beside the old one, then the public facts, which
//! decide, then the name. [`settle`] finishes what was begun.

use super::files::{KeyFile, Seed};
use super::protect::alone;
use super::{
    CARD_FILE, InstallationFile, KeyTrouble, ROOT_FILE, Ring, TERMINAL_FILE, read_installation, sign_certificate,
    terminal_body,
};
use crate::durable;
use silas_core::Timestamp;
use silas_core::device::Certificate;
use silas_core::fail::{self, FailPoint};
use silas_core::key_service::Ask;
use std::fs;
use std::io;
use std::path::Path;

const NEXT_FILE: &str = "terminal.next";

/// Makes the key, has the root key vouch for it, and puts it in place. Only while no server runs.
pub fn rotate_terminal(keys: &Path, ask: Ask<'_>, at: Timestamp) -> Result<Certificate, KeyTrouble> {
    let _alone = alone(keys)?;
    settle(keys)?;
    let known = read_installation(keys)?;
    let mut ring = Ring { dir: keys, ask, seal: None };
    let root = ring.key(ROOT_FILE)?;
    let seed = Seed::random();
    // Sealed under the name that it is going to have.
    let bytes = match ring.seal()? {
        Some(seal) => seed.sealed(&seal, TERMINAL_FILE)?,
        None => seed.plain(),
    };
    let body = terminal_body(&seed.signing_key(), &known.installation, &known.terminal.body.name, at);
    let terminal = sign_certificate(&root, body)?;
    let text = serde_json::to_string_pretty(&InstallationFile { terminal: terminal.clone(), ..known })?;
    durable::replace(&keys.join(NEXT_FILE), &bytes)?;
    fail::point(FailPoint::TerminalKeyMade);
    durable::replace(&keys.join(CARD_FILE), text.as_bytes())?;
    fail::point(FailPoint::TerminalDecided);
    settle(keys)?;
    Ok(terminal)
}

/// After a crash: the public facts say which of the two keys it is.
pub(crate) fn settle(keys: &Path) -> Result<(), KeyTrouble> {
    let next = keys.join(NEXT_FILE);
    if !next.exists() {
        return Ok(());
    }
    let text = fs::read_to_string(keys.join(CARD_FILE))?;
    let known: InstallationFile = serde_json::from_str(&text)?;
    if KeyFile::read(&next)?.public() == known.terminal.body.public {
        fs::rename(&next, keys.join(TERMINAL_FILE))?;
        fs::File::open(keys)?.sync_all()?;
    } else {
        durable::remove(&next).or_else(|e: io::Error| if next.exists() { Err(e) } else { Ok(()) })?;
    }
    Ok(())
}
