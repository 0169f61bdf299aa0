//! What an eval found: a row for each task, and their sum.

use super::owner::End;
use serde::Serialize;
use silas_core::model::dollars;
use silas_core::number::grouped;
use silas_gates::scrub;

/// Longest piece of a last word in the table; JSON has it whole.
const NOTE_CHARS_MAX: usize = 100;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Row {
    pub(super) task: &'static str,
    /// The shipped check passes on what is in the repository now.
    pub(super) solved: bool,
    /// Silas itself saw a check go from red to green, and put the work in place.
    pub(super) proven: bool,
    pub(super) cards: usize,
    pub(super) questions: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) microusd: u64,
    pub(super) millis: u64,
    /// How it ended: applied, not_applied, words, over_cap, out_of_time, trouble, interrupted.
    pub(super) end: &'static str,
    /// The last that was said, or what went wrong.
    pub(super) note: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Sum {
    pub(super) tasks: usize,
    pub(super) solved: usize,
    pub(super) proven: usize,
    pub(super) cards: usize,
    /// Half of the tasks asked this often or less.
    pub(super) cards_median: usize,
    pub(super) questions: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) microusd: u64,
    pub(super) millis: u64,
}

impl Sum {
    pub(super) fn of(rows: &[Row]) -> Sum {
        let sum = |field: fn(&Row) -> u64| rows.iter().map(field).fold(0, u64::saturating_add);
        let mut cards: Vec<usize> = rows.iter().map(|row| row.cards).collect();
        cards.sort_unstable();
        Sum {
            tasks: rows.len(),
            solved: rows.iter().filter(|row| row.solved).count(),
            proven: rows.iter().filter(|row| row.proven).count(),
            cards: cards.iter().sum(),
            cards_median: cards.get(cards.len().saturating_sub(1) / 2).copied().unwrap_or(0),
            questions: sum(|row| row.questions),
            input_tokens: sum(|row| row.input_tokens),
            output_tokens: sum(|row| row.output_tokens),
            microusd: sum(|row| row.microusd),
            millis: sum(|row| row.millis),
        }
    }
}

pub(super) fn name(end: End) -> &'static str {
    match end {
        End::Applied => "applied",
        End::NotApplied => "not_applied",
        End::Words => "words",
        End::OverCap => "over_cap",
        End::OutOfTime => "out_of_time",
        End::Trouble => "trouble",
    }
}

const WIDTHS: [usize; 8] = [19, 7, 7, 6, 10, 17, 17, 8];

pub(super) fn head() -> String {
    line(&["task", "solved", "proven", "cards", "questions", "tokens in/out", "cost", "time"].map(str::to_owned))
}

pub(super) fn row(row: &Row) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let mut text = line(&[
        row.task.to_owned(),
        yes(row.solved),
        yes(row.proven),
        row.cards.to_string(),
        row.questions.to_string(),
        format!("{}/{}", grouped(row.input_tokens), grouped(row.output_tokens)),
        dollars(row.microusd),
        seconds(row.millis),
    ]);
    if !(row.solved && row.proven) {
        text.push_str(&format!(
            "\n  {}: {}",
            row.end.replace('_', " "),
            scrub::visible_line(&row.note, NOTE_CHARS_MAX)
        ));
    }
    text
}

pub(super) fn sum(sum: &Sum) -> String {
    line(&[
        format!("{} tasks", sum.tasks),
        sum.solved.to_string(),
        sum.proven.to_string(),
        sum.cards.to_string(),
        sum.questions.to_string(),
        format!("{}/{}", grouped(sum.input_tokens), grouped(sum.output_tokens)),
        dollars(sum.microusd),
        seconds(sum.millis),
    ])
}

fn seconds(millis: u64) -> String {
    format!("{}.{} s", millis / 1000, millis % 1000 / 100)
}

fn line(cells: &[String; 8]) -> String {
    let padded = cells.iter().zip(WIDTHS).map(|(cell, width)| format!("{cell:<width$}"));
    padded.collect::<Vec<String>>().join(" ").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
