//! The terminal as a channel: the same messages as the page, over the control socket, signed with the terminal's key.
//!
//! This process holds no key. It shows a card, and asks the launcher's key door to sign exactly that card's offer.

use crate::Command;
use crate::home::Home;
use crate::world::{OsRandom, SystemClock};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState, Risk};
use silas_core::key_service::SignBody;
use silas_core::message::{MessageBody, SignedMessage};
use silas_core::signature::Signature;
use silas_core::token::{Token, Verdict};
use silas_core::{Clock, InstallationId, KeyId, Nonce};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

pub(crate) fn run(home: &Home, command: Command) -> Result<ExitCode> {
    if matches!(command, Command::Pair) {
        return pair(home);
    }
    let mut line = Line::open(home)?;
    match command {
        Command::Say { text } => say(&mut line, &text),
        Command::Review => {
            print_cards(&line.cards);
            Ok(ExitCode::SUCCESS)
        }
        Command::Approve { number } => decide(&mut line, number, Verdict::Approved),
        Command::Decline { number } => decide(&mut line, number, Verdict::Declined),
        Command::Undo => undo(&mut line),
        Command::Activity => {
            print_activity(&line.snapshot);
            Ok(ExitCode::SUCCESS)
        }
        Command::Status => {
            print_status(home, &line);
            Ok(ExitCode::SUCCESS)
        }
        Command::Stop { .. } => {
            line.send(&json!({ "type": "stop" }))?;
            // The answer to a check of the ledger shows that the stop before it was taken.
            line.send(&json!({ "type": "verify" }))?;
            line.wait_for(|message| message["type"] == "verified")?;
            println!("Everything is stopped. Your files are as they were.");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("this command does not talk to the server"),
    }
}

fn pair(home: &Home) -> Result<ExitCode> {
    let code = silas_sandbox::terminal_pairing_code(&home.path).map_err(|e| anyhow!("{e}"))?;
    let address = silas_web::control::address(&home.path).context("Silas does not run. Start it with `silas`.")?;
    println!("Open this in the browser you want to pair, within 5 minutes:\n\n  {}/#pair={code}\n", address.trim());
    Ok(ExitCode::SUCCESS)
}

/// An open control socket with the state that the server last told.
pub(crate) struct Line<'h> {
    home: &'h Home,
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    pub snapshot: Value,
    pub cards: Vec<Card>,
}

impl<'h> Line<'h> {
    pub(crate) fn open(home: &'h Home) -> Result<Self> {
        let path = silas_web::control::path(&home.path);
        let writer = UnixStream::connect(path).context("Silas does not run. Start it with `silas`.")?;
        let reader = BufReader::new(writer.try_clone()?);
        let mut line = Line { home, writer, reader, snapshot: Value::Null, cards: Vec::new() };
        line.wait_for(|message| message["type"] == "welcome")?;
        Ok(line)
    }

    pub(crate) fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.writer, "{message}").context("Silas has gone away.")
    }

    /// Reads until a message fits, keeping cards and snapshot up to date. An error of the server is an error here.
    pub(crate) fn wait_for(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Result<Value> {
        loop {
            let mut text = String::new();
            if self.reader.read_line(&mut text)? == 0 {
                bail!("Silas has gone away.");
            }
            let message: Value = serde_json::from_str(&text)?;
            match message["type"].as_str() {
                Some("welcome") => {
                    self.snapshot = message["snapshot"].clone();
                    self.cards = serde_json::from_value(message["snapshot"]["cards"].clone())?;
                }
                Some("cards") => self.cards = serde_json::from_value(message["cards"].clone())?,
                Some("error") => bail!(
                    "{} {}",
                    message["message"].as_str().unwrap_or_default(),
                    message["todo"].as_str().unwrap_or_default()
                ),
                _ => {}
            }
            if fits(&message) {
                return Ok(message);
            }
        }
    }

    fn sign(&self, body: SignBody) -> Result<Signature> {
        silas_sandbox::terminal_sign(&self.home.path, &body).map_err(|e| anyhow!("{e}"))
    }

    /// The key that this terminal signs with; the first signature tells.
    fn key(&self) -> Result<KeyId> {
        let installation = self.installation()?;
        let body = message_body("", installation);
        Ok(self.sign(SignBody::Message(body))?.key)
    }

    fn installation(&self) -> Result<InstallationId> {
        Ok(serde_json::from_value(self.snapshot["installation"].clone())?)
    }

    pub(crate) fn say(&mut self, text: &str) -> Result<()> {
        let body = message_body(text, self.installation()?);
        let signature = self.sign(SignBody::Message(body.clone()))?;
        self.send(&json!({ "type": "message", "message": SignedMessage { body, signature } }))
    }

    /// Says something and gives the answer: what Silas says next after taking exactly that in.
    pub(crate) fn ask(&mut self, text: &str) -> Result<String> {
        self.say(text)?;
        // As it is shown: characters that could mislead come back visibly.
        let heard = silas_gates::scrub::visible(text);
        let mut is_heard = false;
        let reply = self.wait_for(|message| {
            let entry = &message["entry"];
            is_heard |= entry["sender"] == "owner" && entry["text"] == heard;
            is_heard && message["type"] == "message" && entry["sender"] == "silas"
        })?;
        Ok(reply["entry"]["text"].as_str().unwrap_or_default().to_owned())
    }

    /// Signs the card's own offer and hands it in. Says what the server answered.
    pub(crate) fn decide(&mut self, card: &Card, verdict: Verdict) -> Result<(bool, String)> {
        let offer = card.offer.as_ref().context("This card asks nothing.")?;
        let shown = card.face.hash()?;
        let payload = card.payload.as_deref().unwrap_or_default();
        if shown != offer.shown || silas_core::Digest::of(payload.as_bytes()) != offer.plan_hash {
            bail!("This card and the request differ. Nothing was signed.");
        }
        let body = offer.answered(self.key()?, verdict);
        let signature = self.sign(SignBody::Token(body.clone()))?;
        let token = Token { body, signature };
        self.send(&json!({ "type": "approval_response", "request_id": card.id, "token": token }))?;
        let id = json!(card.id);
        let answer = self.wait_for(|m| m["type"] == "decided" && m["request_id"] == id)?;
        Ok((answer["recorded"] == true, answer["message"].as_str().unwrap_or_default().to_owned()))
    }

    /// Follows running work until it ends, telling each finished step. True if it was applied.
    pub(crate) fn follow(&mut self, mut tell: impl FnMut(&str, Option<u64>)) -> Result<Option<Value>> {
        let mut told = 0;
        loop {
            let message = self.wait_for(|m| m["type"] == "work")?;
            let work = &message["work"];
            let steps = work["steps"].as_array().cloned().unwrap_or_default();
            let finished: Vec<&Value> =
                steps.iter().filter(|s| s["state"] == "done" || s["state"] == "failed").collect();
            for step in finished.iter().skip(told) {
                tell(step["label"].as_str().unwrap_or_default(), step["took_ms"].as_u64());
            }
            told = told.max(finished.len());
            if work["running"] == false {
                return Ok(Some(work.clone()));
            }
        }
    }
}

fn message_body(text: &str, installation: InstallationId) -> MessageBody {
    MessageBody { text: text.to_owned(), timestamp: SystemClock.now(), nonce: Nonce::new(&OsRandom), installation }
}

fn say(line: &mut Line<'_>, text: &str) -> Result<ExitCode> {
    let known = line.cards.len();
    line.say(text)?;
    let reply = line.wait_for(|m| m["type"] == "message" && m["entry"]["sender"] == "silas")?;
    println!("{}", reply["entry"]["text"].as_str().unwrap_or_default());
    if line.cards.len() > known {
        println!();
        print_cards(&line.cards);
    }
    Ok(ExitCode::SUCCESS)
}

fn decide(line: &mut Line<'_>, number: Option<usize>, verdict: Verdict) -> Result<ExitCode> {
    let asking: Vec<Card> = line
        .cards
        .iter()
        .filter(|card| card.state == CardState::Open && card.offer.is_some() && card.face.kind != CardKind::Done)
        .cloned()
        .collect();
    let card = match (number, asking.as_slice()) {
        (_, []) => bail!("Nothing waits for a decision."),
        (None, [card]) => card.clone(),
        (None, _) => {
            print_cards(&line.cards);
            bail!("More than one card waits. Name its number: `silas approve 1`.");
        }
        (Some(n), _) => line.cards.get(n.wrapping_sub(1)).cloned().with_context(|| format!("There is no card {n}."))?,
    };
    print_card(&card);
    let (recorded, message) = line.decide(&card, verdict)?;
    println!("{message}");
    if !recorded {
        return Ok(ExitCode::FAILURE);
    }
    let starts_work = card.face.kind == CardKind::Plan && verdict == Verdict::Approved;
    if !starts_work {
        return Ok(ExitCode::SUCCESS);
    }
    let work = line.follow(|label, ms| println!("  {label}{}", took(ms)))?;
    let footer = work.as_ref().and_then(|w| w["footer"].as_str()).unwrap_or_default().to_owned();
    println!("{footer}");
    let proved = work.is_some_and(|w| w["outcome"] == "proved");
    Ok(if proved { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn undo(line: &mut Line<'_>) -> Result<ExitCode> {
    let card = line.cards.iter().find(|card| card.face.kind == CardKind::Done && card.offer.is_some()).cloned();
    let card = card.context("Nothing can be undone: no undo window is open.")?;
    let (recorded, message) = line.decide(&card, Verdict::Approved)?;
    println!("{message}");
    Ok(if recorded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn took(ms: Option<u64>) -> String {
    ms.map_or_else(String::new, |ms| format!("  ({}.{} s)", ms / 1000, ms % 1000 / 100))
}

fn print_cards(cards: &[Card]) {
    if cards.is_empty() {
        println!("Nothing to decide.");
    }
    for (n, card) in cards.iter().enumerate() {
        let parked = if card.state == CardState::Parked { ", parked" } else { "" };
        println!("{}  {}  ({}{parked})", n + 1, card.face.intent, risk(card.face.risk));
    }
}

pub(crate) fn print_card(card: &Card) {
    println!("{} · {}", risk(card.face.risk), card.face.state);
    println!("{}", card.face.intent);
    if let Some(evidence) = &card.face.evidence {
        println!("  {}", evidence.claim);
        for (n, before) in evidence.before.iter().enumerate() {
            let mark = |passed: bool| if passed { "✓ pass" } else { "✗ fail" };
            let after = evidence.after.get(n).map_or("", |after| mark(after.passed));
            println!("  {}: {} → {after}", before.name, mark(before.passed));
        }
    }
    for fact in &card.face.facts {
        println!("  {:<11} {}", fact.label, fact.text);
    }
    for detail in &card.face.details {
        for line in &detail.lines {
            println!("  {:<11} {line}", detail.title);
        }
    }
}

fn risk(risk: Option<Risk>) -> &'static str {
    match risk {
        Some(Risk::Low) => "● Low risk",
        Some(Risk::Medium) => "◆ Medium risk",
        Some(Risk::High) => "▲ High risk",
        Some(Risk::Irreversible) => "⯃ Cannot be undone",
        None => "Nothing to decide",
    }
}

fn print_activity(snapshot: &Value) {
    let activity = &snapshot["activity"];
    println!("{}", activity["summary"].as_str().unwrap_or_default());
    for row in activity["rows"].as_array().into_iter().flatten() {
        let at = row["at"].as_str().unwrap_or_default();
        let (text, note) = (row["text"].as_str().unwrap_or_default(), row["note"].as_str().unwrap_or_default());
        println!("{}  {text}. {note}", at.get(..19).unwrap_or(at).replace('T', " "));
    }
}

fn print_status(home: &Home, line: &Line<'_>) {
    let running = line.snapshot["work"].as_array().into_iter().flatten().filter(|w| w["running"] == true).count();
    println!("Silas runs on {}.", home.path.display());
    println!("{running} active, {} in review.", line.cards.len());
    println!("Root key: protected by file permissions only.");
    println!("Saved to disk {} times since the start.", line.snapshot["n_durable_commits"]);
    for letter in line.snapshot["dead_letters"].as_array().into_iter().flatten() {
        println!("Put aside after {} attempts: {}", letter["attempts"], letter["text"].as_str().unwrap_or_default());
    }
    for grant in line.snapshot["grants"].as_array().into_iter().flatten() {
        println!(
            "Allowed: {}. {}",
            grant["title"].as_str().unwrap_or_default(),
            grant["text"].as_str().unwrap_or_default()
        );
    }
}
