//! Reads what a command says in the Test Anything Protocol: a plan, and a line for each test. Whether anybody may believe
//! it depends on who printed it, which is not known here.

use super::{ID_CHARS_MAX, TestLog, Verdict};

/// `None` if it does not speak TAP at all; what it says may still not add up.
pub(super) fn read(stdout: &str) -> Option<Result<TestLog, String>> {
    let lines: Vec<&str> = stdout.lines().map(str::trim_end).collect();
    let plans: Vec<usize> = lines.iter().filter_map(|line| plan(line)).collect();
    let has_tests = lines.iter().any(|line| test(line).is_some());
    (has_tests && !plans.is_empty()).then(|| add_up(&lines, &plans))
}

fn add_up(lines: &[&str], plans: &[usize]) -> Result<TestLog, String> {
    let [planned] = plans else { return Err("It announced its tests more than once".to_owned()) };
    if let Some(why) = lines.iter().find_map(|line| line.strip_prefix("Bail out!")) {
        return Err(format!("It gave up: {}", super::short(why.trim())));
    }
    let (mut log, mut parts, mut n_ran, mut is_green) = (TestLog::default(), Vec::new(), 0, true);
    for line in lines {
        if let Some(part) = part(line) {
            let name = part.name.clone();
            belong_to(&mut parts, part.indent, &name);
            parts.push(part);
        }
        let Some(Line { verdict, number, name }) = test(line) else { continue };
        n_ran += 1;
        if number.is_some_and(|number| number != n_ran) {
            return Err("Its tests are not numbered in order".to_owned());
        }
        is_green &= verdict != Verdict::Failed;
        let name = format!("{n_ran} {name}");
        belong_to(&mut parts, 0, &name);
        for part in parts.drain(..) {
            log.note(part.name, part.verdict)?;
        }
        log.note(name, verdict)?;
    }
    for part in parts {
        log.note(format!("> {}", part.name), part.verdict)?;
    }
    if is_green && lines.iter().any(|line| hides_a_failure(line)) {
        return Err("A test that failed is hidden in a line".to_owned());
    }
    if n_ran == *planned { Ok(log) } else { Err(format!("{planned} tests were announced and {n_ran} ran")) }
}

/// A sub-test: indented, and printed before the test that it is a part of.
struct Part {
    indent: usize,
    verdict: Verdict,
    name: String,
}

/// Prose that begins with "ok" has neither a number nor a dash behind it.
fn part(line: &str) -> Option<Part> {
    let unindented = line.trim_start();
    let indent = line.len() - unindented.len();
    let rest = unindented.strip_prefix("not ").unwrap_or(unindented).strip_prefix("ok")?.trim_start();
    let is_prose = !rest.is_empty() && !rest.starts_with('-') && !rest.starts_with(|c: char| c.is_ascii_digit());
    if indent == 0 || is_prose {
        return None;
    }
    let Line { verdict, number, name } = test(unindented)?;
    Some(Part { indent, verdict, name: number.map_or_else(|| name.clone(), |number| format!("{number} {name}")) })
}

/// The sub-tests that are further in than a test are its own. They are the last ones: none lies further out than one before it.
fn belong_to(parts: &mut [Part], indent: usize, name: &str) {
    for part in parts.iter_mut().rev().take_while(|part| part.indent > indent) {
        part.name = format!("{name} > {}", part.name).chars().take(ID_CHARS_MAX).collect();
        part.indent = indent;
    }
}

/// Whether there is a failure behind other words, or below a test. Who writes into the same stream can begin the line that
/// the next one goes on with.
fn hides_a_failure(line: &str) -> bool {
    const FAILURE: &str = "not ok";
    let is_expected = |line: &str| test(line).is_some_and(|line| line.verdict == Verdict::Skipped);
    match line.trim_start().strip_prefix(FAILURE) {
        Some(rest) => {
            rest.contains(FAILURE) || line.starts_with(char::is_whitespace) && !is_expected(line.trim_start())
        }
        None => line.contains(FAILURE),
    }
}

/// "1..3".
fn plan(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("1..")?;
    rest.split_whitespace().next()?.parse().ok()
}

struct Line {
    verdict: Verdict,
    number: Option<usize>,
    name: String,
}

/// "not ok 2 - subtracts # TODO". Everything after the word may be missing.
fn test(line: &str) -> Option<Line> {
    let (is_ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok();
    let (name, directive) = rest[digits..].split_once(" #").unwrap_or((&rest[digits..], ""));
    let directive = directive.trim().to_ascii_lowercase();
    let verdict = match is_ok {
        _ if directive.starts_with("skip") || directive.starts_with("todo") => Verdict::Skipped,
        true => Verdict::Passed,
        false => Verdict::Failed,
    };
    let name = name.trim().trim_start_matches("- ").to_owned();
    Some(Line { verdict, number, name })
}
