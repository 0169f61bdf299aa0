//! `silas restore FILE`: an installation out of a backup, checked before anything is put in place, in a new epoch.
//!
//! Nothing is overwritten: a data directory that is in the way is refused, or with `--replace` moved aside. Everything is
//! unpacked and checked beside it first; one rename puts it in place.
//!
//! The new epoch voids every approval of before: a plan that was approved, and spent after the backup was made, could be
//! spent again otherwise. Devices stay paired, because their certificates are not approvals;
//! those that were revoked stay revoked, also if the backup is older than that.

use crate::backup::{ABOUT, About, KEYS, KEYS_LOCK, SERVER_CERTIFICATES, VAULT, container};
use crate::exit::Unreadable;
use crate::home::{self, Home};
use crate::key_commands;
use crate::known_head;
use crate::named_file;
use crate::same_silas;
use crate::wall_clock;
use crate::world::SystemClock;
use anyhow::{Context, Result, anyhow, bail, ensure};
use silas_approval::vault;
use silas_core::evidence::Anchor;
use silas_core::key_service::{KeyReply, KeyRequest, Protection};
use silas_core::number::grouped;
use silas_core::signature::PublicKey;
use silas_core::{Clock, ExecutionId};
use silas_sandbox::handed_over;
use silas_store::snapshot;
use std::cell::RefCell;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

/// More than any `about.json` has; bounds what is kept in memory.
const ABOUT_BYTES_MAX: u64 = 64 << 10;

pub(crate) fn run(file: &Path, data_dir: Option<PathBuf>, config: Option<&Path>, replace: bool) -> Result<ExitCode> {
    const UNCHANGED: &str = "Nothing was restored, and nothing was changed.";
    // Before anything is made for it.
    named_file::open(file).map_err(|cause| Unreadable::new(file, &cause)).context(UNCHANGED)?;
    let target = target(data_dir, config)?;
    let old = Old::at(&target, replace)?;
    let draft = beside(&target, "restoring")?;
    if draft.exists() {
        fs::remove_dir_all(&draft).context("What an earlier restore left cannot be removed.")?;
    }
    let restored =
        unpack(file, &draft).and_then(|about| settle(&about, &draft, old.as_ref()).map(|epoch| (about, epoch)));
    let (about, epoch) = match restored {
        Ok(restored) => restored,
        Err(cause) => {
            let _ = fs::remove_dir_all(&draft);
            return Err(cause.context(UNCHANGED));
        }
    };
    let aside = old.map(|old| old.move_aside(&target)).transpose()?;
    fs::rename(&draft, &target).with_context(|| {
        format!("The restored data lies at {} and could not be moved to {}.", draft.display(), target.display())
    })?;
    sync_dir(parent(&target))?;
    let lost = known_head::begin_anew(&target, &about.installation, epoch, about.head)?;
    println!("Restored {} from {}.", target.display(), file.display());
    println!(
        "It is as it was on {}: {} ledger entries, unbroken.",
        wall_clock::minute(about.made_at),
        grouped(about.head.seq)
    );
    if let Some(lost) = lost.filter(|lost| lost.seq > about.head.seq) {
        println!("{} ledger entries came after the backup and are not in it.", grouped(lost.seq - about.head.seq));
    }
    if let Some(aside) = aside {
        println!("What was there before is kept at {}.", aside.display());
    }
    println!("Approvals from before no longer count; directories and plans ask again. Paired devices stay paired.");
    let is_usual = home::choose(None, &crate::start::load_config(config)?.config).is_ok_and(|usual| usual == target);
    let start = if is_usual { "silas".to_owned() } else { same_silas::command(Some(&target), config) };
    match key_commands::protection(&Home { path: target })? {
        Protection::Passphrase => println!("Its keys and secrets open with the passphrase of that time."),
        Protection::Keyring => println!("Its keys and secrets open with the keyring of the account that made it only."),
        Protection::Permissions => {}
    }
    println!("Start with `{start}`.");
    Ok(ExitCode::SUCCESS)
}

/// Unpacks into `draft`, checking every hash, and knows every part by its name.
fn unpack(file: &Path, draft: &Path) -> Result<About> {
    let from = named_file::open(file).map_err(|cause| Unreadable::new(file, &cause))?;
    for dir in ["", "store", VAULT, "run", "keys", "launcher", silas_sandbox::restored::SPENT] {
        DirBuilder::new().mode(0o700).create(draft.join(dir))?;
    }
    let about = Rc::new(RefCell::new(Vec::new()));
    let parts = container::read(BufReader::new(from), |name, n_bytes| {
        if name == ABOUT {
            ensure!(n_bytes <= ABOUT_BYTES_MAX, "{ABOUT} is too large.");
            return Ok(Place::Memory(about.clone()));
        }
        ensure!(is_known(name), "It holds a part that this version of Silas does not know: {name:?}.");
        let path = draft.join(name);
        Ok(Place::File(OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?))
    })?;
    let stores = snapshot::FILES.map(|name| format!("store/{name}"));
    for needed in stores.iter().map(String::as_str).chain(KEYS).chain([ABOUT]) {
        ensure!(parts.iter().any(|part| part.name == needed), "The backup lacks {needed}.");
    }
    let about: About = serde_json::from_slice(&about.borrow()).context("The backup does not say what it is.")?;
    check(&about, draft)?;
    Ok(about)
}

fn is_known(name: &str) -> bool {
    let spent = name.strip_prefix(silas_sandbox::restored::SPENT).and_then(|rest| rest.strip_prefix('/'));
    let is_spent = spent.and_then(|rest| rest.strip_suffix(".json")).is_some_and(|id| ExecutionId::parse(id).is_ok());
    let is_store = name.strip_prefix("store/").is_some_and(|rest| snapshot::FILES.contains(&rest));
    let is_vault = name.strip_prefix(VAULT).and_then(|rest| rest.strip_prefix('/')).is_some_and(vault::is_part);
    is_spent
        || is_store
        || is_vault
        || KEYS.contains(&name)
        || name == KEYS_LOCK
        || name == SERVER_CERTIFICATES
        || name == silas_sandbox::restored::REVOCATIONS
}

/// What keys that are there say of themselves. Sealed ones stay sealed.
fn keys_of(draft: &Path) -> KeyReply {
    let asked = KeyRequest::Init { at: SystemClock.now(), terminal_name: String::new(), keyring: false };
    silas_approval::keys::helper(&draft.join("keys"), &asked, &mut || None)
}

/// The root key's public half, from keys that were found sound.
fn root_of(draft: &Path) -> Result<PublicKey> {
    match keys_of(draft) {
        KeyReply::Ready { root, is_new: false, .. } => Ok(root),
        _ => bail!("The keys in the backup are not sound."),
    }
}

/// Whether it is one installation, whole.
fn check(about: &About, draft: &Path) -> Result<()> {
    let report = snapshot::inspect(&draft.join("store"))?;
    if let Some(broken) = report.broken {
        bail!("{broken}. This backup cannot be trusted.");
    }
    ensure!(report.head == Some((about.head.seq, about.head.hash)), "The ledger is not the one that the backup names.");
    // Keys that are there are read and compared; none is made.
    match keys_of(draft) {
        KeyReply::Ready { installation, is_new: false, .. } if installation == about.installation => Ok(()),
        KeyReply::Refused { reason } => bail!("The keys in the backup are not sound: {reason}"),
        _ => bail!("The keys in the backup are not those of the installation that it names."),
    }
}

/// Begins the new epoch and closes what was open when the backup was made.
fn settle(about: &About, draft: &Path, old: Option<&Old>) -> Result<u64> {
    silas_sandbox::restored::settle_restored(draft).map_err(|e| anyhow!("{e}"))?;
    if let Some(old) = old {
        let handovers = Home { path: draft.to_owned() }.known()?.handovers;
        let goes_back = handed_over::would_go_back(&old.path, &handovers, &about.installation);
        ensure!(
            !goes_back.map_err(|e| anyhow!("{e}"))?,
            "The backup is from before the root key was handed over to a new one, and would bring the old key back. \
             Restore a later backup. If this is the only one, restore it into a data directory of its own."
        );
        let anchor = Anchor { root: root_of(draft)?, installation: about.installation.clone(), epoch: 0 };
        silas_sandbox::restored::keep_revocations(draft, &old.path, &anchor).map_err(|e| anyhow!("{e}"))?;
    }
    let known = [about.epoch, old.map_or(0, |old| old.epoch), known_head::epoch(&about.installation)?];
    let highest = known.into_iter().max().unwrap_or_default();
    // The time is in it, so that two restores of one backup on two machines do not share an epoch.
    let seconds = u64::try_from(SystemClock.now().micros() / 1_000_000).unwrap_or_default();
    let epoch = seconds.max(highest + 1);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft.join("epoch"))?;
    writeln!(file, "{epoch}")?;
    file.sync_all()?;
    for dir in [VAULT, "store", "keys", silas_sandbox::restored::SPENT, "launcher", ""] {
        sync_dir(&draft.join(dir))?;
    }
    Ok(epoch)
}

/// The data directory that is in the way, locked.
struct Old {
    path: PathBuf,
    epoch: u64,
    _lock: File,
}

impl Old {
    /// `None` if there is nothing, or an empty directory, which the rename replaces.
    fn at(target: &Path, replace: bool) -> Result<Option<Old>> {
        let is_empty = match fs::read_dir(target) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => true,
            entries => entries.with_context(|| format!("{} cannot be read.", target.display()))?.next().is_none(),
        };
        if is_empty {
            return Ok(None);
        }
        let home = Home { path: target.to_owned() };
        let lock = home.lock_for("Nothing was restored.")?;
        if !replace {
            bail!(
                "There is data at {}. Nothing was restored. `--replace` moves it aside first; it is never deleted.",
                target.display()
            );
        }
        if silas_sandbox::restored::has_unfinished(target).map_err(|e| anyhow!("{e}"))? {
            bail!(
                "Work was being applied when Silas last stopped. Start Silas once, so that your files are whole, then \
                 restore."
            );
        }
        Ok(Some(Old { epoch: home.epoch()?, path: home.path, _lock: lock }))
    }

    fn move_aside(self, target: &Path) -> Result<PathBuf> {
        let stamp = SystemClock.now().micros() / 1_000_000;
        let aside = beside(target, &format!("before-{stamp}"))?;
        ensure!(!aside.exists(), "{} exists already. Nothing was restored.", aside.display());
        fs::rename(target, &aside).with_context(|| format!("{} cannot be moved aside.", target.display()))?;
        Ok(aside)
    }
}

/// By its real path, as far as there is one.
fn target(data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<PathBuf> {
    let chosen = home::choose(data_dir, &crate::start::load_config(config)?.config)?;
    if let Ok(real) = chosen.canonicalize() {
        return Ok(real);
    }
    let name = chosen.file_name().context("The data directory needs a name.")?;
    let parent = parent(&chosen);
    DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    Ok(parent.canonicalize()?.join(name))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn beside(target: &Path, what: &str) -> Result<PathBuf> {
    let mut name = target.file_name().context("The data directory needs a name.")?.to_owned();
    name.push(format!(".{what}"));
    Ok(target.with_file_name(name))
}

fn sync_dir(dir: &Path) -> Result<()> {
    Ok(File::open(dir)?.sync_all()?)
}

/// Where a part goes.
enum Place {
    Memory(Rc<RefCell<Vec<u8>>>),
    File(File),
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Place::Memory(kept) => {
                kept.borrow_mut().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            Place::File(file) => file.write(bytes),
        }
    }

    /// Called once for each part, at its end.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Place::Memory(_) => Ok(()),
            Place::File(file) => file.sync_all(),
        }
    }
}
