//! What a thing of a list is called in the terminal: five letters that stay its own, whatever comes or goes before it.
//!
//! They follow from the thing's id, so nothing is kept for them. Only consonants, so that no name is a word or a number.
//! Deliberately absent: places. Only cards have them, where a person is asked before one counts; see `answering.rs`.

use crate::exit::BadInput;
use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Value, json};
use silas_core::card::Card;
use silas_core::{CardId, Digest};

const LETTERS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";
/// Two and a half million names: that two things of a list share one is a matter of decades, and then both are refused.
const NAME_LETTERS: usize = 5;
/// As much of what was said as a refusal repeats.
const SAID_CHARS_MAX: usize = 40;

pub(crate) fn name(id: &CardId) -> String {
    name_of(id.as_str())
}

/// The name of whatever has this id.
pub(crate) fn name_of(id: &str) -> String {
    let digest = Digest::of(id.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest.as_bytes()[..8]);
    let mut rest = u64::from_be_bytes(bytes);
    let mut name = String::new();
    for _ in 0..NAME_LETTERS {
        name.push(char::from(LETTERS[(rest % LETTERS.len() as u64) as usize]));
        rest /= LETTERS.len() as u64;
    }
    name
}

fn is_name(said: &str) -> bool {
    said.len() == NAME_LETTERS && said.bytes().all(|b| LETTERS.contains(&b))
}

/// What a program reads of a thing, with the name by which the commands know it.
pub(crate) fn with_name(thing: &impl Serialize, id: &str) -> Value {
    let mut value = json!(thing);
    value["called"] = json!(name_of(id));
    value
}

/// A list of things that commands name, for the words of a refusal.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    /// One of them, as in "There is no grant".
    pub(crate) noun: &'static str,
    /// The command that shows them with their names; with `--json` it has their ids too.
    pub(crate) list: &'static str,
}

impl Named {
    /// The one that is meant, by its name or its whole id. A place in the list is refused: it moves when another goes.
    pub(crate) fn find<'t, T>(&self, things: &'t [T], id: impl Fn(&T) -> &str, said: &str) -> Result<&'t T> {
        let (Named { noun, list }, said) = (*self, said.trim());
        let small = said.to_ascii_lowercase();
        let meant = |thing: &&T| id(thing) == said || name_of(id(thing)) == small;
        match things.iter().filter(meant).collect::<Vec<_>>().as_slice() {
            [one] => Ok(one),
            [] if said.parse::<i64>().is_ok() => bail!(BadInput(format!(
                "{said} is a place in a list, and places move when something comes or goes. Nothing was changed. Name the \
                 {noun}: `{list}` shows the name of each, five letters."
            ))),
            [] if is_name(&small) => {
                bail!("There is no {noun} {small}. It may be gone meanwhile; `{list}` shows what there is.")
            }
            [] => bail!(BadInput(format!(
                "`{}` names no {noun}. `{list}` shows the name of each, five letters.",
                said.chars().take(SAID_CHARS_MAX).collect::<String>()
            ))),
            _ => {
                bail!("Two are called {small} by chance. Nothing was changed. `{list} --json` has their ids; name one.")
            }
        }
    }
}

/// How somebody says which card is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// The only one.
    Only,
    /// Its place in the list as it is now; the next answer moves it.
    Place(usize),
    /// Its name, or its whole id.
    Named(String),
}

impl Which {
    pub(crate) fn read(said: Option<&str>) -> Result<Self, String> {
        let Some(said) = said.map(str::trim) else { return Ok(Which::Only) };
        if let Ok(place) = said.parse() {
            return Ok(Which::Place(place));
        }
        let said = said.to_ascii_lowercase();
        if is_name(&said) || CardId::parse(&said).is_ok() {
            return Ok(Which::Named(said));
        }
        Err(format!(
            "`{}` names no card. `silas review` shows the name of each, five letters.",
            said.chars().take(SAID_CHARS_MAX).collect::<String>()
        ))
    }
}

/// Those that are called so; more than one only by chance.
pub(crate) fn called<'c>(cards: &'c [Card], said: &str) -> Vec<&'c Card> {
    cards.iter().filter(|card| card.id.as_str() == said || name(&card.id) == said).collect()
}

#[cfg(test)]
mod tests;
