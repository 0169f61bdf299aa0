//! Exact decimals: what a plan writes as `0.85` is kept as those digits, never as a float.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// Digits that are enough for every threshold a person writes, and that bound the text.
const DIGITS_MAX: usize = 30;

/// A decimal number in its one canonical spelling: no plus sign, no exponent, no needless zeros, never `-0`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Decimal(String);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a plain decimal number of at most {DIGITS_MAX} digits, such as 0.85 or -12")]
pub struct BadDecimal(String);

impl Decimal {
    pub fn parse(text: &str) -> Result<Self, BadDecimal> {
        let bad = || BadDecimal(text.chars().take(40).collect());
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = match digits.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (digits, None),
        };
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let n_digits = whole.len() + fraction.map_or(0, str::len);
        if !plain(whole) || !fraction.is_none_or(plain) || n_digits > DIGITS_MAX {
            return Err(bad());
        }
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            rest => rest,
        };
        let fraction = fraction.unwrap_or_default().trim_end_matches('0');
        let magnitude = if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") };
        let sign = if negative && magnitude != "0" { "-" } else { "" };
        Ok(Decimal(format!("{sign}{magnitude}")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parts(&self) -> (bool, &str, &str) {
        let (negative, digits) = match self.0.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, self.0.as_str()),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        (negative, whole, fraction)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a_negative, a_whole, a_fraction) = self.parts();
        let (b_negative, b_whole, b_fraction) = other.parts();
        // Canonical wholes have no leading zeros, so the longer one is larger; fractions compare digit by digit.
        let size = || (a_whole.len(), a_whole, a_fraction).cmp(&(b_whole.len(), b_whole, b_fraction));
        match (a_negative, b_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(),
            (true, true) => size().reverse(),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Decimal> for String {
    fn from(decimal: Decimal) -> String {
        decimal.0
    }
}

impl TryFrom<String> for Decimal {
    type Error = BadDecimal;
    fn try_from(text: String) -> Result<Self, BadDecimal> {
        Decimal::parse(&text)
    }
}

#[cfg(test)]
mod tests;
