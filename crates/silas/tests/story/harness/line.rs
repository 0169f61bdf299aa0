//! The terminal's side of the control socket.

use super::{PATIENCE, message_body};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::inquiry::Inquiry;
use silas_core::key_service::SignBody;
use silas_core::message::{MessageBody, OWNER_SCOPE, SignedMessage};
use silas_core::secret::Secret;
use silas_core::signature::Signature;
use silas_core::token::{Token, Verdict};
use silas_core::{Clock, InstallationId};
use silas_sandbox::SystemClock;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    /// By which messages are dated.
    clock: Arc<dyn Clock>,
}

/// The server went away.
#[derive(Debug)]
pub(crate) struct Gone;

impl Line {
    pub(crate) fn open(data: &Path) -> Result<Self, Gone> {
        Line::open_by(Arc::new(SystemClock), data)
    }

    /// For a Silas whose clock is another one than this machine's.
    pub(crate) fn open_by(clock: Arc<dyn Clock>, data: &Path) -> Result<Self, Gone> {
        let writer = UnixStream::connect(data.join("run/control.sock")).map_err(|_| Gone)?;
        writer.set_read_timeout(Some(PATIENCE)).unwrap();
        let reader = BufReader::new(writer.try_clone().unwrap());
        let data = data.to_owned();
        let (snapshot, cards, work) = (Value::Null, Vec::new(), BTreeMap::new());
        let mut line = Line { data, writer, reader, snapshot, cards, work, passphrase: None, clock };
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
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => panic!("Silas said nothing for three minutes"),
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
        let message = self.signed_for(text, OWNER_SCOPE)?;
        self.send(&json!({ "type": "message", "message": message }))
    }

    pub(crate) fn signed_for(&self, text: &str, scope: &str) -> Result<SignedMessage, Gone> {
        let body = MessageBody { scope: scope.to_owned(), ..message_body(text, self.installation(), self.clock.now()) };
        let signature = self.sign(&SignBody::Message(body.clone()))?;
        Ok(SignedMessage { body, signature })
    }

    /// Answers a model's question; true if it was taken, and what was said about it.
    pub(crate) fn answer(&mut self, card: &Card, text: &str) -> Result<(bool, String), Gone> {
        let message = self.signed_for(text, &Inquiry::scope_of(&card.id))?;
        self.send_answer(card, &json!(message))
    }

    pub(crate) fn send_answer(&mut self, card: &Card, message: &Value) -> Result<(bool, String), Gone> {
        self.send(&json!({ "type": "decision_response", "request_id": card.id, "message": message }))?;
        self.decided(card)
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
                Some("message") if message["entry"]["sender"] != "silas" && message["entry"]["text"] == text => {
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
        let probe = SignBody::Message(message_body("", self.installation(), self.clock.now()));
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

    /// "Redo on my version": what the card offers instead.
    pub(crate) fn redo(&mut self, card: &Card) -> Result<(bool, String), Gone> {
        let other = Card { offer: card.instead.as_ref().map(|instead| instead.offer.clone()), ..card.clone() };
        let token = self.token(&other, Verdict::Approved)?;
        self.submit(card, &token)
    }

    /// Hands in a decision; true if it was recorded, and what was said about it.
    pub(crate) fn submit(&mut self, card: &Card, token: &Token) -> Result<(bool, String), Gone> {
        self.send(&json!({ "type": "approval_response", "request_id": card.id, "token": token }))?;
        self.decided(card)
    }

    fn decided(&mut self, card: &Card) -> Result<(bool, String), Gone> {
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
