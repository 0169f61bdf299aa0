//! `silas device`: the browsers and terminals that may decide, and taking one of them out.
//!
//! A revocation is signed with the terminal's key and goes through the server to the launcher; nothing is written here.

use crate::grant_commands::withdraw;
use crate::home::Home;
use crate::terminal::{Line, Named, name_of, print_json, with_name};
use crate::wall_clock::day;
use anyhow::{Result, bail};
use clap::Subcommand;
use silas_core::device::DeviceKind;
use silas_core::revocation::Withdrawn;
use silas_runtime::view::DeviceView;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the devices, each with its name.
    List {
        /// Everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a device out, at once: its page is closed, and nothing that it signed counts any more.
    Revoke {
        /// Its name in `silas device list`, five letters, or its key.
        #[arg(value_name = "DEVICE")]
        device: String,
    },
}

const DEVICE: Named = Named { noun: "device", list: "silas device list" };

pub(crate) fn run(home: &Home, command: DeviceCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    let devices: Vec<DeviceView> = serde_json::from_value(line.snapshot["devices"].clone())?;
    match command {
        DeviceCommand::List { json: true } => {
            print_json(&devices.iter().map(|device| with_name(device, device.key.as_str())).collect::<Vec<_>>())?;
        }
        DeviceCommand::List { json: false } => print(&devices),
        DeviceCommand::Revoke { device } => {
            let device = DEVICE.find(&devices, |device| device.key.as_str(), &device)?;
            if device.key == home.known()?.terminal.body.key {
                bail!("The terminal of this machine cannot be revoked: it is the way back in when a browser is lost.");
            }
            if device.is_revoked {
                bail!("{} is revoked already.", device.name);
            }
            println!("Revoking {}, {}.", device.name, with_it(device));
            return withdraw(&mut line, Withdrawn::Device(device.key.clone()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn with_it(device: &DeviceView) -> String {
    match device.n_grants {
        0 => "and no grant with it".to_owned(),
        1 => "and 1 grant that it signed".to_owned(),
        n => format!("and {n} grants that it signed"),
    }
}

fn print(devices: &[DeviceView]) {
    for device in devices {
        let kind = match device.kind {
            DeviceKind::Browser => "browser",
            DeviceKind::Terminal => "this machine's terminal",
            DeviceKind::Passkey => "passkey, for what cannot be undone",
        };
        let state = if device.is_revoked { ", revoked" } else { "" };
        // Only a browser has shown them to anybody.
        let digits = match device.kind {
            DeviceKind::Browser => format!(", paired with {}", device.digits),
            DeviceKind::Terminal | DeviceKind::Passkey => String::new(),
        };
        let called = name_of(device.key.as_str());
        println!("{called}  {}  ({kind}, since {}{digits}{state})", device.name, day(device.since));
    }
    let paired = |device: &&DeviceView| device.kind == DeviceKind::Browser && !device.is_revoked;
    if !devices.iter().any(|device| paired(&device)) {
        println!(
            "No browser is paired. `silas pair` prints an address; cards wait, and this terminal can answer them."
        );
    }
}
