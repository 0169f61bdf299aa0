//! Numbers on the command line: what each means, where to find one, and a sentence that says so for whatever is none.
//!
//! Deliberately absent: names and files, which the commands themselves look for.

/// An entry of the ledger, which is also the number before a row of Activity.
pub(crate) fn entry(text: &str) -> Result<u64, String> {
    // The page shows it with separators. As far as entries are counted.
    let number = text.trim().replace(',', "").parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| {
        "the number of an entry is meant, such as 12. `silas activity` shows it before each row, `silas audit list` before \
         each entry"
            .to_owned()
    })
}

/// How many entries to show.
pub(crate) fn how_many(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| "a number of entries is meant, such as 30".to_owned())
}

pub(crate) fn port(text: &str) -> Result<u16, String> {
    text.trim()
        .parse()
        .map_err(|_| "a port is a number from 1 to 65535, such as 8420; 0 takes any that is free".to_owned())
}

pub(crate) fn cents(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "whole cents are meant, such as 50 for half a dollar".to_owned())
}

/// Longest that one task may take: four hours.
const MINUTES_MAX: u64 = 240;

pub(crate) fn minutes(text: &str) -> Result<u64, String> {
    let minutes = text.trim().parse().ok().filter(|minutes| (1..=MINUTES_MAX).contains(minutes));
    minutes.ok_or_else(|| format!("a number of minutes from 1 to {MINUTES_MAX} is meant, such as 15"))
}
