//! How many calls a run gets.

use super::*;
use crate::runner::Gates;
use silas_core::tool::object;

const LIMITS: CallLimits = CallLimits { calls_max: 3, same_max: 2, told_max: 1, instead: "stop" };

fn spec() -> Spec {
    let schema = object(&[("n", json!({ "type": "integer" })), ("secs", json!({ "type": "integer" }))]);
    Spec { time: Some(("secs".to_owned(), 60)), ..Spec::reading("look", "Looks.", schema) }
}

fn why(counts: &CallCounts, n: u64) -> Option<String> {
    let asked = Gates::new([counts as &dyn Gate]).tool_call(&spec(), json!({ "n": n }));
    asked.err().map(|blocked| blocked.why)
}

#[test]
fn the_same_call_passes_as_often_as_it_may_and_another_one_between_begins_anew() {
    let counts = CallCounts::new(CallLimits { calls_max: 9, ..LIMITS });
    assert_eq!([why(&counts, 1), why(&counts, 1)], [None, None]);
    assert!(why(&counts, 1).is_some_and(|why| why.starts_with("the same call was made 2 times in a row")));
    assert_eq!([why(&counts, 2), why(&counts, 1)], [None, None]);
}

#[test]
fn what_is_asked_for_is_used_up_whatever_comes_of_it() {
    let counts = CallCounts::new(LIMITS);
    assert_eq!([why(&counts, 1), why(&counts, 1)], [None, None]);
    assert!(why(&counts, 1).is_some_and(|why| why.starts_with("the same call")));
    assert_eq!(why(&counts, 2).as_deref(), Some("3 calls are allowed, and they are used up; stop"));
}

#[test]
fn no_call_is_promised_more_time_than_there_is_left() {
    for (asked, left, given) in [(json!(10), 30, 10), (json!(100), 30, 30), (Value::Null, 90, 60), (json!(5), 0, 1)] {
        let gate = TimeLeft { secs: left };
        let passed = Gates::new([&gate as &dyn Gate]).tool_call(&spec(), json!({ "secs": asked })).unwrap();
        assert_eq!(passed["secs"], given, "{asked} of {left}");
    }
}
