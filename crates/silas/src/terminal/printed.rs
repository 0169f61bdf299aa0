//! What running work prints, line by line as it comes: each line once, and where some are left out, how much.
//!
//! It is somebody else's words. Hidden characters were made visible by the server; the lines are set off, so that none looks
//! like Silas's own.

use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Printed {
    /// How many characters of each command were told.
    told: BTreeMap<(String, u64), u64>,
}

impl Printed {
    /// The whole lines that are new in an update.
    pub(crate) fn news(&mut self, output: &Value) -> Vec<String> {
        let execution = output["execution"].as_str().unwrap_or_default();
        let mut lines = Vec::new();
        for part in output["printed"].as_array().into_iter().flatten() {
            let told = self.told.entry((execution.to_owned(), part["nth"].as_u64().unwrap_or(0))).or_default();
            let (text, before) = (part["text"].as_str().unwrap_or_default(), part["n_left_out"].as_u64().unwrap_or(0));
            if before > *told {
                lines.push(format!("  | … {} characters are not shown", before - *told));
                *told = before;
            }
            let seen = usize::try_from(*told - before).unwrap_or(usize::MAX);
            let rest: String = text.chars().skip(seen).collect();
            let Some(end) = rest.rfind('\n') else { continue };
            let whole = &rest[..=end];
            *told += whole.chars().count() as u64;
            let check = part["check"].as_str().map_or_else(String::new, |name| format!(" {name}:"));
            lines.extend(whole.lines().map(|line| format!("  |{check} {line}")));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_line_is_told_once() {
        let mut printed = Printed::default();
        let mut check = |nth: u64, n: u64, text: &str, expected: &[&str]| {
            let part = json!({ "nth": nth, "check": null, "n_left_out": n, "text": text });
            assert_eq!(printed.news(&json!({ "execution": "e", "printed": [part] })), expected);
        };
        check(1, 0, "one\ntw", &["  | one"]);
        check(1, 0, "one\ntwo\n", &["  | two"]);
        check(1, 4, "two\nthree\n", &["  | three"]);
        check(1, 90, "end\n", &["  | … 76 characters are not shown", "  | end"]);
        check(2, 0, "one\n", &["  | one"]);
    }
}
