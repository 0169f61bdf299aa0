//! From when until when a certificate is good: the one field of it that must be told to people.
//!
//! A walk over the outer layers of DER, as far as the two times and no further. Nothing is trusted because of it: whether
//! a certificate is to be believed is for whoever connects.

use silas_core::Timestamp;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// `not_before` and `not_after` of a certificate in DER.
pub fn of(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (SEQUENCE, outer, _) = element(certificate)? else { return None };
    let (SEQUENCE, signed, _) = element(outer)? else { return None };
    let (mut tag, _, mut rest) = element(signed)?;
    if tag == VERSION {
        (tag, _, rest) = element(rest)?;
    }
    (tag == INTEGER).then_some(())?;
    let (SEQUENCE, _algorithm, rest) = element(rest)? else { return None };
    let (SEQUENCE, _issuer, rest) = element(rest)? else { return None };
    let (SEQUENCE, validity, _) = element(rest)? else { return None };
    let (before_tag, before, rest) = element(validity)?;
    let (after_tag, after, _) = element(rest)?;
    Some((time(before_tag, before)?, time(after_tag, after)?))
}

/// Tag, content, and what comes behind it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        short @ 0..=0x7f => (usize::from(short), rest),
        long => {
            // Four bytes are four gigabytes; a certificate that needs more is none.
            let n_bytes = usize::from(long & 0x7f);
            (1..=4).contains(&n_bytes).then_some(())?;
            let (digits, rest) = rest.split_at_checked(n_bytes)?;
            (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
        }
    };
    let (content, behind) = rest.split_at_checked(length)?;
    Some((tag, content, behind))
}

/// `YYMMDDHHMMSSZ` with a year from 1950 to 2049, or the same with four digits of the year.
fn time(tag: u8, content: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    text.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    let (year, rest) = match tag {
        UTC_TIME if text.len() == 12 => match text.split_at(2) {
            (short, rest) if short < "50" => (format!("20{short}"), rest),
            (short, rest) => (format!("19{short}"), rest),
        },
        GENERALIZED_TIME if text.len() == 14 => (text[..4].to_owned(), &text[4..]),
        _ => return None,
    };
    let part = |n: usize| &rest[2 * n..2 * n + 2];
    Timestamp::parse(&format!("{year}-{}-{}T{}:{}:{}.000000Z", part(0), part(1), part(2), part(3), part(4))).ok()
}

#[cfg(test)]
mod tests;
