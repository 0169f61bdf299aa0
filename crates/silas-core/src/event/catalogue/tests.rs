//! Every event that there is, as serde lists them, against the catalogue.

use super::*;
use crate::Digest;
use serde_json::{Map, Value, json};

/// The tags of all variants: whoever asks for one that is not there is told those that are.
fn tags() -> Vec<String> {
    let error = serde_json::from_value::<AuditEvent>(json!({ "event": "" })).unwrap_err().to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// One value of each type that a field of an event has.
fn values() -> Vec<Value> {
    let digest = Digest::of(b"").to_string();
    let uuid = "00000000-0000-0000-0000-000000000000";
    let prefixes = ["inst", "key", "msg", "card", "token", "call", "exec", "task"];
    let ids = prefixes.map(|prefix| format!("{prefix}-{}", "0".repeat(32)));
    let times = ["1970-01-01T00:00:00.000000Z", "before"];
    let enums = ["proxy", "plan", "approved", "auth", "message", "proved", "status", "act_and_report", "coding"];
    let words = [uuid, &digest].into_iter().chain(times).chain(enums).map(str::to_owned);
    ids.into_iter().chain(words).map(Value::from).chain([json!(1), json!(true), json!({})]).collect()
}

/// An event with this tag: whatever field serde misses gets the first value that it does not refuse.
fn sample(tag: &str) -> AuditEvent {
    let mut fields = Map::from_iter([("event".to_owned(), json!(tag))]);
    let read = |fields: &Map<String, Value>| serde_json::from_value::<AuditEvent>(Value::Object(fields.clone()));
    let missing = |error: &serde_json::Error| {
        error.to_string().strip_prefix("missing field `").and_then(|rest| rest.split('`').next().map(str::to_owned))
    };
    loop {
        let error = match read(&fields) {
            Ok(event) => return event,
            Err(error) => error,
        };
        let field = missing(&error).unwrap_or_else(|| panic!("{tag}: {error}"));
        let fits = |value: &Value| {
            fields.insert(field.clone(), value.clone());
            read(&fields).map_or_else(|error| missing(&error).is_some(), |_| true)
        };
        assert!(values().iter().any(fits), "{tag}: no value for `{field}`");
    }
}

#[test]
fn an_event_has_one_name() {
    let tags = tags();
    assert!(tags.len() > 70, "{tags:?}");
    for tag in &tags {
        let event = sample(tag);
        assert_eq!((event.name(), &serde_json::to_value(&event).unwrap()["event"]), (tag.as_str(), &json!(tag)));
    }
}
