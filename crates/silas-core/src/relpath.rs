//! A file's path below a granted directory, as text that loses nothing.
//!
//! File names are bytes. Those that are not UTF-8, and control characters, are written `\xNN`; a backslash is doubled.
//! So every name has one spelling, can be hashed and shown, and turns back into exactly its bytes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Never absolute, never with `..`, `.` or an empty part: it cannot leave the directory it is joined to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct RelPath(Vec<u8>);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a path inside the directory")]
pub struct BadPath(String);

impl RelPath {
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadPath> {
        let parts_ok = bytes.split(|b| *b == b'/').all(|part| !matches!(part, b"" | b"." | b".."));
        if bytes.contains(&0) || !parts_ok {
            return Err(BadPath(escape(bytes)));
        }
        Ok(RelPath(bytes.to_vec()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes as text that loses nothing; what a path, or the target of a link, is written as.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c if c.is_control() => {
                    let mut buffer = [0; 4];
                    c.encode_utf8(&mut buffer).bytes().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
                }
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    }
    out
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first != b'\\' {
            out.push(*first);
            rest = tail;
            continue;
        }
        match tail {
            [b'\\', tail @ ..] => {
                out.push(b'\\');
                rest = tail;
            }
            [b'x', hi, lo, tail @ ..] => {
                let digits = [*hi, *lo];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                rest = tail;
            }
            _ => return None,
        }
    }
    Some(out)
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl From<RelPath> for String {
    fn from(path: RelPath) -> String {
        path.to_string()
    }
}

impl TryFrom<String> for RelPath {
    type Error = BadPath;
    fn try_from(text: String) -> Result<Self, BadPath> {
        let path = RelPath::from_bytes(&unescape(&text).ok_or_else(|| BadPath(text.clone()))?)?;
        // One spelling only: `\x61` for `a` would be a second text with another hash.
        if path.to_string() == text { Ok(path) } else { Err(BadPath(text)) }
    }
}

#[cfg(test)]
mod tests;
