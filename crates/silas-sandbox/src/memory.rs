//! What the launcher remembers on disk: which executions were begun, how they ended, and the locks that keep two
//! processes from working on one of them. The front can neither read nor write any of it.

use crate::counted::COUNTED;
use crate::error::Doing;
use crate::{Error, durable};
use serde::{Deserialize, Serialize};
use silas_core::device::Certificate;
use silas_core::evidence::{Anchor, Refusal};
use silas_core::execution::ExecutionState;
use silas_core::revocation::{RevocationList, Revocations};
use silas_core::roots::Place;
use silas_core::token::Kind;
use silas_core::{Digest, ExecutionId, Timestamp, TokenId};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Memory {
    dir: PathBuf,
}

/// One spending of an approval, as the launcher knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// Work, or the decision to apply or to undo one.
    pub(crate) kind: Kind,
    pub(crate) token: TokenId,
    /// Of the plan; of another decision, of its payload.
    pub(crate) plan_hash: Digest,
    pub(crate) first_spent_at: Timestamp,
    pub(crate) wall_secs: u64,
    pub(crate) state: ExecutionState,
    /// The directories that are worked on; an undo has its plan's.
    #[serde(alias = "place", deserialize_with = "one_or_more")]
    pub(crate) places: Vec<Place>,
    /// Set when it was applied, or waits for that.
    pub(crate) changeset: Option<Digest>,
    pub(crate) files: u32,
    pub(crate) undo_until: Option<Timestamp>,
    /// Set when it was undone.
    pub(crate) undone_by: Option<TokenId>,
    /// Whether what the apply replaced is gone, so that nothing can be undone any more.
    pub(crate) is_forgotten: bool,
}

impl Record {
    pub(crate) fn new(kind: Kind, token: TokenId, plan_hash: Digest, at: Timestamp, places: Vec<Place>) -> Self {
        Record {
            kind,
            token,
            plan_hash,
            first_spent_at: at,
            wall_secs: 0,
            state: ExecutionState::Running,
            places,
            changeset: None,
            files: 0,
            undo_until: None,
            undone_by: None,
            is_forgotten: false,
        }
    }

    /// Whether this is work, and no decision about work.
    pub(crate) fn is_work(&self) -> bool {
        match self.kind {
            Kind::Plan | Kind::Rehearsal | Kind::HouseRules => true,
            Kind::Apply | Kind::Undo | Kind::Root | Kind::Device | Kind::Step | Kind::Model | Kind::Budget => false,
        }
    }

    /// A spent execution stays valid until its wall-clock budget ends.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.first_spent_at.plus(Duration::from_secs(self.wall_secs))
    }
}

impl Memory {
    pub(crate) fn open(dir: &Path) -> Result<Self, Error> {
        let parts =
            ["spent", "steps", "state", "journals", "locks", "work", "waiting", "kept", "merges", "rests", COUNTED];
        for part in parts {
            durable::private_dir(&dir.join(part)).doing(|| format!("Making launcher/{part}"))?;
        }
        Ok(Memory { dir: dir.to_owned() })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn record(&self, execution: &ExecutionId) -> Result<Option<Record>, Error> {
        read(&self.spent(execution))
    }

    /// What it has waited.
    pub(crate) fn rest(&self, execution: &ExecutionId) -> PathBuf {
        self.dir.join("rests").join(execution.as_str())
    }

    /// The first of two takes it; the second hears that it exists.
    pub(crate) fn create(&self, execution: &ExecutionId, record: &Record) -> Result<(), Error> {
        self.count(execution, record)?;
        match durable::create(&self.spent(execution), &bytes(record)?) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(Error::AlreadySpent),
            done => done.doing(|| "Recording that an approval is used".to_owned()),
        }
    }

    pub(crate) fn update(&self, execution: &ExecutionId, record: &Record) -> Result<(), Error> {
        durable::replace(&self.spent(execution), &bytes(record)?)
            .doing(|| "Recording how far the work has come".to_owned())
    }

    /// Every record there is, oldest first. Grows with the age of an installation, so nothing that happens for each piece of
    /// work asks for it.
    pub(crate) fn all(&self) -> Result<Vec<(ExecutionId, Record)>, Error> {
        let mut records = Vec::new();
        for name in names(&self.dir.join("spent"))? {
            let id = ExecutionId::parse(&name).map_err(|e| Error::Damaged(e.to_string()))?;
            if let Some(record) = self.record(&id)? {
                records.push((id, record));
            }
        }
        records.sort_by(|(a, x), (b, y)| (x.first_spent_at, a).cmp(&(y.first_spent_at, b)));
        Ok(records)
    }

    /// The highest list of revocations that this launcher or an earlier one has seen. One that is there and does not
    /// count is a reason to stop: without it, what was revoked would come to life again.
    pub(crate) fn revocations(&self, anchor: &Anchor) -> Result<Revocations, Error> {
        match read::<RevocationList>(&self.dir.join(REVOCATIONS))? {
            None => Ok(Revocations::default()),
            Some(list) => Revocations::checked(list, anchor).map_err(|e| Error::Damaged(format!("{REVOCATIONS}: {e}"))),
        }
    }

    /// Remembers a list if it is newer, and says what is in force then. An older one is refused.
    pub(crate) fn adopt(&self, list: RevocationList, anchor: &Anchor) -> Result<Revocations, Error> {
        let known = self.revocations(anchor)?;
        if known.list() == Some(&list) {
            return Ok(known);
        }
        let next = known.followed_by(list, anchor)?;
        // Two lists of one number would mean that the root key was used behind this memory's back.
        if next.number() == known.number() {
            return Err(Refusal::Revocations(silas_core::device::Mismatch::Number).into());
        }
        let bytes = serde_json::to_vec(&next.list()).map_err(|e| Error::Damaged(e.to_string()))?;
        durable::replace(&self.dir.join(REVOCATIONS), &bytes).doing(|| "Recording what is revoked".to_owned())?;
        Ok(next)
    }

    /// Every passkey that was ever certified, revoked ones included. Nobody else writes here, so each counts, also one
    /// that an earlier root key vouched for: that can only raise the bar.
    pub(crate) fn passkeys(&self) -> Result<Vec<Certificate>, Error> {
        Ok(read::<Vec<Certificate>>(&self.dir.join(PASSKEYS))?.unwrap_or_default())
    }

    pub(crate) fn remember_passkey(&self, certificate: Certificate) -> Result<(), Error> {
        let _turn = self.turn("passkey")?;
        let mut known = self.passkeys()?;
        if known.contains(&certificate) {
            return Ok(());
        }
        // The same key, vouched for by a new root key.
        known.retain(|known| known.body.key != certificate.body.key);
        if known.len() >= PASSKEYS_MAX {
            return Err(Error::Pairing(format!("there are {PASSKEYS_MAX} passkeys already")));
        }
        known.push(certificate);
        let bytes = serde_json::to_vec(&known).map_err(|e| Error::Damaged(e.to_string()))?;
        durable::replace(&self.dir.join(PASSKEYS), &bytes).doing(|| "Recording a passkey".to_owned())
    }

    /// Single commands are remembered only until their approval can no longer be used anyway.
    pub(crate) fn spend_step(&self, execution: &ExecutionId, expires_at: Timestamp) -> Result<(), Error> {
        let path = self.dir.join("steps").join(execution.as_str());
        match durable::create(&path, expires_at.micros().to_string().as_bytes()) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(Error::AlreadySpent),
            done => done.doing(|| "Recording that an approval is used".to_owned()),
        }
    }

    /// Drops single commands that are safely past their expiry. What cannot be read or removed stays.
    pub(crate) fn forget_steps(&self, now: Timestamp) {
        let Ok(entries) = std::fs::read_dir(self.dir.join("steps")) else { return };
        for entry in entries.flatten().take(STEPS_FORGOTTEN_MAX) {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let is_past = text.parse().is_ok_and(|micros| now > Timestamp::from_micros(micros).plus(CLOCKS_DIFFER));
            if is_past {
                let _ = std::fs::remove_file(entry.path());
                let _ = std::fs::remove_file(self.dir.join("locks").join(entry.file_name()));
            }
        }
    }

    /// Drops what is settled and can be spent, undone or told no more: then nobody can ask about it in a way that this
    /// record would have to refuse.
    pub(crate) fn forget_settled(&self, now: Timestamp) -> Result<(), Error> {
        for (execution, record) in self.all()? {
            let is_settled = match record.state {
                ExecutionState::Running => !record.is_work(),
                ExecutionState::Rehearsed => false,
                ExecutionState::Applied => record.is_forgotten,
                ExecutionState::Ended | ExecutionState::Undone => true,
            };
            let last = record.deadline().max(record.undo_until.unwrap_or(record.first_spent_at));
            let is_past = now > last.plus(record.kind.lasts()).plus(SETTLED_KEPT);
            let has_journal = self.journal(&execution).exists() || self.undo_journal(&execution).exists();
            if is_settled && is_past && !has_journal {
                durable::remove(&self.spent(&execution)).doing(|| "Forgetting old work".to_owned())?;
                durable::remove(&self.rest(&execution)).doing(|| "Forgetting old work".to_owned())?;
                durable::remove(&self.dir.join("locks").join(execution.as_str()))
                    .doing(|| "Forgetting old work".to_owned())?;
            }
        }
        Ok(())
    }

    /// A directory of a name that stays between commands, held while the file is.
    pub(crate) fn state(&self, name: &str) -> Result<(PathBuf, File), Error> {
        let dir = self.dir.join("state").join(name);
        durable::private_dir(&dir).doing(|| format!("Making the state {name}"))?;
        let lock = self.lock_file(&format!("state-{name}"))?;
        match lock.try_lock() {
            Ok(()) => Ok((dir, lock)),
            Err(TryLockError::WouldBlock) => Err(Error::NotAvailable(format!(
                "The state `{name}` is in use by another command. Wait, or name another."
            ))),
            Err(TryLockError::Error(e)) => Err(Error::io("Locking a state", &e)),
        }
    }

    pub(crate) fn journal(&self, execution: &ExecutionId) -> PathBuf {
        self.dir.join("journals").join(format!("{execution}.json"))
    }

    pub(crate) fn undo_journal(&self, execution: &ExecutionId) -> PathBuf {
        self.dir.join("journals").join(format!("{execution}.undo.json"))
    }

    /// What is known about the copy of an execution that waits for a decision.
    pub(crate) fn waiting(&self, execution: &ExecutionId) -> PathBuf {
        self.all_waiting().join(format!("{execution}.json"))
    }

    fn all_waiting(&self) -> PathBuf {
        self.dir.join("waiting")
    }

    /// The executions whose copies may wait for a decision: what is noted is noted before the record says so.
    pub(crate) fn noted_as_waiting(&self) -> Result<Vec<ExecutionId>, Error> {
        Ok(names(&self.all_waiting())?.iter().filter_map(|name| ExecutionId::parse(name).ok()).collect())
    }

    /// The executions that something was put in place by and may still be undone: a journal goes when that is over.
    pub(crate) fn with_journal(&self) -> Result<Vec<ExecutionId>, Error> {
        Ok(names(&self.dir.join("journals"))?.iter().filter_map(|name| ExecutionId::parse(name).ok()).collect())
    }

    /// What an execution replaced, once it can no longer be undone.
    pub(crate) fn kept(&self, execution: &ExecutionId) -> PathBuf {
        self.all_kept().join(execution.as_str())
    }

    pub(crate) fn all_kept(&self) -> PathBuf {
        self.dir.join("kept")
    }

    /// Both versions of files that an execution met a change of the owner's in.
    pub(crate) fn merge(&self, execution: &ExecutionId) -> PathBuf {
        self.all_merges().join(execution.as_str())
    }

    pub(crate) fn all_merges(&self) -> PathBuf {
        self.dir.join("merges")
    }

    /// Where the private copy of an execution lies: here, because the front must not be able to touch it.
    pub(crate) fn work(&self, execution: &ExecutionId) -> PathBuf {
        self.works().join(execution.as_str())
    }

    pub(crate) fn works(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Held as long as the file is open, by whichever process; so it also tells of workshops of an earlier launcher.
    pub(crate) fn lock(&self, execution: &ExecutionId) -> Result<File, Error> {
        let file = self.lock_file(execution.as_str())?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Error::Busy),
            Err(TryLockError::Error(e)) => Err(Error::io("Locking the work", &e)),
        }
    }

    /// Like [`Memory::lock`], for callers who can wait for a workshop that is just ending.
    pub(crate) fn lock_soon(&self, execution: &ExecutionId) -> Result<File, Error> {
        for _ in 0..LOCK_TRIES {
            match self.lock(execution) {
                Err(Error::Busy) => std::thread::sleep(LOCK_PAUSE),
                got => return got,
            }
        }
        Err(Error::Busy)
    }

    /// One apply or undo at a time: two that compare the same tree and then both change it would not see each other.
    pub(crate) fn turn_to_apply(&self) -> Result<File, Error> {
        self.turn("apply")
    }

    /// One at a time changes what is revoked: two lists of the same number would both be the next.
    pub(crate) fn turn_to_revoke(&self) -> Result<File, Error> {
        self.turn("revoke")
    }

    /// One at a time is counted and then begun: two that are counted together would both be the last.
    pub(crate) fn turn_to_begin(&self) -> Result<File, Error> {
        self.turn("begin")
    }

    /// Ends with the file, which is when the process does at the latest.
    fn turn(&self, what: &str) -> Result<File, Error> {
        let file = self.lock_file(what)?;
        file.lock().doing(|| format!("Waiting for another turn to {what}"))?;
        Ok(file)
    }

    fn lock_file(&self, name: &str) -> Result<File, Error> {
        OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(self.dir.join("locks").join(name))
            .doing(|| "Opening a lock".to_owned())
    }

    fn spent(&self, execution: &ExecutionId) -> PathBuf {
        self.dir.join("spent").join(format!("{execution}.json"))
    }
}

/// The list of what is revoked, as the root key signed it.
pub(crate) const REVOCATIONS: &str = "revocations.json";
const PASSKEYS: &str = "passkeys.json";
/// Revoked ones count too; nobody has that many authenticators.
const PASSKEYS_MAX: usize = 100;
/// Approvals are judged by the clock of the moment; this much may it be set back before an old one could look new, and
/// then it would still be dated in the future.
pub(crate) const CLOCKS_DIFFER: Duration = DAY;
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);
/// Bounds what one command tidies up after others.
const STEPS_FORGOTTEN_MAX: usize = 256;
/// Longer than recovery tells of old work, and than any sensible change of the clock.
const SETTLED_KEPT: Duration = Duration::from_secs(60 * 24 * 3600);

/// Together ten seconds: a workshop whose front is gone needs less to stop its cell and leave.
const LOCK_TRIES: u32 = 200;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Records and journals that are older than plans with several directories name one.
pub(crate) fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Place>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Places {
        One(Place),
        More(Vec<Place>),
    }
    Ok(match Places::deserialize(from)? {
        Places::One(place) => vec![place],
        Places::More(places) => places,
    })
}

/// What lies in a directory of ours, without the ending that all of it has.
fn names(dir: &Path) -> Result<Vec<String>, Error> {
    let doing = || "Reading which approvals were used".to_owned();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).doing(doing)? {
        let name = entry.doing(doing)?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned));
    }
    Ok(names)
}

/// A record or journal that is there must be readable; one that is not is a reason to stop, not to begin anew.
pub(crate) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let bytes = match std::fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.doing(|| "Reading a record of the launcher".to_owned())?,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    serde_json::from_slice(&bytes).map(Some).map_err(|e| Error::Damaged(format!("{name}: {e}")))
}

fn bytes(record: &Record) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(record).map_err(|e| Error::Damaged(e.to_string()))
}
