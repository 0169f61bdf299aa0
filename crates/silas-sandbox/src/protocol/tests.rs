//! What can be said to the launcher without showing it a decision says nothing more than it should.

use super::*;
use serde_json::{Value, json};

fn reads(ask: &Value) -> bool {
    serde_json::from_value::<LauncherAsk>(ask.clone()).is_ok()
}

/// Without the owner's signed words nothing can be asked for, and there is no room for anything else beside them.
#[test]
fn the_ask_for_the_sample_has_room_for_signed_words_alone() {
    for more in [
        json!(null),
        json!({}),
        json!([]),
        json!("/etc"),
        json!({ "path": "/etc" }),
        json!({ "home": "/etc", "files": [{ "path": "passwd", "text": "" }] }),
        json!(["/etc"]),
    ] {
        assert!(!reads(&json!({ "LayOutSample": more })), "{more}");
    }
    assert!(!reads(&json!("LayOutSample")));
}
