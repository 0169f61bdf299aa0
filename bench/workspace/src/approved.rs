//! A device that approves everything, and what a plan and an undo need of it.

use anyhow::{Context, Result};
use ed25519_dalek::{Signer, SigningKey};
use silas_core::changeset::ChangeOrder;
use silas_core::check::{Check, Command, Expectation};
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::evidence::{Allowance, Anchor, Evidence};
use silas_core::exits::Glob;
use silas_core::key_service::{Ask, KeyReply, KeyRequest};
use silas_core::roots::{Access, Place, RootGrant, RootKind};
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::work::{Definition, Directory, Step, WorkItem};
use silas_core::{Digest, ExecutionId, InstallationId, Nonce, Timestamp, WorkItemId, canonical};
use silas_sandbox::{CellLimits, Copies, Launcher, Seal, SystemClock};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn launcher(data_dir: &Path, copies: Copies) -> Result<Launcher> {
    std::fs::create_dir(data_dir)?;
    let launcher = Launcher::fork(no_keys, Arc::new(SystemClock))?;
    let anchor = Anchor { root: public(&root()), installation: installation()?, epoch: 1 };
    let limits = CellLimits::default();
    launcher.seal(Seal {
        data_dir: data_dir.to_owned(),
        anchor,
        handovers: Vec::new(),
        undo_window_secs: 3600,
        limits,
        copies,
        bounds: silas_sandbox::Bounds::default(),
        tools: silas_sandbox::ToolPlaces::default(),
        own: Vec::new(),
    })?;
    Ok(launcher)
}

/// A plan of one step and one check.
pub(crate) fn plan(project: &Path, step: &str, check: &str) -> Result<WorkItem> {
    let status = std::fs::symlink_metadata(project)?;
    let place = Place {
        path: project.to_str().context("a path in UTF-8")?.to_owned(),
        device: status.dev().to_string(),
        inode: status.ino().to_string(),
    };
    let id = WorkItemId::parse("task-bench")?;
    Ok(WorkItem::new(Definition {
        steps: vec![Step { run: Command::Shell(step.to_owned()), cwd: None }],
        verify: vec![Check {
            name: "a check".to_owned(),
            run: Command::Shell(check.to_owned()),
            expect: Expectation::ExitCode(0),
            timeout: 600,
            network: false,
            protected: true,
        }],
        changes: vec![Glob::parse("**")?],
        directories: vec![Directory::pinned(place, Access::Write)],
        ..Definition::without_model(id, "Change some files".to_owned(), String::new(), 3600)
    })?)
}

pub(crate) fn approve(plan: &WorkItem) -> Result<Evidence> {
    let roots = plan.definition().directories.iter().map(allow).collect::<Result<_>>()?;
    Ok(Evidence { roots, ..signed(Kind::Plan, plan.canonical()?)? })
}

fn allow(directory: &Directory) -> Result<Allowance> {
    let id = |id: &Option<String>| id.clone().context("a pinned directory");
    let place = Place { path: directory.path.clone(), device: id(&directory.device)?, inode: id(&directory.inode)? };
    let payload = canonical::text(&RootGrant { kind: RootKind::Root, place })?;
    let Evidence { token, certificate, payload, .. } = signed(Kind::Root, payload)?;
    Ok(Allowance { token, certificate, payload })
}

pub(crate) fn approve_undo(execution: &ExecutionId, changeset: Digest) -> Result<Evidence> {
    let order = ChangeOrder { kind: Kind::Undo, execution: execution.clone(), changeset };
    signed(Kind::Undo, canonical::text(&order)?)
}

fn signed(kind: Kind, payload: String) -> Result<Evidence> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let now = Timestamp::from_micros(i64::try_from(since.as_micros())?);
    let offer = Offer {
        v: Offer::VERSION,
        kind,
        scope: kind.scope(),
        installation: installation()?,
        epoch: 1,
        work_item_id: "task-bench".to_owned(),
        plan_hash: Digest::of(payload.as_bytes()),
        shown: Digest::of(b"nobody looked"),
        nonce: Nonce::parse(&format!("n-{}", since.as_nanos()))?,
        issued_at: now,
        expires_at: now.plus(Duration::from_secs(300)),
        max_executions: 1,
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
