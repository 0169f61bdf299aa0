//! The parts that faces are made of: counts, names and times in words, facts and choices.

use silas_core::card::listed::{fitting_path, shortened};
use silas_core::card::{Cta, Detail, FACT_CHARS_MAX, Face, Fact, Press};
use silas_core::check::{CheckResult, Expectation};
use silas_core::number::grouped;
use silas_core::roots::Access;
use silas_core::work::Directory;
use silas_gates::scrub;

/// Longest name of a directory in an intent.
const NAME_CHARS_MAX: usize = 28;

/// One line as it is if it fits, otherwise how many there are; then all of them are in the details.
pub(crate) fn listed(face: &mut Face, label: &str, (one, many): (&str, &str), lines: Vec<String>) {
    match lines.as_slice() {
        [] => {}
        [line] => face.add_fact(label, line, &format!("1 {one}, listed below")),
        more => {
            face.facts.push(fact(label, &format!("{} {many}, listed below", grouped(more.len()))));
            face.details.push(Detail { title: label.to_owned(), lines });
        }
    }
}

/// Directories with a remark after each. The path of a single one that does not fit is told by its last part, and in full in
/// the details.
pub(crate) fn listed_directories(face: &mut Face, label: &str, paths: &[String], remark: &str) {
    let whole: Vec<String> = paths.iter().map(|path| format!("{path}{remark}")).collect();
    match (paths, whole.as_slice()) {
        ([path], [line]) if line.chars().count() > FACT_CHARS_MAX => {
            face.facts.push(fact(label, &directory(path, remark)));
            face.details.push(Detail { title: label.to_owned(), lines: whole });
        }
        _ => listed(face, label, ("directory", "directories"), whole),
    }
}

/// One directory in a fact, for whoever has its whole path in the details in any case.
pub(crate) fn directory(path: &str, remark: &str) -> String {
    let room = FACT_CHARS_MAX.saturating_sub(remark.chars().count());
    match fitting_path(path, room) {
        Some(path) => format!("{path}{remark}"),
        None => "1 directory, listed below".to_owned(),
    }
}

/// "1 red turned green, 2 stayed": short enough for a fact.
pub(crate) fn turned(before: &[CheckResult], after: &[CheckResult]) -> String {
    let pairs = || before.iter().zip(after);
    let turned = pairs().filter(|(b, a)| !b.passed && a.passed).count();
    let stayed = pairs().filter(|(b, a)| b.passed && a.passed).count();
    let red = after.iter().filter(|a| !a.passed).count();
    let mut parts = Vec::new();
    if turned > 0 {
        parts.push(format!("{turned} red turned green"));
    }
    if stayed > 0 {
        parts.push(if turned > 0 { format!("{stayed} stayed") } else { format!("{stayed} stayed green") });
    }
    if red > 0 {
        parts.push(format!("{red} red"));
    }
    parts.join(", ")
}

pub(crate) fn expected(expect: &Expectation) -> String {
    match expect {
        Expectation::ExitCode(0) => "must succeed".to_owned(),
        Expectation::ExitCode(code) => format!("must exit with {code}"),
        Expectation::Equals(text) => format!("must print exactly {text:?}"),
        Expectation::Contains(text) => format!("must print {text:?}"),
        Expectation::Regex(pattern) => format!("must print what matches {:?}", pattern.as_str()),
        Expectation::OutputLt(limit) => format!("must print a number below {limit}"),
        Expectation::OutputGt(limit) => format!("must print a number above {limit}"),
        Expectation::FileExists(path) => format!("{path:?} must exist"),
        Expectation::NotEmpty => "must print something".to_owned(),
    }
}

/// What a plan changes, in few words: the name of its directory, or how many there are.
pub(crate) fn changed_name(directories: &[Directory]) -> String {
    let mut written = directories.iter().filter(|d| d.access == Access::Write);
    match (written.next(), written.count()) {
        (None, _) => String::new(),
        (Some(only), 0) => name_of(&only.path),
        (Some(_), more) => format!("{} directories", more + 1),
    }
}

/// The last part of a path where it is only mentioned. What is wider than an intent is shortened in its middle: names differ
/// at their ends more often than there.
pub(crate) fn name_of(path: &str) -> String {
    let name = scrub::visible_line(path.rsplit('/').next().unwrap_or(path), usize::MAX);
    shortened(&name, NAME_CHARS_MAX)
}

/// The last part of a path where it says what is allowed. One that does not fit is not cut, because what is cut could be
/// another's: it is named in full below, where the details begin open.
pub(crate) fn whole_name_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let fits = scrub::visible(name).chars().count() <= NAME_CHARS_MAX;
    if fits { scrub::visible_line(name, NAME_CHARS_MAX) } else { "the directory named below".to_owned() }
}

/// The same for what a plan changes.
pub(crate) fn whole_name_of_changed(directories: &[Directory]) -> String {
    let mut written = directories.iter().filter(|d| d.access == Access::Write);
    match (written.next(), written.next()) {
        (Some(only), None) => whole_name_of(&only.path),
        _ => changed_name(directories),
    }
}

pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(n)) }
}

/// "1 file was changed", "3 files in tidepool were changed": by whom is not known.
pub(crate) fn were_changed(n: usize, place: &str) -> String {
    format!("{}{place} {} changed", count(n, "file"), if n == 1 { "was" } else { "were" })
}

pub(crate) fn duration(secs: u64) -> String {
    match (secs / 3600, secs % 3600 / 60, secs % 60) {
        (0, 0, s) => count(s as usize, "second"),
        (0, m, 0) => count(m as usize, "minute"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, 0) => count(h as usize, "hour"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// A command within a sentence, between backticks that it cannot close.
pub(crate) fn in_code(command: &str, chars_max: usize) -> String {
    format!("`{}`", scrub::visible_line(command, chars_max).replace('`', "'"))
}

pub(crate) fn took(ms: u64) -> String {
    if ms < 10_000 { format!("{}.{} s", ms / 1000, ms % 1000 / 100) } else { duration(ms / 1000) }
}

pub(crate) fn fact(label: &str, text: &str) -> Fact {
    Fact { label: label.to_owned(), text: text.to_owned() }
}

pub(crate) fn approve(label: &str, consequence: &str) -> Cta {
    Cta { press: Press::Approve, label: label.to_owned(), consequence: consequence.to_owned() }
}

pub(crate) fn ask_for_a_change() -> Cta {
    Cta { press: Press::Change, label: "Ask for a change".to_owned(), consequence: String::new() }
}

pub(crate) fn decline(label: &str) -> Cta {
    Cta { press: Press::Decline, label: label.to_owned(), consequence: String::new() }
}

/// A button that decides nothing.
pub(crate) fn press(press: Press, label: &str) -> Cta {
    Cta { press, label: label.to_owned(), consequence: String::new() }
}
