//! What a chat makes of what is typed: words, numbers that answer a card, and commands.

use super::super::face::{Extent, print_face};
use super::super::print::{print_activity, print_cards};
use super::super::{Line, NOTHING_TO_UNDO, last_undo, names, starts_work};
use super::Chat;
use super::choices::{self, Choice, Confirm};
use super::keyboard::Keyed;
use super::typed::{self, Typed};
use anyhow::Result;
use serde_json::json;
use silas_core::card::{Card, Press};
use silas_runtime::Words;

impl Chat<'_> {
    pub(super) fn typed(&mut self, keyed: &Keyed) -> Result<()> {
        let text = keyed.text.as_str();
        if let Some(typing) = self.typing.take() {
            self.give(typing, text);
            return Ok(());
        }
        if let Some(card) = self.wording.take() {
            return match typed::read(text) {
                Typed::Nothing => {
                    self.print("Nothing was answered; the card stays.");
                    self.numbers();
                    Ok(())
                }
                // Above all, Stop is never an answer.
                Typed::Command(command) => {
                    self.command(command)?;
                    self.numbers();
                    Ok(())
                }
                Typed::Number(_) => self.answer(&card, text.trim()),
                Typed::Words(words) => self.answer(&card, words),
            };
        }
        if let Some(confirm) = self.confirm.take() {
            if !confirm.is_given_by(text) {
                self.print("Not confirmed. Nothing was signed.");
                self.is_over = typed::leaves(text);
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
            Typed::Number(_) if self.n_choosable() > 0 || !self.owed.is_empty() => {
                self.print("No card is on the screen that a number could answer. /review shows what waits.");
            }
            Typed::Number(_) => self.say(text.trim())?,
            Typed::Words(words) => self.say(words)?,
            Typed::Command(command) => self.command(command)?,
        }
        Ok(())
    }

    fn say(&mut self, words: &str) -> Result<()> {
        let id = self.line.say(words)?;
        self.owed.push(id);
        // As it comes back: characters that could mislead are visible.
        self.said.push(silas_gates::scrub::visible(words));
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
            // What is shown here may be older than what was applied last; another line begins with what is so now.
            "undo" => match Line::open(self.line.home()).and_then(|mut now| last_undo(&mut now)) {
                Ok(Some(card)) => {
                    print_face(&card, Extent::Glance);
                    self.decide(&card, Press::Approve)?;
                }
                Ok(None) => self.print(NOTHING_TO_UNDO),
                Err(cause) => self.print(&format!("{cause:#}")),
            },
            "stop" => {
                self.line.send(&json!({ "type": "stop" }))?;
                self.print("Everything is being stopped. Only what is being put in place already is finished.");
            }
            "quit" => self.is_over = true,
            other => self.print(&format!("There is no /{other}. /help lists what there is.")),
        }
        Ok(())
    }

    /// Puts one card on the screen, by the name that /review shows.
    pub(super) fn show(&mut self, said: &str) -> Result<()> {
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
            Choice::Answer(option) => self.answer(&card, option)?,
            Choice::OwnWords => self.wording = Some(card),
            Choice::Proof(execution) => self.line.send(&json!({ "type": "proof", "execution": execution }))?,
        }
        Ok(())
    }

    /// Answers a model's question. The wish that waited goes on, and what comes of it is told.
    fn answer(&mut self, card: &Card, words: &str) -> Result<()> {
        if !Words::new(None).shows_what_it_asks(card) {
            self.print("This card and what it asks differ. Nothing was answered.");
            return Ok(());
        }
        self.line.answer(card, words)?;
        self.answering(card);
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

    pub(super) fn answering(&mut self, card: &Card) {
        self.deciding = Some(card.id.clone());
        self.answered.insert(card.id.clone(), card.state);
        self.deck.clear();
    }
}
