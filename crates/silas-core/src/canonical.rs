//! The bytes that are hashed and signed: RFC 8785 (JCS), without floats.
//!
//! A float has no place under a signature: two programs print it differently. Money is integer micro-dollars and other
//! fractions are exact decimal strings ([`crate::decimal`]), so a number here is an integer of at most 2^53.

use serde::de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Integers beyond this are not the same number in every JSON reader.
const INTEGER_MAX: u64 = 1 << 53;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("this cannot be written as JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("this cannot be read: {0}")]
    Unreadable(serde_json::Error),
    #[error("a number that is not an integer of at most 2^53 may not be hashed or signed")]
    Number,
}

/// The canonical text of a value.
pub fn text<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let value = serde_json::to_value(value)?;
    check_numbers(&value)?;
    Ok(serde_json_canonicalizer::to_string(&value)?)
}

/// SHA-256 of the canonical text.
pub fn digest<T: Serialize + ?Sized>(value: &T) -> Result<Digest, Error> {
    Ok(Digest::of(text(value)?.as_bytes()))
}

/// Reads JSON that was or will be signed: duplicate keys and inexact numbers are refused, unlike with plain serde_json.
pub fn read<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = Strict.deserialize(&mut reader).map_err(Error::Unreadable)?;
    reader.end().map_err(Error::Unreadable)?;
    check_numbers(&value)?;
    serde_json::from_value(value).map_err(Error::Unreadable)
}

fn check_numbers(value: &Value) -> Result<(), Error> {
    match value {
        Value::Number(n) => {
            let size = n.as_i64().map(i64::unsigned_abs).or_else(|| n.as_u64());
            if size.is_some_and(|size| size <= INTEGER_MAX) { Ok(()) } else { Err(Error::Number) }
        }
        Value::Array(items) => items.iter().try_for_each(check_numbers),
        Value::Object(fields) => fields.values().try_for_each(check_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// A SHA-256, in hexadecimal on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let bad = || "a hash is 64 lower-case hexadecimal digits".to_owned();
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Err(bad());
        }
        let mut bytes = [0u8; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| bad())?;
        }
        Ok(Digest(bytes))
    }
}

/// Builds a [`Value`] like serde_json does, but a key that comes twice is an error instead of a silent overwrite.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: de::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Value, E> {
        Err(E::custom("a number that is not an integer"))
    }
    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(Value::String(v.to_owned()))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(Strict)?;
            if fields.insert(key.clone(), value).is_some() {
                return Err(de::Error::custom(format!("the key `{key}` comes twice")));
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests;
