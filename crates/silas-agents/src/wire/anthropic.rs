//! Anthropic's messages, streamed.

use super::Event;
use crate::model::{Finish, Mode, Request, Usage};
use serde_json::{Value, json};

pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn body(model: &str, request: &Request) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.output_tokens_max,
        "system": request.system,
        "messages": [{ "role": "user", "content": request.user }],
        "stream": true,
    });
    let shape = &request.shape;
    match shape.mode {
        Mode::JsonSchema => {
            body["output_config"] = json!({ "format": { "type": "json_schema", "schema": shape.schema } });
        }
        Mode::ForcedTool => {
            body["tools"] = json!([{
                "name": shape.name, "description": shape.about, "input_schema": shape.schema,
            }]);
            body["tool_choice"] = json!({ "type": "tool", "name": shape.name });
        }
        Mode::Prose => {}
    }
    body
}

pub(super) fn events(data: &str) -> Option<Vec<Event>> {
    let event: Value = serde_json::from_str(data).ok()?;
    Some(match event["type"].as_str()? {
        "message_start" => vec![Event::Used(usage(&event["message"]["usage"]))],
        "content_block_delta" => {
            let delta = &event["delta"];
            let piece = match delta["type"].as_str()? {
                "text_delta" => delta["text"].as_str()?,
                "input_json_delta" => delta["partial_json"].as_str()?,
                // What it thinks to itself, and kinds that come later.
                _ => "",
            };
            if piece.is_empty() { Vec::new() } else { vec![Event::Piece(piece.to_owned())] }
        }
        "message_delta" => {
            let mut events = vec![Event::Used(usage(&event["usage"]))];
            match event["delta"]["stop_reason"].as_str() {
                None => {}
                Some("max_tokens" | "model_context_window_exceeded") => events.push(Event::Finished(Finish::Length)),
                Some("refusal") => events.push(Event::Finished(Finish::Refused)),
                Some(_) => events.push(Event::Finished(Finish::Complete)),
            }
            events
        }
        "message_stop" => vec![Event::End],
        "error" => {
            let is_busy = matches!(event["error"]["type"].as_str(), Some("overloaded_error" | "rate_limit_error"));
            vec![Event::Broken { is_busy }]
        }
        // `ping`, beginnings and ends of blocks, and what is added later.
        _ => Vec::new(),
    })
}

/// What was read from a cache was sent too.
fn usage(usage: &Value) -> Usage {
    let n = |name: &str| usage[name].as_u64().unwrap_or(0);
    let cached = n("cache_creation_input_tokens").saturating_add(n("cache_read_input_tokens"));
    Usage { input_tokens: n("input_tokens").saturating_add(cached), output_tokens: n("output_tokens"), microusd: None }
}
