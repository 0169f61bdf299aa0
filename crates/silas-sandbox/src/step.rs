//! One command that was signed for itself: the permit for it, and the process that carries it out.
//!
//! The same machinery as a plan's: evidence is verified by the launcher, spent once, directories are pinned, what may be
//! changed is a private copy, and a cell isolates the command. What is absent: checks, and therefore any apply. Changes
//! are shown and thrown away.

use crate::cell::{self, Brokers, CellSpec, Limits, Mount, MountAccess, Streams};
use crate::changes::{self, Links};
use crate::clock;
use crate::diff::{self, Sides};
use crate::error::Doing;
use crate::ground::Ground;
use crate::lifeline::Lifeline;
use crate::permit::{self, Granted, Root};
use crate::private_copy::{Ignored, Terms};
use crate::protocol::{ChangedDirectory, Changes, Finished};
use crate::workspace::{self, HOME_INSIDE, Wanted, Workspace};
use crate::{CellLimits, Error, durable, fd_passing, flood, forget, frame, syscall, toolchains};
use silas_core::ExecutionId;
use silas_core::envelope::{Envelope, EnvelopeKind, Executor, Life, SIGNED_FOR, SandboxConfig};
use silas_core::evidence::{self, Evidence, Refusal, When};
use silas_core::outside::{Connection, NotRecorded, Outside};
use silas_core::relpath::RelPath;
use silas_core::roots::{self, Access, Place};
use silas_core::secret::{Secret, SecretRef};
use silas_core::token::Kind;
use silas_core::toolchain;
use silas_core::wanted::By;
use silas_core::work::{Directory, WorkItem};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server ends with whoever started it; this only has to be later than that.
const SERVES_FOR: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

pub(crate) struct StepPermit {
    execution: ExecutionId,
    envelope: Envelope,
    writes: Vec<Root>,
    reads: Vec<Granted>,
    /// Keeps recovery away from the copies.
    lock: File,
    /// The directory that stays, held so that two commands cannot use it at once.
    state: Option<(PathBuf, File)>,
}

impl StepPermit {
    /// Architecture invariant (INV-01): like [`crate::permit::Permit`], this exists only for evidence that was verified
    /// here and is spent by it.
    pub(crate) fn from_evidence(ground: &Ground, evidence: &Evidence) -> Result<Self, Error> {
        // No directory needs to have been allowed before: whoever signs names each of them in the envelope.
        let revocations = ground.memory.revocations(&ground.anchor)?;
        evidence::verify(evidence, Kind::Step, &ground.anchor, &revocations, When::At(clock::now()))?;
        let envelope = Envelope::from_canonical(&evidence.payload).map_err(Refusal::Malformed)?;
        let offer = &evidence.token.body.offer;
        if offer.expires_at.since(offer.issued_at) > SIGNED_FOR {
            return Err(Refusal::Bounds.into());
        }
        let config = &envelope.sandbox_config;
        apart(&config.filesystem_write, &config.filesystem_read)?;
        let granted = |places: &[Place], access| -> Result<Vec<Granted>, Error> {
            let directory = |place: &Place| Directory::pinned(place.clone(), access);
            places.iter().map(|place| Granted::pinned(&directory(place), &ground.own)).collect()
        };
        let writes = granted(&config.filesystem_write, Access::Write)?;
        let writes = (0..).zip(writes).map(|(nth, granted)| Root { nth, granted }).collect();
        let reads = granted(&config.filesystem_read, Access::Read)?;
        permit::lead_elsewhere(&config.hosts, &ground.limits.closed_ports)?;
        toolchains::admit(ground, &config.toolchains)?;
        let memory = &ground.memory;
        let lock = memory.lock(&evidence.execution)?;
        memory.spend_step(&evidence.execution, evidence.token.body.offer.expires_at)?;
        let state = config.state.as_deref().map(|name| memory.state(name)).transpose()?;
        Ok(StepPermit { execution: evidence.execution.clone(), envelope, writes, reads, lock, state })
    }
}

/// A copy inside another copy would be two answers to what the owner's files become.
fn apart(writes: &[Place], reads: &[Place]) -> Result<(), Error> {
    for (n, write) in writes.iter().enumerate() {
        let others = writes[..n].iter().chain(reads);
        if let Some(other) = others
            .into_iter()
            .find(|other| roots::contains(&write.path, &other.path) || roots::contains(&other.path, &write.path))
        {
            return Err(Error::Place {
                path: write.path.clone(),
                problem: format!("it and {} lie one inside the other; grant one of them", other.path),
            });
        }
    }
    Ok(())
}

/// The process of one command. Whoever waits for it holds the other end of the socket.
pub(crate) struct Solo {
    pub(crate) ground: Ground,
    pub(crate) permit: StepPermit,
    pub(crate) socket: UnixStream,
}

impl Solo {
    pub(crate) fn serve(mut self) -> i32 {
        syscall::name_process(c"silas-hand");
        let answer = self.carry_out();
        let home = self.ground.memory.work(&self.permit.execution);
        // Recovery removes what cannot be removed now.
        let _ = workspace::remove(&home);
        self.ground.memory.forget_steps(clock::now());
        // The server does it by its clock; where none runs, whoever does something does it.
        let _ = forget::forget_over(&self.ground);
        let _ = self.permit.lock.unlock();
        // Somebody who is gone needs no answer.
        i32::from(frame::send(&mut self.socket, &answer).is_err())
    }

    fn carry_out(&self) -> Result<Finished, Error> {
        let doing = || "Connecting input and output".to_owned();
        let next = || fd_passing::receive(&self.socket).doing(doing);
        let streams = Streams::Piped { stdin: next()?, stdout: next()?, stderr: next()? };
        let home = self.ground.memory.work(&self.permit.execution);
        durable::private_dir(&home).doing(|| "Making the private copy".to_owned())?;
        let terms = Terms { ignored: Ignored::Included, bounds: self.ground.bounds };
        let wanted = Wanted { copies: self.ground.copies, commits: false, terms };
        let mut copies =
            Workspace::make(&home.join("copies"), &self.permit.writes, &wanted, Lifeline::of(&self.socket))?;
        let spec = self.spec(&home, &copies)?;
        let mut reached = Reached::default();
        let brokers = Brokers { outside: &mut reached, resolver: &cell::system_resolver };
        let outcome = match cell::run_with(&spec, streams, Some(self.socket.as_fd()), brokers) {
            Ok(outcome) => outcome,
            Err(cell::Error::Cancelled) => return Err(Error::Cancelled),
            Err(e @ (cell::Error::Program { .. } | cell::Error::Cwd { .. } | cell::Error::Spec(_))) => {
                return Err(Error::NotStarted { code: e.code().to_owned(), cause: sentence(&e) });
            }
            Err(e) => return Err(Error::Isolation { code: e.code().to_owned(), cause: e.to_string() }),
        };
        // A flood is not read: it would keep the disk full for as long as that takes.
        let is_thrown_away = flood::is_thrown_away(&outcome, &home.join("copies"));
        // The command is over, whatever can be said about what it left.
        let told = if is_thrown_away { Ok(Vec::new()) } else { self.changed(&mut copies) };
        let (changed, untold) = match told {
            Ok(changed) => (changed, None),
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(why) => (Vec::new(), Some(why)),
        };
        Ok(Finished {
            execution: self.permit.execution.clone(),
            ended: outcome.ended,
            took_ms: u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
            is_memory_exceeded: outcome.is_memory_exceeded,
            is_disk_nearly_full: outcome.is_disk_nearly_full,
            limits: outcome.limits,
            asked: outcome.asked,
            connections: reached.connections,
            changed,
            untold,
        })
    }

    fn spec(&self, home: &Path, copies: &Workspace) -> Result<CellSpec, Error> {
        let envelope = &self.permit.envelope;
        let config = &envelope.sandbox_config;
        let mut mounts = copies.shown(&self.permit.writes)?;
        for read in &self.permit.reads {
            read.is_still_there()?;
            mounts.push(in_place(&read.place.path, MountAccess::ReadOnly));
        }
        mounts.extend(config.toolchains.iter().map(|tool| in_place(&tool.path, MountAccess::Tools)));
        let own = match &self.permit.state {
            Some((state, _)) => state.clone(),
            None => {
                let fresh = home.join("home");
                durable::private_dir(&fresh).doing(|| "Making an empty home".to_owned())?;
                fresh
            }
        };
        mounts.push(Mount { source: own, target: HOME_INSIDE.into(), access: MountAccess::ReadWrite });
        // Parents first, so that one directory inside another is seen.
        mounts.sort_by(|a, b| a.target.cmp(&b.target));
        let mut env = toolchain::environment(&config.toolchains, HOME_INSIDE);
        env.retain(|(name, _)| !config.env.contains_key(name));
        env.extend(config.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(CellSpec {
            argv: envelope.args.argv(),
            env,
            cwd: config.work_dir.as_deref().unwrap_or(HOME_INSIDE).into(),
            mounts,
            hosts: config.hosts.clone(),
            secrets: Vec::new(),
            callback_port: None,
            watched: Vec::new(),
            signals: false,
            limits: limits(envelope, &self.ground.limits),
        })
    }

    fn changed(&self, copies: &mut Workspace) -> Result<Vec<ChangedDirectory>, Error> {
        copies.copies.iter().try_for_each(|copy| flood::is_readable(copy, Lifeline::of(&self.socket)))?;
        let trees = copies.now(Lifeline::of(&self.socket))?;
        copies.read_changed(&self.permit.writes, &trees, Lifeline::of(&self.socket))?;
        let mut changed = Vec::with_capacity(trees.len());
        for (n, (copy, finished)) in copies.copies.iter().zip(&trees).enumerate() {
            let granted = &self.permit.writes[n].granted;
            let target_of = |path: &RelPath| {
                let found = copy.changed().parent_of(path).and_then(|(parent, name)| parent.read_link(name));
                found.doing(|| format!("Reading {path}"))
            };
            let links = Links { root: &granted.place.path, target_of: &target_of };
            let changeset = {
                let each = vec![changes::between(copy.nth, &copy.original, finished, &links)?];
                changes::together(each, self.ground.bounds)?
            };
            let diffs = diff::of(&changeset, |change| {
                let changed = copies.source_of(n, &change.path).ok()?;
                Some(Sides { real: &granted.dir, changed, directory: String::new(), original: None })
            })?;
            changed.push(ChangedDirectory {
                path: granted.place.path.clone(),
                changes: Changes { changeset, diffs, ..Changes::default() },
            });
        }
        Ok(changed)
    }
}

/// What one command reached, kept until it ends. It has no secrets to ask for.
#[derive(Default)]
struct Reached {
    connections: Vec<Connection>,
}

impl Outside for Reached {
    fn connected(&mut self, connection: &Connection) -> Result<(), NotRecorded> {
        self.connections.push(connection.clone());
        Ok(())
    }

    fn secret(&mut self, _reference: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        Ok(None)
    }
}

/// What the executor of a plan's step receives: the step, and of its plan only what it may touch.
pub(crate) fn of_plan(plan: &WorkItem, n: usize, limits: &CellLimits) -> Envelope {
    let d = plan.definition();
    let step = &d.steps[n];
    let places = |access| {
        d.directories.iter().filter(move |directory| directory.access == access).filter_map(Directory::place).collect()
    };
    let writes: Vec<Place> = places(Access::Write);
    let root = writes.first().map(|place| place.path.clone()).unwrap_or_default();
    Envelope {
        kind: EnvelopeKind::Step,
        step_index: u32::try_from(n).unwrap_or(u32::MAX),
        task_description: d.body.clone(),
        action: Executor::of(&step.run),
        args: step.run.clone(),
        life: Life::Run,
        timeout_seconds: d.budget.max_wall_time_seconds,
        max_output_bytes: limits.output_bytes_max as u64,
        sandbox_config: SandboxConfig {
            work_dir: Some(step.cwd.as_ref().map_or_else(|| root.clone(), |cwd| format!("{root}/{cwd}"))),
            filesystem_read: places(Access::Read),
            filesystem_write: writes,
            hosts: d.hosts_of(&By::Step(u32::try_from(n).unwrap_or(u32::MAX))),
            toolchains: d.toolchains.clone(),
            max_memory_mb: limits.memory_bytes_max >> 20,
            max_cpu_seconds: limits.cpu_secs_max,
            max_processes: limits.processes_max,
            max_file_mb: limits.file_bytes_max >> 20,
            env: BTreeMap::new(),
            state: None,
        },
    }
}

fn in_place(path: &str, access: MountAccess) -> Mount {
    Mount { source: path.into(), target: path.into(), access }
}

fn limits(envelope: &Envelope, own: &CellLimits) -> Limits {
    let config = &envelope.sandbox_config;
    Limits {
        wall: match envelope.life {
            Life::Run => Duration::from_secs(envelope.timeout_seconds),
            Life::Serve => SERVES_FOR,
        },
        // Nothing is kept here: the output goes to whoever holds the other ends.
        output_bytes_max: 0,
        memory_bytes_max: config.max_memory_mb << 20,
        cpu_secs_max: config.max_cpu_seconds,
        processes_max: config.max_processes,
        file_bytes_max: config.max_file_mb << 20,
        closed_ports: own.closed_ports.clone(),
    }
}

/// The cell's words begin in the middle of a sentence.
fn sentence(cause: &cell::Error) -> String {
    let text = cause.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}
