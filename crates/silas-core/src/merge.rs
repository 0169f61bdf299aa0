//! Two edits of one text, brought together line by line where they do not touch.
//!
//! A pure function of three texts: what both began with, and what each made of it. Where both changed the same lines, or
//! lines side by side, it says so and guesses nothing. Deliberately absent: words within a line, files that are not text,
//! and any opinion about what the result means; the checks of a plan judge that.
//!
//! Which lines two texts have in common is for `similar` to say. It bounds its work by their length, never by time, so the same
//! three texts always come to the same; of texts with little in common more may count as changed than would have to, and the
//! worst that follows is that nothing is merged.

use similar::{Algorithm, DiffOp};
use std::ops::Range;

/// A stretch of lines that at least one side changed, as each of the three texts has it. Lines are counted from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stretch {
    pub base: Range<usize>,
    pub yours: Range<usize>,
    pub theirs: Range<usize>,
    pub by: By,
}

/// Who changed a stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    You,
    Them,
    /// Both, to the same lines.
    BothAlike,
    /// Both, and to different lines.
    Both,
}

/// Both edits in one text, or the stretches that both changed differently.
pub fn merge(base: &str, yours: &str, theirs: &str) -> Result<String, Vec<Stretch>> {
    let (base, yours, theirs) = (lines(base), lines(yours), lines(theirs));
    let stretches = stretches_of(&base, &yours, &theirs);
    let clashes: Vec<Stretch> = stretches.iter().filter(|stretch| stretch.by == By::Both).cloned().collect();
    if !clashes.is_empty() {
        return Err(clashes);
    }
    let mut merged = String::new();
    let mut unchanged_from = 0;
    for stretch in &stretches {
        base[unchanged_from..stretch.base.start].iter().for_each(|line| merged.push_str(line));
        let taken = match stretch.by {
            By::Them => &theirs[stretch.theirs.clone()],
            By::You | By::BothAlike | By::Both => &yours[stretch.yours.clone()],
        };
        taken.iter().for_each(|line| merged.push_str(line));
        unchanged_from = stretch.base.end;
    }
    base[unchanged_from..].iter().for_each(|line| merged.push_str(line));
    Ok(merged)
}

/// Every stretch that somebody changed, in order.
pub fn stretches(base: &str, yours: &str, theirs: &str) -> Vec<Stretch> {
    stretches_of(&lines(base), &lines(yours), &lines(theirs))
}

/// Of each line of a text, whether it stands in it as both began with it.
pub fn kept(base: &str, text: &str) -> Vec<bool> {
    in_common(&lines(text), &lines(base)).into_iter().map(|at| at.is_some()).collect()
}

/// A text's lines with their ends, so that a missing last one is a difference like any other.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn stretches_of(base: &[&str], yours: &[&str], theirs: &[&str]) -> Vec<Stretch> {
    let (in_yours, in_theirs) = (in_common(base, yours), in_common(base, theirs));
    let mut found = Vec::new();
    // Where each text has been read to; the line after it begins a stretch.
    let (mut b, mut y, mut t) = (0, 0, 0);
    let kept_by_both = (0..base.len()).filter_map(|n| Some((n, in_yours[n]?, in_theirs[n]?)));
    for (next_b, next_y, next_t) in kept_by_both.chain([(base.len(), yours.len(), theirs.len())]) {
        if (next_b, next_y, next_t) != (b, y, t) {
            let (was, you, they) = (&base[b..next_b], &yours[y..next_y], &theirs[t..next_t]);
            let by = if you == they {
                By::BothAlike
            } else if you == was {
                By::Them
            } else if they == was {
                By::You
            } else {
                By::Both
            };
            found.push(Stretch { base: b..next_b, yours: y..next_y, theirs: t..next_t, by });
        }
        (b, y, t) = (next_b + 1, next_y + 1, next_t + 1);
    }
    found
}

/// For each line of `one`, where `other` has it too, in an order that both have.
fn in_common(one: &[&str], other: &[&str]) -> Vec<Option<usize>> {
    let mut places = vec![None; one.len()];
    for op in similar::capture_diff_slices(Algorithm::Myers, one, other) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            (0..len).for_each(|n| places[old_index + n] = Some(new_index + n));
        }
    }
    places
}

#[cfg(test)]
mod tests;
