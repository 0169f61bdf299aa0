//! The terminal as a channel: the same messages as the page, over the control socket, signed with the terminal's key.
//!
//! This process holds no key. It shows a card, and asks the launcher's key door to sign exactly that card's offer.

use crate::Command;
use crate::card_text::{print_card, print_cards};
use crate::home::Home;
use crate::known_head;
use crate::session_commands;
use crate::world::{OsRandom, SystemClock};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::key_service::SignBody;
use silas_core::message::{MessageBody, OWNER_SCOPE, SignedMessage};
use silas_core::session::SessionType;
use silas_core::signature::Signature;
use silas_core::token::{Token, Verdict};
use silas_core::{Clock, InstallationId, KeyId, Nonce};
use silas_runtime::Words;
use std::collections::BTreeMap;
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
            print_cards(&line.all_cards()?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Approve { number } => decide(&mut line, number, Press::Approve),
        Command::Rehearse { number } => decide(&mut line, number, Press::Rehearse),
        Command::Change { number } => decide(&mut line, number, Press::Change),
        Command::Decline { number } => decide(&mut line, number, Press::Decline),
        Command::Show { number } => show(&mut line, number),
        Command::Renew { number } => put(&mut line, number, "renew"),
        Command::Dismiss { number } => put(&mut line, number, "dismiss"),
        Command::Undo => undo(&mut line),
        Command::Activity => {
            known_head::follow(home)?;
            print_activity(&line.snapshot);
            Ok(ExitCode::SUCCESS)
        }
        Command::Status => {
            known_head::follow(home)?;
            print_status(home, &mut line)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Stop { .. } => {
            line.send(&json!({ "type": "stop" }))?;
            // The answer to a check of the ledger shows that the stop before it was taken.
            line.send(&json!({ "type": "verify" }))?;
            line.wait_for(|message| message["type"] == "verified")?;
            println!(
                "Everything is stopped. What was being put in place already is finished; nothing else reaches your files."
            );
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
    /// The first page of what waits; [`Line::all_cards`] has the rest.
    pub cards: Vec<Card>,
    n_more_cards: u64,
    /// The last that was heard of each piece of work since its card was decided, by its item.
    work: BTreeMap<String, Value>,
    /// How many finished steps of each were known then, or were told.
    n_told: BTreeMap<String, usize>,
}

impl<'h> Line<'h> {
    pub(crate) fn open(home: &'h Home) -> Result<Self> {
        let path = silas_web::control::path(&home.path);
        let writer = UnixStream::connect(path).context("Silas does not run. Start it with `silas`.")?;
        let reader = BufReader::new(writer.try_clone()?);
        let mut line = Line { home, writer, reader, snapshot: Value::Null, cards: Vec::new(), n_more_cards: 0, work: BTreeMap::new(), n_told: BTreeMap::new() };
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
                    self.take_cards(&message["snapshot"])?;
                }
                Some("cards") => self.take_cards(&message)?,
                Some("work") => {
                    let item = message["work"]["work_item"].as_str().unwrap_or_default().to_owned();
                    self.work.insert(item, message["work"].clone());
                }
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

    fn take_cards(&mut self, page: &Value) -> Result<()> {
        self.cards = serde_json::from_value(page["cards"].clone())?;
        self.n_more_cards = page["n_more_cards"].as_u64().unwrap_or(0);
        Ok(())
    }

    /// Everything that waits, however much it is. Numbers of `silas review` count in here.
    fn all_cards(&mut self) -> Result<Vec<Card>> {
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

    pub(crate) fn sign(&self, body: SignBody) -> Result<Signature> {
        silas_sandbox::terminal_sign(&self.home.path, &body).map_err(|e| anyhow!("{e}"))
    }

    /// The key that this terminal signs with; the first signature tells.
    pub(crate) fn key(&self) -> Result<KeyId> {
        let installation = self.installation()?;
        let body = message_body("", installation);
        Ok(self.sign(SignBody::Message(body))?.key)
    }

    pub(crate) fn installation(&self) -> Result<InstallationId> {
        Ok(serde_json::from_value(self.snapshot["installation"].clone())?)
    }

    pub(crate) fn say(&mut self, text: &str) -> Result<()> {
        let message = self.signed(text)?;
        self.send(&json!({ "type": "message", "message": message }))
    }

    /// The words with the terminal's signature.
    pub(crate) fn signed(&self, text: &str) -> Result<SignedMessage> {
        let body = message_body(text, self.installation()?);
        let signature = self.sign(SignBody::Message(body.clone()))?;
        Ok(SignedMessage { body, signature })
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

    /// Signs the card's own offer, or the other one that shows first, and hands it in. Says what the server answered.
    pub(crate) fn decide(&mut self, card: &Card, press: Press) -> Result<(bool, String)> {
        let offer = if press == Press::Rehearse { &card.show_first } else { &card.offer };
        let offer = offer.as_ref().context("This card asks nothing.")?;
        let verdict = press.verdict().context("That decides nothing.")?;
        let shown = card.face.hash()?;
        let payload = card.payload.as_deref().unwrap_or_default();
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
        self.send(&json!({ "type": "approval_response", "request_id": card.id, "token": token }))?;
        let id = json!(card.id);
        let answer = self.wait_for(|m| m["type"] == "decided" && m["request_id"] == id)?;
        Ok((answer["recorded"] == true, answer["message"].as_str().unwrap_or_default().to_owned()))
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

    /// Follows the work on one item until it ends, telling each finished step.
    pub(crate) fn follow(&mut self, work_item: &str, mut tell: impl FnMut(&str, Option<u64>)) -> Result<Value> {
        loop {
            // It may have been heard while the answer to the decision was waited for.
            if !self.work.contains_key(work_item) {
                self.wait_for(|m| m["type"] == "work" && m["work"]["work_item"] == work_item)?;
            }
            let Some(work) = self.work.remove(work_item) else { continue };
            let finished = finished_steps(&work);
            let told = self.n_told.entry(work_item.to_owned()).or_default();
            for step in finished.iter().skip(*told) {
                tell(step["label"].as_str().unwrap_or_default(), step["took_ms"].as_u64());
            }
            *told = finished.len().max(*told);
            if work["running"] == false {
                return Ok(work);
            }
        }
    }

    /// The card that tells how work ended which was not applied; it comes a moment after the work.
    fn report(&mut self) -> Result<Option<Card>> {
        self.wait_for(|message| message["type"] == "cards")?;
        let tells = |card: &&Card| matches!(card.face.kind, CardKind::Rehearsed | CardKind::Report | CardKind::Conflict);
        Ok(self.cards.iter().filter(tells).max_by_key(|card| card.created_at).cloned())
    }
}

fn finished_steps(work: &Value) -> Vec<&Value> {
    let is_finished = |step: &&Value| step["state"] == "done" || step["state"] == "failed";
    work["steps"].as_array().into_iter().flatten().filter(is_finished).collect()
}

fn message_body(text: &str, installation: InstallationId) -> MessageBody {
    MessageBody {
        text: text.to_owned(),
        timestamp: SystemClock.now(),
        nonce: Nonce::new(&OsRandom),
        installation,
        scope: OWNER_SCOPE.to_owned(),
    }
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

/// The card that is meant: the numbered one of `silas review`, or the only one for which `fits` holds.
fn pick(line: &mut Line<'_>, number: Option<usize>, fits: impl Fn(&Card) -> bool) -> Result<Card> {
    let cards = line.all_cards()?;
    if let Some(n) = number {
        return cards.get(n.wrapping_sub(1)).cloned().with_context(|| format!("There is no card {n}."));
    }
    let fitting: Vec<&Card> = cards.iter().filter(|card| fits(card)).collect();
    match fitting.as_slice() {
        [] => bail!("Nothing waits for a decision."),
        [card] => Ok((*card).clone()),
        _ => {
            print_cards(&cards);
            bail!("More than one card waits. Name its number, as in `silas approve 1`.")
        }
    }
}

/// A question that can be approved or declined.
fn asks(card: &Card) -> bool {
    card.state == CardState::Open && card.offer.is_some() && card.face.kind != CardKind::Done
}

fn decide(line: &mut Line<'_>, number: Option<usize>, press: Press) -> Result<ExitCode> {
    let card = pick(line, number, asks)?;
    match card.state {
        CardState::Parked => bail!("This card is parked. `silas renew` asks it again."),
        _ if card.face.kind == CardKind::Done => bail!("This card tells a result. `silas undo` takes it back."),
        _ if card.offer.is_none() => bail!("This card asks nothing. `silas dismiss` puts it away."),
        _ => {}
    }
    let is_offered = card.face.ctas.iter().any(|cta| cta.press == press);
    if !is_offered {
        bail!("This card does not offer that. `silas show` shows what it offers.");
    }
    print_card(&card);
    let (recorded, message) = line.decide(&card, press)?;
    println!("{message}");
    if !recorded {
        return Ok(ExitCode::FAILURE);
    }
    let is_about_work = matches!(card.face.kind, CardKind::Plan | CardKind::Rehearsed);
    let starts_work = is_about_work && press.verdict() == Some(Verdict::Approved);
    if !starts_work {
        return Ok(ExitCode::SUCCESS);
    }
    let item = card.offer.as_ref().map_or("", |offer| offer.work_item_id.as_str());
    let work = line.follow(item, |label, ms| println!("  {label}{}", took(ms)))?;
    println!("{}", work["footer"].as_str().unwrap_or_default());
    if work["place"] == "Applied" {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(report) = line.report()? {
        println!();
        print_card(&report);
    }
    Ok(if work["place"] == "Rehearsed" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(line: &mut Line<'_>, number: Option<usize>) -> Result<ExitCode> {
    print_card(&pick(line, number, asks)?);
    Ok(ExitCode::SUCCESS)
}

/// Asks a parked card again, or puts one away that asks nothing.
fn put(line: &mut Line<'_>, number: Option<usize>, verb: &str) -> Result<ExitCode> {
    let card = pick(line, number, |card| !asks(card))?;
    line.send(&json!({ "type": verb, "request_id": card.id }))?;
    let id = json!(card.id);
    let answer = line.wait_for(|m| m["type"] == "decided" && m["request_id"] == id)?;
    println!("{}", answer["message"].as_str().unwrap_or_default());
    Ok(if answer["recorded"] == true { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn undo(line: &mut Line<'_>) -> Result<ExitCode> {
    let undoable = |card: &&Card| card.face.kind == CardKind::Done && card.offer.is_some();
    let newest = line.all_cards()?.iter().filter(undoable).max_by_key(|card| card.created_at).cloned();
    let card = newest.context("Nothing can be undone: no undo window is open.")?;
    println!("{}", card.face.intent);
    let (recorded, message) = line.decide(&card, Press::Approve)?;
    println!("{message}");
    Ok(if recorded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn took(ms: Option<u64>) -> String {
    ms.map_or_else(String::new, |ms| format!("  ({}.{} s)", ms / 1000, ms % 1000 / 100))
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

fn print_status(home: &Home, line: &mut Line<'_>) -> Result<()> {
    let sessions = session_commands::sessions(line)?;
    let n_cards = line.all_cards()?.len();
    let running = line.snapshot["work"].as_array().into_iter().flatten().filter(|w| w["running"] == true).count();
    println!("Silas runs on {}.", home.path.display());
    println!("{running} active, {n_cards} in review.");
    println!("Root key: protected by file permissions only.");
    println!("Saved to disk {} times since the start.", line.snapshot["n_durable_commits"]);
    for letter in line.snapshot["dead_letters"].as_array().into_iter().flatten() {
        println!("Put aside after {} attempts: {}", letter["attempts"], letter["text"].as_str().unwrap_or_default());
    }
    for undo in line.snapshot["undoable"].as_array().into_iter().flatten() {
        let until = undo["until"].as_str().unwrap_or_default();
        let until = until.get(..16).unwrap_or(until).replace('T', " ");
        println!("Can be undone until {until}: {}", undo["title"].as_str().unwrap_or_default());
    }
    for session in sessions.iter().filter(|session| session.session_type == SessionType::Stream) {
        println!("{}", session_commands::describe(session));
    }
    let count = |name: &str| line.snapshot[name].as_array().map_or(0, Vec::len);
    println!("{} grants, {} devices: `silas grant list` and `silas device list`.", count("grants"), count("devices"));
    Ok(())
}
