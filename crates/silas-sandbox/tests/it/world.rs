//! A project, a data directory, an owner with a device, and lives of Silas that come and go.

use crate::runner::{self, wait};
use ed25519_dalek::{Signer, SigningKey};
use silas_core::changeset::ChangeOrder;
use silas_core::check::{Check, CheckResult, Command, Expectation};
use silas_core::checkpoint::{Purpose, ServerCertificate, ServerCertificateBody};
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::event::Phase;
use silas_core::evidence::{Allowance, Anchor, Evidence};
use silas_core::exits::Glob;
use silas_core::fail::{self, FailPoint};
use silas_core::key_service::{Ask, KeyReply, KeyRequest, Protection, SignBody};
use silas_core::revocation::{RevocationBody, RevocationList, Withdrawal, WithdrawalBody, WithdrawalKind, Withdrawn};
use silas_core::roots::{Access, Place, RootGrant, RootKind};
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::work::{Budget, Definition, Directory, Step, WorkItem};
use silas_core::{Clock, Digest, ExecutionId, InstallationId, Nonce, Timestamp, WorkItemId, canonical};
use silas_sandbox::{CellLimits, Error, Launcher, Seal, SystemClock, ToolPlaces, Workshop};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct World {
    _home: Option<tempfile::TempDir>,
    pub(crate) project: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) undo_window_secs: u64,
}

pub(crate) fn root_key() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

pub(crate) fn device_key() -> SigningKey {
    SigningKey::from_bytes(&[2; 32])
}

pub(crate) fn terminal_key() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

pub(crate) fn public(key: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(key.verifying_key().to_bytes())
}

pub(crate) fn sign(key: &SigningKey, message: &str) -> Signature {
    Signature::ed25519(public(key).id(), key.sign(message.as_bytes()).to_bytes())
}

pub(crate) fn installation() -> InstallationId {
    InstallationId::parse("inst-here").unwrap()
}

pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
}

pub(crate) fn certificate(key: &SigningKey, kind: DeviceKind) -> Certificate {
    let body = certificate_body(key, kind);
    let signature = sign(&root_key(), &canonical::text(&body).unwrap());
    Certificate { body, signature }
}

pub(crate) fn certificate_body(key: &SigningKey, kind: DeviceKind) -> CertificateBody {
    CertificateBody {
        v: 1,
        kind,
        installation: installation(),
        name: "A device".to_owned(),
        key: public(key).id(),
        public: public(key),
        issued_at: Timestamp::EPOCH,
        site: None,
    }
}

/// What a server key is certified as.
pub(crate) fn server_body(key: &SigningKey) -> ServerCertificateBody {
    ServerCertificateBody {
        v: ServerCertificateBody::VERSION,
        purpose: Purpose::Ledger,
        installation: installation(),
        key: public(key).id(),
        public: public(key),
        issued_at: Timestamp::EPOCH,
        replaces: None,
    }
}

/// Time as it really is.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// Time as a file says, in every process that has it.
struct Standing(PathBuf);

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(std::fs::read_to_string(&self.0).unwrap().parse().unwrap())
    }
}

/// What the trust kernel's helper does, with keys that everybody knows.
pub(crate) fn key_helper(keys: &Path, request: &KeyRequest, _: Ask<'_>) -> KeyReply {
    assert_eq!(std::fs::metadata(keys).unwrap().permissions().mode() & 0o777, 0o700);
    match request {
        KeyRequest::Init { .. } => KeyReply::Ready {
            installation: installation(),
            root: public(&root_key()),
            terminal: certificate(&terminal_key(), DeviceKind::Terminal),
            is_new: true,
            protection: Protection::Permissions,
        },
        KeyRequest::Check => KeyReply::Checked,
        KeyRequest::Certify { body } => KeyReply::Certified {
            certificate: Certificate {
                signature: sign(&root_key(), &canonical::text(body).unwrap()),
                body: body.clone(),
            },
        },
        KeyRequest::CertifyServer { body } => KeyReply::ServerCertified {
            certificate: ServerCertificate {
                signature: sign(&root_key(), &body.message().unwrap()),
                body: body.clone(),
            },
        },
        KeyRequest::Sign { body: SignBody::Token(body) } => {
            KeyReply::Signed { signature: sign(&terminal_key(), &body.message().unwrap()) }
        }
        KeyRequest::Revoke { body } => KeyReply::Revoked { list: revocation_list(body.clone()) },
        KeyRequest::Sign { body: SignBody::Message(_) | SignBody::Withdrawal(_) } => {
            KeyReply::Refused { reason: "This helper signs decisions only.".to_owned() }
        }
    }
}

pub(crate) fn revocation_list(body: RevocationBody) -> RevocationList {
    RevocationList { signature: sign(&root_key(), &body.message().unwrap()), body }
}

/// What a device signs to take something back.
pub(crate) fn withdrawal(key: &SigningKey, what: Withdrawn) -> Withdrawal {
    let body = WithdrawalBody {
        kind: WithdrawalKind::Withdrawal,
        installation: installation(),
        epoch: 4,
        key: public(key).id(),
        what,
        nonce: Nonce::parse("n-9").unwrap(),
        timestamp: now(),
    };
    Withdrawal { signature: sign(key, &body.message().unwrap()), body }
}

/// What a directory looks like to somebody who reads all of it: kind and mode, content.
pub(crate) type Tree = BTreeMap<Vec<u8>, (String, Vec<u8>)>;

impl World {
    /// A small project with one file of every kind that can change.
    pub(crate) fn new() -> World {
        World::in_home(tempfile::tempdir().unwrap())
    }

    /// The same in memory, where syncing takes no time, if work can be done there.
    pub(crate) fn in_memory() -> World {
        let in_memory = tempfile::tempdir_in("/dev/shm");
        let works = |home: &tempfile::TempDir| {
            let probes = silas_sandbox::probes::probes(home.path());
            probes.iter().all(|probe| probe.state != silas_core::probe::State::Bad)
        };
        World::in_home(in_memory.ok().filter(works).unwrap_or_else(|| tempfile::tempdir().unwrap()))
    }

    fn in_home(home: tempfile::TempDir) -> World {
        let real = std::fs::canonicalize(home.path()).unwrap();
        let world =
            World { project: real.join("project"), data: real.join("data"), _home: Some(home), undo_window_secs: 3600 };
        std::fs::create_dir_all(world.project.join("src/deep")).unwrap();
        std::fs::create_dir(world.project.join(".git")).unwrap();
        std::fs::create_dir(&world.data).unwrap();
        world.write(".git/HEAD", "ref: refs/heads/main\n");
        world.write("app.txt", "old\n");
        world.write("src/lib.txt", "library\n");
        world.write("src/deep/same.txt", "same\n");
        world.write("gone.txt", "to be deleted\n");
        world.write("run.sh", "echo run\n");
        world.set_mode("run.sh", 0o644);
        world.set_mode("app.txt", 0o640);
        std::os::unix::fs::symlink("app.txt", world.project.join("link")).unwrap();
        world
    }

    /// The world that another process made there.
    pub(crate) fn at(place: &Path) -> World {
        World { _home: None, project: place.join("project"), data: place.join("data"), undo_window_secs: 3600 }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.project.join(path), text).unwrap();
    }

    /// As an editor saves: a new file takes the name.
    pub(crate) fn save(&self, path: &str, text: &str) {
        let draft = self.project.join("draft~");
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(draft, self.project.join(path)).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.project.join(path)).unwrap()
    }

    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.project.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn tree(&self) -> Tree {
        note_all(&self.project)
    }

    /// Names of staging directories in the project.
    pub(crate) fn stages(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.project).unwrap().map(|e| e.unwrap().file_name());
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(".silas-")).collect()
    }

    pub(crate) fn works(&self) -> usize {
        std::fs::read_dir(self.data.join("launcher/work")).map_or(0, Iterator::count)
    }

    pub(crate) fn anchor(&self) -> Anchor {
        Anchor { root: public(&root_key()), installation: installation(), epoch: 4 }
    }

    pub(crate) fn seal(&self) -> Seal {
        Seal {
            data_dir: self.data.clone(),
            own: vec![self.data.with_file_name("settings/silas.yaml")],
            anchor: self.anchor(),
            handovers: Vec::new(),
            undo_window_secs: self.undo_window_secs,
            limits: CellLimits::default(),
            copies: runner::copies(),
            bounds: silas_sandbox::Bounds::default(),
            tools: ToolPlaces::default(),
        }
    }

    pub(crate) fn launcher(&self) -> Launcher {
        let launcher = Launcher::fork(key_helper, clock()).unwrap();
        launcher.seal(self.seal()).unwrap();
        launcher
    }

    /// One whose clock stands where [`World::set_clock`] put it.
    pub(crate) fn launcher_by_its_clock(&self) -> Launcher {
        let launcher = Launcher::fork(key_helper, Arc::new(Standing(self.data.join("clock")))).unwrap();
        launcher.seal(self.seal()).unwrap();
        launcher
    }

    pub(crate) fn set_clock(&self, at: Timestamp) {
        std::fs::write(self.data.join("clock"), at.micros().to_string()).unwrap();
    }

    pub(crate) fn directory(&self, path: &Path, access: Access) -> Directory {
        let meta = std::fs::symlink_metadata(path).unwrap();
        let place = Place {
            path: path.to_str().unwrap().to_owned(),
            device: meta.dev().to_string(),
            inode: meta.ino().to_string(),
        };
        Directory::pinned(place, access)
    }

    /// Its checks are counted, and what it changes is declared: then red to green is a proof.
    pub(crate) fn definition(&self, steps: &[&str], checks: &[&str]) -> Definition {
        let counted: Vec<String> = checks.iter().map(|check| counted(check)).collect();
        let counted: Vec<&str> = counted.iter().map(String::as_str).collect();
        let beside = format!("{}/**", self.project.parent().unwrap().display());
        let globs = ["**", ".*", "**/.*", ".*/**", &beside];
        let changes = globs.map(|glob| Glob::parse(glob).unwrap()).to_vec();
        Definition { changes, ..self.bare_definition(steps, &counted) }
    }

    /// Nothing is counted that does not count by itself, and nothing is declared.
    pub(crate) fn bare_definition(&self, steps: &[&str], checks: &[&str]) -> Definition {
        let check = |(n, script): (usize, &&str)| Check {
            name: format!("check {n}"),
            run: Command::Shell((*script).to_owned()),
            expect: Expectation::ExitCode(0),
            timeout: 300,
            network: false,
            protected: true,
        };
        let id = WorkItemId::parse("task-1").unwrap();
        Definition {
            // Long: how fast a plan is depends on what else the machine does.
            budget: Budget { max_wall_time_seconds: 500, ..Budget::default() },
            steps: steps.iter().map(|s| Step { run: Command::Shell((*s).to_owned()), cwd: None }).collect(),
            verify: checks.iter().enumerate().map(check).collect(),
            directories: vec![self.directory(&self.project, Access::Write)],
            ..Definition::without_model(id, "Make it new".to_owned(), String::new(), 500)
        }
    }

    pub(crate) fn plan(&self, steps: &[&str], checks: &[&str]) -> WorkItem {
        WorkItem::new(self.definition(steps, checks)).unwrap()
    }

    /// Changes, adds and deletes; changes a mode and a symlink.
    pub(crate) fn every_kind(&self) -> WorkItem {
        self.plan(
            &[
                "printf 'new\\n' > app.txt && rm gone.txt && chmod 755 run.sh",
                "mkdir -p made/deep && echo made > made/deep/file.txt && ln -sfn src/lib.txt link && ln -s app.txt fresh",
            ],
            &["grep -q new app.txt", "test -f src/lib.txt"],
        )
    }

    pub(crate) fn one_change(&self) -> WorkItem {
        self.plan(&["echo new > app.txt"], &["grep -q new app.txt"])
    }
}

/// What any directory looks like, without what Silas keeps in it.
pub(crate) fn note_all(dir: &Path) -> Tree {
    let mut tree = Tree::new();
    note(dir, dir, &mut tree);
    tree
}

fn note(root: &Path, dir: &Path, tree: &mut Tree) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let key = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        if key.starts_with(b".silas-") {
            continue;
        }
        let mode = format!("{:o} {}", meta.mode(), meta.uid());
        let content = if meta.is_symlink() {
            std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else if meta.is_file() {
            std::fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        tree.insert(key, (mode, content));
        if meta.is_dir() {
            note(root, &path, tree);
        }
    }
}

pub(crate) fn offer(kind: Kind, payload: &str) -> Offer {
    Offer {
        v: Offer::VERSION,
        kind,
        scope: kind.scope(),
        installation: installation(),
        epoch: 4,
        work_item_id: "task-1".to_owned(),
        plan_hash: Digest::of(payload.as_bytes()),
        shown: Digest::of(b"the card"),
        nonce: Nonce::parse("n-1").unwrap(),
        issued_at: now(),
        expires_at: now().plus(Duration::from_secs(300)),
        max_executions: 1,
        approval_strength: Strength::Tap,
        conditions: BTreeMap::new(),
    }
}

pub(crate) fn signed(offer: &Offer, payload: String, verdict: Verdict) -> Evidence {
    let body = offer.answered(public(&device_key()).id(), verdict);
    let signature = sign(&device_key(), &body.message().unwrap());
    let token = Token { body, signature };
    let execution = ExecutionId::derive(&token.id().unwrap(), 0);
    let certificate = certificate(&device_key(), DeviceKind::Browser);
    Evidence { token, certificate, payload, execution, roots: Vec::new(), plan: None }
}

/// The owner approved the plan, and before that each of its directories.
pub(crate) fn approve(plan: &WorkItem) -> Evidence {
    let payload = plan.canonical().unwrap();
    let roots = plan.definition().directories.iter().map(allow).collect();
    Evidence { roots, ..signed(&offer(Kind::Plan, &payload), payload, Verdict::Approved) }
}

pub(crate) fn allow(directory: &Directory) -> Allowance {
    let id = |id: &Option<String>| id.clone().unwrap_or_default();
    let place = Place { path: directory.path.clone(), device: id(&directory.device), inode: id(&directory.inode) };
    let payload = canonical::text(&RootGrant { kind: RootKind::Root, place }).unwrap();
    let Evidence { token, certificate, payload, .. } = signed(&offer(Kind::Root, &payload), payload, Verdict::Approved);
    Allowance { token, certificate, payload }
}

pub(crate) fn approve_undo(execution: &ExecutionId, changeset: Digest) -> Evidence {
    let order = ChangeOrder { kind: Kind::Undo, execution: execution.clone(), changeset };
    let payload = canonical::text(&order).unwrap();
    signed(&offer(Kind::Undo, &payload), payload, Verdict::Approved)
}

/// A list of commands that says in the Test Anything Protocol whether it succeeded. Others are left as they are.
pub(crate) fn counted(check: &str) -> String {
    if check.contains([';', '|', '\n', '(']) || matches!(check, "true" | "false") {
        return check.to_owned();
    }
    speaking(check)
}

/// What its last command says, in the Test Anything Protocol.
pub(crate) fn speaking(check: &str) -> String {
    format!("{check} && printf '1..1\\nok 1\\n' || ! printf '1..1\\nnot ok 1\\n'")
}

/// Everything up to the apply, in order. Returns what the checks said before and after.
pub(crate) fn work(workshop: &mut Workshop, plan: &WorkItem) -> Result<(Vec<CheckResult>, Vec<CheckResult>), Error> {
    workshop.copy()?;
    let before = workshop.checks(Phase::Before)?;
    for n in 0..plan.definition().steps.len() {
        workshop.step(n)?;
    }
    let after = workshop.checks(Phase::After)?;
    Ok((before, after))
}

/// A whole life of Silas in processes of its own, with the plug pulled at `point`. Minus 9 if it was.
pub(crate) fn life(point: Option<FailPoint>, body: impl FnOnce()) -> i32 {
    // SAFETY: this process has one thread.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: only numbers are passed.
        unsafe { libc::setpgid(0, 0) };
        if let Some(point) = point {
            fail::arm(point, silas_sandbox::pull_the_plug);
        }
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        // SAFETY: ends this child without tidying up what its parent owns too.
        unsafe { libc::_exit(i32::from(ended.is_err()) * 101) };
    }
    wait(pid)
}

/// Asks until the workshop that was just left has ended too.
pub(crate) fn once_free<T>(ask: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match ask() {
            Err(Error::Busy) => std::thread::sleep(Duration::from_millis(10)),
            answer => return answer,
        }
    }
}
