//! Which card a command means, and whether whoever typed it wants what is on that card.
//!
//! A place in the list moves with every answer, so by itself it decides nothing where several cards wait: at a terminal the
//! card is named and confirmed first, in a pipe its name is needed. A number is never taken for the card that was first a
//! moment ago.

use super::CardArgs;
use super::face::{self, Extent};
use super::line::Line;
use super::names::{Which, called, name};
use super::print::{print_card, print_cards};
use crate::exit::BadInput;
use anyhow::{Result, anyhow, bail};
use silas_core::card::{Card, Cta, Press, Risk};
use silas_core::number::grouped;
use silas_core::token::Verdict;
use std::io::{BufRead, IsTerminal};

/// A card, and how surely it is the one that was meant.
pub(super) struct Meant {
    pub(super) card: Card,
    certainty: Certainty,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// It was named.
    Named,
    /// It is the only one, so a place or nothing at all names it.
    Only,
    /// One of several, by its place as it is now.
    Place,
}

/// The card that is meant, among all that are listed; without a word, the only one for which `fits` holds. `command` is what
/// was typed, without the card.
pub(super) fn meant(
    line: &mut Line<'_>,
    args: &CardArgs,
    command: &str,
    fits: impl Fn(&Card) -> bool,
) -> Result<Meant> {
    let which = Which::read(args.card.as_deref()).map_err(BadInput)?;
    let cards = line.all_cards()?;
    match which {
        Which::Named(said) => match called(&cards, &said).as_slice() {
            [card] => Ok(Meant { card: (*card).clone(), certainty: Certainty::Named }),
            [] => {
                bail!("There is no card {said}. It may have been answered meanwhile; `silas review` lists what waits.")
            }
            _ => bail!("Two cards are called {said} by chance. `silas review --json` has their whole ids; name one."),
        },
        Which::Place(place) => {
            let card = place.checked_sub(1).and_then(|n| cards.get(n)).cloned();
            let card = card.ok_or_else(|| anyhow!("There is no card {place}. `silas review` lists what waits."))?;
            let certainty = if cards.len() == 1 { Certainty::Only } else { Certainty::Place };
            Ok(Meant { card, certainty })
        }
        Which::Only => {
            let fitting: Vec<&Card> = cards.iter().filter(|card| fits(card)).collect();
            match fitting.as_slice() {
                [] => bail!("Nothing waits for a decision. `silas review` lists what there is."),
                [card] => Ok(Meant { card: (*card).clone(), certainty: Certainty::Only }),
                [first, ..] => {
                    if !args.output.json {
                        print_cards(&cards);
                    }
                    let named = name(&first.id);
                    bail!("More than one card waits. Name the one you mean, as in `silas {command} {named}`.")
                }
            }
        }
    }
}

impl Meant {
    /// One that another command has found by what it is about.
    pub(super) fn found(card: Card) -> Self {
        Meant { card, certainty: Certainty::Only }
    }

    /// Whether what `verb` does may be done: shows the card and, at a terminal, asks. `None` if it was not confirmed.
    pub(super) fn confirmed(self, press: Option<Press>, verb: &str, args: &CardArgs) -> Result<Option<Card>> {
        let Meant { card, certainty } = self;
        let (is_yes, is_json) = (args.yes, args.output.json);
        let is_watched = !is_json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let called = name(&card.id);
        if certainty == Certainty::Place && !is_watched {
            bail!(BadInput(format!(
                "A number in the list is not enough here, because several cards wait and each answer moves the others. \
                 Nothing was signed. Name the card: `silas {verb} {called}` is “{}”.",
                card.face.intent
            )));
        }
        if !is_json {
            print_card(&card, Extent::Glance);
        }
        let is_approval = press.and_then(Press::verdict) == Some(Verdict::Approved);
        if is_approval && face::n_hidden(&card) > 0 && certainty != Certainty::Named && !is_yes {
            let left = match face::n_not_shown(&card.face.diffs) {
                0 => String::new(),
                n => format!(" {} changed lines are not on the card at all.", grouped(n)),
            };
            bail!(
                "This change is too long to be shown here, so nothing was signed.{left} Read all of it with \
                 `silas show {called}`, then approve it by its name: `silas {verb} {called}`."
            );
        }
        if !is_watched || is_yes {
            return Ok(Some(card));
        }
        let cta = press.and_then(|press| card.face.ctas.iter().find(|cta| cta.press == press));
        let word = match card.face.risk.filter(|_| is_approval) {
            Some(Risk::High | Risk::Irreversible) => cta.map_or_else(|| "y".to_owned(), first_word),
            Some(Risk::Medium) => "y".to_owned(),
            None | Some(Risk::Low) if certainty == Certainty::Place => "y".to_owned(),
            None | Some(Risk::Low) => return Ok(Some(card)),
        };
        let consequence = cta.map_or("", |cta| cta.consequence.as_str());
        println!("\n{} “{}” ({called})? {consequence}", capitalised(verb), card.face.intent);
        prompt!("Type `{word}` to confirm; anything else leaves it: ");
        let mut typed = String::new();
        std::io::stdin().lock().read_line(&mut typed)?;
        Ok(is_word(&typed, &word).then_some(card))
    }
}

/// What has to be typed for a button of high risk: its own verb.
pub(super) fn first_word(cta: &Cta) -> String {
    cta.label.split_whitespace().next().unwrap_or("y").to_lowercase()
}

/// Whether this is the word that was asked for.
pub(super) fn is_word(typed: &str, word: &str) -> bool {
    let typed = typed.trim().to_lowercase();
    typed == word || (word == "y" && typed == "yes")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}
