//! The long way: a launcher, a device that approves plan after plan, and the workshop of the one under way.

use anyhow::{Context, Result, ensure};
use ed25519_dalek::{Signer, SigningKey};
use silas_core::check::{Check, Command, Ended, Expectation};
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::event::Phase;
use silas_core::evidence::{Allowance, Anchor, Evidence};
use silas_core::house_rules::{HouseRule, HouseRules, RehearsalBudget};
use silas_core::key_service::{Ask, KeyReply, KeyRequest};
use silas_core::roots::{Access, Place, RootGrant, RootKind};
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::work::{Definition, Directory, Step, WorkItem};
use silas_core::{Digest, ExecutionId, InstallationId, Nonce, Timestamp, WorkItemId, canonical};
use silas_sandbox::{Bounds, CellLimits, Copies, Launcher, Seal, SystemClock, ToolPlaces, Workshop};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A check, then a step: the checks of a plan run side by side, and one at a time is what is timed here.
const PER_PLAN: usize = 2;
const REHEARSALS_MAX: u32 = 1_000;

pub(crate) struct Approved {
    launcher: Launcher,
    plan: WorkItem,
    workshop: Option<Workshop>,
    n_opened: usize,
    /// Commands of the open workshop that have run.
    n_run: usize,
}

impl Approved {
    pub(crate) fn new(place: &Path, project: &Path) -> Result<Approved> {
        let launcher = launcher(place)?;
        Ok(Approved { launcher, plan: plan(project)?, workshop: None, n_opened: 0, n_run: PER_PLAN })
    }

    /// Whether the next command is a check. Opens the next workshop where the last one is through.
    pub(crate) fn is_checking(&mut self) -> Result<bool> {
        if self.n_run == PER_PLAN {
            if let Some(last) = self.workshop.take() {
                last.discard();
            }
            let mut workshop = self.launcher.open(&evidence(&self.plan, self.n_opened)?)?;
            workshop.copy()?;
            self.workshop = Some(workshop);
            self.n_opened += 1;
            self.n_run = 0;
        }
        Ok(self.n_run == 0)
    }

    pub(crate) fn run_one(&mut self) -> Result<()> {
        let workshop = self.workshop.as_mut().context("no workshop is open")?;
        if self.n_run == 0 {
            let results = workshop.checks(Phase::Before)?;
            ensure!(results.iter().all(|result| result.passed), "{results:?}");
        } else {
            let result = workshop.step(0)?;
            ensure!(result.metadata.ended == Ended::Exited(0), "{result:?}");
        }
        self.n_run += 1;
        Ok(())
    }
}

/// One decision about house rules, and rehearsal after rehearsal under it.
pub(crate) struct Rehearsing {
    launcher: Launcher,
    rules: Evidence,
    plan: WorkItem,
    n_begun: u32,
    waits: Option<ExecutionId>,
}

impl Rehearsing {
    pub(crate) fn new(place: &Path, project: &Path) -> Result<Rehearsing> {
        let words = |words: &[&str]| Command::Argv(words.iter().map(|word| (*word).to_owned()).collect());
        let mut definition = plan(project)?.definition().clone();
        definition.steps[0].run = words(&["sed", "-i", "s/old/new/", "file.txt"]);
        definition.verify[0].run = words(&["grep", "-q", "new", "file.txt"]);
        let budget = RehearsalBudget { per_day: REHEARSALS_MAX, max_wall_time_seconds: 3600 };
        let rules = HouseRules { kind: Kind::HouseRules, rules: vec![HouseRule::Rehearse(budget)] };
        let rules = signed(Kind::HouseRules, canonical::text(&rules)?, 0)?;
        Ok(Rehearsing { launcher: launcher(place)?, rules, plan: WorkItem::new(definition)?, n_begun: 0, waits: None })
    }

    /// From the decision until it waits.
    pub(crate) fn rehearse(&mut self) -> Result<()> {
        let execution = ExecutionId::derive(&self.rules.token.id()?, self.n_begun);
        self.n_begun += 1;
        let allowed = evidence(&self.plan, 0)?.roots;
        let plan = Some(self.plan.canonical()?);
        let evidence = Evidence { roots: allowed, plan, execution: execution.clone(), ..self.rules.clone() };
        let mut workshop = self.launcher.open(&evidence)?;
        workshop.copy()?;
        workshop.checks(Phase::Before)?;
        workshop.step(0)?;
        let results = workshop.checks(Phase::After)?;
        ensure!(results.iter().all(|result| result.passed), "{results:?}");
        workshop.changes()?;
        workshop.keep()?;
        self.waits = Some(execution);
        Ok(())
    }

    pub(crate) fn discard(&mut self) -> Result<()> {
        Ok(self.waits.take().map_or(Ok(()), |execution| self.launcher.discard(&execution))?)
    }
}

fn launcher(place: &Path) -> Result<Launcher> {
    let data_dir = place.join("data");
    std::fs::create_dir(&data_dir)?;
    let launcher = Launcher::fork(no_keys, Arc::new(SystemClock))?;
    let anchor = Anchor { root: public(&root()), installation: installation()?, epoch: 1 };
    launcher.seal(Seal {
        data_dir,
        anchor,
        handovers: Vec::new(),
        undo_window_secs: 1,
        limits: CellLimits::default(),
        copies: Copies::default(),
        bounds: Bounds::default(),
        tools: ToolPlaces::default(),
        own: Vec::new(),
    })?;
    Ok(launcher)
}

/// Nothing here asks for keys: the root and the device are known to everybody.
fn no_keys(_: &Path, _: &KeyRequest, _: Ask<'_>) -> KeyReply {
    KeyReply::Refused { reason: "There are no keys in a benchmark.".to_owned() }
}

fn root() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn device() -> SigningKey {
    SigningKey::from_bytes(&[2; 32])
}

fn public(key: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(key.verifying_key().to_bytes())
}

fn sign(key: &SigningKey, message: &str) -> Signature {
    Signature::ed25519(public(key).id(), key.sign(message.as_bytes()).to_bytes())
}

fn installation() -> Result<InstallationId> {
    Ok(InstallationId::parse("inst-bench")?)
}

fn now() -> Result<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Timestamp::from_micros(i64::try_from(since.as_micros())?))
}

fn plan(project: &Path) -> Result<WorkItem> {
    let command = || Command::Argv(vec![super::PROGRAM.to_owned()]);
    let status = std::fs::symlink_metadata(project)?;
    let place = Place {
        path: project.to_str().context("a path in UTF-8")?.to_owned(),
        device: status.dev().to_string(),
        inode: status.ino().to_string(),
    };
    let check = Check {
        name: "check".to_owned(),
        run: command(),
        expect: Expectation::ExitCode(0),
        timeout: 60,
        network: false,
        protected: true,
    };
    let (id, title) = (WorkItemId::parse("task-bench")?, "Do nothing, often".to_owned());
    Ok(WorkItem::new(Definition {
        steps: vec![Step { run: command(), cwd: None }],
        verify: vec![check],
        directories: vec![Directory::pinned(place, Access::Write)],
        ..Definition::without_model(id, title, String::new(), 3600)
    })?)
}

/// The plan, approved, and its one directory, allowed.
fn evidence(plan: &WorkItem, n: usize) -> Result<Evidence> {
    let directory = plan.definition().directories.first().context("the plan has a directory")?;
    let place = Place {
        path: directory.path.clone(),
        device: directory.device.clone().context("its directory is pinned")?,
        inode: directory.inode.clone().context("its directory is pinned")?,
    };
    let root = signed(Kind::Root, canonical::text(&RootGrant { kind: RootKind::Root, place })?, n)?;
    let roots = vec![Allowance { token: root.token, certificate: root.certificate, payload: root.payload }];
    Ok(Evidence { roots, ..signed(Kind::Plan, plan.canonical()?, n)? })
}

fn signed(kind: Kind, payload: String, n: usize) -> Result<Evidence> {
    let offer = Offer {
        v: Offer::VERSION,
        kind,
        scope: kind.scope(),
        installation: installation()?,
        epoch: 1,
        work_item_id: "task-bench".to_owned(),
        plan_hash: Digest::of(payload.as_bytes()),
        shown: Digest::of(b"nobody looked"),
        nonce: Nonce::parse(&format!("n-{n}"))?,
        issued_at: now()?,
        expires_at: now()?.plus(Duration::from_secs(300)),
        max_executions: if kind == Kind::HouseRules { REHEARSALS_MAX } else { 1 },
        approval_strength: Strength::Tap,
        conditions: BTreeMap::new(),
    };
    let body = offer.answered(public(&device()).id(), Verdict::Approved);
    let signature = sign(&device(), &body.message()?);
    let token = Token { body, signature };
    let execution = ExecutionId::derive(&token.id()?, 0);
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: installation()?,
        name: "A benchmark".to_owned(),
        key: public(&device()).id(),
        public: public(&device()),
        issued_at: Timestamp::EPOCH,
        site: None,
    };
    let signature = sign(&root(), &canonical::text(&body)?);
    Ok(Evidence {
        token,
        certificate: Certificate { body, signature },
        payload,
        execution,
        roots: Vec::new(),
        plan: None,
    })
}
