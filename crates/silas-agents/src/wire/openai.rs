//! OpenAI's chat completions, streamed. Others speak it with small differences, which are all here.

use super::Event;
use crate::model::{Finish, Mode, Request, Usage};
use serde_json::{Value, json};
use silas_core::model::Provider;

pub(super) fn body(provider: Provider, model: &str, request: &Request) -> Value {
    let mut body = json!({
        "model": model,
        "messages": [
            { "role": "system", "content": request.system },
            { "role": "user", "content": request.user },
        ],
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // OpenAI's newer models refuse the old name; nobody else knows the new one.
    let limit = if provider == Provider::Openai { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(request.output_tokens_max);
    let shape = &request.shape;
    match shape.mode {
        Mode::JsonSchema => {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": { "name": shape.name, "strict": true, "schema": shape.schema },
            });
        }
        Mode::ForcedTool => {
            body["tools"] = json!([{
                "type": "function",
                "function": { "name": shape.name, "description": shape.about, "parameters": shape.schema },
            }]);
            body["tool_choice"] = json!({ "type": "function", "function": { "name": shape.name } });
        }
        Mode::Prose => {}
    }
    if provider == Provider::Openrouter {
        // What it really charges, and nobody behind it who would ignore the schema.
        body["usage"] = json!({ "include": true });
        if shape.mode != Mode::Prose {
            body["provider"] = json!({ "require_parameters": true });
        }
    }
    body
}

pub(super) fn events(data: &str) -> Option<Vec<Event>> {
    if data == "[DONE]" {
        return Some(vec![Event::End]);
    }
    let chunk: Value = serde_json::from_str(data).ok()?;
    if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
        let is_busy = matches!(error["code"].as_u64(), Some(429 | 503 | 529));
        return Some(vec![Event::Broken { is_busy }]);
    }
    let mut events = Vec::new();
    let choice = &chunk["choices"][0];
    let calls = choice["delta"]["tool_calls"].as_array().into_iter().flatten();
    let arguments = calls.filter(|call| call["index"].as_u64().unwrap_or(0) == 0);
    let pieces = choice["delta"]["content"].as_str().into_iter();
    let pieces = pieces.chain(arguments.filter_map(|call| call["function"]["arguments"].as_str()));
    events.extend(pieces.filter(|piece| !piece.is_empty()).map(|piece| Event::Piece(piece.to_owned())));
    if choice["delta"]["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        events.push(Event::Finished(Finish::Refused));
    }
    match choice["finish_reason"].as_str() {
        None => {}
        Some("length") => events.push(Event::Finished(Finish::Length)),
        Some("content_filter") => events.push(Event::Finished(Finish::Refused)),
        Some(_) => events.push(Event::Finished(Finish::Complete)),
    }
    if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
        events.push(Event::Used(Usage {
            input_tokens: usage["prompt_tokens"].as_u64().unwrap_or(0),
            output_tokens: usage["completion_tokens"].as_u64().unwrap_or(0),
            microusd: usage["cost"].as_f64().and_then(microusd),
        }));
    }
    Some(events)
}

/// A price in dollars, rounded up; nonsense is no price.
fn microusd(dollars: f64) -> Option<u64> {
    let micro = (dollars * 1e6).ceil();
    // Far above what any single answer costs, far below where a float is inexact.
    (0.0..1e12).contains(&micro).then_some(micro as u64)
}
