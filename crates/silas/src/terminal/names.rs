//! What a card is called in the terminal: five letters that stay its own, whatever is answered before it.
//!
//! They follow from the card's id, so nothing is kept for them. Only consonants, so that no name is a word or a number.

use silas_core::card::Card;
use silas_core::{CardId, Digest};

const LETTERS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";
/// Two and a half million names: that two cards in Review share one is a matter of decades, and then both are refused.
const NAME_LETTERS: usize = 5;

pub(crate) fn name(id: &CardId) -> String {
    let digest = Digest::of(id.as_str().as_bytes());
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
        let is_name = said.len() == NAME_LETTERS && said.bytes().all(|b| LETTERS.contains(&b));
        if is_name || CardId::parse(&said).is_ok() {
            return Ok(Which::Named(said));
        }
        Err(format!(
            "`{}` names no card. `silas review` shows the name of each, five letters.",
            said.chars().take(40).collect::<String>()
        ))
    }
}

/// Those that are called so; more than one only by chance.
pub(crate) fn called<'c>(cards: &'c [Card], said: &str) -> Vec<&'c Card> {
    cards.iter().filter(|card| card.id.as_str() == said || name(&card.id) == said).collect()
}

#[cfg(test)]
mod tests;
