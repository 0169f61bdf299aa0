//! Turns evidence into a permit, the only thing from which a workshop is started.
//!
//! Architecture invariant (INV-01): a permit exists only for evidence that [`silas_core::evidence::verify`] accepted here,
//! by the launcher's own clock and against its own memory of what was spent. What the front believes plays no part.

use crate::clock;
use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::Ground;
use crate::memory::Record;
use crate::merges::{self, Laid};
use crate::waiting::{self, Waiting};
use crate::{Error, kept, mounted, passkeys, rest, toolchains, tree};
use silas_core::evidence::{self, Evidence, Refusal, When};
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::host::HostGrant;
use silas_core::relpath::RelPath;
use silas_core::roots::{Access, Place};
use silas_core::token::Kind;
use silas_core::work::{Directory, WorkItem};
use silas_core::{Digest, ExecutionId, Timestamp, TokenId};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) struct Permit {
    pub(crate) evidence: Evidence,
    pub(crate) plan: WorkItem,
    /// The run. For an apply that is the one whose result waits, and not the spending of the decision.
    pub(crate) execution: ExecutionId,
    pub(crate) task: Task,
    /// The directories that may be changed, in the plan's order. Commands start in the first.
    pub(crate) roots: Vec<Root>,
    pub(crate) reads: Vec<Granted>,
    /// What the plan puts back, if it does.
    pub(crate) kept: Option<PathBuf>,
    /// What the plan brings together, if it does.
    pub(crate) laid: Option<Laid>,
    /// When the time ends that this may take.
    pub(crate) deadline: Timestamp,
    /// Held by the workshop until it ends, so that nobody else works on this execution.
    pub(crate) lock: File,
}

/// How far a workshop may go.
pub(crate) enum Task {
    /// Carry the plan out, and apply it when the checks turned green.
    Whole,
    /// Carry the plan out in the copy. Architecture invariant (INV-03): there is no way from here to an apply.
    Rehearsal,
    /// Apply what waits, and nothing else.
    Apply(Box<Waiting>),
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
        if evidence.token.body.offer.kind == Kind::Apply {
            return Permit::to_apply(ground, evidence);
        }
        let memory = &ground.memory;
        let now = clock::now();
        let known = memory.record(&evidence.execution)?;
        // Expiry bounds the spending; what is spent stays valid until its wall-clock budget ends.
        let when = if known.is_some() { When::AlreadyCommitted } else { When::At(now) };
        let is_counted = matches!(evidence.token.body.offer.kind, Kind::HouseRules | Kind::Rehearsal);
        let _turn = is_counted.then(|| memory.turn_to_begin()).transpose()?;
        let Allowed { token, kind, plan, text, task } = Allowed::by(ground, &evidence, when)?;
        let mut grounds = Grounds::of(ground, &evidence, &plan)?;
        let merging = plan.definition().merges.as_ref();
        let laid = merging.map(|merging| merges::find(memory, merging, &grounds.roots)).transpose()?;
        grounds.kept = laid.as_ref().map(|laid| laid.dir.clone()).or(grounds.kept);
        let lock = memory.lock(&evidence.execution)?;
        let plan_hash = Digest::of(text.as_bytes());
        let record = match known {
            None => {
                let mut record = Record::new(kind, token, plan_hash, now, places(&grounds.roots));
                record.wall_secs = plan.definition().budget.max_wall_time_seconds;
                memory.create(&evidence.execution, &record)?;
                record
            }
            Some(record) => {
                if record.token != token || record.plan_hash != plan_hash || record.kind != kind {
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
                if now >= record.deadline().plus(rest::total(memory, &evidence.execution)?) {
                    return Err(Error::TimeUp);
                }
                record
            }
        };
        fail::point(FailPoint::ExecutionAdmitted);
        let execution = evidence.execution.clone();
        let deadline = record.deadline().plus(rest::total(memory, &execution)?);
        let Grounds { roots, reads, kept } = grounds;
        Ok(Permit { evidence, plan, execution, task, roots, reads, kept, laid, deadline, lock })
    }

    /// A decision to apply what waits. Everything that it names is compared with what this launcher noted itself.
    fn to_apply(ground: &Ground, evidence: Evidence) -> Result<Self, Error> {
        let memory = &ground.memory;
        let now = clock::now();
        let spent = memory.record(&evidence.execution)?;
        let when = if spent.is_some() { When::AlreadyCommitted } else { When::At(now) };
        let revocations = memory.revocations(&ground.anchor)?;
        let (token, order, plan) = evidence::verify_apply(&evidence, &ground.anchor, &revocations, when)?;
        let Grounds { roots, reads, kept } = Grounds::of(ground, &evidence, &plan)?;
        let lock = memory.lock(&order.execution)?;
        let gone = || Error::NotAvailable("This result is no longer kept. Ask for it again.".to_owned());
        let record = memory.record(&order.execution)?.filter(Record::is_work).ok_or_else(gone)?;
        match record.state {
            ExecutionState::Rehearsed => {}
            ExecutionState::Applied | ExecutionState::Undone => return Err(Error::AlreadySpent),
            ExecutionState::Running | ExecutionState::Ended => return Err(gone()),
        }
        if memory.journal(&order.execution).exists() {
            return Err(Error::Busy);
        }
        let waiting = Waiting::load(memory, &order.execution)?.filter(|waiting| now < waiting.until);
        let waiting = waiting.ok_or_else(gone)?;
        let is_the_one = record.plan_hash == order.plan_hash
            && record.places == places(&roots)
            && waiting.changeset == order.changeset
            && waiting.findings == order.findings;
        if !is_the_one {
            return Err(Refusal::Content.into());
        }
        let plan_hash = evidence.token.body.offer.plan_hash;
        let spending = match spent {
            None => {
                let mut spending = Record::new(Kind::Apply, token, plan_hash, now, record.places.clone());
                spending.wall_secs = plan.definition().budget.max_wall_time_seconds;
                memory.create(&evidence.execution, &spending)?;
                spending
            }
            // The same decision may go on where it was interrupted: what it names is still waiting.
            Some(spent) if spent.kind == Kind::Apply && spent.token == token && spent.plan_hash == plan_hash => spent,
            Some(_) => return Err(Error::AlreadySpent),
        };
        if now >= spending.deadline() {
            return Err(Error::TimeUp);
        }
        let (execution, deadline) = (order.execution, spending.deadline());
        let task = Task::Apply(Box::new(waiting));
        // What was laid is in the copy; what it was made of may be gone.
        let laid = None;
        Ok(Permit { evidence, plan, execution, task, roots, reads, kept, laid, deadline, lock })
    }
}

/// What evidence of work allows.
struct Allowed {
    token: TokenId,
    kind: Kind,
    plan: WorkItem,
    /// The plan's canonical text.
    text: String,
    task: Task,
}

impl Allowed {
    /// Revocation bounds more than the spending: work that is not applied yet does not go on either.
    fn by(ground: &Ground, evidence: &Evidence, when: When) -> Result<Self, Error> {
        let (memory, anchor) = (&ground.memory, &ground.anchor);
        let revocations = memory.revocations(anchor)?;
        let is_new = when != When::AlreadyCommitted;
        let kind = evidence.token.body.offer.kind;
        match kind {
            Kind::HouseRules => {
                let (token, plan, budget) = evidence::verify_rehearsal(evidence, anchor, &revocations, when)?;
                if is_new {
                    waiting::has_room(memory, 0, ground.bounds)?;
                    memory.has_rehearsals_left(&token, budget.per_day, clock::now())?;
                }
                let text = evidence.plan.clone().unwrap_or_default();
                Ok(Allowed { token, kind, plan, text, task: Task::Rehearsal })
            }
            Kind::Rehearsal
            | Kind::Plan
            | Kind::Apply
            | Kind::Undo
            | Kind::Root
            | Kind::Device
            | Kind::Step
            | Kind::Model
            | Kind::Budget => {
                let (asked, task) = match kind {
                    Kind::Rehearsal => (Kind::Rehearsal, Task::Rehearsal),
                    _ => (Kind::Plan, Task::Whole),
                };
                let token = evidence::verify(evidence, asked, anchor, &revocations, when)?;
                if is_new {
                    passkeys::may_decide(ground, evidence)?;
                }
                if is_new && asked == Kind::Rehearsal {
                    waiting::has_room(memory, 0, ground.bounds)?;
                }
                let plan = WorkItem::from_canonical(&evidence.payload).map_err(Refusal::Malformed)?;
                Ok(Allowed { token, kind: asked, plan, text: evidence.payload.clone(), task })
            }
        }
    }
}

/// What a plan stands on: its directories as they were approved, and still are.
struct Grounds {
    roots: Vec<Root>,
    reads: Vec<Granted>,
    kept: Option<PathBuf>,
}

impl Grounds {
    fn of(ground: &Ground, evidence: &Evidence, plan: &WorkItem) -> Result<Self, Error> {
        let revocations = ground.memory.revocations(&ground.anchor)?;
        let paths = plan.definition().directories.iter().map(|directory| directory.path.as_str());
        evidence::verify_roots(evidence, paths, &ground.anchor, &revocations)?;
        let roots = roots(plan, &ground.own)?;
        let restores = plan.definition().restores.as_ref();
        let kept = restores.map(|execution| kept::find(ground, execution, &roots)).transpose()?;
        let reads = plan.definition().directories.iter().filter(|d| d.access == Access::Read);
        let reads = reads.map(|d| Granted::pinned(d, &ground.own)).collect::<Result<Vec<_>, _>>()?;
        let definition = plan.definition();
        let for_some = definition.hosts_for.iter().map(|host| &host.host);
        lead_elsewhere(definition.hosts.iter().chain(for_some), &ground.limits.closed_ports)?;
        toolchains::admit(ground, &plan.definition().toolchains)?;
        Ok(Grounds { roots, reads, kept })
    }
}

/// The directories that a plan changes, each exactly the one that was approved.
pub(crate) fn roots(plan: &WorkItem, own: &[PathBuf]) -> Result<Vec<Root>, Error> {
    let mut roots = Vec::new();
    for (nth, directory) in (0u32..).zip(&plan.definition().directories) {
        if directory.access == Access::Write {
            roots.push(Root { nth, granted: Granted::pinned(directory, own)? });
        }
    }
    if roots.is_empty() {
        return Err(Error::NotAvailable("The plan names no directory to work in.".to_owned()));
    }
    Ok(roots)
}

/// A path as a message names it: with its directory, where there are several.
pub(crate) fn shown(roots: &[Root], n: usize, path: &RelPath) -> String {
    named(roots, n, &path.to_string())
}

/// The same of a path that is written out.
pub(crate) fn named(roots: &[Root], n: usize, path: &str) -> String {
    match roots {
        [_] => path.to_owned(),
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
    pub(crate) fn pinned(directory: &Directory, own: &[PathBuf]) -> Result<Self, Error> {
        let refuse = |problem: &str| refuse(&directory.path, problem);
        let (Some(device), Some(inode)) = (&directory.device, &directory.inode) else {
            return Err(refuse("the approval does not say which directory on disk it is"));
        };
        mounted::may_grant(&directory.path, own).map_err(|e| refuse(&e.to_string()))?;
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

/// No grant leads to Silas's own doors. What a name turns out to stand for is seen by the broker.
pub(crate) fn lead_elsewhere<'h>(
    hosts: impl IntoIterator<Item = &'h HostGrant>,
    closed_ports: &[u16],
) -> Result<(), Error> {
    match hosts.into_iter().find(|host| host.is_this_machine() && closed_ports.contains(&host.port())) {
        Some(host) => Err(Error::NotAvailable(format!(
            "Silas itself answers at {host}, and nothing that it runs may talk to it. Name another port."
        ))),
        None => Ok(()),
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
