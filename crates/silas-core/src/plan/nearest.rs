//! "Did you mean": the known word that a mistyped one is closest to.

/// Words longer than this are not compared; a suggestion for them would be a guess and costs time to find.
const WORD_CHARS_MAX: usize = 64;

/// The known word with the fewest letters to change, if that is at most a third of them (but one is always allowed).
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let letters: Vec<char> = word.chars().take(WORD_CHARS_MAX + 1).collect();
    if letters.len() > WORD_CHARS_MAX {
        return None;
    }
    let closest = known.iter().map(|candidate| (distance(&letters, candidate), *candidate)).min_by_key(|(d, _)| *d)?;
    (closest.0 <= (letters.len() / 3).max(1)).then_some(closest.1)
}

/// Letters to insert, delete or replace (Levenshtein), with one row of the table kept.
fn distance(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(!a.eq_ignore_ascii_case(b));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
