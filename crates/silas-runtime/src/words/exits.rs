//! What may leave a run's private copy, on the card of its plan and on the card of its result.

use super::fact;
use silas_core::card::{Detail, Face};
use silas_core::exits::{Exit, Flow, Glob, Lack, Reading, Undeclared};
use silas_core::work::Definition;
use silas_gates::scrub;

/// What the plan declares. Nothing is said of a plan that declares nothing: then everything waits for a look.
pub(crate) fn add_to(face: &mut Face, d: &Definition) {
    if !d.changes.is_empty() {
        let title = "What may change without judging".to_owned();
        face.details.push(Detail { title, lines: d.changes.iter().map(entry).collect() });
    }
    let mut lines = Vec::new();
    lines.extend(d.exits.paths.iter().map(|path| format!("Puts in place without asking again: {}", entry(path))));
    lines.extend(d.exits.queries.iter().map(|query| format!("Searches the web for: {}", entry(query))));
    lines.extend(d.flows.iter().map(flow));
    if lines.iter().any(|line| line.contains('*')) {
        lines.push("* stands for any name or words, ** for any path; hidden files are not meant".to_owned());
    }
    if d.exits.typed.is_some() {
        lines.push("A name that stands in your own words counts as named".to_owned());
    }
    if !lines.is_empty() {
        face.details.push(Detail { title: "What may leave the copy".to_owned(), lines });
    }
}

/// What would leave and was not declared, and what may have put it into the model's head.
pub(crate) fn add_undeclared(face: &mut Face, undeclared: &[Undeclared]) {
    if undeclared.is_empty() {
        return;
    }
    // First, because it is why the card asks, and the last facts give way where there is no room.
    face.facts.insert(0, fact("Wanted", &format!("{} not named, listed below", undeclared.len())));
    let lines = undeclared.iter().take(LINES_MAX).map(line).collect::<Vec<_>>();
    let more = undeclared.len().saturating_sub(LINES_MAX);
    let rest = (more > 0).then(|| format!("and {more} more, each named in the changes below"));
    let lines = lines.into_iter().chain(rest).collect();
    face.details.insert(0, Detail { title: "Not named in the plan".to_owned(), lines });
}

/// Whoever changes more than this has changed a directory; all of it is in the diffs.
const LINES_MAX: usize = 50;

/// "`.github/ci.yml`, after reading what `cat README` printed".
pub(crate) fn line(undeclared: &Undeclared) -> String {
    let value = scrub::visible_line(&undeclared.value, 200);
    let read = undeclared.from.iter().map(|what| scrub::visible_line(what, 120)).collect::<Vec<_>>().join("; ");
    let read = if read.is_empty() { "text from outside".to_owned() } else { read };
    match (undeclared.exit, undeclared.lacks) {
        (Exit::Apply, Lack::FlowFromWeb) => format!("{value}: may hold text from the web. Read: {read}"),
        (Exit::Apply, Lack::Value) => format!("{value}: after reading {read}"),
        (Exit::Search, Lack::Value | Lack::FlowFromWeb) => format!("{value}: after reading {read}"),
    }
}

fn entry(glob: &Glob) -> String {
    scrub::visible(glob.as_str())
}

fn flow(flow: &Flow) -> String {
    let to = entry(&flow.to);
    match flow.from {
        Reading::Web => format!("Text from the web may go to: {to}"),
        Reading::Files => format!("Text of your files may go to: {to}"),
    }
}
