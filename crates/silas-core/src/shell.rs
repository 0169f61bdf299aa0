//! Reads just enough shell to know which programs a script starts and which words it gives them.
//!
//! Nothing is executed or expanded here, and nothing is decided. What goes beyond lists of simple commands (groups, loops,
//! functions, here-documents) is not read at all: the caller then knows nothing and assumes the worst.

use crate::check::Command;

/// A word as it is written, without its quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// Where something is only known when it runs, it reads [`UNKNOWN`].
    pub text: String,
    /// Whether the program gets exactly this text.
    pub is_plain: bool,
}

/// Stands for what a substitution would give.
pub const UNKNOWN: char = '\u{fffd}';

/// How a command follows the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joint {
    /// The first, or one that runs if the one before succeeded.
    And,
    /// Anything else: `;`, `||`, `|`, a new line, inside a substitution.
    Other,
}

/// One program with its words. Files of redirections are among the words: the program reads or writes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Simple {
    pub joint: Joint,
    pub env: Vec<(String, Word)>,
    pub words: Vec<Word>,
    pub is_redirected: bool,
    /// Those of the words that a redirection reads from.
    pub read: Vec<Word>,
    /// Those that a redirection writes to.
    pub written: Vec<Word>,
}

impl Simple {
    fn new(joint: Joint, words: Vec<Word>) -> Self {
        Simple { joint, env: Vec::new(), words, is_redirected: false, read: Vec::new(), written: Vec::new() }
    }
}

/// Substitutions inside substitutions; more than anyone writes.
const DEPTH_MAX: usize = 8;

/// Every simple command that a command may start, or `None` where that cannot be read off.
pub fn commands(command: &Command) -> Option<Vec<Simple>> {
    match command {
        Command::Shell(script) => read(script, 0),
        Command::Argv(argv) => {
            let words: Vec<Word> = argv.iter().map(|text| Word { text: text.clone(), is_plain: true }).collect();
            Some(vec![Simple::new(Joint::And, words)])
        }
        // What a program in another language starts cannot be read off.
        Command::Python(_) => None,
    }
}

/// Words that begin something larger than a simple command.
const KEYWORDS: [&str; 18] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "}",
    "[[", "time", "in",
];

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    depth: usize,
    done: Vec<Simple>,
    now: Simple,
    /// The word under way, and whether there is one (`''` is a word too).
    word: Option<Word>,
    /// The redirection that it belongs to.
    redirected: Option<char>,
}

fn read(script: &str, depth: usize) -> Option<Vec<Simple>> {
    if depth > DEPTH_MAX {
        return None;
    }
    let joint = if depth == 0 { Joint::And } else { Joint::Other };
    let now = Simple::new(joint, Vec::new());
    let rest = script.chars().peekable();
    let mut reader = Reader { rest, depth, done: Vec::new(), now, word: None, redirected: None };
    reader.all()?;
    reader.end_command(Joint::Other)?;
    Some(reader.done)
}

impl Reader<'_> {
    fn all(&mut self) -> Option<()> {
        while let Some(c) = self.rest.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' | ';' => self.end_command(Joint::Other)?,
                '&' if self.next_is('&') => self.end_command(Joint::And)?,
                '|' if self.next_is('|') => self.end_command(Joint::Other)?,
                '|' => self.end_command(Joint::Other)?,
                // In the background, a group, a comment: not a list of commands that end.
                '&' | '(' | ')' | '`' => return None,
                '#' if self.word.is_none() => return None,
                '<' | '>' => self.redirection(c)?,
                '\'' => loop {
                    match self.rest.next()? {
                        '\'' => {
                            self.word();
                            break;
                        }
                        c => self.word().text.push(c),
                    }
                },
                '"' => self.double_quoted()?,
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    c => self.word().text.push(c),
                },
                '$' => self.substitution()?,
                '*' | '?' | '[' | ']' | '~' if !self.is_test_bracket(c) => {
                    self.word().text.push(c);
                    self.word().is_plain = false;
                }
                c => self.word().text.push(c),
            }
        }
        Some(())
    }

    fn double_quoted(&mut self) -> Option<()> {
        self.word();
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '\\' => {
                    let c = self.rest.next()?;
                    if !matches!(c, '"' | '\\' | '$' | '`' | '\n') {
                        self.word().text.push('\\');
                    }
                    if c != '\n' {
                        self.word().text.push(c);
                    }
                }
                '`' => return None,
                '$' => self.substitution()?,
                c => self.word().text.push(c),
            }
        }
    }

    /// `$NAME` is unknown; the commands of `$(…)` are read like all others.
    fn substitution(&mut self) -> Option<()> {
        let word = self.word();
        word.text.push(UNKNOWN);
        word.is_plain = false;
        match self.rest.peek()? {
            '(' => {
                self.rest.next();
                let mut inner = String::new();
                let mut open = 1;
                loop {
                    let c = self.rest.next()?;
                    match c {
                        '(' => open += 1,
                        ')' => open -= 1,
                        // Quotes could hide a parenthesis.
                        '\'' | '"' | '\\' if open > 1 => return None,
                        _ => {}
                    }
                    if open == 0 {
                        break;
                    }
                    inner.push(c);
                }
                let inner = read(&inner, self.depth + 1)?;
                self.done.extend(inner);
            }
            '{' => return None,
            c if c.is_alphanumeric() || *c == '_' => {
                while self.rest.peek().is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                    self.rest.next();
                }
            }
            _ => {
                self.rest.next();
            }
        }
        Some(())
    }

    fn redirection(&mut self, c: char) -> Option<()> {
        // A here-document, `<(…)` and their like.
        if c == '<' && matches!(self.rest.peek(), Some('<' | '(' | '>')) || self.rest.peek() == Some(&'(') {
            return None;
        }
        let is_number = |word: &Word| word.is_plain && word.text.bytes().all(|b| b.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
        // `>>` and `>|`.
        let _appends = self.next_is('>') || self.next_is('|');
        let is_copied = self.next_is('&');
        if is_copied {
            while self.rest.peek().is_some_and(|c| c.is_ascii_digit() || *c == '-') {
                self.rest.next();
            }
        }
        self.redirected = (!is_copied).then_some(c);
        self.now.is_redirected = true;
        Some(())
    }

    fn is_test_bracket(&self, c: char) -> bool {
        let alone = self.word.is_none();
        c == '[' && alone && self.now.words.is_empty() || c == ']' && alone
    }

    fn next_is(&mut self, c: char) -> bool {
        self.rest.next_if_eq(&c).is_some()
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert(Word { text: String::new(), is_plain: true })
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirected.take() {
            Some('<') => self.now.read.push(word.clone()),
            Some(_) => self.now.written.push(word.clone()),
            None => {}
        }
        if self.now.words.is_empty() {
            if word.text == "!" {
                return;
            }
            if let Some((name, value)) = assignment(&word) {
                self.now.env.push((name, value));
                return;
            }
        }
        self.now.words.push(word);
    }

    fn end_command(&mut self, next: Joint) -> Option<()> {
        self.end_word();
        let fresh = Simple::new(next, Vec::new());
        let ended = std::mem::replace(&mut self.now, fresh);
        match ended.words.first() {
            Some(first) if !first.is_plain && first.text != "[" => return None,
            Some(first) if KEYWORDS.contains(&first.text.as_str()) => return None,
            Some(_) => self.done.push(ended),
            None if ended.env.is_empty() => {}
            // An assignment by itself changes what later words mean.
            None => return None,
        }
        Some(())
    }
}

fn assignment(word: &Word) -> Option<(String, Word)> {
    let (name, value) = word.text.split_once('=')?;
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then(|| (name.to_owned(), Word { text: value.to_owned(), is_plain: word.is_plain }))
}

#[cfg(test)]
mod tests;
