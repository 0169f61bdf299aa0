//! Reads the events of `go test -json`. What is no event (build errors of older versions) is text like any other.

use super::{TestLog, Verdict};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    output: Option<String>,
}

pub(super) fn read(stdout: &str) -> Result<(TestLog, String), String> {
    let mut log = TestLog::default();
    let mut text = String::new();
    let mut n_running = 0usize;
    for line in stdout.lines() {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        if let Some(output) = event.output {
            text.push_str(&output);
        }
        let Some(test) = event.test else { continue };
        let verdict = match event.action.as_str() {
            "run" => {
                n_running += 1;
                continue;
            }
            "pass" => Verdict::Passed,
            "fail" => Verdict::Failed,
            "skip" => Verdict::Skipped,
            _ => continue,
        };
        n_running = n_running.saturating_sub(1);
        log.note(format!("{}.{test}", event.package), verdict)?;
    }
    if n_running > 0 {
        return Err("The tests ended before they were through".to_owned());
    }
    Ok((log, text))
}
