//! One text of a JSON object, read while the object is still arriving, and cut into sentences.
//!
//! This reads for showing only. What counts is read from the whole answer, strictly, when it is there.

/// Follows the keys to one string and gives out its characters as they come.
pub(crate) struct Extractor {
    wanted: &'static [&'static str],
    /// The keys on the way to where the reader is; an array is a level without a name.
    path: Vec<String>,
    state: State,
    /// The key or the escape that is being read.
    pending: String,
    /// A first half of a character that is written as two escapes.
    high: Option<u32>,
    is_key: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    InString,
    Escape,
    Hex,
}

/// Deeper than any answer that is asked for; deeper ones show nothing.
const DEPTH_MAX: usize = 16;
const KEY_BYTES_MAX: usize = 64;

impl Extractor {
    pub(crate) fn new(wanted: &'static [&'static str]) -> Self {
        let (path, pending) = (Vec::new(), String::new());
        Extractor { wanted, path, state: State::Between, pending, high: None, is_key: false }
    }

    /// What the next piece adds to the wanted text.
    pub(crate) fn feed(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            match self.state {
                State::Between => self.between(c),
                State::InString => self.in_string(c, &mut out),
                State::Escape => self.escape(c, &mut out),
                State::Hex => self.hex(c, &mut out),
            }
        }
        out
    }

    fn between(&mut self, c: char) {
        match c {
            '{' | '[' if self.path.len() < DEPTH_MAX => {
                self.path.push(String::new());
                self.is_key = c == '{';
            }
            '}' | ']' => {
                self.path.pop();
                self.is_key = false;
            }
            // A comma in an array makes a string look like a key; it then has a name that nobody wants.
            ',' => self.is_key = true,
            ':' => self.is_key = false,
            '"' if !self.path.is_empty() => {
                self.pending.clear();
                self.state = State::InString;
            }
            _ => {}
        }
    }

    fn in_string(&mut self, c: char, out: &mut String) {
        match c {
            '"' => {
                if self.is_key
                    && let Some(level) = self.path.last_mut()
                {
                    *level = std::mem::take(&mut self.pending);
                }
                self.state = State::Between;
            }
            '\\' => self.state = State::Escape,
            _ => self.put(c, out),
        }
    }

    fn escape(&mut self, c: char, out: &mut String) {
        self.state = State::InString;
        match c {
            'n' => self.put('\n', out),
            't' => self.put('\t', out),
            'r' | 'b' | 'f' => {}
            'u' => {
                self.pending.clear();
                self.state = State::Hex;
            }
            other => self.put(other, out),
        }
    }

    fn hex(&mut self, c: char, out: &mut String) {
        self.pending.push(c);
        if self.pending.len() < 4 {
            return;
        }
        self.state = State::InString;
        let code = u32::from_str_radix(&self.pending, 16).unwrap_or(0xFFFD);
        self.pending.clear();
        match (self.high.take(), code) {
            (_, 0xD800..=0xDBFF) => self.high = Some(code),
            (Some(high), 0xDC00..=0xDFFF) => {
                let c = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00));
                self.put(c.unwrap_or('\u{FFFD}'), out);
            }
            (_, code) => self.put(char::from_u32(code).unwrap_or('\u{FFFD}'), out),
        }
    }

    fn put(&mut self, c: char, out: &mut String) {
        if self.is_key {
            if self.pending.len() < KEY_BYTES_MAX {
                self.pending.push(c);
            }
        } else if self.path.iter().map(String::as_str).eq(self.wanted.iter().copied()) {
            out.push(c);
        }
    }
}

/// Gives out whole sentences.
#[derive(Default)]
pub(crate) struct Sentences {
    pending: String,
}

/// A sentence without an end is given out at this length.
const SENTENCE_CHARS_MAX: usize = 400;

impl Sentences {
    /// What is whole now: everything up to the last end of a sentence or line.
    pub(crate) fn feed(&mut self, piece: &str) -> Option<String> {
        self.pending.push_str(piece);
        let mut end = None;
        let mut before = ' ';
        for (at, c) in self.pending.char_indices() {
            let ends = c == '\n' || matches!(before, '。' | '！' | '？');
            if ends || (c == ' ' && matches!(before, '.' | '!' | '?' | ':' | '…')) {
                end = Some(if c == '\n' || c == ' ' { at + c.len_utf8() } else { at });
            }
            before = c;
        }
        if end.is_none() && self.pending.chars().count() > SENTENCE_CHARS_MAX {
            end = Some(self.pending.len());
        }
        let rest = self.pending.split_off(end?);
        Some(std::mem::replace(&mut self.pending, rest))
    }
}

#[cfg(test)]
mod tests;
