//! OpenAI's chat completions, streamed. Others speak it with small differences, which are all here.

use super::{Event, call_id, plain_arguments, plain_name};
use crate::model::{Finish, Mode, Request, Usage};
use serde_json::{Value, json};
use silas_core::model::Provider;

pub(super) fn body(provider: Provider, model: &str, request: &Request) -> Value {
    let mut body = json!({
        "model": model,
        "messages": messages(request),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // OpenAI's newer models refuse the old name; nobody else knows the new one.
    let limit = if provider == Provider::Openai { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(request.output_tokens_max);
    let shape = &request.shape;
    let function = |name: &str, about: &str, schema: &Value| json!({ "type": "function", "function": { "name": name, "description": about, "parameters": schema } });
    match shape.mode {
        mode if !request.tools.is_empty() => {
            let offered = request.tools.iter().map(|offer| function(&offer.name, &offer.about, &offer.schema));
            let answer = function(shape.name, shape.about, &shape.schema);
            body["tools"] = Value::Array(offered.chain([answer]).collect());
            body["tool_choice"] = json!(if mode == Mode::Prose { "auto" } else { "required" });
        }
        Mode::JsonSchema => {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": { "name": shape.name, "strict": true, "schema": shape.schema },
            });
        }
        Mode::ForcedTool => {
            body["tools"] = json!([function(shape.name, shape.about, &shape.schema)]);
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

fn messages(request: &Request) -> Value {
    let mut messages = vec![
        json!({ "role": "system", "content": request.system }),
        json!({ "role": "user", "content": request.user }),
    ];
    for (n, turn) in request.turns.iter().enumerate() {
        let calls = turn.calls.iter().enumerate().map(|(i, call)| {
            let (name, arguments) = (plain_name(&call.name), plain_arguments(&call.arguments).to_string());
            json!({ "id": call_id(n, i), "type": "function", "function": { "name": name, "arguments": arguments } })
        });
        let calls: Vec<Value> = calls.collect();
        let mut said = json!({ "role": "assistant", "content": turn.text });
        if !calls.is_empty() {
            said["tool_calls"] = Value::Array(calls);
        }
        messages.push(said);
        let heard = turn.results.iter().enumerate();
        messages
            .extend(heard.map(|(i, text)| json!({ "role": "tool", "tool_call_id": call_id(n, i), "content": text })));
        messages.extend(turn.note.iter().map(|note| json!({ "role": "user", "content": note })));
    }
    Value::Array(messages)
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
    let said = choice["delta"]["content"].as_str().filter(|piece| !piece.is_empty());
    events.extend(said.map(|piece| Event::Piece(piece.to_owned())));
    for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
        let at = call["index"].as_u64().unwrap_or(0);
        let name = call["function"]["name"].as_str().filter(|name| !name.is_empty());
        events.extend(name.map(|name| Event::Call { at, name: name.to_owned() }));
        let piece = call["function"]["arguments"].as_str().filter(|piece| !piece.is_empty());
        events.extend(piece.map(|piece| Event::Arguments { at, piece: piece.to_owned() }));
    }
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
