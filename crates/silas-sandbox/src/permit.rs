//! Turns evidence into a permit, the only thing from which a workshop is started.
//!
//! Architecture invariant (INV-01): a permit exists only for evidence that [`silas_core::evidence::verify`] accepted here,
//! by the launcher's own clock and against its own memory of what was spent. What the front believes plays no part.

use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::{self, Ground};
use crate::memory::Record;
use crate::{Error, kept, toolchains, tree};
use silas_core::evidence::{self, Evidence, Refusal, When};
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use silas_core::roots::{self, Access, Place};
use silas_core::token::Kind;
use silas_core::work::{Directory, WorkItem};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) struct Permit {
    pub(crate) evidence: Evidence,
    pub(crate) plan: WorkItem,
    /// The directories that may be changed, in the plan's order. Commands start in the first.
    pub(crate) roots: Vec<Root>,
    pub(crate) reads: Vec<Granted>,
    /// What the plan puts back, if it does.
    pub(crate) kept: Option<PathBuf>,
    pub(crate) record: Record,
    /// Held by the workshop until it ends, so that nobody else works on this execution.
    pub(crate) lock: File,
}

/// A directory that the plan may change.
#[derive(Debug)]
pub(crate) struct Root {
    /// Its place among the plan's directories.
    pub(crate) nth: u32,
    pub(crate) granted: Granted,
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
        let roots = roots(&plan, &ground.data_dir)?;
        let restores = plan.definition().restores.as_ref();
        let kept = restores.map(|execution| kept::find(ground, execution, &roots)).transpose()?;
        let reads = plan.definition().directories.iter().filter(|d| d.access == Access::Read);
        let reads = reads.map(|d| Granted::pinned(d, &ground.data_dir)).collect::<Result<Vec<_>, _>>()?;
        toolchains::admit(ground, &plan.definition().toolchains)?;
        let lock = memory.lock(&evidence.execution)?;
        let plan_hash = evidence.token.body.offer.plan_hash;
        let record = match known {
            None => {
                let mut record = Record::new(Kind::Plan, token, plan_hash, now, places(&roots));
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
        Ok(Permit { evidence, plan, roots, reads, kept, record, lock })
    }
}

/// The directories that a plan changes, each exactly the one that was approved.
pub(crate) fn roots(plan: &WorkItem, data_dir: &Path) -> Result<Vec<Root>, Error> {
    let mut roots = Vec::new();
    for (nth, directory) in (0u32..).zip(&plan.definition().directories) {
        if directory.access == Access::Write {
            roots.push(Root { nth, granted: Granted::pinned(directory, data_dir)? });
        }
    }
    if roots.is_empty() {
        return Err(Error::NotAvailable("The plan names no directory to work in.".to_owned()));
    }
    Ok(roots)
}

/// A path as a message names it: with its directory, where there are several.
pub(crate) fn shown(roots: &[Root], n: usize, path: &RelPath) -> String {
    match roots {
        [_] => path.to_string(),
        _ => format!("{}/{path}", roots[n].granted.place.path),
    }
}

/// What stood in the way in one directory, with its paths named as [`shown`] names them.
pub(crate) fn told_of(roots: &[Root], n: usize, why: Error) -> Error {
    let named = |path: String| match tree::is_rest(&path) {
        true => path,
        false => format!("{}/{path}", roots[n].granted.place.path),
    };
    match why {
        Error::Conflict { paths } if roots.len() > 1 => {
            Error::Conflict { paths: paths.into_iter().map(named).collect() }
        }
        why => why,
    }
}

pub(crate) fn places(roots: &[Root]) -> Vec<Place> {
    roots.iter().map(|root| root.granted.place.clone()).collect()
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

    pub(crate) fn all(places: &[Place]) -> Result<Vec<Self>, Error> {
        places.iter().map(Granted::at).collect()
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
