//! `silas doctor --fix`: what can be mended is mended, each act is printed before it is done, and what needs root says so.
//!
//! Deliberately few things: switches of the kernel that keep user namespaces away, an AppArmor profile where that is the
//! switch, and permissions of the data directory. Nothing is installed and nothing is removed.

use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One act.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Mend {
    /// A file of the system with this content, and the command that puts it in force.
    Write { path: PathBuf, text: String, then: Vec<String>, why: &'static str },
    /// Only the owner may enter.
    Close { path: PathBuf },
}

/// What the system says, as far as it is about user namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Switches {
    pub(super) apparmor_restricts: bool,
    pub(super) clone_is_off: bool,
    pub(super) none_allowed: bool,
}

impl Switches {
    pub(super) fn read() -> Self {
        let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
        Switches {
            apparmor_restricts: is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            clone_is_off: is("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            none_allowed: is("/proc/sys/user/max_user_namespaces", "0"),
        }
    }
}

const PROFILE: &str = "/etc/apparmor.d/silas";
const SETTINGS: &str = "/etc/sysctl.d/60-silas.conf";

/// What would help, in order. `program` is the file that the profile is for.
pub(super) fn mends(switches: Switches, program: &Path, open: &[PathBuf]) -> Vec<Mend> {
    let mut found: Vec<Mend> = open.iter().map(|path| Mend::Close { path: path.clone() }).collect();
    let mut settings = String::new();
    if switches.none_allowed {
        settings.push_str("user.max_user_namespaces = 10000\n");
    }
    if switches.clone_is_off {
        settings.push_str("kernel.unprivileged_userns_clone = 1\n");
    }
    if !settings.is_empty() {
        found.push(Mend::Write {
            path: SETTINGS.into(),
            text: settings,
            then: ["sysctl", "-p", SETTINGS].map(str::to_owned).to_vec(),
            why: "allows user namespaces, which every cell needs",
        });
    }
    if switches.apparmor_restricts {
        found.push(Mend::Write {
            path: PROFILE.into(),
            text: profile(program),
            then: ["apparmor_parser", "-r", PROFILE].map(str::to_owned).to_vec(),
            why: "lets this one program make user namespaces, and leaves the restriction for all others",
        });
    }
    found
}

/// Restricts nothing else: Silas confines itself, and its cells more than a profile could.
fn profile(program: &Path) -> String {
    format!(
        "abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile silas \"{}\" flags=(unconfined) {{\n  userns,\n}}\n",
        program.display()
    )
}

/// Says what it does and does it. What needs root is printed as commands where this is not root.
pub(super) fn mend(open: &[PathBuf]) -> Result<()> {
    let program = std::env::current_exe()?;
    let found = mends(Switches::read(), &program, open);
    if found.is_empty() {
        println!("There is nothing that `--fix` could mend.\n");
        return Ok(());
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    for mend in &found {
        match mend {
            Mend::Close { path } => {
                println!("Closing {} to others.", path.display());
                let mode = fs::metadata(path)?.mode();
                let closed = std::os::unix::fs::PermissionsExt::from_mode(mode & 0o700);
                fs::set_permissions(path, closed).with_context(|| format!("{} cannot be closed.", path.display()))?;
            }
            Mend::Write { path, text, then, why } if is_root => {
                println!("Writing {}: {why}.", path.display());
                if path.exists() {
                    bail!("{} exists already. Look at it; nothing was changed.", path.display());
                }
                fs::write(path, text).with_context(|| format!("{} cannot be written.", path.display()))?;
                println!("Running {}.", then.join(" "));
                let status = Command::new(&then[0]).args(&then[1..]).status();
                if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
                    bail!("`{}` did not end well ({status:?}). The file is in place.", then.join(" "));
                }
            }
            Mend::Write { path, text, then, why } => {
                println!("This needs root. It {why}:");
                println!("  sudo tee {} <<'END'\n{text}END", path.display());
                println!("  sudo {}", then.join(" "));
            }
        }
    }
    println!();
    Ok(())
}

#[cfg(test)]
mod tests;
