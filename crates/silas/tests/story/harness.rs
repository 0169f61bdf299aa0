//! A Silas to talk to: starts the binary on a temporary directory and reads like a conversation.

use crate::http;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::key_service::SignBody;
use silas_core::message::{MessageBody, OWNER_SCOPE, SignedMessage};
use silas_core::secret::Secret;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Offer, Token, TokenBody, Verdict};
use silas_core::{InstallationId, KeyId, Nonce, Random, Timestamp};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Generous: a loaded machine is slow, a hang is forever.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program. The keyring of whoever runs the tests is not theirs to touch.
pub(crate) fn binary() -> Command {
    let mut silas = Command::new(env!("CARGO_BIN_EXE_silas"));
    silas.env("SILAS__KEYS__KEYRING", "false");
    // A page of a test says nothing while something else is looked at, and a loaded machine takes its time.
    silas.env("SILAS__LIMITS__WS_BEAT_SECONDS", "300");
    silas
}

pub(crate) struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).unwrap();
    }
}

pub(crate) fn now() -> Timestamp {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    Timestamp::from_micros(micros.try_into().unwrap())
}

/// The setting with which each plan asks first.
pub(crate) const ASKING: (&str, &str) = ("SILAS__APPROVAL__REHEARSE_FIRST", "false");

/// One installation and a small repository with a failing check, which `sh fix.sh` repairs by changing three files.
pub(crate) struct Silas {
    dir: tempfile::TempDir,
    child: Option<Child>,
    env: Vec<(String, String)>,
    started_in: PathBuf,
    /// Where the log goes; the test's own error output otherwise.
    log: Option<PathBuf>,
}

impl Silas {
    pub(crate) fn start() -> Self {
        Silas::start_with(&[])
    }

    /// For stories about the plan's own card: each plan asks first, also where the house rules would let it be rehearsed.
    pub(crate) fn start_asking() -> Self {
        Silas::start_with(&[ASKING])
    }

    /// Starts with settings, as `("SILAS__UNDO__WINDOW_SECONDS", "1")`.
    pub(crate) fn start_with(env: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { dir, child: None, env, started_in: PathBuf::from("/"), log: None };
        silas.write_repository();
        silas.up(&[]);
        silas
    }

    /// Starts with settings, after `prepare` was at the data directory.
    pub(crate) fn prepared(env: &[(&str, &str)], prepare: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { dir, child: None, env, started_in: PathBuf::from("/"), log: None };
        silas.write_repository();
        prepare(&silas.data());
        silas.up(&[]);
        silas
    }

    /// Started beside its repository, as a person would; otherwise it starts at the root and is offered no directory.
    pub(crate) fn start_in_its_place() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let started_in = dir.path().to_owned();
        let mut silas = Silas { dir, child: None, env: Vec::new(), started_in, log: None };
        silas.write_repository();
        silas.up(&[]);
        silas
    }

    /// With settings, and everything that it logs in a file beside its data.
    pub(crate) fn start_with_log(env: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let log = Some(dir.path().join("log"));
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { dir, child: None, env, started_in: PathBuf::from("/"), log };
        silas.write_repository();
        silas.up(&[]);
        silas
    }

    fn write_repository(&self) {
        let repo = self.repo();
        fs::create_dir_all(repo.join("src")).unwrap();
        fs::write(repo.join("src/a.txt"), "old a\n").unwrap();
        fs::write(repo.join("src/b.txt"), "old b\n").unwrap();
        fs::write(repo.join("gone.txt"), "to be deleted\n").unwrap();
        fs::write(
            repo.join("fix.sh"),
            "printf 'new a\\n' > src/a.txt; printf 'new b\\n' > src/b.txt; rm gone.txt; mkdir -p more; echo c > more/c.txt\n",
        )
        .unwrap();
        fs::write(repo.join("check.sh"), "grep -q new src/a.txt && grep -q new src/b.txt && test ! -e gone.txt\n")
            .unwrap();
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("data")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn wish(&self) -> String {
        format!("run `sh fix.sh` in `{}` and check with `sh check.sh`", self.repo().display())
    }

    /// Every file of the repository with its content.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(dir: &Path, base: &Path, tree: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(base).unwrap().to_owned();
                if name.to_string_lossy().starts_with(".silas-") {
                    continue;
                }
                if path.is_dir() {
                    walk(&path, base, tree);
                } else {
                    tree.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        let mut tree = BTreeMap::new();
        walk(&self.repo(), &self.repo(), &mut tree);
        tree
    }

    /// Starts the server and waits until it answers; with a fail point it may be gone before that.
    pub(crate) fn up(&mut self, extra: &[(&str, &str)]) {
        self.spawn(extra);
        let until = Instant::now() + PATIENCE;
        let socket = self.data().join("run/control.sock");
        while UnixStream::connect(&socket).is_err() {
            if self.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                return;
            }
            assert!(Instant::now() < until, "the server did not come up");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts the server and does not wait for anything. Gives its number, which is also that of its process group.
    pub(crate) fn spawn(&mut self, extra: &[(&str, &str)]) -> u32 {
        assert!(self.child.is_none());
        let child = binary()
            .args(["start", "--port", "0", "--quiet", "--data-dir"])
            .arg(self.data())
            .current_dir(&self.started_in)
            .envs(self.env.iter().map(|(k, v)| (k, v)))
            .envs(extra.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log.as_ref().map_or_else(Stdio::inherit, |log| {
                Stdio::from(fs::File::options().create(true).append(true).open(log).unwrap())
            }))
            .process_group(0)
            .spawn()
            .unwrap();
        self.child.insert(child).id()
    }

    /// Pulls the plug from outside.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _gone_already = child.kill();
            child.wait().unwrap();
        }
    }

    /// Asks the server to end, and waits.
    pub(crate) fn terminate(&mut self) {
        let mut child = self.child.take().unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        child.wait().unwrap();
    }

    /// Whether the server that was started last is still there, dead or alive, for whoever cannot wait for it.
    pub(crate) fn is_running(&self) -> bool {
        let state = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_alive = |stat: &String| {
            stat.rsplit(')').next().is_some_and(|rest| !rest.trim().starts_with('Z') && !rest.is_empty())
        };
        self.child.as_ref().is_some_and(|child| is_alive(&state(child.id())))
    }

    /// Memory of the server, as the kernel counts it.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most that it ever was.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> u64 {
        let pid = self.child.as_ref().unwrap().id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
    }

    pub(crate) fn has_died(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some())
    }

    /// After a fail point: waits until the process is gone.
    pub(crate) fn await_death(&mut self) {
        let until = Instant::now() + PATIENCE;
        while !self.has_died() {
            assert!(Instant::now() < until, "the fail point was never reached");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.take().unwrap().wait().unwrap();
    }

    #[track_caller]
    pub(crate) fn assert_old_or_new(&self, original: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
        let tree = self.tree();
        if tree.get(Path::new("src/a.txt")).unwrap() == b"new a\n" {
            assert_eq!(tree.get(Path::new("src/b.txt")).unwrap(), b"new b\n", "{when}: a mix");
            assert!(!tree.contains_key(Path::new("gone.txt")) && tree.contains_key(Path::new("more/c.txt")), "{when}");
        } else {
            assert_eq!(&tree, original, "{when}: a mix");
        }
    }

    pub(crate) fn line(&self) -> Line {
        Line::open(&self.data()).unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        let address = fs::read_to_string(self.data().join("run/address")).unwrap();
        address.rsplit(':').next().unwrap().trim().parse().unwrap()
    }

    /// Pairs a browser that signs the house rules.
    pub(crate) fn pair(&self) -> Device {
        let device = Device::new();
        let code = silas_sandbox::terminal_pairing_code(&self.data()).unwrap();
        let (status, body) = device.pair(self.port(), &code);
        assert_eq!(status, 200, "{body}");
        device
    }

    /// Runs a command of the binary and gives its exit code and everything it printed.
    pub(crate) fn command(&self, args: &[&str]) -> (i32, String) {
        self.command_with(args, &[], "")
    }

    /// The same with variables and with something piped in.
    pub(crate) fn command_with(&self, args: &[&str], env: &[(&str, &str)], input: &str) -> (i32, String) {
        let mut child = binary()
            .arg("--data-dir")
            .arg(self.data())
            .args(args)
            .current_dir("/")
            // What this account has seen of the ledger stays in the test's own directory.
            .env("XDG_STATE_HOME", self.outside().join("state"))
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), text)
    }

    #[track_caller]
    pub(crate) fn assert_ledger_holds(&self) {
        let (code, text) = self.command(&["audit", "verify"]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("unbroken"), "{text}");
    }
}

impl Drop for Silas {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A browser, as far as the server can tell.
pub(crate) struct Device {
    key: SigningKey,
}

impl Device {
    pub(crate) fn new() -> Self {
        let mut seed = [0; 32];
        OsRandom.fill(&mut seed);
        Device::from_seed(seed)
    }

    pub(crate) fn from_seed(seed: [u8; 32]) -> Self {
        Device { key: SigningKey::from_bytes(&seed) }
    }

    pub(crate) fn public(&self) -> PublicKey {
        PublicKey::from_bytes(self.key.verifying_key().to_bytes())
    }

    pub(crate) fn id(&self) -> KeyId {
        self.public().id()
    }

    pub(crate) fn sign(&self, text: &str) -> Signature {
        Signature::ed25519(self.id(), self.key.sign(text.as_bytes()).to_bytes())
    }

    pub(crate) fn answer(&self, offer: &Offer, verdict: Verdict) -> Token {
        self.token(offer.answered(self.id(), verdict))
    }

    pub(crate) fn token(&self, body: TokenBody) -> Token {
        let signature = self.sign(&body.message().unwrap());
        Token { body, signature }
    }

    pub(crate) fn message(&self, text: &str, installation: &InstallationId) -> SignedMessage {
        let body = message_body(text, installation.clone());
        let signature = self.sign(&body.message().unwrap());
        SignedMessage { body, signature }
    }

    /// The answer to a challenge, naming what the page has if it was here before.
    pub(crate) fn auth(&self, hello: &Value, resume: Option<&Value>) -> Value {
        let (challenge, installation, key) = (&hello["challenge"], &hello["installation"], self.id());
        let proof = json!({ "kind": "session", "challenge": challenge, "installation": installation, "key": key });
        let signature = self.sign(&silas_core::canonical::text(&proof).unwrap());
        json!({ "type": "auth", "key": key, "signature": signature, "resume": resume })
    }

    pub(crate) fn pair(&self, port: u16, code: &str) -> (u16, String) {
        let (status, screen) = http::get(port, "/pair");
        assert_eq!(status, 200, "{screen}");
        let screen: Value = serde_json::from_str(&screen).unwrap();
        let rules: Option<Offer> = serde_json::from_value(screen["house_rules"]["offer"].clone()).ok();
        let house_rules = rules.map(|offer| self.answer(&offer, Verdict::Approved));
        let public = String::from(self.public());
        let body = json!({ "public": public, "name": "test browser", "proof": proof(code, &public), "house_rules": house_rules });
        http::post(port, "/pair", &body.to_string())
    }
}

/// What a browser computes from the code in the address.
pub(crate) fn proof(code: &str, public: &str) -> String {
    use base64::Engine as _;
    use hmac::{KeyInit, Mac};
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(code.as_bytes()).unwrap();
    mac.update(format!("silas-pair {public}").as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

fn message_body(text: &str, installation: InstallationId) -> MessageBody {
    MessageBody {
        text: text.to_owned(),
        timestamp: now(),
        nonce: Nonce::new(&OsRandom),
        installation,
        scope: OWNER_SCOPE.to_owned(),
    }
}

/// The terminal's side of the control socket.
pub(crate) struct Line {
    data: PathBuf,
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    pub snapshot: Value,
    pub cards: Vec<Card>,
    /// The last state of each piece of work.
    pub work: BTreeMap<String, Value>,
    /// What is answered when the terminal key is locked.
    pub passphrase: Option<String>,
}

/// The server went away.
#[derive(Debug)]
pub(crate) struct Gone;

impl Line {
    pub(crate) fn open(data: &Path) -> Result<Self, Gone> {
        let writer = UnixStream::connect(data.join("run/control.sock")).map_err(|_| Gone)?;
        writer.set_read_timeout(Some(PATIENCE)).unwrap();
        let reader = BufReader::new(writer.try_clone().unwrap());
        let data = data.to_owned();
        let (snapshot, cards, work) = (Value::Null, Vec::new(), BTreeMap::new());
        let mut line = Line { data, writer, reader, snapshot, cards, work, passphrase: None };
        line.wait(|line| !line.snapshot.is_null())?;
        Ok(line)
    }

    /// For somebody at the other end who is slower than Silas.
    pub(crate) fn be_patient(&self, patience: Duration) {
        self.writer.set_read_timeout(Some(patience)).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) -> Result<(), Gone> {
        writeln!(self.writer, "{message}").map_err(|_| Gone)
    }

    /// The next message, with the state kept up to date.
    pub(crate) fn next(&mut self) -> Result<Value, Gone> {
        let mut text = String::new();
        match self.reader.read_line(&mut text) {
            Ok(0) => return Err(Gone),
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => panic!("Silas said nothing for a minute"),
            Err(_) => return Err(Gone),
        }
        let message: Value = serde_json::from_str(&text).unwrap();
        match message["type"].as_str().unwrap() {
            "welcome" => {
                self.snapshot = message["snapshot"].clone();
                self.cards = serde_json::from_value(self.snapshot["cards"].clone()).unwrap();
                for work in self.snapshot["work"].as_array().unwrap() {
                    self.work.insert(work["execution"].as_str().unwrap().to_owned(), work.clone());
                }
            }
            "cards" => self.cards = serde_json::from_value(message["cards"].clone()).unwrap(),
            "work" => {
                let work = message["work"].clone();
                self.work.insert(work["execution"].as_str().unwrap().to_owned(), work);
            }
            _ => {}
        }
        Ok(message)
    }

    pub(crate) fn wait(&mut self, mut until: impl FnMut(&Line) -> bool) -> Result<(), Gone> {
        while !until(self) {
            self.next()?;
        }
        Ok(())
    }

    pub(crate) fn wait_for(&mut self, kind: &str) -> Result<Value, Gone> {
        loop {
            let message = self.next()?;
            if message["type"] == kind {
                return Ok(message);
            }
        }
    }

    pub(crate) fn installation(&self) -> InstallationId {
        serde_json::from_value(self.snapshot["installation"].clone()).unwrap()
    }

    fn sign(&self, body: &SignBody) -> Result<Signature, Gone> {
        let mut ask = || self.passphrase.as_ref().map(|said| Secret::new(said.clone().into_bytes()));
        silas_sandbox::terminal_sign(&self.data, body, &mut ask).map_err(|_| Gone)
    }

    pub(crate) fn say(&mut self, text: &str) -> Result<(), Gone> {
        let body = message_body(text, self.installation());
        let signature = self.sign(&SignBody::Message(body.clone()))?;
        self.send(&json!({ "type": "message", "message": SignedMessage { body, signature } }))
    }

    /// What Silas says next.
    fn reply(&mut self) -> Result<String, Gone> {
        loop {
            let message = self.next()?;
            if message["type"] == "message" && message["entry"]["sender"] == "silas" {
                return Ok(message["entry"]["text"].as_str().unwrap().to_owned());
            }
        }
    }

    /// Says something and gives the answer to exactly that.
    pub(crate) fn ask(&mut self, text: &str) -> String {
        self.say(text).unwrap();
        self.reply_to(text)
    }

    pub(crate) fn reply_to(&mut self, text: &str) -> String {
        loop {
            let message = self.next().unwrap();
            match message["type"].as_str() {
                Some("message") if message["entry"]["sender"] == "owner" && message["entry"]["text"] == text => {
                    return self.reply().unwrap();
                }
                Some("error") => {
                    return format!("{} {}", message["message"].as_str().unwrap(), message["todo"].as_str().unwrap());
                }
                _ => {}
            }
        }
    }

    /// The owner's tasks, open ones first.
    pub(crate) fn tasks(&mut self) -> Vec<Value> {
        self.send(&json!({ "type": "tasks" })).unwrap();
        self.wait_for("tasks").unwrap()["tasks"].as_array().unwrap().clone()
    }

    /// Waits for an open card of this kind.
    pub(crate) fn card(&mut self, kind: CardKind) -> Result<Card, Gone> {
        let find = |line: &Line| line.cards.iter().find(|c| c.face.kind == kind && c.state == CardState::Open).cloned();
        self.wait(|line| find(line).is_some())?;
        Ok(find(self).unwrap())
    }

    pub(crate) fn token(&self, card: &Card, verdict: Verdict) -> Result<Token, Gone> {
        let offer = card.offer.as_ref().unwrap();
        let probe = SignBody::Message(message_body("", self.installation()));
        let key = self.sign(&probe)?.key;
        let body = offer.answered(key, verdict);
        let signature = self.sign(&SignBody::Token(body.clone()))?;
        Ok(Token { body, signature })
    }

    /// "Do it, show me first": the card's other offer.
    pub(crate) fn show_me_first(&mut self, card: &Card) -> Result<(bool, String), Gone> {
        let other = Card { offer: card.show_first.clone(), ..card.clone() };
        let token = self.token(&other, Verdict::Approved)?;
        self.submit(card, &token)
    }

    /// Hands in a decision; true if it was recorded, and what was said about it.
    pub(crate) fn submit(&mut self, card: &Card, token: &Token) -> Result<(bool, String), Gone> {
        self.send(&json!({ "type": "approval_response", "request_id": card.id, "token": token }))?;
        loop {
            let message = self.next()?;
            if message["type"] == "decided" && message["request_id"] == json!(card.id) {
                return Ok((message["recorded"] == true, message["message"].as_str().unwrap().to_owned()));
            }
        }
    }

    pub(crate) fn decide(&mut self, card: &Card, verdict: Verdict) -> Result<(bool, String), Gone> {
        let token = self.token(card, verdict)?;
        self.submit(card, &token)
    }

    /// Waits for a card of this kind and approves it.
    pub(crate) fn approve(&mut self, kind: CardKind) -> Result<Card, Gone> {
        let card = self.card(kind)?;
        let (recorded, message) = self.decide(&card, Verdict::Approved)?;
        assert!(recorded, "{message}");
        Ok(card)
    }

    /// Waits until some work has ended, and gives its view.
    pub(crate) fn ended(&mut self) -> Result<Value, Gone> {
        let ended = |line: &Line| line.work.values().find(|work| work["running"] == false).cloned();
        self.wait(|line| ended(line).is_some())?;
        Ok(ended(self).unwrap())
    }

    /// Says the wish and approves directory and plan.
    pub(crate) fn run(&mut self, wish: &str) -> Result<Value, Gone> {
        self.say(wish)?;
        self.approve(CardKind::Root)?;
        self.approve(CardKind::Plan)?;
        self.ended()
    }
}

/// What `silas plan check` says about a plan with this line in its front matter: whether it is sound, and its words.
pub(crate) fn plan_check(line: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.md");
    fs::write(&file, format!("---\nid: task-1\ntype: task\ntitle: Tidy\n{line}\n---\nProse.\n")).unwrap();
    let output = binary().args(["plan", "check"]).arg(&file).current_dir("/").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}
