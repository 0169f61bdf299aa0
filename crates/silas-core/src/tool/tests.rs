//! Arguments that fit, those that do not and are told why, and which of them are control.

use super::*;

fn search() -> Spec {
    let schema = object(&[
        ("query", json!({ "type": "string", "minLength": 1, "maxLength": 5 })),
        ("n", json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 3 })),
        ("sites", json!({ "type": "array", "maxItems": 2, "items": { "type": "string", "enum": ["a", "b"] } })),
    ]);
    Spec { content: vec!["query".to_owned()], ..Spec::reading("search", "Searches.", schema) }
}

#[test]
fn arguments_fit_or_are_told_why_not() {
    let check = |arguments: Value, expected: Option<&str>| {
        let found = misfit(&arguments, &search().schema);
        match expected {
            None => assert_eq!(found, None, "{arguments}"),
            Some(part) => assert!(found.as_ref().is_some_and(|why| why.contains(part)), "{arguments}: {found:?}"),
        }
    };
    check(json!({ "query": "q", "n": null, "sites": ["a", "b"] }), None);
    check(json!({ "query": "é".repeat(5), "n": 3, "sites": [] }), None);
    check(json!({ "query": "123456", "n": 1, "sites": [] }), Some("more than 5 characters"));
    check(json!({ "query": "", "n": 1, "sites": [] }), Some("too short"));
    check(json!({ "query": "q", "n": 4, "sites": [] }), Some("out of range"));
    check(json!({ "query": "q", "n": 1.5, "sites": [] }), Some("must be integer or null"));
    check(json!({ "query": "q", "n": 1, "sites": ["c"] }), Some("one of \"a\", \"b\""));
    check(json!({ "query": "q", "n": 1, "sites": ["a", "b", "a"] }), Some("more than 2 entries"));
    check(json!({ "query": "q", "n": 1 }), Some("`sites` is missing"));
    check(json!({ "query": "q", "n": 1, "sites": [], "more": 1 }), Some("has no `more`"));
    check(json!("q"), Some("must be object"));
}

#[test]
fn a_rule_that_is_not_known_lets_nothing_through() {
    let schema = object(&[("path", json!({ "type": "string", "pattern": "^a" }))]);
    assert!(misfit(&json!({ "path": "a" }), &schema).is_some_and(|why| why.contains("pattern")));
    assert!(misfit(&json!({}), &json!({})).is_some());
}
