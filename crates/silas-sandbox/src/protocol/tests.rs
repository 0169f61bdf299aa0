//! What can be said to the launcher without showing it a decision says nothing more than it should.

use super::*;
use serde_json::{Value, json};

fn reads(ask: &Value) -> bool {
    serde_json::from_value::<LauncherAsk>(ask.clone()).is_ok()
}

/// No place, no text, no number: whoever asks for the sample can name nothing.
#[test]
fn the_ask_for_the_sample_has_no_room_for_anything() {
    assert_eq!(serde_json::to_value(LauncherAsk::LayOutSample).unwrap(), json!("LayOutSample"));
    assert!(reads(&json!("LayOutSample")));
    for more in [
        json!({}),
        json!([]),
        json!("/etc"),
        json!(2),
        json!(true),
        json!({ "path": "/etc" }),
        json!({ "home": "/etc", "files": [{ "path": "passwd", "text": "" }] }),
        json!(["/etc"]),
        json!([null]),
    ] {
        assert!(!reads(&json!({ "LayOutSample": more })), "{more}");
        assert!(!reads(&json!({ "LayOutSample": null, "path": more })), "{more}");
    }
}
