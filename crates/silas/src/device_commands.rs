//! `silas device`: the browsers and terminals that may decide, and taking one of them out.
//!
//! A revocation is signed with the terminal's key and goes through the server to the launcher; nothing is written here.

use crate::grant_commands::withdraw;
use crate::home::Home;
use crate::terminal::Line;
use crate::wall_clock::day;
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use silas_core::device::DeviceKind;
use silas_core::revocation::Withdrawn;
use silas_runtime::view::DeviceView;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the devices, numbered.
    List {
        /// Everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a device out: its page is closed, and nothing that it signed counts any more.
    Revoke {
        /// Its number in `silas device list`, or its key.
        #[arg(value_name = "NUMBER|KEY")]
        device: String,
    },
}

pub(crate) fn run(home: &Home, command: DeviceCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    let devices: Vec<DeviceView> = serde_json::from_value(line.snapshot["devices"].clone())?;
    match command {
        DeviceCommand::List { json: true } => println!("{}", serde_json::to_string_pretty(&devices)?),
        DeviceCommand::List { json: false } => print(&devices),
        DeviceCommand::Revoke { device } => {
            let device = pick(&devices, &device)?;
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

fn pick<'d>(devices: &'d [DeviceView], said: &str) -> Result<&'d DeviceView> {
    let found = match said.parse::<usize>() {
        Ok(n) => devices.get(n.wrapping_sub(1)),
        Err(_) => devices.iter().find(|device| device.key.as_str() == said),
    };
    found.with_context(|| format!("There is no device {said}. `silas device list` shows them."))
}

fn with_it(device: &DeviceView) -> String {
    match device.n_grants {
        0 => "and no grant with it".to_owned(),
        1 => "and 1 grant that it signed".to_owned(),
        n => format!("and {n} grants that it signed"),
    }
}

fn print(devices: &[DeviceView]) {
    for (n, device) in devices.iter().enumerate() {
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
        println!("{:>3}  {}  ({kind}, since {}{digits}{state})", n + 1, device.name, day(device.since));
    }
    let paired = |device: &&DeviceView| device.kind == DeviceKind::Browser && !device.is_revoked;
    if !devices.iter().any(|device| paired(&device)) {
        println!(
            "No browser is paired. `silas pair` prints an address; cards wait, and this terminal can answer them."
        );
    }
}
