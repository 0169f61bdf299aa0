//! `silas chat`: the owner's words, Silas's answers and the work as it goes, with the cards as numbered choices.
//!
//! One thread reads what is typed, one what the server says; this one shows and answers. What is typed into a pipe waits
//! until there is something that it can be the answer to, so a script can be written down as a talk.

mod choices;
mod deck;
mod keyboard;
mod secret;
mod typed;

use super::face::{Extent, print_face};
use super::line::{Line, finished_steps, read};
use super::names;
use super::paint::Paint;
use super::print::{ambient, n_running, needing_review, needs_review, print_activity, print_cards, took};
use super::{starts_work, undoable};
use anyhow::{Result, bail};
use choices::{Choice, Confirm};
use deck::Deck;
use keyboard::{Keyed, Odd};
use secret::Typing;
use serde_json::{Value, json};
use silas_core::CardId;
use silas_core::card::{Card, CardState, Press};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use typed::Typed;

/// How long an answer from a pipe waits for its card, once nothing more is typed.
const CARD_WAIT: Duration = Duration::from_secs(30);
/// Entries of the Stream that a new chat begins with.
const LAST_SHOWN: usize = 6;

enum Event {
    Typed(Keyed),
    /// A line that cannot be taken for anything.
    Odd(Odd),
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
        let mut input = std::io::stdin().lock();
        while let Some(line) = keyboard::line(&mut input) {
            let event = match line {
                Ok(keyed) => Event::Typed(keyed),
                Err(odd) => Event::Odd(odd),
            };
            if tell.send(event).is_err() {
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
    /// Which card's choices are on the screen.
    deck: Deck,
    confirm: Option<Confirm>,
    /// A secret that is being typed; the next line is its value, whatever else happens.
    typing: Option<Typing>,
    /// Typed, and not yet the answer to anything.
    held: VecDeque<Keyed>,
    has_ended: bool,
    /// Something that was typed could not be taken.
    has_trouble: bool,
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
        let deck = Deck::new(&line.cards);
        Chat {
            line,
            paint: Paint::of_stdout(),
            is_watched: std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
            deck,
            confirm: None,
            typing: None,
            held: VecDeque::new(),
            has_ended: false,
            has_trouble: false,
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
        let state = ambient(n_running(&self.line.snapshot), needing_review(&self.line.cards));
        self.print(&self.paint.quiet(&format!("{state}. Say what you want, or /help.")));
        if entries.is_empty() {
            self.print(&self.paint.quiet("New here? Say: try it on a sample project"));
        }
        self.next_card();
    }

    /// Until the owner leaves, or what a pipe said is done.
    fn follow(&mut self, events: &mpsc::Receiver<Event>) -> Result<ExitCode> {
        loop {
            while let Some(keyed) = self.next_typed() {
                self.typed(&keyed)?;
            }
            if self.is_over || (self.has_ended && self.held.is_empty() && self.is_settled()) {
                let is_done = self.is_watched || !self.has_trouble;
                return Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
            self.prompt();
            let event = match self.has_ended && self.is_settled() {
                false => events.recv().ok(),
                true => match events.recv_timeout(CARD_WAIT) {
                    Ok(event) => Some(event),
                    Err(mpsc::RecvTimeoutError::Disconnected) => None,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        let left = self.held.front().map_or("", |keyed| keyed.text.as_str());
                        bail!(
                            "No card came of what was said that `{left}` could answer. For one that waited before, \
                             /review shows the names, and `/show NAME` puts it on the screen."
                        )
                    }
                },
            };
            match event {
                Some(Event::Typed(keyed)) => {
                    self.needs_prompt.set(true);
                    self.held.push_back(keyed);
                }
                Some(Event::Odd(odd)) => {
                    self.needs_prompt.set(true);
                    self.has_trouble = true;
                    self.print(&odd.words());
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
    fn next_typed(&mut self) -> Option<Keyed> {
        let first = self.held.front()?;
        let is_due = match typed::read(&first.text) {
            _ if self.is_watched || self.confirm.is_some() || self.typing.is_some() => true,
            // Written before any card was seen, so only for one that can be no other.
            Typed::Number(_) => self.is_settled() && self.deck.is_plain(self.n_choosable()),
            _ => self.is_settled(),
        };
        if is_due { self.held.pop_front() } else { None }
    }

    fn typed(&mut self, keyed: &Keyed) -> Result<()> {
        let text = keyed.text.as_str();
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
            Typed::Number(n) if self.deck.shown().is_some() => {
                if self.is_watched && self.deck.is_from_before(keyed.at) {
                    self.print(
                        "That number was typed before this card was here, so it answers nothing. Nothing was signed.",
                    );
                    self.deck.seen_now();
                    self.numbers();
                } else {
                    self.choose(n)?;
                }
            }
            Typed::Number(_) if self.n_choosable() > 0 || self.n_owed > 0 => {
                self.print("No card is on the screen that a number could answer. /review shows what waits.");
            }
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
        // What stood there is not what the next number is about.
        self.deck.wish(&self.line.cards);
        Ok(())
    }

    fn command(&mut self, command: &str) -> Result<()> {
        if let Some(said) = command.strip_prefix("show ") {
            return self.show(said.trim());
        }
        match command {
            "help" => self.print(typed::HELP),
            "review" => {
                print_cards(&self.line.cards);
                self.deck.look_again();
                self.next_card();
            }
            "activity" => print_activity(&self.line.snapshot["activity"]),
            "undo" => match undoable(&self.line.cards) {
                Some(card) => {
                    print_face(&card, Extent::Glance);
                    self.decide(&card, Press::Approve)?;
                }
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

    /// Puts one card on the screen, by the name that /review shows.
    fn show(&mut self, said: &str) -> Result<()> {
        let found = names::called(&self.line.cards, said);
        match found.as_slice() {
            [card] if !choices::of(card).is_empty() => {
                self.deck.ask_for(card.id.clone());
                self.next_card();
            }
            [card] => print_face(card, Extent::Whole),
            _ => self.print(&format!("There is no card {said}. /review shows the names.")),
        }
        Ok(())
    }

    fn choose(&mut self, n: usize) -> Result<()> {
        let Some(card) = self.line.cards.iter().find(|card| Some(&card.id) == self.deck.shown()).cloned() else {
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
        self.deck.clear();
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
                self.print(&self.line.trouble(message));
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
            None if text.is_empty() => self.print(&self.paint.quiet(super::ASKED_AGAIN)),
            None => self.print(&format!("{} {}", self.speaker(true), text.trim_end())),
        }
    }

    /// New, or longer than it was.
    /// Who speaks. What Silas says itself is computed; what a model said is marked as that.
    fn speaker(&self, is_quoted: bool) -> String {
        let silas = self.paint.strong("Silas");
        if is_quoted { format!("{silas} {}", self.paint.quiet("(in the model's words)")) } else { silas }
    }

    fn entry(&mut self, entry: &Value) {
        let text = entry["text"].as_str().unwrap_or_default();
        let is_quoted = entry["in_models_words"] == true;
        if let Some(draft) = self.drafts.remove(&entry["id"].to_string()) {
            self.n_owed = self.n_owed.saturating_sub(1);
            self.told_entries.insert(entry["id"].to_string(), text.len());
            match text.strip_prefix(draft.as_str()) {
                Some("") => {}
                Some(rest) => self.print(rest),
                None => self.print(&format!("{} {text}", self.speaker(is_quoted))),
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
            self.print(&format!("{} {rest}", self.speaker(is_quoted)));
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

    fn choosable(&self) -> impl Iterator<Item = &Card> {
        let is_choosable = |card: &&Card| !self.answered.contains_key(&card.id) && !choices::of(card).is_empty();
        self.line.cards.iter().filter(is_choosable)
    }

    fn n_choosable(&self) -> usize {
        self.choosable().count()
    }

    /// One card at a time: what came of the last wish before what waited already.
    fn next_card(&mut self) {
        // A question about a card that is still there is answered first.
        let is_asked = |confirm: &Confirm| self.choosable().any(|card| card.id == confirm.card.id);
        if self.confirm.as_ref().is_some_and(is_asked) {
            return;
        }
        let next = self.deck.next(&self.choosable().collect::<Vec<_>>()).cloned();
        if next.as_ref().map(|card| &card.id) == self.deck.shown() {
            return;
        }
        if self.confirm.take().is_some() {
            self.print("That card was answered meanwhile. Nothing was signed here.");
        }
        let Some(card) = next else { return self.deck.clear() };
        self.deck.show(card.id.clone());
        self.print("");
        print_face(&card, Extent::Glance);
        for (n, (label, _)) in choices::of(&card).iter().enumerate() {
            println!("  {}  {label}", self.paint.strong(&(n + 1).to_string()));
            if let Some(meaning) = choices::consequence(&card, label) {
                println!("     {}", self.paint.quiet(meaning));
            }
        }
        self.numbers();
    }

    /// What a number means now.
    fn numbers(&self) {
        let Some(card) = self.line.cards.iter().find(|card| Some(&card.id) == self.deck.shown()) else { return };
        let is_left = |other: &&Card| other.id != card.id && !self.answered.contains_key(&other.id);
        let more = match self.line.cards.iter().filter(is_left).filter(|other| needs_review(other)).count() {
            0 => String::new(),
            n => format!(" {n} more in review."),
        };
        let name = names::name(&card.id);
        self.print(&self.paint.quiet(&format!("A number answers this card, {name}: “{}”.{more}", card.face.intent)));
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
