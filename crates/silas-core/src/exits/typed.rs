//! Whether a value stands in what the owner typed. It must stand there whole: `notes.md` is not in `docs/notes.md.bak`.

/// Whether the words contain the value, with nothing on either side that would make it a part of something longer.
pub fn contains(words: &str, value: &str) -> bool {
    occurrences(words, value).next().is_some()
}

/// For names of files. A name that could be a word of the language (`run`, `Makefile`) must have been typed as a name, in
/// quotes; otherwise every wish would name a few files. And a command is not a list of files to change: in backticks the
/// name must stand alone.
pub(super) fn names(words: &str, value: &str) -> bool {
    let looks_like_one = value.contains(['.', '/']);
    let is_quoted = |(before, after): (&str, &str)| {
        let quote = before.chars().next_back().filter(|c| matches!(c, '`' | '"' | '\''));
        quote.is_some_and(|quote| after.starts_with(quote))
    };
    let is_in_code = |before: &str| before.matches('`').count() % 2 == 1;
    occurrences(words, value).any(|around| is_quoted(around) || (looks_like_one && !is_in_code(around.0)))
}

/// What stands before and after each place where the value stands whole.
fn occurrences<'a>(words: &'a str, value: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_something = !value.trim().is_empty();
    let found = words.match_indices(value).filter(move |_| is_something);
    let around = found.map(move |(at, _)| (&words[..at], &words[at + value.len()..]));
    around.filter(|(before, after)| !goes_on(before.chars().next_back(), None) && !goes_on_after(after))
}

fn goes_on(next: Option<char>, beyond: Option<char>) -> bool {
    match next {
        // At the end of a sentence, or in the middle of a name?
        Some('.' | ':' | '@') => beyond.is_none_or(char::is_alphanumeric),
        Some(c) => c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '\\' | '~' | '*'),
        None => false,
    }
}

fn goes_on_after(after: &str) -> bool {
    let mut chars = after.chars();
    let next = chars.next();
    // Nothing comes after the last full stop.
    goes_on(next, chars.next().or(Some(' ')))
}
