//! What a row is, as a person would call it: said where one cannot be read.

/// The table that a statement is about, and what a row of it is.
const NOUNS: &[(&str, &str)] = &[
    ("budget_extensions", "an answer about what models may cost"),
    ("cards", "a card of Review"),
    ("changes", "a note of Silas's own"),
    ("channel_outbox", "an entry of the conversation"),
    ("checkpoints", "a checkpoint of the ledger"),
    ("chronicle", "an entry of the conversation"),
    ("consulted_answers", "an answer of a model"),
    ("devices", "a device"),
    ("drained", "a note about your tasks"),
    ("executions", "a piece of work"),
    ("executor_answers", "an answer of a model"),
    ("instructions", "an instruction that you signed"),
    ("ledger", "an entry of the ledger"),
    ("ledger_ids", "an entry of the ledger"),
    ("marks", "a note of Silas's own"),
    ("migrations", "the version of the database"),
    ("model_calls", "what a model cost"),
    ("nonces", "a note about what was used already"),
    ("operations", "a change to your tasks"),
    ("outbox", "a change to your tasks"),
    ("processed", "a note about what is done already"),
    ("queue", "a message that waits to be dealt with"),
    ("sagas", "a change to your tasks"),
    ("sessions", "what a device has seen"),
    ("settings", "a setting"),
    ("task_changes", "a change to your tasks"),
    ("tasks", "a task"),
    ("texts", "a text of the ledger"),
    ("token_changes", "a change to what you allowed"),
    ("tokens", "a decision that you signed"),
    ("turn_answers", "an answer of a model"),
    ("work_items", "a plan"),
];

/// The table that a statement is about: for one that changes something, the one that it changes.
pub(crate) fn table(sql: &str) -> &str {
    let mut words = sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let _verb = words.find(|word| ["FROM", "INTO", "UPDATE"].contains(word));
    words.next().unwrap_or_default()
}

pub(crate) fn noun(sql: &str) -> &'static str {
    let table = table(sql);
    let at = NOUNS.binary_search_by_key(&table, |(table, _)| table);
    at.map_or("something in the database", |at| NOUNS[at].1)
}

/// The same at the beginning of a sentence.
pub fn beginning(noun: &str) -> String {
    let mut chars = noun.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests;
