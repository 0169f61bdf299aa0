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
use crate::house_rules::HouseRules;
use crate::rehearsal::{ApplyOrder, Findings};
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
    /// Which use of the first decision the work is.
    use_number: u32,
    /// Of work under the house rules.
    plan: Option<String>,
}

pub(super) fn check_result(name: &str, passed: bool) -> CheckResult {
    let code = i32::from(!passed);
    let (n_passed, n_failed) = if passed { (2, 0) } else { (1, 1) };
    CheckResult {
        name: name.to_owned(),
        run: String::new(),
        passed,
        reason: format!("Exit code {code}, expected 0"),
        output: "two lines\nof output".to_owned(),
        exit_code: Some(code),
        took_ms: 12,
        protected: true,
        tests: Some(Tests { runner: Runner::Pytest, passed: n_passed, failed: n_failed, skipped: 0 }),
        asked: Vec::new(),
        basis: None,
    }
}

impl World {
    fn empty() -> Self {
        World {
            pages: Vec::new(),
            certified_by: ROOT,
            checkpointed_by: SERVER,
            checkpoint_at: None,
            lie: None,
            use_number: 0,
            plan: None,
        }
    }

    /// Tried out under the house rules, which were used before and are used again meanwhile, and applied by a decision
    /// about exactly its changes; after that the owner had changed something, and the checks ran once more.
    pub(super) fn rehearsed_by_rules() -> Self {
        let rules = rules();
        let token = rules.token.id().unwrap();
        let mut world = World { use_number: USED, plan: Some(small_plan().canonical().unwrap()), ..World::empty() };
        world.spend(120, &rules, USED);
        world.pages.last_mut().unwrap().beside = Some(Beside::Decision(Box::new(rules.clone())));
        let execution = ExecutionId::derive(&token, USED);
        world.rehearse(&execution);
        world.spend(150, &rules, USED + 1);
        world.apply(&execution, World::order(&execution));
        world
    }

    /// The same for a plan that was to be tried out first.
    pub(super) fn rehearsed_by_plan() -> Self {
        let decision = decision(Kind::Rehearsal, "n-first", &small_plan().canonical().unwrap());
        let execution = ExecutionId::derive(&decision.token.id().unwrap(), 0);
        let mut world = World::empty();
        world.decide(120, &decision);
        world.rehearse(&execution);
        world.apply(&execution, World::order(&execution));
        world
    }

    /// The rehearsal under the house rules, applied by another decision than the one about its result.
    pub(super) fn applied_by(change: impl Fn(&mut ApplyOrder)) -> Self {
        let mut world = World::rehearsed_by_rules();
        let at = world.pages.iter().position(|page| page.body["event"] == "decision_recorded").unwrap();
        world.pages.truncate(at);
        let execution = ExecutionId::derive(&rules().token.id().unwrap(), USED);
        let mut order = World::order(&execution);
        change(&mut order);
        world.apply(&execution, order);
        world
    }

    fn order(execution: &ExecutionId) -> ApplyOrder {
        let (before, after) = ([check_result("formatted", false)], [check_result("formatted", true)]);
        let landed = World::landed();
        let findings = Findings { before: &before, after: &after, diffs: &landed.diffs };
        ApplyOrder {
            kind: Kind::Apply,
            execution: execution.clone(),
            plan_hash: Digest::of(small_plan().canonical().unwrap().as_bytes()),
            changeset: landed.changeset.hash().unwrap(),
            findings: findings.hash().unwrap(),
        }
    }

    fn rehearse(&mut self, execution: &ExecutionId) {
        let (title, work_item) = (self.named("Format the code"), small_plan().id().clone());
        self.tell(120, &AuditEvent::WorkStarted { work_item, execution: execution.clone(), title });
        self.checks(execution, 130, Phase::Before, check_result("formatted", false));
        let output = self.named("formatted 3 files");
        self.tell(133, &AuditEvent::StepRun { execution: execution.clone(), step: 0, exit_code: Some(0), output });
        self.checks(execution, 140, Phase::After, check_result("formatted", true));
        let changeset = World::landed().changeset.hash().unwrap();
        let (execution, outcome) = (execution.clone(), Outcome::Proved);
        self.tell(141, &AuditEvent::WorkRehearsed { execution, changeset, files: 1, outcome });
    }

    fn apply(&mut self, execution: &ExecutionId, order: ApplyOrder) {
        self.decide(160, &decision(Kind::Apply, "n-apply", &canonical::text(&order).unwrap()));
        let again = CheckResult { took_ms: 99, ..check_result("formatted", true) };
        self.checks(execution, 165, Phase::After, again);
        let landed = World::landed();
        let text = landed.to_text(1 << 20).unwrap().unwrap();
        let applied = AuditEvent::WorkApplied {
            execution: execution.clone(),
            changeset: landed.changeset.hash().unwrap(),
            files: 1,
            outcome: Outcome::Proved,
            landed: Some(self.named(&text)),
        };
        self.tell_with(170, &applied, &text);
    }

    fn spend(&mut self, at: u64, decision: &Decision, use_number: u32) {
        let (token, plan_hash) = (decision.token.id().unwrap(), decision.token.body.offer.plan_hash);
        let execution = ExecutionId::derive(&token, use_number);
        self.tell(at, &AuditEvent::TokenSpent { token, execution, plan_hash, use_number });
    }

    /// Approved on a phone, interrupted once, checked, worked, checked, applied; with other things going on meanwhile.
    pub(super) fn honest() -> Self {
        let plan = WorkItem::new(crate::work::tests::full()).unwrap();
        let decision = decision(Kind::Plan, "n-plan", &plan.canonical().unwrap());
        let token = decision.token.id().unwrap();
        let execution = ExecutionId::derive(&token, 0);
        let landed = World::landed();
        let mut world = World::empty();
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
            token,
            kind: offer.kind,
            verdict: decision.token.body.verdict,
            key: decision.token.body.key.clone(),
        };
        self.tell(at, &recorded);
        self.pages.last_mut().unwrap().beside = Some(Beside::Decision(Box::new(decision.clone())));
        self.spend(at, decision, 0);
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

    pub(super) fn edit_first(&mut self, change: impl Fn(&mut Value)) {
        change(&mut self.pages[0].body);
    }

    pub(super) fn drop_last(&mut self, event: &str) {
        let at = self.pages.iter().rposition(|page| page.body["event"] == event).unwrap();
        self.pages.remove(at);
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
        let execution = ExecutionId::derive(&first_token(&self.pages), self.use_number);
        let mut bundle = Bundle {
            format: FORMAT.to_owned(),
            v: VERSION,
            installation: installation(),
            root: public(ROOT),
            server: server_certificate(self.certified_by),
            execution,
            plan: self.plan.clone(),
            checkpoint: checkpoint(self.checkpointed_by, head),
            entries,
        };
        if let Some(lie) = &self.lie {
            lie(&mut bundle);
        }
        bundle.to_text().unwrap()
    }
}

/// How often the house rules had been used.
const USED: u32 = 4;

/// One without a way out of its private copy.
fn small_plan() -> WorkItem {
    let mut small = crate::work::tests::full();
    (small.hosts, small.secrets, small.callback_port) = (Vec::new(), Vec::new(), None);
    small.budget.max_wall_time_seconds = 60;
    WorkItem::new(small).unwrap()
}

/// Signed with the pairing, so no card asked for them.
fn rules() -> Decision {
    let payload = canonical::text(&HouseRules::current()).unwrap();
    let signed = decision_for(Kind::HouseRules, "n-rules", &payload, 1000);
    Decision { card: None, executions_used: USED, ..signed }
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
        replaces: None,
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
    decision_for(kind, nonce, payload, 1)
}

fn decision_for(kind: Kind, nonce: &str, payload: &str, max_executions: u32) -> Decision {
    let device = public(DEVICE);
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: installation(),
        name: "Phone".to_owned(),
        key: device.id(),
        public: device,
        issued_at: at(10),
        site: None,
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
        max_executions,
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
