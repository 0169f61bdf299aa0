//! What a provider says about an error, short enough to show and without the key, which some of them repeat.

use silas_core::secret::Secret;

const REASON_CHARS_MAX: usize = 160;
/// Words that share this much with the key are the key, masked or cut.
const LIKENESS: usize = 6;

pub(super) fn reason(said: &str, key: Option<&Secret>) -> String {
    let key = key.map(|key| String::from_utf8_lossy(key.expose()).into_owned());
    let is_key = |word: &str| key.as_deref().is_some_and(|key| is_like(word, key));
    let words: Vec<&str> = said.split_whitespace().map(|word| if is_key(word) { "[secret]" } else { word }).collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX).collect()
}

/// Whether a word holds a piece of the key.
fn is_like(word: &str, key: &str) -> bool {
    let key: Vec<char> = key.trim().chars().collect();
    if key.len() < LIKENESS {
        return key.len() > 2 && word.contains(key.iter().collect::<String>().as_str());
    }
    key.windows(LIKENESS).any(|piece| word.contains(piece.iter().collect::<String>().as_str()))
}
