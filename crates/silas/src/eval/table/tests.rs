//! The table as it is printed, and its sums.

use super::*;

fn made(task: &'static str, solved: bool, cards: usize) -> Row {
    Row {
        task,
        solved,
        proven: solved,
        cards,
        questions: 3,
        input_tokens: 1200,
        output_tokens: 80,
        microusd: 20_000,
        millis: 4_321,
        end: if solved { "applied" } else { "not_applied" },
        note: "It did\nnot work.".to_owned(),
    }
}

#[test]
fn columns_stand_under_their_names() {
    let head = head();
    let solved = row(&made("slugs", true, 1));
    assert_eq!(solved.lines().count(), 1);
    for (name, cell) in
        [("solved", "yes"), ("cards", "1"), ("tokens", "1,200/80"), ("cost", "$0.02"), ("time", "4.3 s")]
    {
        let at = head.find(name).unwrap();
        assert!(solved[at..].starts_with(cell), "{name}: {solved}");
    }
    let failed = row(&made("slugs", false, 0));
    assert!(failed.contains("\n  not applied: It did") && failed.lines().count() == 2, "{failed}");
}

#[test]
fn a_sum_counts_every_column() {
    let sum = Sum::of(&[made("a", true, 1), made("b", false, 0), made("c", true, 4)]);
    let expected = Sum {
        tasks: 3,
        solved: 2,
        proven: 2,
        cards: 5,
        cards_median: 1,
        questions: 9,
        input_tokens: 3600,
        output_tokens: 240,
        microusd: 60_000,
        millis: 12_963,
    };
    assert_eq!(sum, expected);
    assert_eq!(Sum::of(&[]).cards_median, 0);
    assert!(super::sum(&sum).starts_with("3 tasks "));
}
