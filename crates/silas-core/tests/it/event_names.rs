//! Every event name that the specification gives is either one of ours, letter for letter, or is listed here with what it
//! enters with.

use silas_core::event::AuditEvent;

/// The names, in the order in which the specification first uses them.
const SPECIFIED: [&str; 13] = [
    "memory_ops_truncated",
    "rejected_mutation",
    "stream_started",
    "quality_gate_input",
    "quality_gate_output",
    "memory_op_blocked",
    "execution_blocked_no_approval",
    "quality_gate_tool_call",
    "artifact_ref_mismatch",
    "quality_gate_after_step",
    "quality_lane_violation",
    "secret_stored",
    "proactive_refresh_dormant",
];

/// Nothing can happen yet that these would record.
const LATER: [(&str, &str); 11] = [
    ("memory_ops_truncated", "memory"),
    ("memory_op_blocked", "memory"),
    ("rejected_mutation", "gates"),
    ("quality_gate_input", "gates"),
    ("quality_gate_output", "gates"),
    ("quality_gate_tool_call", "gates"),
    ("quality_gate_after_step", "gates"),
    ("quality_lane_violation", "gates"),
    ("artifact_ref_mismatch", "the executor agent"),
    ("secret_stored", "connections"),
    ("proactive_refresh_dormant", "connections"),
];

/// The closed list, as the reader of events itself tells it.
fn ours() -> Vec<String> {
    let refused = serde_json::from_str::<AuditEvent>(r#"{"event":"no such event"}"#).unwrap_err().to_string();
    let (_, expected) = refused.split_once("expected one of ").expect("the list is closed");
    let names = expected.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn every_specified_name_is_ours_or_enters_later() {
    let ours = ours();
    assert!(ours.len() > 30, "{ours:?}");
    for name in SPECIFIED {
        let enters_with = LATER.iter().find(|(later, _)| *later == name).map(|(_, with)| with);
        assert!(ours.iter().any(|known| known == name) || enters_with.is_some(), "{name} is nowhere");
    }
    for (later, _) in LATER {
        assert!(SPECIFIED.contains(&later), "{later} is not a name of the specification");
    }
}

/// A name is one word of lower-case letters, so that it reads the same in the ledger, in exports and in searches.
#[test]
fn names_are_plain_and_given_once() {
    let ours = ours();
    for name in &ours {
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert_eq!(ours.iter().filter(|other| *other == name).count(), 1, "{name}");
    }
}
