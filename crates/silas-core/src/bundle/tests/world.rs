//! An installation in memory that carried out one plan: keys, a chain, texts, and ways to lie with all of them.

use super::super::{Bundle, FORMAT, Landed, VERSION};
use crate::books::{Beside, Decision};
use crate::chain::{self, Link};
use crate::changeset::{Change, ChangeOrder, Changeset, DiffLine, FileDiff, FileMode, FileState};
use crate::check::{CheckResult, Outcome};
use crate::checkpoint::{Claim, Head, Purpose, ServerCertificate, ServerCertificateBody, Statement, StatementBody};
use crate::device::{Certificate, CertificateBody, DeviceKind};
use crate::event::{AuditEvent, Phase, SALT_BYTES, Text};
use crate::export::{Entry, SaltedText};
use crate::relpath::RelPath;
use crate::runner::Runner;
use crate::signature::{PublicKey, Signature};
use crate::testlog::Tests;
use crate::token::{Kind, Offer, Strength, Token, Verdict};
use crate::work::WorkItem;
use crate::{CardId, Digest, ExecutionId, InstallationId, Nonce, Timestamp, canonical};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};
use std::time::Duration;

const ROOT: u8 = 1;
const DEVICE: u8 = 2;
const SERVER: u8 = 3;
/// Many entries come before the decision.
const FIRST: u64 = 41;

/// What an entry says, before it is chained.
#[derive(Clone)]
struct Page {
    at: u64,
    body: Value,
    beside: Option<Beside>,
    text: Option<String>,
}

/// What is done to a bundle before it is written.
type Lie = Box<dyn Fn(&mut Bundle)>;

pub(super) struct World {
    pages: Vec<Page>,
    certified_by: u8,
    checkpointed_by: u8,
    checkpoint_at: Option<usize>,
    lie: Option<Lie>,
}

pub(super) fn check_result(name: &str, passed: bool) -> CheckResult {
    let code = i32::from(!passed);
    let (n_passed, n_failed) = if passed { (2, 0) } else { (1, 1) };
    CheckResult {
        name: name.to_owned(),
        passed,
        reason: format!("Exit code {code}, expected 0"),
        output: "two lines\nof output".to_owned(),
        exit_code: Some(code),
        took_ms: 12,
        protected: true,
        tests: Some(Tests { runner: Runner::Pytest, passed: n_passed, failed: n_failed, skipped: 0 }),
    }
}

impl World {
    /// Approved on a phone, interrupted once, checked, worked, checked, applied; with other things going on meanwhile.
    pub(super) fn honest() -> Self {
        let plan = WorkItem::new(crate::work::tests::full()).unwrap();
        let decision = decision(Kind::Plan, "n-plan", &plan.canonical().unwrap());
        let token = decision.token.id().unwrap();
        let execution = ExecutionId::derive(&token, 0);
        let landed = World::landed();
        let mut world =
            World { pages: Vec::new(), certified_by: ROOT, checkpointed_by: SERVER, checkpoint_at: None, lie: None };
        world.decide(120, &decision);
        let title = world.named("Format the code");
        world.tell(120, &AuditEvent::WorkStarted { work_item: plan.id().clone(), execution: execution.clone(), title });
        world.checks(&execution, 125, Phase::Before, check_result("formatted", false));
        world.tell(126, &AuditEvent::ExecutionResumed { execution: execution.clone() });
        world.checks(&execution, 130, Phase::Before, check_result("formatted", false));
        // Something else that happened meanwhile, and something that this version does not know.
        let said = world.named("hello");
        world.tell(131, &AuditEvent::ReplySent { message: crate::MessageId::parse("msg-9").unwrap(), text: said });
        world.pages.push(Page { at: 132, body: json!({ "event": "moon_rose", "phase": 3 }), beside: None, text: None });
        let output = world.named("formatted 3 files");
        let step = AuditEvent::StepRun { execution: execution.clone(), step: 0, exit_code: Some(0), output };
        world.tell(133, &step);
        let to = world.named("example.org:443");
        world.tell_with(133, &AuditEvent::ConnectionMade { execution: execution.clone(), to }, "example.org:443");
        let to = world.named("10.0.0.1:80");
        let refused =
            AuditEvent::ConnectionRefused { execution: execution.clone(), to, reason: "not_public".to_owned() };
        world.tell_with(134, &refused, "10.0.0.1:80");
        world.checks(&execution, 140, Phase::After, check_result("formatted", true));
        let text = landed.to_text(1 << 20).unwrap().unwrap();
        let applied = AuditEvent::WorkApplied {
            execution,
            changeset: landed.changeset.hash().unwrap(),
            files: 1,
            outcome: Outcome::Proved,
            landed: Some(world.named(&text)),
        };
        world.tell_with(141, &applied, &text);
        world
    }

    /// The same, taken back a minute later on the same phone.
    pub(super) fn undone() -> Self {
        let mut world = World::honest();
        let plan = WorkItem::new(crate::work::tests::full()).unwrap();
        let token = decision(Kind::Plan, "n-plan", &plan.canonical().unwrap()).token.id().unwrap();
        let changeset = World::landed().changeset.hash().unwrap();
        let order = ChangeOrder { kind: Kind::Undo, execution: ExecutionId::derive(&token, 0), changeset };
        let undo = decision(Kind::Undo, "n-undo", &canonical::text(&order).unwrap());
        world.decide(200, &undo);
        let token = undo.token.id().unwrap();
        world.tell(201, &AuditEvent::WorkUndone { execution: order.execution, changeset, files: 1, token });
        world
    }

    pub(super) fn landed() -> Landed {
        let path = RelPath::from_bytes(b"src/a.txt").unwrap();
        let file = |text: &[u8]| Some(FileState::File { hash: Digest::of(text), mode: 0o644 });
        let change = Change { directory: 0, path: path.clone(), before: file(b"old\n"), after: file(b"new\n") };
        let diff = FileDiff {
            directory: String::new(),
            path,
            renamed_from: None,
            mode_before: Some(FileMode::File(0o644)),
            mode_after: Some(FileMode::File(0o644)),
            added: 1,
            removed: 1,
            lines: Some(vec![DiffLine::Removed("old".to_owned()), DiffLine::Added("new".to_owned())]),
            is_verbatim: true,
        };
        Landed {
            changeset: Changeset { changes: vec![change] },
            diffs: vec![diff],
            flags: vec!["src/a.txt calls os._exit".to_owned()],
            unseen: vec!["tests/a.py".to_owned()],
        }
    }

    fn decide(&mut self, at: u64, decision: &Decision) {
        let token = decision.token.id().unwrap();
        let offer = &decision.token.body.offer;
        let recorded = AuditEvent::DecisionRecorded {
            card: decision.card.clone().unwrap(),
            token: token.clone(),
            kind: offer.kind,
            verdict: decision.token.body.verdict,
            key: decision.token.body.key.clone(),
        };
        self.tell(at, &recorded);
        self.pages.last_mut().unwrap().beside = Some(Beside::Decision(Box::new(decision.clone())));
        let execution = ExecutionId::derive(&token, 0);
        self.tell(at, &AuditEvent::TokenSpent { token, execution, plan_hash: offer.plan_hash, use_number: 0 });
    }

    fn checks(&mut self, execution: &ExecutionId, at: u64, when: Phase, result: CheckResult) {
        let text = serde_json::to_string(&vec![result.clone()]).unwrap();
        let results = self.named(&text);
        let (passed, failed) = (u32::from(result.passed), u32::from(!result.passed));
        let event = AuditEvent::ChecksRun { execution: execution.clone(), when, passed, failed, results };
        self.tell_with(at, &event, &text);
    }

    fn named(&self, text: &str) -> Text {
        Text::of(&SALT, text)
    }

    fn tell(&mut self, at: u64, event: &AuditEvent) {
        let body = serde_json::to_value(event).unwrap();
        self.pages.push(Page { at, body, beside: None, text: None });
    }

    fn tell_with(&mut self, at: u64, event: &AuditEvent, text: &str) {
        self.tell(at, event);
        self.pages.last_mut().unwrap().text = Some(text.to_owned());
    }

    pub(super) fn root(&self) -> PublicKey {
        public(ROOT)
    }

    pub(super) fn server(&self) -> PublicKey {
        public(SERVER)
    }

    pub(super) fn push(&mut self, event: AuditEvent) {
        self.tell(900, &event);
    }

    pub(super) fn push_first(&mut self, event: AuditEvent) {
        self.tell(100, &event);
        let page = self.pages.pop().unwrap();
        self.pages.insert(0, page);
    }

    pub(super) fn edit(&mut self, event: &str, change: impl Fn(&mut Value)) {
        self.pages.iter_mut().filter(|page| page.body["event"] == event).for_each(|page| change(&mut page.body));
    }

    /// The same for one of several, counted after the interruption.
    pub(super) fn edit_counted(&mut self, event: &str, n: usize, change: impl Fn(&mut Value)) {
        let mut found = self.pages.iter_mut().skip(5).filter(|page| page.body["event"] == event);
        change(&mut found.nth(n).unwrap().body);
    }

    pub(super) fn drop_event(&mut self, event: &str) {
        self.pages.retain(|page| page.body["event"] != event);
    }

    /// Other results of the checks before (0) or after (1), hashed into the entry.
    pub(super) fn results(&mut self, n: usize, results: Vec<CheckResult>) {
        let text = serde_json::to_string(&results).unwrap();
        let digest = self.named(&text);
        self.edit_counted("checks_run", n, |body| body["results"] = json!(digest));
        let mut found = self.pages.iter_mut().skip(5).filter(|page| page.body["event"] == "checks_run");
        found.nth(n).unwrap().text = Some(text);
    }

    pub(super) fn certify_server_with(&mut self, seed: u8) {
        self.certified_by = seed;
    }

    pub(super) fn sign_checkpoint_with(&mut self, seed: u8) {
        self.checkpointed_by = seed;
    }

    /// Names the entry that comes so many after the first.
    pub(super) fn checkpoint_at(&mut self, n: usize) {
        self.checkpoint_at = Some(n);
    }

    pub(super) fn bundle_mut(&mut self, lie: impl Fn(&mut Bundle) + 'static) {
        self.lie = Some(Box::new(lie));
    }

    pub(super) fn text(&self) -> String {
        let mut prev = Digest::of(b"what came before");
        let mut entries = Vec::new();
        for (page, seq) in self.pages.iter().zip(FIRST..) {
            let body = canonical::text(&page.body).unwrap();
            let hash = chain::hash(seq, at(page.at), &body, &prev).unwrap();
            let event = page.body["event"].as_str().unwrap().to_owned();
            let link = Link { seq, at: at(page.at), event, body, prev, hash };
            let text = page.text.as_ref().map(|text| SaltedText { salt: SALT_HEX.to_owned(), text: text.clone() });
            entries.push(Entry { link, beside: page.beside.clone(), text });
            prev = hash;
        }
        let last = &entries[self.checkpoint_at.unwrap_or(entries.len() - 1)].link;
        let head = Head { seq: last.seq, hash: last.hash };
        let execution = ExecutionId::derive(&first_token(&self.pages), 0);
        let mut bundle = Bundle {
            format: FORMAT.to_owned(),
            v: VERSION,
            installation: installation(),
            root: public(ROOT),
            server: server_certificate(self.certified_by),
            execution,
            checkpoint: checkpoint(self.checkpointed_by, head),
            entries,
        };
        if let Some(lie) = &self.lie {
            lie(&mut bundle);
        }
        bundle.to_text().unwrap()
    }
}

const SALT: [u8; SALT_BYTES] = [7; SALT_BYTES];
const SALT_HEX: &str = "07070707070707070707070707070707";

fn first_token(pages: &[Page]) -> crate::TokenId {
    let decided = pages.iter().find_map(|page| match &page.beside {
        Some(Beside::Decision(decision)) => decision.token.id().ok(),
        _ => None,
    });
    decided.unwrap()
}

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(seed: u8) -> PublicKey {
    PublicKey::from_bytes(secret(seed).verifying_key().to_bytes())
}

fn sign(seed: u8, message: &str) -> Signature {
    Signature::ed25519(public(seed).id(), secret(seed).sign(message.as_bytes()).to_bytes())
}

fn at(secs: u64) -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(secs))
}

fn installation() -> InstallationId {
    InstallationId::parse("inst-1").unwrap()
}

fn server_certificate(by: u8) -> ServerCertificate {
    let key = public(SERVER);
    let body = ServerCertificateBody {
        v: ServerCertificateBody::VERSION,
        purpose: Purpose::Ledger,
        installation: installation(),
        key: key.id(),
        public: key,
        issued_at: at(5),
    };
    let signature = sign(by, &body.message().unwrap());
    ServerCertificate { body, signature }
}

fn checkpoint(by: u8, head: Head) -> Statement {
    let body = StatementBody {
        v: StatementBody::VERSION,
        claim: Claim::Checkpoint,
        installation: installation(),
        epoch: 1,
        head,
        at: at(999),
    };
    let signature = sign(by, &body.message().unwrap());
    Statement { body, signature }
}

fn decision(kind: Kind, nonce: &str, payload: &str) -> Decision {
    let device = public(DEVICE);
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: installation(),
        name: "Phone".to_owned(),
        key: device.id(),
        public: device,
        issued_at: at(10),
    };
    let signature = sign(ROOT, &canonical::text(&body).unwrap());
    let offer = Offer {
        v: Offer::VERSION,
        kind,
        scope: kind.scope(),
        installation: installation(),
        epoch: 1,
        work_item_id: "task-1".to_owned(),
        plan_hash: Digest::of(payload.as_bytes()),
        shown: Digest::of(b"card"),
        nonce: Nonce::parse(nonce).unwrap(),
        issued_at: at(100),
        expires_at: at(400),
        max_executions: 1,
        approval_strength: Strength::Tap,
        conditions: [("a".to_owned(), "b".to_owned())].into(),
    };
    let token_body = offer.answered(device.id(), Verdict::Approved);
    let token = Token { signature: sign(DEVICE, &token_body.message().unwrap()), body: token_body };
    Decision {
        token,
        certificate: Certificate { body, signature },
        payload: payload.to_owned(),
        card: Some(CardId::parse(&format!("card-{nonce}")).unwrap()),
        executions_used: 1,
    }
}
