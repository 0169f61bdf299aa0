//! A wish that was nearly understood: "run make", without a directory. Says what is missing and how the whole sentence would
//! read, for somebody to look at and say again.
//!
//! Reading is generous here because nothing follows from it. What is understood is [`decide`]'s alone, and a text that it
//! understands is never near.

use super::{Decision, bare, decide, quote, quoted, word};

/// A sentence that lacks something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Near {
    /// In the order in which it would be said; empty if only the words around the parts differ.
    pub missing: Vec<Missing>,
    /// The owner's own sentence with a word in capitals for each part that nobody can guess. It is understood.
    pub sentence: String,
}

impl Near {
    /// The sentence with this directory, if that is all that it lacks. It is understood.
    pub fn completed_with(&self, directory: &str) -> Option<String> {
        if self.missing != [Missing::Directory] {
            return None;
        }
        let at = self.sentence.find(DIRECTORY)?;
        let is_quoted = self.sentence[..at].ends_with('`');
        let named = if is_quoted { directory.to_owned() } else { quote(directory) };
        Some(as_typed(self.sentence.replacen(DIRECTORY, &named, 1)))
    }
}

/// The sentence as somebody would type it: without backticks, if that means the same.
pub fn as_typed(quoted: String) -> String {
    let bare = quoted.replace('`', "");
    if decide(&bare) == decide(&quoted) { bare } else { quoted }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Missing {
    Command,
    Directory,
    Host,
    Check,
    /// Around something that was named.
    Backticks,
    /// It stands behind the check.
    Order,
    /// Words that belong to no part.
    TooMuch(String),
}

/// What is longer was not typed by somebody who forgot a word.
const NEAR_CHARS_MAX: usize = 1_000;

/// What stands for a part that was not named, as in [`super::UNDERSTOOD`].
const COMMAND: &str = "COMMAND";
const DIRECTORY: &str = "~/DIRECTORY";
const HOST: &str = "HOST:443";

pub fn near(text: &str) -> Option<Near> {
    let text = text.trim();
    if text.chars().count() > NEAR_CHARS_MAX || decide(text) != Decision::NotUnderstood {
        return None;
    }
    let rest = word(text, &["run", "please run"])?;
    if !(rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == '`')) {
        return None;
    }
    let mut reading = Reading::default();
    for Cut { part, words, .. } in parts(rest) {
        reading.take(part, words)?;
    }
    let near = reading.completed();
    let is_understood = matches!(decide(&near.sentence), Decision::RunAndCheck { .. } | Decision::Run { .. });
    is_understood.then_some(near)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Command,
    Places,
    Reads,
    Commits,
    Hosts,
    Check { openly: bool },
}

/// What begins each part, longer before shorter.
const OPENERS: [(Part, &[&str]); 6] = [
    (
        Part::Check { openly: true },
        &["and check openly with", "and then check openly with", "then check openly with", "check openly with"],
    ),
    (
        Part::Check { openly: false },
        &[
            "and check it with",
            "and check with",
            "and then check with",
            "then check it with",
            "then check with",
            "check it with",
            "check with",
            "and check",
            "then check",
        ],
    ),
    (Part::Places, &["and in", "in", "inside"]),
    (Part::Reads, &["and reading", "reading"]),
    (Part::Commits, &["and with commits", "with commits", "and commit"]),
    (Part::Hosts, &["and reaching", "reaching"]),
];

/// A piece of a sentence.
pub(super) struct Cut<'a> {
    pub(super) part: Part,
    /// The words that begin it.
    pub(super) opener: &'a str,
    pub(super) words: &'a str,
}

/// The sentence cut where a part begins; nothing within backticks begins one.
pub(super) fn parts(text: &str) -> Vec<Cut<'_>> {
    let mut found = vec![(Part::Command, 0, 0)];
    let (mut at, mut is_word_start) = (0, true);
    while let Some(c) = text[at..].chars().next() {
        if let Some((_, after)) = quoted(&text[at..]).filter(|_| c == '`') {
            at = text.len() - after.len();
            is_word_start = true;
            continue;
        }
        let last = found.last().map_or(Part::Command, |(part, ..)| *part);
        let begins = if is_word_start { opener(&text[at..], last, &found) } else { None };
        match begins {
            Some((part, rest)) => {
                let start = text.len() - rest.len();
                found.push((part, at, start));
                at = start;
                is_word_start = true;
            }
            None => {
                is_word_start = c.is_whitespace() || c == ',';
                // A fence that nobody closes is one thing, however long it is.
                let n_ticks = text[at..].bytes().take_while(|b| *b == b'`').count();
                at += c.len_utf8().max(n_ticks);
            }
        }
    }
    let ends = found.iter().skip(1).map(|(_, begins, _)| *begins).chain([text.len()]);
    let cut = |((part, at, start), end): (&(Part, usize, usize), usize)| {
        let (opener, words) = (&text[*at..*start], part_words(&text[*start..end]));
        Cut { part: *part, opener, words }
    };
    found.iter().zip(ends).map(cut).collect()
}

/// Without what only joins it to the next, and without backticks around nothing.
fn part_words(text: &str) -> &str {
    let text = text.trim().trim_matches(',').trim();
    let text = text.strip_suffix("and").filter(|rest| rest.is_empty() || rest.ends_with([' ', '`'])).unwrap_or(text);
    if text.chars().all(|c| c == '`' || c.is_whitespace()) { "" } else { text.trim() }
}

fn opener<'a>(text: &'a str, last: Part, found: &[(Part, usize, usize)]) -> Option<(Part, &'a str)> {
    // A comma before it is another character's.
    if text.starts_with(|c: char| c.is_whitespace() || c == ',') {
        return None;
    }
    let has_places = found.iter().any(|(part, ..)| *part == Part::Places);
    let may_begin = |part: Part| match last {
        // What checks may have any words in it; only a directory that nobody named yet is looked for there.
        Part::Check { .. } => part == Part::Places && !has_places,
        _ => true,
    };
    OPENERS.iter().filter(|(part, _)| may_begin(*part)).find_map(|(part, phrases)| Some((*part, word(text, phrases)?)))
}

#[derive(Default)]
struct Reading {
    run: Option<String>,
    directories: Vec<String>,
    reads: Vec<String>,
    commits: bool,
    hosts: Vec<String>,
    check: Option<String>,
    openly: bool,
    /// Whether a check was begun, with or without a command.
    is_checked: bool,
    missing: Vec<Missing>,
}

impl Reading {
    /// Nothing if not even this can be read.
    fn take(&mut self, part: Part, words: &str) -> Option<()> {
        match part {
            Part::Command => self.run = self.command(words)?,
            Part::Check { openly } => {
                self.openly = openly;
                self.is_checked = true;
                self.check = self.command(words.trim_end_matches(['.', '!']))?;
            }
            Part::Places => {
                if self.check.is_some() {
                    self.missing.push(Missing::Order);
                }
                let named = self.named(words.trim_end_matches('!'), Missing::Directory)?;
                self.directories.extend(named);
            }
            Part::Reads => {
                let named = self.named(words, Missing::Directory)?;
                self.reads.extend(named);
            }
            Part::Hosts => {
                let named = self.named(words, Missing::Host)?;
                self.hosts.extend(named);
            }
            Part::Commits => {
                self.commits = true;
                self.too_much(words);
            }
        }
        Some(())
    }

    /// A command, in backticks or not.
    fn command(&mut self, words: &str) -> Option<Option<String>> {
        if let Some((text, rest)) = quoted(words) {
            self.too_much(rest);
            return Some(Some(text));
        }
        let text = without_marks(words)?;
        if !text.is_empty() {
            self.missing.push(Missing::Backticks);
        }
        Some((!text.is_empty()).then(|| text.to_owned()))
    }

    /// Names with commas or "and" between them.
    fn named(&mut self, words: &str, none: Missing) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut rest = words;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(after) = word(rest, &["and"]) {
                rest = after;
                continue;
            }
            if rest.is_empty() {
                break;
            }
            if let Some((name, after)) = quoted(rest) {
                names.push(name);
                rest = after;
                continue;
            }
            let end = [rest.find(','), rest.find(" and "), rest.find('`')].into_iter().flatten().min();
            let (name, after) = rest.split_at(end.filter(|end| *end > 0).unwrap_or(rest.len()));
            let whole = bare(name).is_some_and(|(_, after)| after.trim().is_empty()) && none == Missing::Directory;
            if !whole {
                self.missing.push(Missing::Backticks);
            }
            names.push(without_marks(name.trim())?.to_owned());
            rest = after;
        }
        if names.is_empty() {
            self.missing.push(none);
        }
        Some(names)
    }

    fn too_much(&mut self, words: &str) {
        let words = words.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!'));
        if !words.is_empty() && !words.eq_ignore_ascii_case("and") {
            self.missing.push(Missing::TooMuch(words.to_owned()));
        }
    }

    fn completed(mut self) -> Near {
        if self.run.is_none() {
            self.missing.push(Missing::Command);
        }
        // What may commit is checked; everything else may simply be run, in a directory that is named.
        let wants_check = self.is_checked || self.commits;
        if wants_check && self.check.is_none() {
            self.missing.push(Missing::Check);
        }
        if !wants_check && self.directories.is_empty() {
            self.missing.push(Missing::Directory);
        }
        let is_place_missing = self.missing.contains(&Missing::Directory) && self.directories.is_empty();
        // A directory need not be named; whoever gets the form of the whole sentence sees where it goes.
        if is_place_missing || (self.directories.is_empty() && self.check.is_none()) {
            self.directories.push(DIRECTORY.to_owned());
        }
        // As long as something else is missing, that is what keeps it from being understood.
        if self.missing.iter().any(|missing| *missing != Missing::Backticks) {
            self.missing.retain(|missing| *missing != Missing::Backticks);
        }
        if self.missing.contains(&Missing::Host) && self.hosts.is_empty() {
            self.hosts.push(HOST.to_owned());
        }
        self.missing.sort();
        self.missing.dedup();
        let all = |lead: &str, names: &[String]| match names {
            [] => String::new(),
            names => format!(" {lead} {}", names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(" and ")),
        };
        let check = match wants_check {
            true => format!(
                " and check {}with {}",
                if self.openly { "openly " } else { "" },
                quote(self.check.as_deref().unwrap_or(COMMAND))
            ),
            false => String::new(),
        };
        let sentence = format!(
            "run {}{}{}{}{}{check}",
            quote(self.run.as_deref().unwrap_or(COMMAND)),
            all("in", &self.directories),
            all("reading", &self.reads),
            if self.commits { " with commits" } else { "" },
            all("reaching", &self.hosts),
        );
        Near { missing: self.missing, sentence: as_typed(sentence) }
    }
}

/// Without quotation marks of another kind around all of it, or a backtick that stands alone.
fn without_marks(text: &str) -> Option<&str> {
    let pairs = [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('«', '»')];
    let inner = pairs.iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(*open)?.strip_suffix(*close)?;
        (!inner.contains([*open, *close])).then_some(inner)
    });
    let is_unclosed = text.starts_with('`') || text.ends_with('`');
    let text = inner.unwrap_or(text);
    let text = if is_unclosed && text.matches('`').count() == 1 { text.trim_matches('`') } else { text };
    // Where a text begins and another ends is nobody's guess.
    (!text.starts_with('`')).then(|| text.trim())
}

#[cfg(test)]
mod tests;
