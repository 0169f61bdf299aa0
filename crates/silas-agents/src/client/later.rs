//! When a provider wants to be asked again: in so many seconds, or at a time of its own clock.

use hyper::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use silas_core::Timestamp;
use std::time::Duration;

/// Longer than anybody waits.
const LATER_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `None` if it does not say, or says it in a way that nobody writes.
pub(super) fn asked_for(headers: &HeaderMap) -> Option<Duration> {
    let of = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let later = of(RETRY_AFTER)?;
    let secs = match later.parse::<u64>() {
        Ok(secs) => Duration::from_secs(secs),
        // By the clock that wrote it, so that no two clocks are compared.
        Err(_) => moment(later)?.since(moment(of(DATE)?)?),
    };
    Some(secs.min(LATER_MAX))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that is written today.
fn moment(text: &str) -> Option<Timestamp> {
    let words: Vec<&str> = text.split(' ').collect();
    let [_, day, month, year, time, "GMT"] = words.as_slice() else { return None };
    let month = MONTHS.iter().position(|name| name == month)? + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day}T{time}.000000Z")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_both_obeyed() {
        let check = |pairs: &[(HeaderName, &str)], expected: Option<u64>| {
            let headers = pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
            assert_eq!(asked_for(&headers), expected.map(Duration::from_secs), "{pairs:?}");
        };
        let date = (DATE, "Thu, 19 Nov 2026 23:59:30 GMT");
        check(&[(RETRY_AFTER, "120")], Some(120));
        check(&[(RETRY_AFTER, " 0 ")], Some(0));
        check(&[(RETRY_AFTER, "Fri, 20 Nov 2026 00:01:30 GMT"), date.clone()], Some(120));
        // What is over is over.
        check(&[(RETRY_AFTER, "Thu, 19 Nov 2026 23:00:00 GMT"), date.clone()], Some(0));
        check(&[(RETRY_AFTER, "99999999999")], Some(7 * 24 * 3600));
        check(&[(RETRY_AFTER, "Fri, 20 Nov 2026 00:01:30 GMT")], None);
        check(&[(RETRY_AFTER, "soon"), date], None);
        check(&[], None);
    }
}
