//! `silas backup FILE`: everything that an installation is, in one file, while it runs or while it does not.
//!
//! This command reads the data directory itself, as the owner's own program; the running server, which may not write
//! anywhere else, has no part in it. The file holds the private keys and the vault as they lie there: sealed, or as secret
//! as the file itself.
//!
//! | part | why |
//! |---|---|
//! | `about.json` | installation, epoch, head of the ledger: what to expect of the rest |
//! | `store/agent.sqlite`, `store/db.sqlite` | both domains at one instant (see `silas_store::snapshot`) |
//! | `store/server.key`, `keys/…` | so that paired devices know this Silas again and checkpoints verify |
//! | `keys/lock.json`, `store/vault/…` | what seals the keys, and the secrets, sealed |
//! | `launcher/spent/…` | which approvals were used |
//!
//! A restore begins a new epoch, which voids every approval of before; that the spent ones are known as spent is the
//! second lock on the same door. They are read after the databases, so none that those know is missing.
//!
//! Deliberately absent: private copies and journals of work under way, and the old versions that an undo would put back:
//! they belong to directories that a backup does not hold.

pub(crate) mod container;

use crate::home::Home;
use crate::key_commands;
use crate::known_head;
use crate::room;
use crate::same_silas;
use crate::world::SystemClock;
use anyhow::{Context, Result, anyhow, bail, ensure};
use container::Writer;
use serde::{Deserialize, Serialize};
use silas_core::checkpoint::Head;
use silas_core::key_service::Protection;
use silas_core::{Clock, InstallationId, Timestamp};
use silas_store::snapshot;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The first part of every backup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub installation: InstallationId,
    pub epoch: u64,
    pub head: Head,
    pub made_at: Timestamp,
    /// The version of Silas that made it.
    pub version: String,
}

pub(crate) const ABOUT: &str = "about.json";
/// Single files besides the databases, all of which must be there.
pub(crate) const KEYS: [&str; 4] = ["store/server.key", "keys/root.key", "keys/terminal.key", "keys/installation.json"];
/// There if the keys were ever sealed.
pub(crate) const KEYS_LOCK: &str = "keys/lock.json";
pub(crate) const SERVER_CERTIFICATES: &str = "store/server.cert";
pub(crate) const VAULT: &str = "store/vault";

pub(crate) fn run(home: &Home, file: &Path) -> Result<ExitCode> {
    ensure!(!file.exists(), "{} exists already. Choose another name; nothing was written.", file.display());
    let parent = parent_of(file);
    ensure!(
        parent.is_dir(),
        "There is no directory {}. Make it first, or name a file elsewhere; nothing was written.",
        parent.display()
    );
    // A directory that is not what this account has seen must not become somebody's backup.
    known_head::follow(home)?;
    let keys = keys_now(home);
    let workplace = Workplace::open(home)?;
    snapshot::take(&home.store(), &workplace.dir).map_err(|cause| match cause.code() {
        "E_DB_FULL" => no_room(&home.path),
        _ => cause.into(),
    })?;
    let report = snapshot::inspect(&workplace.dir)?;
    if let Some(broken) = report.broken {
        bail!("{broken}. No backup was made of a ledger that does not verify. Copy the data directory to keep it.");
    }
    let (seq, hash) = report.head.with_context(|| {
        format!("There is nothing to back up yet. Start Silas once with `{}`.", same_silas::start())
    })?;
    let about = About {
        installation: home.installation()?,
        epoch: home.epoch()?,
        head: Head { seq, hash },
        made_at: SystemClock.now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let draft = draft_of(file);
    let written = write(home, &workplace.dir, &about, &draft)
        .and_then(|()| {
            // Half of one key and half of another opens nothing.
            ensure!(keys_now(home) == keys, "A key was exchanged for a new one meanwhile. Make the backup again.");
            Ok(())
        })
        .and_then(|()| fs::rename(&draft, file).with_context(|| format!("{} could not be named.", file.display())));
    if written.is_err() {
        // What cannot be removed either is recognisable by its name, and does not pass for a backup.
        let _ = fs::remove_file(&draft);
    }
    written.map_err(|cause| if is_full(&cause) { no_room(parent_of(file)) } else { cause })?;
    println!("Backed up to {} and read back: {} ledger entries, unbroken.", file.display(), report.entries);
    println!("{}", warning(home)?);
    println!("Bring it back with `silas restore {}`.", file.display());
    Ok(ExitCode::SUCCESS)
}

fn no_room(path: &Path) -> anyhow::Error {
    anyhow!("{} No backup was made. (E_DB_FULL)", room::full(path))
}

fn is_full(cause: &anyhow::Error) -> bool {
    let io = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<io::Error>().map(io::Error::kind);
    cause.chain().any(|cause| io(cause) == Some(io::ErrorKind::StorageFull))
}

fn parent_of(file: &Path) -> &Path {
    file.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

fn write(home: &Home, snapshot: &Path, about: &About, draft: &Path) -> Result<()> {
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)
        .with_context(|| format!("{} cannot be written.", draft.display()))?;
    let mut writer = Writer::new(BufWriter::new(out))?;
    let text = serde_json::to_string_pretty(about)?;
    writer.add(ABOUT, text.len() as u64, text.as_bytes())?;
    for name in snapshot::FILES {
        add_file(&mut writer, &format!("store/{name}"), &snapshot.join(name))?;
    }
    for name in KEYS {
        add_file(&mut writer, name, &home.path.join(name))?;
    }
    for (name, path) in vault(home)? {
        add_file(&mut writer, &name, &path)?;
    }
    for (name, path) in spent(home)? {
        add_file(&mut writer, &name, &path)?;
    }
    for name in [SERVER_CERTIFICATES, silas_sandbox::restored::REVOCATIONS] {
        let path = home.path.join(name);
        if path.exists() {
            add_file(&mut writer, name, &path)?;
        }
    }
    let (out, parts) = writer.finish()?;
    out.into_inner()?.sync_all()?;
    // Read back from the disk: what is compared are the hashes of what was just found sound.
    let read = container::read(BufReader::new(File::open(draft)?), |_, _| Ok(std::io::sink()))?;
    ensure!(read == parts, "What was written to {} cannot be read back.", draft.display());
    Ok(())
}

fn add_file(writer: &mut Writer<BufWriter<File>>, name: &str, path: &Path) -> Result<()> {
    let cannot = || format!("{name} of the data directory cannot be read.");
    let file = File::open(path).with_context(cannot)?;
    let n_bytes = file.metadata().with_context(cannot)?.len();
    writer.add(name, n_bytes, BufReader::new(file))
}

/// How secret the file is, which is how the keys are kept.
fn warning(home: &Home) -> Result<&'static str> {
    Ok(match key_commands::protection(home)? {
        Protection::Permissions => "The file holds your private keys. Keep it as you would keep them.",
        Protection::Passphrase => "The file holds your private keys and secrets, sealed with your passphrase.",
        Protection::Keyring => {
            "The file holds your private keys and secrets, sealed with a key in this account's keyring: without that \
             keyring they are lost. `silas key passphrase` makes a backup that opens anywhere."
        }
    })
}

/// What says which keys hold.
fn keys_now(home: &Home) -> [Option<Vec<u8>>; 4] {
    let vault_lock = format!("{VAULT}/lock.json");
    ["keys/installation.json", "keys/handover.json", SERVER_CERTIFICATES, &vault_lock]
        .map(|name| fs::read(home.path.join(name)).ok())
}

/// The lock of the keys and the files of the vault, as far as there are any. Each is replaced as a whole.
fn vault(home: &Home) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    if home.path.join(KEYS_LOCK).exists() {
        found.push((KEYS_LOCK.to_owned(), home.path.join(KEYS_LOCK)));
    }
    let Ok(entries) = fs::read_dir(home.vault()) else { return Ok(found) };
    for entry in entries {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str().filter(|name| silas_approval::vault::is_part(name)) {
            found.push((format!("{VAULT}/{name}"), entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Every record of a used approval, in the order of its name. Each is replaced as a whole, so each is whole.
fn spent(home: &Home) -> Result<Vec<(String, PathBuf)>> {
    let dir = silas_sandbox::restored::SPENT;
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(home.path.join(dir)) else { return Ok(found) };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            found.push((format!("{dir}/{name}"), entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

fn draft_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    file.with_file_name(name)
}

/// A private place in the data directory for the copies of the databases; gone when the command ends.
struct Workplace {
    dir: PathBuf,
    _lock: File,
}

impl Workplace {
    fn open(home: &Home) -> Result<Self> {
        let dir = home.run().join("backup");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(home.run().join("backup.lock"))
            .context("The data directory cannot be written to.")?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("Another backup is being made. Nothing was written."),
            Err(TryLockError::Error(cause)) => return Err(cause.into()),
        }
        // What a backup that was killed left behind.
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Workplace { dir, _lock: lock })
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // The next backup removes what could not be removed now.
        let _ = fs::remove_dir_all(&self.dir);
    }
}
