//! Whether the page is where the configuration says: at a port that Silas has, or could have. Somebody else at that port is
//! more than a nuisance, because a browser takes whatever it shows for this page.

use crate::config::Config;
use crate::home::Home;
use silas_core::probe::Probe;
use silas_web::{Error, port_is_free};

const NAME: &str = "Page";

/// Nothing where there is no page, or where any port will do.
pub(super) fn probe(home: &Home, config: &Config) -> Option<Probe> {
    let port = config.web.port;
    if !config.web.enabled || port == 0 {
        return None;
    }
    let is_running = home.is_locked();
    // What an earlier server wrote there says nothing.
    let address = silas_web::control::address(&home.path).ok().filter(|_| is_running);
    if let Some(address) = &address
        && address.trim().ends_with(&format!(":{port}"))
    {
        return Some(Probe::good(NAME, format!("It is at {}.", address.trim())));
    }
    let other = port.checked_add(1).unwrap_or(port - 1);
    Some(match (port_is_free(port), address) {
        (Ok(()), None) => Probe::good(NAME, format!("Its port {port} is free.")),
        (Ok(()), Some(address)) => {
            Probe::good(NAME, format!("It is at {}; port {port} of the configuration is free.", address.trim()))
        }
        (Err(Error::TakenByAnother { uid, .. }), _) => Probe::bad(
            NAME,
            format!(
                "Port {port} is held by a program of another user of this machine (user id {uid}). Whatever it shows a \
                 browser there can act as every browser that was paired at this address, also later."
            ),
            format!(
                "Start Silas with `--port {other}`, take those browsers out with `silas device list` and `silas device \
                 revoke`, clear what they keep for this address, and pair them again."
            ),
        ),
        (Err(Error::Taken { .. }), Some(address)) => Probe::warning(
            NAME,
            format!("It is at {}. Port {port} of the configuration is held by another program.", address.trim()),
            "Without `--port` the next start finds it taken. Stop what uses it, or set `channels.web.port`.",
        ),
        (Err(Error::Taken { .. }), None) => Probe::bad(
            NAME,
            format!("Port {port} is held by another program, perhaps another Silas, so Silas cannot start there."),
            format!("Stop what uses it, or take another port: `silas start --port {other}`."),
        ),
        (Err(error), _) => Probe::bad(NAME, error.to_string(), "Choose another port with `channels.web.port`."),
    })
}
