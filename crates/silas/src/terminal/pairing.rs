//! `silas pair`: an address for a browser, and, for whoever waits, which browser it was that used it.
//!
//! Deliberately absent: a yes. The code in the address is what pairs; the digits show whose key it was, and a wrong one is
//! revoked.

use super::{Line, name_of};
use crate::exit::NotRunning;
use crate::home::Home;
use crate::key_commands;
use crate::passphrase::Asked;
use anyhow::{Result, anyhow};
use silas_core::device::DeviceKind;
use silas_core::key_service::Protection;
use silas_runtime::view::DeviceView;
use std::io::{ErrorKind, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// As long as the code of an address counts.
const VALID_FOR: Duration = Duration::from_secs(5 * 60);

pub(super) fn run(home: &Home, wait: bool) -> Result<ExitCode> {
    let address = silas_web::control::address(&home.path).map_err(|_| NotRunning)?;
    let mut line = Line::open(home)?;
    if key_commands::protection(home)? == Protection::Passphrase {
        let asked = Asked::default();
        silas_sandbox::terminal_arm(&home.path, &mut || asked.get()).map_err(|e| anyhow!("{e}"))?;
    }
    let code = silas_sandbox::terminal_pairing_code(&home.path).map_err(|e| anyhow!("{e}"))?;
    println!("Open this in the browser you want to pair, within 5 minutes:\n\n  {}/#pair={code}\n", address.trim());
    if let Some(network) = silas_web::control::network_address(&home.path) {
        println!(
            "Or this on another device, which must trust the certificate (`silas tls`):\n\n  {network}/#pair={code}\n"
        );
    }
    if wait || std::io::stdout().is_terminal() {
        println!("The page shows six digits. Waiting for it, to show them here too; Ctrl-C ends only the waiting.");
        return wait_for_it(&mut line);
    }
    println!("The page shows six digits; `silas device list` shows them beside the browser once it is paired.");
    Ok(ExitCode::SUCCESS)
}

fn wait_for_it(line: &mut Line<'_>) -> Result<ExitCode> {
    let known: Vec<DeviceView> = serde_json::from_value(line.snapshot["devices"].clone())?;
    let deadline = Instant::now() + VALID_FOR;
    line.wait_at_most(VALID_FOR)?;
    let mut found = None;
    let waited = line.wait_for(|message| {
        if message["type"] == "activity" {
            found = match serde_json::from_value(message["devices"].clone()) {
                Ok(now) => newcomer(&known, now).map(Ok),
                Err(unreadable) => Some(Err(unreadable)),
            };
        }
        found.is_some() || Instant::now() > deadline
    });
    if let Err(cause) = waited
        && !cause.downcast_ref::<std::io::Error>().is_some_and(|cause| is_late(cause.kind()))
    {
        return Err(cause);
    }
    match found.transpose()? {
        Some(device) => {
            println!("\n{}", paired(&device));
            Ok(ExitCode::SUCCESS)
        }
        None => {
            println!("\nNobody used the address, and it does not count any more.");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A browser that was not there before.
pub(crate) fn newcomer(known: &[DeviceView], now: Vec<DeviceView>) -> Option<DeviceView> {
    let is_new =
        |device: &DeviceView| device.kind == DeviceKind::Browser && known.iter().all(|before| before.key != device.key);
    now.into_iter().find(is_new)
}

/// What is said wherever the owner may be looking when a browser was paired.
pub(crate) fn paired(device: &DeviceView) -> String {
    format!(
        "Paired: {}, with the digits {}. Its page showed the same ones; if yours showed others, it was not yours: `silas device revoke {}`.",
        device.name,
        device.digits,
        name_of(device.key.as_str())
    )
}
