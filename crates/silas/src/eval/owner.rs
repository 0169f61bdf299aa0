//! The mechanical owner: says the wish and approves every card that follows, within an installation that exists for one
//! task. It decides nothing about money, and nothing outside.

use crate::home::Home;
use crate::terminal::Line;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use silas_core::CardId;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::input::Input;
use silas_core::model::ModelGrant;
use silas_store::{Reader, Store, executions};
use std::collections::BTreeSet;
use std::time::Instant;

/// More questions than this about one wish is a circle.
const CARDS_MAX: usize = 20;

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The work is in place.
    Applied,
    /// There was work, and it is not in place.
    NotApplied,
    /// There were only words.
    Words,
    /// More money would have been needed.
    OverCap,
    OutOfTime,
    /// Something did not work at all.
    Trouble,
}

pub(super) struct Played {
    pub(super) end: End,
    /// At least one check went from red to green, and the work is in place.
    pub(super) is_proven: bool,
    /// Questions about this wish, without those that a machine is asked once: models, house rules, directories.
    pub(super) n_cards: usize,
    /// The last that was said.
    pub(super) last: String,
}

/// What is agreed to before anything is wished for. Gives the cards that are answered with it.
pub(super) fn prepare(line: &mut Line<'_>, grants: &[ModelGrant]) -> Result<BTreeSet<CardId>> {
    line.send(&json!({ "type": "house_rules" }))?;
    let is_rules = |card: &&Card| card.face.kind == CardKind::HouseRules;
    if !line.cards.iter().any(|card| is_rules(&card)) {
        line.wait_for(|message| message["type"] == "cards" && message["cards"].to_string().contains("house_rules"))?;
    }
    let card = line.cards.iter().find(is_rules).cloned().context("The house rules cannot be agreed to.")?;
    approve(line, &card)?;
    let mut answered = BTreeSet::from([card.id]);
    for grant in grants {
        line.send(&json!({ "type": "model_add", "grant": grant }))?;
        let asked = line.wait_for(|message| message["type"] == "asked")?;
        let card: Card = serde_json::from_value(asked["card"].clone())?;
        approve(line, &card)?;
        answered.insert(card.id);
    }
    Ok(answered)
}

fn approve(line: &mut Line<'_>, card: &Card) -> Result<()> {
    let (recorded, message) = line.decide(card, Press::Approve)?;
    if recorded { Ok(()) } else { bail!("{message}") }
}

/// Says it, and answers whatever follows until nothing more does.
pub(super) fn play(
    home: &Home,
    line: &mut Line<'_>,
    seen: BTreeSet<CardId>,
    wish: &str,
    until: Instant,
) -> Result<Played> {
    let store = Store::open_read_only(&home.store())?;
    let mut owner = Owner { line, store, until, seen, n_cards: 0, n_awaited: 1, last: String::new() };
    let end = match owner.follow(wish) {
        Ok(end) => end,
        Err(_) if Instant::now() >= until => End::OutOfTime,
        Err(trouble) => {
            owner.last = format!("{trouble:#}");
            End::Trouble
        }
    };
    let is_proven = end == End::Applied && owner.is_proven()?;
    Ok(Played { end, is_proven, n_cards: owner.n_cards, last: owner.last })
}

struct Owner<'a, 'h> {
    line: &'a mut Line<'h>,
    store: Reader,
    until: Instant,
    /// Cards that were answered or need no answer.
    seen: BTreeSet<CardId>,
    n_cards: usize,
    /// Replies that are still to come: one to the wish, and one more each time that it was set free.
    n_awaited: usize,
    last: String,
}

impl Owner<'_, '_> {
    fn follow(&mut self, wish: &str) -> Result<End> {
        self.line.say(wish)?;
        loop {
            if let Some(end) = self.answer()? {
                return Ok(end);
            }
            if self.n_awaited == 0 && self.is_over()? {
                return Ok(End::Words);
            }
            if !self.is_waiting() {
                self.hear()?;
            }
        }
    }

    /// Answers what waits; or says how it ended, where a card tells that.
    fn answer(&mut self) -> Result<Option<End>> {
        let is_new = |card: &&Card| card.state == CardState::Open && !self.seen.contains(&card.id);
        let waiting: Vec<Card> = self.line.cards.iter().filter(is_new).cloned().collect();
        for card in waiting {
            self.seen.insert(card.id.clone());
            let kind = card.face.kind;
            if matches!(kind, CardKind::Done) {
                self.last.clone_from(&card.face.intent);
                return Ok(Some(End::Applied));
            }
            let offers = card.offer.is_some() && card.face.ctas.iter().any(|cta| cta.press == Press::Approve);
            // A host that a command asks for is nothing that a measurement may allow.
            let is_over = matches!(kind, CardKind::Report | CardKind::Refusal | CardKind::Conflict);
            if is_over || (kind == CardKind::Rehearsed && !offers) {
                self.last.clone_from(&card.face.intent);
                return Ok(Some(End::NotApplied));
            }
            // The first answer is the one that the model thinks best; whoever measures has no other.
            if let Some(inquiry) = card.input.as_ref().and_then(Input::inquiry) {
                self.n_cards += 1;
                self.n_awaited += 1;
                let best = inquiry.options.first().cloned().unwrap_or_default();
                self.line.answer(&card, &best)?;
                continue;
            }
            // Nobody is there who could type something, or choose.
            if matches!(kind, CardKind::SecureInput | CardKind::ModelChoice) {
                self.last.clone_from(&card.face.intent);
                return Ok(Some(End::NotApplied));
            }
            if kind == CardKind::Budget {
                self.last.clone_from(&card.face.intent);
                return Ok(Some(End::OverCap));
            }
            if !offers {
                continue;
            }
            if !matches!(kind, CardKind::Root | CardKind::Model | CardKind::HouseRules | CardKind::Pairing) {
                self.n_cards += 1;
            }
            if self.n_cards > CARDS_MAX {
                bail!("More than {CARDS_MAX} cards were asked.");
            }
            // The wish waits for these, and is answered again after them.
            if matches!(kind, CardKind::Root | CardKind::Model) {
                self.n_awaited += 1;
            }
            self.line.hand_in(&card, Press::Approve)?;
        }
        Ok(None)
    }

    /// One message, whatever it is.
    fn hear(&mut self) -> Result<()> {
        let left = self.until.checked_duration_since(Instant::now()).context("The time is over.")?;
        self.line.wait_at_most(left)?;
        let message = self.line.wait_for(|_| true)?;
        match message["type"].as_str() {
            Some("message") if message["entry"]["sender"] == "silas" => {
                if !message["entry"]["answers"].is_null() {
                    self.n_awaited = self.n_awaited.saturating_sub(1);
                }
                self.last = text(&message["entry"]["text"]);
            }
            Some("decided") if message["recorded"] != true => bail!("{}", text(&message["message"])),
            _ => {}
        }
        Ok(())
    }

    /// A reply is written together with the card or the work that follows from it; with neither, nothing follows.
    fn is_over(&mut self) -> Result<bool> {
        if self.store.read(executions::is_any).wait()? {
            return Ok(false);
        }
        self.line.send(&json!({ "type": "cards", "from": 0 }))?;
        let page = self.line.wait_for(|message| message["type"] == "cards_page")?;
        let page: Vec<Card> = serde_json::from_value(page["cards"].clone())?;
        // Added, not put in their place: what was announced meanwhile may be newer than the page.
        let is_unknown = |card: &Card| !self.line.cards.iter().any(|known| known.id == card.id);
        let more: Vec<Card> = page.into_iter().filter(is_unknown).collect();
        self.line.cards.extend(more);
        Ok(!self.is_waiting())
    }

    /// Whether something can be answered before anything else is heard.
    fn is_waiting(&self) -> bool {
        self.line.cards.iter().any(|card| card.state == CardState::Open && !self.seen.contains(&card.id))
    }

    fn is_proven(&mut self) -> Result<bool> {
        self.line.send(&json!({ "type": "work_list" }))?;
        let list = self.line.wait_for(|message| message["type"] == "work_list")?;
        let proven = |work: &Value| work["state"] == "applied" && work["outcome"] == "proved";
        Ok(list["work_list"].as_array().is_some_and(|list| list.iter().any(proven)))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
