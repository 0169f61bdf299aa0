//! The data directory: where it is, what lies where, and that only one server uses it.
//!
//! ```text
//! store/      agent.sqlite, db.sqlite, server.key, server.cert, vault/,   the front writes here
//!             copies of the databases from before the last upgrade
//! run/        control.sock, secrets.sock, address;                        the front's doors for terminals,
//!             keys.sock                                                   and the launcher's
//! keys/       root.key, terminal.key, installation.json, lock.json;       closed to the front: for the key helper
//!             handover.json while the root key hands over                 and the owner's own commands
//! launcher/   what was spent and revoked, journals, copies, results       closed to the front: for the launcher
//!             that wait, what applies replaced (a month)                  and its children
//! tls/        an authority, a certificate and their keys                  read before the front is confined
//! epoch       counts restores and resets
//! lock        held by the server
//! ```
//!
//! Outside of it lie what this account has seen of the ledger ([`crate::known_head`]) and, in a granted directory, what an
//! apply replaced, for as long as it can be undone.

use crate::config::Config;
use crate::exit::{NeverRun, STOP_FIRST};
use crate::{root_handover, same_silas};
use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use silas_core::InstallationId;
use silas_core::device::Certificate;
use silas_core::evidence::Anchor;
use silas_core::handover::Handover;
use silas_core::signature::PublicKey;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A data directory that exists, by its real path.
pub(crate) struct Home {
    pub path: PathBuf,
}

/// Parts that the front may write. `keys/` and `launcher/` belong to the launcher alone.
const FRONT_PARTS: [&str; 2] = ["store", "run"];
const LAUNCHER_PARTS: [&str; 2] = ["keys", "launcher"];

/// What a start needs at once, for databases and their logs, and some more.
const ROOM_BYTES: usize = 4 << 20;

/// What `keys/installation.json` says, as far as commands need it.
#[derive(Deserialize)]
pub(crate) struct Known {
    pub(crate) installation: InstallationId,
    pub(crate) root: PublicKey,
    pub(crate) terminal: Certificate,
    #[serde(default)]
    pub(crate) handovers: Vec<Handover>,
}

impl Home {
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.path.join("run")
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.path.join("keys")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.store().join("vault")
    }

    pub(crate) fn server_key(&self) -> PathBuf {
        self.store().join("server.key")
    }

    /// What the root key said about the server key and those before it.
    pub(crate) fn server_certificate(&self) -> PathBuf {
        self.store().join("server.cert")
    }

    /// Counts restores and resets. It lies outside the database, so that an old copy of that does not bring it back.
    pub(crate) fn epoch(&self) -> Result<u64> {
        let path = self.path.join("epoch");
        if !path.exists() {
            fs::write(&path, "1\n")?;
        }
        let text = fs::read_to_string(&path)?;
        text.trim().parse().with_context(|| format!("{} is damaged. Restore it from a backup.", path.display()))
    }

    /// Whose data this is, as the keys say.
    pub(crate) fn installation(&self) -> Result<InstallationId> {
        Ok(self.known()?.installation)
    }

    /// The public half of the key that vouches for the devices.
    pub(crate) fn root(&self) -> Result<PublicKey> {
        Ok(self.known()?.root)
    }

    /// What every verification is relative to.
    pub(crate) fn anchor(&self) -> Result<Anchor> {
        let Known { installation, root, .. } = self.known()?;
        Ok(Anchor { installation, root, epoch: self.epoch()? })
    }

    /// Whether Silas has never been started on it: there are neither keys nor databases.
    pub(crate) fn is_unused(&self) -> bool {
        !["keys/installation.json", "keys/root.key", "store/agent.sqlite", "store/db.sqlite"]
            .iter()
            .any(|part| self.path.join(part).exists())
    }

    /// The public facts about the keys. Whoever signs with them is checked against these, so nothing is taken on trust.
    pub(crate) fn known(&self) -> Result<Known> {
        let text = fs::read_to_string(self.path.join("keys/installation.json")).with_context(|| {
            format!("This data directory has no keys yet. Start Silas once with `{}`.", same_silas::start())
        })?;
        serde_json::from_str(&text).context("keys/installation.json is damaged.")
    }

    /// For a command that cannot work beside a server.
    pub(crate) fn lock_for(&self, unchanged: &str) -> Result<File> {
        self.lock().map_err(|cause| match self.is_locked() {
            true => anyhow!("{STOP_FIRST} {unchanged}"),
            false => cause.context(unchanged.to_owned()),
        })
    }

    pub(crate) fn is_locked(&self) -> bool {
        let held = File::open(self.path.join("lock")).map(|file| file.try_lock_shared());
        matches!(held, Ok(Err(fs::TryLockError::WouldBlock)))
    }

    /// Whether a server can work here for a while. Found out before anybody is told where the page is.
    pub(crate) fn has_room(&self) -> Result<()> {
        let path = self.run().join("room");
        let written = fs::write(&path, vec![0; ROOM_BYTES]).and_then(|()| File::open(&path)?.sync_all());
        let removed = fs::remove_file(&path);
        match written.and(removed) {
            Ok(()) => Ok(()),
            Err(cause) if matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => bail!(
                "The disk of {} is nearly full, so Silas does not start there. Make room, or name another place with \
                 `--data-dir DIR`. Nothing was lost.",
                self.path.display()
            ),
            Err(cause) => Err(cannot_be_made(&self.run(), &cause)),
        }
    }

    /// Held for the life of the server. A second one on the same directory is refused.
    pub(crate) fn lock(&self) -> Result<File> {
        let file = File::options().create(true).truncate(false).write(true).open(self.path.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => {
                bail!("Silas already runs on {}. Open its page, or use another --data-dir.", self.path.display())
            }
            Err(fs::TryLockError::Error(cause)) => Err(cause).context("The data directory cannot be locked."),
        }
    }
}

/// `--data-dir`, then configuration (which includes SILAS__DATA_DIR), then the place that XDG names.
pub(crate) fn choose(given: Option<PathBuf>, config: &Config) -> Result<PathBuf> {
    if let Some(path) = given.or_else(|| config.data_dir.clone()) {
        return Ok(path);
    }
    let base = match std::env::var_os("XDG_DATA_HOME").filter(|v| !v.is_empty()) {
        Some(base) => PathBuf::from(base),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set. Start with --data-dir.")?)
            .join(".local/share"),
    };
    Ok(base.join("silas"))
}

/// What stands in the way of the data directory, in words.
fn cannot_be_made(path: &Path, cause: &io::Error) -> anyhow::Error {
    let why = match cause.kind() {
        io::ErrorKind::ReadOnlyFilesystem => "the disk is read-only".to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not write there".to_owned(),
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "a file is in the way".to_owned(),
        _ => cause.to_string(),
    };
    let path = path.display();
    anyhow!(
        "{path} cannot be made ready for Silas's data: {why}. Mend that, or name another place with `--data-dir DIR`."
    )
}

/// Makes what is missing, readable by the owner only.
pub(crate) fn prepare(path: &Path) -> Result<Home> {
    let make = |path: &Path| -> io::Result<()> {
        if !path.exists() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        Ok(())
    };
    make(path).map_err(|cause| cannot_be_made(path, &cause))?;
    let real = path.canonicalize()?;
    for part in FRONT_PARTS.into_iter().chain(LAUNCHER_PARTS) {
        make(&real.join(part)).map_err(|cause| cannot_be_made(&real.join(part), &cause))?;
    }
    Ok(Home { path: real })
}

/// The data directory of an installation that exists already; for commands that talk to it.
pub(crate) fn find(given: Option<PathBuf>, config: Option<&Path>) -> Result<Home> {
    let loaded = crate::start::load_config(config)?;
    let path = choose(given, &loaded.config)?;
    let real = match path.canonicalize() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            bail!(NeverRun(path.display().to_string()));
        }
        found => found.with_context(|| format!("The data directory {} cannot be looked at.", path.display()))?,
    };
    let home = Home { path: real };
    if home.is_unused() {
        bail!(NeverRun(home.path.display().to_string()));
    }
    root_handover::finish_if_begun(&home)?;
    Ok(home)
}
