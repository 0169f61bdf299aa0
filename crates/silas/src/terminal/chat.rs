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
use super::print::{ambient, needing_review};
use super::printed::Printed;
use crate::exit::INTERRUPTED;
use anyhow::{Result, bail};
use choices::Confirm;
use deck::Deck;
use keyboard::{Keyed, Odd};
use secret::Typing;
use serde_json::{Value, json};
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
/// How often it is looked whether Silas is back.
const COME_BACK_PAUSE: Duration = Duration::from_millis(500);
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
    /// Ctrl-C at a terminal.
    CtrlC,
}

pub(super) fn run(mut line: Line<'_>) -> Result<ExitCode> {
    line.ask_passphrase_first()?;
    let (tell, events) = mpsc::channel();
    listen(&mut line, &tell)?;
    let is_watched = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_watched {
        hear_ctrl_c(tell.clone())?;
    }
    let from_server = tell.clone();
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
    let mut chat = Chat::new(line, is_watched);
    chat.greet();
    chat.follow(&events, &from_server)
}

/// Hands on what the server says, until it is gone.
fn listen(line: &mut Line<'_>, tell: &mpsc::Sender<Event>) -> Result<()> {
    let (mut reader, tell) = (line.take_reader()?, tell.clone());
    std::thread::spawn(move || {
        loop {
            let event = match read(&mut reader) {
                Ok(message) => Event::Server(Box::new(message)),
                Err(cause) => Event::Gone(cause),
            };
            let is_over = matches!(event, Event::Gone(_));
            if tell.send(event).is_err() || is_over {
                return;
            }
        }
    });
    Ok(())
}

fn hear_ctrl_c(tell: mpsc::Sender<Event>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async { while tokio::signal::ctrl_c().await.is_ok() && tell.send(Event::CtrlC).is_ok() {} });
    });
    Ok(())
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
    /// What running work prints, as far as it was told.
    printed: Printed,
    /// What a model has said so far, by the id of the entry that will take its place.
    drafts: HashMap<String, String>,
    /// What was looked at for answers that are being made, as far as it was shown.
    told_looks: Vec<Value>,
    is_over: bool,
    /// Something stands where the prompt was. Otherwise it stays, and with it what is being typed.
    needs_prompt: Cell<bool>,
}

impl<'h> Chat<'h> {
    fn new(line: Line<'h>, is_watched: bool) -> Self {
        let deck = Deck::new(&line.cards);
        Chat {
            line,
            paint: Paint::of_stdout(),
            is_watched,
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
            printed: Printed::default(),
            drafts: HashMap::new(),
            told_looks: Vec::new(),
            is_over: false,
            needs_prompt: Cell::new(true),
        }
    }

    fn greet(&mut self) {
        let entries = self.line.snapshot["entries"].as_array().cloned().unwrap_or_default();
        for entry in entries.iter().rev().take(LAST_SHOWN).rev() {
            self.entry(entry);
        }
        let state = ambient(&self.line.snapshot, needing_review(&self.line.cards));
        self.print(&self.paint.quiet(&format!("{state}. Say what you want, or /help.")));
        if entries.is_empty() {
            self.print(&self.paint.quiet("New here? Say: try it on a sample project"));
        }
        self.next_card();
    }

    /// Until the owner leaves, or what a pipe said is done.
    fn follow(&mut self, events: &mpsc::Receiver<Event>, tell: &mpsc::Sender<Event>) -> Result<ExitCode> {
        loop {
            // Whoever has left says nothing more.
            while !self.is_over
                && let Some(keyed) = self.next_typed()
            {
                match self.typed(&keyed) {
                    // That it is gone is heard next.
                    Err(_) if self.is_watched && self.line.is_lost() => {
                        self.print("Silas went away, so this was not said.");
                    }
                    done => done?,
                }
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
                Some(Event::CtrlC) if self.drafts.is_empty() && self.owed.is_empty() => {
                    println!();
                    return Ok(ExitCode::from(INTERRUPTED));
                }
                // As the page's Stop beside an answer; a second one, with nothing left to stop, leaves.
                Some(Event::CtrlC) => {
                    self.line.send(&json!({ "type": "interrupt" }))?;
                    self.owed.clear();
                    self.print(&self.paint.quiet("Stopping the answer. Ctrl-C once more leaves."));
                }
                // A script cannot know what became of what it said; a person sees it.
                Some(Event::Gone(cause)) if !self.is_watched => return Err(cause),
                Some(Event::Gone(_)) => match self.come_back(events, tell)? {
                    Some(code) => return Ok(code),
                    None => continue,
                },
            }
        }
    }

    /// Silas went away under the talk: it goes on when Silas is back. What was typed meanwhile is dropped, and said so.
    fn come_back(&mut self, events: &mpsc::Receiver<Event>, tell: &mpsc::Sender<Event>) -> Result<Option<ExitCode>> {
        self.print("Silas is not answering. This talk goes on when it is back; Ctrl-C leaves.");
        let mut n_dropped = 0;
        loop {
            match events.recv_timeout(COME_BACK_PAUSE) {
                Ok(Event::CtrlC) => {
                    println!();
                    return Ok(Some(ExitCode::from(INTERRUPTED)));
                }
                Ok(Event::End) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                    println!();
                    return Ok(Some(ExitCode::FAILURE));
                }
                Ok(Event::Typed(_)) => n_dropped += 1,
                Ok(_) | Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if self.line.reopen().is_ok() {
                break;
            }
        }
        listen(&mut self.line, tell)?;
        self.deck = Deck::new(&self.line.cards);
        (self.confirm, self.typing, self.wording, self.deciding, self.awaited) = (None, None, None, None, None);
        (self.is_result_due, self.drafts) = (false, HashMap::new());
        self.owed.clear();
        self.answered.clear();
        self.print("Silas is back.");
        if n_dropped > 0 {
            self.print("What you typed meanwhile was not said.");
        }
        let entries = self.line.snapshot["entries"].as_array().cloned().unwrap_or_default();
        for entry in
            entries.iter().filter(|entry| !self.told_entries.contains_key(&entry["id"].to_string())).collect::<Vec<_>>()
        {
            self.entry(entry);
        }
        self.next_card();
        Ok(None)
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
