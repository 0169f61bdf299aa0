//! One line of a `.gitignore`, as git reads it.
//!
//! Matching takes time in proportion to pattern times path, whatever the pattern: these files come from anywhere.

/// What a line says about the names that it matches.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// `!` before it: such names count after all.
    pub(super) is_exception: bool,
    /// `/` at its end.
    is_for_directories: bool,
    /// Without a `/` inside it is about the last name alone, wherever that lies.
    is_anchored: bool,
    segments: Vec<Segment>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Segment {
    /// `**`: any number of directories.
    Any,
    Name(Vec<Token>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Byte(u8),
    One,
    Many,
    Class { is_negated: bool, ranges: Vec<(u8, u8)> },
}

impl Pattern {
    /// `None` for empty lines, comments, and what can match nothing.
    pub(super) fn parse(line: &[u8]) -> Option<Pattern> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = without_trailing_spaces(line);
        if line.is_empty() || line[0] == b'#' {
            return None;
        }
        let (is_exception, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (is_for_directories, line) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
        let is_anchored = line.contains(&b'/');
        let line = line.strip_prefix(b"/").unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        let segments = line.split(|b| *b == b'/').map(segment).collect::<Option<Vec<_>>>()?;
        Some(Pattern { is_exception, is_for_directories, is_anchored, segments })
    }

    /// `path` is relative to the directory that the line's file lies in.
    pub(super) fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        if self.is_for_directories && !is_dir {
            return false;
        }
        let names: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        if self.is_anchored {
            return all_match(&self.segments, &names);
        }
        names.last().is_some_and(|last| all_match(&self.segments, &[last]))
    }
}

/// A space at the end counts only after a backslash.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while end > 0 && line[end - 1] == b' ' && (end < 2 || line[end - 2] != b'\\') {
        end -= 1;
    }
    &line[..end]
}

fn segment(text: &[u8]) -> Option<Segment> {
    if text == b"**" {
        return Some(Segment::Any);
    }
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let token = match text[at] {
            b'*' => Token::Many,
            b'?' => Token::One,
            b'\\' => {
                at += 1;
                Token::Byte(*text.get(at)?)
            }
            b'[' => {
                let (class, end) = class(text, at + 1)?;
                at = end;
                class
            }
            byte => Token::Byte(byte),
        };
        at += 1;
        if token != Token::Many || tokens.last() != Some(&Token::Many) {
            tokens.push(token);
        }
    }
    Some(Segment::Name(tokens))
}

/// A class that begins at `at`, and where its `]` is.
fn class(text: &[u8], mut at: usize) -> Option<(Token, usize)> {
    let is_negated = matches!(text.get(at)?, b'!' | b'^');
    at += usize::from(is_negated);
    let first = at;
    let mut ranges = Vec::new();
    loop {
        let byte = match *text.get(at)? {
            b']' if at > first => return Some((Token::Class { is_negated, ranges }, at)),
            b'[' if text.get(at + 1) == Some(&b':') => {
                let end = at + 2 + text[at + 2..].windows(2).position(|two| two == b":]")?;
                ranges.extend(named(&text[at + 2..end])?);
                at = end + 2;
                continue;
            }
            b'\\' => {
                at += 1;
                *text.get(at)?
            }
            byte => byte,
        };
        let is_range = text.get(at + 1) == Some(&b'-') && text.get(at + 2).is_some_and(|b| *b != b']');
        if !is_range {
            ranges.push((byte, byte));
            at += 1;
            continue;
        }
        at += 2;
        if text[at] == b'\\' {
            at += 1;
        }
        ranges.push((byte, *text.get(at)?));
        at += 1;
    }
}

fn named(name: &[u8]) -> Option<Vec<(u8, u8)>> {
    let (digits, upper, lower) = ((b'0', b'9'), (b'A', b'Z'), (b'a', b'z'));
    Some(match name {
        b"alpha" => vec![upper, lower],
        b"digit" => vec![digits],
        b"alnum" => vec![digits, upper, lower],
        b"upper" => vec![upper],
        b"lower" => vec![lower],
        b"xdigit" => vec![digits, (b'A', b'F'), (b'a', b'f')],
        b"space" => vec![(b'\t', b'\r'), (b' ', b' ')],
        b"punct" => vec![(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        _ => return None,
    })
}

/// Row by row: which beginnings of the path the segments so far match.
fn all_match(segments: &[Segment], names: &[&[u8]]) -> bool {
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    for (n, segment) in segments.iter().enumerate() {
        let mut next = vec![false; names.len() + 1];
        match segment {
            // At the end it stands for what lies inside, so for one name at least.
            Segment::Any => {
                let skips = usize::from(n + 1 == segments.len());
                if let Some(first) = reached.iter().position(|is| *is) {
                    next.iter_mut().skip(first + skips).for_each(|is| *is = true);
                }
            }
            Segment::Name(tokens) => {
                for (at, name) in names.iter().enumerate().filter(|(at, _)| reached[*at]) {
                    next[at + 1] = name_matches(tokens, name);
                }
            }
        }
        reached = next;
    }
    reached[names.len()]
}

/// The last `*` that was met is the only one that ever has to take more.
fn name_matches(tokens: &[Token], name: &[u8]) -> bool {
    let (mut t, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if tokens.get(t) == Some(&Token::Many) {
            star = Some((t, n));
            t += 1;
        } else if tokens.get(t).is_some_and(|token| token.takes(name[n])) {
            (t, n) = (t + 1, n + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (t, n) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    tokens[t..].iter().all(|token| *token == Token::Many)
}

impl Token {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Token::Byte(own) => *own == byte,
            Token::One => true,
            Token::Many => false,
            Token::Class { is_negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&byte)) != *is_negated
            }
        }
    }
}
