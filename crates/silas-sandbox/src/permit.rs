//! Turns evidence into a permit, the only thing from which a workshop is started.
//!
//! Architecture invariant (INV-01): a permit exists only for evidence that [`silas_core::evidence::verify`] accepted here,
//! by the launcher's own clock and against its own memory of what was spent. What the front believes plays no part.

use crate::Error;
use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::{self, Ground};
use crate::memory::Record;
use silas_core::evidence::{self, Evidence, Refusal, When};
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::roots::{self, Access, Place};
use silas_core::token::Kind;
use silas_core::work::{Directory, WorkItem};
use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) struct Permit {
    pub(crate) evidence: Evidence,
    pub(crate) plan: WorkItem,
    /// The one directory that is changed.
    pub(crate) work_in: Granted,
    pub(crate) reads: Vec<Granted>,
    pub(crate) record: Record,
    /// Held by the workshop until it ends, so that nobody else works on this execution.
    pub(crate) lock: File,
}

/// A directory as it was approved, held open.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) place: Place,
    pub(crate) dir: Dir,
}

impl Permit {
    pub(crate) fn from_evidence(ground: &Ground, evidence: Evidence) -> Result<Self, Error> {
        let memory = &ground.memory;
        let now = ground::now();
        let known = memory.record(&evidence.execution)?;
        // Expiry bounds the spending; what is spent stays valid until its wall-clock budget ends.
        let when = if known.is_some() { When::AlreadyCommitted } else { When::At(now) };
        // Revocation bounds more than the spending: work that is not applied yet does not go on either.
        let revocations = memory.revocations(&ground.anchor)?;
        let token = evidence::verify(&evidence, Kind::Plan, &ground.anchor, &revocations, when)?;
        let plan = WorkItem::from_canonical(&evidence.payload).map_err(Refusal::Malformed)?;
        let paths = plan.definition().directories.iter().map(|directory| directory.path.as_str());
        evidence::verify_roots(&evidence, paths, &ground.anchor, &revocations)?;
        let work_in = Granted::pinned(work_in(&plan)?, &ground.data_dir)?;
        let reads = plan.definition().directories.iter().filter(|d| d.access == Access::Read);
        let reads = reads.map(|d| Granted::pinned(d, &ground.data_dir)).collect::<Result<Vec<_>, _>>()?;
        let lock = memory.lock(&evidence.execution)?;
        let plan_hash = evidence.token.body.offer.plan_hash;
        let record = match known {
            None => {
                let mut record = Record::new(Kind::Plan, token, plan_hash, now, work_in.place.clone());
                record.wall_secs = plan.definition().budget.max_wall_time_seconds;
                memory.create(&evidence.execution, &record)?;
                record
            }
            Some(record) => {
                if record.token != token || record.plan_hash != plan_hash || record.kind != Kind::Plan {
                    return Err(Refusal::Execution.into());
                }
                // Read again under the lock: a workshop may have ended it just now.
                let record = memory.record(&evidence.execution)?.unwrap_or(record);
                if record.state != ExecutionState::Running {
                    return Err(Error::AlreadySpent);
                }
                // A journal is finished by recovery, never begun again.
                if memory.journal(&evidence.execution).exists() {
                    return Err(Error::Busy);
                }
                if now >= record.deadline() {
                    return Err(Error::TimeUp);
                }
                record
            }
        };
        fail::point(FailPoint::ExecutionAdmitted);
        Ok(Permit { evidence, plan, work_in, reads, record, lock })
    }
}

/// The first directory of a plan, which is the one that it changes.
pub(crate) fn work_in(plan: &WorkItem) -> Result<&Directory, Error> {
    let mut writes = plan.definition().directories.iter().filter(|d| d.access == Access::Write);
    let first = plan.definition().directories.first();
    match (writes.next(), writes.next()) {
        (Some(_), Some(second)) => Err(Error::NotAvailable(format!(
            "The plan changes more than one directory ({} too), which this version cannot do. Split it in two.",
            second.path
        ))),
        (Some(write), None) if first == Some(write) => Ok(write),
        (Some(write), None) => Err(Error::NotAvailable(format!(
            "The plan must name the directory that it changes first, which is {}.",
            write.path
        ))),
        (None, _) => Err(Error::NotAvailable("The plan names no directory to work in.".to_owned())),
    }
}

impl Granted {
    /// Opens a directory of a plan if it is exactly the one that was approved, and may be granted at all.
    pub(crate) fn pinned(directory: &Directory, data_dir: &Path) -> Result<Self, Error> {
        let refuse = |problem: &str| refuse(&directory.path, problem);
        let (Some(device), Some(inode)) = (&directory.device, &directory.inode) else {
            return Err(refuse("the approval does not say which directory on disk it is"));
        };
        let data_dir = data_dir.to_str().ok_or_else(|| refuse("Silas's own data directory has an unusual name"))?;
        roots::may_grant(&directory.path, data_dir).map_err(|e| refuse(&e.to_string()))?;
        let place = Place { path: directory.path.clone(), device: device.clone(), inode: inode.clone() };
        Granted::at(&place)
    }

    /// Opens a place that is known to be approved.
    pub(crate) fn at(place: &Place) -> Result<Self, Error> {
        let dir = open(place)?;
        Ok(Granted { place: place.clone(), dir })
    }

    /// Whether the path still leads to this directory.
    pub(crate) fn is_still_there(&self) -> Result<(), Error> {
        open(&self.place).map(drop)
    }
}

fn open(place: &Place) -> Result<Dir, Error> {
    let refuse = |problem: &str| refuse(&place.path, problem);
    let path = Path::new(&place.path);
    let dir = match Dir::open(path) {
        Ok(dir) => dir,
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => return Err(refuse("a symlink leads there now")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(refuse("it is missing")),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => return Err(refuse("it is not a directory any more")),
        Err(e) => return Err(Error::io(&format!("Opening {}", place.path), &e)),
    };
    // One spelling only, so that comparing paths means comparing directories.
    let real = std::fs::canonicalize(dir.proc_path()).doing(|| format!("Opening {}", place.path))?;
    if real != path || real.to_str() != Some(&place.path) {
        return Err(refuse("it is not called by its real path"));
    }
    let stat = dir.own_stat().doing(|| format!("Opening {}", place.path))?;
    if (stat.device.to_string(), stat.inode.to_string()) != (place.device.clone(), place.inode.clone()) {
        return Err(refuse("another directory has taken its place"));
    }
    Ok(dir)
}

fn refuse(path: &str, problem: &str) -> Error {
    Error::Place { path: path.to_owned(), problem: problem.to_owned() }
}
