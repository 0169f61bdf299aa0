//! Two edits of one text, brought together line by line where they do not touch.
//!
//! A pure function of three texts: what both began with, and what each made of it. Where both changed the same lines, or
//! lines side by side, it says so and guesses nothing. Deliberately absent: words within a line, files that are not text,
//! and any opinion about what the result means; the checks of a plan judge that.

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

/// Beyond this many differing lines the comparison stops looking for lines in common: then more counts as changed than
/// would have to, and the worst that follows is that nothing is merged.
const EDITS_MAX: usize = 1_000;

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
    let n_first = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (rest_one, rest_other) = (&one[n_first..], &other[n_first..]);
    let n_last = rest_one.iter().rev().zip(rest_other.iter().rev()).take_while(|(a, b)| a == b).count();
    let (middle_one, middle_other) = (&rest_one[..rest_one.len() - n_last], &rest_other[..rest_other.len() - n_last]);
    let mut places: Vec<Option<usize>> = (0..n_first).map(Some).collect();
    places.extend(longest_common(middle_one, middle_other).into_iter().map(|at| at.map(|at| at + n_first)));
    places.extend((other.len() - n_last..other.len()).map(Some));
    places
}

/// The longest common subsequence, found by the greedy search for the shortest edit (Myers, 1986): `reached[k]` is how far
/// one gets along `one` on the diagonal `k` with so many edits. What was reached with each number is kept to walk back.
fn longest_common(one: &[&str], other: &[&str]) -> Vec<Option<usize>> {
    let mut places = vec![None; one.len()];
    if one.is_empty() || other.is_empty() {
        return places;
    }
    let edits_max = (one.len() + other.len()).min(EDITS_MAX);
    // Diagonals are numbered from the one that only inserts.
    let middle = edits_max + 1;
    let mut reached = vec![0usize; 2 * middle + 1];
    let mut history: Vec<Vec<usize>> = Vec::new();
    for n_edits in 0..=edits_max {
        history.push(reached[middle - n_edits..=middle + n_edits].to_vec());
        for k in (middle - n_edits..=middle + n_edits).step_by(2) {
            let mut x =
                if comes_from_above(&reached, k, middle, n_edits) { reached[k + 1] } else { reached[k - 1] + 1 };
            // Beyond an edge there is nothing to compare; the diagonal is simply of no use.
            while let (Some(a), Some(b)) = (one.get(x), (x + middle).checked_sub(k).and_then(|y| other.get(y))) {
                if a != b {
                    break;
                }
                x += 1;
            }
            reached[k] = x;
            if x >= one.len() && x + middle >= other.len() + k {
                walk_back(&history, &mut places, (one.len(), other.len()));
                return places;
            }
        }
    }
    places
}

/// Whether the diagonal `k` is reached by an insertion rather than by a removal.
fn comes_from_above(reached: &[usize], k: usize, middle: usize, n_edits: usize) -> bool {
    k == middle - n_edits || (k != middle + n_edits && reached[k - 1] < reached[k + 1])
}

fn walk_back(history: &[Vec<usize>], places: &mut [Option<usize>], (mut x, mut y): (usize, usize)) {
    for n_edits in (1..history.len()).rev() {
        // What was reached with one edit less, with its own diagonal in the middle of its own list.
        let (reached, middle) = (&history[n_edits], n_edits);
        let k = x + middle - y;
        let is_insertion = comes_from_above(reached, k, middle, n_edits);
        let from_k = if is_insertion { k + 1 } else { k - 1 };
        let from_x = reached[from_k];
        let from_y = from_x + middle - from_k;
        let begins_at = if is_insertion { from_x } else { from_x + 1 };
        while x > begins_at {
            (x, y) = (x - 1, y - 1);
            places[x] = Some(y);
        }
        (x, y) = (from_x, from_y);
    }
    while x > 0 && y > 0 {
        (x, y) = (x - 1, y - 1);
        places[x] = Some(y);
    }
}

#[cfg(test)]
mod tests;
