//! `silas chat`: the owner's words, Silas's answers and the work as it goes, with the cards as numbered choices.
//!
//! One thread reads what is typed, one what the server says; this one shows and answers. What is typed into a pipe waits
//! until there is something that it can be the answer to, so a script can be written down as a talk.

mod choices;
mod secret;
mod typed;

use super::line::{Line, finished_steps, read};
use super::paint::Paint;
use super::print::{ambient, n_running, print_activity, print_cards, print_face, took};
use super::{starts_work, undoable};
use anyhow::{Result, bail};
use choices::{Choice, Confirm};
use secret::Typing;
use serde_json::{Value, json};
use silas_core::CardId;
use silas_core::card::{Card, CardState, Press};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use typed::Typed;
use zeroize::Zeroizing;

/// How long an answer from a pipe waits for its card, once nothing more is typed.
const CARD_WAIT: Duration = Duration::from_secs(30);
/// Entries of the Stream that a new chat begins with.
const LAST_SHOWN: usize = 6;

enum Event {
    /// May be the value of a secret.
    Typed(Zeroizing<String>),
    /// Nothing more will be typed.
    End,
    Server(Box<Value>),
    Gone(anyhow::Error),
}

pub(super) fn run(mut line: Line<'_>) -> Result<ExitCode> {
    line.ask_passphrase_first()?;
    let (tell, events) = mpsc::channel();
    let mut reader = line.take_reader()?;
    let from_server = tell.clone();
    std::thread::spawn(move || {
        loop {
            let event = match read(&mut reader) {
                Ok(message) => Event::Server(Box::new(message)),
                Err(cause) => Event::Gone(cause),
            };
            let is_over = matches!(event, Event::Gone(_));
            if from_server.send(event).is_err() || is_over {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for text in std::io::stdin().lock().lines() {
            let Ok(text) = text else { break };
            if tell.send(Event::Typed(Zeroizing::new(text))).is_err() {
                return;
            }
        }
        let _ = tell.send(Event::End);
    });
    let mut chat = Chat::new(line);
    chat.greet();
    chat.follow(&events)
}

struct Chat<'h> {
    line: Line<'h>,
    paint: Paint,
    is_watched: bool,
    /// The card whose choices are on the screen.
    shown: Option<CardId>,
    confirm: Option<Confirm>,
    /// A secret that is being typed; the next line is its value, whatever else happens.
    typing: Option<Typing>,
    /// Typed, and not yet the answer to anything.
    held: VecDeque<Zeroizing<String>>,
    has_ended: bool,
    /// Own words that came back neither as an entry nor as an error.
    said: Vec<String>,
    /// Answers that Silas owes.
    n_owed: usize,
    /// Answered here, as they were then; the server may still list them so for a moment.
    answered: HashMap<CardId, CardState>,
    /// A decision that is on its way.
    deciding: Option<CardId>,
    /// Work that was approved here and has not ended.
    awaited: Option<String>,
    /// The card about how it ended is still to come.
    is_result_due: bool,
    /// How much was shown of each entry and of each work.
    told_entries: HashMap<String, usize>,
    told_steps: HashMap<String, usize>,
    /// What a model has said so far, by the id of the entry that will take its place.
    drafts: HashMap<String, String>,
    is_over: bool,
    /// Something stands where the prompt was. Otherwise it stays, and with it what is being typed.
    needs_prompt: Cell<bool>,
}

impl<'h> Chat<'h> {
    fn new(line: Line<'h>) -> Self {
        Chat {
            line,
            paint: Paint::of_stdout(),
            is_watched: std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
            shown: None,
            confirm: None,
            typing: None,
            held: VecDeque::new(),
            has_ended: false,
            said: Vec::new(),
            n_owed: 0,
            answered: HashMap::new(),
            deciding: None,
            awaited: None,
            is_result_due: false,
            told_entries: HashMap::new(),
            told_steps: HashMap::new(),
            drafts: HashMap::new(),
            is_over: false,
            needs_prompt: Cell::new(true),
        }
    }

    fn greet(&mut self) {
        let entries = self.line.snapshot["entries"].as_array().cloned().unwrap_or_default();
        for entry in entries.iter().rev().take(LAST_SHOWN).rev() {
            self.entry(entry);
        }
        let state = ambient(n_running(&self.line.snapshot), self.line.cards.len());
        self.print(&self.paint.quiet(&format!("{state}. Say what you want, or /help.")));
        if entries.is_empty() {
            self.print(&self.paint.quiet("New here? Say: try it on a sample project"));
        }
        self.next_card();
    }

    /// Until the owner leaves, or what a pipe said is done.
    fn follow(&mut self, events: &mpsc::Receiver<Event>) -> Result<ExitCode> {
        loop {
            while let Some(text) = self.next_typed() {
                self.typed(&text)?;
            }
            if self.is_over || (self.has_ended && self.held.is_empty() && self.is_settled()) {
                return Ok(ExitCode::SUCCESS);
            }
            self.prompt();
            let event = match self.has_ended && self.is_settled() {
                false => events.recv().ok(),
                true => match events.recv_timeout(CARD_WAIT) {
                    Ok(event) => Some(event),
                    Err(mpsc::RecvTimeoutError::Disconnected) => None,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        let left = self.held.front().map_or("", |text| text.as_str());
                        bail!("No card came that `{left}` could answer.")
                    }
                },
            };
            match event {
                Some(Event::Typed(text)) => {
                    self.needs_prompt.set(true);
                    self.held.push_back(text);
                }
                Some(Event::End) | None => self.has_ended = true,
                Some(Event::Server(message)) => self.server(&message)?,
                Some(Event::Gone(cause)) => return Err(cause),
            }
        }
    }

    /// Nothing of what was said here is under way.
    fn is_settled(&self) -> bool {
        self.n_owed == 0 && self.deciding.is_none() && self.awaited.is_none() && !self.is_result_due
    }

    /// A person's line counts at once. A pipe's waits for its turn, and a number for a card.
    fn next_typed(&mut self) -> Option<Zeroizing<String>> {
        let first = self.held.front()?;
        let is_due = match typed::read(first) {
            _ if self.is_watched || self.confirm.is_some() || self.typing.is_some() => true,
            Typed::Number(_) => self.is_settled() && self.shown.is_some(),
            _ => self.is_settled(),
        };
        if is_due { self.held.pop_front() } else { None }
    }

    fn typed(&mut self, text: &str) -> Result<()> {
        if let Some(typing) = self.typing.take() {
            self.give(typing, text);
            return Ok(());
        }
        if let Some(confirm) = self.confirm.take() {
            if !confirm.is_given_by(text) {
                self.print("Not confirmed. Nothing was signed.");
                return Ok(());
            }
            return self.decide(&confirm.card, confirm.press);
        }
        match typed::read(text) {
            Typed::Nothing => {}
            Typed::Number(n) if self.shown.is_some() => self.choose(n)?,
            Typed::Number(_) => self.say(text.trim())?,
            Typed::Words(words) => self.say(words)?,
            Typed::Command(command) => self.command(command)?,
        }
        Ok(())
    }

    fn say(&mut self, words: &str) -> Result<()> {
        self.line.say(words)?;
        // As it comes back: characters that could mislead are visible.
        self.said.push(silas_gates::scrub::visible(words));
        self.n_owed += 1;
        Ok(())
    }

    fn command(&mut self, command: &str) -> Result<()> {
        match command {
            "help" => self.print(typed::HELP),
            "review" => {
                print_cards(&self.line.cards);
                self.shown = None;
                self.next_card();
            }
            "activity" => print_activity(&self.line.snapshot["activity"]),
            "undo" => match undoable(&self.line.cards) {
                Some(card) => self.decide(&card, Press::Approve)?,
                None => self.print("Nothing can be undone: no undo window is open."),
            },
            "stop" => {
                self.line.send(&json!({ "type": "stop" }))?;
                self.print("Everything is being stopped. Only what is being put in place already is finished.");
            }
            "quit" | "exit" => self.is_over = true,
            other => self.print(&format!("There is no /{other}. /help lists what there is.")),
        }
        Ok(())
    }

    fn choose(&mut self, n: usize) -> Result<()> {
        let Some(card) = self.line.cards.iter().find(|card| Some(&card.id) == self.shown.as_ref()).cloned() else {
            self.print("This card was answered meanwhile.");
            return Ok(());
        };
        let choices = choices::of(&card);
        let Some((_, choice)) = n.checked_sub(1).and_then(|n| choices.get(n)) else {
            self.print(&format!("There is no choice {n}. The card has {}.", choices.len()));
            return Ok(());
        };
        match choice {
            Choice::Decide(press) => match Confirm::for_choice(&card, *press) {
                Some(confirm) => {
                    self.print(&confirm.question());
                    self.confirm = Some(confirm);
                }
                None => self.decide(&card, *press)?,
            },
            Choice::Send(message) => {
                self.answering(&card);
                let mut message = message.clone();
                message["request_id"] = json!(card.id);
                self.line.send(&message)?;
            }
            Choice::Look => print_activity(&self.line.snapshot["activity"]),
            Choice::Secret(wanted) => self.ask_for(&card, wanted.as_ref().clone()),
            Choice::Model(model, key) => {
                self.answering(&card);
                let choice = json!({ "type": "model_choose", "request_id": card.id, "model": model, "key": key });
                self.line.send(&choice)?;
            }
            Choice::Proof(execution) => self.line.send(&json!({ "type": "proof", "execution": execution }))?,
        }
        Ok(())
    }

    fn decide(&mut self, card: &Card, press: Press) -> Result<()> {
        if let Err(cause) = self.line.hand_in(card, press) {
            self.print(&format!("{cause:#}"));
            return Ok(());
        }
        self.answering(card);
        let starts_work = starts_work(card, press);
        self.awaited = card.offer.as_ref().filter(|_| starts_work).map(|offer| offer.work_item_id.to_string());
        Ok(())
    }

    fn answering(&mut self, card: &Card) {
        self.deciding = Some(card.id.clone());
        self.answered.insert(card.id.clone(), card.state);
        self.shown = None;
    }

    fn server(&mut self, message: &Value) -> Result<()> {
        match message["type"].as_str().unwrap_or_default() {
            "message" => self.entry(&message["entry"]),
            "draft" => self.draft(&message["draft"]),
            "cards" => {
                self.line.cards = serde_json::from_value(message["cards"].clone())?;
                // A parked card that was asked again is a new question under the same name.
                self.answered.retain(|id, was| self.line.cards.iter().any(|card| card.id == *id && card.state == *was));
                self.is_result_due = false;
                self.next_card();
            }
            "work" => self.work(&message["work"]),
            "activity" => self.line.snapshot["activity"] = message["activity"].clone(),
            "decided" => {
                if let Some(card) = self.deciding.take()
                    && message["recorded"] != true
                {
                    self.answered.remove(&card);
                    self.awaited = None;
                }
                self.print(message["message"].as_str().unwrap_or_default());
                self.next_card();
            }
            "proof" => self.proof(&message["proof"]),
            "error" => {
                self.n_owed = self.n_owed.saturating_sub(1);
                self.deciding = None;
                self.awaited = None;
                let part = |name: &str| message[name].as_str().unwrap_or_default();
                self.print(&format!("{} {}", part("message"), part("todo")));
            }
            _ => {}
        }
        Ok(())
    }

    /// The next sentences of an answer; if it began anew, all of it.
    fn draft(&mut self, draft: &Value) {
        let (id, text) = (draft["reply"].to_string(), draft["text"].as_str().unwrap_or_default());
        let before = self.drafts.insert(id, text.to_owned());
        match before.as_deref().and_then(|before| text.strip_prefix(before)) {
            Some("") => {}
            Some(more) => self.print(more.trim_end()),
            None if text.is_empty() => {}
            None => self.print(&format!("{} {}", self.paint.strong("Silas"), text.trim_end())),
        }
    }

    /// New, or longer than it was.
    fn entry(&mut self, entry: &Value) {
        let text = entry["text"].as_str().unwrap_or_default();
        if let Some(draft) = self.drafts.remove(&entry["id"].to_string()) {
            self.n_owed = self.n_owed.saturating_sub(1);
            self.told_entries.insert(entry["id"].to_string(), text.len());
            match text.strip_prefix(draft.as_str()) {
                Some("") => {}
                Some(rest) => self.print(rest),
                None => self.print(&format!("{} {text}", self.paint.strong("Silas"))),
            }
            return;
        }
        let told = self.told_entries.entry(entry["id"].to_string()).or_default();
        let (before, is_new) = (*told, *told == 0);
        *told = text.len();
        let rest = text.get(before..).unwrap_or(text);
        if entry["sender"] == "owner" {
            match self.said.iter().position(|said| said == text) {
                Some(n) => drop(self.said.remove(n)),
                None if is_new => self.print(&format!("{} {rest}", self.paint.strong("You  "))),
                None => {}
            }
            return;
        }
        if is_new {
            self.n_owed = self.n_owed.saturating_sub(1);
            self.print(&format!("{} {rest}", self.paint.strong("Silas")));
        } else if !rest.is_empty() {
            self.print(rest);
        }
    }

    fn work(&mut self, work: &Value) {
        let item = work["work_item"].as_str().unwrap_or_default().to_owned();
        let finished = finished_steps(work);
        let told = self.told_steps.get(&item).copied().unwrap_or(0);
        for step in finished.iter().skip(told) {
            self.print(&format!("  {}{}", step.label, took(step.took_ms)));
        }
        self.told_steps.insert(item.clone(), told.max(finished.len()));
        // What is tried out at once, because of what was said here.
        if work["running"] == true && self.n_owed > 0 && self.awaited.is_none() {
            self.awaited = Some(item.clone());
        }
        if work["running"] == false && self.awaited.as_deref() == Some(item.as_str()) {
            self.awaited = None;
            self.is_result_due = true;
            self.print(work["footer"].as_str().unwrap_or_default());
        }
    }

    fn proof(&self, proof: &Value) {
        self.print(&self.paint.strong(proof["claim"].as_str().unwrap_or_default()));
        for step in proof["steps"].as_array().into_iter().flatten() {
            let part = |name: &str| step[name].as_str().unwrap_or_default();
            self.print(&format!("  {}. {}", part("title"), part("note")));
        }
    }

    /// One card at a time: the first that can be answered.
    fn next_card(&mut self) {
        let next =
            self.line.cards.iter().find(|card| !self.answered.contains_key(&card.id) && !choices::of(card).is_empty());
        let is_same = next.map(|card| &card.id) == self.shown.as_ref();
        if is_same {
            return;
        }
        self.confirm = None;
        let next = next.cloned();
        self.shown = next.as_ref().map(|card| card.id.clone());
        if let Some(card) = next {
            self.print("");
            print_face(&card);
            for (n, (label, _)) in choices::of(&card).iter().enumerate() {
                println!("  {}  {label}", self.paint.strong(&(n + 1).to_string()));
            }
            let is_open = |card: &&Card| card.state == CardState::Open && !self.answered.contains_key(&card.id);
            let n_more = self.line.cards.iter().filter(is_open).count().saturating_sub(1);
            if n_more > 0 {
                println!("{}", self.paint.quiet(&format!("{n_more} more in review")));
            }
        }
    }

    /// Over the prompt, if there is one.
    fn print(&self, text: &str) {
        if self.is_watched && !self.needs_prompt.replace(true) {
            print!("\r\x1b[K");
        }
        println!("{text}");
    }

    fn prompt(&self) {
        if self.is_watched && self.needs_prompt.replace(false) {
            print!("{}", self.typing.as_ref().map_or("› ".to_owned(), Typing::prompt));
            let _ = std::io::stdout().flush();
        }
    }
}
