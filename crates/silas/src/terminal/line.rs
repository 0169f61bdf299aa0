//! The control socket as a client holds it: the same messages as the page, signed with the terminal's key.
//!
//! This process holds no key. It asks the launcher's key door to sign exactly what is shown.

use crate::exit::{INTERRUPTED, NotRunning};
use crate::home::Home;
use crate::key_commands;
use crate::passphrase::Asked;
use crate::room;
use crate::world::{OsRandom, SystemClock};
use anyhow::{Context, Result, anyhow, bail};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, Press};
use silas_core::inquiry::Inquiry;
use silas_core::key_service::{Protection, SignBody};
use silas_core::message::{CameOf, MessageBody, OWNER_SCOPE, SignedMessage};
use silas_core::signature::Signature;
use silas_core::token::Token;
use silas_core::{Clock, InstallationId, KeyId, Nonce};
use silas_runtime::Words;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// An open control socket with the state that the server last told.
pub(crate) struct Line<'h> {
    home: &'h Home,
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    pub snapshot: Value,
    /// The first page of what waits; [`Line::all_cards`] has the rest.
    pub cards: Vec<Card>,
    n_more_cards: u64,
    /// Asked for when the terminal key is locked, once for as long as this is open.
    passphrase: Asked,
    /// The last that was heard of each piece of work since its card was decided, by its item.
    work: BTreeMap<String, Value>,
    /// How many finished steps of each were known then, or were told.
    n_told: BTreeMap<String, usize>,
}

impl<'h> Line<'h> {
    pub(crate) fn open(home: &'h Home) -> Result<Self> {
        Line::on(home, connect(home)?, None)
    }

    /// Says this before anything is waited for, so that it is heard whatever there is to be told first.
    pub(crate) fn open_saying(home: &'h Home, first: &Value) -> Result<Self> {
        Line::on(home, connect(home)?, Some(first))
    }

    /// For whoever asks a server that may be ill: each of its answers may take this long.
    pub(crate) fn open_within(home: &'h Home, patience: Duration) -> Result<Self> {
        let writer = connect(home)?;
        writer.set_read_timeout(Some(patience))?;
        Line::on(home, writer, None)
    }

    fn on(home: &'h Home, writer: UnixStream, first: Option<&Value>) -> Result<Self> {
        let reader = BufReader::new(writer.try_clone()?);
        let (work, n_told) = (BTreeMap::new(), BTreeMap::new());
        let (snapshot, cards, passphrase) = (Value::Null, Vec::new(), Asked::default());
        let mut line = Line { home, writer, reader, snapshot, cards, n_more_cards: 0, passphrase, work, n_told };
        first.map_or(Ok(()), |first| line.send(first))?;
        line.wait_for(|message| message["type"] == "welcome")?;
        if line.snapshot["trouble"].is_object() {
            eprintln!("{}", line.trouble(&line.snapshot["trouble"]));
        }
        Ok(line)
    }

    /// The same line to a Silas that has come back; who types here is still the same.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        let passphrase = std::mem::take(&mut self.passphrase);
        match Line::open(self.home) {
            Ok(line) => *self = Line { passphrase, ..line },
            Err(cause) => {
                self.passphrase = passphrase;
                return Err(cause);
            }
        }
        Ok(())
    }

    /// Whether the other end has closed it.
    pub(crate) fn is_lost(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(rustix::net::recv(&self.writer, &mut [0; 1], flags), Ok((_, 0)) | Err(Errno::CONNRESET))
    }

    /// How long the next message may take; after that, waiting for it fails.
    pub(crate) fn wait_at_most(&self, patience: Duration) -> Result<()> {
        // No time at all would mean to wait for ever.
        Ok(self.writer.set_read_timeout(Some(patience.max(Duration::from_millis(1))))?)
    }

    /// What ends this line from elsewhere: shutting it down.
    pub(crate) fn cord(&self) -> Result<UnixStream> {
        Ok(self.writer.try_clone()?)
    }

    pub(crate) fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.writer, "{message}").context("Silas has gone away.")
    }

    /// Reads until a message fits, keeping cards and snapshot up to date. An error of the server is an error here.
    pub(crate) fn wait_for(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Result<Value> {
        loop {
            let message = read(&mut self.reader)?;
            match message["type"].as_str() {
                Some("welcome") => {
                    self.snapshot = message["snapshot"].clone();
                    self.take_cards(&message["snapshot"])?;
                }
                Some("cards") => self.take_cards(&message)?,
                Some("work") => {
                    let item = message["work"]["work_item"].as_str().unwrap_or_default().to_owned();
                    self.work.insert(item, message["work"].clone());
                }
                Some("error") => bail!("{}", self.trouble(&message)),
                _ => {}
            }
            if fits(&message) {
                return Ok(message);
            }
        }
    }

    /// What the server says went wrong. It does not know how much room there is; this process can look.
    pub(super) fn trouble(&self, message: &Value) -> String {
        let part = |name: &str| message[name].as_str().unwrap_or_default();
        let (what, todo, code) = (part("message"), part("todo"), part("code"));
        let what = if code == "E_DB_FULL" {
            format!("{} Nothing was changed.", room::full(&self.home.path))
        } else {
            what.to_owned()
        };
        let code = if code.is_empty() { String::new() } else { format!(" ({code})") };
        format!("{}{code}", format!("{what} {todo}").trim())
    }

    fn take_cards(&mut self, page: &Value) -> Result<()> {
        self.cards = serde_json::from_value(page["cards"].clone())?;
        self.n_more_cards = page["n_more_cards"].as_u64().unwrap_or(0);
        Ok(())
    }

    /// Everything that waits, however much it is. Numbers of `silas review` count in here.
    pub(crate) fn all_cards(&mut self) -> Result<Vec<Card>> {
        let mut all = self.cards.clone();
        let mut n_more = self.n_more_cards;
        while n_more > 0 {
            self.send(&json!({ "type": "cards", "from": all.len() }))?;
            let from = json!(all.len());
            let page = self.wait_for(|message| message["type"] == "cards_page" && message["from"] == from)?;
            let cards: Vec<Card> = serde_json::from_value(page["cards"].clone())?;
            // Answered meanwhile by somebody else.
            if cards.is_empty() {
                break;
            }
            all.extend(cards);
            n_more = page["n_more_cards"].as_u64().unwrap_or(0);
        }
        Ok(all)
    }

    pub(crate) fn home(&self) -> &Home {
        self.home
    }

    pub(crate) fn sign(&self, body: SignBody) -> Result<Signature> {
        let signed = silas_sandbox::terminal_sign(&self.home.path, &body, &mut || self.passphrase.get());
        signed.map_err(|e| match e {
            silas_sandbox::Error::Locked => anyhow!("The passphrase is needed. Nothing was signed. ({})", e.code()),
            e => anyhow!("{e}"),
        })
    }

    /// Asks for the passphrase now, if one is going to be needed: later somebody else may be reading what is typed.
    pub(super) fn ask_passphrase_first(&self) -> Result<()> {
        if key_commands::protection(self.home)? == Protection::Passphrase && self.passphrase.get().is_none() {
            bail!("The passphrase is needed. (E_APPROVAL_LOCKED)");
        }
        Ok(())
    }

    /// What follows needs the root key; if that is locked, it is opened for one use.
    pub(crate) fn open_root_key(&self) -> Result<()> {
        if key_commands::protection(self.home)? != Protection::Passphrase {
            return Ok(());
        }
        silas_sandbox::terminal_arm(&self.home.path, &mut || self.passphrase.get()).map_err(|e| anyhow!("{e}"))
    }

    /// The key that this terminal signs with.
    pub(crate) fn key(&self) -> Result<KeyId> {
        Ok(self.home.known()?.terminal.body.key)
    }

    pub(crate) fn installation(&self) -> Result<InstallationId> {
        Ok(serde_json::from_value(self.snapshot["installation"].clone())?)
    }

    /// From here on Ctrl-C ends what a model is saying, not this command; a second one ends both.
    pub(crate) fn interrupt_on_ctrl_c(&self) -> Result<()> {
        let mut writer = self.writer.try_clone()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                if tokio::signal::ctrl_c().await.is_ok() {
                    let _gone = writeln!(writer, "{}", json!({ "type": "interrupt" }));
                    let _second = tokio::signal::ctrl_c().await;
                    std::process::exit(INTERRUPTED.into());
                }
            });
        });
        Ok(())
    }

    /// Gives what the message will be called, if it is taken as the owner's.
    pub(crate) fn say(&mut self, text: &str) -> Result<Value> {
        let message = self.signed(text, OWNER_SCOPE)?;
        self.send(&json!({ "type": "message", "message": message }))?;
        Ok(json!(message.body.id()))
    }

    /// Answers a model's question, in one of its options or in other words.
    pub(crate) fn answer(&mut self, card: &Card, text: &str) -> Result<()> {
        let message = self.signed(text, &Inquiry::scope_of(&card.id))?;
        self.send(&json!({ "type": "decision_response", "request_id": card.id, "message": message }))
    }

    /// The words with the terminal's signature.
    pub(crate) fn signed(&self, text: &str, scope: &str) -> Result<SignedMessage> {
        let body = message_body(text, self.installation()?, scope);
        let signature = self.sign(SignBody::Message(body.clone()))?;
        Ok(SignedMessage { body, signature })
    }

    /// Says something and gives the entry that answers exactly that. `meanwhile` is told of everything that comes before.
    pub(crate) fn ask(&mut self, text: &str, mut meanwhile: impl FnMut(&Value)) -> Result<Value> {
        let said = self.say(text)?;
        // As it is shown: characters that could mislead come back visibly.
        let heard = silas_gates::scrub::visible(text);
        let mut asked = said.clone();
        let mut reply = self.wait_for(|message| {
            let entry = &message["entry"];
            // What is not taken as the owner's has a name that only the server knows.
            let is_renamed = asked == said && entry["sender"] == "somebody" && entry["text"] == heard;
            if entry["id"] == said || is_renamed {
                asked = entry["id"].clone();
            }
            let is_answer = message["type"] == "message" && entry["answers"]["message"] == asked;
            if !is_answer {
                meanwhile(message);
            }
            is_answer
        })?;
        Ok(reply["entry"].take())
    }

    /// Signs what this button of the card offers and hands it in. Says what the server answered.
    pub(crate) fn decide(&mut self, card: &Card, press: Press) -> Result<(bool, String)> {
        self.hand_in(card, press)?;
        let id = json!(card.id);
        let answer = self.wait_for(|m| m["type"] == "decided" && m["request_id"] == id)?;
        Ok(outcome(&answer))
    }

    /// Signs what this button of the card offers and hands it in, without waiting for the answer.
    pub(crate) fn hand_in(&mut self, card: &Card, press: Press) -> Result<()> {
        let (offer, payload) = card.asked_by(press).context("This card asks nothing.")?;
        let verdict = press.verdict().context("That decides nothing.")?;
        let shown = card.face.hash()?;
        let words = Words::new(std::env::var("HOME").ok());
        let is_honest = shown == offer.shown
            && silas_core::Digest::of(payload.as_bytes()) == offer.plan_hash
            && offer.is_within_bounds()
            && words.shows_what_it_asks(card);
        if !is_honest {
            bail!("This card and the request differ. Nothing was signed.");
        }
        self.know_steps(&offer.work_item_id);
        let body = offer.answered(self.key()?, verdict);
        let signature = self.sign(SignBody::Token(body.clone()))?;
        let token = Token { body, signature };
        self.send(&json!({ "type": "approval_response", "request_id": card.id, "token": token }))
    }

    /// The reading end, for somebody who reads while this one writes. Nothing can be waited for here after that.
    pub(super) fn take_reader(&mut self) -> Result<BufReader<UnixStream>> {
        let other = BufReader::new(self.writer.try_clone()?);
        Ok(std::mem::replace(&mut self.reader, other))
    }

    /// What was done before a decision is no news after it.
    fn know_steps(&mut self, work_item: &str) {
        let of_item = |work: &&Value| work["work_item"] == work_item;
        let shown = self.snapshot["work"].as_array().into_iter().flatten().find(of_item);
        let heard = self.work.remove(work_item);
        let n = heard.as_ref().or(shown).map_or(0, |work| finished_steps(work).len());
        let told = self.n_told.entry(work_item.to_owned()).or_default();
        *told = n.max(*told);
    }

    /// Follows the work on one item until it ends, telling each finished step and what is printed meanwhile.
    pub(crate) fn follow(
        &mut self,
        work_item: &str,
        mut tell: impl FnMut(&Step),
        mut show: impl FnMut(&Value),
    ) -> Result<Value> {
        let mut execution = Value::Null;
        loop {
            // It may have been heard while the answer to the decision was waited for.
            while !self.work.contains_key(work_item) {
                let is_about = |m: &Value| m["work"]["work_item"] == work_item || m["output"]["execution"] == execution;
                let message = self.wait_for(|m| (m["type"] == "work" || m["type"] == "output") && is_about(m))?;
                if message["type"] == "output" {
                    show(&message["output"]);
                }
            }
            let Some(work) = self.work.remove(work_item) else { continue };
            execution.clone_from(&work["execution"]);
            let finished = finished_steps(&work);
            let told = self.n_told.entry(work_item.to_owned()).or_default();
            finished.iter().skip(*told).for_each(&mut tell);
            *told = finished.len().max(*told);
            if work["running"] == false {
                return Ok(work);
            }
        }
    }

    /// Work that this message led to, as far as it was heard of.
    pub(super) fn work_of(&self, message: &Value) -> Option<&Value> {
        self.work.values().find(|work| work["wish"] == *message)
    }

    /// The card that tells how work ended which was not applied; it comes a moment after the work.
    pub(super) fn report(&mut self) -> Result<Option<Card>> {
        self.wait_for(|message| message["type"] == "cards")?;
        let tells = |card: &&Card| {
            let kind = card.face.kind;
            matches!(kind, CardKind::Rehearsed | CardKind::Report | CardKind::Refusal | CardKind::Conflict)
        };
        Ok(self.cards.iter().filter(tells).max_by_key(|card| card.created_at).cloned())
    }
}

/// Whether something was decided, and what was said about it, with the code of what was in the way.
pub(super) fn outcome(decided: &Value) -> (bool, String) {
    let message = decided["message"].as_str().unwrap_or_default().trim_end();
    let message = match decided["code"].as_str() {
        Some(code) => format!("{message} ({code})"),
        None => message.to_owned(),
    };
    (decided["recorded"] == true, message)
}

fn connect(home: &Home) -> Result<UnixStream> {
    Ok(UnixStream::connect(silas_web::control::path(&home.path)).map_err(|_| NotRunning)?)
}

/// A step of some work that has ended.
pub(crate) struct Step {
    pub(crate) label: String,
    pub(crate) took_ms: Option<u64>,
    pub(crate) n_steps: usize,
}

/// What came of a message, as the entry that answers it says. One that says nothing of it is none.
pub(crate) fn came_of(answer: &Value) -> CameOf {
    serde_json::from_value(answer["answers"]["came_of"].clone()).unwrap_or(CameOf::Refused)
}

pub(super) fn finished_steps(work: &Value) -> Vec<Step> {
    let steps = work["steps"].as_array().map_or(&[][..], Vec::as_slice);
    let finished = steps.iter().filter(|step| step["state"] == "done" || step["state"] == "failed");
    let told = finished.map(|step| Step {
        label: step["label"].as_str().unwrap_or_default().to_owned(),
        took_ms: step["took_ms"].as_u64(),
        n_steps: steps.len(),
    });
    told.collect()
}

/// One message of the server.
pub(super) fn read(reader: &mut BufReader<UnixStream>) -> Result<Value> {
    let mut text = String::new();
    if reader.read_line(&mut text)? == 0 {
        bail!("Silas has gone away.");
    }
    Ok(serde_json::from_str(&text)?)
}

fn message_body(text: &str, installation: InstallationId, scope: &str) -> MessageBody {
    MessageBody {
        text: text.to_owned(),
        timestamp: SystemClock.now(),
        nonce: Nonce::new(&OsRandom),
        installation,
        scope: scope.to_owned(),
    }
}
