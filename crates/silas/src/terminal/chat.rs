//! `silas chat`: the owner's words, Silas's answers and the work as it goes, with the cards as numbered choices.
//!
//! One thread reads what is typed, one what the server says; this one shows and answers. What is typed into a pipe waits
//! until there is something that it can be the answer to, so a script can be written down as a talk.

mod answering;
mod choices;
mod deck;
mod keyboard;
mod secret;
mod showing;
mod telling;
mod typed;

use super::line::{Line, read};
use super::paint::Paint;
use super::print::{ambient, n_running, needing_review};
use anyhow::{Result, bail};
use choices::Confirm;
use deck::Deck;
use keyboard::{Keyed, Odd};
use secret::Typing;
use serde_json::Value;
use silas_core::CardId;
use silas_core::card::{Card, CardState};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::io::IsTerminal;
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
    /// The card whose question is being answered in own words; the next line is the answer.
    wording: Option<Card>,
    /// Typed, and not yet the answer to anything.
    held: VecDeque<Keyed>,
    has_ended: bool,
    /// Something that was typed could not be taken, or nothing was made of it.
    has_trouble: bool,
    /// Own words that came back neither as an entry nor as an error.
    said: Vec<String>,
    /// Own messages that Silas still owes an answer.
    owed: Vec<Value>,
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
            wording: None,
            held: VecDeque::new(),
            has_ended: false,
            has_trouble: false,
            said: Vec::new(),
            owed: Vec::new(),
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
            // Whoever has left says nothing more.
            while !self.is_over
                && let Some(keyed) = self.next_typed()
            {
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
                Some(Event::End) | None => {
                    self.has_ended = true;
                    // A person who ends what is typed leaves, whatever is under way; a pipe waits for its answers.
                    if self.is_watched {
                        self.is_over = true;
                        println!();
                    }
                }
                Some(Event::Server(message)) => self.server(&message)?,
                Some(Event::Gone(cause)) => return Err(cause),
            }
        }
    }

    /// Nothing of what was said here is under way.
    fn is_settled(&self) -> bool {
        self.owed.is_empty() && self.deciding.is_none() && self.awaited.is_none() && !self.is_result_due
    }

    /// A person's line counts at once. A pipe's waits for its turn, and a number for a card.
    fn next_typed(&mut self) -> Option<Keyed> {
        let first = self.held.front()?;
        let is_due = match typed::read(&first.text) {
            _ if self.is_watched || self.confirm.is_some() || self.typing.is_some() || self.wording.is_some() => true,
            // Written before any card was seen, so only for one that can be no other.
            Typed::Number(_) => self.is_settled() && self.deck.is_plain(self.n_choosable()),
            _ => self.is_settled(),
        };
        if is_due { self.held.pop_front() } else { None }
    }
}
