//! A store, an engine and a paired browser, with a clock that a test moves.

use ed25519_dalek::{Signer, SigningKey};
use silas_approval::{Approvable, Askable, Engine, Refusal};
use silas_core::card::{Card, CardKind, CardState, Face};
use silas_core::check::Command;
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::event::AuditEvent;
use silas_core::evidence::Anchor;
use silas_core::handover::Handovers;
use silas_core::roots::{Access, Place, RootGrant, RootKind};
use silas_core::server_keys::ServerKeys;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Offer, Token, Verdict};
use silas_core::work::{Budget, Definition, Directory, Step, WorkItem};
use silas_core::{
    CardId, Clock, Digest, ExecutionId, InstallationId, Random, Scope, Timestamp, TokenId, WorkItemId, canonical,
};
use silas_store::audit::{self, Audit, Extent, Keeper};
use silas_store::{Commit, Store, cards, devices};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const NOON: i64 = 1_795_000_000_000_000;
pub(crate) const LASTS: Duration = Duration::from_secs(300);

pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn set_secs(&self, secs: i64) {
        self.0.store(NOON + secs * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

struct TestRandom(AtomicU64);

impl Random for TestRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let digest = Digest::of(&self.0.fetch_add(1, Ordering::SeqCst).to_le_bytes());
        for (byte, random) in bytes.iter_mut().zip(digest.as_bytes().iter().cycle()) {
            *byte = *random;
        }
    }
}

pub(crate) struct World {
    _dir: tempfile::TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) store: Store,
    pub(crate) engine: Engine,
}

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub(crate) fn public(seed: u8) -> PublicKey {
    PublicKey::from_bytes(key(seed).verifying_key().to_bytes())
}

pub(crate) fn sign(seed: u8, message: &str) -> Signature {
    Signature::ed25519(public(seed).id(), key(seed).sign(message.as_bytes()).to_bytes())
}

pub(crate) fn anchor(epoch: u64) -> Anchor {
    Anchor { root: public(1), installation: InstallationId::parse("inst-1").unwrap(), epoch }
}

pub(crate) fn certificate(seed: u8) -> Certificate {
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: anchor(1).installation,
        name: format!("Browser {seed}"),
        key: public(seed).id(),
        public: public(seed),
        issued_at: Timestamp::from_micros(NOON),
        site: None,
    };
    let signature = sign(1, &canonical::text(&body).unwrap());
    Certificate { body, signature }
}

pub(crate) fn answer(seed: u8, offer: &Offer, verdict: Verdict) -> Token {
    let body = offer.answered(public(seed).id(), verdict);
    let signature = sign(seed, &body.message().unwrap());
    Token { body, signature }
}

impl World {
    /// With the browser of key 2 paired, which allowed plans in [`project`].
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock(AtomicI64::new(NOON)));
        let random = Arc::new(TestRandom(AtomicU64::new(0)));
        let store = Store::open(dir.path(), random.clone(), clock.clone()).unwrap();
        let engine = Engine::new(anchor(1), clock.clone(), random);
        let world = World { _dir: dir, clock, store, engine };
        world.pair(2);
        world.allow(&RootGrant { kind: RootKind::Root, place: project() });
        world
    }

    pub(crate) fn pair(&self, seed: u8) {
        let certificate = certificate(seed);
        let pairing = self.store.write(move |tx| {
            devices::insert(tx, &certificate)?;
            let name = tx.text(&certificate.body.name)?;
            tx.record(&AuditEvent::DevicePaired { key: certificate.body.key.clone(), name })?;
            Ok(Commit(()))
        });
        pairing.wait().unwrap();
    }

    pub(crate) fn engine_of(&self, epoch: u64) -> Engine {
        Engine::new(anchor(epoch), self.clock.clone(), Arc::new(TestRandom(AtomicU64::new(1 << 32))))
    }

    /// A card that asks for a plan, kept and open.
    pub(crate) fn ask(&self, item: &WorkItem) -> Card {
        self.ask_about(item.id().as_str(), item, face("Run 1 command"))
    }

    fn ask_about<T: Approvable>(&self, subject: &str, item: &T, face: Face) -> Card {
        let offer = self.engine.offer(subject, item, &face, LASTS).unwrap();
        let card = Card {
            id: CardId::parse(&format!("card-{}", offer.nonce.as_str().trim_start_matches("n-"))).unwrap(),
            state: CardState::Open,
            created_at: self.clock.now(),
            face,
            payload: Some(item.payload().unwrap()),
            offer: Some(offer),
            show_first: None,
            instead: None,
            input: None,
            test_call: false,
            execution: None,
        };
        let (kept, subject) = (card.clone(), subject.to_owned());
        self.store.write(move |tx| Ok(Commit(cards::insert(tx, &Scope::Owner, &kept, &subject)?))).wait().unwrap();
        card
    }

    /// The browser of key 2 allows plans in a directory.
    pub(crate) fn allow(&self, grant: &RootGrant) {
        let card = self.ask_about("root-1", grant, face("Allow a directory"));
        let approval = answer(2, card.offer.as_ref().unwrap(), Verdict::Approved);
        let token = self.record(&card, &approval).unwrap();
        self.authorize(&token, grant.clone()).unwrap();
    }

    pub(crate) fn record(&self, card: &Card, token: &Token) -> Result<TokenId, Refusal> {
        let (engine, card, token) = (self.engine.clone(), card.clone(), token.clone());
        let recording = self.store.write(move |tx| {
            let recorded = engine.record(tx, &card, &token)?;
            // Whoever has a decision recorded puts the card away with it.
            if recorded.is_ok() && cards::get(tx, &card.id)?.is_some() {
                cards::update(tx, &Card { state: CardState::Answered, ..card.clone() })?;
            }
            Ok(Commit(recorded))
        });
        recording.wait().unwrap().map(|recorded| recorded.token)
    }

    /// Spends and gives the execution.
    pub(crate) fn authorize<T: Approvable + Clone + Send + 'static>(
        &self,
        token: &TokenId,
        item: T,
    ) -> Result<ExecutionId, Refusal> {
        authorize(&self.store, &self.engine, token, item)
    }

    pub(crate) fn readmit(&self, execution: &ExecutionId) -> Result<ExecutionId, Refusal> {
        let (engine, execution) = (self.engine.clone(), execution.clone());
        let reading = self.store.read(move |tx| Ok(engine.readmit(tx, &execution)?));
        reading.wait().unwrap().map(|approved| approved.execution().clone())
    }

    /// Everything checked again: chain, signatures, counts, effects.
    pub(crate) fn audit(&self) -> Audit {
        let keeper = Keeper {
            root: public(1),
            handovers: Handovers::default(),
            servers: ServerKeys::only(public(9)),
            installation: anchor(1).installation,
        };
        self.store.read(move |tx| audit::audit(tx, &keeper, Extent::Everything)).wait().unwrap()
    }

    /// How often a token was spent, as the table and as the ledger count.
    pub(crate) fn spent(&self, token: &TokenId) -> (u32, usize) {
        let token = token.clone();
        let counting = self.store.read(move |tx| {
            let used = silas_store::tokens::get(tx, &token)?.map_or(0, |stored| stored.executions_used);
            let entries = silas_store::ledger::entries(tx, 1, 1000)?;
            let is_spending =
                |event: &AuditEvent| matches!(event, AuditEvent::TokenSpent { token: spent, .. } if *spent == token);
            Ok((used, entries.iter().filter_map(|entry| entry.event.as_ref()).filter(|e| is_spending(e)).count()))
        });
        counting.wait().unwrap()
    }
}

pub(crate) fn authorize<T: Approvable + Clone + Send + 'static>(
    store: &Store,
    engine: &Engine,
    token: &TokenId,
    item: T,
) -> Result<ExecutionId, Refusal> {
    let (engine, token) = (engine.clone(), token.clone());
    let spending = store.write(move |tx| {
        let approved = engine.authorize(tx, &token, item.clone())?;
        Ok(Commit(approved.map(|approved| approved.execution().clone())))
    });
    spending.wait().unwrap()
}

pub(crate) fn face(intent: &str) -> Face {
    Face {
        kind: CardKind::Plan,
        risk: None,
        state: "Plan".to_owned(),
        intent: intent.to_owned(),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: "You asked for it.".to_owned(),
        asked: None,
        quote: None,
        details_title: "Steps".to_owned(),
        details: Vec::new(),
        diffs: Vec::new(),
        ctas: [silas_core::card::Press::Approve, silas_core::card::Press::Decline, silas_core::card::Press::Change]
            .map(|press| silas_core::card::Cta { press, label: String::new(), consequence: String::new() })
            .into(),
    }
}

pub(crate) fn project() -> Place {
    Place { path: "/home/owner/project".to_owned(), device: "1".to_owned(), inode: "2".to_owned() }
}

pub(crate) fn plan(run: &str) -> WorkItem {
    let id = WorkItemId::parse("task-1").unwrap();
    WorkItem::new(Definition {
        budget: Budget { max_wall_time_seconds: 60, ..Budget::default() },
        steps: vec![Step { run: Command::Shell(run.to_owned()), cwd: None }],
        directories: vec![Directory::pinned(project(), Access::Write)],
        ..Definition::without_model(id, "Tidy".to_owned(), "Tidy up.".to_owned(), 60)
    })
    .unwrap()
}

/// Something that may be used more than once.
#[derive(Clone)]
pub(crate) struct Standing(pub(crate) &'static str);

impl Askable for Standing {
    fn kind(&self) -> Kind {
        Kind::HouseRules
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self.0)
    }
}

impl Approvable for Standing {
    fn runs_for(&self) -> Duration {
        LASTS
    }
}
