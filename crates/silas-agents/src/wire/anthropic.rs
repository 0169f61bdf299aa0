//! Anthropic's messages, streamed.

use super::{Event, call_id, plain_arguments, plain_name};
use crate::model::{Finish, Mode, Request, Usage};
use serde_json::{Value, json};

pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn body(model: &str, request: &Request) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.output_tokens_max,
        "system": request.system,
        "messages": messages(request),
        "stream": true,
    });
    let shape = &request.shape;
    match shape.mode {
        mode if !request.tools.is_empty() => {
            let offered = request
                .tools
                .iter()
                .map(|offer| json!({ "name": offer.name, "description": offer.about, "input_schema": offer.schema }));
            let answer = json!({ "name": shape.name, "description": shape.about, "input_schema": shape.schema });
            body["tools"] = Value::Array(offered.chain([answer]).collect());
            body["tool_choice"] = json!({ "type": if mode == Mode::Prose { "auto" } else { "any" } });
        }
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

fn messages(request: &Request) -> Value {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let mut messages = vec![json!({ "role": "user", "content": request.user })];
    for (n, turn) in request.turns.iter().enumerate() {
        // An answer with nothing in it cannot be sent back.
        let said = match (turn.text.is_empty(), turn.calls.is_empty()) {
            (true, true) => Some(text("(nothing)")),
            (true, false) => None,
            (false, _) => Some(text(&turn.text)),
        };
        let calls = turn.calls.iter().enumerate().map(|(i, call)| {
            let (name, input) = (plain_name(&call.name), plain_arguments(&call.arguments));
            json!({ "type": "tool_use", "id": call_id(n, i), "name": name, "input": input })
        });
        let said: Vec<Value> = said.into_iter().chain(calls).collect();
        messages.push(json!({ "role": "assistant", "content": said }));
        let heard = turn.results.iter().enumerate();
        let heard =
            heard.map(|(i, text)| json!({ "type": "tool_result", "tool_use_id": call_id(n, i), "content": text }));
        let heard: Vec<Value> = heard.chain(turn.note.as_deref().map(text)).collect();
        messages.push(json!({ "role": "user", "content": heard }));
    }
    Value::Array(messages)
}

pub(super) fn events(data: &str) -> Option<Vec<Event>> {
    let event: Value = serde_json::from_str(data).ok()?;
    Some(match event["type"].as_str()? {
        "message_start" => vec![Event::Used(usage(&event["message"]["usage"]))],
        "content_block_delta" => {
            let delta = &event["delta"];
            let at = event["index"].as_u64().unwrap_or(0);
            let heard = match delta["type"].as_str()? {
                "text_delta" => Some(Event::Piece(delta["text"].as_str()?.to_owned())),
                "input_json_delta" => Some(Event::Arguments { at, piece: delta["partial_json"].as_str()?.to_owned() }),
                // What it thinks to itself, and kinds that come later.
                _ => None,
            };
            let is_something = |event: &Event| match event {
                Event::Piece(piece) | Event::Arguments { piece, .. } => !piece.is_empty(),
                Event::Call { .. } | Event::Finished(_) | Event::Used(_) | Event::End | Event::Broken { .. } => true,
            };
            heard.into_iter().filter(is_something).collect()
        }
        "content_block_start" if event["content_block"]["type"] == "tool_use" => {
            let name = event["content_block"]["name"].as_str()?.to_owned();
            vec![Event::Call { at: event["index"].as_u64().unwrap_or(0), name }]
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
