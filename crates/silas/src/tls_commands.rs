//! `silas tls`: a certificate for the encrypted door, and how a phone comes to trust it.

use crate::certificates::Place;
use crate::config::Config;
use crate::home;
use crate::start;
use crate::world::{OsRandom, SystemClock};
use anyhow::{Result, bail};
use clap::Subcommand;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use silas_core::{Clock, Random};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum TlsCommand {
    /// Make a certificate for these names or addresses of this machine, and an authority that vouches for them only.
    Make {
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Replace the authority that is there; every device has to trust the new one.
        #[arg(long)]
        replace: bool,
    },
    /// Make a new certificate from the same authority. Devices that trust it notice nothing.
    Renew,
    /// Say what there is, until when it is good, and how a phone comes to trust it.
    Show,
    /// Print a new access token for `channels.web.auth_token`.
    Token,
}

pub(crate) fn run(command: Option<TlsCommand>, data_dir: Option<PathBuf>, file: Option<&Path>) -> Result<ExitCode> {
    if let Some(TlsCommand::Token) = command {
        println!("{}", token());
        return Ok(ExitCode::SUCCESS);
    }
    let config = start::load_config(file)?.config;
    let command = command.unwrap_or(TlsCommand::Show);
    let chosen = home::choose(data_dir, &config)?;
    // Looking makes nothing.
    let path = match &command {
        TlsCommand::Make { .. } | TlsCommand::Renew => home::prepare(&chosen)?.path,
        TlsCommand::Show | TlsCommand::Token => chosen,
    };
    let place = Place::of(&path);
    match command {
        TlsCommand::Make { names, replace } => make(&place, &names, replace)?,
        TlsCommand::Renew => {
            place.renew(SystemClock.now())?;
            println!("A new certificate is there. It is used from the next start of Silas on.");
        }
        TlsCommand::Show | TlsCommand::Token => {}
    }
    show(&place, &config)?;
    Ok(ExitCode::SUCCESS)
}

fn make(place: &Place, names: &[String], replace: bool) -> Result<()> {
    if place.exists() && !replace {
        bail!(
            "There is an authority already, for {}. `silas tls renew` makes a new certificate from it; `--replace` makes a \
             new authority, which every device has to trust again.",
            place.names()?.join(", ")
        );
    }
    if let Some(bad) = names.iter().find(|name| !crate::config::is_host_name(name)) {
        bail!("`{bad}` is not a host name in small letters or an address. Leave out https:// and the port.");
    }
    place.make(names, SystemClock.now())
}

/// 256 bits in letters that need no quoting anywhere.
fn token() -> String {
    let mut bytes = [0; 32];
    OsRandom.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn show(place: &Place, config: &Config) -> Result<()> {
    if !place.exists() {
        println!(
            "There is no certificate yet. Make one for the name or address that your phone uses for this machine:"
        );
        println!("\n  silas tls make silas.lan\n\nor set channels.web.tls.certificate and .key to files of your own.");
        return Ok(());
    }
    let names = place.names()?;
    let name = config.tls.name.as_ref().filter(|name| names.contains(name)).unwrap_or(&names[0]);
    let host = if name.contains(':') { format!("[{name}]") } else { name.clone() };
    let address = format!("https://{host}:{}", config.tls.port);
    let (authority_ends, ends) = place.ends()?;
    println!("Certificate for {}: good until {}.", names.join(", "), day(&ends.to_string()));
    println!(
        "Authority: good until {}. It can vouch for these names and names below them, and for no others.",
        day(&authority_ends.to_string())
    );
    if crate::config::is_loopback(&config.web.host) {
        println!(
            "\nThe encrypted door is closed. To open it, put this into the configuration and start Silas again:\n"
        );
        println!("  silas:\n    channels:\n      web:\n        host: 0.0.0.0");
        println!("        auth_token: ${{SILAS_AUTH_TOKEN}}   # make one with `silas tls token`");
        println!("        tls:\n          name: {name}");
    }
    println!("\nOn the phone, once:\n");
    println!("  1. Open {address}/ca.pem. The browser says that it does not know this address; go on, this once.");
    let qr = QrCode::new(format!("{address}/ca.pem"))?;
    if std::io::stdout().is_terminal() {
        verbatim!("\n{}\n", qr.render::<Dense1x2>().quiet_zone(true).build());
    }
    println!("  2. Before you install it, compare its SHA-256 fingerprint with this one. If one pair differs, stop:\n");
    for part in place.fingerprint()?.as_bytes().chunks(48) {
        println!("       {}", String::from_utf8_lossy(part).trim_end_matches(':'));
    }
    println!(
        "\n     iPhone: Settings, General, VPN & Device Management, install; then General, About, Certificate Trust"
    );
    println!("     Settings, switch it on.");
    println!("     Android: Settings, Security, More security settings, Install from storage, CA certificate.");
    println!("  3. On this machine: `silas pair`, and open the address for other devices that it prints.");
    Ok(())
}

/// The day of a time.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}
